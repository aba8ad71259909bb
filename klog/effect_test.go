package klog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
)

// someEffects are effects of every kind, of clocks with and without dashes in their names.
func someEffects() []clocksource.Effect {
	var all []clocksource.Effect
	for _, kind := range clocksource.EffectKinds() {
		for _, clock := range []string{"tsc-early", "tsc", "hpet", "kvm-clock", "acpi_pm"} {
			all = append(all, clocksource.Effect{
				Kind: kind, Clock: clock, Other: "jiffies", Reason: clocksource.ReasonWatchdog,
				Mask: clocksource.Mask64, MaxCycles: 0x22cf91966f1, MaxIdle: 440795275345, Frequency: 2_299_998_000,
			})
		}
	}
	return all
}

func someSched() event.Opt[event.Sched] {
	return event.Some(event.Sched{Gtod: 3185395925, GtodOffset: 15734405, Raw: 3251518285, RawOffset: -49078103})
}

func someRules() []clocksource.Rules {
	var all []clocksource.Rules
	for _, v := range [...][3]int{{2, 6, 24}, {2, 6, 32}, {3, 9, 0}, {3, 10, 0}, {4, 1, 0}, {4, 2, 0}, {4, 4, 0}, {4, 15, 0}, {5, 10, 223}, {6, 12, 117}, {7, 3, 4}} {
		all = append(all, clocksource.RulesAt(v[0], v[1], v[2]))
	}
	return all
}

// What is printed for an effect reads back as what is visible of it.
func TestEveryPrintedEffectIsReadBack(t *testing.T) {
	read := map[event.Kind]bool{}
	rules := someRules()
	for i, r := range rules {
		newest := i == len(rules)-1
		for _, e := range someEffects() {
			lines := EffectLines([]clocksource.Effect{e}, &r, someSched())
			visible := VisibleEffect(&e, someSched())
			if len(lines) > len(visible) || len(lines) < len(visible) && newest {
				t.Errorf("%s, %s of %s: %d lines, %d events are visible", r.Release, e.Kind, e.Clock, len(lines), len(visible))
				continue
			}
			for i, l := range lines {
				want := visible[i]
				read[want.Kind] = true
				if diff := cmp.Diff(want, parse(l.Text)); diff != "" {
					t.Errorf("%s: %q (-want +got):\n%s", r.Release, l.Text, diff)
				}
			}
		}
	}
	if len(read) != 13 {
		t.Errorf("lines of %d kinds were read back, want 13: %v", len(read), read)
	}
}

func TestEffectsAreWordedAsTheReleaseDoes(t *testing.T) {
	switched := []clocksource.Effect{{Kind: clocksource.EffectSwitched, Clock: "hpet", Other: "tsc"}}
	refused := []clocksource.Effect{{Kind: clocksource.EffectOverrideRefused, Clock: "tsc"}}
	registered := []clocksource.Effect{{Kind: clocksource.EffectRegistered, Clock: "hpet", Mask: clocksource.Mask32, MaxCycles: 0xffffffff, MaxIdle: 19112604467}}
	verdict := []clocksource.Effect{
		{Kind: clocksource.EffectMarkedUnstable, Clock: "tsc"},
		{Kind: clocksource.EffectTSCMarked, Clock: "tsc", Reason: clocksource.ReasonWatchdog},
		{Kind: clocksource.EffectThreadNeeded},
		{Kind: clocksource.EffectSchedUnstable},
		{Kind: clocksource.EffectVerifyNeeded, Clock: "tsc"},
	}
	rules := clocksource.RulesAt(6, 5, 0)
	_, contradict := rules.TSCOptions([]string{"watchdog", "nowatchdog", "watchdog"})
	recalibrated := rules.RecalibrateTSC(clocksource.TSCOptions{Recalibrate: true}, 2_048_000, 2_050_123, "acpi_pm")
	for _, c := range []struct {
		name    string
		rules   clocksource.Rules
		effects []clocksource.Effect
		want    string
	}{
		{"2.6.24 installs a clock", clocksource.RulesAt(2, 6, 24), switched, "6 Time: hpet clocksource has been installed.\n"},
		{"2.6.32 is switching", clocksource.RulesAt(2, 6, 32), switched, "6 Switching to clocksource hpet\n"},
		{"3.16 has switched, without a prefix", clocksource.RulesAt(3, 16, 0), switched, "6 Switched to clocksource hpet\n"},
		{"6.12 has switched", clocksource.RulesAt(6, 12, 0), switched, "6 clocksource: Switched to clocksource hpet\n"},
		{"2.6.24 refuses nothing", clocksource.RulesAt(2, 6, 24), refused, ""},
		{"3.16 refuses in a sentence", clocksource.RulesAt(3, 16, 0), refused, "4 Override clocksource tsc is not HRT compatible. Cannot switch while in HRT/NOHZ mode\n"},
		{"4.4 refuses with a dash", clocksource.RulesAt(4, 4, 0), refused, "4 clocksource: Override clocksource tsc is not HRT compatible - cannot switch while in HRT/NOHZ mode\n"},
		{"6.12 says why", clocksource.RulesAt(6, 12, 0), refused, "4 clocksource: Override clocksource tsc is unstable and not HRT compatible - cannot switch while in HRT/NOHZ mode\n"},
		{"4.0 registers silently", clocksource.RulesAt(4, 0, 0), registered, ""},
		{"4.1 registers", clocksource.RulesAt(4, 1, 0), registered, "6 clocksource hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604467 ns\n"},
		{"5.10 registers", clocksource.RulesAt(5, 10, 0), registered, "6 clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604467 ns\n"},
		{"6.5 says which of two contradicting words counts", clocksource.RulesAt(6, 5, 0), contradict, "1 tsc: tsc_setup: Overriding earlier tsc=watchdog with tsc=nowatchdog\n" +
			"1 tsc: tsc_setup: tsc=watchdog overridden by earlier tsc=nowatchdog\n"},
		{"6.5 recalibrates and finds another frequency", clocksource.RulesAt(6, 5, 0), recalibrated, "4 tsc: Warning: TSC freq calibrated by CPUID/MSR differs from what is calibrated by HW timer, please check with vendor!!\n" +
			"6 tsc: Previous calibrated TSC freq:\t 2048.000 MHz\n" +
			"6 tsc: TSC freq recalibrated by [PM_TIMER]:\t 2050.123 MHz\n"},
		{"a verdict on 6.1", clocksource.RulesAt(6, 1, 0), verdict, "6 tsc: Marking TSC unstable due to clocksource watchdog\n" +
			"4 TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.\n" +
			"6 sched_clock: Marking unstable (3185395925, 15734405)<-(3251518285, -49078103)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			for _, l := range EffectLines(c.effects, &c.rules, someSched()) {
				fmt.Fprintf(&b, "%d %s\n", l.Level, l.Text)
			}
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	r := clocksource.RulesAt(6, 1, 0)
	if lines := EffectLines(verdict, &r, event.Opt[event.Sched]{}); len(lines) != 2 {
		t.Errorf("without the numbers of sched_clock: %+v, want two lines", lines)
	}
}
