package cli

import (
	"strings"
	"testing"

	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// TestAReleaseBehindTheNewestThatWasReadIsRunWithADoubt: there is one era, and
// still the watch says that it is a guess.
func TestAReleaseBehindTheNewestThatWasReadIsRunWithADoubt(t *testing.T) {
	f := watchFlags{retries: -1}
	got, err := f.chooseEra(&machine.Snapshot{Kernel: machine.Kernel{Release: "7.4.1"}})
	if err != nil || got.profile.Era != watchdog.E12 || !strings.Contains(got.doubt, "guess") || len(got.notes) != 1 {
		t.Errorf("runs %s, doubt %q, notes %q, error %v", got.profile.Era, got.doubt, got.notes, err)
	}
}

// TestAWatchRunsTheNewestEraThatTheKernelMayHave: what a vendor may have taken
// in decides, not where a variant stands in the list of eras.
func TestAWatchRunsTheNewestEraThatTheKernelMayHave(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kernel machine.Kernel
		want   watchdog.Era
	}{
		{"RHEL 8", machine.Kernel{Release: "4.18.0-553.el8_10.x86_64", Distro: "rhel"}, watchdog.E7},
		{"RHEL 9", machine.Kernel{Release: "5.14.0-427.13.1.el9_4.x86_64", Distro: "rhel"}, watchdog.E11},
		{"SLES 15 SP5", machine.Kernel{Release: "5.14.21-150500.55.83-default", Distro: "sles"}, watchdog.E9},
		{"Ubuntu 22.04 without its signature", machine.Kernel{Release: "5.15.0-91-generic", Distro: "ubuntu"}, watchdog.LTS515224},
		{"Debian 12 without its banner", machine.Kernel{Release: "6.1.0-57-amd64", Distro: "debian"}, watchdog.LTS61192},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := watchFlags{retries: -1}
			got, err := f.chooseEra(&machine.Snapshot{Kernel: tt.kernel})
			if err != nil {
				t.Fatal(err)
			}
			if got.profile.Era != tt.want || !strings.Contains(got.doubt, "the newest, "+string(tt.want)+", is run") {
				t.Errorf("runs %s, doubt %q; want %s", got.profile.Era, got.doubt, tt.want)
			}
		})
	}
}
