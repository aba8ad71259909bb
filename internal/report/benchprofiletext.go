package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/internal/perf"
)

// Widths of names in the tables. The JSON form has all of them.
const (
	maxCommandName = 16 // the kernel cuts names of threads at 15 bytes
	maxObject      = 28
	maxSymbol      = 44
)

// ProfileBenchText writes a profile for a person: the table of what was at work, then how much
// of it is reading clocks, then what could not be seen.
func ProfileBenchText(w io.Writer, d *ProfileBench, opt TextOptions) error {
	p := &page{opt: opt}
	clock := cmp.Or(d.Clocksource, "not known")
	if d.Ended == BenchChanged {
		clock += ", then " + cmp.Or(d.ClocksourceAfter, "not known") + ": the shares are not of one of them"
	}
	p.say("clocksource  ", clock)
	p.say("machine      ", cmp.Or(d.CPUModel, "processor not known")+"; "+cmp.Or(d.Kernel, "kernel not known"))
	p.profile(d, ": --top 0 shows all")
	p.line("")
	p.say("", profileIntervals)
	return p.writeTo(w, "the profile")
}

// profileIntervals says what the intervals are worth.
const profileIntervals = "Intervals are of 95 %, as if each sample were drawn by itself. Samples of one stretch of work are not, so that a second run may differ by more."

// profile writes everything of a profile but the machine. allRows says how to get rows that are left out.
func (p *page) profile(d *ProfileBench, allRows string) {
	if d.Why != "" {
		p.say("profile      ", "not taken: "+d.Why)
		p.profileHidden(d)
		return
	}
	if c := d.Command; c != nil {
		p.say("command      ", strings.Join(d.Inputs.Command, " ")+": "+c.fate())
	}
	p.say("profile      ", profiled(d))
	p.say("event        ", fmt.Sprintf("%s; %d samples a second and busy CPU were asked for", d.Got, d.Frequency))
	p.profileRows(d, allRows)
	p.profileClocks(d)
	p.profileHidden(d)
}

// fate tells how a command ended.
func (c *ProfiledCommand) fate() string {
	text := fmt.Sprintf("exit code %d", c.ExitCode)
	if c.Signal != "" {
		text = "ended by the signal " + c.Signal
	}
	if c.Stopped {
		text += ", when it was told to, at the end of the profile"
	}
	return text + fmt.Sprintf("; it ran for %.1f s", c.Seconds)
}

// profiled tells of whom there are how many samples.
func profiled(d *ProfileBench) string {
	who := perf.Target{All: d.Inputs.All, PIDs: d.Inputs.PIDs}.String()
	switch {
	case d.Inputs.All:
	case len(d.Inputs.Command) > 0:
		who = "the command with what it started"
	case len(d.Inputs.PIDs) == 0:
		who = "this program"
	}
	text := fmt.Sprintf("%s on %s for %.1f s: %s", who, plural(d.CPUs, "CPU", "CPUs"), d.Seconds, plural(d.Samples, "sample", "samples"))
	var rest []string
	if d.Idle > 0 {
		rest = append(rest, fmt.Sprintf("%d of idle CPUs", d.Idle))
	}
	if d.Own > 0 {
		rest = append(rest, fmt.Sprintf("%d of this program", d.Own))
	}
	if len(rest) > 0 {
		text += "; left out are " + strings.Join(rest, " and ")
	}
	return text
}

// shareColumns are a share and its interval.
func shareColumns[T any](title string, of func(T) perf.Share) []cellColumn[T] {
	return []cellColumn[T]{
		{title: title, cell: func(t T) string { return fmt.Sprintf("%.2f %%", 100*of(t).Ratio) }},
		{title: "95 %", left: true, cell: func(t T) string {
			s := of(t).Within
			return fmt.Sprintf("%.2f to %.2f", 100*s.Low, 100*s.High)
		}},
	}
}

// name makes a name fit into a column.
func (p *page) name(s string, width int) string {
	return shorten(p.safe(cmp.Or(s, "-"), maxName), width, p.ellipsis())
}

// symbol makes the name of a function fit. Of Go's, which begin with the path of the package, the end tells more.
func (p *page) symbol(s string) string {
	if i := strings.LastIndexByte(s, '/'); i > 0 && len(s) > maxSymbol {
		s = p.ellipsis() + s[i:]
	}
	return p.name(s, maxSymbol)
}

func (p *page) profileRows(d *ProfileBench, allRows string) {
	cols := shareColumns("OVERHEAD", func(r *perf.Row) perf.Share { return r.Share })
	cols = append(cols,
		cellColumn[*perf.Row]{title: "COMMAND", left: true, cell: func(r *perf.Row) string { return p.name(r.Command, maxCommandName) }},
		cellColumn[*perf.Row]{title: "OBJECT", left: true, cell: func(r *perf.Row) string { return p.name(r.Object, maxObject) }},
		cellColumn[*perf.Row]{title: "SYMBOL", left: true, cell: func(r *perf.Row) string { return p.symbol(r.Symbol) }})
	if d.Inputs.PerCPU {
		cols = append(cols, cellColumn[*perf.Row]{title: "CPU", cell: func(r *perf.Row) string { return strconv.Itoa(r.CPU) }})
	}
	benchTable(p, "What was at work", cols, pointers(d.Rows))
	if d.RowsLeftOut > 0 {
		p.say("  ", plural(d.RowsLeftOut, "more row", "more rows")+" with less each"+allRows)
	}
}

func pointers[T any](list []T) (all []*T) {
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

func (p *page) profileClocks(d *ProfileBench) {
	p.heading("Reading clocks: is it hot in this workload?")
	p.say("  ", d.Reading.Sentence)
	top := func(n int) int {
		if d.Inputs.Top > 0 {
			return min(n, d.Inputs.Top)
		}
		return n
	}
	processes := pointers(append([]perf.ClockReading{d.Reading.All}, d.Reading.Processes...))
	cols := shareColumns("OF ALL", func(c *perf.ClockReading) perf.Share { return c.OfAll })
	cols = append(cols, shareColumns("OF ITS OWN", func(c *perf.ClockReading) perf.Share { return c.Whole })...)
	part := func(title string, of func(*perf.ClockReading) perf.Share) cellColumn[*perf.ClockReading] {
		return cellColumn[*perf.ClockReading]{title: title, cell: func(c *perf.ClockReading) string { return fmt.Sprintf("%.2f %%", 100*of(c).Ratio) }}
	}
	cols = append(cols,
		part("COUNTER", func(c *perf.ClockReading) perf.Share { return c.Counter }),
		part("INLINED", func(c *perf.ClockReading) perf.Share { return c.Inlined }),
		part("AROUND", func(c *perf.ClockReading) perf.Share { return c.Around }),
		cellColumn[*perf.ClockReading]{title: "SAMPLES", cell: func(c *perf.ClockReading) string { return strconv.FormatInt(c.Samples, 10) }},
		cellColumn[*perf.ClockReading]{title: "PROCESS", left: true, cell: func(c *perf.ClockReading) string {
			if c.PID < 0 {
				return "all"
			}
			return fmt.Sprintf("%d %s", c.PID, p.name(c.Command, maxCommandName))
		}})
	if d.Samples > 0 {
		benchTable(p, "Shares that read clocks", cols, processes[:1+top(len(processes)-1)])
	}
	rows := pointers(d.Reading.Functions)
	of := shareColumns("OF ALL", func(r *perf.ClockRow) perf.Share { return r.Share })
	of = append(of,
		cellColumn[*perf.ClockRow]{title: "PART", left: true, cell: func(r *perf.ClockRow) string { return string(r.Part) }},
		cellColumn[*perf.ClockRow]{title: "OBJECT", left: true, cell: func(r *perf.ClockRow) string { return p.name(r.Object, maxObject) }},
		cellColumn[*perf.ClockRow]{title: "FUNCTION", left: true, cell: func(r *perf.ClockRow) string { return p.symbol(r.Symbol) }})
	benchTable(p, "Functions that read clocks", of, rows[:top(len(rows))])
}

// profileHidden says what the profile may not see, how to allow it, and what makes it worth less.
func (p *page) profileHidden(d *ProfileBench) {
	if len(d.Restrictions) > 0 {
		p.heading("Not to be seen, and how to allow it")
		for _, r := range d.Restrictions {
			p.say("  - ", r.ID+": "+r.Why)
			p.say("      ", r.HowToAllow)
		}
	}
	const few = 5
	if n := len(d.Nameless); n > 0 {
		p.heading("Without a name")
		for i, s := range d.Nameless {
			if i == few {
				p.say("  - ", plural(n-few, "more place", "more places")+": --format json has all")
				break
			}
			p.say("  - ", fmt.Sprintf("%s in %s: %s", onlyShare(s.Share), s.Object, s.Why))
		}
	}
	notes := slices.DeleteFunc(slices.Clone(d.Notes), func(n perf.Note) bool { return n.ID == "fallback" }) // said with the event
	if len(notes) > 0 {
		p.heading("Doubts of the profile")
		for _, n := range notes {
			p.say("  ! ", n.Text)
		}
	}
}
