package watchdog

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
)

const second = clocksource.NanosPerSecond

func TestQuietChecksAgreeInEveryEra(t *testing.T) {
	for _, p := range append(Profiles(), mustProfile(t, TipForgive)) {
		r := newRun(t, setupFor(t, p, "tsc"), 8)
		if v := r.tick(0); v.Kind != Initialised {
			t.Errorf("%s: the first tick is %s, want initialised", p.Era, v.Kind)
		}
		for range 20 {
			if v := r.tick(0); v.Kind != Agreed || v.Skew.Abs() > 100 {
				t.Fatalf("%s: %s with a skew of %d ns, want agreed", p.Era, v.Kind, v.Skew)
			}
		}
	}
}

func mustProfile(t testing.TB, e Era) Profile {
	t.Helper()
	p, ok := ProfileOf(e)
	if !ok {
		t.Fatalf("no era %s", e)
	}
	return p
}

func TestHighResolutionIsGrantedOnceAndWhereTheEraGrantsIt(t *testing.T) {
	for era, want := range map[Era]int{E0: 1, E1: 2, E4: 2, E9: 2, E12: 2} {
		setup := setupOf(t, era, "tsc")
		r := newRun(t, setup, 1)
		at := 0
		for n := 1; n <= 4; n++ {
			if v := r.tick(0); v.GrantsHRES {
				if at != 0 {
					t.Errorf("%s: granted again at tick %d", era, n)
				}
				at = n
			}
		}
		if at != want {
			t.Errorf("%s: granted at tick %d, want %d", era, at, want)
		}
	}
	setup := setupOf(t, E4, "tsc")
	setup.Reference.Continuous = false
	r := newRun(t, setup, 1)
	for range 4 {
		if r.tick(0).GrantsHRES {
			t.Error("granted against a reference that is not continuous")
		}
	}
}

func TestTheCheckRotatesOverTheCPUs(t *testing.T) {
	for era, want := range map[Era][]int{E0: {0, 0, 0, 0}, E5: {0, 1, 2, 0}, E11: {0, 1, 2, 0}, E12: {0, 0, 0, 0}} {
		r := newRun(t, setupOf(t, era, "tsc"), 3)
		var got []int
		for range 4 {
			got = append(got, r.tick(0).CPU)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", era, diff)
		}
	}
}

func TestALateTickIsCaughtUpUntilTheReleaseThatCountsFromNow(t *testing.T) {
	for name, c := range map[string]struct {
		era     Era
		release string
		want    clocksource.Nanos // from the late tick to the next one
	}{
		"5.15 catches up":          {E5, "5.15", second/2 - 300*ms},
		"7.2.13 catches up":        {E12, "7.2.13", second/2 - 300*ms},
		"7.3.4 counts from now on": {E12, "7.3.4", second / 2},
	} {
		p, _ := ProfileAt(c.era, release(c.release))
		r := newRun(t, setupFor(t, p, "tsc"), 2)
		r.tick(0)
		late := r.tick(300 * ms)
		if got := r.s.Expiry - late.Time; got != c.want {
			t.Errorf("%s: the next tick is due after %d ns, want %d", name, got, c.want)
		}
	}
}

func TestAnOddHZCutsTheInterval(t *testing.T) {
	setup := setupOf(t, E9, "tsc")
	setup.HZ = 125
	r := newRun(t, setup, 1)
	if got := r.s.Expiry - r.m.now; got != 62*8*ms {
		t.Errorf("interval %d ns, want 62 ticks of 8 ms", got)
	}
}

func TestSkewLimits(t *testing.T) {
	for _, c := range []struct {
		era   Era
		clock string
		limit clocksource.Nanos
	}{
		{E1, "tsc", 62_500_000}, {E4, "tsc", 62_500_000}, {E4, "tsc-early", 62_500_000},
		{E5, "tsc", 200_000}, {E5, "tsc-early", 32_100_000},
		{E6, "tsc", 400_000}, {E6, "tsc-early", 32_200_000},
		{E7, "tsc", 500_000}, {E11, "tsc", 500_000}, {E11, "tsc-early", 32_250_000},
		{LTS51050, "tsc", 62_500_000}, {LTS510223, "tsc", 400_000}, {LTS61192, "tsc", 400_000},
	} {
		for _, over := range []bool{false, true} {
			r := newRun(t, setupOf(t, c.era, c.clock), 2)
			r.tick(0)
			// The HPET counts in steps of 40 ns, the TSC in half nanoseconds.
			step := c.limit - 100
			want := Agreed
			if over {
				step, want = c.limit+100, CondemnedSkew
			}
			r.m.offset = clocksource.Cycles(step * 5 / 2)
			v := r.tick(0)
			if v.Kind != want || v.SkewLimit != c.limit {
				t.Errorf("%s %s: a step of %d ns is %s (skew %d, limit %d), want %s with limit %d", c.era, c.clock, step, v.Kind, v.Skew, v.SkewLimit, want, c.limit)
			}
		}
	}
}

func TestE0CondemnsAtTheLimitItself(t *testing.T) {
	for era, want := range map[Era]Kind{E0: CondemnedSkew, E1: Agreed} {
		setup := setupOf(t, era, "tsc")
		// A clock of 1 GHz with mult 1 counts exact nanoseconds on both sides.
		exact := clocksource.Conversion{Mult: 1, Shift: 0, MaxCycles: 1 << 60, MaxIdle: 1 << 60}
		setup.Reference.Conversion, setup.Reference.Mask = exact, clocksource.Mask64
		setup.Watched[0].Conversion = exact
		r := newRun(t, setup, 1)
		r.m.reference, r.m.clock, r.m.refMask = 1_000_000_000, 1_000_000_000, clocksource.Mask64
		r.tick(0)
		r.tick(0)
		r.m.offset = 62_500_000
		if v := r.tick(0); v.Kind != want || v.Skew != 62_500_000 {
			t.Errorf("%s: %s with a skew of %d, want %s", era, v.Kind, v.Skew, want)
		}
	}
}

// TestRateLimitOfTheRewrite: 1/2048 of the interval plus the read-out for
// calibrated clocks, 1/256 otherwise.
func TestRateLimitOfTheRewrite(t *testing.T) {
	for _, c := range []struct {
		calibrated bool
		ppm        int64
		want       Kind
	}{{true, 480, Agreed}, {true, 497, CondemnedSkew}, {false, 3_880, Agreed}, {false, 3_930, CondemnedSkew}} {
		setup := setupOf(t, E12, "tsc")
		setup.Watched[0].Calibrated = c.calibrated
		r := newRun(t, setup, 1)
		r.m.clock = clocksource.Hz(tscHz + tscHz/1_000_000*c.ppm)
		r.tick(0)
		if v := r.tick(0); v.Kind != c.want {
			t.Errorf("%d ppm, calibrated %v: %s (skew %d of %d), want %s", c.ppm, c.calibrated, v.Kind, v.Skew, v.SkewLimit, c.want)
		}
	}
}

func TestAttempts(t *testing.T) {
	slow := delay{before: 2 * ms}
	for _, c := range []struct {
		name    string
		era     Era
		retries int
		cpus    int
		slow    int // attempts that are slow
		want    Kind
		used    int
	}{
		{"5.15 reads four times", E5, -1, 8, 3, Agreed, 4},
		{"... and then gives up", E5, -1, 8, 4, CondemnedDelay, 4},
		{"without retries one slow read condemns", E5, 0, 8, 1, CondemnedDelay, 1},
		{"the RFC's 50 retries", E5, 50, 8, 50, Agreed, 51},
		{"5.17 reads three times", E6, -1, 8, 3, CondemnedDelay, 3},
		{"6.9 goes by the CPUs: 3", E9, -1, 3, 2, CondemnedDelay, 2},
		{"8 CPUs: fewer than the RFC found too few", E9, -1, 8, 3, CondemnedDelay, 3},
		{"960 CPUs", E9, -1, 960, 5, Agreed, 6},
		{"6.9 has no parameter", E9, 50, 8, 3, CondemnedDelay, 3},
		{"7.1 reads three times and forgets", E12, -1, 8, 3, TimedOut, 3},
	} {
		setup := setupOf(t, c.era, "tsc")
		setup.Retries = c.retries
		r := newRun(t, setup, c.cpus)
		r.tick(0)
		delays := make([]delay, c.slow)
		for i := range delays {
			delays[i] = slow
		}
		v := r.tick(0, delays...)
		if v.Kind != c.want || v.Attempts != c.used {
			t.Errorf("%s: %s after %d attempts, want %s after %d", c.name, v.Kind, v.Attempts, c.want, c.used)
		}
	}
}

// TestASkippedCheckLetsTheReferenceAge is the defect of 5.17 to 6.2: after
// skips one comparison spans seconds against a margin for half of one.
func TestASkippedCheckLetsTheReferenceAge(t *testing.T) {
	r := newRun(t, setupOf(t, E6, "tsc"), 8)
	r.m.clock = tscHz + tscHz/1_000_000*243 // within what crystals differ
	r.tick(0)
	for range 3 {
		if v := r.tick(0, delay{before: 150 * us, again: 100 * us}); v.Kind != Skipped {
			t.Fatalf("%s, want skipped", v.Kind)
		}
	}
	if v := r.tick(0); v.Kind != CondemnedSkew || v.Watched.NS < 19*second/10 {
		t.Errorf("%s over %d ns (skew %d), want a false skew over 2 s", v.Kind, v.Watched.NS, v.Skew)
	}
}

func TestFrom63OnASkipPausesFiveMinutes(t *testing.T) {
	r := newRun(t, setupOf(t, E7, "tsc"), 8)
	r.tick(0)
	at := r.m.now
	if v := r.tick(0, delay{before: 200 * us, again: 100 * us}); v.Kind != Skipped {
		t.Fatalf("%s, want skipped", v.Kind)
	}
	if got := r.s.Expiry - at; got != second+300*second {
		t.Errorf("the next tick is due after %d ns, want 301 s behind the last", got)
	}
	if v := r.tick(0); v.Kind != Initialised {
		t.Errorf("after the pause %s, want initialised", v.Kind)
	}
	if v := r.tick(0); v.Kind != Agreed {
		t.Errorf("then %s, want agreed", v.Kind)
	}
}

func TestFrom68OnALongIntervalIsNotCompared(t *testing.T) {
	for era, want := range map[Era]Kind{E7: CondemnedSkew, E8: TooLong, LTS510223: TooLong, E11: TooLong} {
		r := newRun(t, setupOf(t, era, "tsc"), 8)
		r.m.clock = tscHz + tscHz/1_000_000*100
		r.tick(0)
		if v := r.tick(14 * second); v.Kind != want {
			t.Errorf("%s: %s over %d ns, want %s", era, v.Kind, v.Watched.NS, want)
		}
		if want == TooLong {
			if got := r.s.Expiry - r.m.now; got < second/2-2*ms || got > second/2 {
				t.Errorf("%s: the next tick is due after %d ns, want half a second without catching up", era, got)
			}
			if v := r.tick(0); v.Kind != Agreed {
				t.Errorf("%s: then %s, want agreed", era, v.Kind)
			}
		}
	}
}

func TestACondemnedClockIsNotCheckedAgain(t *testing.T) {
	for _, p := range Profiles() {
		r := newRun(t, setupFor(t, p, "tsc"), 2)
		r.tick(0)
		r.tick(0)
		r.m.offset = tscHz / 10
		v := r.tick(0)
		if !v.Kind.Condemns() {
			t.Fatalf("%s: a jump of 100 ms is %s", p.Era, v.Kind)
		}
		before := r.m.attempts
		if v := r.tick(0); v.Kind != AlreadyCondemned || r.m.attempts != before {
			t.Errorf("%s: then %s with %d more reads", p.Era, v.Kind, r.m.attempts-before)
		}
	}
}

func TestAWrappedReferenceCondemnsALateCheck(t *testing.T) {
	setup := setupOf(t, E5, "tsc")
	pm, err := clocksource.Register(3_579_545, clocksource.ScaleHz, clocksource.Mask24)
	if err != nil {
		t.Fatal(err)
	}
	setup.Reference = Clock{Name: "acpi_pm", Mask: clocksource.Mask24, Conversion: pm, Continuous: true, Margin: 100 * us}
	r := newRun(t, setup, 1)
	r.m.reference, r.m.refMask = 3_579_545, clocksource.Mask24
	r.tick(0)
	v := r.tick(5 * second)
	if v.Kind != CondemnedSkew {
		t.Fatalf("%s, want condemned for skew", v.Kind)
	}
	if wrap := clocksource.WrapPeriod(clocksource.Mask24, 3_579_545); (v.Skew - wrap).Abs() > 1000 {
		t.Errorf("skew %d, want one wrap of %d", v.Skew, wrap)
	}
}

func TestExchangeOfTheRewrite(t *testing.T) {
	for _, c := range []struct {
		name   string
		remote clocksource.Cycles
		x      *Exchange
		want   Kind
		early  int
	}{
		{"the other CPU is in step", 0, nil, Agreed, 0},
		{"it is behind by more than an exchange takes", ^clocksource.Cycles(0) - 5000, nil, CondemnedCPUs, 1},
		{"it is ahead", 5000, nil, CondemnedCPUs, 0},
		{"it does not answer", 0, &Exchange{Count: 1, TimedOut: true}, RemoteTimedOut, 0},
		{"it still has an earlier request", 0, &Exchange{Busy: true}, RemoteTimedOut, 0},
		{"its first read came before ours, which nothing orders", 0, &Exchange{Stamps: [10]clocksource.Cycles{100, 50, 110, 120, 130, 140, 150, 160, 170, 180}, Count: 10}, Agreed, 0},
	} {
		r := newRun(t, setupOf(t, E12, "tsc"), 2)
		r.m.remote[1], r.m.exchange = c.remote, c.x
		r.tick(0)
		v := r.tick(0)
		if v.Kind != c.want || v.PeerCPU != 1 {
			t.Errorf("%s: %s with CPU %d, want %s with CPU 1", c.name, v.Kind, v.PeerCPU, c.want)
		}
		if c.want == CondemnedCPUs && (v.EarlyCPU != c.early || v.Earlier >= v.Later) {
			t.Errorf("%s: CPU %d at %d before CPU %d at %d, want the smaller stamp first, of CPU %d", c.name, v.EarlyCPU, v.Earlier, v.LateCPU, v.Later, c.early)
		}
	}
}

func TestRewriteAsksOneOtherCPUATick(t *testing.T) {
	r := newRun(t, setupOf(t, E12, "tsc"), 4)
	var peers []int
	r.tick(0)
	for range 5 {
		peers = append(peers, r.tick(0).PeerCPU)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 0, 1}, peers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRewriteRunsWithoutAReference(t *testing.T) {
	setup := setupOf(t, E12, "tsc")
	setup.Reference = Clock{}
	r := newRun(t, setup, 2)
	if v := r.tick(0); v.Kind != NoReference {
		t.Errorf("%s, want no reference", v.Kind)
	}
	setup = setupOf(t, E9, "tsc")
	setup.Reference = Clock{}
	if _, err := New(setup); !errors.Is(err, ErrSetup) {
		t.Errorf("an older era takes no reference: error %v", err)
	}
}

func TestStateIsAPlainValue(t *testing.T) {
	r := newRun(t, setupOf(t, E9, "tsc"), 8)
	for range 5 {
		r.tick(0)
	}
	kept, machine := r.s, *r.m
	first := r.tick(0)
	r.s, *r.m = kept, machine
	if again := r.tick(0); again != first {
		t.Errorf("the same state gives %+v, then %+v", first, again)
	}
	b, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	var read State
	if err := json.Unmarshal(b, &read); err != nil || read != kept {
		t.Errorf("read back %+v (error %v), want %+v", read, err, kept)
	}
}

func TestAQuietCheckAllocatesNothing(t *testing.T) {
	for _, e := range []Era{E5, E11, E12} {
		r := newRun(t, setupOf(t, e, "tsc"), 8)
		r.tick(0)
		if n := testing.AllocsPerRun(100, func() { r.tick(0) }); n != 0 {
			t.Errorf("%s: %v allocations a check", e, n)
		}
	}
}

// fixed is the fastest machine there is: it answers from a table.
type fixed struct{ n clocksource.Cycles }

func (f *fixed) ReadReference() clocksource.Cycles { return f.n * 12_500_000 }
func (f *fixed) ReadBack(int, ReadPattern) ReadBack {
	f.n++
	ref := f.n * 12_500_000 & clocksource.Cycles(clocksource.Mask32)
	return ReadBack{Before: ref, Clock: f.n * 1_250_000_000, After: ref + 50, Again: ref + 100}
}
func (f *fixed) Exchange(_, _ int, r RemoteRule) Exchange { return Exchange{Count: 2 * r.Reads} }

func BenchmarkQuietCheck(b *testing.B) {
	for _, e := range []Era{E5, E9, E12} {
		b.Run(string(e), func(b *testing.B) {
			w, err := New(setupOf(b, e, "tsc"))
			if err != nil {
				b.Fatal(err)
			}
			var s State
			m := &fixed{}
			out := make([]Verdict, 0, MaxWatched)
			w.Start(&s, 0, AllCPUs(8))
			b.ReportAllocs()
			for b.Loop() {
				out = w.Step(&s, Tick{Now: s.Expiry, CPU: s.CPU, Online: AllCPUs(8)}, m, out[:0])
			}
			if out[0].Kind != Agreed {
				b.Fatalf("%s, want agreed", out[0].Kind)
			}
		})
	}
}
