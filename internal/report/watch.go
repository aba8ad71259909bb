package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// WatchSchema is the schema id of the document about a watch over live counters.
const WatchSchema = "cswatch.watch/v1"

// LiveWatch is what one watchdog found over the counters of this machine.
type LiveWatch struct {
	Schema string      `json:"schema"`
	Inputs WatchInputs `json:"inputs"`
	Watch
	EraWhy string `json:"era_why"` // why this era
	// TSCWatched says whether a kernel of the era would watch the TSC of this machine at all.
	TSCWatched    machine.Answer `json:"tsc_watched"`
	TSCWatchedWhy string         `json:"tsc_watched_why,omitzero"`
	// Answer and Why are what the watch came to, filled in when it is written.
	Answer    WatchAnswer    `json:"answer"`
	Why       string         `json:"answer_why"`
	Reference live.Reference `json:"reference"`
	live.Summary
	// CondemnedBy is the verdict by which the era gave up the clock.
	CondemnedBy *Tick `json:"condemned,omitzero"`
	// Lines are what a kernel of the era would have logged, and Dropped how many
	// more there were.
	Lines   []string `json:"lines"`
	Dropped int      `json:"lines_dropped"`
	Ended   string   `json:"ended"` // duration, signal, condemned or kernel-log; "" while it goes on
}

// WatchInputs is what was asked for.
type WatchInputs struct {
	Era       string  `json:"era"`              // "" for that of the running kernel
	Retries   *int    `json:"retries,omitzero"` // absent for the era's default
	Reference string  `json:"reference"`
	Duration  float64 `json:"duration_seconds"` // 0 for no end
	Record    string  `json:"record"`           // "" for none
	// Interrupts says that interrupts were counted: without that no late read-back is told by one.
	Interrupts bool `json:"interrupts"`
	// AcceptLosingTSC says that more attempts over HPET and ACPI PM timer were allowed than a watchdog's.
	AcceptLosingTSC bool `json:"accept_losing_tsc"`
}

// maxKernelLines bounds the kernel lines that a document keeps.
const maxKernelLines = 100

// AddLine keeps a line of the kernel.
func (d *LiveWatch) AddLine(text string) {
	if len(d.Lines) >= maxKernelLines {
		d.Dropped++
		return
	}
	d.Lines = append(d.Lines, text)
}

// LiveTick is the line of a verdict over live counters.
type LiveTick struct {
	Tick
	Late     []LateReadBack `json:"late_read_backs,omitzero"` // of all read-backs of the tick
	Exchange *LiveExchange  `json:"exchange,omitzero"`
	// Verification is the check across CPUs after a verdict, of eras that make one.
	Verification *live.Verification `json:"verification,omitzero"`
}

// LateReadBack is a read-back that came late and why.
type LateReadBack struct {
	CPU   int               `json:"cpu"`
	Delay clocksource.Nanos `json:"readback_delay_ns"`
	Cause trace.Cause       `json:"cause"`
}

// LiveExchange is a comparison of the counter between two CPUs.
type LiveExchange struct {
	Control   int                `json:"control_cpu"`
	Remote    int                `json:"remote_cpu"`
	Result    string             `json:"result"` // completed, timed-out, busy or backwards
	Waited    clocksource.Nanos  `json:"waited_ns"`
	Backwards clocksource.Cycles `json:"backwards_cycles,omitzero"`
}

// LiveTicks makes the lines of a tick, one for each verdict.
func (d *LiveWatch) LiveTicks(t *live.Tick) []LiveTick {
	var lines []LiveTick
	for i := range t.Verdicts {
		l := LiveTick{Tick: d.Of(&t.Verdicts[i])}
		l.Tick.Tick = t.Number
		for k := range t.Samples {
			if s := &t.Samples[k]; s.Late != trace.NotLate {
				l.Late = append(l.Late, LateReadBack{s.CPU, s.Delay, s.Late})
			}
		}
		if e := t.Exchange; e != nil {
			l.Exchange = &LiveExchange{e.Control, e.Remote, resultOf(e), e.Waited, e.Backwards}
		}
		if t.Verdicts[i].Kind.Condemns() {
			l.Verification = t.Verification
		}
		lines = append(lines, l)
	}
	return lines
}

// Of is that of [Watch], which the reference of the document would hide otherwise.
func (d *LiveWatch) Of(v *watchdog.Verdict) Tick { return d.Watch.Of(v) }

func resultOf(e *live.Exchange) string {
	switch {
	case e.Backwards > 0:
		return "backwards"
	case e.Busy:
		return "busy"
	case e.TimedOut:
		return "timed-out"
	}
	return "completed"
}

// LiveTick writes a line.
func (w *TickWriter) LiveTick(t *LiveTick) error {
	return w.object(func(o *object) { o.tick(&t.Tick); o.live(t) })
}

// WatchSummary writes the document as the last line of a stream.
func WatchSummary(w *TickWriter, d *LiveWatch) error {
	c := *d
	c.Schema, c.Lines = WatchSchema, list(d.Lines)
	c.Answer, _, c.Why = d.answer()
	if d.Condemned != nil {
		t := d.Of(d.Condemned)
		c.CondemnedBy = &t
	}
	return w.Summary(&c)
}

// WatchHead says what is watched, with what, and what that is worth.
func WatchHead(w io.Writer, d *LiveWatch, opt TextOptions) error {
	p := &page{opt: opt}
	p.watchHead(d)
	return p.ownTo(w, "watch", "what is watched")
}

func (p *page) watchHead(d *LiveWatch) {
	r := &d.Reference
	p.labelled("era", fmt.Sprintf("%s, up to %s a check; %s", d.Era, plural(d.Retries+1, "attempt", "attempts"), d.EraWhy))
	p.labelled("clock", fmt.Sprintf("%s, %s (%s)", r.Counter, mega(r.CounterHz), r.CounterFrom))
	word := "independent"
	switch r.Independent {
	case machine.No:
		word = "not independent"
	case machine.Unknown:
		word = "perhaps not independent"
	}
	p.labelled("reference", fmt.Sprintf("%s, %s: %s", r.Name, word, r.Reason))
	for _, passed := range r.Passed {
		text := fmt.Sprintf("no %s: %s", passed.Name, passed.Reason)
		if passed.Remedy != "" {
			text += " (" + passed.Remedy + ")"
		}
		p.labelled("", text)
	}
	p.labelled("watched", d.guarded())
	p.labelled("CPUs", r.CPUs.String())
}

// labelled writes a label and its text.
func (p *page) labelled(label, text string) {
	p.para(fmt.Sprintf("%-*s", labelWidth, label), p.safe(text, maxText), "", plain)
}

const labelWidth = 17

// WatchNews writes a line for what is out of the ordinary in a tick; most ticks have none.
func WatchNews(w io.Writer, d *LiveWatch, t *live.Tick, opt TextOptions) error {
	p := &page{opt: opt}
	for _, text := range p.news(d, t) {
		p.line(fmt.Sprintf("tick %d, CPU %d: %s", t.Number, t.CPU, text))
	}
	if p.b.Len() == 0 {
		return nil
	}
	return p.ownTo(w, "watch", "a verdict")
}

// news says what is out of the ordinary in a tick.
func (p *page) news(d *LiveWatch, t *live.Tick) []string {
	var news []string
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		switch v.Kind {
		case watchdog.Agreed, watchdog.AlreadyCondemned:
			continue
		case watchdog.Initialised:
			if t.Number == 1 {
				continue
			}
		}
		news = append(news, fmt.Sprintf("%s %s", d.Reference.Counter, p.verdict(v)))
	}
	late := t.LateReads()
	for _, c := range trace.Causes() {
		if late[c] > 0 {
			news = append(news, plural(late[c], "late read-back", "late read-backs")+", "+c.String())
		}
	}
	if e := t.Exchange; e != nil && resultOf(e) == "backwards" {
		news = append(news, fmt.Sprintf("time runs backwards between CPU %d and CPU %d, by %d cycles at least", e.Control, e.Remote, e.Backwards))
	}
	if t.Resets > 0 {
		news = append(news, "the machine slept: new pairs are taken")
	}
	return news
}

// verdict says a verdict in a few words.
func (p *page) verdict(v *watchdog.Verdict) string {
	words := []string{v.Kind.String()}
	if v.Attempts > 0 && v.ReadLimit > 0 {
		words = append(words, fmt.Sprintf("read in %s (limit %s, attempt %d of %d)", p.exact(v.Delay), p.exact(v.ReadLimit), v.Attempts, v.Allowed))
	}
	if ppm, ok := v.PPM(); ok {
		words = append(words, fmt.Sprintf("skew %s, %.1f ppm (limit %s)", p.exact(v.Skew), float64(ppm), p.exact(v.SkewLimit)))
	}
	if v.Kind == watchdog.CondemnedCPUs {
		words = append(words, fmt.Sprintf("CPU %d is behind CPU %d", v.EarlyCPU, v.LateCPU))
	}
	return strings.Join(words, ", ")
}

// exact writes ns with every digit, in the letters that the reader has.
func (p *page) exact(ns clocksource.Nanos) string {
	s := exact(int64(ns))
	if p.opt.ASCII {
		s = strings.ReplaceAll(s, "µ", "u")
	}
	return s
}

func elapsed(ns clocksource.Nanos) string {
	return strconv.FormatFloat(ns.Seconds(), 'f', 1, 64) + " s"
}

func mega(hz clocksource.Hz) string { return strconv.FormatFloat(float64(hz)/1e6, 'f', 3, 64) + " MHz" }

// WatchText writes what a watch found, for a person.
func WatchText(w io.Writer, d *LiveWatch, opt TextOptions) error {
	p := &page{opt: opt}
	answer, st, text := d.answer()
	p.line("")
	p.para("", answer.shown()+": "+text, answer.shown(), st)
	p.labelled("watched", d.guarded())
	p.watchCounts(d)
	if len(d.Lines) > 0 {
		p.heading("A kernel of this era would have logged")
		for _, l := range d.Lines {
			p.line("  cswatch(live): " + p.safe(l, maxProof))
		}
		if d.Dropped > 0 {
			p.line(fmt.Sprintf("  and %d more lines", d.Dropped))
		}
	}
	return p.ownTo(w, "watch", "what was found")
}

// watchCounts writes the numbers of a watch.
func (p *page) watchCounts(d *LiveWatch) {
	var kinds []string
	for k, n := range d.Verdicts {
		kinds = append(kinds, fmt.Sprintf("%s %d", k, n))
	}
	slices.Sort(kinds)
	p.labelled("ticks", fmt.Sprintf("%d in %s: %s", d.Ticks, elapsed(d.Elapsed), strings.Join(kinds, ", ")))
	r := &d.Delays
	p.labelled("read-back delay", fmt.Sprintf("min %s, median %s, p99 %s, max %s (%s)",
		p.exact(r.Min), p.exact(r.Median), p.exact(r.P99), p.exact(r.Max), plural(int64(r.Count), "read-back", "read-backs")))
	late := fmt.Sprintf("%d of %d above %s", d.LateReads.Total(), d.ReadBacks, p.exact(r.Limit))
	if d.LateReads.Total() > 0 {
		late += fmt.Sprintf(": %d preempted", d.LateReads.Preempted)
		if d.Inputs.Interrupts {
			late += fmt.Sprintf(", %d interrupted", d.LateReads.Interrupted)
		}
		late += fmt.Sprintf(", %d unexplained", d.LateReads.Unexplained)
	}
	p.labelled("late read-backs", late)
	if s := &d.Skew; s.Compared > 0 {
		p.labelled("skew", fmt.Sprintf("mean %.2f ppm, from %.2f to %.2f; at most %.1f %% of the limit",
			float64(s.Mean), float64(s.Least), float64(s.Greatest), 100*s.Nearest))
	}
	if x := &d.Exchanges; x.Made+x.Failed > 0 {
		text := fmt.Sprintf("%s, %d backwards, %d timed out, %d not answered", plural(int64(x.Made), "comparison", "comparisons"), x.Backwards, x.TimedOut, x.Busy)
		if x.Failed > 0 {
			text += fmt.Sprintf(", %d failed: %s", x.Failed, x.Why)
		}
		p.labelled("between CPUs", text)
	}
	if d.LateTicks > 0 {
		p.labelled("late ticks", fmt.Sprintf("%d, at most by %s", d.LateTicks, p.exact(d.MaxLate)))
	}
}
