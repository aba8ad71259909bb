package sim

import (
	"errors"
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/watchdog"
)

// LogLine is a line of a simulated kernel's log.
type LogLine struct {
	At   clocksource.Nanos // by the kernel's clock
	Line klog.Line
}

// String writes the line as dmesg does.
func (l LogLine) String() string {
	us := l.At / clocksource.Microsecond
	return fmt.Sprintf("[%5d.%06d] %s", us/1_000_000, us%1_000_000, l.Line.Text)
}

// Log simulates a boot again and returns what its kernel would log of the
// watchdog and of what follows a verdict, after the clocks were registered. The
// numbers in the line of sched_clock have offsets of 0, for the simulation has one
// time only.
func (c *Cell) Log(release watchdog.Release, seed, boot uint64) ([]LogLine, error) {
	r := c.NewRunner()
	r.Plain = true
	s, err := newScene(c, release)
	if err != nil {
		return nil, fmt.Errorf("log of machine %s: %w", c.model.Name, err)
	}
	r.seen = s.verdict
	o := r.Boot(seed, boot)
	if o.Unstable() {
		s.aftermath(r, &o, newStream(seed, boot, streamLog))
	}
	return s.lines, nil
}

// scene is the framework of clocksources around a simulated watchdog.
type scene struct {
	cell     *Cell
	registry clocksource.Registry
	printer  *klog.Printer
	lines    []LogLine
}

func newScene(c *Cell, release watchdog.Release) (*scene, error) {
	s := &scene{cell: c, registry: clocksource.NewRegistry(clocksource.RulesAt(release.Major, release.Minor, release.Patch)), printer: klog.NewPrinter(c.setup)}
	s.registry.BootDone()
	rules := &s.registry.Rules
	var ref clocksource.Source
	var err error
	if c.model.Reference == "jiffies" {
		ref, err = rules.Jiffies(c.model.HZ)
	} else {
		ref, err = rules.Source(c.model.Reference, c.model.Rate)
	}
	tsc, err2 := rules.Source("tsc", c.model.TSC)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	for _, src := range []clocksource.Source{ref, tsc} {
		if _, err := s.registry.Register(src); err != nil {
			return nil, err
		}
	}
	s.registry.RunThread()
	s.registry.SetOneshot(true)
	s.registry.LateInit()
	return s, nil
}

// verdict prints what the watchdog says at a tick.
func (s *scene) verdict(v *watchdog.Verdict, now clocksource.Nanos) {
	for _, l := range s.printer.Verdict(v) {
		s.lines = append(s.lines, LogLine{now, l})
	}
}

func (s *scene) effects(effects []clocksource.Effect, at clocksource.Nanos) {
	sched := event.Some(event.Sched{Gtod: int64(at), Raw: int64(at)})
	for _, l := range klog.EffectLines(effects, &s.registry.Rules, sched) {
		s.lines = append(s.lines, LogLine{at, l})
	}
}

// aftermath prints what follows a condemnation: the mark in the tick itself, the
// rest when a thread and a work item have run, which takes a while.
func (s *scene) aftermath(r *Runner, o *Outcome, draws stream) {
	delay := func(i uint64) clocksource.Nanos { return clocksource.Nanos(draws.unit(i)*3e6) + 100_000 }
	at := r.machine.kernelTime(o.At)
	s.effects(s.registry.MarkUnstable("tsc"), at)
	at += delay(0)
	s.effects(s.registry.RunSchedClock(), at)
	if !s.registry.ThreadPending {
		return
	}
	at += delay(1)
	for _, e := range s.registry.RunThread() {
		if e.Kind == clocksource.EffectVerifyNeeded {
			s.verify(r, at, draws)
			at += delay(2)
			continue
		}
		s.effects([]clocksource.Effect{e}, at)
	}
}

// verify prints the check across CPUs that 5.14 to 7.0 make after a verdict.
func (s *scene) verify(r *Runner, at clocksource.Nanos, draws stream) {
	n := s.cell.model.CPUs
	drawn := uint64(0)
	plan := watchdog.VerifyPlan{IDs: n, Random: func(k int) int {
		drawn++
		return int(draws.unit(100+drawn) * float64(k))
	}}
	cpu := int(draws.unit(3) * float64(n)) // the thread runs where it is put
	m := &remote{machine: &r.machine, control: cpu}
	r.machine.cpu = cpu
	v := s.cell.watch.VerifyFrom(0, cpu, s.cell.online, plan, m)
	for _, l := range s.printer.Verification(&v) {
		s.lines = append(s.lines, LogLine{at, l})
	}
}

// remote reads another CPU's clock by calling it.
type remote struct {
	*machine
	control int
}

// ReadRemote implements [watchdog.Remote].
func (r *remote) ReadRemote(_, cpu int) (before, there, after clocksource.Cycles) {
	m := r.machine
	before = m.readTSC()
	arrived := m.after(m.now, m.cell.model.Call, cpu)
	there = m.tsc(arrived, cpu)
	m.now = arrived
	m.spend(m.cell.model.Hop)
	after = m.readTSC()
	return before, there, after
}
