package trace

import (
	"errors"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// script is a recording written by hand: quiet clocks, and what a test changes.
type script struct {
	h     Header
	cpus  int
	ticks []*Tick
}

func quiet(cpus, ticks int) *script {
	w := &world{seed: 1, cpus: cpus, clocks: 1}
	s := &script{h: w.header(4), cpus: cpus}
	for k := range ticks {
		t := w.tick(k, 4)
		t.At = t.Scheduled + 10*us
		for i := range t.Exchanges { // the world's may time out
			t.Exchanges[i].Exchange = steady(t.At)
		}
		s.ticks = append(s.ticks, t)
	}
	return s
}

// steady is an exchange without fault.
func steady(at clocksource.Nanos) watchdog.Exchange {
	x := watchdog.Exchange{Count: maxStamps}
	for n := range x.Stamps {
		x.Stamps[n] = clocksource.Hz(tscHz).CyclesIn(at + clocksource.Nanos(n)*200)
	}
	return x
}

// slow makes read-backs 300 us slow; with the reference alone, where busy is set, too.
func slow(series []ReadBack, busy bool) {
	const cycles = 300 * hpetHz / 1_000_000
	for i := range series {
		series[i].After += cycles
		series[i].Again += cycles
		if busy {
			series[i].Again += cycles
		}
	}
}

// live makes the recording one of user space, with n late read-backs at a tick.
func (s *script) live(tick int, cause Cause, n int) {
	s.h.Source, s.h.Simulation = Live, nil
	s.h.Schema = ""
	series := s.ticks[tick].Reads[0][:n]
	slow(series, false)
	for i := range series {
		series[i].Late = cause
	}
}

// last replays all ticks and returns the result of the last one about the first clock.
func (s *script) last(t *testing.T, p watchdog.Profile, retries int) Result {
	t.Helper()
	r := newReplay(t, s.h, p, retries)
	var got []Result
	for _, tick := range s.ticks {
		got = step(t, r, tick)
	}
	if len(got) == 0 {
		t.Fatalf("no result at the last tick: %s", r.Idle())
	}
	return got[0]
}

func TestAPairThatIsTakenInTimeEndsTheDoubtOfUserSpace(t *testing.T) {
	replayAll := func(s *script) (all []Result) {
		r := newReplay(t, s.h, profile(t, watchdog.E9), -1)
		for _, tick := range s.ticks {
			all = append(all, step(t, r, tick)...)
		}
		return all
	}
	kernel, s := quiet(4, 6), quiet(4, 6)
	s.live(2, Preempted, 1)
	want, got := replayAll(kernel), replayAll(s)
	if len(got) != 6 || len(want) != 6 {
		t.Fatalf("%d and %d results", len(got), len(want))
	}
	for i, doubts := range []Doubt{0, 0, DoubtUserSpace, DoubtEarlier, 0, 0} {
		if got[i].Doubts != doubts {
			t.Errorf("tick %d: doubts %q, want %q", i+1, got[i].Doubts, doubts)
		}
		if same := got[i].Verdict == want[i].Verdict; !same && got[i].Exact {
			t.Errorf("tick %d is said to be exact, and is not what the kernel decided: %+v, want %+v", i+1, got[i].Verdict, want[i].Verdict)
		}
	}
	s = quiet(4, 6)
	s.live(2, Preempted, 4)
	for i, r := range replayAll(s)[2:] {
		if r.Exact {
			t.Errorf("tick %d: %s is exact behind a condemnation by user space", i+3, r.Kind)
		}
	}
}

func TestRulesOfExactness(t *testing.T) {
	counting, _ := watchdog.ParseRelease("7.3.4")
	fromNow, _ := watchdog.ProfileAt(watchdog.E12, counting)
	era := func(e watchdog.Era) watchdog.Profile { return profile(t, e) }
	for name, c := range map[string]struct {
		profile watchdog.Profile
		retries int
		change  func(s *script)
		kind    watchdog.Kind
		doubts  Doubt
		why     string
	}{
		"a quiet recording is exact for E5": {era(watchdog.E5), -1, nil, watchdog.Agreed, 0, ""},
		"a pinned era reads the boot CPU": {era(watchdog.E0), -1, func(s *script) {
			slow(s.ticks[2].Reads[0], false) // not what it reads
		}, watchdog.Agreed, 0, ""},
		"a rotating era reads the CPU in turn": {era(watchdog.E5), 3, func(s *script) {
			slow(s.ticks[2].Boot[0], false)
		}, watchdog.Agreed, 0, ""},
		"as many attempts as were recorded are exact": {era(watchdog.E5), 3, func(s *script) {
			slow(s.ticks[2].Reads[0], false)
		}, watchdog.CondemnedDelay, 0, ""},
		"a good attempt within those recorded is exact for any retries": {era(watchdog.E5), 50, func(s *script) {
			slow(s.ticks[2].Reads[0][:3], false)
		}, watchdog.Agreed, 0, ""},
		"attempts behind those recorded are not": {era(watchdog.E5), 4, func(s *script) {
			slow(s.ticks[2].Reads[0], false)
		}, watchdog.CondemnedDelay, DoubtAttempts, "only 4 attempts were recorded"},
		"a missing boot CPU is replaced": {era(watchdog.E12), -1, func(s *script) {
			s.ticks[2].Boot = nil
		}, watchdog.Agreed, DoubtCPU, "would have run on CPU 0, and the read-backs are of CPU 2"},
		"the boot CPU's read-backs serve where its turn was not recorded otherwise": {era(watchdog.E5), -1, func(s *script) {
			s.ticks[2].Reads[0] = nil
		}, watchdog.Agreed, DoubtCPU, "would have run on CPU 2, and the read-backs are of CPU 0"},
		"a recording of wd,cs,wd answers E6 where the read was good": {era(watchdog.E6), -1, func(s *script) {
			s.h.Pattern = watchdog.ReadThree
		}, watchdog.Agreed, 0, ""},
		"and cannot tell a skip where it was slow": {era(watchdog.E6), -1, func(s *script) {
			s.h.Pattern = watchdog.ReadThree
			slow(s.ticks[2].Reads[0][:1], true)
		}, watchdog.Agreed, DoubtPattern, "whether the reference itself was slow"},
		"a recording of cs,wd answers E4": {era(watchdog.E4), -1, func(s *script) {
			s.h.Pattern = watchdog.ReadClockFirst
		}, watchdog.Agreed, 0, ""},
		"but not E5": {era(watchdog.E5), -1, func(s *script) {
			s.h.Pattern = watchdog.ReadClockFirst
		}, watchdog.Agreed, DoubtPattern | DoubtEarlier, "no delay can be told"},
		"nor E1, which reads the reference first": {era(watchdog.E1), -1, func(s *script) {
			s.h.Pattern = watchdog.ReadClockFirst
		}, watchdog.Agreed, DoubtPattern | DoubtEarlier, "read order differs"},
		"a late tick that 7.2 catches up with is exact": {era(watchdog.E12), -1, func(s *script) {
			s.ticks[1].At += 50 * ms
		}, watchdog.Agreed, 0, ""},
		"after which 7.3.4 would run later": {fromNow, -1, func(s *script) {
			s.ticks[1].At += 50 * ms
		}, watchdog.Agreed, DoubtTimer, "50010000 ns later"},
		"less than a tick of HZ is no other time": {fromNow, -1, func(s *script) {
			s.ticks[1].At += 3 * ms
		}, watchdog.Agreed, 0, ""},
		"a timer of the recorder that was late": {era(watchdog.E5), -1, func(s *script) {
			s.ticks[2].Scheduled += 20 * ms
		}, watchdog.Agreed, DoubtTimer, "20000000 ns earlier"},
		"a tick that is missing": {era(watchdog.E5), -1, func(s *script) {
			s.ticks = append(s.ticks[:1], s.ticks[2])
		}, watchdog.Agreed, DoubtGap, "1 checks before this tick were not recorded"},
		"what follows a gap": {era(watchdog.E5), -1, func(s *script) {
			s.ticks = append(s.ticks[:1], s.ticks[2], quiet(4, 4).ticks[3])
		}, watchdog.Agreed, DoubtEarlier, "follows the approximate answer of tick 3: 1 checks"},
		"what follows a tick without read-backs": {era(watchdog.E5), -1, func(s *script) {
			s.ticks[1].Reads[0], s.ticks[1].Boot = nil, nil
		}, watchdog.Agreed, DoubtEarlier, "tick 2 lacks the read-backs"},
		"a condemnation is as exact as it was": {era(watchdog.E5), 3, func(s *script) {
			slow(s.ticks[1].Reads[0], false)
		}, watchdog.AlreadyCondemned, 0, ""},
		"and as approximate": {era(watchdog.E5), 4, func(s *script) {
			slow(s.ticks[1].Reads[0], false)
		}, watchdog.AlreadyCondemned, DoubtEarlier, "follows the approximate answer of tick 2"},
		"a condemned clock needs no read-backs": {era(watchdog.E5), 3, func(s *script) {
			slow(s.ticks[1].Reads[0], false)
			s.ticks[2].Reads[0] = nil
		}, watchdog.AlreadyCondemned, 0, ""},
		"the number of CPUs is that of the tick": {era(watchdog.E9), -1, func(s *script) {
			s.ticks[2].Online = CPUs(1, 2) // 2 attempts, not the 3 of four CPUs
			slow(s.ticks[2].Reads[0][:2], false)
		}, watchdog.CondemnedDelay, 0, ""},
		"after a reset a new pair is taken": {era(watchdog.E5), -1, func(s *script) {
			s.ticks[2].Resets = 1
		}, watchdog.Initialised, 0, ""},
		"in user space a read-back whose thread lost its CPU": {era(watchdog.E5), 3, func(s *script) {
			s.live(2, Preempted, 1)
		}, watchdog.Agreed, DoubtUserSpace, "lost its CPU during a read-back"},
		"one that was interrupted, though it condemns": {era(watchdog.E5), 3, func(s *script) {
			s.live(2, Interrupted, 4)
		}, watchdog.CondemnedDelay, DoubtUserSpace, "a kernel reads with interrupts off"},
		"one that is unexplained where interrupts were not counted": {era(watchdog.E5), 3, func(s *script) {
			s.live(2, Unexplained, 4)
		}, watchdog.CondemnedDelay, DoubtUserSpace, "did not count them"},
		"one that is unexplained where they were counted is exact": {era(watchdog.E5), 3, func(s *script) {
			s.live(2, Unexplained, 4)
			s.h.InterruptsCounted = true
		}, watchdog.CondemnedDelay, 0, ""},
		"one that was late only for the era": {era(watchdog.E5), 3, func(s *script) {
			s.live(2, NotLate, 1)
		}, watchdog.Agreed, DoubtUserSpace, "did not look why"},
		"one behind those that the era takes does not matter": {era(watchdog.E5), 3, func(s *script) {
			s.live(2, Preempted, 0)
			s.ticks[2].Reads[0][3].Late = Preempted
		}, watchdog.Agreed, 0, ""},
		"a simulated one is the kernel's own, whatever its cause": {era(watchdog.E5), 3, func(s *script) {
			s.live(2, Preempted, 4)
			s.h.Schema = Schema
			s.h.Source, s.h.Simulation = Simulated, &Simulation{Model: "test"}
		}, watchdog.CondemnedDelay, 0, ""},
		"in user space a CPU that was busy": {era(watchdog.E12), -1, func(s *script) {
			s.live(2, NotLate, 0)
			s.h.Nodes = OneNode(s.h.Online)
			s.ticks[2].Exchanges[0].Exchange = watchdog.Exchange{Busy: true}
		}, watchdog.RemoteTimedOut, DoubtUserSpace, "a kernel interrupts what runs there instead"},
		"in user space a comparison that timed out": {era(watchdog.E12), -1, func(s *script) {
			s.live(2, NotLate, 0)
			s.h.Nodes = OneNode(s.h.Online)
			s.ticks[2].Exchanges[0].Exchange = watchdog.Exchange{TimedOut: true}
		}, watchdog.RemoteTimedOut, DoubtUserSpace, "a thread in user space was late"},
		"a time-out that is shorter than that of two nodes": {era(watchdog.E12), -1, func(s *script) {
			s.h.Schema = Schema2
			s.h.Nodes = []Node{{CPUs(0, 1), []int{10, 20}}, {CPUs(2, 3), []int{20, 10}}}
			s.ticks[2].Exchanges[0].Exchange = watchdog.Exchange{TimedOut: true}
		}, watchdog.RemoteTimedOut, DoubtExchange, "waited 50000 ns for the other CPU, the era waits 100000 ns"},
		"one that is that of two nodes is exact": {era(watchdog.E12), -1, func(s *script) {
			s.h.Schema = Schema2
			s.h.Nodes = []Node{{CPUs(0, 1), []int{10, 20}}, {CPUs(2, 3), []int{20, 10}}}
			s.ticks[2].Exchanges[0].Exchange, s.ticks[2].Exchanges[0].Limit = watchdog.Exchange{TimedOut: true}, 100*us
		}, watchdog.RemoteTimedOut, 0, ""},
		"a time-out where the nodes are not known": {era(watchdog.E12), -1, func(s *script) {
			s.h.Source, s.h.Simulation = QEMU, nil
			s.ticks[2].Exchanges[0].Exchange = watchdog.Exchange{TimedOut: true}
		}, watchdog.RemoteTimedOut, DoubtExchange, "how far apart the nodes of the CPUs are was not recorded"},
		"an exchange with the CPU that was asked is exact": {era(watchdog.E12), -1, nil, watchdog.Agreed, 0, ""},
		"a recording that begins in the middle of the rotation": {era(watchdog.E12), -1, func(s *script) {
			s.ticks = quiet(4, 6).ticks[2:]
		}, watchdog.Agreed, 0, ""},
		"one that was not recorded": {era(watchdog.E12), -1, func(s *script) {
			s.ticks[2].Exchanges = nil
		}, watchdog.Agreed, DoubtExchange, "no comparison with CPU 2"},
		"a recording without exchanges": {era(watchdog.E12), -1, func(s *script) {
			s.h.Exchanges = false
			for _, t := range s.ticks {
				t.Exchanges = nil
			}
		}, watchdog.Agreed, DoubtExchange | DoubtEarlier, "no comparison with CPU 2"},
		"one with another CPU": {era(watchdog.E12), -1, func(s *script) {
			s.ticks[2].Exchanges[0].Peer = 3
		}, watchdog.Agreed, DoubtExchange, "the era compares CPU 0 with CPU 2"},
		"one that stopped early": {era(watchdog.E12), -1, func(s *script) {
			x := &s.ticks[2].Exchanges[0]
			x.Count = 4
			clear(x.Stamps[4:])
		}, watchdog.Agreed, DoubtExchange, "4 stamps were recorded, the era takes 10"},
		"one that stopped at a step back": {era(watchdog.E12), -1, func(s *script) {
			x := &s.ticks[2].Exchanges[0]
			x.Count = 4
			clear(x.Stamps[4:])
			x.Stamps[3] = x.Stamps[2] - 5
		}, watchdog.CondemnedCPUs, 0, ""},
		"one that timed out under the era's own limit": {era(watchdog.E12), -1, func(s *script) {
			x := &s.ticks[2].Exchanges[0]
			x.Exchange = watchdog.Exchange{TimedOut: true}
		}, watchdog.RemoteTimedOut, 0, ""},
		"one that timed out under a longer limit did so under the era's": {era(watchdog.E12), -1, func(s *script) {
			x := &s.ticks[2].Exchanges[0]
			x.Exchange, x.Limit = watchdog.Exchange{TimedOut: true}, ms
		}, watchdog.RemoteTimedOut, 0, ""},
		"one that timed out under a shorter limit": {era(watchdog.E12), -1, func(s *script) {
			x := &s.ticks[2].Exchanges[0]
			x.Exchange, x.Limit = watchdog.Exchange{TimedOut: true}, 20*us
		}, watchdog.RemoteTimedOut, DoubtExchange, "waited 20000 ns for the other CPU, the era waits 50000 ns"},
		"one that took longer than the era waits": {era(watchdog.E12), -1, func(s *script) {
			x := &s.ticks[2].Exchanges[0]
			x.Limit, x.Waited = ms, 60*us
		}, watchdog.RemoteTimedOut, DoubtExchange, "took 60000 ns"},
		"one under another limit that was quick enough": {era(watchdog.E12), -1, func(s *script) {
			s.ticks[2].Exchanges[0].Limit = ms
		}, watchdog.Agreed, 0, ""},
		"a busy CPU": {era(watchdog.E12), -1, func(s *script) {
			s.ticks[2].Exchanges[0].Exchange = watchdog.Exchange{Busy: true}
		}, watchdog.RemoteTimedOut, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := quiet(4, 3)
			if c.change != nil {
				c.change(s)
			}
			got := s.last(t, c.profile, c.retries)
			if got.Kind != c.kind || got.Doubts != c.doubts || got.Exact != (c.doubts == 0) || !strings.Contains(got.Why, c.why) || (got.Why == "") != got.Exact {
				t.Errorf("%s, exact %v, doubts %q, why %q; want %s, doubts %q, why %q", got.Kind, got.Exact, got.Doubts, got.Why, c.kind, c.doubts, c.why)
			}
		})
	}
}

func TestChecksThatWereNotRecordedAreCounted(t *testing.T) {
	s := quiet(4, 8)
	s.ticks = append(s.ticks[:2], s.ticks[5:]...)
	for _, e := range []watchdog.Era{watchdog.E0, watchdog.E5, watchdog.E12} {
		if got := s.last(t, profile(t, e), -1); got.Tick != 8 || got.Seq != 8 {
			t.Errorf("%s: check %d at tick %d, want 8 at 8", e, got.Tick, got.Seq)
		}
	}
}

func TestAPauseOfFiveMinutesIsPassedOver(t *testing.T) {
	for cpus, doubts := range map[int]Doubt{1: 0, 4: 0, 8: 0, 7: DoubtCPU} {
		s := quiet(cpus, 620)
		slow(s.ticks[5].Reads[0], true)
		r := newReplay(t, s.h, profile(t, watchdog.E8), -1)
		for k, tick := range s.ticks {
			got := step(t, r, tick)
			switch {
			case k > 5 && k < 5+601:
				if len(got) != 0 || !strings.Contains(r.Idle(), "the next check is due at") {
					t.Fatalf("%d CPUs: tick %d within the pause has %d results (%q)", cpus, k, len(got), r.Idle())
				}
			case len(got) != 1 || r.Idle() != "":
				t.Fatalf("%d CPUs: tick %d has %d results (%q)", cpus, k, len(got), r.Idle())
			case k == 5 && got[0].Kind != watchdog.Skipped:
				t.Fatalf("%d CPUs: tick %d is %s, want skipped", cpus, k, got[0].Kind)
			case k == 5+601 && (got[0].Kind != watchdog.Initialised || got[0].Doubts != doubts):
				t.Errorf("%d CPUs: the first tick behind the pause is %s with doubts %q, want initialised with %q", cpus, got[0].Kind, got[0].Doubts, doubts)
			}
		}
	}
}

func TestARecordingWithAShorterIntervalIsReadAtTheErasPace(t *testing.T) {
	s := quiet(1, 40)
	s.h.Interval = 100 * ms
	for k, tick := range s.ticks {
		tick.Scheduled = begin + clocksource.Nanos(k)*100*ms
		tick.At = tick.Scheduled
	}
	r := newReplay(t, s.h, profile(t, watchdog.E5), -1)
	ran := 0
	for k, tick := range s.ticks {
		for _, res := range step(t, r, tick) {
			ran++
			if k%5 != 0 || !res.Exact {
				t.Errorf("tick %d ran, exact %v: %s", k, res.Exact, res.Why)
			}
		}
	}
	if ran != 8 {
		t.Errorf("%d checks ran in 4 s, want 8", ran)
	}
}

func TestADoubtAboutOneClockTouchesTheOthersWhereTheEraLetsIt(t *testing.T) {
	w := &world{seed: 2, cpus: 1, clocks: 2}
	for era, want := range map[watchdog.Era]Doubt{watchdog.E6: 0, watchdog.E8: DoubtEarlier} {
		r := newReplay(t, w.header(1), profile(t, era), -1)
		step(t, r, w.tick(0, 1))
		tick := w.tick(1, 1)
		slow(tick.Reads[0], false)
		got := step(t, r, tick)
		if got[0].Doubts != DoubtAttempts || got[1].Doubts != want {
			t.Errorf("%s: doubts %q and %q, want attempts and %q", era, got[0].Doubts, got[1].Doubts, want)
		}
	}
}

func TestASecondClockOfAnEraThatReadsTheReferenceOnceIsApproximate(t *testing.T) {
	w := &world{seed: 2, cpus: 1, clocks: 2}
	r := newReplay(t, w.header(2), profile(t, watchdog.E1), -1)
	got := step(t, r, w.tick(0, 2))
	if !got[0].Exact || got[1].Doubts != DoubtPattern || !strings.Contains(got[1].Why, "20000 ns behind it") {
		t.Errorf("%v and %q (%s), want exact and pattern", got[0].Exact, got[1].Doubts, got[1].Why)
	}
}

func TestReplayRefusesWhatDoesNotFit(t *testing.T) {
	w := &world{cpus: 2, clocks: 1}
	h := w.header(2)
	setup, err := h.Setup(profile(t, watchdog.E5), -1)
	if err != nil {
		t.Fatal(err)
	}
	other := setup
	other.Watched = append([]watchdog.Clock(nil), setup.Watched...)
	other.Watched[0].Name = "kvm-clock"
	if _, err := NewReplay(h, other); err == nil || !strings.Contains(err.Error(), "the same clocks") {
		t.Errorf("a watchdog of another clock: %v", err)
	}
	other.Watched = append(other.Watched, setup.Watched[0])
	if _, err := NewReplay(h, other); err == nil || !strings.Contains(err.Error(), "the same clocks") {
		t.Errorf("a watchdog of more clocks: %v", err)
	}
	if _, err := NewReplay(h, watchdog.Setup{}); !errors.Is(err, watchdog.ErrSetup) {
		t.Errorf("no setup: %v", err)
	}
	r, err := NewReplay(h, setup)
	if err != nil {
		t.Fatal(err)
	}
	before := r.State()
	if _, err := r.Step(&Tick{CPU: -1}); err == nil || r.State() != before {
		t.Errorf("a tick that is not valid: %v", err)
	}
}

func TestMarginsAreThoseOfTheEra(t *testing.T) {
	h := (&world{cpus: 1, clocks: 1}).header(1)
	for era, want := range map[watchdog.Era]clocksource.Nanos{watchdog.E4: 0, watchdog.E5: 100 * us, watchdog.E6: 200 * us, watchdog.E9: 250 * us, watchdog.E12: 0} {
		s, err := h.Setup(profile(t, era), -1)
		if err != nil {
			t.Fatal(err)
		}
		if s.Watched[0].Margin != want || s.Reference.Margin != want {
			t.Errorf("%s: margins %d and %d ns, want %d", era, s.Watched[0].Margin, s.Reference.Margin, want)
		}
	}
	h.Watched[0].Margin = 32 * ms
	s, err := h.Setup(profile(t, watchdog.E9), -1)
	if err != nil || s.Watched[0].Margin != 32*ms {
		t.Errorf("a driver's margin is %d (%v), want 32 ms", s.Watched[0].Margin, err)
	}
	h.Reference = Clock{}
	if _, err := h.Setup(profile(t, watchdog.E9), -1); err == nil {
		t.Error("an era before 7.1 without a reference was accepted")
	}
	if _, err := h.Setup(profile(t, watchdog.E12), -1); err != nil {
		t.Errorf("7.1 without a reference: %v", err)
	}
}

func TestHostileInstantsEndQuickly(t *testing.T) {
	s := quiet(4, 2)
	for _, p := range profiles(t) {
		r := newReplay(t, s.h, p, -1)
		for _, at := range []clocksource.Nanos{-maxInstant, maxInstant, 0, -maxInstant} {
			tick := *s.ticks[0]
			tick.Scheduled, tick.At = at, -at
			step(t, r, &tick)
		}
	}
}
