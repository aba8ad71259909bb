package bench

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/machine"
)

// reel is a stream that was recorded: read-backs whose last two reads are so many cycles apart.
type reel struct {
	plan    hw.Plan
	counter hw.Counter
	cycles  clocksource.Cycles
	late    bool
}

func (r *reel) Reference() hw.Counter { return r.counter }
func (r *reel) Close() error          { return nil }

func (r *reel) Run(ctx context.Context, each func(*hw.Tick) error) error {
	// The counter wraps within the first read-back.
	at := clocksource.Cycles(r.counter.Mask) - r.cycles/2
	for n := range r.plan.Ticks {
		g := hw.Group{CPU: r.plan.CPUs[0]}
		for range r.plan.ReadBacks {
			s := hw.Sample{ReadBack: hw.ReadBack{After: at & clocksource.Cycles(r.counter.Mask), Again: (at + r.cycles) & clocksource.Cycles(r.counter.Mask)}}
			if r.late {
				s.Late, s.Cause = true, hw.Preempted
			}
			g.Samples = append(g.Samples, s)
			at += 1000
		}
		if err := each(&hw.Tick{Number: n, Groups: []hw.Group{g}}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// fake is a machine of one CPU, on which reads take what the script says.
func fake(s *script) (edges, *[]hw.Plan) {
	opened := &[]hw.Plan{}
	tsc := hw.Availability{Counter: hw.Counter{Name: hw.ProcessorCounter, From: "an instruction"}, Can: machine.Yes}
	hpet := hw.Availability{Counter: hw.Counter{Name: hw.HPET, Hz: 14_318_180, Mask: clocksource.Mask32, From: "/dev/hpet"}, Can: machine.Yes}
	pm := hw.Availability{Counter: hw.Counter{Name: hw.ACPIPM, Hz: hw.PMTimerHz, Mask: clocksource.Mask24}, Can: machine.No, Why: "permission denied", Remedy: "run as root"}
	mono := hw.Availability{Counter: hw.Counter{Name: hw.Monotonic, Hz: 1e9, From: "clock_gettime"}, Can: machine.Yes}
	rtc := hw.Availability{Counter: hw.Counter{Name: "rtc0", Hz: 1}, Can: machine.Yes, Slow: true}
	return edges{
		rig:     s.rig(),
		cpus:    func() ([]int, error) { return []int{3}, nil },
		threads: 8,
		on:      func(_ int, f func()) error { f(); return nil },
		team:    func() (crew, func()) { return desk{offline: -1}, func() {} },
		probe:   func() []hw.Availability { return []hw.Availability{tsc, hpet, pm, mono, rtc} },
		open: func(p hw.Plan) (stream, error) {
			*opened = append(*opened, p)
			c := hw.Counter{Name: p.Reference, Hz: 1e9, Mask: clocksource.Mask64}
			if p.Reference == hw.HPET {
				c = hpet.Counter
			}
			return &reel{plan: p, counter: c, cycles: 20}, nil
		},
		ways: func(clocks []string, counter bool) (ways []way, absent string) {
			for _, name := range clocks {
				ways = append(ways, s.way(Way{Path: PathVDSO, Clock: name}, 20), s.way(Way{Path: PathSyscall, Clock: name}, 100))
			}
			if counter {
				ways = append(ways, s.way(Way{Path: PathInstruction, Instruction: "lfence_rdtsc"}, 10))
			}
			return ways, ""
		},
		slow: func(context.Context) (bool, error) { return false, nil },
	}, opened
}

// brief is a plan that a script is soon done with.
func brief() Plan { return Plan{Batches: 11, Singles: 100, Rounds: 6, Ticks: 6} }

func TestARunMeasuresEveryPart(t *testing.T) {
	s := newScript(20, "tsc")
	e, opened := fake(s)
	r, err := run(t.Context(), brief(), e)
	if err != nil {
		t.Fatal(err)
	}
	if r.Changed() || r.Clocksource != "tsc" || r.CPU != 3 || r.Timer != 20 || r.Seconds <= 0 || len(r.Warnings) != 0 {
		t.Errorf("%+v", r)
	}
	// Five clocks by two paths, and the counter.
	if len(r.Costs) != 11 || len(r.Steps) != 11 || len(r.Routes) != 5 || len(r.Across) != 0 {
		t.Errorf("%d costs, %d steps, %d routes, %d pairs", len(r.Costs), len(r.Steps), len(r.Routes), len(r.Across))
	}
	for _, route := range r.Routes {
		if route.Path != ByVDSO || route.Ratio < 0.19 || route.Ratio > 0.21 {
			t.Errorf("%+v", route)
		}
	}
	for _, c := range r.Contention {
		if len(c.CPUs) != 1 || c.Rounds != 6 {
			t.Errorf("%+v", c)
		}
	}
	if len(*opened) != 1 || (*opened)[0].Reference != hw.HPET || (*opened)[0].Interval != hw.Pace {
		t.Errorf("streams of %+v", *opened)
	}
	if len(r.Counters) != 2 || r.Counters[0].Name != hw.ACPIPM || !strings.Contains(r.Counters[0].Why, "run as root") {
		t.Errorf("counters %+v", r.Counters)
	}
	// 20 cycles of 14.318 MHz are 1396 ns; six groups of eight.
	if h := r.Counters[1]; h.Median < 1396 || h.Median > 1397 || h.Batches != 6 || h.Reads != 48 || h.Steps.Smallest != 20 || h.Steps.Unit != CyclesUnit || h.Pace != 0.5 {
		t.Errorf("HPET %+v", h)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "null") {
		t.Errorf("a list is null: %s", b)
	}
}

func TestASystemClockBehindAWatchedCounterIsNotLoaded(t *testing.T) {
	for _, tt := range []struct {
		name        string
		clocksource string
		slow        bool
		accept      bool
		restrained  bool
	}{
		{"the TSC may be read", "tsc", false, false, false},
		{"the HPET may not", hw.HPET, true, false, true},
		{"the ACPI PM timer may not", hw.ACPIPM, true, false, true},
		{"unless the loss is accepted", hw.HPET, true, true, false},
		{"an unknown clock that is fast is none of them", "", false, false, false},
		{"an unknown clock that is slow may be one", "", true, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(20, tt.clocksource)
			e, opened := fake(s)
			e.slow = func(context.Context) (bool, error) { return tt.slow, nil }
			p := brief()
			p.AcceptLosingTSC = tt.accept
			r, err := run(t.Context(), p, e)
			if err != nil {
				t.Fatal(err)
			}
			reads := s.reads[byVDSO] + s.reads[byCall]
			if restrained := reads == 0; restrained != tt.restrained {
				t.Errorf("%d reads in loops", reads)
			}
			if !tt.restrained {
				return
			}
			if len(r.Warnings) != 1 || r.Warnings[0].Code != WarnRestrained || len(r.Contention) != 0 || len(r.Across) != 0 {
				t.Errorf("%+v", r)
			}
			for _, c := range r.Costs {
				if c.Path != PathInstruction || c.Batches > restrainedBatches {
					t.Errorf("%s by %d batches", c.Name(), c.Batches)
				}
			}
			// Both paths of the clock come from read-backs at a watchdog's pace.
			names := map[string]bool{}
			for _, o := range *opened {
				names[o.Reference] = true
				if o.Interval < hw.Pace || o.ReadBacks > hw.DefaultReadBacks {
					t.Errorf("%s is read by %+v", o.Reference, o)
				}
			}
			if !names[hw.Monotonic] || !names[hw.MonotonicVDSO] || len(r.Routes) != 1 || r.Routes[0].Path != BySyscall {
				t.Errorf("streams of %v, routes %+v", names, r.Routes)
			}
		})
	}
}

func TestARunStopsWhenTheClocksourceChanges(t *testing.T) {
	s := newScript(20, "tsc", "tsc", "hpet")
	e, opened := fake(s)
	r, err := run(t.Context(), brief(), e)
	if err != nil || !r.Changed() || r.ClocksourceAfter != "hpet" || len(*opened) != 0 || len(r.Contention) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Code != WarnChanged {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

func TestARunThatIsStoppedKeepsWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newScript(20, "tsc")
	e, _ := fake(s)
	e.team = func() (crew, func()) { cancel(); return desk{offline: -1}, func() {} }
	r, err := run(ctx, brief(), e)
	if !errors.Is(err, context.Canceled) || len(r.Costs) == 0 || len(r.Steps) == 0 {
		t.Errorf("%d costs, error %v", len(r.Costs), err)
	}
}

func TestARunDoesOnlyTheNamedParts(t *testing.T) {
	s := newScript(20, "tsc")
	e, opened := fake(s)
	p := brief()
	p.Parts = []Part{Singles}
	r, err := run(t.Context(), p, e)
	if err != nil || len(r.Costs)+len(r.Contention)+len(r.Counters)+len(*opened) != 0 || len(r.Steps) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFewerThreadsThanCPUsAreSaid(t *testing.T) {
	s := newScript(20, "tsc")
	e, _ := fake(s)
	e.cpus = func() ([]int, error) { return []int{0, 1, 2, 3}, nil }
	e.threads = 1
	r, err := run(t.Context(), brief(), e)
	if err != nil || len(r.Warnings) != 1 || r.Warnings[0].Code != WarnFewThreads {
		t.Fatalf("%+v, %v", r.Warnings, err)
	}
	for _, c := range r.Contention {
		if len(c.CPUs) != 1 {
			t.Errorf("%d CPUs read at once", len(c.CPUs))
		}
	}
}

func TestACounterThatMustNotBeReadIsLeftAlone(t *testing.T) {
	s := newScript(20, "tsc")
	e, _ := fake(s)
	probe := e.probe
	e.probe = func() []hw.Availability {
		found := probe()
		found[0].Can, found[0].Why = machine.No, "PR_SET_TSC denies it"
		return found
	}
	r, err := run(t.Context(), brief(), e)
	if err != nil || len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0].Why, "PR_SET_TSC") {
		t.Errorf("%+v, %v", r.Skipped, err)
	}
	for w := range s.reads {
		if w.Path == PathInstruction {
			t.Errorf("%s was read", w.Name())
		}
	}
}

func TestNamedCountersThatCannotBeReadSayWhy(t *testing.T) {
	s := newScript(20, "tsc")
	e, _ := fake(s)
	names, not := readable(e.probe(), []string{hw.HPET, "rtc0", "ptp7", hw.Monotonic})
	if len(names) != 2 || names[0] != hw.HPET || names[1] != hw.Monotonic || len(not) != 2 {
		t.Fatalf("readable %v, not %+v", names, not)
	}
	for i, want := range []string{"seconds", "no such counter"} {
		if !strings.Contains(not[i].Why, want) {
			t.Errorf("%s: %q does not say %q", not[i].Name, not[i].Why, want)
		}
	}
}

func TestLateReadBacksAreCountedByCause(t *testing.T) {
	open := func(p hw.Plan) (stream, error) {
		return &reel{plan: p, counter: hw.Counter{Name: p.Reference, Hz: hw.PMTimerHz, Mask: clocksource.Mask24}, cycles: 4, late: true}, nil
	}
	c, err := counter(t.Context(), open, hw.ACPIPM, 0, Plan{Ticks: 2}.withDefaults())
	if err != nil || c.Late[hw.Preempted] != 16 || c.Steps.Median != 4 {
		t.Errorf("%+v, %v", c, err)
	}
	open = func(hw.Plan) (stream, error) {
		return nil, &hw.NotHere{What: hw.ACPIPM, Reason: "the child was killed"}
	}
	c, err = counter(t.Context(), open, hw.ACPIPM, 0, Plan{}.withDefaults())
	if err != nil || !strings.Contains(c.Why, "the child was killed") {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestClocksThatGoBackwardsAreWarnedOf(t *testing.T) {
	b := &bench{r: Result{
		CPU:    1,
		Steps:  []WaySteps{{Way: byCall}, {Way: Way{Path: PathInstruction, Instruction: "rdtsc"}, Steps: Steps{Unit: CyclesUnit, Backward: 2, Farthest: 40}}},
		Across: []Crossing{{Way: Way{Path: PathTimeNow}, CPUs: [2]int{0, 3}, Unit: Nanoseconds, Turns: 100, Backward: 7, Farthest: 900}},
	}}
	b.backwards()
	want := []string{
		"instruction rdtsc went backwards on CPU 1: 2 times, by at most 40 cycles",
		"time.Now went backwards between CPUs 0 and 3: 7 times in 100 turns, by at most 900 ns",
	}
	if len(b.r.Warnings) != len(want) {
		t.Fatalf("warnings %+v", b.r.Warnings)
	}
	for i, w := range want {
		if got := b.r.Warnings[i]; got.Text != w || got.Code != WarnBackwards {
			t.Errorf("%+v, want %q", got, w)
		}
	}
}

func TestTwoCPUsAreComparedByEachPathOnce(t *testing.T) {
	s := newScript(20, "tsc")
	e, _ := fake(s)
	e.cpus = func() ([]int, error) { return []int{0, 1}, nil }
	p := brief()
	p.Parts, p.Turns = []Part{Across}, 10
	r, err := run(t.Context(), p, e)
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]int{}
	for _, c := range r.Across {
		paths[c.Path]++
		if c.Clock != "" && c.Clock != hw.Monotonic || c.CPUs != [2]int{0, 1} || c.Backward != 0 {
			t.Errorf("%+v", c)
		}
	}
	if paths[PathVDSO] != 1 || paths[PathSyscall] != 1 || len(r.Costs) != 0 {
		t.Errorf("paths %v, %d costs", paths, len(r.Costs))
	}
}
