package live

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/watchdog"
)

const (
	us         = clocksource.Microsecond
	halfSecond = watchdog.CheckInterval
)

// script is a machine whose every read is written down: it is World, Reader and
// source of streams at once, and its time moves by what is read and slept alone.
type script struct {
	reference hw.Counter
	now       clocksource.Nanos
	cpus      []int
	offline   map[int]bool

	// delay is how long a read-back takes between its first two reads of the
	// reference, and gap between the last two; nil is 2 us and 1 us.
	delay, gap func(tick, attempt int) clocksource.Nanos
	// lateBy is how late a tick runs, and sleeps how long the machine sleeps before it.
	lateBy, sleeps func(tick int) clocksource.Nanos
	// cause is what the thread went through during a read-back.
	cause func(tick, attempt int) hw.Cause
	// rate is by how many ppm the counter is fast from a tick on.
	rate func(tick int) clocksource.Nanos
	// exchange makes the outcome of a comparison; nil completes it.
	exchange func(tick int, e *hw.Exchange) error
	readErr  func(tick int) error
	// remote changes what another CPU reads.
	remote func(cpu int, read clocksource.Cycles) (clocksource.Cycles, error)

	tick, attempt int
	slept, extra  clocksource.Nanos
	usage         hw.Usage
	on            int   // the CPU of the thread
	visited       []int // CPU of each read-back
	starts        []clocksource.Nanos
	pairs         [][2]int
	refreshed     int
}

func newScript(cpus int) *script {
	s := &script{now: 1000 * clocksource.NanosPerSecond, on: nowhere, offline: map[int]bool{},
		reference: hw.Counter{Name: hw.HPET, Hz: 25_000_000, Mask: clocksource.Mask32}}
	for c := range cpus {
		s.cpus = append(s.cpus, c)
	}
	return s
}

func pick[T any](f func(int, int) T, tick, attempt int, other T) T {
	if f == nil {
		return other
	}
	return f(tick, attempt)
}

func (s *script) Now() clocksource.Nanos   { return s.now }
func (s *script) Slept() clocksource.Nanos { return s.slept }

func (s *script) Sleep(ctx context.Context, until clocksource.Nanos) error {
	s.now = max(s.now, until)
	s.advance()
	return ctx.Err()
}

// advance begins the next tick.
func (s *script) advance() {
	s.tick++
	s.attempt = 0
	if s.lateBy != nil {
		s.now += s.lateBy(s.tick)
	}
	if s.sleeps != nil {
		s.slept += s.sleeps(s.tick)
	}
	if s.rate != nil {
		s.extra += s.rate(s.tick) * halfSecond / 1_000_000
	}
	s.starts = append(s.starts, s.now)
}

func (s *script) CPUs() ([]int, error) {
	s.refreshed++
	return slices.DeleteFunc(slices.Clone(s.cpus), func(c int) bool { return s.offline[c] }), nil
}

func (s *script) On(cpu int, f func()) error {
	if s.offline[cpu] || !slices.Contains(s.cpus, cpu) {
		return fmt.Errorf("bind the thread to CPU %d: it is offline", cpu)
	}
	before := s.on
	s.on = cpu
	defer func() { s.on = before }()
	f()
	return nil
}

func (s *script) Usage(int) hw.Usage { return s.usage }

func (s *script) Exchange(control, remote int, _ clocksource.Nanos) (hw.Exchange, error) {
	s.pairs = append(s.pairs, [2]int{control, remote})
	e := hw.Exchange{ControlCPU: control, RemoteCPU: remote, Completed: true, Waited: 700}
	at := s.counter()
	for range 5 {
		e.Control, e.Remote = append(e.Control, at), append(e.Remote, at+50)
		at += 100
	}
	if s.exchange != nil {
		return e, s.exchange(s.tick, &e)
	}
	return e, nil
}

func (s *script) ReadRemote(control, remote int) (before, there, after clocksource.Cycles, err error) {
	before = s.counter()
	s.now += us
	there = s.counter()
	s.now += us
	if s.remote != nil {
		if there, err = s.remote(remote, there); err != nil {
			there = before
		}
	}
	return before, there, s.counter(), err
}

func (s *script) counter() clocksource.Cycles {
	return clocksource.Hz(2_500_000_000).CyclesIn(s.now + s.extra)
}

func (s *script) ref() clocksource.Cycles {
	return s.reference.Hz.CyclesIn(s.now) & clocksource.Cycles(s.reference.Mask)
}

func (s *script) Reference() hw.Counter { return s.reference }

func (s *script) ReadBack(rb *hw.ReadBack) error {
	if s.readErr != nil {
		if err := s.readErr(s.tick); err != nil {
			return err
		}
	}
	s.attempt++
	s.visited = append(s.visited, s.on)
	delay := pick(s.delay, s.tick, s.attempt, 2*us)
	rb.Before = s.ref()
	s.now += delay / 2
	rb.Clock = s.counter()
	s.now += delay - delay/2
	rb.After = s.ref()
	s.now += pick(s.gap, s.tick, s.attempt, us)
	rb.Again = s.ref()
	s.now += us
	s.usage.Counted = true
	switch pick(s.cause, s.tick, s.attempt, hw.Unexplained) {
	case hw.Preempted:
		s.usage.Involuntary++
	case hw.Interrupted:
		s.usage.Interrupts++
	}
	return nil
}

// scriptStream is the script as a stream by a plan.
type scriptStream struct {
	*script
	plan hw.Plan
}

func (s *scriptStream) Run(ctx context.Context, each func(*hw.Tick) error) error {
	due := s.now
	first := due
	for n := 0; s.plan.Ticks == 0 || n < s.plan.Ticks; n++ {
		if s.Sleep(ctx, due) != nil {
			return nil
		}
		t := hw.Tick{Number: n, At: s.now}
		cpu := s.plan.CPUs[n%len(s.plan.CPUs)]
		s.group(&t, cpu)
		if s.plan.AlsoBoot && cpu != s.plan.BootCPU {
			s.group(&t, s.plan.BootCPU)
		}
		if err := each(&t); err != nil {
			return err
		}
		due = hw.NextDue(due, t.At, halfSecond)
		if s.plan.Ends(t.Number + 1) {
			due = s.plan.NextBurst(first, due)
			first = due
		}
	}
	return nil
}

func (s *scriptStream) group(t *hw.Tick, cpu int) {
	g := hw.Group{CPU: cpu}
	err := s.On(cpu, func() {
		for range s.plan.ReadBacks {
			before := s.usage
			var sample hw.Sample
			if s.ReadBack(&sample.ReadBack) != nil {
				return
			}
			sample.Late = s.reference.Delay(sample.Before, sample.After) > s.plan.Limit
			if sample.Late {
				sample.Cause = hw.CauseOf(before, s.usage)
			}
			g.Samples = append(g.Samples, sample)
			if !sample.Late && s.plan.UntilGood {
				return
			}
		}
	})
	if err != nil {
		g.Skipped = err.Error()
	}
	t.Groups = append(t.Groups, g)
}

func (s *scriptStream) Close() error { return nil }

// configOf is a watch of the script's clocks for an era.
func configOf(s *script, era watchdog.Era, ticks int) Config {
	p, ok := watchdog.ProfileOf(era)
	if !ok {
		panic(fmt.Sprint("no era ", era))
	}
	o := Options{Profile: p, Retries: -1, RecordedBy: "test", Surroundings: hw.Surroundings{Clocksource: "tsc"}}
	choice := hw.Choice{Availability: hw.Availability{Counter: s.reference}}
	h := header(o, choice, hw.Frequency{Hz: 2_500_000_000}, "tsc", s.cpus)
	h.OtherArch = false
	return Config{Profile: p, Retries: -1, Header: h, Ticks: ticks}
}

// result is what a run came to.
type result struct {
	watch    *Watch
	kinds    []string // of each tick: its verdict, or "-"
	cpus     []int
	attempts []int
	idle     []string
	verdicts []watchdog.Verdict
	resets   int
	err      error
}

// run runs a watch to its end.
func run(c Config, s *script) result {
	w, err := New(c, s, s)
	if err != nil {
		return result{err: err}
	}
	return collect(w)
}

// runStream runs a watch over the script as a stream.
func runStream(c Config, s *script) result {
	w, err := NewOnStream(c, &scriptStream{s, c.Plan()}, s)
	if err != nil {
		return result{err: err}
	}
	return collect(w)
}

func collect(w *Watch) result {
	r := result{watch: w}
	r.err = w.Run(context.Background(), func(t *Tick) error {
		r.cpus, r.idle = append(r.cpus, t.CPU), append(r.idle, t.Idle)
		r.resets += t.Resets
		kind, attempts := "-", 0
		for i := range t.Verdicts {
			kind, attempts = t.Verdicts[i].Kind.String(), t.Verdicts[i].Attempts
			r.verdicts = append(r.verdicts, t.Verdicts[i])
		}
		r.kinds, r.attempts = append(r.kinds, kind), append(r.attempts, attempts)
		if (len(t.Verdicts) == 0) != (t.Idle != "") {
			return errors.New("a tick has a verdict or a reason for none, not both and not neither")
		}
		return nil
	})
	return r
}

// at gives a value at some ticks and attempts and another elsewhere.
func at[T any](tick, upTo int, value, other T) func(int, int) T {
	return func(t, attempt int) T {
		if t == tick && attempt <= upTo {
			return value
		}
		return other
	}
}
