package campaign

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cswatch/cswatch/stats"
)

// Edge is the smallest fault that is noticed, as far as a search has found it.
type Edge struct {
	Search int     `json:"search"` // its number in the plan, from 0
	Cell   Cell    `json:"cell"`   // with no fault
	Where  string  `json:"where"`  // step, or cpuN
	Points []Point `json:"points"` // by amount
	// Noticed is the smallest amount that most trials noticed, Missed the greatest
	// below it that most did not; 0 where there is none in the range.
	Noticed time.Duration `json:"noticed_ns,omitempty"`
	Missed  time.Duration `json:"missed_ns,omitempty"`
	Over    bool          `json:"over"`          // the search has ended
	Why     string        `json:"why,omitempty"` // it ended without an edge
}

// Point is an amount that was tried.
type Point struct {
	By    time.Duration `json:"by_ns"`
	Count stats.Count   `json:"noticed"` // of the trials that told
	Aside int           `json:"aside"`   // trials that told nothing: condemned for latency, blind, hung and so on
}

// CellAt returns the cell of an amount.
func (e *Edge) CellAt(by time.Duration) Cell {
	kind, cpu, err := parseWhere(e.Where)
	if err != nil {
		return e.Cell // Validate has said so
	}
	c := e.Cell
	c.Fault = Fault{Kind: kind, CPU: cpu, By: by}
	return c
}

// Edges returns what all searches of the plan have found.
func (p *Plan) Edges(known Known) []Edge {
	var all []Edge
	p.eachSearch(known, func(e Edge, _ []Trial) { all = append(all, e) })
	return all
}

// points returns the trials that searches need next.
func (p *Plan) points(known Known) []Trial {
	var pending []Trial
	p.eachSearch(known, func(_ Edge, missing []Trial) { pending = append(pending, missing...) })
	return pending
}

func (p *Plan) eachSearch(known Known, f func(Edge, []Trial)) {
	for i := range p.Searches {
		s := &p.Searches[i]
		sets, err := combinations(s.Set)
		if err != nil {
			return // Validate has said so
		}
		g := Grid{Kernels: s.Kernels, CPUs: s.CPUs, Loads: s.Loads, Delays: []Delay{{}}, Faults: []Fault{{}}}
		g.each(sets, func(c Cell) {
			e, missing := p.search(s, c, known)
			e.Search = i
			f(e, missing)
		})
	}
}

// search walks through the amounts as far as verdicts go, and returns the trials of
// the next one.
func (p *Plan) search(s *Search, c Cell, known Known) (Edge, []Trial) {
	e := Edge{Cell: c, Where: s.Fault}
	try := func(by time.Duration) (noticed bool, missing []Trial) {
		cell := e.CellAt(by)
		point, missing := p.point(&cell, s.Boots, known)
		if i, there := slices.BinarySearchFunc(e.Points, by, func(p Point, by time.Duration) int { return int(p.By - by) }); !there {
			e.Points = slices.Insert(e.Points, i, point)
		}
		if len(missing) == 0 && point.Count.Trials == 0 {
			e.Over, e.Why = true, fmt.Sprintf("at %s no trial told anything", cell.Fault)
		}
		return 2*point.Count.Events >= point.Count.Trials && point.Count.Trials > 0, missing
	}
	low, high := time.Duration(s.Low), time.Duration(s.High)
	atHigh, missing := try(high)
	atLow, more := try(low)
	if missing = append(missing, more...); len(missing) > 0 || e.Over {
		return e, missing
	}
	switch {
	case !atHigh:
		e.Over, e.Missed, e.Why = true, high, fmt.Sprintf("not even %s was noticed by most", shortTime(high))
		return e, nil
	case atLow:
		e.Over, e.Noticed, e.Why = true, low, fmt.Sprintf("even %s was noticed by most", shortTime(low))
		return e, nil
	}
	for float64(high)/float64(low) > s.Ratio {
		middle := between(low, high)
		if middle <= low || middle >= high {
			break
		}
		noticed, missing := try(middle)
		if len(missing) > 0 || e.Over {
			e.Noticed, e.Missed = high, low
			return e, missing
		}
		if noticed {
			high = middle
		} else {
			low = middle
		}
	}
	e.Over, e.Noticed, e.Missed = true, high, low
	return e, nil
}

// point counts the trials at one amount, and returns those that are missing.
func (p *Plan) point(c *Cell, boots int, known Known) (Point, []Trial) {
	at := Point{By: c.Fault.By}
	var missing []Trial
	for i := 1; i <= boots; i++ {
		t := p.trial(c, i)
		v, over := known(t.ID)
		switch {
		case !over:
			missing = append(missing, t)
		case v.Noticed():
			at.Count.Events++
			at.Count.Trials++
		case v.Outcome == Stable:
			at.Count.Trials++
		default:
			at.Aside++
		}
	}
	return at, missing
}

// between returns the geometric mean of two times, to three digits.
func between(low, high time.Duration) time.Duration {
	mean := math.Sqrt(float64(low) * float64(high))
	unit := math.Pow(10, math.Floor(math.Log10(mean))-2)
	return time.Duration(math.Round(mean/unit) * unit)
}
