package report

import (
	"strings"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/machine"
)

// advices are as package doctor words them.
func advices(ids ...string) []doctor.Advice {
	all := map[string]doctor.Advice{
		"nothing":              {Summary: "No action is needed for the clock", Risk: doctor.RiskNone},
		"check-cross-cpu-sync": {Summary: "Test the order of the TSC across CPUs: Run it for minutes on all CPUs, idle and loaded. A single step back means: do not trust the TSC.", Risk: doctor.RiskNone},
		"upgrade-kernel":       {Summary: "Use a newer kernel: 6.12 or later allows 500 to 750 µs for a read-back; from 7.1 on latency alone never condemns.", Risk: doctor.RiskUntilReboot},
		"raise-read-retries": {Summary: "Allow more read retries: Set it at run time and on the command line. It does not bring back a TSC that is already condemned.",
			Command: "echo 50 > /sys/module/clocksource/parameters/max_cswd_read_retries    # boot: clocksource.max_cswd_read_retries=50", Risk: doctor.RiskReversible},
		"tsc-nowatchdog": {Summary: "Boot with tsc=nowatchdog: Check the order across CPUs first, then add the option and reboot.",
			Command: "tsc=nowatchdog    # on the kernel command line, then reboot", Risk: doctor.RiskUntilReboot},
		"reboot-to-restore": {Summary: "Reboot to get the TSC back: Reboot at a convenient time. Without another change the same thing can happen again.",
			Command: "reboot", Risk: doctor.RiskUntilReboot},
		"measure-drift": {Summary: "Compare with an independent clock: Watch the frequency correction for an hour.", Command: "chronyc tracking", Risk: doctor.RiskNone},
		"stay-on-fallback": {Summary: "Stay on the fallback clock: Leave the current clock and plan the repair.",
			Command: "cat /sys/devices/system/clocksource/clocksource0/current_clocksource", Risk: doctor.RiskNone},
		"firmware-update": {Summary: "Update BIOS, UEFI or AGESA: Install the vendor's newest firmware and power-cycle.", Risk: doctor.RiskUntilReboot},
		"ask-host":        {Summary: "Look at the host: Give the owner of the host the time of the event and ask about pauses, load, and whether the guest gets an invariant TSC.", Risk: doctor.RiskNone},
		"capture-full-log": {Summary: "Collect the whole kernel log: Collect it without a filter.",
			Command: "journalctl -k -b --no-pager -o short-monotonic > kernel.log    # or: dmesg > kernel.log", Risk: doctor.RiskNone},
	}
	var out []doctor.Advice
	for _, id := range ids {
		a := all[id]
		a.ID = id
		out = append(out, a)
	}
	return out
}

// healthy is bare metal with a trusted TSC that no watchdog guards.
func healthy() *doctor.Diagnosis {
	const why = "a TSC with constant_tsc, nonstop_tsc and tsc_adjust is exempt up to 2 online NUMA nodes, here 1"
	const kernelWhy = "the version names the upstream release"
	return &doctor.Diagnosis{
		Schema: doctor.Schema, Status: doctor.StatusOK, Summary: "tsc is in use and nothing speaks against it",
		Host: "db1.example.org", Arch: "x86_64", KernelTrustsTSC: doctor.TrustYes, CurrentClock: "tsc", FinalClock: "tsc",
		Available: []string{"tsc", "hpet", "acpi_pm"}, TSCVerdict: doctor.None,
		Findings: []doctor.Finding{{
			ID: "tsc-not-watched", Severity: doctor.Info, Summary: "no watchdog guards the TSC here: " + why,
			Evidence: []doctor.Proof{{Source: "kernel", Text: kernelWhy}},
		}},
		Advice: advices("nothing"),
		Kernel: doctor.KernelFacts{
			Release: "6.1.192", EraCandidates: []string{"LTS-6.1.192"}, Why: kernelWhy,
			TSCWatched: machine.No, TSCWatchedWhy: why,
			LatencyCanCondemn: machine.No, LatencyWhy: "the TSC is not watched: " + why,
		},
		Cost:     &machine.Cost{ReadNS: 23.4, ReadP99NS: 31, SyscallNS: 95.2, Path: "vdso", Reads: 412000, Clocksource: "tsc", Seconds: 0.041},
		LogLines: 1874,
		Inputs:   doctor.Inputs{Live: true, FailOn: "warning"},
	}
}

// disagreeing is a machine whose CPUs were seen to disagree a moment ago.
func disagreeing() *doctor.Diagnosis {
	d := healthy()
	d.Status, d.TSCVerdict = doctor.StatusCritical, doctor.Bad
	d.Summary = "the TSC is not to be trusted, as measured now (tsc-offset-between-cpus); tsc is in use"
	lines := []doctor.Proof{
		{Source: "live", Text: "era LTS-6.1.192: of this kernel: the version names the upstream release"},
		{Source: "live", Text: "reference hpet, independent of tsc: a counter of its own in the chipset"},
		{Source: "live", Text: "read-back delay median 1.98 µs, p99 2.3 µs, max 2.3 µs of 11; late above 100 µs: 0"},
		{Source: "live", Text: "11 checks: agreed 10, initialised 1; 8 comparisons of CPUs, 8 to the end, 3 backwards"},
		{Source: "live", Text: "tsc minus hpet: mean 0.12 ppm, from -0.40 to 0.51, largest 255 ns, in 10 comparisons"},
	}
	d.Findings = []doctor.Finding{
		{ID: "tsc-offset-between-cpus", Severity: doctor.Critical, Summary: "the tsc of two CPUs disagree now: time ran backwards in 3 of 8 comparisons, by 1200 cycles at least",
			Evidence: []doctor.Proof{{Source: "live", Text: "3 of 8 comparisons ran backwards, by 1200 cycles at least between CPU 0 and CPU 3"}}},
		{ID: "live-watch", Severity: doctor.Info, Summary: "the rules of era LTS-6.1.192 ran over the live counters for 5.0 s: tsc and hpet differ by 0.12 ppm over 10 comparisons; the CPUs disagree in 3 of 8 comparisons; no read-back was late",
			Evidence: lines},
	}
	d.Advice = advices("check-cross-cpu-sync", "firmware-update")
	d.Live = &doctor.Live{
		Era: "LTS-6.1.192", Release: "6.1.192", EraWhy: "of this kernel: the version names the upstream release", Retries: 2, Kernel: "6.1.0-57-amd64", Current: "tsc", Guest: machine.No,
		Counter: "tsc", CounterHz: 2_893_299_000, CounterFrom: "CPUID 0x15", Doubt: 500,
		Reference: "hpet", Independent: machine.Yes, IndependentWhy: "a counter of its own in the chipset", CPUs: "0-7",
		Asked: 5, Elapsed: 5_000_012_000, Ended: "duration", Ticks: 11, Checks: 11, Kinds: map[string]uint64{"initialised": 1, "agreed": 10},
		Delays:    doctor.LiveDelays{Count: 11, Min: 1_800, Median: 1_980, P99: 2_300, Max: 2_300, Limit: 100_000, InterruptsCounted: true},
		Skew:      doctor.LiveSkew{Compared: 10, Least: -0.4, Greatest: 0.51, Mean: 0.12, Noise: 9.2, Largest: 255},
		Exchanges: doctor.LiveExchanges{Made: 8, Completed: 8, Backwards: 3, Most: 1200, Between: "CPU 0 and CPU 3"},
	}
	d.Inputs.LiveSeconds = 5
	return d
}

// fallen is the machine that lost a good TSC because reading the HPET was slow.
func fallen() *doctor.Diagnosis {
	const why = "reading took 60.67 µs on each of the attempts; the TSC was not found wrong, it was not measured"
	const watched = "kernels before 5.16 (5.15.7, 5.10.84) watch every TSC that is not declared reliable"
	return &doctor.Diagnosis{
		Schema: doctor.Schema, Status: doctor.StatusWarning,
		Summary: "the kernel gave up a TSC that the evidence clears (reference-read-delay); hpet is in use",
		Host:    "skylake8", Arch: "x86_64", KernelTrustsTSC: doctor.TrustNo, CurrentClock: "hpet", FinalClock: "hpet",
		Available: []string{"hpet", "acpi_pm"}, TSCVerdict: doctor.Good,
		Findings: []doctor.Finding{
			{ID: "reference-read-delay", Severity: doctor.Warning, Summary: why, Evidence: []doctor.Proof{
				{Source: "dmesg.txt", Line: 812, Text: "clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable"},
				{Source: "dmesg.txt", Line: 813, Text: "tsc: Marking TSC unstable due to clocksource watchdog"},
				{Source: "dmesg.txt", Line: 814, Text: "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'."},
				{Source: "dmesg.txt", Line: 815, Text: "sched_clock: Marking unstable (11633513890, 2036384489)<-(13965149377, -295250974)"},
				{Source: "dmesg.txt", Line: 816, Text: "clocksource: Checking clocksource tsc synchronization from CPU 0 to CPUs 1-3,6-7."},
				{Source: "dmesg.txt", Line: 817, Text: "clocksource: Switched to clocksource hpet"},
			}},
			{ID: "clock-read-slow", Severity: doctor.Warning, Summary: "reading the clock costs 1310 ns here; a TSC costs 15 to 40", Evidence: []doctor.Proof{
				{Source: "measured", Text: "1310 ns a read by syscall, 1288 ns by system call (hpet)"},
			}},
			{ID: "no-vdso-path", Severity: doctor.Info, Summary: "each read of the clock goes through the kernel: hpet has no fast path in user space", Evidence: []doctor.Proof{
				{Source: "measured", Text: "1310 ns a read by syscall, 1288 ns by system call (hpet)"},
			}},
		},
		Advice: advices("check-cross-cpu-sync", "raise-read-retries", "upgrade-kernel", "tsc-nowatchdog", "reboot-to-restore"),
		Kernel: doctor.KernelFacts{
			Release: "5.15.0-rc5", EraCandidates: []string{"E5"}, Why: "only uname -r names the kernel, which vendors may number in their own way",
			TSCWatched: machine.Yes, TSCWatchedWhy: watched,
			LatencyCanCondemn: machine.Yes, LatencyWhy: "era E5 condemns for latency, and the TSC is watched: " + watched,
		},
		Cost: &machine.Cost{ReadNS: 1310, ReadP99NS: 2900, SyscallNS: 1288, Path: "syscall", Reads: 6200, Clocksource: "hpet", Seconds: 0.008},
		Decisions: []doctor.Decision{{
			Kind: event.IncidentDelay, Reference: "hpet", Line: 812, Source: "dmesg.txt", Boot: 1,
			Time: event.Time{PrintkNS: event.Some[int64](13_669_682_000)}, Verdict: doctor.Good, Why: why, DelayNS: event.Some[int64](60_666),
		}},
		Since: "13.669682 s after boot", LogLines: 903,
		Inputs: doctor.Inputs{Logs: []string{"dmesg.txt"}, Live: true, FailOn: "warning"},
	}
}

// convicted is a TSC whose rate is wrong, told by a log alone.
func convicted() *doctor.Diagnosis {
	return &doctor.Diagnosis{
		Schema: doctor.Schema, Status: doctor.StatusCritical,
		Summary: "the kernel was right: the TSC is not to be trusted (tsc-frequency-wrong); hpet is in use",
		Arch:    "x86_64", KernelTrustsTSC: doctor.TrustNo, FinalClock: "hpet", TSCVerdict: doctor.Bad,
		Findings: []doctor.Finding{{
			ID: "tsc-frequency-wrong", Severity: doctor.Critical,
			Summary: "the frequency that firmware states for the TSC differs from what a hardware timer measures by 12288 ppm",
			Evidence: []doctor.Proof{
				{Source: "old/kern.log.2", Line: 41, Text: "tsc: Warning: TSC freq calibrated by CPUID/MSR differs from what is calibrated by HW timer, please check with vendor!!"},
				{Source: "old/kern.log.2", Line: 42, Text: "tsc: Previous calibrated TSC freq:\t 2100.000 MHz"},
				{Source: "old/kern.log.2", Line: 43, Text: "tsc: TSC freq recalibrated by [HPET]:\t 2125.804 MHz"},
			},
		}},
		Advice: advices("measure-drift", "stay-on-fallback", "firmware-update"),
		Kernel: doctor.KernelFacts{
			Release: "6.8.0-45", EraCandidates: []string{"E8", "E9"},
			Why:        "only uname -r names the kernel, which vendors may number in their own way; 2 of 22 eras fit what was seen; more than one era remains",
			TSCWatched: machine.Yes, TSCWatchedWhy: "the CPU lacks tsc_adjust, so that the TSC is not exempt",
			LatencyCanCondemn: machine.Yes, LatencyWhy: "era E8, E9 condemns for latency, and the TSC is watched: the CPU lacks tsc_adjust, so that the TSC is not exempt",
		},
		Since: "Mar  5 08:00:02", LogLines: 20451, ForeignLines: 3, DecisionsLeftOut: 17,
		Decisions: []doctor.Decision{{
			Kind: event.IncidentSkew, Clock: "tsc", Reference: "hpet", Line: 977, Source: "old/kern.log.2", Boot: 2,
			Time: event.Time{Wall: "Mar  5 08:00:02", Doubt: "stamp of the arrival in the journal, not of the kernel"}, Verdict: doctor.Bad,
			Why:     "506.1 ms by tsc, 500 ms by hpet: 6.144 ms apart, 12288 ppm; the same error at each check is a wrong rate",
			SkewPPM: event.Some(12288.0),
		}},
		Inputs: doctor.Inputs{Logs: []string{"old/kern.log.2", "-"}, FailOn: "warning"},
	}
}

// guest is a virtual machine whose log accuses the TSC and does not decide.
func guest() *doctor.Diagnosis {
	const option = "the command line could not be read, and an option such as tsc=nowatchdog decides"
	const logs = "journalctl -k -b --no-pager -o short-monotonic"
	const paused = "515.1 ms by tsc, 516 ms by hpet: -874.1 µs apart, -1694 ppm; the TSC shows the watchdog's nominal interval; a pause or a migration of the guest moves either clock"
	lines := []doctor.Proof{
		{Source: "-", Line: 1, Text: "clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:"},
		{Source: "-", Line: 2, Text: "clocksource:                       'hpet' wd_nsec: 515998611 wd_now: 1c29fb9 wd_last: 151e3b8 mask: ffffffff"},
		{Source: "-", Line: 3, Text: "clocksource:                       'tsc' cs_nsec: 515124524 cs_now: 8af4c89f9 cs_last: 874f8e80b mask: ffffffffffffffff"},
		{Source: "-", Line: 4, Text: "clocksource:                       Clocksource 'tsc' skewed -874087 ns (0 ms) over watchdog 'hpet' interval of 515998611 ns (515 ms)"},
	}
	return &doctor.Diagnosis{
		Schema: doctor.Schema, Status: doctor.StatusWarning, Summary: "the TSC stands accused, and the evidence does not decide (guest-paused)",
		Arch: "x86_64", KernelTrustsTSC: doctor.TrustNo, TSCVerdict: doctor.Undecided,
		Findings: []doctor.Finding{
			{ID: "guest-paused", Severity: doctor.Warning, Summary: paused, Evidence: lines},
			{ID: "vcpu-preempted", Severity: doctor.Warning, Summary: paused, Evidence: lines},
			{ID: "clock-unsynchronised", Severity: doctor.Info, Summary: "no time daemon disciplines the system clock", Suppressed: true},
		},
		Advice: advices("ask-host", "capture-full-log"),
		Missing: []doctor.Missing{
			{ID: "verdict-line", HowToGet: logs}, {ID: "host-log", HowToGet: "journalctl -k -b --no-pager    # on the host"},
			{ID: "earlier-lines", HowToGet: logs}, {ID: "kernel-version", HowToGet: "cat /proc/version /proc/version_signature; uname -rv"},
		},
		Kernel: doctor.KernelFacts{
			EraCandidates: []string{"E7", "E8", "E9", "E10", "E11"},
			Why:           "nothing names the kernel; the texts of its messages tell the era; 5 of 22 eras fit what was seen; more than one era remains",
			TSCWatched:    machine.Unknown, TSCWatchedWhy: option,
			LatencyCanCondemn: machine.Unknown, LatencyWhy: "era E7, E8, E9, E10, E11 condemns for latency, but whether the TSC is watched is not known: " + option,
		},
		Decisions: []doctor.Decision{{
			Kind: event.IncidentSkew, Clock: "tsc", Reference: "hpet", Line: 1, Source: "standard input", Boot: 1,
			Time: event.Time{PrintkNS: event.Some[int64](2_095_149_000)}, Verdict: doctor.Undecided, Why: "515.1 ms by tsc, 516 ms by hpet: -874.1 µs apart, -1694 ppm",
			SkewNS: event.Some[int64](-874087),
		}},
		Since: "2.095149 s after boot", LogLines: 6, ForeignLines: 1,
		Inputs: doctor.Inputs{Logs: []string{"-"}, Ignore: []string{"clock-unsynchronised"}, FailOn: "warning"},
	}
}

// container is a place from which nothing can be told.
func container() *doctor.Diagnosis {
	unread := []machine.Unreadable{
		{What: "/sys/devices/system/clocksource/clocksource0/current_clocksource", Reason: machine.ReasonNotThere,
			HowTo: "run cswatch on the host itself, or give the container the host's /sys read-only and use --root"},
		{What: "/dev/kmsg", Reason: machine.ReasonPermission, HowTo: "sysctl kernel.dmesg_restrict=0"},
	}
	return &doctor.Diagnosis{
		Schema: doctor.Schema, Status: doctor.StatusUnknown, Summary: "nothing here tells about a clock", Host: "7c1f0b9a2d3e", Arch: "x86_64",
		KernelTrustsTSC: doctor.TrustUnknown, TSCVerdict: doctor.None,
		Findings: []doctor.Finding{{
			ID: "evidence-unreadable", Severity: doctor.Info, Summary: "the current clocksource could not be read",
			Evidence: []doctor.Proof{{Source: unread[0].What, Text: unread[0].Reason}, {Source: unread[1].What, Text: unread[1].Reason}},
		}},
		Advice:  advices("nothing"),
		Missing: []doctor.Missing{{ID: "clocksource-sysfs", HowToGet: "cat /sys/devices/system/clocksource/clocksource0/current_clocksource    # in a container: mount /sys read-only"}},
		Kernel: doctor.KernelFacts{
			Release: "6.12.41-cloud", EraCandidates: []string{"E10"}, Why: "only uname -r names the kernel, which vendors may number in their own way",
			TSCWatched: machine.Unknown, TSCWatchedWhy: "the CPU flags could not be read, and constant_tsc, nonstop_tsc and tsc_adjust decide",
			LatencyCanCondemn: machine.Unknown, LatencyWhy: "whether the TSC is watched is not known: the CPU flags could not be read, and constant_tsc, nonstop_tsc and tsc_adjust decide",
		},
		Cost:       &machine.Cost{ReadNS: 41, SyscallNS: 210, Path: "vdso"},
		Unreadable: unread,
		Inputs:     doctor.Inputs{Live: true, FailOn: "warning"},
	}
}

// arm is a machine of another architecture.
func arm() *doctor.Diagnosis {
	return &doctor.Diagnosis{
		Schema: doctor.Schema, Status: doctor.StatusOK, Summary: "arch_sys_counter is in use and nothing speaks against it", Host: "graviton", Arch: "aarch64",
		KernelTrustsTSC: doctor.TrustNotApplicable, CurrentClock: "arch_sys_counter", FinalClock: "arch_sys_counter", Available: []string{"arch_sys_counter"},
		TSCVerdict: doctor.None, Advice: advices("nothing"),
		Kernel: doctor.KernelFacts{
			Release: "6.12.41", EraCandidates: []string{"E10"}, Why: "the package names the upstream release",
			TSCWatched: machine.No, TSCWatchedWhy: "aarch64 has no TSC, and its clocks have no watchdog",
			LatencyCanCondemn: machine.No, LatencyWhy: "the TSC is not watched: aarch64 has no TSC, and its clocks have no watchdog",
		},
		Cost:     &machine.Cost{ReadNS: 31.6, SyscallNS: 180, Path: "vdso", Clocksource: "arch_sys_counter"},
		LogLines: 640, Inputs: doctor.Inputs{Live: true, FailOn: "warning"},
	}
}

// evil holds one of everything that a log can do to a terminal, a pager or a monitoring system.
const evil = "a\x1b[31mred\x1b]0;title\x07 b\r\nCSWATCH OK - fine | read=0us\n\u202egnp.exe\u2066 \x9b\xff\u009b2J \u2028next\u200b | tab\t|\x00 ümlaut 時計 \U000e0041"

// hostile is a diagnosis made of such texts.
func hostile() *doctor.Diagnosis {
	huge := strings.Repeat("A", 5000) + strings.Repeat(" word", 2000)
	return &doctor.Diagnosis{
		Schema: doctor.Schema, Status: doctor.StatusWarning, Summary: "the kernel gave up the TSC: " + evil,
		Host: "host" + evil, Arch: evil, KernelTrustsTSC: doctor.TrustNo, CurrentClock: "hpet" + evil, FinalClock: evil,
		Available: []string{evil, "tsc\x1b[2K"}, TSCVerdict: doctor.Undecided,
		Findings: []doctor.Finding{
			{ID: "cause-unknown", Severity: doctor.Warning, Summary: evil, Evidence: []doctor.Proof{
				{Source: "/tmp/log\n[    1.000000] clocksource: Switched to clocksource hpet", Line: 7, Text: "x\n[    2.000000] tsc: Marking TSC unstable due to nothing"},
				{Source: evil, Text: huge},
			}},
			{ID: "hidden\x1b[8m", Severity: "odd\n", Summary: huge},
		},
		Advice:  []doctor.Advice{{ID: "set-clocksource", Summary: evil, Command: "echo " + evil + " > /sys/x", Risk: "strange"}},
		Missing: []doctor.Missing{{ID: evil, HowToGet: evil}},
		Kernel: doctor.KernelFacts{Release: evil, EraCandidates: []string{evil}, Why: evil, TSCWatched: "perhaps", TSCWatchedWhy: evil,
			LatencyCanCondemn: machine.Yes, LatencyWhy: evil},
		Cost: &machine.Cost{ReadNS: -1, SyscallNS: 1e300, Path: evil, Clocksource: evil},
		Live: &doctor.Live{Era: evil, EraWhy: evil, Counter: evil, Reference: evil, IndependentWhy: evil, CPUs: evil, Elapsed: -1, Kinds: map[string]uint64{evil: 1}},
		Decisions: []doctor.Decision{{Kind: event.IncidentKind(evil), Clock: evil, Reference: evil, Source: evil, Line: 3,
			Time: event.Time{Wall: evil, Doubt: evil}, Verdict: doctor.Verdict(evil), Why: evil}},
		Since: evil, LogLines: 1, ForeignLines: 1 << 40,
		Unreadable: []machine.Unreadable{{What: evil, Reason: "permission denied" + evil, HowTo: evil}},
		Inputs:     doctor.Inputs{Logs: []string{evil, "-"}, Root: evil, Ignore: []string{evil}, Expect: evil, FailOn: evil},
	}
}

// cases are all of them by name.
func cases() map[string]*doctor.Diagnosis {
	return map[string]*doctor.Diagnosis{
		"healthy": healthy(), "fallen": fallen(), "convicted": convicted(), "guest": guest(),
		"container": container(), "arm": arm(), "hostile": hostile(), "disagreeing": disagreeing(),
	}
}
