package exporter

import (
	"slices"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/explain"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// Type is what a metric is to Prometheus.
type Type string

// The types.
const (
	Gauge     Type = "gauge"
	Counter   Type = "counter"
	Histogram Type = "histogram"
)

// Label is one label of a metric.
type Label struct {
	Name string
	// Values are all that there can be, in the order in which they are documented; nil where they are this build's own.
	Values []string
	Note   string
}

// Metric describes one metric of the monitor.
type Metric struct {
	Name   string
	Type   Type
	Help   string // also in the exposition
	Unit   string // for people: "seconds", "ratio"; "" for a number
	Labels []Label
	Note   string // more than Help, for the documentation
}

// Metrics returns every metric of a [Collector], in the order of the documentation; [ServerMetrics] those of the
// web server. Those of the Go runtime and of the process come from the Prometheus library.
func Metrics() []Metric {
	device := Label{"device", []string{device0}, ""}
	clock := Label{"clocksource", ClockNames(), "a clocksource that cswatch does not know by name is `other`"}
	reference := Label{"reference", append([]string{""}, ClockNames()...), "empty where the kernel's lines do not name it"}
	era := Label{"era", eraNames(), "see docs/eras.md"}
	collector := Label{"collector", texts(tally.CollectorNames()), ""}
	hook := Label{"hook", HookNames(), ""}
	return []Metric{
		{Name: "cswatch_build_info", Type: Gauge, Help: "Always 1; the labels tell the program.", Labels: []Label{{Name: "version"}, {Name: "revision"}, {Name: "goversion"}}},
		{Name: "cswatch_boot_timestamp_seconds", Type: Gauge, Unit: "seconds", Help: "When the kernel was booted, in seconds since 1970.",
			Note: "The counters marked *of this boot* begin anew with it."},

		{Name: "cswatch_clocksource_current", Type: Gauge, Help: "1 for the clocksource that the kernel uses, 0 for the others of this boot.", Labels: []Label{device, clock}},
		{Name: "cswatch_clocksource_available", Type: Gauge, Help: "1 for each clocksource that the kernel offers, 0 for those that it had in this boot.", Labels: []Label{device, clock}},
		{Name: "cswatch_clocksource_best", Type: Gauge, Help: "1 for the best clocksource that this machine has, or had before the kernel gave it up.", Labels: []Label{device, clock},
			Note: "The kernel lists the clocksources by rating. One that it gave up stays the best where its rating is certainly higher than that of the first in the list: a TSC above an HPET, and not above kvm-clock."},
		{Name: "cswatch_clocksource_switches_total", Type: Counter, Help: "How often the kernel went from one clocksource to another in this boot.",
			Labels: []Label{{"from", append([]string{"none"}, ClockNames()...), "`none` is before the first"}, {"to", ClockNames(), ""}},
			Note:   "Of this boot. From the kernel's log, and where that cannot be read or has lost the line, from sysfs."},
		{Name: "cswatch_clocksource_last_switch_timestamp_seconds", Type: Gauge, Unit: "seconds", Help: "When the kernel last took another clocksource, in seconds since 1970; 0 where none was seen."},
		{Name: "cswatch_clocksource_condemned", Type: Gauge, Help: "1 for a clocksource that the kernel gave up in this boot, 0 for the others.", Labels: []Label{clock}},
		{Name: "cswatch_clocksource_unstable_total", Type: Counter, Help: "How often the kernel gave up a clocksource in this boot, by the cause that its log tells.",
			Labels: []Label{clock, reference, {"cause", causeNames(), "`read-delay` is a read that took too long, the kinds of skew are a clock that ran at another rate, `sync-test` and `inter-cpu-skew` are CPUs that disagree, `by-reason` is a reason of the kernel's own; of `marked` and `override` the lines that say why are missing"}},
			Note:   "Of this boot. What the doctor makes of it is in cswatch_doctor_tsc_verdict."},
		{Name: "cswatch_clocksource_watched", Type: Gauge, Help: "1 for the answer to whether the kernel's watchdog checks the TSC.", Labels: []Label{{"answer", answerNames(), ""}}},

		{Name: "cswatch_kmsg_events_total", Type: Counter, Help: "Lines of the kernel's log in this boot that tell of clocks and what disturbs them, by kind.",
			Labels: []Label{{"kind", texts(event.Kinds()), "`cswatch explain KIND` says what each means"}}, Note: "Of this boot."},
		{Name: "cswatch_kmsg_records_total", Type: Counter, Help: "Records of the kernel's log that were read in this boot.", Note: "Of this boot."},
		{Name: "cswatch_kmsg_foreign_records_total", Type: Counter, Help: "Lines that speak of clocks and were not written by the kernel: no evidence.", Note: "Of this boot."},
		{Name: "cswatch_kmsg_overruns_total", Type: Counter, Help: "How often the kernel overwrote records of its log before they were read.", Note: "Of this boot."},
		{Name: "cswatch_kmsg_lost_records_total", Type: Counter, Help: "Records that were overwritten before they were read.", Note: "Of this boot."},

		{Name: "cswatch_watchdog_info", Type: Gauge, Help: "Always 1; the labels tell which watchdog this program runs over the live counters, and against what.",
			Labels: []Label{era, {"reference", referenceNames(), ""}, {"independent", answerNames(), "is the reference independent of the counter? If not, only delays and the comparison of CPUs mean something"}}},
		{Name: "cswatch_watchdog_ticks_total", Type: Counter, Help: "Ticks of the live watch."},
		{Name: "cswatch_watchdog_suspends_total", Type: Counter, Help: "How often the machine slept, as the live watch saw it."},
		{Name: "cswatch_watchdog_verdicts_total", Type: Counter, Help: "What a kernel of the era would have decided, by the live watch's ticks.",
			Labels: []Label{era, {"verdict", verdictNames(), ""}},
			Note:   "Reads of a program can be late because it lost its CPU, which cannot happen to a kernel: verdicts about latency are about user space."},
		{Name: "cswatch_watchdog_readback_seconds", Type: Histogram, Unit: "seconds", Help: "How long a read-back of the reference, the TSC and the reference took, without those whose thread lost its CPU.",
			Note: "The edges include the limits of all eras: 50, 62.5, 100, 125, 250, 500 and 750 us."},
		{Name: "cswatch_watchdog_attempts", Type: Histogram, Help: "How many read-backs a check of the live watch took."},
		{Name: "cswatch_watchdog_late_reads_total", Type: Counter, Help: "Read-backs above the era's limit, by what is known of the cause.", Labels: []Label{{"cause", lateNames(), ""}}},
		{Name: "cswatch_watchdog_skew_ratio", Type: Gauge, Unit: "ratio", Help: "The last comparison of an interval: TSC minus reference, by the reference; NaN before the first."},
		{Name: "cswatch_watchdog_exchanges_total", Type: Counter, Help: "Comparisons of the counters of two CPUs, by what came of them.", Labels: []Label{{"outcome", texts(tally.Outcomes()), ""}}},
		{Name: "cswatch_watchdog_backwards_total", Type: Counter, Help: "Comparisons of two CPUs in which time ran backwards: their counters disagree."},
		{Name: "cswatch_watchdog_backwards_cycles", Type: Gauge, Help: "By how many cycles the counters of two CPUs disagreed at least, at most so far."},

		{Name: "cswatch_clock_read_seconds", Type: Gauge, Unit: "seconds", Help: "What a read of the clock costs, the median of many.",
			Labels: []Label{clock, {"path", PathNames(), "`program` is clock_gettime as programs call it, `vdso` the same, only there where the vDSO serves it without the kernel, `syscall` the system call by itself"}}},
		{Name: "cswatch_clock_read_p99_seconds", Type: Gauge, Unit: "seconds", Help: "What a read of the clock costs a program, the 99th percentile of batches.", Labels: []Label{clock}},

		{Name: "cswatch_doctor_status", Type: Gauge, Help: "1 for the doctor's status of this machine.", Labels: []Label{{"status", statusNames(), ""}}},
		{Name: "cswatch_doctor_kernel_trusts_tsc", Type: Gauge, Help: "1 for the answer to whether the kernel trusts its TSC.", Labels: []Label{{"answer", trustNames(), ""}}},
		{Name: "cswatch_doctor_tsc_verdict", Type: Gauge, Help: "1 for what the evidence says of the TSC: whether the kernel was right.", Labels: []Label{{"verdict", tscVerdictNames(), ""}}},
		{Name: "cswatch_doctor_finding", Type: Gauge, Help: "1 for each finding of the doctor that is not suppressed, 0 for the others.", Labels: []Label{{"id", FindingNames(), "`cswatch explain ID` says what each means"}}},
		{Name: "cswatch_doctor_examined_timestamp_seconds", Type: Gauge, Unit: "seconds", Help: "When the doctor last judged, in seconds since 1970; 0 before the first time."},

		{Name: "cswatch_collector_success", Type: Gauge, Help: "1 for a source of this program that could be read, 0 for one that could not.", Labels: []Label{collector}},
		{Name: "cswatch_collector_failures_total", Type: Counter, Help: "How often a source could not be read.", Labels: []Label{collector}},
		{Name: "cswatch_collector_duration_seconds", Type: Gauge, Unit: "seconds", Help: "How long a source took when it could be read last.", Labels: []Label{collector}},
		{Name: "cswatch_collector_last_success_timestamp_seconds", Type: Gauge, Unit: "seconds", Help: "When a source could be read last, in seconds since 1970; 0 where it never could.", Labels: []Label{collector}},

		{Name: "cswatch_hook_runs_total", Type: Counter, Help: "Events that a hook was told of, by what came of it.", Labels: []Label{hook, {"outcome", HookOutcomes(), ""}}},
		{Name: "cswatch_hook_queue_length", Type: Gauge, Help: "Events that a hook has still to be told of.", Labels: []Label{hook}},
	}
}

// device0 is the only folder of clocksources that Linux has.
const device0 = "clocksource0"

// ClockNames are the clocksources that are told apart.
func ClockNames() []string {
	var names []string
	for _, k := range clocksource.KnownClocks() {
		names = append(names, k.Name)
	}
	return append(names, tally.Other)
}

// PathNames are the ways of reading the clock.
func PathNames() []string { return []string{"program", "vdso", "syscall"} }

// HookNames are the hooks, and HookOutcomes what comes of telling them.
func HookNames() []string    { return []string{"command", "webhook"} }
func HookOutcomes() []string { return []string{"ok", "failed", "timed-out", "dropped"} }

// FindingNames are the ids of everything that the doctor can find.
func FindingNames() []string {
	var ids []string
	for _, e := range explain.All() {
		if e.Class == explain.Finding {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func texts[T ~string](all []T) []string {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = string(v)
	}
	return names
}

func eraNames() []string { return texts(append(watchdog.Eras(), watchdog.Designs()...)) }

func causeNames() []string {
	return texts(slices.DeleteFunc(event.IncidentKinds(), func(k event.IncidentKind) bool { return !k.Condemns() }))
}

func answerNames() []string { return texts([]machine.Answer{machine.Yes, machine.No, machine.Unknown}) }

func verdictNames() (names []string) {
	for _, k := range watchdog.Kinds() {
		names = append(names, k.String())
	}
	return names
}

func lateNames() (names []string) {
	for _, c := range []trace.Cause{trace.Preempted, trace.Interrupted, trace.Unexplained} {
		names = append(names, c.String())
	}
	return names
}

func statusNames() []string {
	return texts([]doctor.Status{doctor.StatusOK, doctor.StatusWarning, doctor.StatusCritical, doctor.StatusUnknown})
}

func trustNames() []string {
	return texts([]doctor.Trust{doctor.TrustYes, doctor.TrustNo, doctor.TrustUnknown, doctor.TrustNotApplicable})
}

func tscVerdictNames() []string {
	return texts([]doctor.Verdict{doctor.Good, doctor.Bad, doctor.Undecided, doctor.None})
}

// referenceNames are what the live watch can compare with. All PTP clocks are one.
func referenceNames() []string {
	return []string{hw.HPET, hw.ACPIPM, ptp, hw.MonotonicRaw, hw.Monotonic, hw.BootTime, hw.RealTime, hw.TAI, tally.Other}
}

const ptp = "ptp"

func referenceName(name string) string {
	if strings.HasPrefix(name, ptp) {
		return ptp
	}
	if slices.Contains(referenceNames(), name) {
		return name
	}
	return tally.Other
}
