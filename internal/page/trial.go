package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/report"
)

// campaigns are boot campaigns.
type campaigns struct {
	all []campaigned
}

type campaigned struct {
	id, source string
	report.Campaign
}

func (k *campaigns) amount() (n int, one, many string) {
	return len(k.all), "campaign of boots", "campaigns of boots"
}

func (k *campaigns) take(d *document) (bool, error) {
	if d.Schema != report.TrialSchema {
		return false, nil
	}
	c := campaigned{id: fmt.Sprintf("campaign-%d", len(k.all)+1), source: d.Source}
	if err := d.decode(&c.Campaign); err != nil {
		return true, err
	}
	if c.Inputs == nil {
		c.Inputs = &campaign.Plan{}
	}
	// A series whose values and cells do not belong together can be drawn as little as one of none.
	c.Series = slices.DeleteFunc(c.Series, func(s report.TrialSeries) bool {
		return len(s.Values) == 0 || len(s.Values) != len(s.Cells) || !slices.IsSorted(s.Values)
	})
	k.all = append(k.all, c)
	return true, nil
}

func (c *campaigned) name() string { return name(or(c.Inputs.Name, c.source)) }

func (k *campaigns) verdicts() []Verdict {
	return verdictsOf(k.all, func(c *campaigned) Verdict {
		v := Verdict{Status: Info, What: c.name(), Text: c.sentence(), Link: c.id}
		if len(c.Warnings) > 0 {
			v.Text += "; " + several(len(c.Warnings), "warning", "warnings")
		}
		return v
	})
}

// sentence tells how many trials there were and where the TSC was given up most often.
func (c *campaigned) sentence() string {
	line := several(c.Over, "trial is over", "trials are over")
	if c.Pending > 0 {
		line += fmt.Sprintf(", %d missing", c.Pending)
	}
	if c.Running {
		line += ", it is still running"
	}
	var worst *report.TrialCell
	none := 0
	for i := range c.Cells {
		cell := &c.Cells[i]
		if cell.Search || cell.Rate == nil || cell.RateLow == nil || cell.RateHigh == nil {
			continue
		}
		if cell.Unstable == 0 {
			none++
		}
		if worst == nil || *cell.Rate > *worst.Rate {
			worst = cell
		}
	}
	switch {
	case worst != nil && worst.Unstable > 0:
		line += fmt.Sprintf(". Unstable boots: most with %s, %s; none in %s", name(report.CellName(&worst.Cell)), report.Rated(*worst.Rate, *worst.RateLow, *worst.RateHigh), several(none, "cell", "cells"))
	case worst != nil:
		line += "; no kernel gave the TSC up"
	}
	searches, _ := bounded(c.Searches, 4)
	for i := range searches {
		line += "; " + name(searches[i].Kernel) + ": " + name(report.SearchEdge(&searches[i]))
	}
	return line
}

func (k *campaigns) section() *Section {
	if len(k.all) == 0 {
		return nil
	}
	s := &Section{ID: "trial", Title: "Campaigns of boots"}
	for i := range k.all {
		c := &k.all[i]
		s.Blocks = append(s.Blocks, Block{Heading: c.name(), ID: c.id, Text: []string{text(c.sentence()) + "."}, Facts: c.facts()})
		if items := c.warned(); len(items) > 0 {
			s.Blocks = append(s.Blocks, Block{List: items})
		}
		if f := c.parameterFigure(); f != nil {
			s.Blocks = append(s.Blocks, Block{Figure: f})
		}
		if f := c.cellFigure(); f != nil {
			s.Blocks = append(s.Blocks, Block{Figure: f})
		}
		if len(c.Cells) > 0 {
			s.Blocks = append(s.Blocks, Block{Table: c.cells()})
		}
		s.Blocks = append(s.Blocks, c.trends()...)
		if t := c.condemned(); t != nil {
			s.Blocks = append(s.Blocks, Block{Details: &Details{Summary: "The condemnations, in the kernel's words", Blocks: []Block{{Table: t}}}})
		}
	}
	return s
}

func (c *campaigned) facts() []Fact {
	in := c.Inputs
	executor := "real kernels in QEMU"
	if in.Executor == campaign.Simulated {
		executor = "simulated boots of " + name(in.Machine)
	}
	facts := []Fact{{"file", name(c.source)}, {"what boots", text(executor)}, {"seed", fmt.Sprint(in.Seed)}, {"followed for", report.Lasting(float64(in.Window))}}
	for _, d := range [...]struct {
		of   string
		took report.TrialDurations
	}{{"a boot", c.Boots}, {"a restore", c.Restores}} {
		if d.took.MedianSeconds != nil {
			facts = append(facts, Fact{d.of, fmt.Sprintf("took %s s (median of %d)", report.Digits(*d.took.MedianSeconds), d.took.Trials)})
		}
	}
	return facts
}

func (c *campaigned) warned() []Item {
	var items []Item
	list, left := bounded(c.Warnings, mostItems)
	for _, w := range list {
		items = append(items, Item{Status: Warning, Lead: name(w.Code), Text: text(w.Text)})
	}
	return more(items, left)
}

// parameterFigure is the picture that the campaign's own report draws.
func (c *campaigned) parameterFigure() *Figure {
	chart := report.TrialPoints(&c.Campaign)
	numbers := &Table{Caption: chart.Title, Columns: []Column{{Name: "series"}, {Name: name(chart.X.Label), Number: true}, {Name: "rate", Number: true}, {Name: "low", Number: true}, {Name: "high", Number: true}}}
	for i := range chart.Series {
		s := &chart.Series[i]
		for _, p := range s.Points {
			numbers.Rows = append(numbers.Rows, []Cell{plain(s.Name), number(p.X), share(p.Y), share(p.Low), share(p.High)})
			if len(s.Points) <= 40 {
				s.Hints = append(s.Hints, fmt.Sprintf("%s, %s: %s", name(s.Name), report.Digits(p.X), report.Rated(p.Y, p.Low, p.High)))
			}
		}
	}
	if len(numbers.Rows) == 0 {
		return nil
	}
	return &Figure{Chart: chart, Numbers: numbers.trim(mostCurve)}
}

// cellFigure is a row for each cell of the grids that was decided.
func (c *campaigned) cellFigure() *Figure {
	var rows []dot
	most := 0.0
	for i := range c.Cells {
		cell := &c.Cells[i]
		if cell.Search || cell.Rate == nil || cell.RateLow == nil || cell.RateHigh == nil {
			continue
		}
		called := shortCell(&cell.Cell)
		rows = append(rows, dot{called, "unstable boots", *cell.Rate, *cell.RateLow, *cell.RateHigh, name(report.CellName(&cell.Cell)) + ": " + report.Rated(*cell.Rate, *cell.RateLow, *cell.RateHigh)})
		most = max(most, *cell.RateHigh)
	}
	if len(rows) < 2 {
		return nil
	}
	subtitle := "whiskers are Wilson's intervals of 95 %"
	if len(rows) > mostDots {
		subtitle += fmt.Sprintf("; the first %d of %d cells", mostDots, len(rows))
	}
	return &Figure{Chart: dots("Unstable boots of each cell", subtitle, rateAxis("unstable boots", most), rows), Numbers: dotTable("Unstable boots of each cell", rows)}
}

// shortCell is a cell in few words, for a place beside a chart.
func shortCell(c *campaign.Cell) string {
	parts := []string{c.Kernel}
	for _, p := range c.Set {
		p = strings.TrimPrefix(p, "clocksource.")
		parts = append(parts, strings.Replace(p, "max_cswd_read_retries=", "retries ", 1))
	}
	if c.Delay.None() {
		parts = append(parts, "no delay")
	}
	if !c.Fault.None() {
		parts = append(parts, c.Fault.String())
	}
	if c.Load != "" && c.Load != "none" {
		parts = append(parts, "load "+c.Load)
	}
	return name(strings.Join(append(parts, several(c.CPUs, "CPU", "CPUs")), ", "))
}

func (c *campaigned) cells() *Table {
	t := &Table{Caption: "Cells", Sort: true, Columns: []Column{
		{Name: "Kernel"}, {Name: "Era"}, {Name: "Parameters"}, {Name: "CPUs", Number: true}, {Name: "Load"}, {Name: "Delay"}, {Name: "Fault"}, {Name: "Boots", Number: true}, {Name: "Stable", Number: true}, {Name: "Unstable", Number: true},
		{Name: "Rate", Number: true}, {Name: "Low", Number: true}, {Name: "High", Number: true}, {Name: "Causes"}, {Name: "Noticed", Number: true}, {Name: "Aside"},
	}}
	for i := range c.Cells {
		cell := &c.Cells[i]
		row := []Cell{plain(cell.Kernel), plain(cell.Era), plain(strings.Join(cell.Set, " ")), count(cell.CPUs), plain(cell.Load), plain(cell.Delay.String()), plain(cell.Fault.String()), count(cell.Boots), count(cell.Stable), count(cell.Unstable)}
		for _, v := range [...]*float64{cell.Rate, cell.RateLow, cell.RateHigh} {
			if v == nil {
				row = append(row, Cell{})
				continue
			}
			row = append(row, share(*v))
		}
		var causes []string
		for _, cause := range slices.Sorted(maps.Keys(cell.Causes)) {
			if n := cell.Causes[cause]; n > 0 {
				causes = append(causes, fmt.Sprintf("%s %d", name(string(cause)), n))
			}
		}
		noticed := Cell{}
		if n := cell.Noticed; n != nil && n.Rate != nil {
			noticed = Cell{Text: fmt.Sprintf("%d of %d", n.Noticed, n.Told), Value: value(*n.Rate)}
		}
		var aside []string
		for _, o := range [...]struct {
			n    int
			word string
		}{{cell.Blind, "blind"}, {cell.NoVerdict, "no verdict"}, {cell.Panicked, "panicked"}, {cell.Hung, "hung"}, {cell.NeverBooted, "never booted"}, {cell.Lost, "lost"}} {
			if o.n > 0 {
				aside = append(aside, fmt.Sprintf("%d %s", o.n, o.word))
			}
		}
		t.Rows = append(t.Rows, append(row, plain(strings.Join(causes, ", ")), noticed, plain(strings.Join(aside, ", "))))
	}
	return t.compact().trim(mostRows)
}

// trends tell of each series whether the rate falls.
func (c *campaigned) trends() []Block {
	var items []Item
	list, left := bounded(c.Series, mostItems)
	for i := range list {
		s := &list[i]
		item := Item{Lead: name(s.Parameter), Text: fmt.Sprintf("%s, from %g to %g", name(shortCell(&s.Cells[0].Cell)), s.Values[0], s.Values[len(s.Values)-1])}
		if s.Trend == nil {
			item.Text += ": no trend to test"
		} else {
			item.Text += fmt.Sprintf(": trend z = %.2f; a fall as strong by chance alone has p %s, a rise p %s (one-sided)", s.Trend.Z, report.Equals(s.Trend.Falls), report.Equals(s.Trend.Rises))
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		return nil
	}
	return []Block{{Text: []string{"Does the rate fall with the parameter?"}, List: more(items, left)}}
}

// condemned lists the trials whose kernel gave the TSC up.
func (c *campaigned) condemned() *Table {
	if len(c.Condemnations) == 0 {
		return nil
	}
	t := &Table{Caption: "Condemnations", Sort: true, Columns: []Column{{Name: "Trial"}, {Name: "Cause"}, {Name: "Delay", Number: true}, {Name: "Skew", Number: true}, {Name: "Attempt", Number: true}, {Name: "CPU", Number: true}, {Name: "At", Number: true}, {Name: "Line"}}}
	optional := func(v *int64, show func(float64) Cell) Cell {
		if v == nil {
			return Cell{}
		}
		return show(float64(*v))
	}
	whole := func(v float64) Cell { return Cell{Text: fmt.Sprintf("%.0f", v), Value: value(v)} }
	for i := range c.Condemnations {
		d := &c.Condemnations[i]
		line := ""
		if d.Message != "" {
			line = fmt.Sprintf("cswatch(%s): %s", name(d.Trial), text(d.Message))
		}
		t.Rows = append(t.Rows, []Cell{plain(d.Trial), plain(string(d.Cause)), optional(d.DelayNS, lasting), optional(d.SkewNS, lasting), optional(d.Attempt, whole), optional(d.CPU, whole), optional(d.AtNS, lasting), {Text: line, Value: cmp.Or(d.Message, "")}})
	}
	return t.trim(2 * mostItems)
}
