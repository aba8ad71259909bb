package klog

import "github.com/cswatch/cswatch/event"

// tscMessages are the lines of the TSC's code, its synchronisation test and sched_clock.
func tscMessages() []message {
	const tsc = "tsc: "
	const bug = "[Firmware Bug]: "
	return []message{
		{kind: event.TSCUnstable, prefix: tsc, text: "Marking TSC unstable| due to {rest}", level: info, life: "2.6.2x-"},
		{kind: event.TSCUnstable, prefix: tsc, text: "Marking TSC unstable due to: |{rest}", reads: variant, life: "2.6.1x"},
		{kind: event.TSCBrokenBIOS, text: "TSC found unstable after boot,| most likely due to broken BIOS. Use 'tsc=unstable'.", level: warn, life: "4.13-"},
		{kind: event.SchedUnstable, prefix: "sched_clock: ", text: "Marking unstable (|{a}, {b})<-({c}, {d})", level: info, life: "4.13-"},
		{kind: event.SchedStable, prefix: "sched_clock: ", text: "Marking stable (|{a}, {b})->({c}, {d})", level: info, life: "4.13-"},
		{kind: event.SyncTest, text: "TSC synchronization [CPU#{cpu} -> CPU#{peer}]: passed.", level: info, life: "2.6.21-3.x", detail: "passed"},
		{kind: event.SyncTest, text: "TSC synchronization [CPU#{cpu} -> |CPU#{peer}]:", level: warn, life: "2.6.21-"},
		{kind: event.SyncTest, text: "checking TSC synchronization [CPU#{cpu} -> CPU#{peer}]: passed.", reads: variant, life: "2.6.2x", detail: "passed"},
		{kind: event.SyncTest, text: "checking TSC synchronization [CPU#{cpu} -> |CPU#{peer}]:", reads: variant, life: "2.6.2x"},
		{kind: event.SyncTest, text: "checking TSC synchronization across {_} CPUs: passed.", reads: variant, life: "2.6.1x", detail: "passed"},
		{kind: event.SyncTest, text: "Skipped synchronization checks as TSC is reliable.", level: info, life: "-4.4", detail: "skipped"},
		{kind: event.Warp, text: "Measured {cycles} cycles TSC warp| between CPUs, turning off TSC clock.", level: warn, life: "2.6.21-"},
		{kind: event.RandomWarp, text: "TSC warped randomly between CPUs", level: warn, life: "2.6.21-"},
		{kind: event.AdjustCompensated, text: "TSC ADJUST compensate: CPU{cpu} observed |{cycles} warp. Adjust: {other}", level: warn, life: "4.11-"},
		{kind: event.AdjustForced, prefix: bug, text: "TSC ADJUST: CPU{cpu}: |{cycles} force to 0", level: warn, life: "4.11-"},
		{kind: event.AdjustForced, text: "TSC ADJUST: CPU{cpu}: {cycles} NOT forced to 0", level: info, life: "4.11-", detail: "not forced"},
		{kind: event.AdjustDiffers, prefix: bug, text: "TSC ADJUST differs: CPU{cpu} |{cycles} --> {other}. Restoring", level: warn, life: "4.11-"},
		{kind: event.AdjustSocket, prefix: bug, text: "TSC ADJUST differs within socket(s),| fixing all errors", level: warn, life: "4.11-"},
		{kind: event.AsyncResets, prefix: tsc, text: "Marking TSC async resets true| due to {rest}", level: info, life: "5.5-"},
		{kind: event.TSCDetected, prefix: tsc, text: "Detected {mhz} MHz processor|", level: info, life: "2.6-"},
		{kind: event.TSCDetected, prefix: tsc, text: "Detected {mhz} MHz TSC|", level: info, life: "4.x-", detail: "TSC"},
		{kind: event.TSCRefined, prefix: tsc, text: "Refined TSC clocksource calibration: |{mhz} MHz", level: info, life: "2.6.38-"},
		{kind: event.TSCFreqDiffers, prefix: tsc, text: "Warning: TSC freq calibrated by CPUID/MSR| differs from what is calibrated by HW timer, please check with vendor!!", level: warn, life: "6.3-"},
		{kind: event.TSCFreqPrevious, prefix: tsc, text: "Previous calibrated TSC freq:\t |{mhz} MHz", level: info, life: "6.3-"},
		{kind: event.TSCFreqNew, prefix: tsc, text: "TSC freq recalibrated by [{cur}]:\t |{mhz} MHz", level: info, life: "6.3-"},
		{kind: event.TSCCalibration, prefix: tsc, text: "Fast TSC calibration failed", level: info, life: "2.6.28-", detail: "failed"},
		{kind: event.TSCCalibration, prefix: tsc, text: "Fast TSC calibration using |{rest}", level: info, life: "2.6.28-"},
		{kind: event.TSCCalibration, prefix: tsc, text: "Unable to calibrate against| PIT", level: warn, life: "2.6.28-", detail: "no PIT"},
		{kind: event.TSCCalibration, prefix: tsc, text: "No reference (HPET/PMTIMER) available", level: info, life: "2.6.28-", detail: "no reference"},
		{kind: event.TSCCalibration, prefix: tsc, text: "HPET/PMTIMER calibration failed", level: warn, life: "2.6.28-", detail: "reference failed"},
		{kind: event.TSCCalibration, prefix: tsc, text: "using {cur} reference calibration", level: info, life: "2.6.28-"},
		{kind: event.TSCCalibration, prefix: tsc, text: "Using PIT calibration value", level: info, life: "2.6.28-", detail: "PIT"},
		{kind: event.TSCCalibration, prefix: tsc, text: "PIT calibration matches |{cur}. {_} loops", level: info, life: "2.6.28-"},
		{kind: event.TSCCalibration, prefix: tsc, text: "PIT calibration deviates from |{cur}: {_} {_}", level: warn, life: "2.6.28-", detail: "deviates"},
		{kind: event.TSCCalibration, prefix: tsc, text: "using CPUID[0x15] |{rest}", reads: variant, life: "vendor"},
		{kind: event.TSCOption, prefix: tsc, text: "tsc_setup: |{rest}", level: alert, life: "6.3-7.0"},
		{kind: event.TSCOption, text: "Kernel compiled with CONFIG_X86_TSC, cannot disable| TSC completely", level: warn, life: "-4.14"},
	}
}

// clockMessages are the lines of the HPET, the PM timer and kvm-clock.
func clockMessages() []message {
	return []message{
		{kind: event.HPETCounter, text: "hpet{_} {_} comparators, {_} {mhz6} MHz counter|", reads: variant, life: "2.6.2x-"},
		{kind: event.HPETPC10, prefix: "hpet: ", text: "HPET dysfunctional in PC10.| Force disabled.", level: info, life: "5.16-"},
		{kind: event.HPETPC10, prefix: "hpet: ", text: "HPET force enabled via command line, but dysfunctional in PC10.|", level: warn, life: "5.16-", detail: "forced on"},
		{kind: event.HPETDisabled, prefix: "hpet: ", text: "Config register invalid. Disabling| HPET", level: warn, life: "2.6-"},
		{kind: event.HPETDisabled, prefix: "hpet: ", text: "Counter not counting. HPET| disabled", level: warn, life: "2.6-"},
		{kind: event.HPETDisabled, prefix: "x86/hpet: ", text: "Will disable the HPET for this platform| because it's not reliable", level: info, life: "4.x-"},
		{kind: event.PMTimer, text: "* Found PM-Timer Bug on the chipset.| Due to workarounds for a bug,", level: warn, life: "2.6-"},
		{kind: event.PMTimer, text: "PM-Timer running at invalid rate: |{_} of normal - aborting.", reads: variant, life: "2.6-"},
		{kind: event.PMTimer, text: "PM-Timer had inconsistent results: |{rest}", reads: variant, life: "2.6-"},
		{kind: event.PMTimer, text: "PM-Timer failed consistency check |{rest}", reads: variant, life: "2.6-"},
		{kind: event.KVMClock, prefix: "kvm-clock: ", text: "Using msrs |{rest}", level: info, life: "2.6.26-"},
		{kind: event.KVMClock, prefix: "kvm-clock: ", text: "using sched offset of |{rest}", level: info, life: "4.x-"},
		{kind: event.KVMClock, text: "kvm-clock: cpu {cpu}, msr |{rest}", level: info, life: "2.6.26-"},
	}
}
