package clocksource

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// boot plays operations on a registry and keeps the effects.
type boot struct {
	t       *testing.T
	r       Registry
	effects []Effect
	// jiffiesFirst: the guest registered jiffies before the HPET, as some did.
	jiffiesFirst bool
}

func startBoot(t *testing.T, rules Rules) *boot {
	t.Helper()
	return &boot{t: t, r: NewRegistry(rules)}
}

func (b *boot) did(effects []Effect) { b.effects = append(b.effects, effects...) }

func (b *boot) mustDo(effects []Effect, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	b.did(effects)
}

func (b *boot) register(s Source, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	b.mustDo(b.r.Register(s))
}

// fresh forgets the effects so far.
func (b *boot) fresh() { b.effects = nil }

// passed is what a watchdog does after a good first check of a clock.
func (b *boot) passed(name string) {
	b.r.SetReady(name)
	b.did(b.r.GrantHRES(name))
	if b.r.CanOneshot() {
		b.r.SetOneshot(true)
	}
	b.did(b.r.RunPending())
}

// condemned is a verdict of the watchdog, and all that follows from it.
func (b *boot) condemned(name string) {
	b.did(b.r.MarkUnstable(name))
	b.did(b.r.RunPending())
}

// qemu registers what QEMU's PC has, up to the end of fs_initcall.
func (b *boot) qemu(tscKHz uint32, beforeDone func()) {
	b.t.Helper()
	rules := b.r.Rules
	b.register(rules.RefinedJiffies(250))
	if b.jiffiesFirst {
		b.register(rules.Jiffies(250))
	}
	b.register(rules.HPET(100_000_000))
	if rules.HasTSCEarly {
		b.register(rules.TSCEarly(tscKHz), nil)
	} else {
		b.register(rules.TSC(tscKHz, false), nil)
	}
	if beforeDone != nil {
		beforeDone()
	}
	if !b.jiffiesFirst {
		b.register(rules.Jiffies(250))
	}
	b.did(b.r.BootDone())
}

func (b *boot) acpi() { b.t.Helper(); b.register(b.r.Rules.ACPIPM(), nil) }

// line is the text of an effect that a log shows, as far as this package knows it.
func line(r Rules, e Effect) string {
	prefix := ""
	if r.MessagePrefix {
		prefix = "clocksource: "
	}
	switch e.Kind {
	case EffectRegistered:
		if r.RegisterText != RegisterTextColon {
			return ""
		}
		return Conversion{MaxCycles: e.MaxCycles, MaxIdle: e.MaxIdle}.Line(e.Clock, e.Mask)
	case EffectSwitched:
		if r.SwitchText == SwitchSwitching {
			return prefix + "Switching to clocksource " + e.Clock
		}
		return prefix + "Switched to clocksource " + e.Clock
	case EffectOverrideRefused:
		return prefix + "Override clocksource " + e.Clock + " is unstable and not HRT compatible - cannot switch while in HRT/NOHZ mode"
	case EffectTSCMarked:
		if !r.MessagePrefix {
			return "Marking TSC unstable due to " + e.Reason
		}
		return "tsc: Marking TSC unstable due to " + e.Reason
	case EffectSchedStable:
		return "sched_clock: Marking stable"
	case EffectSchedUnstable:
		return "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.\nsched_clock: Marking unstable"
	case EffectVerifyNeeded:
		return prefix + "Checking clocksource " + e.Clock + " synchronization"
	}
	return ""
}

func (b *boot) text() string {
	var lines []string
	for _, e := range Visible(b.effects) {
		if l := line(b.r.Rules, e); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// logged returns the lines of a section without what the registry does not
// know: the numbers of sched_clock and the CPUs of the cross-CPU check.
func logged(t *testing.T, name string) string {
	t.Helper()
	a, err := txtar.ParseFile("testdata/sequences.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		if f.Name != name {
			continue
		}
		var out strings.Builder
		for l := range strings.Lines(string(f.Data)) {
			l = strings.TrimSuffix(l, "\n")
			for _, cut := range []string{" (", " from CPU"} {
				if strings.HasPrefix(l, "sched_clock") || strings.Contains(l, "Checking") {
					l, _, _ = strings.Cut(l, cut)
				}
			}
			out.WriteString(l + "\n")
		}
		return out.String()
	}
	t.Fatalf("testdata/sequences.txtar has no section %s", name)
	return ""
}

func TestBootsOfRealKernelsComeOutLineByLine(t *testing.T) {
	rateError := func(b *boot) {
		b.qemu(2_415_000, nil)
		b.passed("tsc-early")
		b.acpi()
		b.did(b.r.LateInit())
		b.mustDo(b.r.ReplaceTSC(b.r.Rules.TSC(2_415_000, false)))
		b.condemned("tsc")
	}
	late := func(b *boot) { // only the part from the verdict on was posted
		b.qemu(2_300_000, nil)
		b.passed("tsc-early")
		b.acpi()
		b.did(b.r.LateInit())
		b.mustDo(b.r.ReplaceTSC(b.r.Rules.TSC(2_300_000, true)))
		b.fresh()
		b.condemned("tsc")
	}
	tests := []struct {
		section string
		rules   Rules
		play    func(b *boot)
	}{
		{"5.10-rate-error", RulesAt(5, 10, 223), rateError},
		{"6.1-rate-error", RulesAt(6, 1, 192), rateError},
		{"5.10-before-boot-done", RulesAt(5, 10, 223), func(b *boot) {
			b.qemu(2_297_882, func() { b.condemned("tsc-early") })
			b.acpi()
			b.did(b.r.LateInit())
			b.mustDo(b.r.ReplaceTSC(b.r.Rules.TSC(2_297_882, false)))
		}},
		{"5.10-early", RulesAt(5, 10, 223), func(b *boot) {
			b.qemu(2_297_789, nil)
			b.passed("tsc-early")
			b.acpi()
			b.condemned("tsc-early")
			b.did(b.r.LateInit())
			b.mustDo(b.r.ReplaceTSC(b.r.Rules.TSC(2_299_998, false)))
		}},
		{"7.0-early", RulesAt(7, 0, 13), func(b *boot) {
			b.qemu(2_415_000, nil)
			b.condemned("tsc-early")
			b.acpi()
			b.did(b.r.LateInit())
		}},
		{"6.12-late", RulesAt(6, 12, 117), func(b *boot) {
			b.jiffiesFirst = true
			b.qemu(2_297_693, nil)
			b.passed("tsc-early")
			b.acpi()
			b.mustDo(b.r.ReplaceTSC(b.r.Rules.TSC(2_299_974, false)))
			b.did(b.r.LateInit())
			b.condemned("tsc")
		}},
		{"7.3-healthy", RulesAt(7, 3, 4), func(b *boot) {
			b.jiffiesFirst = true
			b.qemu(2_296_080, nil)
			b.passed("tsc-early")
			b.acpi()
			b.did(b.r.LateInit())
			b.mustDo(b.r.ReplaceTSC(b.r.Rules.TSC(2_299_998, true)))
		}},
		{"7.3-late", RulesAt(7, 3, 4), late},
		{"5.15-late", RulesAt(5, 15, 0), late},
		{"5.15-early", RulesAt(5, 15, 0), func(b *boot) {
			b.qemu(3_500_000, nil)
			b.fresh()
			b.condemned("tsc-early")
		}},
		{"6.x-wish", RulesAt(6, 8, 0), func(b *boot) {
			b.r.SetOverride("tsc")
			late(b)
		}},
		{"4.x-laptop", RulesAt(4, 4, 0), func(b *boot) {
			rules := b.r.Rules
			b.register(rules.RefinedJiffies(250))
			b.register(rules.Jiffies(250))
			b.did(b.r.BootDone())
			b.acpi()
			b.did(b.r.LateInit())
			b.register(rules.TSC(2_394_000, true), nil)
			b.passed("tsc")
			b.fresh()
			b.condemned("tsc")
		}},
		{"2.6-idle", RulesAt(2, 6, 35), func(b *boot) {
			rules := b.r.Rules
			b.register(rules.Jiffies(250))
			b.register(rules.HPET(14_318_180))
			b.register(rules.TSC(2_000_000, false), nil)
			b.did(b.r.BootDone())
			b.fresh()
			b.did(b.r.MarkTSCUnstable("TSC halts in idle"))
			b.did(b.r.RunPending())
		}},
		{"s390", RulesAt(6, 4, 0), func(b *boot) {
			b.r.Sched.Source = SchedNone
			b.register(b.r.Rules.TOD(), nil)
			b.register(b.r.Rules.Jiffies(100))
			b.did(b.r.BootDone())
			b.did(b.r.LateInit())
		}},
	}
	for _, tt := range tests {
		t.Run(tt.section, func(t *testing.T) {
			b := startBoot(t, tt.rules)
			tt.play(b)
			if diff := cmp.Diff(logged(t, tt.section), b.text()); diff != "" {
				t.Errorf("lines (-kernel +registry):\n%s", diff)
			}
		})
	}
}

// steps are effects in short: what happened to which clock.
func steps(effects []Effect) []string {
	var out []string
	for _, e := range effects {
		s := string(e.Kind)
		if e.Clock != "" {
			s += " " + e.Clock
		}
		if e.Other != "" {
			s += " from " + e.Other
		}
		out = append(out, s)
	}
	return out
}

func TestEverythingThatFollowsFromAVerdictComesInTheKernelsOrder(t *testing.T) {
	tests := []struct {
		name    string
		rules   Rules
		prepare func(b *boot)
		clock   string
		want    []string
	}{
		{"sequence A: tsc at 13.7 s, 5.15", RulesAt(5, 15, 0), func(b *boot) {
			b.passed("tsc-early")
			b.did(b.r.LateInit())
			b.mustDo(b.r.ReplaceTSC(b.r.Rules.TSC(3_500_000, true)))
		}, "tsc", []string{
			"marked-unstable tsc", "sched-clock-needed", "tsc-marked tsc", "thread-needed",
			"sched-clock-unstable",
			"verify-needed tsc", "unwatched tsc", "rating-changed tsc", "timer-stopped", "tick-notified", "switched hpet from tsc",
		}},
		{"sequence B: tsc-early at 3.4 s, before late_initcall, 5.15", RulesAt(5, 15, 0), func(*boot) {}, "tsc-early", []string{
			"marked-unstable tsc-early", "tsc-marked tsc", "thread-needed",
			"unwatched tsc-early", "rating-changed tsc-early", "timer-stopped", "tick-notified", "switched hpet from tsc-early",
		}},
		{"sequence C: tsc, 7.1", RulesAt(7, 1, 0), func(b *boot) {
			b.passed("tsc-early")
			b.did(b.r.LateInit())
			b.mustDo(b.r.ReplaceTSC(b.r.Rules.TSC(3_500_000, true)))
		}, "tsc", []string{
			"marked-unstable tsc", "sched-clock-needed", "tsc-marked tsc", "thread-needed",
			"sched-clock-unstable",
			"unwatched tsc", "rating-changed tsc", "timer-stopped", "tick-notified", "switched hpet from tsc",
		}},
		{"a guest whose sched_clock is the hypervisor's: no word of it", RulesAt(6, 1, 0), func(b *boot) {
			b.r.Sched.Source = SchedParavirtual
			b.did(b.r.LateInit())
			b.mustDo(b.r.ReplaceTSC(b.r.Rules.TSC(3_500_000, true)))
		}, "tsc", []string{
			"marked-unstable tsc", "tsc-marked tsc", "thread-needed",
			"verify-needed tsc", "unwatched tsc", "rating-changed tsc", "timer-stopped", "tick-notified", "switched hpet from tsc",
		}},
		{"a wish for the condemned clock is refused between the check and the switch", RulesAt(6, 8, 0), func(b *boot) {
			b.r.SetOverride("tsc")
			b.passed("tsc-early")
			b.mustDo(b.r.ReplaceTSC(b.r.Rules.TSC(3_500_000, true)))
		}, "tsc", []string{
			"marked-unstable tsc", "tsc-marked tsc", "thread-needed",
			"verify-needed tsc", "unwatched tsc", "rating-changed tsc", "timer-stopped", "override-refused tsc", "tick-notified", "switched hpet from tsc",
		}},
		{"a watched clock that is not current: the current one stays", RulesAt(6, 1, 0), func(b *boot) {
			b.r.SetOverride("hpet")
			b.did(b.r.SelectBest())
		}, "tsc-early", []string{
			"marked-unstable tsc-early", "tsc-marked tsc", "thread-needed",
			"unwatched tsc-early", "rating-changed tsc-early", "timer-stopped",
		}},
		{"4.4: the driver is not told", RulesAt(4, 4, 0), func(*boot) {}, "tsc", []string{
			"marked-unstable tsc", "thread-needed",
			"unwatched tsc", "rating-changed tsc", "timer-stopped", "tick-notified", "switched hpet from tsc",
		}},
		{"2.6.24: the rating drops at once, without a thread", RulesAt(2, 6, 24), func(*boot) {}, "tsc", []string{
			"marked-unstable tsc", "rating-changed tsc", "unwatched tsc", "timer-stopped",
			"switched hpet from tsc", "tick-notified",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := startBoot(t, tt.rules)
			b.qemu(3_500_000, nil)
			tt.prepare(b)
			if tt.clock != b.r.Current && b.r.Override == "" {
				t.Fatalf("%s is current, want %s", b.r.Current, tt.clock)
			}
			b.fresh()
			b.condemned(tt.clock)
			if diff := cmp.Diff(tt.want, steps(b.effects)); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			if again := b.r.MarkUnstable(tt.clock); again != nil {
				t.Errorf("a second verdict did %v", steps(again))
			}
		})
	}
}
