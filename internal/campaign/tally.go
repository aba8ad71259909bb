package campaign

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/stats"
)

// Tally is what the trials of a cell came to.
type Tally struct {
	Cell   Cell
	Boots  int // trials that are over
	By     map[Outcome]int
	Causes map[Cause]int

	Kernel   Kernel    // of the first trial that told it
	TimedOut int       // trials with reads that timed out
	Results  []*Result // in the order of their repetitions
}

// Count is the rate: unstable of those that were decided.
func (t *Tally) Count() stats.Count {
	return stats.Count{Events: t.By[Unstable], Trials: t.By[Unstable] + t.By[Stable]}
}

// Aside is how many trials do not count for the rate.
func (t *Tally) Aside() int { return t.Boots - t.Count().Trials }

// Noticed counts the trials in which a fault was noticed, of those that told.
func (t *Tally) Noticed() stats.Count {
	c := stats.Count{Trials: t.By[Stable]}
	for _, r := range t.Results {
		if r.Verdict().Noticed() {
			c.Events++
			c.Trials++
		}
	}
	return c
}

// Count gathers results by cell. Cells stand in the order of first, those that it
// does not name behind, in the order of their ids.
func Count(first []Cell, results []*Result) []Tally {
	index := map[string]int{}
	var all []Tally
	at := func(c *Cell) *Tally {
		id := c.ID()
		i, there := index[id]
		if !there {
			i = len(all)
			index[id] = i
			all = append(all, Tally{Cell: *c, By: map[Outcome]int{}, Causes: map[Cause]int{}})
		}
		return &all[i]
	}
	for i := range first {
		at(&first[i])
	}
	sorted := slices.Clone(results)
	slices.SortFunc(sorted, func(a, b *Result) int { return strings.Compare(a.Trial.ID, b.Trial.ID) })
	for _, r := range sorted {
		at(&r.Trial.Cell).add(r)
	}
	return all
}

func (t *Tally) add(r *Result) {
	t.Boots++
	t.By[r.Outcome]++
	if r.Outcome == Unstable {
		t.Causes[r.Cause]++
	}
	if r.TimedOut > 0 {
		t.TimedOut++
	}
	if t.Kernel == (Kernel{}) {
		t.Kernel = r.Kernel
	}
	t.Results = append(t.Results, r)
}

// Comparison is how two cells differ.
type Comparison struct {
	A, B       *Tally
	Difference float64        // rate of A less rate of B
	Interval   stats.Interval // of the difference, by Newcombe
	MidP       float64        // Fisher's, two-sided
}

// Compare compares two cells, and returns false where one has no decided trial.
func Compare(a, b *Tally) (Comparison, bool) {
	x, y := a.Count(), b.Count()
	if x.Trials == 0 || y.Trials == 0 {
		return Comparison{}, false
	}
	return Comparison{A: a, B: b, Difference: x.Rate() - y.Rate(),
		Interval: stats.NewcombeDifference(x, y, Confidence), MidP: stats.FisherMidP(x, y)}, true
}

// Series is cells that differ in the value of one parameter only, which is a number.
type Series struct {
	Parameter string
	Values    []float64 // ascending
	Tallies   []*Tally
}

// SeriesOf returns the series of two cells or more, in the order of the cells.
func SeriesOf(tallies []Tally) []Series {
	var all []Series
	index := map[string]int{}
	for i := range tallies {
		t := &tallies[i]
		for k, word := range t.Cell.Set {
			name, text, _ := strings.Cut(word, "=")
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				continue
			}
			rest := t.Cell
			rest.Set = slices.Delete(slices.Clone(rest.Set), k, k+1)
			key := name + " " + rest.Key()
			j, there := index[key]
			if !there {
				j = len(all)
				index[key] = j
				all = append(all, Series{Parameter: name})
			}
			s := &all[j]
			at, _ := slices.BinarySearch(s.Values, value)
			s.Values, s.Tallies = slices.Insert(s.Values, at, value), slices.Insert(s.Tallies, at, t)
		}
	}
	return slices.DeleteFunc(all, func(s Series) bool { return len(s.Values) < 2 })
}

// Counts returns the rates of the series, and its values as scores for a test of trend.
func (s *Series) Counts() (scores []float64, counts []stats.Count) {
	for i, t := range s.Tallies {
		if c := t.Count(); c.Trials > 0 {
			scores, counts = append(scores, s.Values[i]), append(counts, c)
		}
	}
	return scores, counts
}
