package fidelity

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/watchdog"
)

// Report is how a kernel and our era of it agree.
type Report struct {
	Era    watchdog.Era
	Checks int
	// Outcomes counts our verdicts by kind, and Attempts by how often a check read.
	Outcomes map[watchdog.Kind]int
	Attempts map[int]int
	// NonTrivial counts the checks that read more than once, or accepted nothing.
	NonTrivial int
	// Lines counts the lines on latency in the kernel's log, each equal to ours
	// unless a disagreement says otherwise.
	Lines int
	// Aside counts the other events of the log, which depend on more than the HPET.
	Aside         map[event.Kind]int
	Disagreements []Disagreement
}

// Disagreement is one thing that the kernel did and our era would not have done.
type Disagreement struct {
	Check int // index, -1 where it is none of a check
	What  string
}

// Compare runs our era of a boot's release over what its kernel read.
func Compare(b *Boot) (Report, error) {
	profile, err := b.Profile()
	if err != nil {
		return Report{}, err
	}
	setup, err := setupOf(b, profile)
	if err != nil {
		return Report{}, err
	}
	w, err := watchdog.New(setup)
	if err != nil {
		return Report{}, fmt.Errorf("compare with %s: %w", b.Release, err)
	}
	x := &comparison{boot: b, w: w, printer: klog.NewPrinter(setup), online: watchdog.AllCPUs(b.CPUs),
		report: Report{Era: profile.Era, Outcomes: map[watchdog.Kind]int{}, Attempts: map[int]int{}, Aside: map[event.Kind]int{}}}
	x.readLog()
	for i := range b.Checks {
		x.check(i)
	}
	x.lines()
	return x.report, nil
}

// Profile finds the era of the boot's kernel, which must be certain.
func (b *Boot) Profile() (watchdog.Profile, error) {
	return ProfileOf(watchdog.Identity{Release: b.Release, Version: b.Version, Distro: "debian"})
}

// ProfileOf finds the era of a kernel, which must be certain.
func ProfileOf(kernel watchdog.Identity) (watchdog.Profile, error) {
	id := watchdog.Detect(kernel)
	if !id.Certain() {
		return watchdog.Profile{}, fmt.Errorf("the kernel %s, %s: its era is not certain: %s", kernel.Release, kernel.Version, id.Why)
	}
	p, ok := id.Candidates[0].Profile()
	if !ok {
		return watchdog.Profile{}, fmt.Errorf("the kernel %s: no profile of era %s", kernel.Release, id.Candidates[0].Era)
	}
	return p, nil
}

// setupOf is a machine whose watched clock runs exactly with the HPET, so that
// only latency counts. Its margin is that of a TSC.
func setupOf(b *Boot, p watchdog.Profile) (watchdog.Setup, error) {
	hpet, err := clocksource.Register(uint32(b.HPET), clocksource.ScaleHz, clocksource.Mask32)
	if err != nil {
		return watchdog.Setup{}, fmt.Errorf("compare with %s: %w", b.Release, err)
	}
	const anyTSC = 2_300_000 // kHz: the margin is the same for all that exist
	of := func(name string, margin clocksource.Nanos) watchdog.Clock {
		return watchdog.Clock{Name: name, Mask: clocksource.Mask32, Conversion: hpet, Margin: margin, Continuous: true, HRES: true, Calibrated: true}
	}
	return watchdog.Setup{
		Profile:   p,
		Reference: of("hpet", p.Margin("hpet", uint32(b.HPET), clocksource.ScaleHz)),
		Watched:   []watchdog.Clock{of("tsc", p.Margin("tsc", anyTSC, clocksource.ScaleKHz))},
		Retries:   -1,
		Current:   "tsc",
	}, nil
}

// comparison is one run.
type comparison struct {
	boot    *Boot
	w       *watchdog.Watchdog
	state   watchdog.State
	last    clocksource.Nanos // when the check before began
	printer *klog.Printer
	online  watchdog.AllCPUs
	report  Report

	said []event.Event // the log's lines on latency
	long int           // how many long intervals were met
	ours []string      // our lines
}

func (x *comparison) disagree(check int, format string, args ...any) {
	x.report.Disagreements = append(x.report.Disagreements, Disagreement{check, fmt.Sprintf(format, args...)})
}

// onLatency are the kinds of lines that the reads of the HPET decide.
var onLatency = map[event.Kind]bool{
	event.Retried: true, event.DelayVerdict: true, event.BusyReference: true, event.TestSkipped: true,
	event.LongInterval: true, event.ReadTimedOut: true,
}

func (x *comparison) readLog() {
	r := klog.NewReader(strings.NewReader(strings.Join(x.boot.Log, "\n")+"\n"), "log")
	for r.Next() {
		if e := r.Event(); onLatency[e.Kind] {
			x.said = append(x.said, e)
		} else {
			x.report.Aside[e.Kind]++
		}
	}
}

// tolerance is how far a check may be from where our era expects it, for the
// ticks of a virtual machine that waits for its turn. A kernel's timers come late
// besides, by an eighth of their time at most, and what was missed is made up for by checks
// that follow each other at once: seen after the five minutes of a skip.
const tolerance = 2 * clocksource.NanosPerSecond

// check runs one check.
func (x *comparison) check(i int) {
	c := &x.boot.Checks[i]
	x.report.Checks++
	now := clocksource.Nanos(duration(c.Begin, x.boot.HPET))
	if i == 0 {
		x.w.Start(&x.state, now-watchdog.CheckInterval, x.online)
	} else {
		switch early := x.state.Expiry - now; {
		case early > tolerance:
			x.disagree(i, "the kernel checked %d ms before our era would have", early/1_000_000)
		case now-max(x.state.Expiry, x.last) > tolerance+max(x.state.Expiry-x.last, 0)/8:
			x.disagree(i, "the kernel checked %d ms after our era would have", -early/1_000_000)
		}
		if x.state.CPU != c.CPU {
			x.disagree(i, "the kernel checked on CPU %d, our era on CPU %d", c.CPU, x.state.CPU)
		}
	}
	x.last = now
	m := &recorded{values: c.Reads(), per: x.w.Setup().Profile.Read.References()}
	out := x.w.Step(&x.state, watchdog.Tick{Now: now, CPU: c.CPU, Online: x.online}, m, nil)
	v := &out[0]
	x.report.Outcomes[v.Kind]++
	x.report.Attempts[v.Attempts]++
	if v.Attempts > 1 || v.Kind != watchdog.Agreed && v.Kind != watchdog.Initialised {
		x.report.NonTrivial++
	}
	switch left := len(m.values) - m.next; {
	case m.short:
		x.disagree(i, "the kernel read the HPET %d times, our era wants another attempt: delays %v", len(m.values), c.Gaps)
	case left >= m.per:
		x.disagree(i, "our era is content with attempt %d (%s), the kernel read on: gaps %v", v.Attempts, v.Kind, c.Gaps)
	case left > 0:
		x.disagree(i, "%d reads of the HPET are no whole attempts of %d: gaps %v", len(m.values), m.per, c.Gaps)
	}
	switch v.Kind {
	case watchdog.CondemnedSkew, watchdog.CondemnedCPUs, watchdog.NoReference, watchdog.AlreadyCondemned:
		x.disagree(i, "our era says %s", v.Kind)
	case watchdog.TooLong:
		x.takeTSC(v)
	}
	for _, l := range x.printer.Verdict(v) {
		x.ours = append(x.ours, l.Text)
	}
}

// takeTSC fills in what a long interval was for the TSC, which is not seen, from the log.
func (x *comparison) takeTSC(v *watchdog.Verdict) {
	n := 0
	for _, e := range x.said {
		if e.Kind == event.LongInterval {
			if n == x.long {
				v.Watched.NS = clocksource.Nanos(e.IntervalNS.Value)
			}
			n++
		}
	}
	x.long++
}

// lines compares what the log says with what we print.
func (x *comparison) lines() {
	x.report.Lines = len(x.said)
	for i := range max(len(x.said), len(x.ours)) {
		switch {
		case i >= len(x.said):
			x.disagree(-1, "we print a line that the kernel did not: %q", x.ours[i])
		case i >= len(x.ours):
			x.disagree(-1, "the kernel printed a line that we do not: %q", x.said[i].Text)
		case x.said[i].Text != x.ours[i]:
			x.disagree(-1, "the kernel printed %q, we print %q", x.said[i].Text, x.ours[i])
		}
	}
}

// recorded is the machine of a check: what the kernel read.
type recorded struct {
	values []clocksource.Cycles
	per    int
	next   int
	short  bool // more was wanted than there is
}

// ReadBack hands over the next attempt. The watched clock shows what the
// reference showed first.
func (m *recorded) ReadBack(int, watchdog.ReadPattern) watchdog.ReadBack {
	if len(m.values)-m.next < m.per {
		m.short = true
		last := m.values[len(m.values)-1]
		return watchdog.ReadBack{Before: last, Clock: last, After: last, Again: last} // quick, so that it ends
	}
	v := m.values[m.next : m.next+m.per]
	m.next += m.per
	rb := watchdog.ReadBack{Before: v[0], Clock: v[0], After: v[len(v)-1], Again: v[len(v)-1]}
	if m.per > 1 {
		rb.After = v[1]
	}
	return rb
}

// ReadReference is for eras that no kernel here has.
func (m *recorded) ReadReference() clocksource.Cycles { return m.values[0] }

// Exchange finds both CPUs in order: it does not read the HPET.
func (m *recorded) Exchange(_, _ int, r watchdog.RemoteRule) watchdog.Exchange {
	var x watchdog.Exchange
	for ; x.Count < 2*r.Reads; x.Count++ {
		x.Stamps[x.Count] = m.values[len(m.values)-1] + clocksource.Cycles(x.Count)
	}
	return x
}
