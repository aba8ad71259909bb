package doctor

import (
	"fmt"
	"math"
	"strings"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/machine"
)

// judgement is what one incident proves.
type judgement struct {
	verdict Verdict
	why     string   // the arithmetic in words
	causes  []string // finding ids, the most likely first
	missing []string // what would decide, where it is undecided
	m       measured
}

func (j *judgement) because(verdict Verdict, why string, causes ...string) {
	j.verdict, j.why = verdict, why
	j.causes = append(j.causes, causes...)
}

func (j *judgement) also(cause string) {
	for _, c := range j.causes {
		if c == cause {
			return
		}
	}
	j.causes = append(j.causes, cause)
}

// judge weighs one incident.
func judge(in *event.Incident, f *facts, all []event.Incident) judgement {
	j := judgement{verdict: Undecided, m: measure(in, f)}
	switch in.Kind {
	case event.IncidentSkew, event.IncidentFrequency:
		j.skew(in, f, all)
	case event.IncidentDelta:
		j.delta(in, f)
	case event.IncidentInterCPU:
		j.because(Bad, "the kernel saw the counter of one CPU behind that of another", "tsc-offset-between-cpus")
	case event.IncidentDelay:
		j.readDelay(in, f)
	case event.IncidentSkip:
		j.because(Good, "the kernel found the reference busy and skipped the check: nothing was measured, nothing concluded", "check-skipped")
	case event.IncidentLongInterval:
		j.longInterval(in, f, all)
	case event.IncidentTimeout:
		j.because(None, "a read took longer than the kernel allows and the check was not made: harmless by design from 7.1 on", "check-skipped")
	case event.IncidentRetry:
		j.because(None, fmt.Sprintf("reading %s needed retries and then succeeded", orReference(in.Reference)), "reference-read-delay")
	case event.IncidentSync:
		j.syncTest(in, f)
	case event.IncidentByReason:
		j.byReason(in)
	case event.IncidentOverride:
		j.because(Undecided, "the kernel refuses the clock because it was condemned earlier; why is not in this log", "cause-unknown")
		j.missing = []string{"verdict-line", "earlier-lines", "reference-line"}
	case event.IncidentMarked:
		j.because(Undecided, "the clock was condemned; the lines that say why are not in this log", "cause-unknown")
		j.missing = []string{"verdict-line", "earlier-lines", "reference-line", "watched-line"}
	}
	if in.CPUsAhead != "" || in.CPUsBehind != "" {
		j = judgement{m: j.m}
		j.because(Bad, "the check across CPUs found "+orderText(in), "tsc-offset-between-cpus")
	}
	j.circumstances(in, f)
	if wrong := contradiction(in, f); wrong != "" {
		j.why += "; " + wrong
	}
	return j
}

func orReference(name string) string {
	if name == "" {
		return "the reference"
	}
	return name
}

func orderText(in *event.Incident) string {
	var parts []string
	if in.CPUsAhead != "" {
		parts = append(parts, "CPUs "+in.CPUsAhead+" ahead")
	}
	if in.CPUsBehind != "" {
		parts = append(parts, "CPUs "+in.CPUsBehind+" behind")
	}
	return strings.Join(parts, " and ")
}

// circumstances adds causes that the surroundings of an incident show.
func (j *judgement) circumstances(in *event.Incident, f *facts) {
	if in.Kind.Condemns() && in.Current != "" && in.Current != in.Clock && in.SwitchedTo == "" {
		j.also("verdict-without-effect")
	}
	watchdogs := in.Kind.Condemns() && in.Kind != event.IncidentSync && in.Kind != event.IncidentByReason
	if watchdogs && optionOff(f.cmdline) != "" {
		j.also("option-hides-fault")
	}
	// A clock that the numbers do not convict is a victim of what came just before.
	if j.verdict != Bad && watchdogs || in.Kind == event.IncidentLongInterval {
		within := int64(stallWindow)
		if in.Kind == event.IncidentDelay {
			within = momentWindow
		}
		if f.stalledBefore(in, within) {
			j.also("upstream-stall")
		}
	}
}

// optionOff returns the option that switches the watchdog off, "" if none does.
func optionOff(cmdline string) string {
	values, _ := machine.Option(cmdline, "tsc")
	for _, v := range values {
		for _, word := range strings.Split(v, ",") {
			if word == "reliable" || word == "nowatchdog" {
				return "tsc=" + word
			}
		}
	}
	return ""
}

// readDelay judges a condemnation for latency: no skew was measured at all.
func (j *judgement) readDelay(in *event.Incident, f *facts) {
	why := "reading " + orReference(in.Reference) + " took too long; the TSC was not found wrong, it was not measured"
	if d, ok := in.DelayNS.Get(); ok {
		why = fmt.Sprintf("the last read-back took %s; the TSC was not found wrong, it was not measured", duration(float64(d)))
		if n, ok := in.Attempt.Get(); ok && n > 1 {
			why = fmt.Sprintf("%d read-backs in a row took too long, the last one %s; the TSC was not found wrong, it was not measured", n, duration(float64(d)))
		}
	}
	j.because(Good, why, "reference-read-delay")
	if f.guest == machine.Yes {
		j.also("vcpu-preempted")
	}
}

// longInterval judges a check that was skipped because the interval was too long.
func (j *judgement) longInterval(in *event.Incident, f *facts, all []event.Incident) {
	m := &j.m
	switch {
	case !m.watchedOK || !m.referenceOK:
		j.because(None, "the kernel skipped a check and drew no conclusion", "check-skipped")
	case math.Abs(m.ppm()) < crystalPPM && m.longer() > lateFrom:
		j.because(Good, fmt.Sprintf("the watchdog ran after %s instead of 0.5 s; both clocks agree to %.3g ppm, and the kernel skipped the check", duration(m.longer()), math.Abs(m.ppm())), "late-watchdog", "check-skipped")
	case m.longer() > lateFrom && math.Abs(m.ppm()) > crystalPPM && repeated(m, f, all):
		j.because(Bad, fmt.Sprintf("the kernel skipped a check of %s and drew no conclusion, but this check and another one show the same %.4g ppm: a wrong rate", duration(m.longer()), m.ppm()), "tsc-frequency-wrong", "check-skipped")
	default:
		j.because(None, fmt.Sprintf("the kernel skipped a check of %s; the clocks differ by %s, from which it drew no conclusion", duration(m.longer()), duration(m.skew())), "check-skipped")
	}
}

// warpNoise is the size, in cycles, up to which a failed synchronisation test
// may be noise of the test itself: at 1 to 5 GHz a microsecond or less.
const warpNoise = 1000

// syncTest judges the synchronisation test that each CPU passes when it comes up.
func (j *judgement) syncTest(in *event.Incident, f *facts) {
	warp, known := in.Cycles.Get()
	switch {
	case known && warp >= warpNoise:
		j.because(Bad, fmt.Sprintf("a CPU's TSC was %d cycles behind another's when it came up", warp), "tsc-offset-between-cpus")
	case known:
		j.because(Good, fmt.Sprintf("the test saw %d cycles, less than the %d that its own noise can reach: no offset is shown", warp, warpNoise), "warp-noise")
		j.missing = []string{"cross-cpu-check", "second-witness"}
	case !in.Marked && in.Reason == "" && !in.Header:
		j.because(Undecided, "the synchronisation test names its CPUs, as it does when it failed; the result is not in this log", "cause-unknown")
		j.missing = []string{"warp-line", "verdict-line", "earlier-lines"}
	default:
		j.because(Bad, "the synchronisation test failed; by how much is not in this log", "tsc-offset-between-cpus")
		j.missing = []string{"warp-line", "platform", "earlier-lines"}
	}
	if f.sleptBefore(in) {
		j.also("resume")
	}
}

// byReason judges verdicts that are not the watchdog's.
func (j *judgement) byReason(in *event.Incident) {
	switch reason := in.Reason; {
	case reason == "running on Hyper-V":
		j.because(Good, "the kernel says this on every Hyper-V guest without an invariant TSC; the hypervisor's own clock is used", "normal-on-hypervisor")
	case strings.HasPrefix(reason, "TSC halts in idle"), strings.HasPrefix(reason, "TSC halt in AMD"):
		j.because(Bad, "this processor stops its TSC in sleep states: by design, nothing to repair", "tsc-halts-in-idle")
	case strings.HasPrefix(reason, "cpufreq changes"):
		j.because(Bad, "this processor's TSC changes its rate with the clock of the core: by design, nothing to repair", "tsc-rate-not-constant")
	case reason == "TSCs unsynchronized":
		j.because(Undecided, "the kernel takes the TSCs of this platform for not synchronised, without a test", "tsc-offset-between-cpus")
		j.missing = []string{"cross-cpu-check", "platform", "cpu-model"}
	case reason == "KVM discovered backwards TSC":
		j.because(Bad, "KVM saw the host's TSC go backwards, as after a suspend that reset it", "tsc-went-backwards")
	case reason == "could not calculate TSC khz":
		j.because(Undecided, "the kernel found no way to measure the TSC's rate", "cause-unknown")
		j.missing = []string{"earlier-lines", "platform", "tsc-frequency"}
	case strings.HasPrefix(reason, "boot parameter"):
		j.because(None, "an option on the command line turned the TSC off", "tsc-disabled-by-option")
	case strings.HasPrefix(reason, "UV BIOS"), strings.HasPrefix(reason, "cyrix"), strings.EqualFold(reason, "dmi"), reason == "running on NUMAQ":
		j.because(Bad, "the platform's TSC is known to be unusable: "+reason, "tsc-offset-between-cpus")
	default:
		j.because(Undecided, "the kernel gave up the TSC: "+reason, "cause-unknown")
		j.missing = []string{"earlier-lines", "platform"}
	}
}

// delta judges the one line of kernels up to 4.0, which prints only the difference.
func (j *judgement) delta(in *event.Incident, f *facts) {
	d, known := in.SkewNS.Get()
	const pmWrap = float64(1<<24) / pmTimerHz * 1e9
	skew := float64(d)
	switch {
	case !known:
		j.because(Undecided, "the difference is not readable", "cause-unknown")
	case d < 0 && d <= -1<<32+50_000 && distance(-skew, 1<<32) <= 50_000:
		k := math.Round(-skew / (1 << 32))
		j.because(Good, fmt.Sprintf("the difference is %g times 2^32 ns to %s: an artefact of a stall of seconds, not a rate", k, duration(math.Abs(-skew-k*(1<<32)))), "stall-2-6-32")
	case d > 0 && skew > pmWrap/2 && distance(skew, pmWrap) <= 1_000_000:
		k := math.Round(skew / pmWrap)
		j.because(Good, fmt.Sprintf("the difference is %g wraps of the 24-bit PM timer to %s: the check came seconds late and the reference wrapped", k, duration(math.Abs(skew-k*pmWrap))), "acpi-pm-wrap")
	default:
		j.because(Undecided, "the line gives the difference and not the interval: late check, wrap or wrong rate look alike", "cause-unknown")
	}
	if j.verdict == Undecided {
		j.missing = []string{"reference-name", "earlier-lines", "second-witness", "platform"}
	}
}

// distance is how far v is from the nearest positive multiple of unit.
func distance(v, unit float64) float64 {
	k := math.Max(1, math.Round(v/unit))
	return math.Abs(v - k*unit)
}

// duration writes nanoseconds for people.
func duration(ns float64) string {
	abs := math.Abs(ns)
	switch {
	case abs < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case abs < 1e6:
		return fmt.Sprintf("%.4g µs", ns/1e3)
	case abs < 1e9:
		return fmt.Sprintf("%.4g ms", ns/1e6)
	case abs < 600e9:
		return fmt.Sprintf("%.4g s", ns/1e9)
	case abs < 7200e9:
		return fmt.Sprintf("%.3g min", ns/60e9)
	}
	return fmt.Sprintf("%.3g h", ns/3600e9)
}
