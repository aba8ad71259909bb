package clocksource

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNothingIsSelectedBeforeTheBootIsDone(t *testing.T) {
	r := registryOf(t, RulesAt(6, 1, 0), continuous("hpet", 250))
	if effects := r.SelectBest(); effects != nil || r.Current != "" {
		t.Errorf("%v, current %q", steps(effects), r.Current)
	}
	want := []Effect{{Kind: EffectTickNotified}, {Kind: EffectSwitched, Clock: "hpet", Other: "jiffies"}}
	if diff := cmp.Diff(want, r.BootDone()); diff != "" {
		t.Errorf("at the end of the boot (-want +got):\n%s", diff)
	}
	if effects := r.BootDone(); effects != nil {
		t.Errorf("a second time: %v", steps(effects))
	}
}

func TestAMachineWithNothingButJiffiesStaysOnIt(t *testing.T) {
	rules := RulesAt(6, 1, 0)
	j, err := rules.Jiffies(250)
	if err != nil {
		t.Fatal(err)
	}
	r := registryOf(t, rules, j)
	if effects := r.BootDone(); effects != nil || r.Current != "jiffies" || r.CanOneshot() {
		t.Errorf("%v, current %q, oneshot possible %v", steps(effects), r.Current, r.CanOneshot())
	}
}

func TestWishes(t *testing.T) {
	const fit, unfit = "hpet", "tsc"
	tests := []struct {
		name      string
		rules     Rules
		oneshot   bool
		condemned bool
		wish      string
		current   string
		kept      bool // the wish is still there afterwards
		effects   []string
	}{
		{"no wish: the best fit clock", RulesAt(6, 1, 0), true, false, "", fit, true, nil},
		{"a clock that is fit", RulesAt(6, 1, 0), true, false, "acpi_pm", "acpi_pm", true, []string{"tick-notified", "switched acpi_pm from hpet"}},
		{"a clock that nobody has", RulesAt(6, 1, 0), true, false, "nonsense", fit, true, nil},
		{"a clock that is not fit yet", RulesAt(6, 1, 0), true, false, unfit, fit, true, []string{"override-deferred tsc"}},
		{"a condemned clock", RulesAt(6, 1, 0), true, true, unfit, fit, false, []string{"override-refused tsc"}},
		{"a condemned clock without oneshot mode", RulesAt(6, 1, 0), false, true, unfit, unfit, true, []string{"tick-notified", "switched tsc from hpet"}},
		{"4.4 refuses a clock that is not fit yet", RulesAt(4, 4, 0), true, false, unfit, fit, false, []string{"override-refused tsc"}},
		{"4.4 refuses a condemned clock in the same way", RulesAt(4, 4, 0), true, true, unfit, fit, false, []string{"override-refused tsc"}},
		{"2.6.24 grants everything", RulesAt(2, 6, 24), true, true, unfit, unfit, true, []string{"switched tsc from hpet", "tick-notified"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := registryOf(t, tt.rules, continuous(fit, 250), continuous("acpi_pm", 200), watchedClock(unfit, 100))
			r.BootDone()
			r.SetOneshot(tt.oneshot)
			if tt.condemned {
				r.MarkUnstable(unfit)
				r.RunPending()
			}
			r.SetOverride(tt.wish)
			if diff := cmp.Diff(tt.effects, steps(r.SelectBest())); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			if r.Current != tt.current || (r.Override == tt.wish) != tt.kept {
				t.Errorf("current %s, wish %q: want %s, kept %v", r.Current, r.Override, tt.current, tt.kept)
			}
		})
	}
}

func TestADeferredWishIsGrantedAsSoonAsTheClockIsFit(t *testing.T) {
	r := registryOf(t, RulesAt(6, 1, 0), continuous("hpet", 250), watchedClock("tsc", 100))
	r.BootDone()
	r.SetOneshot(true)
	r.SetOverride("tsc")
	effects := r.GrantHRES("tsc")
	effects = append(effects, r.RunPending()...)
	want := []string{"hres-granted tsc", "thread-needed", "tick-notified", "switched tsc from hpet"}
	if diff := cmp.Diff(want, steps(effects)); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

func TestTheHighResolutionFilterDecidesWhenATSCIsTaken(t *testing.T) {
	for _, tt := range []struct {
		name         string
		rules        Rules
		atOnce       string // current after the registration of tsc
		granted      string // current after the first good check
		grantSteps   []string
		registration []string
	}{
		{"3.6 takes the head of the list", RulesAt(3, 6, 0), "tsc", "tsc",
			[]string{"hres-granted tsc", "tick-notified"},
			[]string{"registered tsc", "watched tsc", "switched tsc from hpet", "tick-notified", "timer-started"}},
		{"4.4 waits for a good check", RulesAt(4, 4, 0), "hpet", "tsc",
			[]string{"hres-granted tsc", "thread-needed", "tick-notified", "switched tsc from hpet"},
			[]string{"registered tsc", "watched tsc", "timer-started"}},
		{"6.1 believes tsc at once", RulesAt(6, 1, 0), "tsc", "tsc", nil,
			[]string{"registered tsc", "watched tsc", "tick-notified", "switched tsc from hpet", "timer-started"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := registryOf(t, tt.rules, continuous("hpet", 250))
			r.BootDone()
			r.SetOneshot(true)
			effects, err := r.Register(tt.rules.TSC(2_600_000, true))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.registration, steps(effects)); diff != "" || r.Current != tt.atOnce {
				t.Errorf("registration: current %s (-want +got):\n%s", r.Current, diff)
			}
			effects = r.GrantHRES("tsc")
			effects = append(effects, r.RunPending()...)
			if diff := cmp.Diff(tt.grantSteps, steps(effects)); diff != "" || r.Current != tt.granted {
				t.Errorf("good check: current %s (-want +got):\n%s", r.Current, diff)
			}
		})
	}
}

func TestGrantsThatAreNotMade(t *testing.T) {
	rules := RulesAt(7, 1, 0)
	jiffies, err := RulesAt(6, 1, 0).Jiffies(250)
	if err != nil {
		t.Fatal(err)
	}
	ticking := watchedClock("ticking", 50)
	ticking.Flags &^= IsContinuous
	tests := []struct {
		name    string
		rules   Rules
		sources []Source
		clock   string
		want    []string
	}{
		{"no such clock", rules, nil, "tsc", nil},
		{"no reference", rules, []Source{watchedClock("tsc", 300)}, "tsc", nil},
		{"a reference that ticks", RulesAt(6, 1, 0), []Source{jiffies, watchedClock("tsc", 300)}, "tsc", nil},
		{"a clock that ticks", rules, []Source{continuous("hpet", 250), ticking}, "ticking", nil},
		{"a test clock is granted, and never selected", rules, []Source{continuous("hpet", 5), rules.WDTestKtime()}, "wdtest-ktime", []string{"hres-granted wdtest-ktime"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := registryOf(t, tt.rules, tt.sources...)
			r.BootDone()
			before := r.Current
			effects := append(r.GrantHRES(tt.clock), r.RunPending()...)
			if diff := cmp.Diff(tt.want, steps(effects)); diff != "" || r.Current != before {
				t.Errorf("current %s (-want +got):\n%s", r.Current, diff)
			}
		})
	}
	r := registryOf(t, rules, continuous("hpet", 250), watchedClock("tsc", 300))
	r.MarkUnstable("tsc")
	if got := r.GrantHRES("tsc"); got != nil {
		t.Errorf("a condemned clock was granted high resolution: %v", steps(got))
	}
}

func TestReferences(t *testing.T) {
	jiffies, err := RulesAt(6, 1, 0).RefinedJiffies(250)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		rules    Rules
		sources  []Source
		fallback bool
		want     string
	}{
		{"none", RulesAt(6, 1, 0), []Source{watchedClock("tsc", 300)}, false, ""},
		{"ticks before 7.1", RulesAt(7, 0, 0), []Source{jiffies, watchedClock("tsc", 300)}, false, "refined-jiffies"},
		{"never ticks from 7.1 on", RulesAt(7, 1, 0), []Source{jiffies, watchedClock("tsc", 300)}, false, ""},
		{"the better one", RulesAt(6, 1, 0), []Source{continuous("acpi_pm", 200), continuous("hpet", 250)}, false, "hpet"},
		{"of two equal ones the present one", RulesAt(6, 1, 0), []Source{continuous("a", 200), continuous("b", 200)}, false, "a"},
		{"a fallback", RulesAt(6, 1, 0), []Source{continuous("a", 200), continuous("b", 100)}, true, "b"},
		{"no fallback: the present one stays", RulesAt(6, 1, 0), []Source{continuous("a", 200), watchedClock("b", 100)}, true, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := registryOf(t, tt.rules, tt.sources...)
			r.ChooseReference(tt.fallback)
			if r.Reference != tt.want {
				t.Errorf("reference %q, want %q", r.Reference, tt.want)
			}
		})
	}
}

func TestParametersOfTheCommandLine(t *testing.T) {
	r := NewRegistry(RulesAt(6, 1, 0))
	r.SetOverride(strings.Repeat("x", 40))
	if len(r.Override) != 31 {
		t.Errorf("a wish of 40 bytes is kept with %d, want 31", len(r.Override))
	}
	if OverrideOf("pmtmr") != "acpi_pm" || OverrideOf("hpet") != "hpet" {
		t.Error("clock=pmtmr means acpi_pm, other values themselves")
	}
}
