package cli

import (
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

func TestWhatFollowsAVerdictIsThatOfTheErasRelease(t *testing.T) {
	pc := machine.Snapshot{Arch: "x86_64", Clocksource: machine.Clocksource{Current: "tsc", Available: []string{"tsc", "hpet", "acpi_pm"}}}
	onHPET, guest := pc, pc
	onHPET.Clocksource.Current = "hpet"
	guest.Clocksource.Current, guest.Clocksource.Available, guest.Hypervisor.Name = "kvm-clock", []string{"kvm-clock", "tsc", "acpi_pm"}, "kvm"
	const (
		marking  = "tsc: Marking TSC unstable due to clocksource watchdog"
		broken   = "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'."
		switched = "clocksource: Switched to clocksource hpet"
	)
	for _, c := range []struct {
		name     string
		era      watchdog.Era
		release  string
		snapshot *machine.Snapshot
		want     []string
	}{
		{"6.1 falls back to the HPET", watchdog.E6, "6.1.0", &pc, []string{marking, broken, switched}},
		{"so does an era that is named by its id", watchdog.E6, "", &pc, []string{marking, broken, switched}},
		{"7.1 does not tell otherwise", watchdog.E12, "7.1.0", &pc, []string{marking, broken, switched}},
		{"2.6.32 has other words and no driver that is told", watchdog.E0, "2.6.32", &pc, []string{"Switching to clocksource hpet"}},
		{"a machine on the HPET stays on it", watchdog.E6, "6.1.0", &onHPET, []string{marking, broken}},
		{"a guest on the hypervisor's clock loses nothing", watchdog.E6, "6.1.0", &guest, []string{marking}},
	} {
		p, ok := watchdog.ProfileOf(c.era)
		if !ok {
			t.Fatal(c.era)
		}
		tsc, err := clocksource.Register(2_000_000, clocksource.ScaleKHz, clocksource.Mask64)
		if err != nil {
			t.Fatal(err)
		}
		setup := watchdog.Setup{Profile: p, HZ: 250, Current: c.snapshot.Clocksource.Current,
			Reference: watchdog.Clock{Name: "hpet", Mask: clocksource.Mask32},
			Watched:   []watchdog.Clock{{Name: "tsc", Mask: clocksource.Mask64, Conversion: tsc, Continuous: true}}}
		k := newKernelText(setup, c.release, 250, c.snapshot)
		var got []string
		for _, l := range k.after(&live.Tick{}) {
			got = append(got, l.Text)
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		if again := k.after(&live.Tick{}); len(again) > 0 {
			t.Errorf("%s: a second verdict is followed by %v", c.name, again)
		}
	}
}

func TestWhetherAKernelWouldWatchIsAskedOfTheEra(t *testing.T) {
	exempt := machine.Snapshot{Arch: "x86_64", CommandLine: "quiet", CPU: machine.CPU{
		Flags: []string{"constant_tsc", "nonstop_tsc", "tsc_adjust"}, Nodes: 1, Packages: 1}}
	for _, c := range []struct {
		era, release string
		want         machine.Answer
	}{{"E4", "5.4.0", machine.Yes}, {"E12", "7.1.0", machine.No}, {"E5", "", machine.Unknown}} {
		p, _ := watchdog.ProfileOf(watchdog.Era(c.era))
		if g := tscWatched(c.era, chosenEra{profile: p, release: c.release}, &exempt); g.answer != c.want || g.why == "" {
			t.Errorf("era %s, release %q: %s (%s), want %s", c.era, c.release, g.answer, g.why, c.want)
		}
	}
}
