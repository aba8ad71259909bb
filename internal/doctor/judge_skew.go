package doctor

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/machine"
)

// skew judges a comparison of two intervals. The order of the questions matters:
// first whether there are numbers, then what can be proved by arithmetic (a
// backward read, a wrap, agreement in ppm), then what the circumstances suggest.
func (j *judgement) skew(in *event.Incident, f *facts, all []event.Incident) {
	m := &j.m
	switch {
	case m.backwards:
		j.because(Undecided, "the watched clock read lower than at the last check: the kernel takes that as no progress at all, so the skew equals the interval", "tsc-went-backwards")
		j.missing = []string{"cross-cpu-check", "watched-line", "reference-line", "verdict-line"}
		return
	case !in.ReferenceInterval.Seen() && !in.WatchedInterval.Seen():
		j.because(Undecided, "only the first line of the verdict is here, without its numbers", "cause-unknown")
		j.missing = []string{"reference-line", "watched-line"}
		return
	case !in.ReferenceInterval.Seen():
		j.because(Undecided, "the reference's line is missing: without it nothing can be compared", "cause-unknown")
		j.missing = []string{"reference-line"}
		return
	case !in.WatchedInterval.Seen():
		j.because(Undecided, "the watched clock's line is missing: without it nothing can be compared", "cause-unknown")
		j.missing = []string{"watched-line"}
		return
	}
	if j.secondReference(in) || j.writtenByTool(in, f) || j.wrapped(in) {
		return
	}
	switch {
	case m.watchedOK && m.referenceOK:
		j.intervals(in, f, all)
	case m.referenceOK && m.watchedHex:
		j.watchedCycles(in, f)
	case m.referenceHex && m.watchedHex:
		j.cyclesOnly(in, f)
	default:
		j.because(Undecided, "the numbers are not complete", "cause-unknown")
	}
	if j.verdict == Undecided {
		j.need(in, f)
	}
}

// secondReference uses a third clock where the block has one.
func (j *judgement) secondReference(in *event.Incident) bool {
	m := &j.m
	second, ok := in.Second.NS.Get()
	if !ok || !m.watchedOK || !m.referenceOK || m.watched <= 0 {
		return false
	}
	ppm := func(a, b float64) float64 { return math.Abs(a-b) / math.Max(a, b) * 1e6 }
	if ppm(float64(second), m.watched) < 100 && ppm(float64(second), m.reference) > 2*ppm(float64(second), m.watched) {
		j.because(Good, fmt.Sprintf("a second reference, %s, agrees with the watched clock to %.3g ppm and not with %s", in.SecondReference, ppm(float64(second), m.watched), in.Reference), "reference-wrong")
		return true
	}
	return false
}

// writtenByTool uses the kernel's own line about a program that wrote the TSC just before.
func (j *judgement) writtenByTool(in *event.Incident, f *facts) bool {
	m := &j.m
	if !m.watchedOK || !m.referenceOK || math.Abs(m.skew()) < 1e9 {
		return false
	}
	for _, e := range f.toolsBefore(in) {
		if strings.Contains(e.Text, "unrecognized MSR ") {
			j.because(Bad, fmt.Sprintf("%s by the TSC, %s by %s, and a program wrote the TSC's register just before", duration(m.watched), duration(m.reference), orReference(in.Reference)), "tsc-written")
			return true
		}
	}
	return false
}

// intervals judges two known intervals.
func (j *judgement) intervals(in *event.Incident, f *facts, all []event.Incident) {
	m := &j.m
	skew, ppm := m.skew(), math.Abs(m.ppm())
	text := fmt.Sprintf("%s by %s, %s by %s: %s apart, %.4g ppm", duration(m.watched), orWatched(in), duration(m.reference), orReference(in.Reference), duration(skew), m.ppm())
	switch {
	case m.longer() < 1e6:
		j.because(Undecided, text+"; an interval this short says nothing of a rate", "cause-unknown")
		if f.guest == machine.Yes || guestClock(in.Reference) {
			j.also("guest-paused")
		}
	case m.longer() > lateFrom && ppm < crystalPPM:
		j.because(Good, text+"; the check came late, both clocks agree within what crystals differ, and the kernel's fixed limit in ns was the wrong measure", "late-watchdog")
	case strings.HasSuffix(in.Reference, "jiffies") && skew > 0:
		j.because(Undecided, text+"; the reference counted timer ticks, and early in the boot ticks get lost", "boot-tsc-early-vs-jiffies")
	case j.resumed(in, f):
		verdict := Undecided
		if nominal(m.watched) && !nominal(m.reference) {
			verdict = Good
		}
		j.because(verdict, text+"; the counters show that the machine came back from sleep shortly before", "resume")
	case f.forcedHz > 0 && ppm > crystalPPM:
		j.because(Bad, fmt.Sprintf("%s; tsc_early_khz on the command line sets the rate to %.3f MHz by hand", text, float64(f.forcedHz)/1e6), "tsc-frequency-wrong")
	case math.Abs(skew) <= smallSkewNS && ppm < smallSkewPPM && m.longer() <= lateFrom:
		j.smallSkew(in, f, text)
		j.constantRate(f, all, text)
	case bootStep(in, m):
		j.because(Undecided, text+"; one step within seconds of the boot while the tick shows its nominal interval, as AMD laptops with a 14.318 MHz HPET do", "amd-boot-step")
	case guestClock(in.Reference) || f.guest == machine.Yes:
		j.inGuest(in, f, text)
	default:
		j.onHardware(in, f, text)
		j.constantRate(f, all, text)
	}
}

// constantRate turns an open question into a wrong rate, if another check of
// the same clock in the same boot shows the same error. A cause that has been
// recognised stands: two pauses and two boot steps look alike in ppm, too.
func (j *judgement) constantRate(f *facts, all []event.Incident, text string) {
	open := slices.Contains(j.causes, "cause-unknown") || slices.Contains(j.causes, "small-skew") && !slices.Contains(j.causes, "vcpu-preempted")
	if j.verdict == Undecided && open && !slices.Contains(j.causes, "amd-boot-step") && math.Abs(j.m.ppm()) > crystalPPM && repeated(&j.m, f, all) {
		j.causes = nil
		j.because(Bad, text+"; another check shows the same error: a wrong rate", "tsc-frequency-wrong")
	}
}

func orWatched(in *event.Incident) string {
	if in.Clock == "" {
		return "the watched clock"
	}
	return in.Clock
}

// smallSkew judges a difference that one slow read can explain.
func (j *judgement) smallSkew(in *event.Incident, f *facts, text string) {
	skew := math.Abs(j.m.skew())
	slow := in.Reference == "hpet" || in.Reference == "acpi_pm"
	switch {
	case bootStep(in, &j.m):
		j.because(Undecided, text+"; one step within seconds of the boot while the tick shows its nominal interval, as AMD laptops with a 14.318 MHz HPET do", "amd-boot-step", "small-skew")
	case guestClock(in.Reference):
		j.because(Good, text+"; in a guest, against the hypervisor's clock, a virtual CPU that was preempted between two reads explains it", "vcpu-preempted", "small-skew")
	case f.guest == machine.Yes:
		j.because(Undecided, text+"; in a guest a virtual CPU that was preempted between two reads explains it, and so would a step of the TSC", "vcpu-preempted", "small-skew")
	default:
		j.because(Undecided, text+"; one small difference over a normal interval: a slow read or a real step, the log does not tell", "small-skew")
		// Each accepted read-out lasts at most 750 µs (6.12), so two of them differ by no more; from 7.1 on by no more than 50.
		if slow && skew >= 200_000 && skew <= 750_000 && in.Kind != event.IncidentFrequency {
			j.also("reference-read-delay")
		}
	}
}

// bootStep recognises the one step that AMD laptops show at boot.
func bootStep(in *event.Incident, m *measured) bool {
	t, ok := in.Time.PrintkNS.Get()
	skew := math.Abs(m.skew())
	if !ok || t >= 5_000_000_000 || in.Reference != "hpet" || skew < 800_000 || skew > 4_000_000 {
		return false
	}
	if m.referenceHz < 14_300_000 || m.referenceHz > 14_330_000 {
		return false
	}
	// The tick of HZ=250 is 4 ms.
	offTick := math.Abs(m.watched - math.Round(m.watched/4e6)*4e6)
	return nominal(m.watched) && offTick <= 50_000
}

// inGuest judges a large difference under a hypervisor.
func (j *judgement) inGuest(in *event.Incident, f *facts, text string) {
	m := &j.m
	switch {
	case in.Clock == "tsc-early" && nominal(m.reference) && m.watched < 0.9*m.reference:
		j.because(Bad, text+"; the early TSC runs slow against a reference that shows the nominal interval", "tsc-frequency-wrong", "tsc-halts-in-idle")
	case guestClock(in.Reference) && nominal(m.reference) && m.watched > 1.01*m.reference:
		j.because(Good, text+"; the hypervisor's clock leaves out a pause of the guest, the TSC counts through it", "guest-paused")
	case nominal(m.reference) && m.watched > 1.1*m.reference:
		j.because(Undecided, text+"; the emulated reference stands still while the guest is paused, the TSC counts through it", "guest-paused", "cause-unknown")
	case nominal(m.watched) && m.reference > lateFrom:
		verdict := Good
		if len(f.sleeps) > 0 {
			verdict = Undecided // CPUs that just came up may have brought a foreign TSC
		}
		j.because(verdict, text+"; the TSC shows the watchdog's nominal interval and the reference does not: the reference jumped", "reference-wrong", "guest-paused")
	case nominal(m.watched):
		j.because(Undecided, text+"; the TSC shows the watchdog's nominal interval; a pause or a migration of the guest moves either clock", "guest-paused", "vcpu-preempted")
	case j.jumped(text):
	default:
		j.because(Undecided, text+"; a pause or a migration of the guest moves either clock", "guest-paused", "cause-unknown")
	}
}

// onHardware judges a large difference where no hypervisor is known of.
func (j *judgement) onHardware(in *event.Incident, f *facts, text string) {
	m := &j.m
	switch {
	case j.jumped(text):
	case len(f.toolsBefore(in)) > 0 && (m.watched > 1.1*m.reference || m.reference > 1.1*m.watched):
		j.because(Bad, text+"; a tool that changes clocks was at work just before", "tsc-rate-not-constant")
	case in.Clock == "tsc-early" && nominal(m.reference) && math.Abs(m.ppm()) > 10_000:
		j.because(Bad, text+"; right after the early calibration the TSC runs at another rate than the kernel believes", "tsc-frequency-wrong", "cause-unknown")
	case m.clamped && nominal(m.watched):
		j.because(Undecided, text+"; the reference's counter stepped back, while the TSC shows the watchdog's nominal interval", "reference-wrong")
	case in.Reference == "hpet" && nominal(m.watched) && m.reference < 450_000_000 && !f.stalledBefore(in, stallWindow):
		j.because(Good, text+"; the TSC shows the watchdog's nominal interval and the HPET lost time, as it does where it stops in deep package sleep", "hpet-pc10")
	case nominal(m.watched) && m.reference > lateFrom:
		j.because(Good, text+"; the TSC shows the watchdog's nominal interval and the reference does not: the reference jumped", "reference-wrong")
	default:
		j.because(Undecided, text+"; one comparison does not tell which clock was wrong", "cause-unknown")
	}
}

// jumped recognises a TSC that was written: it moved by more than a minute at 5
// GHz within one interval of the reference, and no wrap of the reference comes near that.
func (j *judgement) jumped(text string) bool {
	m := &j.m
	far := m.watched > 120e9
	if m.watchedHex {
		far = m.watchedCycles > writtenCycles
	}
	if !far || m.reference >= 2e9 || m.clamped {
		return false
	}
	// Near a multiple of the wrap period the reference may have wrapped. Among
	// many periods everything is near one, hence the second limit.
	if m.period > 0 && !math.IsInf(m.period, 1) && distance(m.skew(), m.period) < min(5e-3*m.skew(), m.period/20) {
		return false
	}
	j.because(Bad, text+"; the TSC jumped by "+duration(m.watched)+" within one interval: it was written", "tsc-written")
	return true
}

// writtenCycles is more than any TSC counts in a minute.
const writtenCycles = 60 * fastestTSC

// resumed reports that the check lies in the window after a sleep: the log says
// so, or the absolute counter values restarted while the log's time is much later.
func (j *judgement) resumed(in *event.Incident, f *facts) bool {
	if f.sleptBefore(in) {
		return true
	}
	m := &j.m
	t, stamped := in.Time.PrintkNS.Get()
	if !stamped || t < 300_000_000_000 || !m.watchedHex || !m.watchedOK || m.watched <= 0 || m.watchedCycles <= 0 {
		return false
	}
	hz := m.watchedCycles / m.watched * 1e9
	if !plausibleTSC(hz) {
		return false
	}
	up := float64(in.WatchedInterval.Now.Value) / hz * 1e9
	return up < 60e9 && up < float64(t)/10
}

// repeated reports that another check of the same clock shows the same error in
// ppm. In another boot only long intervals count: over half a second two slow
// reads or two steps look like a rate.
func repeated(m *measured, f *facts, all []event.Incident) bool {
	in := m.in
	for i := range all {
		other := &all[i]
		if other.Clock != in.Clock || other.Events[0].Source == in.Events[0].Source {
			continue
		}
		o := measure(other, f)
		if !o.watchedOK || !o.referenceOK || o.longer() < 1e8 {
			continue
		}
		if other.Boot != in.Boot && math.Min(m.longer(), o.longer()) < lateFrom {
			continue
		}
		// Near a million ppm every pause looks like every other one.
		if math.Abs(o.ppm()) < 500_000 && math.Abs(o.ppm()-m.ppm()) < 0.02*math.Abs(m.ppm())+20 {
			return true
		}
	}
	return false
}

// need names what would decide an undecided comparison.
func (j *judgement) need(in *event.Incident, f *facts) {
	add := func(ids ...string) { j.missing = append(j.missing, ids...) }
	if !j.m.watchedOK {
		add("tsc-frequency")
	}
	if !j.m.referenceOK {
		add("reference-frequency")
	}
	if in.CPUsAhead == "" && in.CPUsBehind == "" && !in.Durations {
		add("cross-cpu-check")
	}
	add("second-witness")
	if f.guest == machine.Yes || guestClock(in.Reference) {
		add("host-log")
	}
	if f.guest == machine.Unknown {
		add("platform")
	}
	if !in.Header {
		add("verdict-line")
	}
	add("earlier-lines")
	if f.version == "" {
		add("kernel-version")
	}
}
