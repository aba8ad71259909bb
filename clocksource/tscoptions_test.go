package clocksource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatTheWordsOfTSCComeTo(t *testing.T) {
	alert := func(reason string) []Effect { return []Effect{{Kind: EffectTSCOption, Reason: reason}} }
	for _, tt := range []struct {
		name    string
		release [3]int
		words   []string
		want    TSCOptions
		effects []Effect
	}{
		{"nothing is given", [3]int{6, 5, 0}, nil, TSCOptions{}, nil},
		{"each word counts once it exists", [3]int{6, 5, 0}, []string{"reliable", "recalibrate", "unstable", "noirqtime", "nonsense"}, TSCOptions{Reliable: true, Recalibrate: true, Unstable: true}, nil},
		{"4.4 knows only reliable", [3]int{4, 4, 0}, []string{"reliable", "nowatchdog", "watchdog", "unstable", "recalibrate"}, TSCOptions{Reliable: true}, nil},
		{"5.4 knows nowatchdog and no watchdog", [3]int{5, 4, 0}, []string{"nowatchdog", "watchdog", "recalibrate"}, TSCOptions{NoWatchdog: true}, nil},
		{"6.2 has no watchdog yet", [3]int{6, 2, 0}, []string{"watchdog"}, TSCOptions{}, nil},
		{"6.3 has", [3]int{6, 3, 0}, []string{"watchdog"}, TSCOptions{Watchdog: true}, nil},
		{"nowatchdog behind watchdog overrides it, with an alert", [3]int{6, 5, 0}, []string{"watchdog", "nowatchdog"}, TSCOptions{NoWatchdog: true}, alert("Overriding earlier tsc=watchdog with tsc=nowatchdog")},
		{"nowatchdog before watchdog too, with another", [3]int{7, 0, 0}, []string{"nowatchdog", "watchdog"}, TSCOptions{NoWatchdog: true}, alert("tsc=watchdog overridden by earlier tsc=nowatchdog")},
		{"from 7.1 on the last one wins, without a word", [3]int{7, 1, 0}, []string{"nowatchdog", "watchdog"}, TSCOptions{Watchdog: true}, nil},
		{"... in either order", [3]int{7, 3, 4}, []string{"watchdog", "nowatchdog"}, TSCOptions{NoWatchdog: true}, nil},
	} {
		r := RulesAt(tt.release[0], tt.release[1], tt.release[2])
		got, effects := r.TSCOptions(tt.words)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.effects, effects); diff != "" {
			t.Errorf("%s, effects (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestWhoWatchesWhomUnderTSCWatchdog boots a machine with HPET, PM timer and
// TSC: who is watched, and against which clock.
func TestWhoWatchesWhomUnderTSCWatchdog(t *testing.T) {
	for _, tt := range []struct {
		name      string
		release   [3]int
		words     []string
		exempt    bool
		watched   []string
		reference string
	}{
		{"a TSC that is not exempt is watched by the HPET", [3]int{6, 5, 0}, nil, false, []string{"tsc"}, "hpet"},
		{"an exempt one is not, and watches nobody by itself", [3]int{6, 5, 0}, nil, true, nil, "tsc"},
		{"tsc=watchdog makes an exempt one watch both timers", [3]int{6, 5, 0}, []string{"watchdog"}, true, []string{"acpi_pm", "hpet"}, "tsc"},
		{"... up to 7.0", [3]int{7, 0, 0}, []string{"watchdog"}, true, []string{"acpi_pm", "hpet"}, "tsc"},
		{"... and one that is declared reliable", [3]int{6, 3, 0}, []string{"reliable", "watchdog"}, false, []string{"acpi_pm", "hpet"}, "tsc"},
		{"... not one that is watched itself", [3]int{6, 5, 0}, []string{"watchdog"}, false, []string{"tsc"}, "hpet"},
		{"... and not beside nowatchdog", [3]int{6, 5, 0}, []string{"watchdog", "nowatchdog"}, true, nil, "tsc"},
		{"... and not in 6.2", [3]int{6, 2, 0}, []string{"watchdog"}, true, nil, "tsc"},
		{"from 7.1 on it has an exempt TSC watched", [3]int{7, 1, 0}, []string{"watchdog"}, true, []string{"tsc"}, "hpet"},
		{"... and one that is declared reliable", [3]int{7, 1, 0}, []string{"reliable", "watchdog"}, true, []string{"tsc"}, "hpet"},
		{"tsc=nowatchdog takes any TSC out", [3]int{5, 15, 0}, []string{"nowatchdog"}, false, nil, "tsc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules := RulesAt(tt.release[0], tt.release[1], tt.release[2])
			o, _ := rules.TSCOptions(tt.words)
			tsc := rules.TSCWith(rules.TSC(2_300_000, true), o, tt.exempt)
			hpet, err := rules.HPET(24_000_000)
			if err != nil {
				t.Fatal(err)
			}
			r := registryOf(t, rules, rules.TimerWith(hpet, o, tsc), rules.TimerWith(rules.ACPIPM(), o, tsc), tsc)
			if diff := cmp.Diff(tt.watched, r.Watched); diff != "" {
				t.Errorf("watched (-want +got):\n%s", diff)
			}
			if r.Reference != tt.reference || r.Running != (tt.watched != nil) {
				t.Errorf("reference %q, timer %v; want %q", r.Reference, r.Running, tt.reference)
			}
		})
	}
}

// TestAVerdictOnATimerLeavesTheTSCAlone: with tsc=watchdog a HPET that stops is
// the one that is condemned, which is what the option is for.
func TestAVerdictOnATimerLeavesTheTSCAlone(t *testing.T) {
	rules := RulesAt(6, 5, 0)
	o, _ := rules.TSCOptions([]string{"watchdog"})
	tsc := rules.TSCWith(rules.TSC(2_300_000, true), o, true)
	hpet, err := rules.HPET(24_000_000)
	if err != nil {
		t.Fatal(err)
	}
	r := registryOf(t, rules, rules.TimerWith(hpet, o, tsc), tsc)
	r.BootDone()
	r.LateInit()
	r.MarkUnstable("hpet")
	r.RunPending()
	s, _ := r.Source("hpet")
	if s.Rating != 0 || !s.Flags.Has(Unstable) || len(r.Watched) != 0 || r.Running {
		t.Errorf("hpet %+v, watched %v, timer %v", s, r.Watched, r.Running)
	}
	if r.Current != "tsc" || r.TSCMarked || r.Sched.Unstable {
		t.Errorf("current %s, TSC marked %v, sched_clock %+v", r.Current, r.TSCMarked, r.Sched)
	}
}

func TestRecalibration(t *testing.T) {
	rules := RulesAt(6, 5, 0)
	asked, _ := rules.TSCOptions([]string{"recalibrate"})
	told := func(khz uint64) Effect {
		return Effect{Kind: EffectTSCRecalibrated, Clock: "hpet", Frequency: Hz(khz * 1000)}
	}
	differs := func(khz uint64) []Effect {
		return []Effect{{Kind: EffectTSCDiffers}, {Kind: EffectTSCPrevious, Frequency: 2_048_000_000}, told(khz)}
	}
	for _, tt := range []struct {
		name     string
		rules    Rules
		options  TSCOptions
		measured uint32
		want     []Effect
	}{
		{"it was not asked for", rules, TSCOptions{}, 2_000_000, nil},
		{"6.2 has no such option", RulesAt(6, 2, 0), asked, 2_000_000, nil},
		{"the same", rules, asked, 2_048_000, []Effect{told(2_048_000)}},
		{"1000 kHz more is 1/2048: no warning yet", rules, asked, 2_049_000, []Effect{told(2_049_000)}},
		{"1001 more is", rules, asked, 2_049_001, differs(2_049_001)},
		{"1001 less is", rules, asked, 2_046_999, differs(2_046_999)},
	} {
		if diff := cmp.Diff(tt.want, tt.rules.RecalibrateTSC(tt.options, 2_048_000, tt.measured, "hpet")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
