package watchdog

import (
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
)

func TestDesignsAreFoundByTheirIdsAndAreNoErasOfReleases(t *testing.T) {
	for _, e := range Designs() {
		p, ok := ProfileOf(e)
		if !ok || p.Era != e || p.Releases != "never released" {
			t.Errorf("%s: profile %+v, %v", e, p, ok)
		}
		for _, text := range []string{string(e), strings.ToUpper(string(e))} {
			if found, err := Resolve(text); err != nil || list(found) != string(e) {
				t.Errorf("Resolve(%q) = %q, %v", text, list(found), err)
			}
		}
		for _, released := range Eras() {
			if released == e || released.Compare(e) <= 0 {
				t.Errorf("%s is no older than the design %s", released, e)
			}
		}
	}
	for name, err := range map[string]error{
		"ParseEra": errOf(ParseEra("E99")), "Resolve": errOf(Resolve("nonsense")),
	} {
		for _, e := range Designs() {
			if err == nil || !strings.Contains(err.Error(), string(e)) {
				t.Errorf("the error of %s does not name %s: %v", name, e, err)
			}
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestDesignsOnAQuietMachineAgree: nothing in a design may condemn a sound clock.
func TestDesignsOnAQuietMachineAgree(t *testing.T) {
	for _, e := range Designs() {
		r := newRun(t, setupOf(t, e, "tsc"), 8)
		r.m.clock = tscHz + tscHz/1_000_000*100
		r.tick(0)
		for range 20 {
			if v := r.tick(0, delay{before: us, behind: us, again: us}); v.Kind != Agreed {
				t.Fatalf("%s: %s, skew %d of %d, delay %d of %d", e, v.Kind, v.Skew, v.SkewLimit, v.Delay, v.ReadLimit)
			}
		}
	}
}

// step is one check of a table below: the delays of its attempts, and what is expected.
type step struct {
	delays []delay
	kind   Kind
	tries  int
	read   clocksource.Nanos // limits, 0 for any
	skip   clocksource.Nanos
	skew   clocksource.Nanos
}

func TestWhatDesignsDoWithSlowReads(t *testing.T) {
	quiet := []delay{{before: us, again: us}}
	busy := func(before, again clocksource.Nanos) []delay { return persist(delay{before: before, again: again}) }
	for _, tt := range []struct {
		name  string
		era   Era
		cpus  int
		steps []step
	}{
		{"a skip raises the dynamic limit to twice the delay of the reference", PropDynamicSkew, 8, []step{
			{quiet, Agreed, 1, 100 * us, 50 * us, 400 * us},
			{busy(101*us, 92_520), Skipped, 1, 100 * us, 50 * us, 0},
			{busy(101*us, 92_520), Agreed, 1, 185_040, 92_520, 400 * us}, // no slower: it passes
			{busy(300*us, 92_520), CondemnedDelay, 3, 185_040, 92_520, 0},
		}},
		{"the dynamic limit never falls", PropDynamicSkew, 8, []step{
			{busy(300*us, 200*us), Skipped, 1, 100 * us, 50 * us, 0},
			{quiet, Initialised, 1, 400 * us, 200 * us, 0},
			{quiet, Agreed, 1, 400 * us, 200 * us, 400 * us},
		}},
		{"the ratio accepts what the reference itself explains", PropRatio, 8, []step{
			{busy(800*us, 700*us), Agreed, 1, 800 * us, 0, 800 * us},
			{busy(800*us+40, 700*us), CondemnedDelay, 3, 800 * us, 0, 0},
		}},
		{"... or exceeds by no more than 20 us", PropRatio, 8, []step{
			{busy(21*us, us), Agreed, 1, 21 * us, 0, 400 * us},
			{busy(21*us+40, us), CondemnedDelay, 3, 21 * us, 0, 0},
		}},
		{"... and retries an attempt that is neither", PropRatio, 8, []step{
			{[]delay{{before: 300 * us}, {before: us}}, Agreed, 2, 20 * us, 0, 400 * us},
		}},
		{"retries by the whole logarithm: 8 CPUs read five times", PropRetriesLog2, 8, []step{
			{busy(200*us, 0)[:4], Agreed, 5, 0, 0, 0},
			{busy(200*us, 0), CondemnedDelay, 5, 0, 0, 0},
		}},
		{"... and 960 CPUs eleven times", PropRetriesLog2, 960, []step{
			{busy(200*us, 0), CondemnedDelay, 11, 0, 0, 0},
		}},
		{"the largest delay of the reference becomes its margin", PropMaxDelay, 8, []step{
			{busy(10*us, 300*us), Agreed, 1, 750 * us, 500 * us, 550 * us}, // the delay of this very read-out counts for the comparison
			{persist(delay{behind: 840 * us}), Agreed, 1, 850 * us, 600 * us, 550 * us},
			{busy(851*us, 0), CondemnedDelay, 3, 850 * us, 600 * us, 0},
		}},
		{"... and what was not seen before is still a skip", PropMaxDelay, 8, []step{
			{busy(2000*us, 700*us), Skipped, 1, 750 * us, 500 * us, 0},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRun(t, setupOf(t, tt.era, "tsc"), tt.cpus)
			r.tick(0)
			for i, s := range tt.steps {
				if s.kind == Initialised {
					r.s.Resume()
				}
				v := r.tick(0, s.delays...)
				if v.Kind != s.kind || v.Attempts != s.tries {
					t.Errorf("check %d: %s after %d attempts (delay %d of %d), want %s after %d", i+1, v.Kind, v.Attempts, v.Delay, v.ReadLimit, s.kind, s.tries)
				}
				for _, l := range [...]struct {
					what      string
					got, want clocksource.Nanos
				}{{"read", v.ReadLimit, s.read}, {"skip", v.SkipLimit, s.skip}, {"skew", v.SkewLimit, s.skew}} {
					if l.want != 0 && l.got != l.want {
						t.Errorf("check %d: %s limit %d, want %d", i+1, l.what, l.got, l.want)
					}
				}
			}
		})
	}
}

func TestTheRetriesOfTheLogarithmYieldToTheParameter(t *testing.T) {
	p := mustProfile(t, PropRetriesLog2)
	for _, tt := range []struct{ cpus, parameter, want int }{
		{1, -1, 2}, {2, -1, 3}, {8, -1, 5}, {64, -1, 8}, {960, -1, 11}, {0, -1, 2}, {960, 0, 1}, {960, 50, 51},
	} {
		if got := p.Attempts(tt.cpus, tt.parameter); got != tt.want {
			t.Errorf("%d CPUs, parameter %d: %d attempts, want %d", tt.cpus, tt.parameter, got, tt.want)
		}
	}
}

func TestTheForgivingDesignComparesOnceAndWaitsForAFastRead(t *testing.T) {
	slow := persist(delay{before: 200 * us})
	r := newRun(t, setupOf(t, TipForgive, "tsc"), 8)
	r.tick(0)
	for i, want := range []struct {
		delays   []delay
		kind     Kind
		compared bool
		coarse   int
	}{
		{slow, Coarse, true, 1}, {slow, Coarse, false, 2}, {slow, Coarse, false, 3},
		{nil, Initialised, false, 0}, {nil, Agreed, true, 0}, {slow, Coarse, true, 1},
	} {
		v := r.tick(0, want.delays...)
		if v.Kind != want.kind || v.Compared != want.compared || v.CoarseReads != want.coarse {
			t.Errorf("check %d: %s, compared %v, %d in a row; want %+v", i+1, v.Kind, v.Compared, v.CoarseReads, want)
		}
	}
	// Coarsely, but it does compare.
	for _, step := range []struct {
		by   clocksource.Nanos
		want Kind
	}{{62 * ms, Coarse}, {63 * ms, CondemnedSkew}} {
		r := newRun(t, setupOf(t, TipForgive, "tsc"), 8)
		r.tick(0)
		r.m.offset = clocksource.Cycles(step.by * 5 / 2)
		if v := r.tick(0, slow...); v.Kind != step.want || v.SkewLimit != 62_500*us || v.CoarseReads != 1 {
			t.Errorf("a step of %d ns: %s with limit %d, want %s", step.by, v.Kind, v.SkewLimit, step.want)
		}
	}
	// A machine that slept does not compare across its sleep.
	r = newRun(t, setupOf(t, TipForgive, "tsc"), 8)
	r.tick(0)
	r.s.Resume()
	if v := r.tick(0, slow...); v.Kind != Coarse || v.Compared {
		t.Errorf("after resume %s, compared %v", v.Kind, v.Compared)
	}
}

func TestTheWarningOfManySlowReadsFollowsItsParameter(t *testing.T) {
	for _, tt := range []struct {
		parameter, every int
		warns            bool
	}{{0, 100, true}, {7, 7, true}, {-1, -1, false}} {
		s := setupOf(t, TipForgive, "tsc")
		s.CoarseReads = tt.parameter
		if n, ok := s.CoarseWarning(); n != tt.every || ok != tt.warns {
			t.Errorf("parameter %d: every %d, %v", tt.parameter, n, ok)
		}
	}
	s := setupOf(t, E5, "tsc")
	if _, ok := s.CoarseWarning(); ok {
		t.Error("5.15 has no such warning")
	}
}
