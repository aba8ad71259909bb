package page

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/bench"
	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/internal/report"
)

// clocks are benchmarks of reading clocks.
type clocks struct {
	documents int
	all       []clockBench
}

// clockBench is what was measured under one clocksource.
type clockBench struct {
	id, source string
	report.ClockBench
}

func (k *clocks) amount() (n int, one, many string) {
	return k.documents, "clock benchmark", "clock benchmarks"
}

func (k *clocks) take(d *document) (bool, error) {
	if d.Schema != report.ClockBenchSchema {
		return false, nil
	}
	var whole report.ClockBench
	if err := d.decode(&whole); err != nil {
		return true, err
	}
	k.documents++
	for _, source := range sourcesOf(&whole) {
		b := clockBench{id: fmt.Sprintf("clock-%d", len(k.all)+1), source: d.Source, ClockBench: whole}
		b.Clocksource = source
		b.Results = slices.DeleteFunc(slices.Clone(whole.Results), func(r report.ClockRead) bool { return r.Clocksource != source })
		b.Routes = slices.DeleteFunc(slices.Clone(whole.Routes), func(r report.ClockRoute) bool { return r.Clocksource != source && r.Clocksource != "" })
		b.Steps = slices.DeleteFunc(slices.Clone(whole.Steps), func(s report.ClockSteps) bool { return s.Clocksource != source && s.Clocksource != "" })
		b.Across = slices.DeleteFunc(slices.Clone(whole.Across), func(c report.ClockCrossing) bool { return c.Clocksource != source && c.Clocksource != "" })
		k.all = append(k.all, b)
	}
	return true, nil
}

// mostSources is how many clocksources of one benchmark are shown.
const mostSources = 16

// sourcesOf are the clocksources that a benchmark has results of, in their order.
func sourcesOf(b *report.ClockBench) []string {
	var all []string
	for i := range b.Results {
		if s := b.Results[i].Clocksource; !slices.Contains(all, s) && len(all) < mostSources {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		all = append(all, b.Clocksource)
	}
	return all
}

// name tells benchmarks apart: by the clocksource, and by the file where there are several of one.
func (k *clocks) name(b *clockBench) string {
	n := 0
	for i := range k.all {
		if k.all[i].Clocksource == b.Clocksource {
			n++
		}
	}
	called := or(name(b.Clocksource), "clocksource not known")
	if n > 1 {
		called += ", " + name(path.Base(b.source))
	}
	return called
}

// costs are the prices on one CPU alone that have figures.
func (b *clockBench) costs() []*report.ClockRead {
	var all []*report.ClockRead
	for i := range b.Results {
		if r := &b.Results[i]; r.Part == bench.Costs && r.Batches > 0 {
			all = append(all, r)
		}
	}
	return all
}

func (k *clocks) verdicts() []Verdict {
	return verdictsOf(k.all, func(b *clockBench) Verdict {
		status, sentence := b.sentence()
		return Verdict{Status: status, What: k.name(b), Text: sentence, Link: b.id}
	})
}

// sentence tells what a program pays for the time, and by which path.
func (b *clockBench) sentence() (Status, string) {
	var parts []string
	status := Info
	for _, r := range b.Routes {
		if r.Clock != "monotonic" {
			continue
		}
		switch r.Path {
		case bench.PathVDSO:
			parts = append(parts, "programs read it in user space, by the vDSO")
		case bench.PathSyscall:
			status = Warning
			parts = append(parts, "every read is a system call")
		default:
			parts = append(parts, "which path programs take could not be told")
		}
	}
	for _, r := range b.costs() {
		if r.Clock == "monotonic" && (r.Path == bench.PathVDSO || r.Path == bench.PathSyscall) {
			parts = append(parts, fmt.Sprintf("%s %s", r.Path, priced(r.Median, r.Low, r.High)))
		}
	}
	status, ended := endedAs(b.Ended, b.Switching, status)
	parts = append(parts, ended...)
	if len(b.Warnings) > 0 {
		status = Warning
		parts = append(parts, several(len(b.Warnings), "warning", "warnings"))
	}
	if len(parts) == 0 {
		return Unknown, "it has no figures"
	}
	return status, strings.Join(parts, "; ")
}

func (k *clocks) section() *Section {
	if len(k.all) == 0 {
		return nil
	}
	s := &Section{ID: "bench-clock", Title: "What reading a clock takes"}
	if f := k.prices(); f != nil {
		s.Blocks = append(s.Blocks, Block{Figure: f})
	}
	for i := range k.all {
		b := &k.all[i]
		status, sentence := b.sentence()
		s.Blocks = append(s.Blocks, Block{Heading: k.name(b), ID: b.id, List: []Item{{Status: status, Text: sentence}}}, Block{Facts: b.facts()})
		if items := b.doubts(); len(items) > 0 {
			s.Blocks = append(s.Blocks, Block{List: items})
		}
		for _, f := range b.contention() {
			s.Blocks = append(s.Blocks, Block{Figure: f})
		}
		for i := range b.Runs {
			if p := b.Runs[i].Profile; p != nil && b.Runs[i].Clocksource == b.Clocksource {
				s.Blocks = append(s.Blocks, Block{Details: &Details{Summary: "What the benchmark spent its time on", Blocks: profileBlocks(p, true)}})
			}
		}
		if t := b.routes(); len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, Block{Details: &Details{Summary: "Which path programs get", Blocks: []Block{{Table: t}}}})
		}
		if t := b.table(); len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, Block{Details: &Details{Summary: "All prices", Blocks: []Block{{Table: t}}}})
		}
		if t := b.steps(); len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, Block{Details: &Details{Summary: "From read to read: resolution, and whether a clock went backwards", Blocks: []Block{{Table: t}}}})
		}
	}
	return s
}

// prices puts the ways of all benchmarks side by side.
func (k *clocks) prices() *Figure {
	var all []dot
	numbers := &Table{Caption: "ns per read, one CPU alone", Sort: true, Columns: []Column{{Name: "way"}, {Name: "clocksource"}, {Name: "median (ns)", Number: true}, {Name: "low", Number: true}, {Name: "high", Number: true}, {Name: "p99 of batches", Number: true}}}
	for i := range k.all {
		b := &k.all[i]
		for _, r := range b.costs() {
			called := name(r.Name())
			group := k.name(b)
			all = append(all, dot{called, group, r.Median, r.Low, r.High, called + ", " + group + ": " + priced(r.Median, r.Low, r.High)})
			numbers.Rows = append(numbers.Rows, []Cell{plain(called), plain(group), number(r.Median), number(r.Low), number(r.High), number(r.P99)})
		}
	}
	if len(all) == 0 {
		return nil
	}
	subtitle := "one CPU alone; medians over batches, whiskers are intervals of 95 %"
	if len(k.all) > report.MostCurves {
		subtitle += fmt.Sprintf("; the first %d benchmarks of %d", report.MostCurves, len(k.all))
	}
	return &Figure{Chart: dots("What a read takes, by path", subtitle, plot.Axis{Label: "ns per read", Scale: plot.Log}, all), Numbers: numbers.trim(mostRows)}
}

func (b *clockBench) facts() []Fact {
	facts := []Fact{{"file", name(b.source)}, {"processor", or(name(b.CPUModel), "not known")}, {"kernel", or(name(b.Kernel), "not known")},
		{"slow reads", text(answered(b.LatencyCanCondemn, "can cost this machine its TSC", "cannot cost it its TSC", "whether they can cost it its TSC cannot be told", b.LatencyWhy))}}
	for _, r := range b.Routes {
		if r.Clock == "monotonic" {
			facts = append(facts, Fact{"path", text(joined(": ", r.Path, r.Why))})
		}
	}
	backward := 0
	for _, a := range b.Across {
		if a.Backward > 0 {
			backward++
		}
	}
	if len(b.Across) > 0 {
		facts = append(facts, Fact{"between CPUs", fmt.Sprintf("%s read in turn; backwards in %d", several(len(b.Across), "pair", "pairs"), backward)})
	}
	counters, _ := bounded(b.Counters, 8)
	for _, c := range counters {
		line := c.Why
		if c.Batches > 0 {
			line = priced(c.Median, c.Low, c.High) + ", at a watchdog's pace"
		}
		facts = append(facts, Fact{"counter " + name(c.Name), text(line)})
	}
	return append(facts, Fact{"ended", name(b.Ended)})
}

func (b *clockBench) doubts() []Item {
	return doubtsOf(b.Warnings, func(w bench.Warning) (code, said string) { return w.Code, w.Text })
}

// contention draws what a read takes, and how many all CPUs make, against the number of CPUs that read.
func (b *clockBench) contention() []*Figure {
	groups := map[string][]*report.ClockRead{}
	var order []string
	for i := range b.Results {
		r := &b.Results[i]
		if r.Part != bench.Contention || r.Batches == 0 {
			continue
		}
		if groups[r.Name()] == nil {
			order = append(order, r.Name())
		}
		groups[r.Name()] = append(groups[r.Name()], r)
	}
	// One CPU alone is no contention.
	order = slices.DeleteFunc(order, func(way string) bool { return len(groups[way]) < 2 })
	if len(order) == 0 {
		return nil
	}
	shownOrder, left := bounded(order, report.MostCurves)
	price := &plot.Chart{Title: "What a read takes while several CPUs read", Y: plot.Axis{Label: "ns per read", Scale: plot.Log}, Height: 360}
	total := &plot.Chart{Title: "Reads of all CPUs together", Y: plot.Axis{Label: "million reads per second"}, Height: 360}
	columns := func(what string) []Column {
		return []Column{{Name: "way"}, {Name: "CPUs", Number: true}, {Name: what, Number: true}, {Name: "low", Number: true}, {Name: "high", Number: true}, {Name: "fairness", Number: true}}
	}
	prices, totals := &Table{Caption: price.Title, Columns: columns("ns per read")}, &Table{Caption: total.Title, Columns: columns("reads per second")}
	ticks := map[float64]bool{}
	for _, way := range shownOrder {
		called := name(way)
		p, all := plot.Series{Name: called, Joined: true}, plot.Series{Name: called, Joined: true}
		for _, r := range slices.SortedStableFunc(slices.Values(groups[way]), func(a, b *report.ClockRead) int { return cmp.Compare(a.CPUs, b.CPUs) }) {
			x := float64(r.CPUs)
			ticks[x] = true
			p.Points = append(p.Points, plot.Point{X: x, Y: r.Median, Low: r.Low, High: r.High})
			p.Hints = append(p.Hints, fmt.Sprintf("%s, %s: %s", called, several(r.CPUs, "CPU", "CPUs"), priced(r.Median, r.Low, r.High)))
			fair := Cell{}
			if c := r.Crowd; c != nil {
				fair = number(c.Fairness.Median)
				e := c.ReadsPerSecond
				all.Points = append(all.Points, plot.Point{X: x, Y: e.Median / 1e6, Low: e.Low / 1e6, High: e.High / 1e6})
				all.Hints = append(all.Hints, fmt.Sprintf("%s, %s: %s million a second (%s to %s)", called, several(r.CPUs, "CPU", "CPUs"), report.Digits(e.Median/1e6), report.Digits(e.Low/1e6), report.Digits(e.High/1e6)))
				totals.Rows = append(totals.Rows, []Cell{plain(called), count(r.CPUs), number(e.Median), number(e.Low), number(e.High), fair})
			}
			prices.Rows = append(prices.Rows, []Cell{plain(called), count(r.CPUs), number(r.Median), number(r.Low), number(r.High), fair})
		}
		price.Series, total.Series = append(price.Series, p), append(total.Series, all)
	}
	for _, c := range [...]*plot.Chart{price, total} {
		c.X = plot.Axis{Label: "CPUs that read at once"}
		for x := range ticks {
			c.X.Ticks = append(c.X.Ticks, x)
		}
		slices.Sort(c.X.Ticks)
		if len(c.X.Ticks) > 4 {
			c.X.Scale = plot.Log
		}
		c.Subtitle = name(b.Clocksource) + "; whiskers are intervals of 95 %"
		if left > 0 {
			c.Subtitle += fmt.Sprintf("; the first %d ways of %d", len(shownOrder), len(order))
		}
		c.Description = c.Title + ", a line for each way."
	}
	return []*Figure{{Chart: price, Numbers: prices.trim(mostRows)}, {Chart: total, Numbers: totals.trim(mostRows)}}
}

func (b *clockBench) routes() *Table {
	t := &Table{Caption: "Paths of the POSIX clocks", Sort: true, Columns: []Column{{Name: "Clock"}, {Name: "Path"}, {Name: "vDSO to system call", Number: true}, {Name: "Why"}}}
	for _, r := range b.Routes {
		ratio := Cell{}
		if r.Ratio > 0 {
			ratio = share(r.Ratio)
		}
		t.Rows = append(t.Rows, []Cell{plain(r.Clock), plain(r.Path), ratio, plain(r.Why)})
	}
	return t.trim(mostItems)
}

func (b *clockBench) table() *Table {
	t := &Table{Caption: "ns per read", Sort: true, Columns: []Column{{Name: "Way"}, {Name: "Part"}, {Name: "CPUs", Number: true}, {Name: "Median", Number: true}, {Name: "Low", Number: true}, {Name: "High", Number: true}, {Name: "p99", Number: true}, {Name: "Min", Number: true}, {Name: "Max", Number: true}, {Name: "Reads", Number: true}, {Name: "Why not"}}}
	for i := range b.Results {
		r := &b.Results[i]
		row := []Cell{plain(r.Name()), plain(string(r.Part)), count(r.CPUs)}
		if r.Batches > 0 {
			row = append(row, number(r.Median), number(r.Low), number(r.High), number(r.P99), number(r.Min), number(r.Max), count(r.Reads), plain(r.Why))
		} else {
			row = append(row, Cell{}, Cell{}, Cell{}, Cell{}, Cell{}, Cell{}, Cell{}, plain(r.Why))
		}
		t.Rows = append(t.Rows, row)
	}
	return t.compact().trim(mostRows)
}

func (b *clockBench) steps() *Table {
	t := &Table{Caption: "Steps from read to read", Sort: true, Columns: []Column{{Name: "Way"}, {Name: "Unit"}, {Name: "Reads", Number: true}, {Name: "Same value twice", Number: true}, {Name: "Smallest", Number: true}, {Name: "Resolution, ns", Number: true}, {Name: "Median", Number: true}, {Name: "p99", Number: true}, {Name: "Max", Number: true}, {Name: "Backwards", Number: true}}}
	for i := range b.Steps {
		s := &b.Steps[i]
		t.Rows = append(t.Rows, []Cell{plain(s.Name()), plain(s.Unit), count(s.Count), count(s.Zero), count(s.Smallest), number(s.Resolution), count(s.Median), count(s.P99), count(s.Max), count(s.Backward)})
	}
	return t.trim(mostRows)
}
