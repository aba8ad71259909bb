package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/campaign"
)

// TrialCompareSchema names the document about differences between cells.
const TrialCompareSchema = "cswatch.trial-comparison/v1"

// TrialComparisons is how the cells of one campaign, or of two, differ.
type TrialComparisons struct {
	Schema    string            `json:"schema"`
	Campaigns []ComparedTo      `json:"campaigns"` // one or two: A and B
	Pairs     []TrialComparison `json:"pairs"`     // in one campaign, or the same cell in both
	Searches  []ComparedSearch  `json:"searches"`  // that both campaigns have
	// OnlyA and OnlyB are cells that the other campaign has no counterpart of.
	OnlyA []TrialSide `json:"only_a"`
	OnlyB []TrialSide `json:"only_b"`
}

// ComparedTo is a campaign that is compared.
type ComparedTo struct {
	Label  string         `json:"label"`
	Inputs *campaign.Plan `json:"inputs"`
}

// ComparedSearch is the same search in both campaigns.
type ComparedSearch struct {
	A TrialSearch `json:"a"`
	B TrialSearch `json:"b"`
}

func comparisons(of ...ComparedTo) *TrialComparisons {
	return &TrialComparisons{Schema: TrialCompareSchema, Campaigns: of, Pairs: []TrialComparison{}, Searches: []ComparedSearch{}, OnlyA: []TrialSide{}, OnlyB: []TrialSide{}}
}

// CompareCells compares cells of one campaign: the named pairs, each two ids of
// cells, or all that differ in one thing only where none is named. Points of
// searches are compared only where they are named.
func CompareCells(c *Campaign, label string, named ...[2]string) (*TrialComparisons, error) {
	d := comparisons(ComparedTo{label, c.Inputs})
	for _, pair := range named {
		var sides [2]*campaign.Tally
		for i, id := range pair {
			at := slices.IndexFunc(c.Cells, func(cell TrialCell) bool { return cell.CellID == id })
			if at < 0 {
				return nil, fmt.Errorf("compare cells of %s: it has no cell %q; \"cell\" in the JSON report is the id of each", label, id)
			}
			sides[i] = c.Cells[at].tally
		}
		d.Pairs = append(d.Pairs, trialComparison(sides[0], sides[1]))
	}
	if len(named) > 0 {
		return d, nil
	}
	for i := range c.grid {
		for j := i + 1; j < len(c.grid); j++ {
			a, b := &c.grid[i], &c.grid[j]
			if a.Boots > 0 && b.Boots > 0 && near(&a.Cell, &b.Cell) && len(differences(&a.Cell, &b.Cell)) == 1 {
				d.Pairs = append(d.Pairs, trialComparison(a, b))
			}
		}
	}
	return d, nil
}

// near reports whether two cells differ in one thing at most, but for parameters.
func near(a, b *campaign.Cell) bool {
	n := 0
	for _, differ := range [...]bool{a.Kernel != b.Kernel, a.CPUs != b.CPUs, a.Load != b.Load, a.Delay != b.Delay, a.Fault != b.Fault} {
		if differ {
			n++
		}
	}
	return n <= 1
}

// CompareCampaigns puts the same cells of two campaigns side by side, such as a
// prediction and what was observed. A cell is the same where all is that the plans
// say of it; a kernel may also be called differently if both are of the same era,
// and no other cell of that era is.
func CompareCampaigns(a, b *Campaign, labelA, labelB string) *TrialComparisons {
	d := comparisons(ComparedTo{labelA, a.Inputs}, ComparedTo{labelB, b.Inputs})
	partner := counterparts(a.Cells, b.Cells)
	taken := map[int]bool{}
	for i := range a.Cells {
		j, there := partner[i]
		if !there {
			d.OnlyA = append(d.OnlyA, trialSide(a.Cells[i].tally))
			continue
		}
		taken[j] = true
		if b.Cells[j].Search && a.Cells[i].Search {
			continue // points of searches stand there
		}
		d.Pairs = append(d.Pairs, trialComparison(a.Cells[i].tally, b.Cells[j].tally))
	}
	for j := range b.Cells {
		if !taken[j] {
			d.OnlyB = append(d.OnlyB, trialSide(b.Cells[j].tally))
		}
	}
	d.OnlyA = slices.DeleteFunc(d.OnlyA, a.isPoint)
	d.OnlyB = slices.DeleteFunc(d.OnlyB, b.isPoint)
	for i := range a.Searches {
		for j := range b.Searches {
			if sameSearch(a, b, &a.Searches[i], &b.Searches[j]) {
				d.Searches = append(d.Searches, ComparedSearch{a.Searches[i], b.Searches[j]})
			}
		}
	}
	return d
}

func (c *Campaign) isPoint(s TrialSide) bool {
	return slices.ContainsFunc(c.Cells, func(cell TrialCell) bool { return cell.CellID == s.CellID && cell.Search })
}

// counterparts finds the counterpart of each cell.
func counterparts(a, b []TrialCell) map[int]int {
	partner, taken := map[int]int{}, map[int]bool{}
	for i := range a {
		if j := slices.IndexFunc(b, func(c TrialCell) bool { return c.CellID == a[i].CellID }); j >= 0 {
			partner[i], taken[j] = j, true
		}
	}
	byEra := func(cells []TrialCell, used func(int) bool) map[string][]int {
		all := map[string][]int{}
		for i := range cells {
			if cells[i].Era != "" && !used(i) {
				key := eraKey(cells[i].Cell, cells[i].Era)
				all[key] = append(all[key], i)
			}
		}
		return all
	}
	right := byEra(b, func(j int) bool { return taken[j] })
	for key, i := range byEra(a, func(i int) bool { _, there := partner[i]; return there }) {
		if j := right[key]; len(i) == 1 && len(j) == 1 {
			partner[i[0]] = j[0]
		}
	}
	return partner
}

func eraKey(c campaign.Cell, era string) string {
	c.Kernel = "era " + era
	return c.Key()
}

// sameSearch reports whether two searches look for the same in the same cell.
func sameSearch(a, b *Campaign, x, y *TrialSearch) bool {
	if x.Where != y.Where {
		return false
	}
	if x.Cell.Key() == y.Cell.Key() {
		return true
	}
	ex, ey := a.eraOf(x.Kernel), b.eraOf(y.Kernel)
	return ex != "" && ex == ey && eraKey(x.Cell, ex) == eraKey(y.Cell, ey)
}

// eraOf is the era of a kernel as its trials told, "" where none did.
func (c *Campaign) eraOf(kernel string) string {
	for i := range c.Cells {
		if c.Cells[i].Kernel == kernel && c.Cells[i].Era != "" {
			return c.Cells[i].Era
		}
	}
	return ""
}

// CompareJSON writes the document.
func CompareJSON(w io.Writer, d *TrialComparisons) error {
	return writeJSON(w, d, "the comparison")
}

// CompareText writes the differences for a person.
func CompareText(w io.Writer, d *TrialComparisons, opt TextOptions) error {
	p := &page{opt: opt}
	if len(d.Campaigns) == 2 {
		p.bothCampaigns(d)
	} else {
		p.oneCampaign(d)
	}
	return p.ownTo(w, "trial", "the comparison")
}

func (p *page) oneCampaign(d *TrialComparisons) {
	name := p.safe(d.Campaigns[0].Label, maxSource)
	p.para("", fmt.Sprintf("%s: %s compared; intervals of 95 %%", name, plural(len(d.Pairs), "pair of cells", "pairs of cells")), name, bold)
	if len(d.Pairs) == 0 {
		p.say("  ", "No two cells with trials differ in one thing only.")
		return
	}
	for i := range d.Pairs {
		pair := &d.Pairs[i]
		p.line("")
		p.side(&pair.A, "  ")
		p.side(&pair.B, "  ")
		p.outcome("less", pair.text())
	}
	p.manyPairs(d)
}

func (p *page) side(s *TrialSide, first string) {
	p.say(first, cellName(&s.Cell)+": "+s.text())
}

func (s *TrialSide) text() string {
	if s.Rate == nil {
		return "no boots that were decided"
	}
	return fmt.Sprintf("%d of %d, %s", s.Unstable, s.Boots, rated(*s.Rate, *s.RateLow, *s.RateHigh))
}

// manyPairs says what many tests at once do.
func (p *page) manyPairs(d *TrialComparisons) {
	if n := len(d.Pairs); n > 1 {
		p.line("")
		p.say("", fmt.Sprintf("Rates are those of unstable trials, whatever the cause. Differences are in points of per cent, the first less the second, by Newcombe; mid-p is Fisher's, two-sided. Of %d comparisons between equal rates, about %s have a p below 0.05.", n, short(0.05*float64(n))))
	}
}

func (p *page) bothCampaigns(d *TrialComparisons) {
	a, b := p.safe(d.Campaigns[0].Label, maxSource), p.safe(d.Campaigns[1].Label, maxSource)
	p.para("", fmt.Sprintf("%s and %s: %s in both; intervals of 95 %%", a, b, plural(len(d.Pairs), "cell", "cells")), a+" and "+b, bold)
	for i := range d.Pairs {
		pair := &d.Pairs[i]
		title := p.safe(cellName(&pair.A.Cell), maxText)
		if pair.A.Kernel != pair.B.Kernel {
			title += "; there called " + p.safe(pair.B.Kernel, maxName) + ", of the same era"
		}
		p.line("")
		p.para("  ", title, "", plain)
		p.beside(a, pair.A.text(), b, pair.B.text())
		p.outcome("less", pair.text())
	}
	if len(d.Searches) > 0 {
		p.heading("Searches")
	}
	for i := range d.Searches {
		s := &d.Searches[i]
		p.para("  ", p.safe(cellName(&s.A.Cell)+", "+whereText(s.A.Where), maxText), "", plain)
		p.beside(a, s.A.edge(), b, s.B.edge())
	}
	for _, only := range []struct {
		label string
		sides []TrialSide
	}{{a, d.OnlyA}, {b, d.OnlyB}} {
		if len(only.sides) > 0 {
			p.heading("Only in " + only.label)
		}
		for i := range only.sides {
			p.side(&only.sides[i], "  ")
		}
	}
	p.manyPairs(d)
}

// beside writes what two campaigns say of the same.
func (p *page) beside(a, textA, b, textB string) {
	width := max(columns(a), columns(b))
	for _, side := range [][2]string{{a, textA}, {b, textB}} {
		p.say("    "+side[0]+strings.Repeat(" ", width-columns(side[0]))+"  ", side[1])
	}
}
