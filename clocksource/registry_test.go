package clocksource

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// continuous is a clock of a rating that needs no watching.
func continuous(name string, rating int) Source {
	return Source{Name: name, Rating: rating, Mask: Mask64, Freq: 1_000_000, Scale: ScaleHz, Flags: IsContinuous}
}

func watchedClock(name string, rating int) Source {
	s := continuous(name, rating)
	s.Flags |= MustVerify
	return s
}

func registryOf(t *testing.T, rules Rules, sources ...Source) Registry {
	t.Helper()
	r := NewRegistry(rules)
	for _, s := range sources {
		if _, err := r.Register(s); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func names(r Registry) []string {
	var out []string
	for _, s := range r.Sources {
		out = append(out, s.Name)
	}
	return out
}

func TestClocksStandByRatingAndThenByAge(t *testing.T) {
	r := registryOf(t, RulesAt(6, 1, 0), continuous("a", 200), continuous("b", 300), continuous("c", 200), continuous("d", 100), continuous("e", 300))
	if diff := cmp.Diff([]string{"b", "e", "a", "c", "d"}, names(r)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	effects, err := r.ChangeRating("e", 200)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a", "c", "e", "d"}, names(r)); diff != "" {
		t.Errorf("order after a change (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Effect{{Kind: EffectRatingChanged, Clock: "e", Rating: 200, OldRating: 300}}, effects); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

func TestRegistrationDoesEverythingInOrder(t *testing.T) {
	r := registryOf(t, RulesAt(6, 1, 0), continuous("slow", 100), watchedClock("early", 299))
	r.BootDone()
	r.SetReady("early")
	effects, err := r.Register(watchedClock("fast", 300))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"registered fast", "watched fast", "tick-notified", "switched fast from early"}, steps(effects)); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"fast", "early"}, r.Watched); diff != "" {
		t.Errorf("the latest watched clock comes first (-want +got):\n%s", diff)
	}
	effects, err = r.Register(continuous("better reference", 200))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"registered better reference", "reference-changed better reference from slow"}, steps(effects)); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	if s, _ := r.Source("early"); s.Flags.Has(Watchdog) {
		t.Error("a new reference left a saved pair valid")
	}
}

func TestTheTimerRunsWhileThereIsSomethingToWatch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rules Rules
		alone bool // runs without a reference
	}{
		{"7.0 needs a reference", RulesAt(7, 0, 0), false},
		{"7.1 does not", RulesAt(7, 1, 0), true},
	} {
		r := registryOf(t, tt.rules, watchedClock("tsc-early", 299))
		if r.Running != tt.alone {
			t.Errorf("%s: timer armed %v with a watched clock alone", tt.name, r.Running)
		}
		if _, err := r.Register(continuous("hpet", 250)); err != nil || !r.Running {
			t.Errorf("%s: timer armed %v with a reference, %v", tt.name, r.Running, err)
		}
		_, effects, err := r.Unregister("tsc-early")
		if err != nil || r.Running {
			t.Errorf("%s: timer armed %v with nothing to watch, %v", tt.name, r.Running, err)
		}
		if diff := cmp.Diff([]string{"unwatched tsc-early", "timer-stopped", "unregistered tsc-early"}, steps(effects)); diff != "" {
			t.Errorf("%s: effects (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestMarginsAtRegistration(t *testing.T) {
	tick, err := RulesAt(6, 1, 0).WDTestJiffies(250)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		rules  Rules
		source func(Rules) Source
		want   Nanos
	}{
		{"tsc in 5.15.0", RulesAt(5, 15, 0), func(r Rules) Source { return r.TSC(2_300_000, true) }, 100_000},
		{"tsc in 5.15.17", RulesAt(5, 15, 17), func(r Rules) Source { return r.TSC(2_300_000, true) }, 200_000},
		{"tsc in 6.1.192", RulesAt(6, 1, 192), func(r Rules) Source { return r.TSC(2_300_000, true) }, 200_000},
		{"tsc in 6.12.117", RulesAt(6, 12, 117), func(r Rules) Source { return r.TSC(2_300_000, true) }, 250_000},
		{"tsc-early in 6.12.117", RulesAt(6, 12, 117), func(r Rules) Source { return r.TSCEarly(2_300_000) }, 32_000_000},
		{"tsc-early in 5.10.223", RulesAt(5, 10, 223), func(r Rules) Source { return r.TSCEarly(2_300_000) }, 32_000_000},
		{"tsc-early in 5.10.0 has none", RulesAt(5, 10, 0), func(r Rules) Source { return r.TSCEarly(2_300_000) }, 0},
		{"tsc-early in 7.1 has none", RulesAt(7, 1, 0), func(r Rules) Source { return r.TSCEarly(2_300_000) }, 0},
		{"a TSC whose product wraps", RulesAt(6, 12, 0), func(r Rules) Source { return r.TSC(4_294_968, true) }, 1_420_454},
		{"tod has no frequency", RulesAt(6, 4, 0), func(r Rules) Source { return r.TOD() }, 31_250_000},
		{"7.1 knows none, whatever the driver says", RulesAt(7, 1, 0), func(Rules) Source { return tick }, 0},
		{"wdtest-jiffies brings a tick", RulesAt(6, 1, 0), func(Rules) Source { return tick }, 4_000_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.source(tt.rules)
			r := registryOf(t, tt.rules, s)
			if got, _ := r.Source(s.Name); got.Margin != tt.want {
				t.Errorf("margin %d ns, want %d", got.Margin, tt.want)
			}
		})
	}
}

func TestTooSmallAMarginIsWarnedOfOnce(t *testing.T) {
	r := NewRegistry(RulesAt(6, 1, 0))
	for i, name := range []string{"first", "second"} {
		s := continuous(name, 100)
		s.Margin = 1000
		effects, err := r.Register(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := effects[0].Kind == EffectMarginTooSmall; got != (i == 0) {
			t.Errorf("%s: %v", name, steps(effects))
		}
	}
}

func TestAMultThatCannotBeAdjustedIsWarnedOf(t *testing.T) {
	s := Source{Name: "odd", Rating: 1, Mask: Mask32, Conversion: Conversion{Mult: 4_200_000_000, Shift: 10}}
	r := NewRegistry(RulesAt(6, 1, 0))
	effects, err := r.Register(s)
	if err != nil || effects[0].Kind != EffectOverflowDanger {
		t.Errorf("%v, %v", steps(effects), err)
	}
}

func TestAnotherFrequencyPrintsTheLineAgain(t *testing.T) {
	rules := RulesAt(6, 1, 0)
	r := registryOf(t, rules, rules.TSCEarly(2_195_990), rules.ACPIPM())
	effects, err := r.UpdateFrequency("tsc-early", 2_195_274, ScaleKHz)
	if err != nil {
		t.Fatal(err)
	}
	want := []Effect{{Kind: EffectRegistered, Clock: "tsc-early", Mask: Mask64, MaxCycles: 0x1fa4c255513, MaxIdle: 440795289702, Again: true, Margin: DriverMargin}}
	if diff := cmp.Diff(want, effects); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	if s, _ := r.Source("tsc-early"); s.Frequency() != 2_195_274_000 {
		t.Errorf("frequency %d", s.Frequency())
	}
}

func TestLimitsOfKernelsBefore41(t *testing.T) {
	cycles36, idle36 := IdleBefore41(2343484437, 23, uint32(uint64(2343484437)*11/100), Mask24)
	for _, tt := range []struct {
		name   string
		rules  Rules
		cycles Cycles
		idle   Nanos
	}{
		{"3.6", RulesAt(3, 6, 0), cycles36, idle36},
		{"4.4", RulesAt(4, 4, 0), 0xffffff, 2085701024},
	} {
		r := registryOf(t, tt.rules, tt.rules.ACPIPM())
		if c := r.Sources[0].Conversion; c.MaxCycles != tt.cycles || c.MaxIdle != tt.idle {
			t.Errorf("%s: max_cycles %#x, max_idle %d, want %#x, %d", tt.name, uint64(c.MaxCycles), c.MaxIdle, uint64(tt.cycles), tt.idle)
		}
	}
	r := registryOf(t, RulesAt(2, 6, 35), RulesAt(2, 6, 35).ACPIPM())
	if c := r.Sources[0].Conversion; c.MaxAdj != 0 {
		t.Errorf("2.6.35: maxadj %d, which came with 3.2", c.MaxAdj)
	}
}

func TestWhatCannotBeRegistered(t *testing.T) {
	good := continuous("good", 100)
	tests := []struct {
		name string
		edit func(*Source)
		is   error
	}{
		{"no name", func(s *Source) { s.Name = "" }, nil},
		{"no mask", func(s *Source) { s.Mask = 0 }, nil},
		{"a mask with holes", func(s *Source) { s.Mask = 0xf0 }, nil},
		{"no scale", func(s *Source) { s.Scale = 0 }, nil},
		{"neither frequency nor mult", func(s *Source) { s.Freq = 0 }, nil},
		{"a shift of 64", func(s *Source) { s.Freq, s.Conversion = 0, Conversion{Mult: 1, Shift: 64} }, nil},
		{"a name that is taken", func(s *Source) { s.Name = "old" }, ErrRegistered},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := registryOf(t, RulesAt(6, 1, 0), continuous("old", 100))
			before := r.Clone()
			s := good
			tt.edit(&s)
			effects, err := r.Register(s)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v, want %v", err, tt.is)
			}
			if effects != nil || !cmp.Equal(before, r) {
				t.Errorf("an error changed the registry: %v", steps(effects))
			}
		})
	}
	r := NewRegistry(RulesAt(6, 1, 0))
	if _, err := r.UpdateFrequency("tsc", 1, ScaleKHz); !errors.Is(err, ErrNotThere) {
		t.Errorf("frequency of a clock that is not there: %v", err)
	}
	if _, err := r.ChangeRating("tsc", 1); !errors.Is(err, ErrNotThere) {
		t.Errorf("rating of a clock that is not there: %v", err)
	}
}

func TestUnregisteringWhatIsNeeded(t *testing.T) {
	rules := RulesAt(6, 1, 0)
	tests := []struct {
		name    string
		sources []Source
		remove  string
		oneshot bool
		want    []string
		role    Role
	}{
		{"the only reference", []Source{continuous("hpet", 250), watchedClock("tsc", 300)}, "hpet", false, nil, RoleReference},
		{"a reference with a deputy", []Source{continuous("hpet", 250), continuous("acpi_pm", 200), watchedClock("tsc", 300)}, "hpet", false,
			[]string{"reference-changed acpi_pm from hpet", "unregistered hpet"}, ""},
		{"the current clock with a deputy", []Source{continuous("hpet", 250), watchedClock("tsc", 300)}, "tsc", false,
			[]string{"tick-notified", "switched hpet from tsc", "unwatched tsc", "timer-stopped", "unregistered tsc"}, ""},
		{"the current clock, which is the only one fit for oneshot mode", []Source{continuous("hpet", 250), continuous("acpi_pm", 200), watchedClock("tsc", 100)}, "acpi_pm", true,
			[]string{"unregistered acpi_pm"}, ""},
		{"both, without a deputy that is fit", []Source{continuous("hpet", 250), {Name: "jiffies", Rating: 1, Mask: Mask32, Conversion: Given(1<<20, 8, Mask32)}}, "hpet", true,
			[]string{"reference-changed jiffies from hpet"}, RoleCurrent},
		{"a clock that is not there", []Source{continuous("hpet", 250)}, "tsc", false, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := registryOf(t, rules, tt.sources...)
			r.BootDone()
			r.SetOneshot(tt.oneshot)
			s, effects, err := r.Unregister(tt.remove)
			if diff := cmp.Diff(tt.want, steps(effects)); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			var busy *BusyError
			if tt.role != "" {
				if !errors.As(err, &busy) || busy.Role != tt.role || !errors.Is(err, ErrBusy) {
					t.Errorf("error %v, want that it is the %s", err, tt.role)
				}
				if _, still := r.Source(tt.remove); !still {
					t.Errorf("%s is gone in spite of the error", tt.remove)
				}
				return
			}
			if _, still := r.Source(tt.remove); err != nil || still || s.Name != "" && s.Name != tt.remove {
				t.Errorf("%v, still there %v, returned %q", err, still, s.Name)
			}
		})
	}
}

// The kernel's own test does this between its cases.
func TestACondemnedClockThatComesBack(t *testing.T) {
	rules := RulesAt(6, 1, 0)
	r := registryOf(t, rules, continuous("hpet", 250), rules.WDTestKtime())
	r.BootDone()
	r.MarkUnstable("wdtest-ktime")
	r.RunThread()
	s, _, err := r.Unregister("wdtest-ktime")
	if err != nil {
		t.Fatal(err)
	}
	kept := r.Clone()
	if _, err := kept.Register(s); err != nil {
		t.Fatal(err)
	}
	if got, _ := kept.Source("wdtest-ktime"); got.Rating != 0 || !got.Flags.Has(Unstable) || kept.Current != "hpet" {
		t.Errorf("with the flags it had: %+v, current %s", got, kept.Current)
	}
	if _, err := r.Register(rules.WDTestKtime()); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.Source("wdtest-ktime"); got.Rating != 300 || got.Flags.Has(Unstable) || r.Current != "wdtest-ktime" {
		t.Errorf("with fresh flags: %+v, current %s", got, r.Current)
	}
}

func TestTheTSCTakesOverFromTSCEarly(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rules   Rules
		granted bool
		want    string
	}{
		{"7.0, tsc-early not yet checked: tsc is registered as fit", RulesAt(7, 0, 0), false, "tsc"},
		{"7.1, tsc-early checked: tsc inherits", RulesAt(7, 1, 0), true, "tsc"},
		{"7.1, tsc-early not yet checked: the HPET takes over", RulesAt(7, 1, 0), false, "hpet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := startBoot(t, tt.rules)
			b.qemu(2_300_000, nil)
			if tt.granted {
				b.did(b.r.GrantHRES("tsc-early"))
			}
			b.r.SetOneshot(true)
			b.mustDo(b.r.ReplaceTSC(tt.rules.TSC(2_300_000, true)))
			if _, there := b.r.Source("tsc-early"); there || b.r.Current != tt.want {
				t.Errorf("current %s, tsc-early there %v", b.r.Current, there)
			}
		})
	}
}

func TestACopyIsIndependentAndARegistrySurvivesJSON(t *testing.T) {
	b := startBoot(t, RulesAt(6, 12, 0))
	b.qemu(2_300_000, nil)
	original := b.r
	frozen := original.Clone()
	b.passed("tsc-early")
	b.mustDo(b.r.ReplaceTSC(b.r.Rules.TSC(2_300_000, true)))
	b.condemned("tsc")
	if diff := cmp.Diff(frozen, original); diff != "" {
		t.Errorf("the original changed with its copy (-before +after):\n%s", diff)
	}
	data, err := json.Marshal(b.r)
	if err != nil {
		t.Fatal(err)
	}
	var back Registry
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.r, back); diff != "" {
		t.Errorf("after JSON (-want +got):\n%s", diff)
	}
}
