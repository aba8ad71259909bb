package clocksource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAVerdictBeforeTheRegistration(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rules  Rules
		clock  Source
		rating int
	}{
		{"4.18 demotes every clock", RulesAt(4, 18, 0), watchedClock("other", 200), 0},
		{"4.17 leaves the rating to the thread", RulesAt(4, 17, 0), watchedClock("other", 200), 200},
		{"the TSC is demoted in all releases", RulesAt(4, 17, 0), watchedClock("tsc", 300), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := registryOf(t, tt.rules, continuous("hpet", 250))
			r.BootDone()
			first, second := r.MarkUnstable(tt.clock.Name), r.MarkUnstable(tt.clock.Name)
			if diff := cmp.Diff([]string{"marked-unstable " + tt.clock.Name}, steps(first)); diff != "" || second != nil {
				t.Errorf("second verdict %v, first one (-want +got):\n%s", steps(second), diff)
			}
			if _, err := r.Register(tt.clock); err != nil {
				t.Fatal(err)
			}
			s, _ := r.Source(tt.clock.Name)
			if s.Rating != tt.rating || !s.Flags.Has(Unstable) || len(r.Condemned) != 0 {
				t.Errorf("registered as %+v, still remembered %v", s, r.Condemned)
			}
			r.WakeThread()
			r.RunThread()
			if s, _ := r.Source(tt.clock.Name); s.Rating != 0 || len(r.Watched) != 0 {
				t.Errorf("after the thread: %+v, watched %v", s, r.Watched)
			}
		})
	}
	r := NewRegistry(RulesAt(4, 4, 0))
	if diff := cmp.Diff([]string{"tsc-marked tsc", "marked-unstable tsc"}, steps(r.MarkTSCUnstable("boot parameter"))); diff != "" {
		t.Errorf("a release without tsc-early (-want +got):\n%s", diff)
	}
}

func TestTheThreadIsWokenOnceAndOnlyAfterTheBoot(t *testing.T) {
	r := registryOf(t, RulesAt(6, 1, 0), continuous("hpet", 250), watchedClock("a", 200), watchedClock("b", 100))
	if got := steps(r.MarkUnstable("a")); !cmp.Equal(got, []string{"marked-unstable a"}) || r.ThreadPending {
		t.Errorf("before the boot is done: %v", got)
	}
	if got := r.RunThread(); got != nil {
		t.Errorf("the thread before the boot is done: %v", steps(got))
	}
	if got := steps(r.BootDone()); !cmp.Equal(got, []string{"unwatched a", "rating-changed a", "tick-notified", "switched hpet from jiffies"}) {
		t.Errorf("at the end of the boot: %v", got)
	}
	if got := steps(r.WakeThread()); !cmp.Equal(got, []string{"thread-needed"}) {
		t.Errorf("a tick: %v", got)
	}
	if got := steps(r.MarkUnstable("b")); !cmp.Equal(got, []string{"marked-unstable b"}) {
		t.Errorf("while the thread is on its way: %v", got)
	}
	if got := steps(r.RunPending()); !cmp.Equal(got, []string{"unwatched b", "rating-changed b", "timer-stopped"}) {
		t.Errorf("the thread: %v", got)
	}
	if got := r.RunPending(); got != nil {
		t.Errorf("nothing is pending: %v", steps(got))
	}
}

func TestSchedClockIsDeclaredStableOnceAndUnstableOnce(t *testing.T) {
	tests := []struct {
		name  string
		rules Rules
		clock SchedSource
		early bool     // the verdict comes before late_initcall
		late  []string // at late_initcall
		after []string // verdict and work item after it
	}{
		{"a TSC that fails late", RulesAt(6, 1, 0), SchedTSC, false, []string{"sched-clock-stable"}, []string{"sched-clock-needed", "sched-clock-unstable"}},
		{"a TSC that failed early", RulesAt(6, 1, 0), SchedTSC, true, nil, nil},
		{"a guest's own clock", RulesAt(6, 1, 0), SchedParavirtual, true, []string{"sched-clock-stable"}, nil},
		{"an architecture without such a clock", RulesAt(6, 1, 0), SchedNone, false, nil, nil},
		{"4.4", RulesAt(4, 4, 0), SchedTSC, false, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := registryOf(t, tt.rules, continuous("hpet", 250), watchedClock("tsc", 300))
			r.Sched.Source = tt.clock
			r.BootDone()
			if tt.early {
				r.MarkUnstable("tsc")
			}
			if diff := cmp.Diff(tt.late, steps(r.LateInit())); diff != "" {
				t.Errorf("late_initcall (-want +got):\n%s", diff)
			}
			if again := r.LateInit(); again != nil {
				t.Errorf("a second late_initcall: %v", steps(again))
			}
			var sched []string
			for _, e := range append(r.MarkTSCUnstable("a reason"), r.RunPending()...) {
				if e.Kind == EffectSchedNeeded || e.Kind == EffectSchedUnstable {
					sched = append(sched, string(e.Kind))
				}
			}
			if diff := cmp.Diff(tt.after, sched); diff != "" {
				t.Errorf("afterwards (-want +got):\n%s", diff)
			}
			if want := tt.early && tt.clock == SchedTSC || tt.after != nil; r.Sched.Unstable != want || r.Sched.Pending {
				t.Errorf("in the end %+v, want unstable %v", r.Sched, want)
			}
		})
	}
}

func TestAGrantBeforeTheBootIsDoneWaitsForTheSelectionThatComesAnyway(t *testing.T) {
	r := registryOf(t, RulesAt(6, 1, 0), continuous("hpet", 250), watchedClock("tsc", 300))
	if got := steps(r.GrantHRES("tsc")); !cmp.Equal(got, []string{"hres-granted tsc"}) {
		t.Errorf("before the boot is done: %v", got)
	}
	if got := r.GrantHRES("tsc"); got != nil {
		t.Errorf("a second grant: %v", steps(got))
	}
	if s, _ := r.Source("tsc"); s.Flags.Has(Reselect) {
		t.Errorf("flags %v: nothing is to be selected again", s.Flags)
	}
	r.BootDone()
	if s, _ := r.Source("tsc"); r.Current != "tsc" || s.Flags.Has(Reselect) {
		t.Errorf("current %s, flags %v", r.Current, s.Flags)
	}
}

func TestAReselectionIsAskedForOnce(t *testing.T) {
	r := registryOf(t, RulesAt(6, 1, 0), continuous("hpet", 250), watchedClock("slow", 100))
	r.BootDone()
	r.GrantHRES("slow")
	if s, _ := r.Source("slow"); !s.Flags.Has(Reselect) {
		t.Fatalf("flags %v, want RESELECT", s.Flags)
	}
	r.RunThread()
	if s, _ := r.Source("slow"); s.Flags.Has(Reselect) || r.Current != "hpet" {
		t.Errorf("after the thread: flags %v, current %s", s.Flags, r.Current)
	}
}

func TestSavedPairsAreVoidWhenTheyMustBe(t *testing.T) {
	r := registryOf(t, RulesAt(6, 1, 0), continuous("hpet", 250), watchedClock("a", 200), watchedClock("b", 100))
	ready := func(name string) bool { s, _ := r.Source(name); return s.Flags.Has(Watchdog) }
	if !r.SetReady("a") || r.SetReady("a") || !ready("a") || r.SetReady("nobody") {
		t.Error("a pair is saved once, and of clocks that are there")
	}
	if !r.Forget("a") || r.Forget("a") || ready("a") || r.Forget("nobody") {
		t.Error("a pair is forgotten once, and of clocks that are there")
	}
	r.SetReady("a")
	r.SetReady("b")
	if r.ForgetAll(); ready("a") || ready("b") {
		t.Error("a pair survived ForgetAll")
	}
	r.SetReady("a")
	s, _, err := r.Unregister("a")
	if err != nil || !s.Flags.Has(Watchdog) {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := r.Register(s); err != nil || ready("a") {
		t.Errorf("a clock that came back has a saved pair: %v, %v", ready("a"), err)
	}
	r.SetReady("a")
	if r.MarkUnstable("a"); ready("a") || r.SetReady("a") {
		t.Error("a condemned clock has a saved pair")
	}
}

// The kernel looks for a wish among the other clocks when it needs a fallback.
func TestAWishForTheClockThatGoesIsPassedOver(t *testing.T) {
	r := registryOf(t, RulesAt(6, 1, 0), continuous("hpet", 250), continuous("acpi_pm", 200))
	r.BootDone()
	r.SetOverride("acpi_pm")
	r.SelectBest()
	if _, _, err := r.Unregister("acpi_pm"); err != nil || r.Current != "hpet" || r.Override != "acpi_pm" {
		t.Errorf("current %s, wish %q, %v", r.Current, r.Override, err)
	}
}

func TestTheDriversOwnVerdictReachesBothClocksAndIsGivenOnce(t *testing.T) {
	b := startBoot(t, RulesAt(6, 12, 117))
	b.qemu(3_500_000, nil)
	b.passed("tsc-early")
	b.did(b.r.LateInit())
	b.fresh()
	b.did(b.r.MarkTSCUnstable("check_tsc_sync_source failed"))
	b.did(b.r.MarkTSCUnstable("TSC halts in idle"))
	b.did(b.r.RunPending())
	want := []string{
		"sched-clock-needed", "tsc-marked tsc", "marked-unstable tsc-early", "thread-needed", "marked-unstable tsc",
		"sched-clock-unstable",
		"unwatched tsc-early", "rating-changed tsc-early", "timer-stopped", "tick-notified", "switched hpet from tsc-early",
	}
	if diff := cmp.Diff(want, steps(b.effects)); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	for _, e := range b.effects {
		if e.Kind == EffectTSCMarked && e.Reason != "check_tsc_sync_source failed" {
			t.Errorf("reason %q, want the first one", e.Reason)
		}
	}
	// The clock that was not there yet comes in condemned, if a driver registers it at all.
	b.register(b.r.Rules.TSC(3_500_000, true), nil)
	s, _ := b.r.Source("tsc")
	if s.Rating != 0 || !s.Flags.Has(Unstable) || s.Flags.Has(ValidForHRES) || b.r.Current != "hpet" {
		t.Errorf("tsc registered after the verdict: %+v, current %s", s, b.r.Current)
	}
	if got := steps(b.r.WakeThread()); !cmp.Equal(got, []string{"thread-needed"}) {
		t.Errorf("a tick that meets it: %v", got)
	}
	b.did(b.r.RunThread())
	if len(b.r.Watched) != 0 {
		t.Errorf("still watched: %v", b.r.Watched)
	}
}

func TestATSCThatIsNotWatchedCanBeMarkedFromElsewhere(t *testing.T) {
	b := startBoot(t, RulesAt(6, 12, 117))
	rules := b.r.Rules
	b.register(rules.Jiffies(250))
	b.register(rules.HPET(23_999_999))
	tsc := rules.TSC(3_500_000, true)
	tsc.Flags &^= MustVerify
	b.register(tsc, nil)
	b.did(b.r.BootDone())
	if b.r.Reference != "tsc" || b.r.Running {
		t.Fatalf("reference %q, timer armed %v: want tsc, which nobody watches", b.r.Reference, b.r.Running)
	}
	b.fresh()
	b.did(b.r.MarkTSCUnstable("TSC halts in idle"))
	b.did(b.r.RunPending())
	want := []string{
		"tsc-marked tsc", "marked-unstable tsc-early", "watched tsc", "marked-unstable tsc", "thread-needed",
		"verify-needed tsc", "unwatched tsc", "rating-changed tsc", "tick-notified", "switched hpet from tsc",
	}
	if diff := cmp.Diff(want, steps(b.effects)); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	if b.r.Reference != "tsc" {
		t.Errorf("reference %q: the thread does not choose a new one", b.r.Reference)
	}
}
