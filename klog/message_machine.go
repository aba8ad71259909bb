package klog

import "github.com/cswatch/cswatch/event"

// machineMessages are boot lines that say what machine and kernel this is.
func machineMessages() []message {
	return []message{
		{kind: event.Version, text: "Linux version |{rest}", level: 5, life: "all"},
		{kind: event.CommandLine, text: "Kernel command line: |{rest}", level: 5, life: "all"},
		{kind: event.CommandLine, text: "Command line: |{rest}", level: info, life: "x86"},
		{kind: event.Hypervisor, text: "Hypervisor detected: |{rest}", level: info, life: "2.6.3x-"},
		{kind: event.Hypervisor, text: "Booting paravirtualized kernel on |{rest}", level: info, life: "2.6.2x-"},
		{kind: event.Hypervisor, text: "Hyper-V Host Build:|{*}", reads: variant, life: "3.x-", detail: "Microsoft Hyper-V"},
		{kind: event.Hypervisor, prefix: "Hyper-V: ", text: "privilege flags low|{*}", reads: variant, life: "5.x-", detail: "Microsoft Hyper-V"},
		{kind: event.Hypervisor, text: "Xen version: |{*}", reads: variant, life: "2.6.3x-", detail: "Xen"},
		{kind: event.Hypervisor, text: "vmware: |{*}", reads: variant, life: "4.x-", detail: "VMware"},
		{kind: event.Hypervisor, text: "Linux is running as a z/VM guest|{*}", reads: variant, life: "s390", detail: "z/VM"},
		{kind: event.Hypervisor, text: "setup: Linux is running under KVM|{*}", reads: variant, life: "s390", detail: "KVM"},
		{kind: event.Platform, text: "DMI: |{rest}", level: info, life: "2.6.3x-"},
		{kind: event.Platform, text: "Machine model: |{rest}", level: info, life: "arm, riscv"},
		{kind: event.Platform, text: "OF: fdt: Machine model: |{rest}", level: info, life: "arm, riscv"},
		{kind: event.Platform, text: "setup: Linux is running natively|{*}", reads: variant, life: "s390", detail: "s390 LPAR"},
		{kind: event.CPUModel, text: "smpboot: CPU0: |{rest}", level: info, life: "3.x-"},
		{kind: event.CPUModel, text: "CPU0: Intel|{rest}", reads: variant, life: "2.6-"},
		{kind: event.CPUModel, text: "CPU0: AMD|{rest}", reads: variant, life: "2.6-"},
		{kind: event.CPUModel, text: "64-bit Loongson Processor probed |{rest}", reads: variant, life: "loongarch"},
		{kind: event.CPUModel, text: "Booting Linux on physical CPU |{rest}", reads: variant, life: "arm"},
		{kind: event.CPUsUp, text: "smp: Brought up {_} {_} {cycles} CPUs", reads: variant, life: "3.x-"},
		{kind: event.CPUsUp, text: "Brought up {cycles} CPUs", reads: variant, life: "2.6-"},
	}
}

// troubleMessages are lines of trouble elsewhere that can delay the watchdog or
// disturb a clock: what came first decides whether the clock is cause or victim.
func troubleMessages() []message {
	return []message{
		{kind: event.SelfTest, text: "clocksource_wdtest: {rest}", reads: anywhere, life: "5.14-"},
		{kind: event.SelfTest, text: "Planted return probe at read_hpet{rest}", reads: anywhere, life: "error injection"},
		{kind: event.Stall, text: "soft lockup - CPU#{cpu} stuck for |{seconds}s", reads: anywhere, life: "all", detail: "soft lockup"},
		{kind: event.Stall, text: "Watchdog detected hard LOCKUP| on cpu {cpu}", reads: anywhere, life: "all", detail: "hard lockup"},
		{kind: event.Stall, text: "workqueue lockup - pool|{*}", reads: anywhere, life: "4.5-", detail: "workqueue lockup"},
		{kind: event.Stall, text: "self-detected stall on CPU|{*}", reads: anywhere, life: "all", detail: "RCU stall"},
		{kind: event.Stall, text: "detected stalls on|{*}", reads: anywhere, life: "all", detail: "RCU stall"},
		{kind: event.Stall, text: "detected stall on|{*}", reads: anywhere, life: "all", detail: "RCU stall"},
		{kind: event.Stall, text: "detected expedited stalls on|{*}", reads: anywhere, life: "all", detail: "RCU stall"},
		{kind: event.Stall, text: "kthread starved for|{*}", reads: anywhere, life: "all", detail: "RCU stall"},
		{kind: event.Stall, text: "blocked for more than |{seconds} seconds", reads: anywhere, life: "all", detail: "hung task"},
		{kind: event.Stall, text: "/proc/sys/kernel/hung_task_timeout_secs|{*}", reads: anywhere, life: "all", detail: "hung task"},
		{kind: event.Stall, text: "hrtimer: interrupt took |{ns} ns", reads: anywhere, life: "all", detail: "long interrupt"},
		{kind: event.Stall, text: "Hangcheck:|{*}", reads: anywhere, life: "2.6-", detail: "hangcheck"},
		{kind: event.Stall, text: "sched: RT throttling activated|{*}", reads: anywhere, life: "all", detail: "RT throttling"},
		{kind: event.Stall, text: "rtc interrupts|{*}", reads: anywhere, life: "all", detail: "lost RTC interrupts"},
		{kind: event.CorrectedErr, text: "CE memory|{*}", reads: anywhere, life: "EDAC"},
		{kind: event.HardwareError, text: "Machine Check Exception|{*}", reads: anywhere, life: "all", detail: "machine check"},
		{kind: event.HardwareError, text: "UE memory|{*}", reads: anywhere, life: "EDAC", detail: "uncorrected memory error"},
		{kind: event.HardwareError, text: "Hardware event. This is not a software error|{*}", reads: anywhere, life: "mcelog", detail: "machine check"},
		{kind: event.CorrectedErr, text: "[Hardware Error]: {rest}", reads: anywhere, life: "all"},
		{kind: event.DriverFault, text: "NVRM: Xid{rest}", reads: anywhere, life: "nvidia"},
		{kind: event.DriverFault, text: "0xa5a5{*}", reads: anywhere, life: "iwlwifi", detail: "iwlwifi: device gone"},
		{kind: event.DriverFault, text: "Failed to wake NIC{*}", reads: anywhere, life: "iwlwifi", detail: "iwlwifi: device gone"},
		{kind: event.DriverFault, text: "Microcode SW error detected{*}", reads: anywhere, life: "iwlwifi", detail: "iwlwifi: firmware fault"},
		{kind: event.DriverFault, text: "AER: Uncorrected{rest}", reads: anywhere, life: "pcie"},
		{kind: event.DriverFault, text: "downloading firmware{*}", reads: anywhere, life: "dvb", detail: "firmware upload"},
		{kind: event.DriverFault, text: "GPU HANG{rest}", reads: anywhere, life: "i915"},
		{kind: event.DriverFault, text: "vboxdrv: Trying to deactivate the NMI watchdog{*}", reads: anywhere, life: "VirtualBox", detail: "vboxdrv loads and stops all CPUs"},
		{kind: event.DriverFault, text: "controller is down; will reset{rest}", reads: anywhere, life: "nvme"},
		{kind: event.SuspendEntry, text: "PM: suspend entry{*}", reads: anywhere, life: "all", detail: "suspend"},
		{kind: event.SuspendEntry, text: "hibernation entry{*}", reads: anywhere, life: "all", detail: "hibernation"},
		{kind: event.SuspendEntry, text: "Preparing to enter system sleep state |{word}", reads: anywhere, life: "all"},
		{kind: event.SuspendEntry, text: "PM: Syncing filesystems{*}", reads: anywhere, life: "all", detail: "suspend"},
		{kind: event.SuspendExit, text: "PM: suspend exit{*}", reads: anywhere, life: "all", detail: "suspend"},
		{kind: event.SuspendExit, text: "hibernation exit{*}", reads: anywhere, life: "all", detail: "hibernation"},
		{kind: event.SuspendExit, text: "Waking up from system sleep state |{word}", reads: anywhere, life: "all"},
		{kind: event.SuspendExit, text: "PM: Finishing wakeup{*}", reads: anywhere, life: "all", detail: "suspend"},
		{kind: event.SuspendExit, text: "PM: resume of devices complete{*}", reads: anywhere, life: "all", detail: "resume"},
		{kind: event.CPUsOnline, text: "Enabling non-boot CPUs{*}", reads: anywhere, life: "all", detail: "resume"},
		{kind: event.CPUsOnline, text: "Will online and init hotplugged CPU: |{cpu}", reads: anywhere, life: "all", detail: "hot plug"},
		{kind: event.CPUsOnline, text: "has been hot-added{*}", reads: anywhere, life: "all", detail: "hot plug"},
		{kind: event.FrequencyTool, text: "CoreFreq{rest}", reads: anywhere, life: "tool"},
		{kind: event.FrequencyTool, text: "Write to unrecognized MSR{rest}", reads: anywhere, life: "5.9-"},
		{kind: event.FrequencyTool, text: "intel-undervolt{rest}", reads: anywhere, life: "tool"},
		{kind: event.FrequencyTool, text: "ThrottleStop{rest}", reads: anywhere, life: "tool"},
		{kind: event.FrequencyTool, text: "zenstates{rest}", reads: anywhere, life: "tool"},
		{kind: event.VMRestored, text: "due to virtual machine fork{*}", reads: anywhere, life: "5.18-"},
	}
}

// lookAlikeMessages speak of a watchdog or of a TSC and are no clock events. They
// are known so that a reader who searched for those words gets an answer.
func lookAlikeMessages() []message {
	return []message{
		{kind: event.LookAlike, text: "NMI watchdog{*}", reads: anywhere, life: "all", detail: "NMI watchdog"},
		{kind: event.LookAlike, text: "TSC deadline timer{*}", reads: anywhere, life: "all", detail: "TSC deadline timer of the local APIC"},
		{kind: event.LookAlike, text: "TSC scaling supported{*}", reads: anywhere, life: "all", detail: "TSC scaling for guests"},
		{kind: event.LookAlike, text: "vboxdrv: TSC mode{*}", reads: anywhere, life: "VirtualBox", detail: "VirtualBox's view of the TSC"},
		{kind: event.LookAlike, text: "(watchdog_lock){*}", reads: anywhere, life: "lockdep", detail: "lock report"},
		{kind: event.LookAlike, text: "iTCO_wdt{*}", reads: anywhere, life: "all", detail: "hardware watchdog"},
		{kind: event.LookAlike, text: "softdog: {*}", reads: anywhere, life: "all", detail: "software watchdog"},
		{kind: event.LookAlike, text: "watchdog did not stop{*}", reads: anywhere, life: "all", detail: "hardware watchdog"},
	}
}

// daemonMessages are lines of time daemons: witnesses of drift where no
// watchdog exists. They are read only in records that name such a daemon.
func daemonMessages() []message {
	return []message{
		{kind: event.ClockDrift, text: "Frequency {ppm} ppm exceeds allowed maximum", reads: daemon, life: "chronyd"},
		{kind: event.ClockDrift, text: "frequency error {ppm} PPM exceeds tolerance{rest}", reads: daemon, life: "ntpd"},
		{kind: event.ClockDrift, text: "System clock wrong by |{rest}", reads: daemon, life: "chronyd"},
		{kind: event.ClockDrift, text: "time stepped by |{rest}", reads: daemon, life: "ntpd"},
		{kind: event.ClockDrift, text: "time reset |{rest}", reads: daemon, life: "ntpd"},
		{kind: event.ClockDrift, text: "clockcheck: clock jumped |{rest}", reads: daemon, life: "linuxptp"},
		{kind: event.Hypervisor, text: "Detected virtualization |{rest}", reads: daemon, life: "systemd"},
		{kind: event.TimeJumped, text: "Time jumped backwards{rest}", reads: daemon, life: "journald"},
	}
}
