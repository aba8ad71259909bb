package klog

import (
	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
)

// Details of the messages of the design that forgives latency.
const (
	coarseChecked     = "checked coarsely"
	coarseAwaiting    = "awaiting a fast read-out"
	coarseConsecutive = "many in a row"
	coarseLimit       = "the coarse limit"
)

// clocksourceMessages are the lines of the clocksource core and its watchdog.
func clocksourceMessages() []message {
	const cs = "clocksource: "
	const on = "timekeeping watchdog on CPU{cpu}: "
	return []message{
		// The skew block of 4.1 to 7.0.
		{kind: event.SkewVerdict, prefix: cs, text: on + "Marking clocksource '{cs}'| as unstable because the skew is too large:", level: warn, life: "4.13-7.0"},
		{kind: event.SkewVerdict, prefix: cs, text: "timekeeping watchdog: Marking clocksource '{cs}'| as unstable because the skew is too large:", level: warn, life: "4.1-4.12"},
		{kind: event.SkewVerdict, text: "on CPU{cpu}: Marking clocksource '{cs}'| as unstable because the skew is too large:", reads: variant, life: "left part cut"},
		{kind: event.SkewVerdict, text: "Marking clocksource '{cs}' as unstable| because the skew is too large:", reads: variant, life: "left part cut"},
		{kind: event.ReferenceInterval, prefix: cs, text: indent + "'{ref}' wd_nsec: |{ns} wd_now: {now} wd_last: {last} mask: {mask}", level: warn, life: "5.14-7.0"},
		{kind: event.ReferenceInterval, prefix: cs, text: indent + "'{ref}' wd_now: |{now} wd_last: {last} mask: {mask}", level: warn, life: "4.1-5.13, 5.10.y"},
		{kind: event.WatchedInterval, prefix: cs, text: indent + "'{cs}' cs_nsec: |{ns} cs_now: {now} cs_last: {last} mask: {mask}", level: warn, life: "5.14-7.0"},
		{kind: event.WatchedInterval, prefix: cs, text: indent + "'{cs}' cs_now: |{now} cs_last: {last} mask: {mask}", level: warn, life: "4.1-5.13, 5.10.y"},
		{kind: event.SecondReference, prefix: cs, text: "'{ref}' wd2_nsec: |{ns} wd2_now: {now} wd2_last: {last} mask: {mask}", reads: variant, life: "debugging patch"},
		{kind: event.ReferenceInterval, text: "'{ref}' wd_nsec: |{ns} wd_{_} {now} wd_{_} {last} mask: {*}", reads: variant, life: "typed by hand"},
		{kind: event.ReferenceInterval, text: "'{ref}' wd_{_} |{now} wd_{_} {last} mask: {*}", reads: variant, life: "typed by hand"},
		{kind: event.WatchedInterval, text: "'{cs}' cs_nsec: |{ns} cs_{_} {now} cs_{_} {last} mask: {*}", reads: variant, life: "typed by hand"},
		{kind: event.WatchedInterval, text: "'{cs}' cs_{_} |{now} cs_{_} {last} mask: {*}", reads: variant, life: "typed by hand"},
		{kind: event.SkewAmount, prefix: cs, text: indent + "Clocksource '{cs}' skewed| {skew} ns ({skewms} ms) over watchdog '{ref}' interval of {refns} ns ({refms} ms)", level: warn, life: "6.3-7.0"},
		{kind: event.CurrentClock, prefix: cs, text: indent + "'{cur}' (not '{cs}') is current| clocksource.", level: warn, life: "5.14-7.0"},
		{kind: event.CurrentClock, prefix: cs, text: indent + "'{cs}' is current| clocksource.", level: warn, life: "5.14-7.0", detail: "same"},
		{kind: event.CurrentClock, prefix: cs, text: indent + "No current| clocksource.", level: warn, life: "5.14-7.0", detail: "none"},

		// Reading took too long.
		{kind: event.Retried, prefix: cs, text: on + "{ref} retried {retries} times| before success", level: warn, life: "5.14-7.0"},
		{kind: event.DelayVerdict, prefix: cs, text: on + "wd-{cs}-wd excessive read-back delay of |{delay}ns vs. limit of {limit}ns, wd-wd read-back delay only {wddelay}ns, attempt {attempt}, marking {cs} unstable", level: warn, life: "6.3-7.0"},
		{kind: event.DelayVerdict, prefix: cs, text: on + "wd-{cs}-wd read-back delay of |{delay}ns, attempt {attempt}, marking unstable", reads: variant, life: "vendor 5.14"},
		{kind: event.CoarseCheck, prefix: cs, text: on + "{ref} read-back delay of {delay}ns, attempt {attempt}, coarse-grained skew| check followed by re-initialization", level: warn, life: "never merged", detail: coarseChecked},
		{kind: event.CoarseCheck, prefix: cs, text: on + "{ref} read-back delay of {delay}ns, attempt {attempt}, awaiting| re-initialization", level: warn, life: "never merged", detail: coarseAwaiting},
		{kind: event.BusyReference, prefix: cs, text: on + "{ref} wd-wd read-back delay of |{wddelay}ns", level: info, life: "5.17-7.0"},
		{kind: event.DelayVerdict, prefix: cs, text: on + "{ref} read-back delay of |{delay}ns, attempt {attempt}, marking unstable", level: warn, life: "5.14-6.2, 5.10.y, 6.1.y"},
		{kind: event.DelayVerdict, text: "on CPU{cpu}: {ref} read-back delay of |{delay}ns, attempt {attempt}, marking unstable", reads: variant, life: "left part cut"},
		{kind: event.DelayVerdict, text: "{ref} read-back delay of {delay}ns, attempt |{attempt}, marking unstable", reads: variant, life: "left part cut"},
		{kind: event.TestSkipped, prefix: cs, text: "wd-{cs}-wd read-back delay of {delay}ns, clock-skew| test skipped!", level: info, life: "5.17-7.0"},
		{kind: event.CoarseCheck, prefix: cs, text: on + "{ref} {retries} consecutive coarse-grained| reads", level: warn, life: "never merged", detail: coarseConsecutive},
		{kind: event.CoarseCheck, prefix: cs, text: on + "{ref} coarse-grained {limitms} ms clock-skew check| followed by re-initialization", level: warn, life: "never merged", detail: coarseLimit},
		{kind: event.MaxSkewRaised, prefix: cs, text: on + "watchdog_max_skew increased to |{limit}ns", level: warn, life: "never merged"},
		{kind: event.LongInterval, prefix: cs, text: "Long readout interval, skipping| watchdog check: cs_nsec: {ns} wd_nsec: {refns}", level: warn, life: "6.8-7.0, 6.6.15, 6.1.78, 5.10.210"},
		{kind: event.ProbableStall, prefix: cs, text: "Watchdog clocksource '{ref}' advanced| only {refns} ns during {_} time interval, (probable CPU overutilization) skipping watchdog check.", reads: variant, life: "proposed 2022"},
		{kind: event.ProbableStall, prefix: cs, text: "Watchdog clocksource '{ref}' advanced an| excessive {refns} ns during {_} time interval, (probable CPU overutilization) skipping watchdog check.", reads: variant, life: "proposed 2022"},

		// Cross-CPU check after a verdict, 5.14 to 7.0 and 5.10.y.
		{kind: event.VerifyStarted, prefix: cs, text: "Checking clocksource {cs} synchronization from CPU {cpu} to CPUs |{cpus}.", level: info, life: "5.14-7.0"},
		{kind: event.VerifyStarted, prefix: cs, text: "Checking clocksource {cs} synchronization| from CPU {cpu}.", level: warn, life: "5.10.y"},
		{kind: event.VerifyImpossible, prefix: cs, text: "Not enough CPUs to check| clocksource '{cs}'.", level: warn, life: "5.14-7.0"},
		{kind: event.VerifyAhead, prefix: cs, text: "        CPUs {cpus} ahead of| CPU {cpu} for clocksource {cs}.", level: warn, life: "5.14-7.0, 5.10.50"},
		{kind: event.VerifyBehind, prefix: cs, text: "        CPUs {cpus} behind| CPU {cpu} for clocksource {cs}.", level: warn, life: "5.14-7.0, 5.10.50"},
		{kind: event.VerifyDurations, prefix: cs, text: "        CPU {cpu} check durations |{min}ns - {max}ns for clocksource {cs}.", level: info, life: "5.14-7.0, 5.10.50"},

		// The rewrite, 7.1 and later.
		{kind: event.FrequencyVerdict, prefix: cs, text: "Marking clocksource {cs} unstable due to frequency| skew", level: warn, life: "7.1-"},
		{kind: event.InterCPUVerdict, prefix: cs, text: "Marking clocksource {cs} unstable due to inter CPU| skew", level: warn, life: "7.1-"},
		{kind: event.ReferenceSpan, prefix: cs, text: "Watchdog    {ref:20} interval: |{ns:16}ns", level: warn, life: "7.1-"},
		{kind: event.WatchedSpan, prefix: cs, text: "Clocksource {cs:20} interval: |{ns:16}ns", level: warn, life: "7.1-"},
		{kind: event.CPUOrder, prefix: cs, text: "CPU{cpu} {stamp:16} < CPU{peer} {peerstamp:16} (cycles)", level: warn, life: "7.1-"},
		{kind: event.ReadTimedOut, prefix: cs, text: "Watchdog {ref} read timed out. Readout| sequence took: {delay}ns", level: info, life: "7.1-"},
		{kind: event.RemoteTimedOut, prefix: cs, text: "Watchdog remote CPU {cpu} read| timed out", level: info, life: "7.1-"},

		// Up to 4.0.
		{kind: event.DeltaVerdict, text: "Clocksource {cs} unstable| (delta = {skew} ns)", level: warn, life: "-4.0"},

		// The framework.
		{kind: event.Registered, prefix: cs, text: "{cs}: mask: |{xmask} max_cycles: {xcycles}, max_idle_ns: {maxidle} ns", level: info, life: "4.2-", wording: string(clocksource.RegisterTextColon)},
		{kind: event.Registered, text: "clocksource {cs}: mask: |{xmask} max_cycles: {xcycles}, max_idle_ns: {maxidle} ns", level: info, life: "4.1", wording: string(clocksource.RegisterTextBare)},
		{kind: event.Switched, prefix: cs, text: "Switched to clocksource {cs}", level: info, life: "3.10-", wording: string(clocksource.SwitchSwitched)},
		{kind: event.Switched, text: "Switching to clocksource {cs}", level: info, life: "-3.9", wording: string(clocksource.SwitchSwitching)},
		{kind: event.Switched, text: "Time: {cs} clocksource has been| installed.", level: info, life: "early 2.6", wording: string(clocksource.SwitchInstalled)},
		{kind: event.OverrideRefused, prefix: cs, text: "Override clocksource {cs} is unstable| and not HRT compatible - cannot switch while in HRT/NOHZ mode", level: warn, life: "4.15-", wording: string(clocksource.OverrideTextTwoWay)},
		{kind: event.OverrideDeferred, prefix: cs, text: "Override clocksource {cs} is not currently| HRT compatible - deferring", level: info, life: "4.15-", wording: string(clocksource.OverrideTextTwoWay)},
		{kind: event.OverrideRefused, prefix: cs, text: "Override clocksource {cs} is not HRT compatible| - cannot switch while in HRT/NOHZ mode", level: warn, life: "4.2-4.14", wording: string(clocksource.OverrideTextDash)},
		{kind: event.OverrideRefused, text: "Override clocksource {cs} is not HRT compatible.| Cannot switch while in HRT/NOHZ mode", level: warn, life: "-4.1", wording: string(clocksource.OverrideTextSentence)},
		{kind: event.NonstopWithHooks, prefix: cs, text: "Nonstop clocksource {cs} should not| supply suspend/resume interfaces", level: warn, life: "4.19-"},
		{kind: event.SuspendClockFails, prefix: cs, text: "Failed to enable the non-suspend-able| clocksource.", level: warn, life: "4.19-"},
		{kind: event.InvalidVDSOMode, prefix: "", text: "clocksource {cs} registered with invalid| VDSO mode {_} Disabling VDSO support.", level: warn, life: "5.7-"},
		{kind: event.OverflowDanger, prefix: "timekeeping: ", text: "Clocksource {cs} might overflow| on 11% adjustment", level: warn, life: "3.x-"},
		{kind: event.OverflowDanger, text: "Adjusting {cs} more than 11%| ({_} vs {_}", level: warn, life: "3.x-"},
		{kind: event.OverflowDanger, text: "WARNING: timekeeping: Cycle offset ({_} is larger than| allowed by the '{cs}' clock's max_cycles value", reads: variant, life: "4.1-6.12"},
		{kind: event.OverflowDanger, text: "INFO: timekeeping: Cycle offset ({_} is larger than| the '{cs}' clock's 50% safety margin", reads: variant, life: "4.1-6.12"},
		{kind: event.OverflowDanger, text: "WARNING: Underflow in clocksource '{cs}' observed,| time update ignored.", level: warn, life: "4.1-6.12"},
		{kind: event.OverflowDanger, text: "WARNING: Overflow in clocksource '{cs}' observed,| time update capped.", level: warn, life: "4.1-6.12"},
		{kind: event.HighresFailed, text: "Could not switch to high resolution mode on CPU |{cpu}", level: warn, life: "2.6.21-"},
		{kind: event.HighresFailed, text: "Clockevents: could not switch to one-shot| mode:{*}", reads: variant, life: "2.6.21-"},
		{kind: event.DeprecatedOption, text: "clock=pmtmr is deprecated| - use clocksource=acpi_pm", level: warn, life: "2.6.18-"},
		{kind: event.DeprecatedOption, text: "clock= boot option is deprecated| - use clocksource=xyz", level: warn, life: "2.6.18-"},
		{kind: event.TicksLost, text: "Losing some ticks...| checking if CPU frequency changed.", level: warn, life: "2.6.1x"},
		{kind: event.TicksLost, text: "warning: many lost ticks.", level: warn, life: "2.6.1x"},
		{kind: event.TicksLost, text: "Your time source seems to be instable| or some driver is hogging interupts", level: warn, life: "2.6.1x"},
		{kind: event.TicksLost, text: "Losing too many ticks!", level: warn, life: "2.6.1x"},
	}
}
