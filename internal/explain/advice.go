package explain

const sysfs = "/sys/devices/system/clocksource/clocksource0"

func advise(id, title, what, when, action string, risk Risk, command string) Entry {
	return Entry{ID: id, Class: Advice, Title: title, What: what, Evidence: when, Action: action, Risk: risk, Command: command}
}

func advice() []Entry {
	return []Entry{
		advise("nothing", "Do nothing", "No action is needed. The log or the machine shows no fault of a clock, or one that does not matter.",
			"Healthy machines, lines that are normal on a hypervisor, verdicts without effect.", "Leave everything as it is.", NoRisk, ""),
		advise("upgrade-kernel", "Use a newer kernel", "Later kernels judge more fairly: wider read limits from 6.3 and 6.12, no verdict over long intervals from 6.8, and from 7.1 on no verdict for latency at all. Older machines profit from the detection of an HPET that stops in PC10.",
			"The verdict came from a rule that was changed later.", "Install the newest kernel that the distribution supports, and check its stable number: backports differ.", UntilReboot, ""),
		advise("tsc-nowatchdog", "Boot with tsc=nowatchdog", "The kernel no longer compares the TSC with a reference, but still tests at boot that the CPUs agree. A later fault of the TSC would go unnoticed.",
			"The log clears the TSC and the kernel cannot be replaced (5.4 and later).", "Check the order across CPUs first, then add the option and reboot.", UntilReboot, "tsc=nowatchdog    # on the kernel command line, then reboot"),
		advise("tsc-reliable", "Boot with tsc=reliable", "The kernel trusts the TSC without watchdog and without the synchronisation test at boot. If the TSC is wrong, time goes wrong silently.",
			"Only where somebody guarantees the TSC, such as the owner of a hypervisor. tsc=nowatchdog is the milder choice.", "Never where the log convicts or half-convicts the TSC.", Unsafe, "tsc=reliable    # on the kernel command line, then reboot"),
		advise("tsc-unstable-parameter", "Boot with tsc=unstable", "The TSC is given up from the start, as the kernel's own text proposes. The machine stays on a slower clock for good.",
			"The TSC is really bad and the late switch disturbs.", "Do not use it to get the TSC back: it does the opposite.", UntilReboot, "tsc=unstable    # on the kernel command line, then reboot"),
		advise("reboot-to-restore", "Reboot to get the TSC back", "A clock that was condemned stays condemned until the next boot. Writing its name to sysfs is accepted and does nothing.",
			"The log clears the TSC.", "Reboot at a convenient time. Without another change the same thing can happen again.", UntilReboot, "reboot"),
		advise("power-cycle", "Switch the machine fully off and on", "A full loss of power resets every counter together, which a warm reboot does not.",
			"The CPUs' TSCs differ at boot on bare metal.", "Power off, remove power for half a minute, and start again.", UntilReboot, "poweroff    # then cut the power for 30 seconds"),
		advise("firmware-update", "Update BIOS, UEFI or AGESA", "Offsets between CPUs, writes to TSC_ADJUST and wrong frequencies come from firmware.",
			"Bare metal with firmware lines or an offset. Never inside a guest.", "Install the vendor's newest firmware and power-cycle.", UntilReboot, ""),
		advise("stay-on-fallback", "Stay on the fallback clock", "The HPET, the PM timer or another clock is slow but right. With a bad TSC that is the safe state.",
			"The log convicts the TSC, or does not decide.", "Leave the current clock and plan the repair.", NoRisk, "cat "+sysfs+"/current_clocksource"),
		advise("check-cross-cpu-sync", "Test the order of the TSC across CPUs", "A user-space test that passes a counter value from CPU to CPU shows whether time ever steps back. It is the only proof that the watchdog's comparison with one reference does not give.",
			"Before any option that trusts the TSC.", "Run it for minutes on all CPUs, idle and loaded. A single step back means: do not trust the TSC.", NoRisk, "fio --cpuclock-test    # of the package fio"),
		advise("find-the-stall", "Find what held up the machine", "The watchdog came late because its CPU, or the whole machine, stood still. The cause is in the lines before the verdict, or in the host.",
			"Long intervals, wraps, lock-ups beside the verdict.", "Read the log from a minute before the verdict.", NoRisk, "journalctl -k -b | grep -iE 'lockup|stall|blocked for|hung|Machine Check|Xid'"),
		advise("fix-hardware-error", "Act on the hardware error", "A machine check, a PCIe error or a failing device stands in the log and came first.",
			"Only with such a line.", "Decode it, replace the part, then look at the clock again.", Reversible, "journalctl -k | grep -iE 'Hardware Error|Machine Check|Xid|AER|EDAC'"),
		advise("hpet-disable", "Boot with hpet=disable", "The HPET is not used, neither as a reference nor as a fallback. The watchdog takes the PM timer instead.",
			"The HPET stops in package sleep or is broken. Never where the TSC is bad or undecided: a fallback would be lost.", "Add the option and reboot.", UntilReboot, "hpet=disable    # on the kernel command line, then reboot"),
		advise("remove-reference", "Change or remove the reference", "The clock that the watchdog trusts is wrong or slow. Without it the kernel takes the next best reference.",
			"A second witness convicts the reference, or a guest has an emulated HPET.", "In a virtual machine remove the HPET from its definition; on bare metal disable or repair the reference.", Reversible, "<timer name='hpet' present='no'/>    # libvirt; QEMU: -machine hpet=off"),
		advise("fix-frequency", "Correct the TSC frequency", "The kernel gets the frequency from CPUID, an MSR or firmware, and it is wrong. A calibration against a timer, an early value or a firmware update corrects it.",
			"The same error in ppm at every check, or a recalibration that differs by more than 500 ppm.", "Try tsc=recalibrate (6.3 and later) and compare with NTP.", UntilReboot, "tsc=recalibrate    # on the kernel command line, then reboot"),
		advise("ask-host", "Look at the host", "Pauses, migration, overcommitment and TSC offsets happen outside of the guest, and only the host's log shows them.",
			"A guest whose clocks disagree.", "Give the owner of the host the time of the event and ask about pauses, load, and whether the guest gets an invariant TSC.", NoRisk, ""),
		advise("use-kvm-clock", "Use the hypervisor's clock", "kvm-clock, or the clock of another hypervisor, is fast, survives pauses and migration, and needs no watchdog's trust in the TSC.",
			"A guest on a slow or doubtful clock.", "Choose it at run time, then on the command line.", Reversible, "echo kvm-clock > "+sysfs+"/current_clocksource"),
		advise("set-clocksource-tsc", "Choose tsc", "The TSC becomes the current clock. It works only while the kernel still accepts it: a condemned TSC is refused without an error.",
			"No verdict in this boot, and tsc in the list of available clocks.", "Write the name, read it back, then make it permanent with clocksource=tsc.", Reversible, "echo tsc > "+sysfs+"/current_clocksource"),
		advise("set-clocksource", "Choose the better clocksource that the kernel lists", "The kernel lists the clocks that it accepts in its own order of preference. A faster sound one is not in use, because somebody chose another.",
			"The current clock is slow to read and the list has a better one.", "Write the name, read it back, and remove the choice of the slow clock from the command line or the start-up scripts.", Reversible, "echo NAME > "+sysfs+"/current_clocksource"),
		advise("switch-away", "Switch to another clocksource now", "The kernel keeps time with a counter that was just measured and is wrong. Another clock that it lists is slower to read, and right.",
			"The live counters convict the TSC while it is in use.", "Write the name and read it back. Plan the repair, and put the choice on the command line until then.", Reversible, "echo NAME > "+sysfs+"/current_clocksource"),
		advise("synchronise-clock", "Let a time daemon discipline the clock", "Without NTP or PTP the system clock drifts by the error of its crystal, some seconds a day.",
			"The kernel's clock is not marked as disciplined, or needs a correction near the limit.", "Enable one time daemon and watch its frequency correction.", Reversible, "timedatectl set-ntp true; chronyc tracking"),
		advise("capture-full-log", "Collect the whole kernel log", "A filtered or cut log has lost the lines that decide: the reference line holds no \"tsc\", and the cause stands before the verdict.",
			"The verdict is undecided.", "Collect it without a filter.", NoRisk, "journalctl -k -b --no-pager -o short-monotonic > kernel.log    # or: dmesg > kernel.log"),
		advise("raise-read-retries", "Allow more read retries", "The kernel tries again more often before it gives up on a slow read. It helps against short disturbances and little against long ones, and it needs a kernel that has the parameter.",
			"Slow reads on 5.14 to 6.8 or 5.10.50 and later, where an upgrade is not possible.", "Set it at run time and on the command line. It does not bring back a TSC that is already condemned. Whoever has counted boots learns from cswatch fit how many retries a wanted rate needs.", Reversible, "echo 50 > /sys/module/clocksource/parameters/max_cswd_read_retries    # boot: clocksource.max_cswd_read_retries=50"),
		advise("remove-option", "Remove the option", "The option hides a fault or is not honoured by this kernel.",
			"The command line holds it and the log contradicts it.", "Take it off the command line, reboot, and see what the watchdog says.", UntilReboot, ""),
		advise("stop-the-tool", "Stop the tool that writes the TSC", "A program that writes MSRs or overclocks changed the counter or its rate.",
			"The tool's lines stand before the jump.", "Remove it from the start-up, then reboot: the counter stays wrong until then.", UntilReboot, ""),
		advise("limit-c-states", "Limit deep sleep of the CPU", "Without deep idle states the TSC or the HPET does not stop. The machine uses more power and runs hotter.",
			"The counter halts in idle and nothing else helps.", "Try it and measure the cost.", UntilReboot, "processor.max_cstate=1 intel_idle.max_cstate=0    # on the kernel command line, then reboot"),
		advise("report-resume-problem", "Report it as a resume problem", "Clocks that disagree after sleep are a defect of firmware or of the kernel's resume path.",
			"The verdict lies in a suspend or resume window.", "Save the log from before suspend until after the verdict, note the firmware version, and report both.", NoRisk, ""),
		advise("measure-drift", "Compare with an independent clock", "NTP, PTP or the hardware clock tells which of two clocks runs wrong.",
			"Two clocks disagree and nothing in the log takes sides.", "Watch the frequency correction for an hour.", NoRisk, "chronyc tracking"),
		advise("clocksource-failover", "Allow failover on RHEL 6", "That kernel notices an unstable clock but stays on it unless this parameter is given.",
			"A RHEL 6 line that ends with a hint on the parameter.", "Add it only if the clock is really bad; after a stall the better answer is to find the stall.", UntilReboot, "clocksource_failover    # on the kernel command line, then reboot"),
		advise("fix-device-tree", "Correct the clock rate of the board", "The counter runs at another rate than the device tree or the firmware claims.",
			"Another architecture with a large constant drift.", "Correct clock-frequency in the device tree, or the code that sets the counter's rate.", UntilReboot, ""),
	}
}

func lacking(id, title, what, command string) Entry {
	return Entry{ID: id, Class: Missing, Title: title, What: what, Command: command, Action: "Get it as shown and ask again with the longer log."}
}

const wholeLog = "journalctl -k -b --no-pager -o short-monotonic"

func missing() []Entry {
	return []Entry{
		lacking("verdict-line", "The line that condemns the clock", "It was cut or filtered away. Without it neither the reason nor the clock is certain.", wholeLog),
		lacking("reference-line", "The line of the reference clock", "It holds wd_now and wd_last and no \"tsc\", so a search for tsc loses it. Without it the skew cannot be computed.", "journalctl -k -b | grep -iE 'clocksource|tsc|hpet|acpi_pm|wd_'"),
		lacking("watched-line", "The line of the watched clock", "It holds cs_now and cs_last, which show how far the accused clock moved.", wholeLog),
		lacking("warp-line", "The size of the warp", "\"Measured N cycles TSC warp\" tells noise (below 1000) from an offset.", "journalctl -k -b | grep -i 'warp'"),
		lacking("switch-line", "The switch after the verdict", "It names the clock that the machine runs on now. Without it the final clock is not known.", "cat "+sysfs+"/current_clocksource"),
		lacking("cross-cpu-check", "A check of the order across CPUs", "Whether the CPUs' counters agree decides between a false alarm and an offset. The kernel's own check follows a verdict from 5.14 to 7.0.", "journalctl -k -b | grep -E 'ahead of CPU|behind CPU|Checking clocksource'"),
		lacking("cmdline", "The kernel command line", "Options turn the watchdog off, choose a clock or limit sleep states; silence means something else with them.", "cat /proc/cmdline"),
		lacking("kernel-version", "The kernel version", "Limits, retries and messages differ between releases, and distributions hide the stable number from uname -r.", "cat /proc/version /proc/version_signature; uname -rv"),
		lacking("platform", "Bare metal or which hypervisor", "A pause or a slow emulated timer explains in a guest what would be a fault on bare metal.", "systemd-detect-virt; cat /sys/class/dmi/id/product_name"),
		lacking("cpu-model", "The CPU model and its TSC flags", "Whether the TSC is constant, goes on in sleep and can be adjusted decides what a verdict can mean.", "grep -m2 -E 'model name|flags' /proc/cpuinfo"),
		lacking("times", "Usable time stamps", "Without them the order of stall and verdict, and the distance from boot, cannot be told.", wholeLog),
		lacking("earlier-lines", "The log before the event", "What came first decides between cause and effect.", wholeLog),
		lacking("second-witness", "A third clock", "Two clocks disagree; a third one tells which of them is wrong.", "chronyc tracking; hwclock --show"),
		lacking("tsc-frequency", "The frequency of the TSC", "Without it hexadecimal counter values cannot be turned into time.", "journalctl -k -b | grep -E 'tsc: (Detected|Refined)|clocksource: tsc'"),
		lacking("reference-frequency", "The rate of the reference", "HPETs run at 14.318, 19.2, 24, 25 or 100 MHz; hexadecimal values mean nothing without it.", "journalctl -k -b | grep -E 'hpet.*MHz|clocksource: hpet'"),
		lacking("reference-name", "Which clock was the reference", "The old one-line verdict does not name it, and a wrap can be tested only for a known clock.", "cat "+sysfs+"/available_clocksource"),
		lacking("clocksource-sysfs", "The clocksource folder of sysfs", "It names the current clock and those that the kernel accepts. A container often hides it.", "cat "+sysfs+"/current_clocksource "+sysfs+"/available_clocksource    # in a container: mount /sys read-only"),
		lacking("kernel-log", "The kernel's log", "Only it tells whether and why a clock was condemned.", "sudo dmesg > dmesg.txt; cswatch doctor --log dmesg.txt    # or once: sysctl kernel.dmesg_restrict=0"),
		lacking("live-counters", "A watch over the live counters", "A log tells of the past. Whether the CPUs' counters agree now, and whether reading them is slow now, only the running machine tells.", "sudo cswatch doctor --live 5s    # on the machine itself, outside of a container"),
		lacking("host-log", "The log of the host", "Pauses, migrations and overload are seen only there.", "journalctl -k -b --no-pager    # on the host"),
	}
}
