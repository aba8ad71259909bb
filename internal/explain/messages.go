package explain

import "github.com/cswatch/cswatch/event"

func line(kind event.Kind, title, what, releases string, harm Harm, action string) Entry {
	return Entry{ID: string(kind), Class: Message, Title: title, What: what, Releases: releases, Harm: harm, Action: action}
}

const (
	everyRelease = "all"
	rewrite      = "7.1 and later"
	judges       = "5.14 to 7.0"
)

// frameworkMessages are lines about choosing and registering clocks.
func frameworkMessages() []Entry {
	return []Entry{
		line(event.Registered, "A clock was registered", "The line shows the counter's mask, how many cycles convert without overflow and how long the kernel may idle. The numbers follow from the frequency, so the frequency can be computed back from them. It is printed again when a clock is registered again.", "4.1 and later (4.1 without the second colon)", Harmless, "Nothing."),
		line(event.Switched, "The kernel took another clock", "From here on time comes from the named clock. Several such lines in the first seconds are normal: jiffies, tsc-early, then tsc. A later one after a verdict is the fall to a slower clock.", "all (\"Switching to\" up to about 3.9, the prefix since 4.2)", Depends, "See whether a verdict stands before it."),
		line(event.OverrideRefused, "A wish for a condemned clock was refused", "Somebody asked for a clock that is unstable or not valid for high resolution. The write to sysfs succeeded all the same. The line proves that a verdict came before, even if it is not in the log.", "all; two forms since 4.15", Serious, "Reboot to get the clock back, and find the verdict."),
		line(event.OverrideDeferred, "A wish for a clock was kept for later", "The clock is not valid for high resolution yet, and the kernel takes it as soon as it is. At boot that is normal.", "4.15 and later", Harmless, "Nothing, unless the switch never comes."),
		line(event.OverflowDanger, "A conversion came close to an overflow", "The clock would overflow if it were adjusted by 11 %, NTP adjusts it by more, or the kernel idled longer than it allows. The cycle offset forms need a debugging build and exist from 4.1 to about 6.12.", "all, in several forms", Depends, "Look for a stall or a wrong frequency."),
		line(event.HighresFailed, "High resolution mode could not be entered", "The kernel found no clock or timer that is good enough, so that timers stay as coarse as the tick. The reason stands in the clock lines before it.", everyRelease, Serious, "Find out why the clock is not valid for high resolution."),
		line(event.TicksLost, "Timer interrupts were lost", "The kernel counted fewer ticks than time passed. Something blocks interrupts, or the CPU's clock changed.", "2.6.1x", Serious, "Look for what blocks interrupts."),
		line(event.DeprecatedOption, "An old option was used", "clock= on the command line is translated to clocksource=. The rest of the option works.", everyRelease, Harmless, "Write clocksource= instead."),
		line(event.InvalidVDSOMode, "A clock lost its user-space path", "A driver registered the clock with a mode that user space cannot use. Reads of it are system calls.", "about 5.7 and later", Depends, "Report it to the driver's author if the clock is in use."),
		line(event.NonstopWithHooks, "A clock that never stops has suspend hooks", "A driver's mistake: the hooks would reset what should go on.", "about 4.19 and later", Harmless, "Report it to the driver's author."),
		line(event.SuspendClockFails, "The clock for suspend could not be enabled", "The kernel wanted to measure sleep with this clock and cannot. Time spent asleep comes from the hardware clock instead.", "about 4.19 and later", Depends, "Check the time after a resume."),
	}
}

// watchdogMessages are the lines of the watchdog itself.
func watchdogMessages() []Entry {
	return []Entry{
		line(event.DeltaVerdict, "Verdict of the old watchdog", "The clock and the reference differed by 62.5 ms or more, and the clock was condemned. The line does not name the reference. RHEL 6 adds a hint on a failover parameter.", "up to 4.0", Serious, "Look at the delta: whole wraps of the PM timer and powers of two point to a stall."),
		line(event.SkewVerdict, "Verdict: the skew is too large", "The head of a block. Both intervals follow in the next lines; the limit is 62.5 ms up to 5.13 and a fraction of a millisecond after that.", "4.1 to 7.0 (the CPU since about 4.13)", Serious, "Divide the skew by the interval: below 500 ppm over a long interval it is a false alarm."),
		line(event.ReferenceInterval, "The reference in a verdict", "What the reference counted since the last check. Without nanoseconds its rate is needed to make sense of it. A search for \"tsc\" loses this line.", "4.1 to 7.0 (ns since 5.14, never in 5.10)", Depends, "Compare it with half a second."),
		line(event.WatchedInterval, "The accused clock in a verdict", "What the watched clock counted since the last check.", "4.1 to 7.0 (ns since 5.14, never in 5.10)", Depends, "Compare it with half a second and with the reference."),
		line(event.SecondReference, "A second reference", "A debugging patch compares a second reference. It shows which of the two clocks is wrong.", "none: a debugging patch", Depends, "Believe the pair that agrees."),
		line(event.SkewAmount, "The skew in words", "Skew and interval in ns and ms. Up to 6.7 a negative skew shows a huge number of milliseconds, and small ones show 0 ms: read the nanoseconds.", "6.3 to 7.0", Depends, "Divide the two numbers."),
		line(event.CurrentClock, "Which clock was current at the verdict", "If the condemned clock was not the current one, programs noticed nothing. In the form \"'tsc' is current clocksource\" it names the clock that is being given up.", judges, Depends, "Look for the switch that follows."),
		line(event.DelayVerdict, "Verdict: reading took too long", "The clock was condemned because reading the reference was slow in every attempt. Nothing was compared, so nothing speaks against the clock. The name in the line is the reference's in the older form.", "5.14 to 7.0, 5.10.50 and later (the long form since 6.3)", Serious, "A newer kernel, or an exemption for a proven TSC; a reboot brings the clock back."),
		line(event.Retried, "A slow read succeeded at last", "Reading was slow and a repeated attempt was fast enough. Nothing was condemned, but this machine comes close to it.", "5.14 to 7.0, 5.10.50 and later", Harmless, "Take it as a warning that latency may cost the TSC."),
		line(event.BusyReference, "The reference is slow to read", "Two reads of the reference in a row took long, so the bus is busy and the check was skipped. The next line says so.", "5.17 to 7.0, 5.15.17, 5.10.94 and later", Harmless, "Nothing, unless it repeats for hours."),
		line(event.TestSkipped, "The skew test was skipped", "The second line of a skip. No conclusion was drawn. From 6.3 on the watchdog then rests for five minutes.", "5.17 to 7.0, 5.15.17, 5.10.94 and later", Harmless, "Nothing, unless it repeats for hours."),
		line(event.LongInterval, "The check came too late to be fair", "More than a second passed since the last check, so no conclusion was drawn. The line appears only when the interval at least doubles the longest one reported so far.", "6.8 to 7.0, 6.6.15, 6.1.78, 5.10.210 and later", Harmless, "Find the stall if it was long."),
		line(event.ProbableStall, "A clock advanced oddly over a jiffy interval", "A proposed patch skips the check when the reference advanced far too little or too much for the ticks that passed.", "none: a proposed patch in some trees", Harmless, "Look for overload or a paused guest."),
		line(event.CoarseCheck, "A coarse check after slow reads", "A design that was never merged compares once with a wide limit and then starts anew.", "none: never merged", Harmless, "Nothing."),
		line(event.MaxSkewRaised, "The limit was raised", "A design that was never merged raises the limit to twice the observed delay.", "none: never merged", Harmless, "Nothing."),
		line(event.FrequencyVerdict, "Verdict: frequency skew", "Both clocks ran at different rates over the interval, by more than 488 ppm if both are calibrated and 3906 ppm otherwise, plus the time of reading. Two lines with the intervals follow.", rewrite, Serious, "Compare the intervals; a very short one, or a paused guest, proves nothing."),
		line(event.InterCPUVerdict, "Verdict: CPUs disagree", "A counter value read on one CPU was behind a value read before on another. This is direct evidence against the counter.", rewrite, Serious, "Stay on the fallback clock; power cycle and firmware update."),
		line(event.ReferenceSpan, "The reference's interval", "How long the interval was by the reference.", rewrite, Depends, "Compare it with the next line and with half a second."),
		line(event.WatchedSpan, "The accused clock's interval", "How long the interval was by the watched clock.", rewrite, Depends, "Compare it with the line before."),
		line(event.CPUOrder, "The two values that were out of order", "The smaller time stamp first, each with its CPU. The difference is the least size of the offset in cycles.", rewrite, Depends, "Note the CPUs: a whole socket points to firmware."),
		line(event.ReadTimedOut, "A read of the reference timed out", "Reading was slow three times, and the watchdog gave up this round and forgot its saved values. Nothing is condemned for that any more.", rewrite, Harmless, "Nothing."),
		line(event.RemoteTimedOut, "A remote CPU did not answer in time", "The comparison with another CPU was given up this round. The line is printed once per boot.", rewrite, Harmless, "Nothing."),
		line(event.VerifyStarted, "The CPUs are compared after a verdict", "The current clock was condemned and the kernel now compares it between CPUs. It only informs. In the form without a list all CPUs are checked.", "5.14 to 7.0, 5.10.50 and later (level info since 6.14)", Depends, "If no line on CPUs ahead or behind follows, the clock agreed everywhere it was checked."),
		line(event.VerifyAhead, "CPUs are ahead", "The counters of these CPUs are ahead of the checking CPU's: evidence of a real offset.", "5.14 to 7.0, 5.10.50 and later", Serious, "Stay on the fallback clock; power cycle and firmware update."),
		line(event.VerifyBehind, "CPUs are behind", "The counters of these CPUs are behind the checking CPU's: evidence of a real offset.", "5.14 to 7.0, 5.10.50 and later", Serious, "Stay on the fallback clock; power cycle and firmware update."),
		line(event.VerifyDurations, "How long the comparison took", "The shortest and longest time of a comparison. Long times mean that a small offset could hide in them. Before 7.0 the line comes only with one on CPUs ahead or behind.", "5.14 to 7.0, 5.10.50 and later", Harmless, "Nothing."),
		line(event.VerifyImpossible, "There is no second CPU to compare with", "The check after a verdict found no other CPU. It proves that a verdict came before.", judges, Depends, "Find the verdict."),
	}
}

// tscMessages are lines about the TSC, its calibration and its test at boot.
func tscMessages() []Entry {
	return []Entry{
		line(event.TSCUnstable, "The TSC was marked unstable", "The reason stands in the line. \"clocksource watchdog\" repeats a verdict; \"check_tsc_sync_source failed\" is the test at boot; \"running on Hyper-V\", \"boot parameter\" and idle states are by design.", "all (\"clocksource watchdog\" since about 4.13)", Serious, "Act on the reason, not on this line."),
		line(event.TSCBrokenBIOS, "The kernel guesses at a broken BIOS", "A standard text after any verdict in a running system. It knows nothing of the BIOS, and the parameter that it proposes gives the TSC up for good.", "about 4.13 and later", Depends, "Do not follow it before the verdict is understood."),
		line(event.SchedUnstable, "The scheduler's clock became unstable", "A consequence of a verdict on the TSC. The numbers are the two clocks and their offsets; printk stamps change their base here and may jump back.", "about 4.13 and later", Depends, "Distrust the order of stamps after this line."),
		line(event.SchedStable, "The scheduler's clock is stable", "Printed once at boot on machines with a good TSC.", "about 4.13 and later", Harmless, "Nothing."),
		line(event.SyncTest, "A synchronisation test between two CPUs", "The head of a failure, or a report of success in older kernels. The next line gives the size.", everyRelease, Depends, "Read the warp line."),
		line(event.Warp, "The test saw the TSC step back", "The size of the step in cycles. Below 1000 it is noise of the test; above, the CPUs' counters differ.", everyRelease, Depends, "Below 1000: reboot or newer kernel. Above: power cycle, firmware."),
		line(event.RandomWarp, "Both CPUs saw the other step back", "The counters do not differ by a fixed offset: both directions failed.", everyRelease, Serious, "Do not trust the TSC of this machine."),
		line(event.AdjustCompensated, "The kernel repaired an offset", "A warp was undone by writing TSC_ADJUST, and the test is repeated. If no failure follows, the repair worked.", "CPUs with TSC_ADJUST", Depends, "Update the firmware: it left the offset."),
		line(event.AdjustForced, "Firmware left a value in TSC_ADJUST", "The boot CPU's register was not zero and the kernel set it, or left it where it may not.", "CPUs with TSC_ADJUST", Depends, "Update the firmware if time is in doubt."),
		line(event.AdjustDiffers, "TSC_ADJUST changed behind the kernel's back", "Firmware wrote the register while the system ran, and the kernel put the old value back. Time may have jumped in between.", "CPUs with TSC_ADJUST; every ten minutes since 5.16", Serious, "Update the firmware."),
		line(event.AdjustSocket, "TSC_ADJUST differs within a socket", "The kernel makes all CPUs of the socket alike. Printed once.", "CPUs with TSC_ADJUST", Depends, "Update the firmware."),
		line(event.AsyncResets, "Sockets may have been reset apart", "A large system tells that its sockets do not start together, so equal TSC_ADJUST values prove nothing.", "SGI UV systems", Harmless, "Nothing: it is a property of the system."),
		line(event.TSCDetected, "The first TSC frequency", "From CPUID, an MSR or a quick calibration. It turns counter values into time.", everyRelease, Harmless, "Nothing."),
		line(event.TSCRefined, "The refined TSC frequency", "Measured against a timer over about a second. It should differ from the first by a few ppm to some hundred.", everyRelease, Harmless, "More than 500 ppm of difference is suspicious."),
		line(event.TSCCalibration, "How the calibration went", "Which timer was used and whether it worked. A failed quick calibration is normal on machines without a PIT and in guests.", everyRelease, Harmless, "Nothing, if a frequency was found in the end."),
		line(event.TSCFreqDiffers, "Two sources disagree on the frequency", "The frequency from CPUID or an MSR and the one measured differ by more than 500 ppm.", "6.3 and later, with tsc=recalibrate", Serious, "Firmware update; until then keep tsc=recalibrate."),
		line(event.TSCFreqPrevious, "The frequency before recalibration", "The value that CPUID or the MSR gave.", "6.3 and later, with tsc=recalibrate", Depends, "Compare it with the new one."),
		line(event.TSCFreqNew, "The frequency after recalibration", "The value that the kernel uses from here on.", "6.3 and later, with tsc=recalibrate", Depends, "Compare it with the previous one and with NTP."),
		line(event.TSCOption, "Options contradict each other", "tsc=watchdog and tsc=nowatchdog were both given, and the latter wins.", "6.3 to 7.0", Harmless, "Remove one of them."),
	}
}

// machineMessages are lines about other clocks, the machine and what came first.
func machineMessages() []Entry {
	return []Entry{
		line(event.HPETCounter, "The HPET's rate", "The number of comparators and the frequency of the counter. 100 MHz is the emulated HPET of QEMU.", everyRelease, Harmless, "Nothing."),
		line(event.HPETDisabled, "The kernel turned the HPET off", "Its registers are wrong, it does not count, or the chipset is known to be unreliable. The watchdog uses the PM timer.", everyRelease, Depends, "Nothing, unless a program needs the HPET."),
		line(event.HPETPC10, "The HPET stops in package sleep", "The kernel found that the HPET halts in PC10 and does not use it, or was forced to use it all the same.", "about 5.16 and later", Harmless, "Remove hpet=force if it is given."),
		line(event.PMTimer, "The PM timer has a fault", "The chipset needs a slow triple read, or the timer is inconsistent or runs at a wrong rate and is not used.", everyRelease, Depends, "Nothing, if another reference exists."),
		line(event.KVMClock, "kvm-clock announces itself", "The machine is a KVM guest and has the paravirtual clock.", everyRelease, Harmless, "Nothing."),
		line(event.Version, "The kernel's version", "It names the release, and on Debian also the stable number. It begins a boot.", everyRelease, Harmless, "Nothing."),
		line(event.CommandLine, "The kernel command line", "Options that turn the watchdog off or choose a clock stand here.", everyRelease, Harmless, "Nothing."),
		line(event.Hypervisor, "The hypervisor", "The machine is a guest: pauses and emulated timers become likely causes.", everyRelease, Harmless, "Nothing."),
		line(event.Platform, "The machine's model", "It tells hardware, or the hypervisor in disguise.", everyRelease, Harmless, "Nothing."),
		line(event.CPUModel, "The CPU's model", "It tells which TSC to expect.", everyRelease, Harmless, "Nothing."),
		line(event.CPUsUp, "How many CPUs are up", "The number decides the automatic retries from 6.9 on, and nodes and packages decide whether the TSC is watched.", everyRelease, Harmless, "Nothing."),
		line(event.Stall, "Something stood still", "A lock-up, an RCU stall, a hung task or a late interrupt. The watchdog's timer may have been late because of it.", everyRelease, Serious, "Find the cause; clock lines after it are effects."),
		line(event.HardwareError, "A hardware error", "A machine check or an uncorrected memory or bus error.", everyRelease, Serious, "Decode it and replace the part."),
		line(event.CorrectedErr, "A corrected hardware error", "The hardware repaired it. Many of them can stall a machine through the firmware that logs them.", everyRelease, Depends, "Count them; replace the part if they grow."),
		line(event.DriverFault, "A driver or device failed", "A device hung or was reset, which can hold the machine for seconds.", everyRelease, Serious, "Repair the device or the driver first."),
		line(event.SuspendEntry, "The machine goes to sleep", "Counters may stop or be rewritten until it wakes.", everyRelease, Harmless, "Nothing."),
		line(event.SuspendExit, "The machine woke up", "The first checks after this compare across the gap.", everyRelease, Harmless, "Doubt a verdict that follows at once."),
		line(event.CPUsOnline, "CPUs came back", "After sleep or by hot plug. Each is tested against the others again.", everyRelease, Harmless, "Doubt a verdict that follows at once."),
		line(event.FrequencyTool, "A tool writes registers of the CPU", "Programs that write MSRs or overclock can change the TSC or its rate.", everyRelease, Depends, "If the TSC jumped afterwards: stop the tool."),
		line(event.SelfTest, "The kernel tests itself", "The lines belong to the clocksource test or to error injection. What it condemns is a fake clock.", "5.14 and later", Harmless, "Ignore them."),
		line(event.VMRestored, "A guest was restored", "From a snapshot. Its clocks may be behind, and the TSC may have changed.", everyRelease, Depends, "Check the time; prefer the hypervisor's clock."),
		line(event.ClockDrift, "A time daemon finds the clock off", "The correction that it needs is out of range, or the time is off by much.", "chronyd, ntpd: not a kernel line", Depends, "A constant large correction points to a wrong frequency."),
		line(event.LookAlike, "A line that only looks like one of these", "It speaks of a watchdog, a TSC or a timer and says nothing about a clocksource: lock-up detectors, hardware watchdogs, TSC stamps of machine checks, TSC scaling of a hypervisor.", everyRelease, Harmless, "Nothing for the clock; the line may matter for other reasons."),
		line(event.TimeJumped, "Time went backwards", "The journal saw a time stamp before the last one. With the watchdog off this may be the only sign of a bad TSC.", "systemd-journald: not a kernel line", Serious, "Check the command line for an option that hides the fault."),
	}
}
