package watchdog

import (
	"testing"

	"github.com/cswatch/cswatch/clocksource"
)

// scripted is a machine whose clocks do what a test says: the twin of live
// counters. Reading costs no time but what delays say.
type scripted struct {
	t         testing.TB
	now       clocksource.Nanos // true time
	reference clocksource.Hz
	clock     clocksource.Hz
	refMask   clocksource.Mask
	offset    clocksource.Cycles // added to the clock
	backlog   []delay            // one for each attempt, then none
	remote    map[int]clocksource.Cycles
	exchange  *Exchange
	attempts  int
}

// delay is what one attempt costs: before the clock is read and behind it, and
// between the two reads of the reference that follow.
type delay struct{ before, behind, again clocksource.Nanos }

func (s *scripted) ref() clocksource.Cycles {
	return s.reference.CyclesIn(s.now) & clocksource.Cycles(s.refMask)
}
func (s *scripted) tsc() clocksource.Cycles { return s.clock.CyclesIn(s.now) + s.offset }

func (s *scripted) ReadReference() clocksource.Cycles { return s.ref() }

func (s *scripted) ReadBack(_ int, p ReadPattern) ReadBack {
	s.attempts++
	var d delay
	if len(s.backlog) > 0 {
		d, s.backlog = s.backlog[0], s.backlog[1:]
	}
	if p == ReadClockFirst || p == ReadSharedReference {
		rb := ReadBack{Clock: s.tsc()}
		s.now += d.before
		rb.Before = s.ref()
		return rb
	}
	rb := ReadBack{Before: s.ref()}
	s.now += d.before
	rb.Clock = s.tsc()
	s.now += d.behind
	rb.After = s.ref()
	s.now += d.again
	rb.Again = s.ref()
	return rb
}

func (s *scripted) Exchange(_, cpu int, r RemoteRule) Exchange {
	if s.exchange != nil {
		return *s.exchange
	}
	var x Exchange
	for ; x.Count < 2*r.Reads; x.Count++ {
		x.Stamps[x.Count] = s.tsc()
		if x.Count%2 == 1 {
			x.Stamps[x.Count] += s.remote[cpu]
		}
		s.now += 100
	}
	return x
}

func (s *scripted) ReadRemote(_, cpu int) (before, remote, after clocksource.Cycles) {
	before = s.tsc()
	s.now += 500
	remote = s.tsc() + s.remote[cpu]
	s.now += 500
	return before, remote, s.tsc()
}

const hpetHz, tscHz = 25_000_000, 2_500_000_000

// newScripted is a TSC of 2.5 GHz against a HPET of 25 MHz: a nanosecond is a
// whole number of TSC half cycles, and 40 ns are one cycle of the HPET.
func newScripted(t testing.TB) *scripted {
	return &scripted{t: t, now: clocksource.NanosPerSecond, reference: hpetHz, clock: tscHz, refMask: clocksource.Mask32, remote: map[int]clocksource.Cycles{}}
}

// setupOf is the usual pair of clocks in an era.
func setupOf(t testing.TB, e Era, clock string) Setup {
	t.Helper()
	p, ok := ProfileOf(e)
	if !ok {
		t.Fatalf("no era %s", e)
	}
	return setupFor(t, p, clock)
}

func setupFor(t testing.TB, p Profile, clock string) Setup {
	t.Helper()
	hpet, err := clocksource.Register(hpetHz, clocksource.ScaleHz, clocksource.Mask32)
	if err != nil {
		t.Fatal(err)
	}
	tsc, err := clocksource.Register(tscHz/1000, clocksource.ScaleKHz, clocksource.Mask64)
	if err != nil {
		t.Fatal(err)
	}
	return Setup{
		Profile: p,
		Reference: Clock{Name: "hpet", Mask: clocksource.Mask32, Conversion: hpet, Continuous: true, HRES: true, Calibrated: true,
			Margin: p.Margin("hpet", hpetHz, clocksource.ScaleHz)},
		Watched: []Clock{{Name: clock, Mask: clocksource.Mask64, Conversion: tsc, Continuous: true, Calibrated: true, VerifyPerCPU: clock == "tsc",
			Margin: p.Margin(clock, tscHz/1000, clocksource.ScaleKHz)}},
		Retries: -1,
		Current: clock,
	}
}

// run is a watchdog with its state on a scripted machine.
type run struct {
	w      *Watchdog
	s      State
	m      *scripted
	online CPUs
	out    []Verdict
}

func newRun(t testing.TB, setup Setup, cpus int) *run {
	t.Helper()
	w, err := New(setup)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{w: w, m: newScripted(t), online: AllCPUs(cpus)}
	w.Start(&r.s, r.m.now, r.online)
	return r
}

// tick lets the next tick run when it is due, or late, and returns the verdict on the first clock.
func (r *run) tick(late clocksource.Nanos, delays ...delay) Verdict {
	r.m.now = max(r.m.now, r.s.Expiry) + late
	r.m.backlog = delays
	r.out = r.w.Step(&r.s, Tick{Now: r.m.now, CPU: r.s.CPU, Online: r.online}, r.m, r.out[:0])
	return r.out[0]
}

// persist repeats a delay for as many attempts as any era makes.
func persist(d delay) []delay {
	all := make([]delay, 64)
	for i := range all {
		all[i] = d
	}
	return all
}
