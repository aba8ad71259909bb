package watchdog

import (
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/machine"
)

func TestTimersWatched(t *testing.T) {
	good := TSCFacts{Arch: "x86_64", Flags: []string{"constant_tsc", "nonstop_tsc", "tsc_adjust"}, Nodes: 1, Packages: 1, CommandLineKnown: true}
	line := func(s string) TSCFacts { f := good; f.CommandLine = s; return f }
	amd := line("tsc=watchdog")
	amd.Flags = []string{"constant_tsc", "nonstop_tsc"}
	unread := good
	unread.CommandLineKnown = false
	blind := line("tsc=watchdog")
	blind.Flags = nil
	for _, tt := range []struct {
		name, release string
		facts         TSCFacts
		want          machine.Answer
		why           string
	}{
		{"nothing is asked for", "6.5", good, machine.No, "without tsc=watchdog"},
		{"an exempt TSC watches", "6.5", line("tsc=watchdog"), machine.Yes, "up to 2"},
		{"6.4 is the first series with a certain era", "6.4", line("tsc=watchdog"), machine.Yes, "HPET and the PM timer"},
		{"7.0 is the last", "7.0", line("tsc=watchdog"), machine.Yes, "packages"},
		{"6.2 has no such option", "6.2", line("tsc=watchdog"), machine.No, "6.3 to 7.0"},
		{"7.2 means something else by it", "7.2.13", line("tsc=watchdog"), machine.No, "6.3 to 7.0"},
		{"a TSC that is watched itself watches nobody", "6.5", amd, machine.No, "tsc_adjust"},
		{"... unless it is declared reliable", "6.5", TSCFacts{Arch: "x86_64", Flags: amd.Flags, CommandLine: "tsc=watchdog tsc=reliable", CommandLineKnown: true}, machine.Yes, "tsc=reliable"},
		{"nowatchdog wins before it", "6.5", line("tsc=nowatchdog tsc=watchdog"), machine.No, "tsc=nowatchdog"},
		{"nowatchdog wins behind it", "6.5", line("tsc=watchdog tsc=nowatchdog"), machine.No, "tsc=nowatchdog"},
		{"an unstable TSC watches nobody", "6.5", line("tsc=watchdog tsc=unstable"), machine.No, "given up"},
		{"nor does one that is not used", "6.5", line("tsc=watchdog notsc"), machine.No, "given up"},
		{"flags unknown", "6.5", blind, machine.Unknown, "flags could not be read"},
		{"command line unknown", "6.5", unread, machine.Unknown, "command line"},
		{"kernel unknown", "", line("tsc=watchdog"), machine.Unknown, "kernel is not known"},
		{"another architecture", "6.5", TSCFacts{Arch: "aarch64"}, machine.No, "aarch64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var candidates []Candidate
			if tt.release != "" {
				candidates = EraOf(release(tt.release))
			}
			got, why := TimersWatched(candidates, tt.facts)
			if got != tt.want || !strings.Contains(why, tt.why) {
				t.Errorf("%s because %q, want %s with %q", got, why, tt.want, tt.why)
			}
		})
	}
}

// TestATSCCatchesATimerThatStops: under tsc=watchdog of 6.5 the HPET is the
// watched clock and the TSC its reference.
func TestATSCCatchesATimerThatStops(t *testing.T) {
	setup := setupFor(t, mustProfile(t, E7), "tsc")
	tsc := setup.Watched[0]
	setup.Watched[0], setup.Reference = setup.Reference, tsc
	setup.Watched[0].VerifyPerCPU, setup.Current = false, "tsc"
	r := newRun(t, setup, 8)
	r.m.reference, r.m.refMask, r.m.clock = tscHz, clocksource.Mask64, hpetHz
	for i, want := range []Kind{Initialised, Agreed, Agreed} {
		if v := r.tick(0); v.Kind != want || v.SkewLimit != 0 && v.SkewLimit != 500*us {
			t.Fatalf("check %d: %s with limit %d, want %s", i+1, v.Kind, v.SkewLimit, want)
		}
	}
	r.m.offset -= hpetHz / 1000 // it stood still for 1 ms
	v := r.tick(0)
	if v.Kind != CondemnedSkew || (v.Skew+ms).Abs() > us {
		t.Errorf("%s with a skew of %d ns, want condemned for 1 ms too little", v.Kind, v.Skew)
	}
	if w := r.w.VerifyFrom(0, 0, r.online, VerifyPlan{}, r.m); w.Started {
		t.Error("the CPUs of the HPET were compared")
	}
}
