package campaign

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/stats"
)

// Confidence is that of all intervals.
const Confidence = 0.95

// Known returns the verdict of a trial that is over, and false for one that is not.
type Known func(trial string) (Verdict, bool)

// KnownOf answers for the trials that have a result.
func KnownOf(results []*Result) Known {
	verdicts := map[string]Verdict{}
	for _, r := range results {
		verdicts[r.Trial.ID] = r.Verdict()
	}
	return func(id string) (Verdict, bool) {
		v, over := verdicts[id]
		return v, over
	}
}

// Next returns the trials that are to be carried out next, in their order; when they
// are over it is to be asked again, and returns none when the campaign is complete.
// The answer depends on the plan and on the verdicts alone, not on the order in
// which they came: a campaign that was stopped goes on as if it had not been.
//
// The boots of all cells are mixed: each block has one boot of every cell, in random
// order, so that whatever changes on this machine meets all cells alike.
func (p *Plan) Next(known Known) ([]Trial, error) {
	cells, err := p.Cells()
	if err != nil {
		return nil, err
	}
	pending := p.points(known)
	var missing []Trial
	first, most := 1, 0
	for i := range cells {
		most = max(most, cells[i].Boots)
	}
	for first <= most && len(missing) == 0 {
		last := p.lookEnd(cells, first, most)
		var open []*Planned
		for i := range cells {
			if c := &cells[i]; first <= c.Boots && !p.narrow(c, first-1, known) {
				open = append(open, c)
			}
		}
		for block := first; block <= last; block++ {
			for _, t := range p.block(open, block) {
				if _, over := known(t.ID); !over {
					missing = append(missing, t)
				}
			}
		}
		first = last + 1
	}
	return append(missing, pending...), nil
}

// lookEnd is the last block before rules are applied again: the last of all where
// there are none.
func (p *Plan) lookEnd(cells []Planned, first, most int) int {
	look := p.Look
	if look == 0 {
		look = defaultLook
	}
	for i := range cells {
		if cells[i].UntilWidth > 0 {
			return min(first+look-1, most)
		}
	}
	return most
}

// narrow reports whether the interval of a cell is as narrow as wanted after so many boots.
func (p *Plan) narrow(c *Planned, boots int, known Known) bool {
	if c.UntilWidth == 0 || boots == 0 {
		return false
	}
	count := p.counted(&c.Cell, boots, Outcome.Decided, known, func(v Verdict) bool { return v.Outcome == Unstable })
	return count.Trials > 0 && stats.Wilson(count, Confidence).Width() <= c.UntilWidth
}

// counted counts what the first boots of a cell came to.
func (p *Plan) counted(c *Cell, boots int, decided func(Outcome) bool, known Known, event func(Verdict) bool) stats.Count {
	var n stats.Count
	for i := 1; i <= boots; i++ {
		if v, over := known(p.trial(c, i).ID); over && decided(v.Outcome) {
			n.Trials++
			if event(v) {
				n.Events++
			}
		}
	}
	return n
}

// block returns one trial of each cell that has so many boots, in random order.
func (p *Plan) block(cells []*Planned, number int) []Trial {
	var all []Trial
	for _, c := range cells {
		if number <= c.Boots {
			all = append(all, p.trial(&c.Cell, number))
		}
	}
	rng := rand.New(rand.NewPCG(p.Seed, uint64(number)))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Find returns the trial of that id. Which trials a search has depends on the
// verdicts that it had.
func (p *Plan) Find(id string, known Known) (Trial, bool) {
	cell, digits, _ := strings.Cut(id, "-")
	repetition, err := strconv.Atoi(digits)
	if err != nil || repetition < 1 {
		return Trial{}, false
	}
	found := func(c *Cell) (Trial, bool) {
		t := p.trial(c, repetition)
		return t, t.ID == id && c.ID() == cell
	}
	cells, err := p.Cells()
	if err != nil {
		return Trial{}, false
	}
	for i := range cells {
		if t, ok := found(&cells[i].Cell); ok && repetition <= cells[i].Boots {
			return t, true
		}
	}
	for _, t := range p.points(known) {
		if t.ID == id {
			return t, true
		}
	}
	for _, e := range p.Edges(known) {
		for i := range e.Points {
			c := e.CellAt(e.Points[i].By)
			if t, ok := found(&c); ok {
				return t, true
			}
		}
	}
	return Trial{}, false
}
