package watchdog

import (
	"strings"
	"testing"

	"github.com/cswatch/cswatch/machine"
)

func TestTSCWatched(t *testing.T) {
	good := []string{"tsc", "constant_tsc", "nonstop_tsc", "tsc_adjust"}
	amd := []string{"tsc", "constant_tsc", "nonstop_tsc"}
	quiet := TSCFacts{Arch: "x86_64", Flags: good, Nodes: 1, Packages: 1, CommandLineKnown: true}
	with := func(change func(*TSCFacts)) TSCFacts {
		f := quiet
		change(&f)
		return f
	}
	line := func(s string) TSCFacts { return with(func(f *TSCFacts) { f.CommandLine = s }) }
	nodes := func(n, p int) TSCFacts { return with(func(f *TSCFacts) { f.Nodes, f.Packages = n, p }) }
	tests := []struct {
		name    string
		release string // "" for a kernel that nothing names
		facts   TSCFacts
		want    machine.Answer
		why     string
	}{
		{"before the exemption every TSC is watched", "5.15.6", quiet, machine.Yes, "before 5.16"},
		{"5.15.7 exempts a qualified TSC on two nodes", "5.15.7", nodes(2, 2), machine.No, "up to 2"},
		{"5.10.83 does not", "5.10.83", quiet, machine.Yes, "before 5.16"},
		{"5.10.84 does", "5.10.84", quiet, machine.No, "up to 2"},
		{"three nodes are too many for 6.1", "6.1.192", nodes(3, 3), machine.Yes, "only up to 2"},
		{"which rule a 5.15 in between has is not known on four nodes", "5.15.100", nodes(4, 4), machine.Unknown, "not known"},
		{"5.15.224 allows four nodes", "5.15.224", nodes(4, 4), machine.No, "up to 4 online NUMA nodes"},
		{"6.8 allows four nodes", "6.8", nodes(4, 8), machine.No, "up to 4 online NUMA nodes"},
		{"6.12 counts packages", "6.12", nodes(16, 4), machine.No, "up to 4 packages"},
		{"six packages are too many", "6.12", nodes(2, 6), machine.Yes, "only up to 4 packages"},
		{"packages unknown", "6.12", nodes(1, 0), machine.Unknown, "could not be read"},
		{"AMD without TSC_ADJUST is watched", "6.17.12", with(func(f *TSCFacts) { f.Flags = amd }), machine.Yes, "lacks tsc_adjust"},
		{"flags unknown", "6.17.12", with(func(f *TSCFacts) { f.Flags = nil }), machine.Unknown, "flags could not be read"},
		{"flags unknown but no rule yet", "5.14", with(func(f *TSCFacts) { f.Flags = nil }), machine.Yes, "before 5.16"},
		{"tsc=nowatchdog", "5.15", line("ro tsc=nowatchdog quiet"), machine.No, "tsc=nowatchdog"},
		{"tsc=nowatchdog before it existed", "4.15", line("tsc=nowatchdog"), machine.Yes, "before 5.16"},
		{"tsc=reliable", "4.4", line("tsc=reliable"), machine.No, "tsc=reliable"},
		{"tsc=unstable", "5.15", line("tsc=unstable"), machine.No, "tsc=unstable"},
		{"notsc", "5.15", line("notsc"), machine.No, "notsc"},
		{"an option after -- belongs to init", "5.15", line("quiet -- tsc=reliable"), machine.Yes, "before 5.16"},
		{"tsc=watchdog overrides the rule from 7.1 on", "7.3.4", line("tsc=watchdog"), machine.Yes, "tsc=watchdog"},
		{"tsc=watchdog overrides reliable from 7.1 on", "7.3.4", line("tsc=reliable tsc=watchdog"), machine.Yes, "tsc=watchdog"},
		{"the last one wins from 7.1 on", "7.3.4", line("tsc=watchdog tsc=nowatchdog"), machine.No, "tsc=nowatchdog"},
		{"nowatchdog first", "7.3.4", line("tsc=nowatchdog tsc=watchdog"), machine.Yes, "tsc=watchdog"},
		{"tsc=watchdog of 6.5 makes the TSC the watchdog and leaves it exempt", "6.5", line("tsc=watchdog"), machine.No, "up to 2"},
		{"the flag tsc_reliable", "5.14", with(func(f *TSCFacts) { f.Flags = []string{"tsc", "tsc_reliable"} }), machine.No, "tsc_reliable"},
		{"command line unknown", "5.14", with(func(f *TSCFacts) { f.CommandLineKnown = false }), machine.Unknown, "command line"},
		{"command line unknown but exempt, and nothing could force the watchdog", "6.1.192", with(func(f *TSCFacts) { f.CommandLineKnown = false }), machine.No, "up to 2"},
		{"command line unknown where tsc=watchdog may be on it", "7.3.4", with(func(f *TSCFacts) { f.CommandLineKnown = false }), machine.Unknown, "command line"},
		{"another architecture", "6.1", TSCFacts{Arch: "aarch64"}, machine.No, "aarch64"},
		{"nothing known of the kernel", "", quiet, machine.Unknown, "not known"},
		{"nothing known, flags lacking", "", with(func(f *TSCFacts) { f.Flags = amd }), machine.Yes, "lacks tsc_adjust"},
		{"nothing known, tsc=watchdog", "", line("tsc=watchdog"), machine.Unknown, "7.1"},
		{"nothing known at all", "", TSCFacts{}, machine.Unknown, "command line"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var candidates []Candidate
			if tt.release != "" {
				candidates = EraOf(release(tt.release))
			}
			got, why := TSCWatched(candidates, tt.facts)
			if got != tt.want || !strings.Contains(why, tt.why) {
				t.Errorf("%s because %q, want %s with %q", got, why, tt.want, tt.why)
			}
		})
	}
}

func TestLatencyCanCondemn(t *testing.T) {
	watched := TSCFacts{Arch: "x86_64", Flags: []string{"constant_tsc", "nonstop_tsc"}, Nodes: 1, Packages: 1, CommandLineKnown: true}
	exempt := watched
	exempt.Flags = append(exempt.Flags, "tsc_adjust")
	tests := []struct {
		name  string
		id    Identity
		facts TSCFacts
		want  machine.Answer
		why   string
	}{
		{"E5 and watched", Identity{Release: "5.15"}, watched, machine.Yes, "latency alone in era E5, and"},
		{"E4 and watched", Identity{Release: "5.10.49"}, watched, machine.No, "era E4"},
		{"E12 and watched", Identity{Release: "7.3.4"}, watched, machine.No, "era E12"},
		{"E11 and exempt", Identity{Release: "7.0"}, exempt, machine.No, "not watched"},
		{"7.1 may still be E11", Identity{Release: "7.1"}, watched, machine.Unknown, "may have either"},
		{"several eras that all condemn", Identity{Release: "6.1.0-57-amd64"}, watched, machine.Yes, "LTS-6.1.192, and"},
		{"the hidden release of Debian does not matter for the exemption", Identity{Release: "6.1.0-57-amd64"}, exempt, machine.No, "not watched"},
		{"RHEL 8 may be of either kind", Identity{Release: "4.18.0-553.el8_10.x86_64"}, watched, machine.Unknown, "may have either"},
		{"RHEL 9, whose exemption is not known", Identity{Release: "5.14.0-427.el9.x86_64"}, exempt, machine.Unknown, "not known"},
		{"nothing known", Identity{}, watched, machine.Unknown, "not known"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, why := LatencyCanCondemn(Detect(tt.id).Candidates, tt.facts)
			if got != tt.want || !strings.Contains(why, tt.why) {
				t.Errorf("%s because %q, want %s with %q", got, why, tt.want, tt.why)
			}
		})
	}
}
