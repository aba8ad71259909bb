package explain

func parameter(id, title, what, action string, spans ...Span) Entry {
	return Entry{ID: id, Class: Parameter, Title: title, What: what, Action: action, Spans: spans}
}

// always is the span of a parameter that every kernel has which is described here.
func always() Span { return Span{Note: "in every release described here"} }

func since(from, note string) Span { return Span{From: from, Note: note} }

func until(from, to, def, note string) Span {
	return Span{From: from, To: to, Default: def, Note: note}
}

func doubtful(from, to, def, note string) Span {
	return Span{From: from, To: to, Default: def, Note: note, Doubt: true}
}

const removedAt = "the automatic retry count replaced it at about this release"

func clocksourceParameters() []Entry {
	return []Entry{
		parameter("clocksource", "clocksource=NAME chooses the clock",
			"The kernel takes the clock of that name as soon as it is registered and allowed. The name may have 31 characters. A name that does not exist is remembered without a word, and a condemned clock is refused while the kernel runs in high resolution mode.",
			"Check "+sysfs+"/current_clocksource afterwards: success of the option is not reported.", always()),
		parameter("clock", "clock=NAME is an old spelling of clocksource=",
			"It still works, warns that it is deprecated, and translates pmtmr to acpi_pm.",
			"Write clocksource= instead.", always()),
		parameter("clocksource.max_cswd_read_retries", "How often the watchdog reads again",
			"Before the watchdog condemns a clock for slow reading it repeats the read this many times, so the attempts are one more. The value is not checked and can be changed at run time. From 6.9 on the number follows the CPU count: half of its binary logarithm plus one.",
			"Raise it on a machine that loses its TSC to short disturbances. It does not revive a condemned clock, and long disturbances outlast any number.",
			until("5.10.50", "5.10", "3", ""),
			until("5.14", "5.15.16", "3", ""),
			until("5.15.17", "5.15.154", "3 or 2", "which 5.15 release lowered the default is not known"),
			doubtful("5.15.155", "5.15.175", "3 or 2", removedAt+" (5.15.165)"),
			until("5.16", "5.16", "3", ""),
			until("5.17", "6.0", "2", ""),
			until("6.1.0", "6.1.104", "2", "removed by 6.1.105"),
			until("6.2", "6.5", "2", ""),
			until("6.6.0", "6.6.39", "2", ""),
			doubtful("6.6.40", "6.6.52", "2", removedAt+" (6.6.46)"),
			until("6.7", "6.8", "2", "removed in 6.9"),
			doubtful("4.19.190", "4.19", "3", "late 4.19 kernels print retry lines; whether they have the parameter is not known"),
			doubtful("5.4.120", "5.4", "3", "whether late 5.4 kernels got retries is not known"),
			doubtful("5.12.17", "5.12", "3", "the change reached 5.10.50 at the time of this release"),
			doubtful("5.13.2", "5.13", "3", "the change reached 5.10.50 at the time of this release")),
		parameter("clocksource.verify_n_cpus", "How many CPUs are compared after a verdict",
			"After the current clock was condemned, the kernel compares its value on this many CPUs and prints which are ahead or behind. Zero turns the check off, a negative number takes all. The check only informs and changes no verdict. The documentation of later kernels still lists it.",
			"Set it to -1 to see all CPUs in the next verdict.",
			until("5.14", "7.0", "8", "5.10 checks all CPUs and has no parameter"),
			doubtful("7.1", "7.1", "8", "removed by the rewrite, which came with 7.1 by inference")),
		parameter("clocksource.max_cswd_coarse_reads", "A parameter that no release has",
			"It belongs to a design that forgave slow reads and that was never merged (tip-forgive): after so many slow read-outs in a row, 100 by default, it warned.",
			"Remove it: a kernel ignores it."),
		parameter("clocksource.arm_arch_timer.evtstrm", "Event stream of the ARM timer",
			"It turns the periodic wake-up events of the ARM timer on or off and has nothing to do with the watchdog.",
			"Leave it alone unless the board's vendor says otherwise.", since("4.15", "seen from 4.15 on; the first release is not known")),
		parameter("CONFIG_CLOCKSOURCE_WATCHDOG_MAX_SKEW_US", "Build option for the allowed skew",
			"It sets the number of microseconds from which the watchdog's margins are made; each clock without a margin of its own gets twice the value. Up to 6.11 it is also the limit of the reading, and half of it the limit above which a check is skipped; from 6.12 on these follow the margins. It can be 50 to 1000.",
			"Read it in the kernel's build configuration where the limits matter.",
			until("5.18", "6.2", "100", "that it came with 5.18 and not with 5.17 is inferred"), until("6.3", "7.0", "125", ""),
			doubtful("7.1", "7.1", "125", "removed by the rewrite, which came with 7.1 by inference")),
		parameter("CONFIG_TEST_CLOCKSOURCE_WATCHDOG", "The kernel's own test of the watchdog",
			"A module that registers fake clocks, injects errors and expects verdicts. Its lines begin with clocksource_wdtest.",
			"Do not load it in production.", since("5.14", "rewritten in 7.1")),
	}
}

func tscParameters() []Entry {
	return []Entry{
		parameter("tsc=reliable", "Trust the TSC without any check",
			"It turns off the watchdog for the TSC and the synchronisation test at boot. Older kernels still watched tsc-early. A TSC that is wrong then makes time wrong without a message.",
			"Use it only where somebody guarantees the TSC; tsc=nowatchdog keeps the boot test.", since("2.6.30", "from memory")),
		parameter("tsc=nowatchdog", "Stop watching the TSC",
			"The watchdog leaves the TSC alone; the synchronisation test at boot stays. Up to 7.0 it wins over tsc=watchdog, from 7.1 on the last of the two wins.",
			"The option of choice for a TSC that a cross-CPU test has cleared.", since("5.4", "")),
		parameter("tsc=watchdog", "Let the TSC watch, or be watched",
			"From 6.3 to 7.0 an exempt TSC serves as the watchdog of the HPET and the PM timer. From 7.1 on it forces the watchdog onto the TSC even if a rule or another option exempts it.",
			"Use it from 7.1 on where a bad TSC must be noticed.", until("6.3", "7.0", "", "the TSC watches the HPET and the PM timer"), since("7.1", "the TSC is watched")),
		parameter("tsc=unstable", "Give up the TSC at boot",
			"The TSC is marked unstable from the start, with the reason \"boot parameter\". Another clock is used.",
			"Only for a TSC that is really bad. The kernel's text after a verdict proposes it even where the TSC is fine.", since("4.13", "about; seen in 4.15")),
		parameter("tsc=recalibrate", "Calibrate the TSC against a timer",
			"Where CPUID or an MSR gave the frequency, the kernel measures it against the HPET or PM timer as well, and warns if they differ by more than 500 ppm, with both frequencies.",
			"Use it to see whether a wrong frequency is why the system clock drifts by a constant share.", since("6.3", "")),
		parameter("tsc=noirqtime", "No interrupt time accounting by the TSC",
			"The kernel does not use the TSC to account the time spent in interrupts. The clocksource is not affected.",
			"Useful only where reading the TSC is costly.", since("2.6.37", "from memory")),
		parameter("notsc", "Do not use the TSC",
			"From about 4.15 on it marks the TSC unstable with the reason \"boot parameter notsc\". A 4.4 kernel built for TSC machines prints that it cannot disable it completely.",
			"Use tsc=unstable on kernels that have it.", always()),
		parameter("tsc_early_khz", "tsc_early_khz=N sets the early TSC frequency",
			"The kernel takes N kHz as the frequency of tsc-early instead of the value from CPUID or the firmware.",
			"Use it where that value is wrong and the later calibration comes too late.", since("5.11", "documented since 5.11; added in 5.10 or before")),
	}
}

func otherParameters() []Entry {
	return []Entry{
		parameter("hpet=disable", "Do not use the HPET", "The kernel uses no HPET: no reference for the watchdog and no fallback clock. The PM timer takes both places.",
			"Right where the HPET stops in deep package sleep. Wrong where the TSC is bad.", always()),
		parameter("hpet=force", "Use an HPET that the firmware hides", "It enables the HPET on chipsets that do not document it, and also overrides the kernel's own decision to disable one that stops in package sleep.",
			"Remove it if the kernel calls the HPET dysfunctional.", always()),
		parameter("hpet=verbose", "Print the HPET's registers", "At boot the kernel prints the registers of the HPET. Nothing else changes.",
			"For a report on a broken HPET.", always()),
		parameter("nohpet", "Do not use the HPET", "The same as hpet=disable. The code is old; the documentation mentions it since about 6.12.",
			"See hpet=disable.", always()),
		parameter("hpet_mmap", "hpet_mmap= allows mapping the HPET in user space", "It allows or forbids user space to map the registers of the HPET. Programs that read it often slow down the watchdog's reads.",
			"Forbid it unless a program needs it.", always()),
		parameter("acpi_pm_good", "Trust the PM timer of this chipset", "On some chipsets the kernel reads the PM timer three times and lowers its rating to 120. This option keeps the fast read and the rating of 200.",
			"Only for a chipset that is known to be good.", always()),
		parameter("pmtmr", "pmtmr=0xPORT sets the PM timer's port", "The kernel reads the PM timer at this port instead of the one that ACPI names.",
			"Only where ACPI is wrong.", always()),
		parameter("no-kvmclock", "Do not use kvm-clock", "The guest does not use the paravirtual clock of KVM and falls back to the TSC, an emulated HPET or the PM timer.",
			"Remove it from guests that suffer from pauses or slow clocks.", always()),
		parameter("no-kvmclock-vsyscall", "No user-space reads of kvm-clock", "kvm-clock stays, but each read by a program is a system call.",
			"Remove it unless user-space reads give wrong times.", always()),
		parameter("no-vmw-sched-clock", "Do not use VMware's scheduler clock", "The guest's scheduler does not use the clock of VMware. The clocksource is not affected.",
			"Leave it alone.", since("4.15", "seen from 4.15 on; the first release is not known")),
		parameter("highres", "highres=off turns high resolution timers off", "Without them, and with nohz=off as well, the kernel may choose clocks that are not valid for high resolution, also a condemned one.",
			"Not a cure: timers become coarse.", always()),
		parameter("nohz", "nohz=off keeps the periodic tick", "The tick goes on in idle CPUs. Together with highres=off the rule on valid clocks is lifted.",
			"Not a cure for a condemned clock.", always()),
		parameter("skew_tick", "skew_tick=1 spreads the ticks over the CPUs", "The CPUs' ticks no longer come at the same instant, which lowers contention on locks and on the HPET.",
			"Useful on many CPUs with latency needs; it costs power.", always()),
		parameter("processor.max_cstate", "processor.max_cstate=N limits sleep states", "The ACPI idle driver uses no deeper state than N. A TSC that halts in idle, or an HPET that stops in package sleep, then runs on.",
			"A test, or a cure at the price of power.", always()),
		parameter("intel_idle.max_cstate", "intel_idle.max_cstate=N limits Intel's sleep states", "The Intel idle driver uses no deeper state than N; 0 turns the driver off and leaves sleep to ACPI.",
			"Combine it with processor.max_cstate.", always()),
		parameter("idle=poll", "Never sleep", "Idle CPUs run in a loop. Counters that halt in sleep go on; power and heat are at the maximum.",
			"For a test only.", always()),
		parameter("idle=halt", "Sleep only by HLT", "Idle CPUs use the plain halt instruction and no deeper state.",
			"A milder test than idle=poll.", always()),
		parameter("idle=nomwait", "Do not sleep by MWAIT", "Idle CPUs do not use the MWAIT instruction, which some firmware handles badly.",
			"A test where sleep states are suspected.", always()),
		parameter("lapic=notscdeadline", "No TSC deadline timer", "The local timer does not use the TSC deadline mode. It concerns timer interrupts, not the clock that is read.",
			"Only where timers expire at wrong times.", always()),
		parameter("lapic_timer_c2_ok", "The local timer runs on in C2", "It tells the kernel that the local timer goes on in the sleep state C2.",
			"Only for hardware that is known to do so.", always()),
		parameter("noapictimer", "Do not use the local timer", "Timer interrupts come from another source. The clocksource is not affected.",
			"A test where ticks are lost.", always()),
		parameter("nolapic_timer", "Do not use the local APIC timer", "The same as noapictimer.", "A test where ticks are lost.", always()),
		parameter("apicpmtimer", "Calibrate the local timer by the PM timer", "The kernel measures the local timer against the PM timer instead of the PIT.",
			"Where the PIT is broken.", always()),
		parameter("no_timer_check", "Skip the test of the timer interrupt", "At boot the kernel does not test whether timer interrupts arrive. Hypervisors set it, because the test can fail there by chance.",
			"Leave it as the hypervisor set it.", always()),
		parameter("acpi_skip_timer_override", "Ignore ACPI's routing of the timer interrupt", "Some chipsets of the 2000s report a wrong route, and ticks are lost or doubled.",
			"Only for such a machine.", always()),
	}
}
