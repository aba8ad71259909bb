package clocksource

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRulesChangeAtTheReleasesThatBroughtThem(t *testing.T) {
	type at [3]int
	flag := func(get func(Rules) bool) func(Rules) any { return func(r Rules) any { return get(r) } }
	tests := []struct {
		name        string
		before, now at
		get         func(Rules) any
		was, is     any
	}{
		{"condemning through a thread", at{2, 6, 30}, at{2, 6, 31}, flag(func(r Rules) bool { return r.RatingAtOnce }), true, false},
		{"filter of the available clocks", at{2, 6, 30}, at{2, 6, 31}, flag(func(r Rules) bool { return r.AvailableFilter }), false, true},
		{"the blank behind the current clock", at{2, 6, 30}, at{2, 6, 31}, flag(func(r Rules) bool { return r.CurrentBlank }), true, false},
		{"wishes are refused", at{2, 6, 30}, at{2, 6, 31}, func(r Rules) any { return r.Override }, OverrideAlways, OverrideOnce},
		{"maxadj", at{3, 1, 0}, at{3, 2, 0}, flag(func(r Rules) bool { return r.NoMaxAdj }), true, false},
		{"switched", at{3, 9, 0}, at{3, 10, 0}, func(r Rules) any { return r.SwitchText }, SwitchSwitching, SwitchSwitched},
		{"the filter of selection", at{3, 10, 0}, at{3, 11, 0}, flag(func(r Rules) bool { return r.FilterHRES }), false, true},
		{"unbind", at{3, 10, 0}, at{3, 11, 0}, flag(func(r Rules) bool { return r.UnbindFile }), false, true},
		{"limits", at{4, 0, 9}, at{4, 1, 0}, flag(func(r Rules) bool { return r.IdleBefore41 }), true, false},
		{"registration line", at{4, 0, 0}, at{4, 1, 0}, func(r Rules) any { return r.RegisterText }, RegisterTextNone, RegisterTextBare},
		{"its colon", at{4, 1, 0}, at{4, 2, 0}, func(r Rules) any { return r.RegisterText }, RegisterTextBare, RegisterTextColon},
		{"prefix", at{4, 1, 0}, at{4, 2, 0}, flag(func(r Rules) bool { return r.MessagePrefix }), false, true},
		{"refusal", at{4, 1, 0}, at{4, 2, 0}, func(r Rules) any { return r.OverrideText }, OverrideTextSentence, OverrideTextDash},
		{"callback", at{4, 12, 0}, at{4, 13, 0}, flag(func(r Rules) bool { return r.TSCCallback }), false, true},
		{"sched_clock", at{4, 12, 0}, at{4, 13, 0}, flag(func(r Rules) bool { return r.SchedClock }), false, true},
		{"two ways of refusal", at{4, 14, 300}, at{4, 15, 0}, func(r Rules) any { return r.Override }, OverrideOnce, OverrideTwoWay},
		{"tsc-early", at{4, 15, 0}, at{4, 16, 0}, flag(func(r Rules) bool { return r.HasTSCEarly }), false, true},
		{"unregistered clocks", at{4, 17, 0}, at{4, 18, 0}, flag(func(r Rules) bool { return r.UnregisteredDemoted }), false, true},
		{"cross-CPU check of 5.10", at{5, 10, 49}, at{5, 10, 50}, flag(func(r Rules) bool { return r.VerifyPerCPU }), false, true},
		{"margins of 5.10", at{5, 10, 93}, at{5, 10, 94}, func(r Rules) any { return r.MaxSkew }, Nanos(0), 100 * Microsecond},
		{"no cross-CPU check in 5.11", at{5, 10, 99}, at{5, 11, 99}, flag(func(r Rules) bool { return r.VerifyPerCPU }), true, false},
		{"margins", at{5, 13, 0}, at{5, 14, 0}, func(r Rules) any { return r.MaxSkew }, Nanos(0), 50 * Microsecond},
		{"margins of 5.15", at{5, 15, 16}, at{5, 15, 17}, func(r Rules) any { return r.MaxSkew }, 50 * Microsecond, 100 * Microsecond},
		{"margins of 5.17", at{5, 16, 0}, at{5, 17, 0}, func(r Rules) any { return r.MaxSkew }, 50 * Microsecond, 100 * Microsecond},
		{"margins of 6.3", at{6, 1, 192}, at{6, 3, 0}, func(r Rules) any { return r.MaxSkew }, 100 * Microsecond, 125 * Microsecond},
		{"no margins", at{7, 0, 99}, at{7, 1, 0}, func(r Rules) any { return r.MaxSkew }, 125 * Microsecond, Nanos(0)},
		{"no cross-CPU check", at{7, 0, 0}, at{7, 1, 0}, flag(func(r Rules) bool { return r.VerifyPerCPU }), true, false},
		{"references that tick", at{7, 0, 0}, at{7, 1, 0}, flag(func(r Rules) bool { return r.ContinuousReference }), false, true},
		{"a timer without a reference", at{7, 0, 0}, at{7, 1, 0}, flag(func(r Rules) bool { return r.RunsWithoutReference }), false, true},
		{"tsc is fit", at{7, 0, 0}, at{7, 1, 0}, flag(func(r Rules) bool { return r.TSCValidForHRES }), true, false},
		{"tsc inherits", at{7, 0, 0}, at{7, 1, 0}, flag(func(r Rules) bool { return r.TSCInheritsHRES }), false, true},
		{"calibrated clocks", at{7, 0, 0}, at{7, 1, 0}, flag(func(r Rules) bool { return r.CalibratedFlag }), false, true},
		{"test clocks", at{7, 0, 0}, at{7, 1, 0}, flag(func(r Rules) bool { return r.TestFlag }), false, true},
	}
	for _, tt := range tests {
		before, now := RulesAt(tt.before[0], tt.before[1], tt.before[2]), RulesAt(tt.now[0], tt.now[1], tt.now[2])
		if was, is := tt.get(before), tt.get(now); was != tt.was || is != tt.is {
			t.Errorf("%s: %v in %s and %v in %s, want %v and %v", tt.name, was, before.Release, is, now.Release, tt.was, tt.is)
		}
	}
}

func TestRulesSurviveJSON(t *testing.T) {
	for _, want := range []Rules{RulesAt(2, 6, 24), RulesAt(5, 15, 224), RulesAt(7, 3, 4)} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Rules
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			t.Errorf("%s after JSON: %s, %v", want.Release, cmp.Diff(want, got), err)
		}
	}
}

func TestEveryEffectIsListedOnceAndTheVisibleOnesFirst(t *testing.T) {
	seen := map[EffectKind]bool{}
	hidden := false
	for _, k := range EffectKinds() {
		if seen[k] || k == "" {
			t.Errorf("%q is listed twice or empty", k)
		}
		seen[k] = true
		if k.Visible() && hidden {
			t.Errorf("%q is visible and stands behind one that is not", k)
		}
		hidden = hidden || !k.Visible()
	}
}
