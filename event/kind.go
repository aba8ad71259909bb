package event

// Kind names what a line says. The set is closed: labels and JSON carry these
// words, and an id once published keeps its meaning.
type Kind string

// Clocksource framework.
const (
	Registered        Kind = "registered"          // registration line with mask, max_cycles and max_idle_ns
	Switched          Kind = "switched"            // the kernel took another clocksource
	OverrideRefused   Kind = "override-refused"    // a wish for a condemned clock was refused
	OverrideDeferred  Kind = "override-deferred"   // a wish for a clock that is not usable yet was kept
	OverflowDanger    Kind = "overflow-danger"     // 11 % adjustment or cycle offset warnings of timekeeping
	HighresFailed     Kind = "highres-failed"      // high resolution or one-shot mode could not be entered
	TicksLost         Kind = "ticks-lost"          // 2.6.1x: timer interrupts were lost
	DeprecatedOption  Kind = "deprecated-option"   // clock= and the like
	InvalidVDSOMode   Kind = "invalid-vdso-mode"   // a clock lost its vDSO path at registration
	NonstopWithHooks  Kind = "nonstop-with-hooks"  // a nonstop clock with suspend hooks
	SuspendClockFails Kind = "suspend-clock-fails" // a clock for suspend could not be enabled
)

// The watchdog's decisions.
const (
	DeltaVerdict      Kind = "delta-verdict"      // up to 4.0: "unstable (delta = N ns)"
	SkewVerdict       Kind = "skew-verdict"       // header of the block of 4.1 to 7.0
	ReferenceInterval Kind = "reference-interval" // the wd_now/wd_last line of that block
	WatchedInterval   Kind = "watched-interval"   // the cs_now/cs_last line of that block
	SecondReference   Kind = "second-reference"   // a wd2_nsec line of a debugging patch
	SkewAmount        Kind = "skew-amount"        // 6.3 to 7.0: "skewed N ns over watchdog"
	CurrentClock      Kind = "current-clock"      // the block's line on which clock is current
	DelayVerdict      Kind = "delay-verdict"      // condemned because reading took too long
	Retried           Kind = "retried"            // reading succeeded after retries
	BusyReference     Kind = "busy-reference"     // 5.17 to 7.0: first line of a skip
	TestSkipped       Kind = "test-skipped"       // 5.17 to 7.0: second line of a skip
	LongInterval      Kind = "long-interval"      // 6.8 to 7.0: interval too long to compare
	ProbableStall     Kind = "probable-stall"     // a proposed patch: advanced by too little or too much over a jiffy interval
	CoarseCheck       Kind = "coarse-check"       // the never merged design that forgives latency
	MaxSkewRaised     Kind = "max-skew-raised"    // the never merged dynamic limit
	FrequencyVerdict  Kind = "frequency-verdict"  // 7.1 and later: frequency skew
	InterCPUVerdict   Kind = "inter-cpu-verdict"  // 7.1 and later: inter CPU skew
	ReferenceSpan     Kind = "reference-span"     // 7.1 and later: "Watchdog NAME interval"
	WatchedSpan       Kind = "watched-span"       // 7.1 and later: "Clocksource NAME interval"
	CPUOrder          Kind = "cpu-order"          // 7.1 and later: the two time stamps of an inter CPU verdict
	ReadTimedOut      Kind = "read-timed-out"     // 7.1 and later: harmless
	RemoteTimedOut    Kind = "remote-timed-out"   // 7.1 and later: harmless
	VerifyStarted     Kind = "verify-started"     // cross-CPU check after a verdict
	VerifyAhead       Kind = "verify-ahead"       // ... found CPUs ahead
	VerifyBehind      Kind = "verify-behind"      // ... found CPUs behind
	VerifyDurations   Kind = "verify-durations"   // ... and how long it took
	VerifyImpossible  Kind = "verify-impossible"  // ... had no second CPU
)

// The TSC, its calibration and its boot-time synchronisation test.
const (
	TSCUnstable       Kind = "tsc-unstable"    // "Marking TSC unstable due to ..."
	TSCBrokenBIOS     Kind = "tsc-broken-bios" // "TSC found unstable after boot"
	SchedUnstable     Kind = "sched-clock-unstable"
	SchedStable       Kind = "sched-clock-stable"
	SyncTest          Kind = "sync-test"          // "TSC synchronization [CPU#a -> CPU#b]"
	Warp              Kind = "warp"               // "Measured N cycles TSC warp"
	RandomWarp        Kind = "random-warp"        // both CPUs saw it
	AdjustCompensated Kind = "adjust-compensated" // TSC_ADJUST was used to undo a warp
	AdjustForced      Kind = "adjust-forced"      // firmware left a TSC_ADJUST value on the boot CPU
	AdjustDiffers     Kind = "adjust-differs"     // TSC_ADJUST was written behind the kernel's back
	AdjustSocket      Kind = "adjust-socket"      // TSC_ADJUST differs within a socket
	AsyncResets       Kind = "async-resets"       // UV: sockets may reset apart
	TSCDetected       Kind = "tsc-detected"       // first frequency
	TSCRefined        Kind = "tsc-refined"        // frequency after about one second
	TSCCalibration    Kind = "tsc-calibration"    // how calibration went
	TSCFreqDiffers    Kind = "tsc-freq-differs"   // CPUID/MSR and timer calibration disagree
	TSCFreqPrevious   Kind = "tsc-freq-previous"  // the frequency before recalibration
	TSCFreqNew        Kind = "tsc-freq-new"       // the frequency after recalibration
	TSCOption         Kind = "tsc-option"         // alerts on contradicting tsc= options
)

// Other clocks.
const (
	HPETCounter  Kind = "hpet-counter"  // "hpet0: N comparators, 64-bit M MHz counter"
	HPETDisabled Kind = "hpet-disabled" // the kernel turned the HPET off
	HPETPC10     Kind = "hpet-pc10"     // ... because it stops in package C10
	PMTimer      Kind = "pm-timer"      // chipset bug, wrong rate, inconsistent
	KVMClock     Kind = "kvm-clock"     // kvm-clock announces itself
)

// The machine, as its boot log names it.
const (
	Version     Kind = "version"      // "Linux version ..."
	CommandLine Kind = "command-line" // Detail is the command line
	Hypervisor  Kind = "hypervisor"   // Detail is the hypervisor
	Platform    Kind = "platform"     // DMI or machine model line
	CPUModel    Kind = "cpu-model"
	CPUsUp      Kind = "cpus-up" // "Brought up N nodes, M CPUs"
)

// What came first: stalls, faults, sleep, tools.
const (
	Stall         Kind = "stall"          // Detail is the kind of stall
	HardwareError Kind = "hardware-error" // machine check, EDAC uncorrected
	CorrectedErr  Kind = "corrected-error"
	DriverFault   Kind = "driver-fault" // Detail is the driver
	SuspendEntry  Kind = "suspend-entry"
	SuspendExit   Kind = "suspend-exit"
	CPUsOnline    Kind = "cpus-online"    // CPUs come back after sleep or by hot plug
	FrequencyTool Kind = "frequency-tool" // a tool that writes MSRs or clocks
	SelfTest      Kind = "self-test"      // clocksource_wdtest and error injection
	VMRestored    Kind = "vm-restored"    // restore from a snapshot
	ClockDrift    Kind = "clock-drift"    // chronyd or ntpd: frequency or offset out of range
	TimeJumped    Kind = "time-jumped"    // journald: time went backwards
	LookAlike     Kind = "look-alike"     // speaks of a watchdog or a TSC, and not of a clocksource
)

// Kinds returns every kind, in the order of the groups above.
func Kinds() []Kind {
	return []Kind{
		Registered, Switched, OverrideRefused, OverrideDeferred, OverflowDanger, HighresFailed, TicksLost,
		DeprecatedOption, InvalidVDSOMode, NonstopWithHooks, SuspendClockFails, DeltaVerdict, SkewVerdict,
		ReferenceInterval, WatchedInterval, SecondReference, SkewAmount, CurrentClock, DelayVerdict, Retried,
		BusyReference, TestSkipped, LongInterval, ProbableStall, CoarseCheck, MaxSkewRaised, FrequencyVerdict,
		InterCPUVerdict, ReferenceSpan, WatchedSpan, CPUOrder, ReadTimedOut, RemoteTimedOut, VerifyStarted,
		VerifyAhead, VerifyBehind, VerifyDurations, VerifyImpossible, TSCUnstable, TSCBrokenBIOS, SchedUnstable,
		SchedStable, SyncTest, Warp, RandomWarp, AdjustCompensated, AdjustForced, AdjustDiffers, AdjustSocket,
		AsyncResets, TSCDetected, TSCRefined, TSCCalibration, TSCFreqDiffers, TSCFreqPrevious, TSCFreqNew, TSCOption,
		HPETCounter, HPETDisabled, HPETPC10, PMTimer, KVMClock, Version, CommandLine, Hypervisor, Platform, CPUModel,
		CPUsUp, Stall, HardwareError, CorrectedErr, DriverFault, SuspendEntry, SuspendExit, CPUsOnline,
		FrequencyTool, SelfTest, VMRestored, ClockDrift, TimeJumped, LookAlike,
	}
}
