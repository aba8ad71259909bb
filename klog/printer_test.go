package klog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/watchdog"
)

func allProfiles(t testing.TB) []watchdog.Profile {
	t.Helper()
	all := watchdog.Profiles()
	// Details that changed within an era, and the designs that were never merged.
	for _, at := range [...]struct {
		era     watchdog.Era
		release string
	}{{watchdog.E3, "4.1.52"}, {watchdog.E7, "6.7"}, {watchdog.E9, "6.9"}, {watchdog.E10, "6.12.35"}, {watchdog.E10, "6.17"}, {watchdog.E12, "7.3.4"}} {
		r, err := watchdog.ParseRelease(at.release)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := watchdog.ProfileAt(at.era, r)
		if !ok {
			t.Fatalf("no era %s", at.era)
		}
		all = append(all, p)
	}
	for _, e := range watchdog.Designs() {
		p, ok := watchdog.ProfileOf(e)
		if !ok {
			t.Fatalf("no design %s", e)
		}
		all = append(all, p)
	}
	return all
}

// generated is a setup of the era and a verdict that it could come to.
func generated(rng *rand.Rand, p watchdog.Profile) (watchdog.Setup, watchdog.Verdict) {
	names := []string{"tsc", "tsc-early", "hpet", "acpi_pm", "kvm-clock", "wdtest-ktime"}
	pick := func() string { return names[rng.IntN(len(names))] }
	masks := []clocksource.Mask{clocksource.Mask24, clocksource.Mask32, clocksource.Mask56, clocksource.Mask64}
	s := watchdog.Setup{
		Profile:   p,
		Reference: watchdog.Clock{Name: pick(), Mask: masks[rng.IntN(4)]},
		Watched:   []watchdog.Clock{{Name: pick(), Mask: masks[rng.IntN(4)]}},
		Current:   []string{"", pick(), pick()}[rng.IntN(3)],
	}
	if rng.IntN(2) == 0 {
		s.Current = s.Watched[0].Name
	}
	span := func() clocksource.Nanos {
		n := clocksource.Nanos(rng.Int64N(1 << rng.IntN(62)))
		if rng.IntN(8) == 0 {
			return 0
		}
		return n
	}
	interval := func() watchdog.Interval {
		return watchdog.Interval{NS: span(), Last: clocksource.Cycles(rng.Uint64() >> rng.IntN(64)), Now: clocksource.Cycles(rng.Uint64() >> rng.IntN(64))}
	}
	kinds := []watchdog.Kind{watchdog.Initialised, watchdog.Agreed, watchdog.Skipped, watchdog.TooLong, watchdog.CondemnedDelay, watchdog.CondemnedSkew}
	if p.Skew.Shift > 0 {
		kinds = []watchdog.Kind{watchdog.Agreed, watchdog.TimedOut, watchdog.RemoteTimedOut, watchdog.CondemnedSkew, watchdog.CondemnedCPUs, watchdog.NoReference}
	}
	if p.OnSlow == watchdog.ActCoarse {
		kinds = []watchdog.Kind{watchdog.Agreed, watchdog.Coarse, watchdog.CondemnedSkew}
	}
	v := watchdog.Verdict{
		Era: p.Era, Kind: kinds[rng.IntN(len(kinds))], CPU: rng.IntN(2000), Time: span(), Attempts: 1 + rng.IntN(60), Compared: true,
		Delay: span(), Sequence: span(), Watched: interval(), Reference: interval(),
		PeerCPU: rng.IntN(2000), EarlyCPU: rng.IntN(2000), LateCPU: rng.IntN(2000),
		Earlier: clocksource.Cycles(rng.Uint64()), Later: clocksource.Cycles(rng.Uint64()),
	}
	if v.Kind == watchdog.TooLong {
		v.Watched.NS |= 2 * clocksource.NanosPerSecond // else it would not be too long
	}
	v.Allowed = v.Attempts + rng.IntN(3)
	switch {
	case v.Kind == watchdog.Coarse:
		v.CoarseReads, v.Compared, v.SkewLimit = 1+rng.IntN(300), rng.IntN(2) == 0, 62_500*clocksource.Microsecond
	case v.Kind == watchdog.Skipped && p.Adapt == watchdog.AdaptSkip:
		v.MaxSkew = 2 * v.Sequence
	}
	v.Skew = v.Watched.NS - v.Reference.NS
	return s, v
}

// bare strips what a container adds to an event.
func bare(e event.Event) event.Event {
	e.Source, e.Time, e.Text, e.Level = event.Source{}, event.Time{}, "", event.Opt[int64]{}
	return e
}

// readLines parses lines as one log.
func readLines(lines []Line) []event.Event {
	var b strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&b, "[%5d.%06d] %s\n", 100+i/1000, i%1000, l.Text)
	}
	r := NewReader(strings.NewReader(b.String()), "printed")
	var out []event.Event
	for r.Next() {
		out = append(out, bare(r.Event()))
	}
	return out
}

// TestVerdictsSurviveTheirText holds the two properties of the message table
// for every era: what is printed reads back as what a log can show of the
// verdict, and printing that again gives the same bytes.
func TestVerdictsSurviveTheirText(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	printed := map[event.Kind]int{}
	for _, p := range allProfiles(t) {
		for range 400 {
			setup, v := generated(rng, p)
			visible := Visible(&v, &setup)
			lines := NewPrinter(setup).Verdict(&v)
			if len(lines) != len(visible) {
				t.Fatalf("%s: %d lines for %d events of a verdict %s", p.Era, len(lines), len(visible), v.Kind)
			}
			read := readLines(lines)
			if diff := cmp.Diff(visible, read); diff != "" && len(visible)+len(read) > 0 {
				t.Fatalf("%s, %s: (-visible +read):\n%s\n%v", p.Era, v.Kind, diff, lines)
			}
			again := NewPrinter(setup)
			for i := range read {
				printed[read[i].Kind]++
				l, ok := again.Event(&read[i])
				if !ok || l != lines[i] {
					t.Fatalf("%s: printed again %+v (%v), first %+v", p.Era, l, ok, lines[i])
				}
			}
		}
	}
	for _, k := range []event.Kind{event.DeltaVerdict, event.SkewVerdict, event.ReferenceInterval, event.SkewAmount, event.CurrentClock, event.DelayVerdict,
		event.Retried, event.BusyReference, event.TestSkipped, event.LongInterval, event.FrequencyVerdict, event.InterCPUVerdict, event.CPUOrder, event.ReadTimedOut, event.RemoteTimedOut, event.CoarseCheck, event.MaxSkewRaised} {
		if printed[k] == 0 {
			t.Errorf("no %s was printed: the test lost its subject", k)
		}
	}
}

// TestStampsAboveHalfOfTheirRangeHaveNoSign: the counter of a CPU that was set
// back below zero is close to 2^64, and kernels print it as it is.
func TestStampsAboveHalfOfTheirRangeHaveNoSign(t *testing.T) {
	p, _ := watchdog.ProfileOf(watchdog.E12)
	setup := watchdog.Setup{Profile: p, Reference: watchdog.Clock{Name: "hpet", Mask: clocksource.Mask32}, Watched: []watchdog.Clock{{Name: "tsc", Mask: clocksource.Mask64}}}
	v := watchdog.Verdict{Era: watchdog.E12, Kind: watchdog.CondemnedCPUs, Earlier: 18446744073709546616, Later: 18446744073709551615, EarlyCPU: 3, LateCPU: 0}
	lines := NewPrinter(setup).Verdict(&v)
	want := []Line{
		{Level: 4, Text: "clocksource: Marking clocksource tsc unstable due to inter CPU skew"},
		{Level: 4, Text: "clocksource: CPU3 18446744073709546616 < CPU0 18446744073709551615 (cycles)"},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Fatalf("(-want +printed):\n%s", diff)
	}
	read := readLines(lines)
	if diff := cmp.Diff(Visible(&v, &setup), read); diff != "" {
		t.Errorf("(-visible +read):\n%s", diff)
	}
	if len(read) != 2 || read[1].Stamp != event.Some[event.Hex](18446744073709546616) || read[1].Cut {
		t.Errorf("read back %+v", read)
	}
}

func TestVerificationsSurviveTheirText(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	some := func() []int {
		var cpus []int
		for c := range 12 {
			if rng.IntN(3) == 0 {
				cpus = append(cpus, c)
			}
		}
		return cpus
	}
	for _, p := range allProfiles(t) {
		for range 100 {
			setup, _ := generated(rng, p)
			v := watchdog.Verification{Started: true, CPU: rng.IntN(100), Checked: some(), Ahead: some(), Behind: some(), Min: 100, Max: 2000}
			visible := VisibleVerification(&v, &setup)
			if diff := cmp.Diff(visible, readLines(NewPrinter(setup).Verification(&v))); diff != "" {
				t.Fatalf("%s (-visible +read):\n%s", p.Era, diff)
			}
		}
	}
}

// TestLinesOfRealKernels holds the printer against lines that kernels of the
// era really printed, number for number.
func TestLinesOfRealKernels(t *testing.T) {
	setup := func(e watchdog.Era, release, clock, ref, now string, mask clocksource.Mask) watchdog.Setup {
		p, ok := watchdog.ProfileOf(e)
		if release != "" {
			r, err := watchdog.ParseRelease(release)
			if err != nil {
				t.Fatal(err)
			}
			p, ok = watchdog.ProfileAt(e, r)
		}
		if !ok {
			t.Fatalf("no era %s", e)
		}
		return watchdog.Setup{Profile: p, Reference: watchdog.Clock{Name: ref, Mask: mask}, Watched: []watchdog.Clock{{Name: clock, Mask: clocksource.Mask64}}, Current: now}
	}
	for _, c := range []struct {
		name  string
		setup watchdog.Setup
		v     watchdog.Verdict
		want  string
	}{
		{"5.15-rc on the RFC's machine", setup(watchdog.E5, "", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.CondemnedDelay, CPU: 6, Delay: 60666, Attempts: 4, Allowed: 4},
			"4 clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable\n"},
		{"a 960-CPU machine on 6.x", setup(watchdog.E7, "", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.CondemnedDelay, CPU: 227, Delay: 153560, Sequence: 11440, Attempts: 3, Allowed: 3},
			"4 clocksource: timekeeping watchdog on CPU227: wd-tsc-wd excessive read-back delay of 153560ns vs. limit of 125000ns, wd-wd read-back delay only 11440ns, attempt 3, marking tsc unstable\n"},
		{"6.12 prints a limit that is not in force", setup(watchdog.E10, "", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.CondemnedDelay, Delay: 1291830, Sequence: 440, Attempts: 2, Allowed: 2},
			"4 clocksource: timekeeping watchdog on CPU0: wd-tsc-wd excessive read-back delay of 1291830ns vs. limit of 125000ns, wd-wd read-back delay only 440ns, attempt 2, marking tsc unstable\n"},
		{"a step of the TSC on 6.12", setup(watchdog.E11, "6.12.117", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.CondemnedSkew, CPU: 1, Attempts: 1, Allowed: 2, Skew: 1020444,
				Reference: watchdog.Interval{NS: 479206760, Now: 0x282f5837, Last: 0x25542213}, Watched: watchdog.Interval{NS: 480227204, Now: 0x3e2b08025, Last: 0x3a0db01bc}},
			"4 clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n" +
				"4 clocksource:                       'hpet' wd_nsec: 479206760 wd_now: 282f5837 wd_last: 25542213 mask: ffffffff\n" +
				"4 clocksource:                       'tsc' cs_nsec: 480227204 cs_now: 3e2b08025 cs_last: 3a0db01bc mask: ffffffffffffffff\n" +
				"4 clocksource:                       Clocksource 'tsc' skewed 1020444 ns (1 ms) over watchdog 'hpet' interval of 479206760 ns (479 ms)\n" +
				"4 clocksource:                       'tsc' is current clocksource.\n"},
		{"4.4 names no CPU", setup(watchdog.E3, "4.4", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.CondemnedSkew, CPU: 1, Attempts: 1, Allowed: 1,
				Reference: watchdog.Interval{Now: 0x1f14a0ce, Last: 0x1c095775}, Watched: watchdog.Interval{Now: 0x34d9ee4f1, Last: 0x30777dbc5}},
			"4 clocksource: timekeeping watchdog: Marking clocksource 'tsc' as unstable because the skew is too large:\n" +
				"4 clocksource:                       'hpet' wd_now: 1f14a0ce wd_last: 1c095775 mask: ffffffff\n" +
				"4 clocksource:                       'tsc' cs_now: 34d9ee4f1 cs_last: 30777dbc5 mask: ffffffffffffffff\n"},
		{"the prefix came with 4.2: 4.1.52 has none", setup(watchdog.E3, "4.1.52", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.CondemnedSkew, CPU: 1, Attempts: 1, Allowed: 1,
				Reference: watchdog.Interval{Now: 0x1f14a0ce, Last: 0x1c095775}, Watched: watchdog.Interval{Now: 0x34d9ee4f1, Last: 0x30777dbc5}},
			"4 timekeeping watchdog: Marking clocksource 'tsc' as unstable because the skew is too large:\n" +
				"4                       'hpet' wd_now: 1f14a0ce wd_last: 1c095775 mask: ffffffff\n" +
				"4                       'tsc' cs_now: 34d9ee4f1 cs_last: 30777dbc5 mask: ffffffffffffffff\n"},
		{"the same on 5.10.223: hex only", setup(watchdog.LTS510223, "", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.CondemnedSkew, CPU: 1, Attempts: 1, Allowed: 4,
				Reference: watchdog.Interval{Now: 0x1f14a0ce, Last: 0x1c095775}, Watched: watchdog.Interval{Now: 0x34d9ee4f1, Last: 0x30777dbc5}},
			"4 clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n" +
				"4 clocksource:                       'hpet' wd_now: 1f14a0ce wd_last: 1c095775 mask: ffffffff\n" +
				"4 clocksource:                       'tsc' cs_now: 34d9ee4f1 cs_last: 30777dbc5 mask: ffffffffffffffff\n"},
		{"the same on 7.3", setup(watchdog.E12, "7.3.4", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.CondemnedSkew, Reference: watchdog.Interval{NS: 511997470}, Watched: watchdog.Interval{NS: 512520483}},
			"4 clocksource: Marking clocksource tsc unstable due to frequency skew\n" +
				"4 clocksource: Watchdog                    hpet interval:        511997470ns\n" +
				"4 clocksource: Clocksource                  tsc interval:        512520483ns\n"},
		{"a busy reference on 5.10", setup(watchdog.LTS510223, "", "tsc-early", "hpet", "tsc-early", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.Skipped, CPU: 1, Attempts: 1, Allowed: 4, Sequence: 67610, Delay: 107970},
			"6 clocksource: timekeeping watchdog on CPU1: hpet wd-wd read-back delay of 67610ns\n" +
				"6 clocksource: wd-tsc-early-wd read-back delay of 107970ns, clock-skew test skipped!\n"},
		{"retries on 5.10", setup(watchdog.LTS510223, "", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.Agreed, CPU: 1, Attempts: 3, Allowed: 4},
			"4 clocksource: timekeeping watchdog on CPU1: hpet retried 2 times before success\n"},
		{"without retries 5.15 announces every success", setup(watchdog.E5, "", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.Agreed, Attempts: 1, Allowed: 1},
			"4 clocksource: timekeeping watchdog on CPU0: hpet retried 0 times before success\n"},
		{"a negative skew on 6.5", setup(watchdog.E7, "6.5", "tsc", "acpi_pm", "hpet", clocksource.Mask24),
			watchdog.Verdict{Kind: watchdog.CondemnedSkew, Attempts: 1, Allowed: 3, Skew: -485515617, Reference: watchdog.Interval{NS: 485515617}},
			"4 clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable because the skew is too large:\n" +
				"4 clocksource:                       'acpi_pm' wd_nsec: 485515617 wd_now: 0 wd_last: 0 mask: ffffff\n" +
				"4 clocksource:                       'tsc' cs_nsec: 0 cs_now: 0 cs_last: 0 mask: ffffffffffffffff\n" +
				"4 clocksource:                       Clocksource 'tsc' skewed -485515617 ns (18446744073224 ms) over watchdog 'acpi_pm' interval of 485515617 ns (485 ms)\n" +
				"4 clocksource:                       'hpet' (not 'tsc') is current clocksource.\n"},
		{"the forgiving design lets a slow read-out pass", setup(watchdog.TipForgive, "", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.Coarse, CPU: 3, Attempts: 4, Allowed: 4, Delay: 101333, CoarseReads: 1, Compared: true, SkewLimit: 62_500_000},
			"4 clocksource: timekeeping watchdog on CPU3: hpet read-back delay of 101333ns, attempt 4, coarse-grained skew check followed by re-initialization\n" +
				"4 clocksource: timekeeping watchdog on CPU3: hpet coarse-grained 62.500 ms clock-skew check followed by re-initialization\n"},
		{"... and says that it waits, and every hundredth time that there were many", setup(watchdog.TipForgive, "", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.Coarse, CPU: 3, Attempts: 4, Allowed: 4, Delay: 101333, CoarseReads: 200},
			"4 clocksource: timekeeping watchdog on CPU3: hpet read-back delay of 101333ns, attempt 4, awaiting re-initialization\n" +
				"4 clocksource: timekeeping watchdog on CPU3: hpet 200 consecutive coarse-grained reads\n"},
		{"a dynamic limit is raised by a skip", setup(watchdog.PropDynamicSkew, "", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.Skipped, CPU: 30, Attempts: 1, Allowed: 3, Sequence: 92539, Delay: 101000, MaxSkew: 185078},
			"6 clocksource: timekeeping watchdog on CPU30: hpet wd-wd read-back delay of 92539ns\n" +
				"6 clocksource: wd-tsc-wd read-back delay of 101000ns, clock-skew test skipped!\n" +
				"4 clocksource: timekeeping watchdog on CPU30: watchdog_max_skew increased to 185078ns\n"},
		{"2.6.32 prints only the difference", setup(watchdog.E1, "", "tsc", "hpet", "tsc", clocksource.Mask32),
			watchdog.Verdict{Kind: watchdog.CondemnedSkew, Attempts: 1, Allowed: 1, Skew: -69003585},
			"4 Clocksource tsc unstable (delta = -69003585 ns)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			for _, l := range NewPrinter(c.setup).Verdict(&c.v) {
				fmt.Fprintf(&b, "%d %s\n", l.Level, l.Text)
			}
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestACheckAcrossCPUsWithoutOthersSaysSo(t *testing.T) {
	for _, c := range []struct {
		era  watchdog.Era
		want string
	}{
		{watchdog.E5, "4 clocksource: Not enough CPUs to check clocksource 'tsc'."},
		{watchdog.E11, "4 clocksource: Not enough CPUs to check clocksource 'tsc'."},
		{watchdog.LTS510223, "4 clocksource: Checking clocksource tsc synchronization from CPU 0."},
	} {
		p, _ := watchdog.ProfileOf(c.era)
		s := watchdog.Setup{Profile: p, Reference: watchdog.Clock{Name: "hpet", Mask: clocksource.Mask32}, Watched: []watchdog.Clock{{Name: "tsc", Mask: clocksource.Mask64}}}
		var got []string
		for _, l := range NewPrinter(s).Verification(&watchdog.Verification{Started: true}) {
			got = append(got, fmt.Sprintf("%d %s", l.Level, l.Text))
		}
		if diff := cmp.Diff([]string{c.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.era, diff)
		}
	}
}

// TestThePrintedLimitIsTheOneOfTheBuild: the message prints S, which the
// build option sets, whether or not it is the limit in force.
func TestThePrintedLimitIsTheOneOfTheBuild(t *testing.T) {
	for _, e := range []watchdog.Era{watchdog.E7, watchdog.E9, watchdog.E10, watchdog.E11} {
		p, _ := watchdog.ProfileOf(e)
		p, err := p.WithMaxSkew(200)
		if err != nil {
			t.Fatal(err)
		}
		s := watchdog.Setup{Profile: p, Reference: watchdog.Clock{Name: "hpet", Mask: clocksource.Mask32}, Watched: []watchdog.Clock{{Name: "tsc", Mask: clocksource.Mask64}}}
		v := watchdog.Verdict{Kind: watchdog.CondemnedDelay, Delay: 1291830, Sequence: 440, Attempts: 2, Allowed: 2}
		lines := NewPrinter(s).Verdict(&v)
		if len(lines) != 1 || !strings.Contains(lines[0].Text, "delay of 1291830ns vs. limit of 200000ns,") {
			t.Errorf("%s: %+v", e, lines)
		}
	}
}

func TestPrinterRemembersWhatKernelsRemember(t *testing.T) {
	setup := func(e watchdog.Era) watchdog.Setup {
		p, _ := watchdog.ProfileOf(e)
		return watchdog.Setup{Profile: p, Reference: watchdog.Clock{Name: "hpet", Mask: clocksource.Mask32}, Watched: []watchdog.Clock{{Name: "tsc", Mask: clocksource.Mask64}}}
	}
	count := func(p *Printer, v watchdog.Verdict) int { return len(p.Verdict(&v)) }
	const second = clocksource.NanosPerSecond

	p := NewPrinter(setup(watchdog.E12))
	if a, b := count(p, watchdog.Verdict{Kind: watchdog.RemoteTimedOut}), count(p, watchdog.Verdict{Kind: watchdog.RemoteTimedOut}); a != 1 || b != 0 {
		t.Errorf("remote time-outs: %d and %d lines, want one in all", a, b)
	}
	var got []int
	for i := range 14 {
		got = append(got, count(p, watchdog.Verdict{Kind: watchdog.TimedOut, Time: clocksource.Nanos(i) * second / 2}))
	}
	if diff := cmp.Diff([]int{1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0}, got); diff != "" {
		t.Errorf("time-outs every half second (-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		until clocksource.Nanos
		want  []int
	}{
		"from the start":                  {0, []int{1, 0, 0, 1}},
		"past the early state after 3 s":  {3 * second, []int{0, 0, 1, 0}},
		"its first moment is past it":     {2 * second, []int{0, 1, 0, 1}},
		"in the early state all the time": {9 * second, []int{0, 0, 0, 0}},
	} {
		early := setup(watchdog.E8)
		early.EarlyBoot = c.until
		p, got := NewPrinter(early), []int(nil)
		for i, s := range []clocksource.Nanos{4, 3, 5, 9} { // at 1, 2, 3 and 4 s
			got = append(got, count(p, watchdog.Verdict{Kind: watchdog.TooLong, Time: clocksource.Nanos(i+1) * second, Attempts: 1, Allowed: 9, Watched: watchdog.Interval{NS: s * second}}))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("long intervals of 4, 3, 5 and 9 s, %s (-want +got):\n%s", name, diff)
		}
	}
	p = NewPrinter(setup(watchdog.E8))
	got = nil
	for _, s := range []clocksource.Nanos{2, 3, 4, 5, 11, 10, 23} {
		got = append(got, count(p, watchdog.Verdict{Kind: watchdog.TooLong, Attempts: 1, Allowed: 9, Watched: watchdog.Interval{NS: s * second}}))
	}
	if diff := cmp.Diff([]int{1, 0, 0, 1, 1, 0, 1}, got); diff != "" {
		t.Errorf("long intervals of 2, 3, 4, 5, 11, 10 and 23 s: printed when more than double the largest (-want +got):\n%s", diff)
	}
}
