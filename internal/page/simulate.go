package page

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/internal/report"
)

// simulations are simulated boots.
type simulations struct {
	all []simulation
}

type simulation struct {
	id, source string
	report.Simulation
}

func (k *simulations) amount() (n int, one, many string) {
	return len(k.all), "simulation", "simulations"
}

func (k *simulations) take(d *document) (bool, error) {
	if d.Schema != report.SimulateSchema {
		return false, nil
	}
	s := simulation{id: fmt.Sprintf("simulation-%d", len(k.all)+1), source: d.Source}
	if err := d.decode(&s.Simulation); err != nil {
		return true, err
	}
	k.all = append(k.all, s)
	return true, nil
}

// designName is what to call a simulated watchdog on its machine.
func designName(d *report.SimulatedDesign) string {
	s := watchdogName(string(d.Era), d.Release, d.Retries) + ", " + several(d.CPUs, "CPU", "CPUs")
	if d.Fault != "" && d.Fault != "none" {
		s += ", " + name(d.Fault)
	}
	return s
}

func (k *simulations) verdicts() []Verdict {
	return verdictsOf(k.all, func(s *simulation) Verdict {
		v := Verdict{Status: Info, What: k.name(s), Link: s.id, Text: s.sentence()}
		if s.Interrupted {
			v.Status, v.Text = Warning, "interrupted: some boots are missing; "+v.Text
		}
		return v
	})
}

func (s *simulation) machines() string {
	names, _ := bounded(s.Inputs.Machines, 4)
	return or(name(strings.Join(names, ", ")), "simulation")
}

// name tells simulations of the same machines apart, by their files.
func (k *simulations) name(s *simulation) string {
	called := s.machines()
	for i := range k.all {
		if o := &k.all[i]; o.id != s.id && o.machines() == called {
			return called + ", " + name(path.Base(s.source))
		}
	}
	return called
}

// sentence tells the highest rate, the lowest, and what was detected.
func (s *simulation) sentence() string {
	if len(s.Cells) == 0 {
		if n := len(s.Smallest); n > 0 {
			return fmt.Sprintf("the smallest fault that is detected, for %s", several(n, "watchdog", "watchdogs"))
		}
		return "no cell"
	}
	line := several(len(s.Cells), "cell", "cells")
	if healthy := cellsWith(s.Cells, func(c *report.SimulatedCell) bool { return c.Fault == "none" || c.Fault == "" }); len(healthy) > 0 {
		line += ". Boots that give up a good TSC: " + extremes(healthy, func(c *report.SimulatedCell) (rate, low, high float64) { return c.Rate, c.RateLow, c.RateHigh })
	}
	if faulty := cellsWith(s.Cells, func(c *report.SimulatedCell) bool { return c.Detection != nil && c.Detection.Eligible > 0 }); len(faulty) > 0 {
		line += ". Boots that notice a fault: " + extremes(faulty, func(c *report.SimulatedCell) (rate, low, high float64) {
			return c.Detection.Rate, c.Detection.RateLow, c.Detection.RateHigh
		})
	}
	return line
}

func cellsWith(all []report.SimulatedCell, has func(*report.SimulatedCell) bool) (some []*report.SimulatedCell) {
	for i := range all {
		if has(&all[i]) {
			some = append(some, &all[i])
		}
	}
	return some
}

// extremes names the cells with the highest and the lowest rate.
func extremes(cells []*report.SimulatedCell, of func(*report.SimulatedCell) (rate, low, high float64)) string {
	byRate := func(a, b *report.SimulatedCell) int {
		x, _, _ := of(a)
		y, _, _ := of(b)
		return cmp.Compare(x, y)
	}
	most, least := slices.MaxFunc(cells, byRate), slices.MinFunc(cells, byRate)
	line := fmt.Sprintf("most with %s, %s", designName(&most.SimulatedDesign), report.Rated(of(most)))
	if byRate(least, most) < 0 {
		line += fmt.Sprintf("; fewest with %s, %s", designName(&least.SimulatedDesign), report.Rated(of(least)))
	}
	return line
}

func (k *simulations) section() *Section {
	if len(k.all) == 0 {
		return nil
	}
	sec := &Section{ID: "simulate", Title: "Simulated boots"}
	for i := range k.all {
		s := &k.all[i]
		sec.Blocks = append(sec.Blocks, Block{Heading: k.name(s), ID: s.id, Text: []string{text(s.sentence()) + "."}, Facts: s.facts()})
		for _, f := range s.figures() {
			sec.Blocks = append(sec.Blocks, Block{Figure: f})
		}
		if len(s.Cells) > 0 {
			sec.Blocks = append(sec.Blocks, Block{Table: s.table()})
		}
		if len(s.Smallest) > 0 {
			sec.Blocks = append(sec.Blocks, Block{Table: s.smallest()})
		}
	}
	return sec
}

func (s *simulation) facts() []Fact {
	facts := []Fact{{"file", name(s.source)}, {"seed", fmt.Sprint(s.Inputs.Seed)}, {"boots of each cell", grouped(fmt.Sprint(s.Inputs.Boots))}}
	machines, _ := bounded(s.Machines, 8)
	for _, m := range machines {
		facts = append(facts, Fact{name(m.Machine), text(fmt.Sprintf("%s; each boot is followed for %s s; parameters: %d measured, %d published, %d assumed, %d unsaid",
			m.About, report.Digits(m.WindowSeconds), m.Measured, m.Published, m.Assumed, m.Unsaid))})
	}
	return facts
}

// figures are the rates against what was varied: retries, or CPUs, or else a row for each cell.
func (s *simulation) figures() []*Figure {
	type axis struct {
		label string
		value func(*report.SimulatedCell) int
		rest  func(report.SimulatedDesign) report.SimulatedDesign
	}
	var all []*Figure
	for _, a := range [...]axis{
		{"retries (max_cswd_read_retries)", func(c *report.SimulatedCell) int { return c.Retries }, func(d report.SimulatedDesign) report.SimulatedDesign { d.Retries, d.RetriesBy = 0, ""; return d }},
		{"CPUs", func(c *report.SimulatedCell) int { return c.CPUs }, func(d report.SimulatedDesign) report.SimulatedDesign { d.CPUs = 0; return d }},
	} {
		if f := s.against(a.label, a.value, a.rest); f != nil {
			all = append(all, f)
		}
	}
	var rates, found []dot
	most := 0.0
	for i := range s.Cells {
		c := &s.Cells[i]
		called := designName(&c.SimulatedDesign)
		if len(s.Inputs.Machines) > 1 {
			called = name(c.Machine) + ", " + called
		}
		if c.Fault == "none" || c.Fault == "" {
			rates = append(rates, dot{called, "unstable boots", c.Rate, c.RateLow, c.RateHigh, called + ": " + report.Rated(c.Rate, c.RateLow, c.RateHigh)})
			most = max(most, c.RateHigh)
		}
		if d := c.Detection; d != nil && d.Eligible > 0 {
			found = append(found, dot{called, "boots that notice the fault", d.Rate, d.RateLow, d.RateHigh, called + ": " + report.Rated(d.Rate, d.RateLow, d.RateHigh)})
		}
	}
	if len(all) == 0 && len(rates) > 0 {
		all = append(all, &Figure{Chart: dots("Unstable boots without a fault", "simulated; whiskers are Wilson's intervals of 95 %", rateAxis("unstable boots", most), rates), Numbers: dotTable("Unstable boots without a fault", rates)})
	}
	if len(found) > 0 {
		all = append(all, &Figure{Chart: dots("Faults that are noticed", "simulated; of the boots that were not given up for latency before", rateAxis("boots that notice the fault", 1), found), Numbers: dotTable("Faults that are noticed", found)})
	}
	return all
}

// dotTable is the numbers of dots that are shares.
func dotTable(caption string, all []dot) *Table {
	t := &Table{Caption: caption, Columns: []Column{{Name: "which"}, {Name: "rate", Number: true}, {Name: "low", Number: true}, {Name: "high", Number: true}}}
	for _, d := range all {
		t.Rows = append(t.Rows, []Cell{plain(d.name), share(d.value), share(d.low), share(d.high)})
	}
	return t.trim(mostRows)
}

// against draws the rates against a number that differs, a line for each watchdog, nil where it differs for none.
func (s *simulation) against(label string, value func(*report.SimulatedCell) int, rest func(report.SimulatedDesign) report.SimulatedDesign) *Figure {
	groups := map[report.SimulatedDesign][]*report.SimulatedCell{}
	var order []report.SimulatedDesign
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Fault != "none" && c.Fault != "" {
			continue
		}
		key := rest(c.SimulatedDesign)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], c)
	}
	order = slices.DeleteFunc(order, func(d report.SimulatedDesign) bool { return len(groups[d]) < 2 })
	if len(order) == 0 {
		return nil
	}
	shownOrder, left := bounded(order, report.MostCurves)
	word, _, _ := strings.Cut(label, " ")
	chart := &plot.Chart{Title: "Unstable boots against the number of " + word, X: plot.Axis{Label: label, Scale: plot.LogPlusOne}}
	numbers := &Table{Caption: chart.Title, Columns: []Column{{Name: "watchdog"}, {Name: word, Number: true}, {Name: "boots", Number: true}, {Name: "unstable", Number: true}, {Name: "rate", Number: true}, {Name: "low", Number: true}, {Name: "high", Number: true}}}
	ticks := map[float64]bool{}
	most := 0.0
	for _, key := range shownOrder {
		cells := slices.SortedStableFunc(slices.Values(groups[key]), func(a, b *report.SimulatedCell) int { return cmp.Compare(value(a), value(b)) })
		called := seriesName(&key, len(s.Inputs.Machines) > 1)
		series := plot.Series{Name: called, Joined: true}
		for _, c := range cells {
			x := float64(value(c))
			series.Points = append(series.Points, plot.Point{X: x, Y: c.Rate, Low: c.RateLow, High: c.RateHigh})
			series.Hints = append(series.Hints, fmt.Sprintf("%s, %s %d: %s of %d boots", called, word, value(c), report.Rated(c.Rate, c.RateLow, c.RateHigh), c.Boots))
			ticks[x] = true
			most = max(most, c.RateHigh)
			numbers.Rows = append(numbers.Rows, []Cell{plain(called), count(value(c)), count(c.Boots), count(c.Unstable), share(c.Rate), share(c.RateLow), share(c.RateHigh)})
		}
		chart.Series = append(chart.Series, series)
	}
	if len(ticks) <= 20 {
		for x := range ticks {
			chart.X.Ticks = append(chart.X.Ticks, x)
		}
		slices.Sort(chart.X.Ticks)
	}
	chart.Y = rateAxis("unstable boots", most)
	chart.Subtitle = fmt.Sprintf("simulated, seed %d; whiskers are Wilson's intervals of 95 %%", s.Inputs.Seed)
	if left > 0 {
		chart.Subtitle += fmt.Sprintf("; %d more lines are left out", left)
	}
	if report.Sidestep(chart.Series, 1) {
		chart.Subtitle += "; points of the same number stand side by side"
	}
	chart.Description = fmt.Sprintf("The share of boots that gave up a good TSC against the number of %s, a line for each of %d watchdogs.", word, len(shownOrder))
	return &Figure{Chart: chart, Numbers: numbers.trim(mostRows)}
}

// seriesName is a watchdog without what varies.
func seriesName(d *report.SimulatedDesign, machine bool) string {
	s := name(or(d.Release, string(d.Era)))
	if d.Release != "" {
		s += " (" + name(string(d.Era)) + ")"
	}
	if d.CPUs > 0 {
		s += ", " + several(d.CPUs, "CPU", "CPUs")
	}
	if d.RetriesBy != "" {
		s += ", " + several(d.Retries, "retry", "retries")
	}
	if machine {
		s = name(d.Machine) + ", " + s
	}
	return s
}

func (s *simulation) table() *Table {
	t := &Table{Caption: "Cells", Sort: true, Columns: []Column{
		{Name: "Machine"}, {Name: "Era"}, {Name: "Release"}, {Name: "Retries", Number: true}, {Name: "CPUs", Number: true}, {Name: "Fault"}, {Name: "Boots", Number: true}, {Name: "Unstable", Number: true},
		{Name: "Rate", Number: true}, {Name: "Low", Number: true}, {Name: "High", Number: true}, {Name: "Noticed", Number: true}, {Name: "Blind", Number: true}, {Name: "First message"},
	}}
	for i := range s.Cells {
		c := &s.Cells[i]
		noticed := Cell{}
		if d := c.Detection; d != nil && d.Eligible > 0 {
			noticed = Cell{Text: report.Rated(d.Rate, d.RateLow, d.RateHigh), Value: value(d.Rate)}
		}
		t.Rows = append(t.Rows, []Cell{plain(c.Machine), plain(string(c.Era)), plain(c.Release), count(c.Retries), count(c.CPUs), plain(c.Fault), count(c.Boots), count(c.Unstable),
			share(c.Rate), share(c.RateLow), share(c.RateHigh), noticed, count(c.Blind), plain(c.Message)})
	}
	return t.compact().trim(mostRows)
}

func (s *simulation) smallest() *Table {
	t := &Table{Caption: "The smallest fault that is noticed", Sort: true, Columns: []Column{
		{Name: "Machine"}, {Name: "Era"}, {Name: "Release"}, {Name: "Retries", Number: true}, {Name: "CPUs", Number: true}, {Name: "Fault"}, {Name: "Often enough"}, {Name: "Noticed", Number: true},
	}}
	for i := range s.Smallest {
		f := &s.Smallest[i]
		enough := "no amount is"
		if f.Reached {
			enough = "yes, in " + report.Wanted(f.Wanted) + " or more"
		}
		d := &f.Detection
		t.Rows = append(t.Rows, []Cell{plain(f.Machine), plain(string(f.Era)), plain(f.Release), count(f.Retries), count(f.CPUs), plain(f.Fault), plain(enough), {Text: report.Rated(d.Rate, d.RateLow, d.RateHigh), Value: value(d.Rate)}})
	}
	return t.trim(mostRows)
}
