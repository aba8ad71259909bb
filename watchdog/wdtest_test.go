package watchdog

import (
	"testing"

	"github.com/cswatch/cswatch/clocksource"
)

// The kernel tests its own watchdog with a module, clocksource-wdtest, of which
// there are two generations. Its cases are ours, on the machine sizes below.
var machineSizes = []int{1, 2, 8, 64, 960}

// testClock is the module's wdtest-ktime: 1 GHz, 64 bits, continuous.
func testClock(t testing.TB, p Profile) Clock {
	t.Helper()
	c, err := clocksource.Register(1_000_000, clocksource.ScaleKHz, clocksource.Mask64)
	if err != nil {
		t.Fatal(err)
	}
	return Clock{Name: "wdtest-ktime", Mask: clocksource.Mask64, Conversion: c, Continuous: true, HRES: true, VerifyPerCPU: true,
		Margin: p.Margin("wdtest-ktime", 1_000_000, clocksource.ScaleKHz)}
}

// TestFirstGenerationErrorInjection is case 3 of the module of 5.14 to 7.0: i
// slow reads leave the clock stable as long as they do not use up all retries.
// A slow read waits four times the margin.
func TestFirstGenerationErrorInjection(t *testing.T) {
	cases := 0
	for _, p := range Profiles() {
		if !p.LatencyCondemns() || !p.usesMargins() {
			continue
		}
		for _, cpus := range machineSizes {
			retries := p.Attempts(cpus, -1) - 1
			for i := 0; i <= retries+1; i++ {
				setup := setupFor(t, p, "tsc")
				setup.Watched[0], setup.Current = testClock(t, p), "tsc"
				r := newRun(t, setup, cpus)
				r.m.clock = 1_000_000_000
				r.tick(0)
				injected := make([]delay, i)
				for n := range injected {
					injected[n] = delay{before: 4 * setup.Watched[0].Margin}
				}
				v := r.tick(0, injected...)
				want := Agreed
				if i > retries {
					want = CondemnedDelay
				}
				if v.Kind != want || len(r.m.backlog) != 0 {
					t.Errorf("%s, %d CPUs, %d of %d retries: %s with %d injections left, want %s", p.Era, cpus, i, retries, v.Kind, len(r.m.backlog), want)
				}
				cases++
			}
		}
	}
	if cases < 300 {
		t.Errorf("only %d cases: the test lost its subject", cases)
	}
}

// TestFirstGenerationFuzz is case 4: values that are off by 100 ms, alternately
// ahead and behind, condemn the clock.
func TestFirstGenerationFuzz(t *testing.T) {
	for _, p := range Profiles() {
		if !p.LatencyCondemns() {
			continue
		}
		for _, cpus := range machineSizes {
			setup := setupFor(t, p, "tsc")
			setup.Watched[0], setup.Current = testClock(t, p), "kvm-clock"
			r := newRun(t, setup, cpus)
			r.m.clock = 1_000_000_000
			r.tick(0)
			r.m.offset = ^clocksource.Cycles(0) - 100_000_000 + 1
			r.tick(0)
			r.m.offset = 100_000_000
			v := r.tick(0)
			if v.Kind != CondemnedSkew && v.Kind != AlreadyCondemned {
				t.Errorf("%s, %d CPUs: %s, want condemned", p.Era, cpus, v.Kind)
			}
		}
	}
}

// TestPublishedLogOfTheModule is the log of a 6.5-rc4 kernel on one CPU against
// kvm-clock: both intervals follow from the hexadecimal values.
func TestPublishedLogOfTheModule(t *testing.T) {
	p, _ := ProfileAt(E7, release("6.5"))
	kvm, err := clocksource.Register(1_000_000_000, clocksource.ScaleHz, clocksource.Mask64)
	if err != nil {
		t.Fatal(err)
	}
	clock := testClock(t, p)
	w, err := New(Setup{Profile: p, Retries: -1, Current: "kvm-clock", Watched: []Clock{clock},
		Reference: Clock{Name: "kvm-clock", Mask: clocksource.Mask64, Conversion: kvm, Continuous: true, Margin: p.Margin("kvm-clock", 1_000_000_000, clocksource.ScaleHz)}})
	if err != nil {
		t.Fatal(err)
	}
	var v Verdict
	w.compare(&v, &clock, ClockState{Clock: 0x1780716719e80b86, Reference: 0x928aec30e}, 0x17807167426ff864, 0x9454aecf2)
	if v.Reference.NS != 479_996_388 || v.Watched.NS != 679_996_638 || v.Skew != 200_000_250 {
		t.Errorf("intervals %d and %d, skew %d; the log says 679996638, 479996388 and 200000250", v.Watched.NS, v.Reference.NS, v.Skew)
	}
}

// generation2 is the module's second generation (7.1 and later) around a scripted
// machine: what it injects depends on a step counter that advances on the first
// read more than 250 ms after the one before.
type generation2 struct {
	*scripted
	inject  injection
	perCPU  bool
	steps   int
	lastAt  clocksource.Nanos
	lastGap clocksource.Nanos
}

type injection int

const (
	injectNone injection = iota
	injectDelay
	injectPositive
	injectNegative
)

func (s *generation2) step() {
	if s.now-s.lastAt > 250*ms {
		s.lastGap, s.lastAt = s.now-s.lastAt, s.now
		s.steps++
	}
}

func (s *generation2) ReadBack(_ int, _ ReadPattern) ReadBack {
	s.step()
	rb := ReadBack{Before: s.ref()}
	if s.inject == injectDelay {
		s.now += 500 * us
	}
	rb.Clock = clocksource.Cycles(s.now)
	if !s.perCPU && s.steps%2 == 0 {
		switch s.inject {
		case injectPositive:
			rb.Clock += clocksource.Cycles(s.lastGap >> 8)
		case injectNegative:
			rb.Clock -= clocksource.Cycles(s.lastGap >> 8)
		}
	}
	rb.After = s.ref()
	return rb
}

func (s *generation2) Exchange(_, _ int, r RemoteRule) Exchange {
	s.step()
	if s.inject == injectDelay {
		s.now += 500 * us
		return Exchange{Count: 1, TimedOut: true}
	}
	var x Exchange
	for ; x.Count < 2*r.Reads; x.Count++ {
		x.Stamps[x.Count] = clocksource.Cycles(s.now)
		if s.perCPU && x.Count%2 == 1 {
			switch s.inject {
			case injectPositive:
				x.Stamps[x.Count] += 1_000_000
			case injectNegative:
				x.Stamps[x.Count] -= 1_000_000
			}
		}
		s.now += 100
	}
	return x
}

// phase is one case of the second generation at work: the state after each tick.
type phase struct {
	t      *testing.T
	w      *Watchdog
	m      *generation2
	s      State
	online AllCPUs
	out    []Verdict
}

// newPhase begins a case. lastRemote is the CPU that was compared last, by
// whichever clock: all share it, and a registration does not reset it.
func newPhase(t *testing.T, cpus int, perCPU bool, inject injection, lastRemote int) *phase {
	t.Helper()
	setup := setupOf(t, E12, "tsc")
	c := testClock(t, setup.Profile)
	c.HRES, c.Calibrated, c.TestClock, c.TestPerCPU = false, true, true, perCPU
	setup.Watched[0] = c
	w, err := New(setup)
	if err != nil {
		t.Fatal(err)
	}
	p := &phase{t: t, w: w, m: &generation2{scripted: newScripted(t), inject: inject, perCPU: perCPU}, online: AllCPUs(cpus)}
	w.Start(&p.s, p.m.now, p.online)
	p.s.LastRemote = lastRemote
	return p
}

func (p *phase) tick() Verdict {
	p.m.now = max(p.m.now, p.s.Expiry)
	p.out = p.w.Step(&p.s, Tick{Now: p.m.now, CPU: p.s.CPU, Online: p.online}, p.m, p.out[:0])
	return p.out[0]
}

// watch lets ticks run until the module has counted so many steps, or for 2000 ticks.
func (p *phase) watch(steps int) {
	for range 2000 {
		if p.m.steps >= steps {
			return
		}
		p.tick()
	}
}

// TestSecondGeneration runs the eight cases of the module of 7.1 and later, each
// for as many steps as the module watches. Where a free tick comes between, the
// module's expectation cannot hold: see the tests below.
func TestSecondGeneration(t *testing.T) {
	for _, cpus := range machineSizes {
		for _, perCPU := range []bool{false, true} {
			for inject := injectNone; inject <= injectNegative; inject++ {
				steps := 8
				if inject == injectDelay {
					steps = 4
				}
				// In the phase of the CPUs one tick in so many asks nobody.
				if perCPU && (cpus == 1 || inject == injectDelay && cpus <= steps) {
					continue
				}
				p := newPhase(t, cpus, perCPU, inject, 0)
				p.watch(steps)
				got := p.s.Clocks[0]
				if want := inject == injectNone; got.HRES != want {
					t.Errorf("%d CPUs, per CPU %v, injection %d: HRES %v after %d steps, want %v", cpus, perCPU, inject, got.HRES, p.m.steps, want)
				}
				if want := inject >= injectPositive; got.Unstable != want {
					t.Errorf("%d CPUs, per CPU %v, injection %d: unstable %v after %d steps, want %v", cpus, perCPU, inject, got.Unstable, p.m.steps, want)
				}
			}
		}
	}
}

// TestAFreeTickGrantsWhatCaseSixForbids: the table of the module's cases and the
// description of the watchdog contradict each other, and the watchdog is held to
// its description. Case 6 (the phase of the CPUs, every read delayed) wants the
// clock neither valid for high resolution nor unstable during four steps. But
//
//   - a clock in that phase passes the frequency check unread ("success"),
//   - the tick whose turn it is to compare the control CPU with itself compares
//     nothing and leaves that result, and
//   - success grants high resolution.
//
// A free tick reads the clock not at all, so it is no step either. With n CPUs
// it comes in every n-th tick, wherever the turn stood when the clock was registered. So the expectation
// holds only where four ticks in a row ask others: never with 4 CPUs or fewer,
// and by the luck of the turn with more. Which of both texts is at fault, only a boot can tell.
func TestAFreeTickGrantsWhatCaseSixForbids(t *testing.T) {
	held, broken := 0, 0
	for _, cpus := range append([]int{3, 4, 5}, machineSizes...) {
		for last := range min(cpus, 70) {
			p := newPhase(t, cpus, true, injectDelay, last)
			free := false
			for range 3000 {
				if p.m.steps >= 4 || free {
					break
				}
				v := p.tick()
				asked := v.PeerCPU != v.CPU
				free = !asked
				switch {
				case asked && (v.Kind != RemoteTimedOut || v.GrantsHRES || p.s.Clocks[0].HRES):
					t.Fatalf("%d CPUs from %d: CPU %d was asked in vain, and the tick is %s, HRES %v", cpus, last, v.PeerCPU, v.Kind, p.s.Clocks[0].HRES)
				case free && (v.Kind != Agreed || !v.GrantsHRES):
					t.Fatalf("%d CPUs from %d: a free tick is %s, grants %v", cpus, last, v.Kind, v.GrantsHRES)
				}
			}
			if p.s.Clocks[0].Unstable {
				t.Errorf("%d CPUs from %d: unstable", cpus, last)
			}
			// Behind last, cpus-1-last ticks ask others before CPU 0 has its turn.
			if want := cpus-1-last < 4; free != want || p.s.Clocks[0].HRES != want {
				t.Errorf("%d CPUs from %d: a free tick %v, HRES %v, want %v", cpus, last, free, p.s.Clocks[0].HRES, want)
			}
			if free {
				broken++
			} else {
				held++
			}
		}
	}
	if held < 100 || broken < 15 {
		t.Errorf("the expectation held %d times and not %d times: the test lost its subject", held, broken)
	}
}

// TestOneCPUIsNotComparedWithItself: cases 5 to 8 with one CPU. Every tick is a
// free one: the clock is granted high resolution at once and never read. So the
// module counts no step, cases 7 and 8 find nothing to condemn and run out of
// time, and case 6 sees what it forbids. Only case 5 can pass.
func TestOneCPUIsNotComparedWithItself(t *testing.T) {
	for inject := injectNone; inject <= injectNegative; inject++ {
		p := newPhase(t, 1, true, inject, 0)
		for n := range 20 {
			v := p.tick()
			if v.Kind != Agreed || v.GrantsHRES != (n == 0) || v.Attempts != 0 {
				t.Errorf("injection %d, tick %d: %s, grants %v, %d attempts", inject, n+1, v.Kind, v.GrantsHRES, v.Attempts)
			}
		}
		if got := p.s.Clocks[0]; !got.HRES || got.Unstable || p.m.steps != 0 {
			t.Errorf("injection %d: HRES %v, unstable %v, %d steps", inject, got.HRES, got.Unstable, p.m.steps)
		}
	}
}
