package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/internal/bench"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/machine"
)

// ClockBenchText writes the figures for a person: which path programs get, then a table for each part.
func ClockBenchText(w io.Writer, d *ClockBench, opt TextOptions) error {
	p := &page{opt: opt}
	clock := cmp.Or(d.Clocksource, "not known")
	if d.Ended == BenchChanged {
		clock += ", then " + cmp.Or(d.ClocksourceAfter, "not known") + ": the figures are not of one of them"
	}
	p.say("clocksource  ", clock+d.Switching.words())
	for _, r := range d.Routes {
		if r.Clock == hw.Monotonic && len(d.Runs) == 1 {
			p.say("read by      ", r.Path+": "+r.Why)
		} else if r.Clock == hw.Monotonic {
			p.say("read by      ", r.Path+" under "+cmp.Or(r.Clocksource, "an unknown clocksource")+": "+r.Why)
		}
	}
	p.say("machine      ", cmp.Or(d.CPUModel, "processor not known")+"; "+cmp.Or(d.Kernel, "kernel not known"))
	p.say("counters     ", pace(d)+d.LatencyWhy)
	p.benchCosts(d)
	p.benchAcross(d)
	p.benchCrowds(d)
	p.benchCounters(d)
	if len(d.Skipped) > 0 {
		p.heading("Not measured")
		for _, s := range d.Skipped {
			p.say("  - ", s.Name()+d.under(s.Clocksource)+": "+s.Why)
		}
	}
	p.switching(d.Switching)
	if len(d.Warnings) > 0 {
		p.heading("Doubts")
		for _, s := range d.Warnings {
			p.say("  ! ", s.Text)
		}
	}
	p.benchProfiles(d)
	p.line("")
	p.say("", fmt.Sprintf("Intervals are of 95 %%, for the median. What a read takes is averaged over the reads of a batch, so that p99 is of batches. "+
		"Interrupts were on. It took %.1f s.", d.Seconds))
	return p.writeTo(w, "the clock benchmark")
}

// benchProfiles shows what this program did during each run.
func (p *page) benchProfiles(d *ClockBench) {
	profiled := false
	for _, r := range d.Runs {
		if r.Profile != nil {
			p.heading("What this program did meanwhile" + p.safe(d.under(r.Clocksource), maxName))
			p.profile(r.Profile, "")
			profiled = profiled || r.Profile.Why == ""
		}
	}
	if profiled {
		p.line("")
		p.say("", profileIntervals)
	}
}

// pace tells how fast slow counters were read; why follows.
func pace(d *ClockBench) string {
	switch {
	case !d.Plan.AcceptLosingTSC && d.LatencyCanCondemn == machine.Yes:
		return "read at a watchdog's pace, since slow reads can cost the TSC: "
	case !d.Plan.AcceptLosingTSC:
		return "read at a watchdog's pace, since slow reads may cost the TSC: "
	case d.LatencyCanCondemn == machine.No:
		return "read fast, which cannot cost the TSC: "
	}
	return "read fast, since the loss of the TSC was accepted: "
}

// benchTable writes a table, or nothing where there is no row.
func benchTable[T any](p *page, title string, cols []cellColumn[T], rows []T) {
	if len(rows) == 0 {
		return
	}
	p.heading(title)
	shown, texts, _ := tableTexts(cols, rows)
	tableRows(p, shown, texts, numbers(0, len(rows)))
}

// costColumns are those of a price.
func costColumns[T any](of func(T) bench.Cost) []cellColumn[T] {
	cell := func(text func(bench.Cost) string) func(T) string {
		return func(t T) string {
			if c := of(t); c.Batches > 0 {
				return text(c)
			}
			return "-"
		}
	}
	return []cellColumn[T]{
		{title: "NS", cell: cell(func(c bench.Cost) string { return readNS(c.Median) })},
		{title: "95 %", left: true, cell: cell(func(c bench.Cost) string { return readNS(c.Low) + " to " + readNS(c.High) })},
		{title: "P99", cell: cell(func(c bench.Cost) string { return readNS(c.P99) })},
	}
}

func (p *page) benchCosts(d *ClockBench) {
	var rows []*ClockRead
	for i := range d.Results {
		if d.Results[i].Part == bench.Costs {
			rows = append(rows, &d.Results[i])
		}
	}
	cols := p.readColumns()
	cols = append(cols, costColumns(func(r *ClockRead) bench.Cost { return r.Cost })...)
	if len(d.Steps) > 0 {
		cols = append(cols, cellColumn[*ClockRead]{title: "RESOLUTION", cell: func(r *ClockRead) string {
			s := d.stepsOf(r)
			if s == nil {
				return "-"
			}
			return resolution(s)
		}}, cellColumn[*ClockRead]{title: "BACKWARDS", left: true, cell: func(r *ClockRead) string {
			s := d.stepsOf(r)
			if s == nil {
				return "-"
			}
			return timesBack(s.Backward, s.Count+s.Backward)
		}})
	}
	benchTable(p, fmt.Sprintf("One read, on CPU %d", d.CPU), cols, beside(rows))
}

// readColumns are those that say what was read; the clocksource, where there is more than one.
func (p *page) readColumns() []cellColumn[*ClockRead] {
	return []cellColumn[*ClockRead]{
		{title: "READ BY", left: true, cell: func(r *ClockRead) string { return p.safe(r.Name(), maxName) }},
		{title: "CLOCKSOURCE", left: true, same: true, cell: func(r *ClockRead) string { return p.safe(cmp.Or(r.Clocksource, "-"), maxName) }},
	}
}

// beside puts results that differ in nothing but their clocksource one below the other.
func beside(rows []*ClockRead) []*ClockRead {
	var sorted []*ClockRead
	for i, r := range rows {
		if slices.ContainsFunc(rows[:i], r.alike) {
			continue
		}
		for _, other := range rows[i:] {
			if r.alike(other) {
				sorted = append(sorted, other)
			}
		}
	}
	return sorted
}

func (r *ClockRead) alike(other *ClockRead) bool {
	return r.Part == other.Part && r.Way == other.Way && r.CPUs == other.CPUs
}

// under names the clocksource of a sentence, where there is more than one.
func (d *ClockBench) under(clocksource string) string {
	if len(d.Runs) < 2 {
		return ""
	}
	return " under " + cmp.Or(clocksource, "an unknown clocksource")
}

// crossed are the pairs of CPUs that read by one way in turn.
type crossed struct {
	way             bench.Way
	clocksource     string
	pairs, partly   int
	turns, backward int
	why             string
}

func (p *page) benchAcross(d *ClockBench) {
	var rows []*crossed
	for i := range d.Across {
		c := &d.Across[i]
		at := slices.IndexFunc(rows, func(r *crossed) bool { return r.way == c.Way && r.clocksource == c.Clocksource })
		if at < 0 {
			at, rows = len(rows), append(rows, &crossed{way: c.Way, clocksource: c.Clocksource})
		}
		r := rows[at]
		r.pairs++
		r.turns += c.Turns
		r.backward += c.Backward
		r.why = cmp.Or(r.why, c.Why)
		if !c.Complete {
			r.partly++
		}
	}
	benchTable(p, "Two CPUs read in turn", []cellColumn[*crossed]{
		{title: "READ BY", left: true, cell: func(c *crossed) string { return p.safe(c.way.Name(), maxName) }},
		{title: "CLOCKSOURCE", left: true, same: true, cell: func(c *crossed) string { return p.safe(cmp.Or(c.clocksource, "-"), maxName) }},
		{title: "PAIRS", cell: func(c *crossed) string { return strconv.Itoa(c.pairs) }},
		{title: "READS", cell: func(c *crossed) string { return strconv.Itoa(c.turns) }},
		{title: "BACKWARDS", left: true, cell: func(c *crossed) string {
			text := timesBack(uint64(c.backward), uint64(c.turns))
			if c.partly > 0 {
				text += "; " + plural(c.partly, "pair was", "pairs were") + " not done in time"
			}
			if c.why != "" {
				text += "; " + p.safe(c.why, maxName)
			}
			return text
		}},
	}, rows)
}

func (p *page) benchCrowds(d *ClockBench) {
	var rows []*ClockRead
	for i := range d.Results {
		if d.Results[i].Part == bench.Contention {
			rows = append(rows, &d.Results[i])
		}
	}
	crowd := func(text func(*ClockCrowd) string) func(*ClockRead) string {
		return func(r *ClockRead) string {
			if r.Crowd == nil || r.Crowd.Rounds == 0 {
				return "-"
			}
			return text(r.Crowd)
		}
	}
	cols := append(p.readColumns(), cellColumn[*ClockRead]{title: "CPUS", cell: func(r *ClockRead) string { return strconv.Itoa(r.CPUs) }})
	rows = beside(rows)
	cols = append(cols, costColumns(func(r *ClockRead) bench.Cost { return r.Cost })...)
	cols = append(cols,
		cellColumn[*ClockRead]{title: "READS/S", cell: crowd(func(c *ClockCrowd) string { return fmt.Sprintf("%.2f M", c.ReadsPerSecond.Median/1e6) })},
		cellColumn[*ClockRead]{title: "FAIRNESS", cell: crowd(func(c *ClockCrowd) string { return fmt.Sprintf("%.2f", c.Fairness.Median) })},
	)
	benchTable(p, "Several CPUs read at once", cols, rows)
	for _, r := range rows {
		if r.Why != "" {
			p.say("  - ", fmt.Sprintf("%s on %s%s: %s", r.Name(), plural(r.CPUs, "CPU", "CPUs"), d.under(r.Clocksource), r.Why))
		}
	}
}

func (p *page) benchCounters(d *ClockBench) {
	var read, not []*bench.CounterResult
	for i := range d.Counters {
		if c := &d.Counters[i]; c.Batches > 0 {
			read = append(read, c)
		} else {
			not = append(not, c)
		}
	}
	cols := []cellColumn[*bench.CounterResult]{{title: "COUNTER", left: true, cell: func(c *bench.CounterResult) string { return p.safe(c.Name, maxName) }}}
	cols = append(cols, costColumns(func(c *bench.CounterResult) bench.Cost { return c.Cost })...)
	cols = append(cols,
		cellColumn[*bench.CounterResult]{title: "RESOLUTION", cell: func(c *bench.CounterResult) string { return resolution(&c.Steps) }},
		cellColumn[*bench.CounterResult]{title: "EACH", cell: func(c *bench.CounterResult) string { return fmt.Sprintf("%g s", c.Pace) }})
	benchTable(p, "Counters, by their own time", cols, read)
	if len(not) > 0 {
		if len(read) == 0 {
			p.heading("Counters")
		}
		for _, c := range not {
			why := cmp.Or(c.Why, "it was not read")
			if !strings.HasPrefix(why, c.Name) {
				why = c.Name + ": " + why
			}
			p.say("  - ", why)
		}
	}
}

// resolution writes the smallest step.
func resolution(s *bench.Steps) string {
	switch {
	case s.Resolution > 0:
		return readNS(s.Resolution) + " ns"
	case s.Smallest > 0:
		return fmt.Sprintf("%d %s", s.Smallest, s.Unit)
	}
	return "-"
}

// timesBack tells how often a clock went back among so many reads.
func timesBack(n, of uint64) string {
	switch {
	case of == 0:
		return "not read"
	case n == 0:
		return "never"
	}
	return fmt.Sprintf("%d of %d", n, of)
}

// readNS writes what a read takes, without its unit.
func readNS(ns float64) string {
	if ns < 1000 {
		return strconv.FormatFloat(ns, 'f', 1, 64)
	}
	return strconv.FormatFloat(ns, 'f', 0, 64)
}
