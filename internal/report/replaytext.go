package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// ReplayText writes what several watchdogs made of a recording: a table for each
// clock, a column for each watchdog, and why answers are approximate. Columns for
// which the page is too narrow follow below the others.
func ReplayText(w io.Writer, r *Replay, opt TextOptions) error {
	p := &page{opt: opt}
	p.line(p.paint(p.recordingName(r.Inputs.File), bold) + ": " + p.recordingSize(&r.Recording))
	p.recordingFacts(&r.Recording)
	p.fewReadBacks(r)
	for clock, c := range r.Recording.Header.Watched {
		p.replayedClock(r, clock, p.safe(c.Name, maxName))
	}
	p.unexact(r.Columns, &r.Recording.Header)
	return p.ownTo(w, "replay", "the replay")
}

// recordingName names the file.
func (p *page) recordingName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return p.safe(file, maxSource)
}

// recordingSize says how much of a recording there is, and whether it is whole.
func (p *page) recordingSize(r *trace.Report) string {
	text := plural(int64(min(r.Ticks, math.MaxInt64)), "tick", "ticks")
	if r.Ticks > 1 {
		text += " in " + seconds(r.Last-r.First)
	}
	switch {
	case r.Damage != "":
		text += ", " + p.paint("damaged", red)
	case !r.Ended:
		text += ", not closed by its recorder"
	}
	return text
}

// recordingFacts says of whom and of what a recording is.
func (p *page) recordingFacts(r *trace.Report) {
	h := &r.Header
	source := string(h.Source)
	if h.Simulation != nil {
		source += fmt.Sprintf(" by model %s with seed %d", p.safe(h.Simulation.Model, maxName), h.Simulation.Seed)
	}
	p.fact("source", source+", recorded by "+p.safe(or(h.Recorder, "(not said)"), maxName))
	machine := joined(p.safe(h.Machine, maxName), p.safe(h.Kernel, maxText))
	if machine != "" {
		p.fact("machine", machine)
	}
	var names []string
	for i := range h.Watched {
		names = append(names, p.safe(h.Watched[i].Name, maxName))
	}
	reference := "no reference"
	if h.Reference.Name != "" {
		reference = "against " + p.safe(h.Reference.Name, maxName)
	}
	p.fact("clocks", strings.Join(names, ", ")+" "+reference+", CPUs "+p.safe(h.Online.String(), maxName))
}

// fewReadBacks says that the recording does not answer all retries that are asked for.
func (p *page) fewReadBacks(r *Replay) {
	kept, most := r.Recording.Header.ReadBacks, 0
	for _, c := range r.Columns {
		most = max(most, c.Watch.Retries)
	}
	if most >= kept {
		p.fact("read-backs", fmt.Sprintf("%d of a clock and CPU at a tick, which answer up to %s: with more, a tick at which all of them were late is approximate",
			kept, plural(int64(kept-1), "retry", "retries")))
	}
}

// joined joins what is not empty.
func joined(texts ...string) string {
	var some []string
	for _, s := range texts {
		if s != "" {
			some = append(some, s)
		}
	}
	return strings.Join(some, ", ")
}

// matrix is a table whose columns may be many: what does not fit into the width
// follows below, with the labels again.
type matrix struct {
	labels []string
	cells  [][]string // by column, a cell for each label
	styles [][]style
}

// matrixRow is one row of the table, before the columns are asked.
type matrixRow struct {
	label string
	cell  func(*ReplayColumn, *ReplayClock) (string, style)
	spare bool // left out where it says nothing of any column
}

// replayedClock writes the table of one clock.
func (p *page) replayedClock(r *Replay, clock int, name string) {
	condemned, asked := 0, 0
	for _, c := range r.Columns {
		if clock < len(c.Clocks) {
			asked++
			if c.Clocks[clock].Condemned != nil {
				condemned++
			}
		}
	}
	p.heading(fmt.Sprintf("%s: condemned by %d of %s", name, condemned, plural(asked, "watchdog", "watchdogs")))
	m := matrix{}
	rows := replayRows(p, r.Recording.First)
	for _, c := range r.Columns {
		if clock >= len(c.Clocks) {
			continue
		}
		var cells []string
		var styles []style
		for _, row := range rows {
			s, st := row.cell(c, c.Clocks[clock])
			cells, styles = append(cells, s), append(styles, st)
		}
		m.cells, m.styles = append(m.cells, cells), append(m.styles, styles)
	}
	for i, row := range rows {
		m.labels = append(m.labels, row.label)
		empty := true
		for _, cells := range m.cells {
			empty = empty && cells[i] == "-"
		}
		if empty && row.spare {
			m.labels[i] = ""
		}
	}
	p.matrix(&m)
}

// replayRows are the rows of the table in order. Instants count from the start
// of the recording: its own time line may count from anything.
func replayRows(p *page, start clocksource.Nanos) []matrixRow {
	plainly := func(f func(*ReplayColumn, *ReplayClock) string) func(*ReplayColumn, *ReplayClock) (string, style) {
		return func(c *ReplayColumn, k *ReplayClock) (string, style) { return p.safe(or(f(c, k), "-"), maxName), plain }
	}
	rows := []matrixRow{
		{label: "era", cell: func(c *ReplayColumn, _ *ReplayClock) (string, style) { return p.safe(string(c.Era), maxName), bold }},
		{label: "release", spare: true, cell: plainly(func(c *ReplayColumn, _ *ReplayClock) string { return c.Release })},
		{label: "retries", cell: plainly(func(c *ReplayColumn, _ *ReplayClock) string { return strconv.Itoa(c.Retries) })},
		{label: "ticks checked", cell: plainly(func(c *ReplayColumn, _ *ReplayClock) string { return count(c.Checks) })},
		{label: "ticks passed over", spare: true, cell: plainly(func(c *ReplayColumn, _ *ReplayClock) string { return count(c.PassedOver) })},
	}
	for k := watchdog.Initialised; k <= watchdog.AlreadyCondemned; k++ {
		if k.Condemns() {
			continue // told in a row of its own, with its reason
		}
		rows = append(rows, matrixRow{label: kindWords(k), spare: true,
			cell: plainly(func(_ *ReplayColumn, c *ReplayClock) string { return count(c.Kinds[k.String()]) })})
	}
	of := func(f func(*Tick) string) func(*ReplayColumn, *ReplayClock) (string, style) {
		return plainly(func(_ *ReplayColumn, k *ReplayClock) string {
			if k.Condemned == nil {
				return ""
			}
			return f(k.Condemned)
		})
	}
	return append(rows,
		matrixRow{label: "condemned", cell: func(_ *ReplayColumn, k *ReplayClock) (string, style) {
			switch {
			case k.Condemned == nil:
				return "no", green
			case !k.Condemned.Exact:
				return "probably", yellow
			}
			return "yes", red
		}},
		matrixRow{label: "  at tick", spare: true, cell: of(func(t *Tick) string { return strconv.FormatUint(t.Tick, 10) })},
		matrixRow{label: "  after", spare: true, cell: of(func(t *Tick) string { return seconds(t.Time - start) })},
		matrixRow{label: "  on CPU", spare: true, cell: of(func(t *Tick) string { return strconv.Itoa(t.CPU) })},
		matrixRow{label: "  for", spare: true, cell: of(condemnedFor)},
		matrixRow{label: "  measured", spare: true, cell: of(condemnedWith)},
		matrixRow{label: "  limit", spare: true, cell: of(condemnedAbove)},
		matrixRow{label: "exact answers", cell: plainly(func(_ *ReplayColumn, k *ReplayClock) string { return share(k.Exact, k.Answers) })},
	)
}

// kindWords is a kind as the label of a row.
func kindWords(k watchdog.Kind) string {
	switch k {
	case watchdog.Skipped:
		return "skipped (latency)"
	case watchdog.TimedOut:
		return "timed out (latency)"
	}
	return strings.ReplaceAll(k.String(), "-", " ")
}

// condemnedFor is the reason in a word.
func condemnedFor(t *Tick) string {
	switch t.Kind {
	case watchdog.CondemnedDelay:
		return "delay"
	case watchdog.CondemnedSkew:
		return "skew"
	case watchdog.CondemnedCPUs:
		return "CPUs"
	}
	return t.Kind.String()
}

// condemnedWith is the number for which a clock was condemned.
func condemnedWith(t *Tick) string {
	if t.Kind == watchdog.CondemnedCPUs {
		return fmt.Sprintf("CPU %d<%d", t.EarlyCPU.Value, t.LateCPU.Value)
	}
	if t.Kind == watchdog.CondemnedSkew {
		return known(t.Skew)
	}
	return known(t.Delay)
}

// condemnedAbove is the limit that it passed.
func condemnedAbove(t *Tick) string {
	switch t.Kind {
	case watchdog.CondemnedDelay:
		return known(t.ReadLimit)
	case watchdog.CondemnedSkew:
		return known(t.Limit)
	}
	return ""
}

// matrix writes the rows that have a label, in blocks of as many columns as fit.
func (p *page) matrix(m *matrix) {
	label := 0
	for _, s := range m.labels {
		label = max(label, columns(s))
	}
	for from := 0; from < len(m.cells); {
		var widths []int
		total := label
		for _, cells := range m.cells[from:] {
			width := 0
			for i, s := range cells {
				if m.labels[i] != "" {
					width = max(width, columns(s))
				}
			}
			if p.opt.Width > 0 && len(widths) > 0 && total+2+width > p.opt.Width {
				break
			}
			widths, total = append(widths, width), total+2+width
		}
		if from > 0 {
			p.line("")
		}
		for i, s := range m.labels {
			if s == "" {
				continue
			}
			line := s + strings.Repeat(" ", label-columns(s))
			for c, width := range widths {
				cell := m.cells[from+c][i]
				line += "  " + strings.Repeat(" ", width-columns(cell)) + p.paint(cell, m.styles[from+c][i])
			}
			p.line(line)
		}
		from += len(widths)
	}
}

// count is a number, empty for 0.
func count(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// share is a part in percent. Only all of it is 100 %, and only nothing is 0 %.
func share(part, whole uint64) string {
	switch {
	case whole == 0:
		return ""
	case part >= whole:
		return "100 %"
	case part == 0:
		return "0 %"
	}
	percent := 100 * float64(part) / float64(whole)
	return strconv.FormatFloat(min(max(percent, 0.1), 99.9), 'f', 1, 64) + " %"
}

// seconds writes an instant or a span in seconds, to the millisecond.
func seconds(ns clocksource.Nanos) string {
	return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) + " s"
}

// known writes a known number of nanoseconds with its sign, rounded for people.
func known(v interface {
	Get() (clocksource.Nanos, bool)
}) string {
	ns, ok := v.Get()
	switch {
	case !ok:
		return ""
	case ns < 0:
		return "-" + magnitude(uint64(-(ns+1))+1)
	}
	return magnitude(uint64(ns))
}

func magnitude(ns uint64) string {
	switch {
	case ns < 10_000:
		return strconv.FormatUint(ns, 10) + " ns"
	case ns < 9_999_950:
		return strconv.FormatFloat(float64(ns)/1e3, 'f', 1, 64) + " µs"
	case ns < 9_999_950_000:
		return strconv.FormatFloat(float64(ns)/1e6, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(float64(ns)/1e9, 'f', 1, 64) + " s"
}
