package doctor

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/event"
)

// wrapped looks for a reference that wrapped, or whose difference passed half
// its range and was read as 0, while the watchdog was late. It covers printed
// intervals, and hex values as far as rates are known or can be bounded.
func (j *judgement) wrapped(in *event.Incident) bool {
	m := &j.m
	cause := "hpet-wrap"
	switch {
	case in.Reference == "acpi_pm" || in.ReferenceInterval.Mask.Value == 1<<24-1:
		cause = "acpi-pm-wrap"
	case in.Reference == "hpet":
	default:
		return false // 64-bit references do not wrap; ticks are another matter
	}
	if m.watchedOK {
		return j.wrappedByTime(cause)
	}
	if cause == "acpi-pm-wrap" && m.watchedHex && m.referenceHex {
		return j.pmWrappedByCycles()
	}
	if cause == "hpet-wrap" && m.watchedHex && m.referenceHex && m.referenceCycles > 1<<31 {
		return j.hpetClampedByCycles()
	}
	return false
}

// wrappedByTime knows the watched interval.
func (j *judgement) wrappedByTime(cause string) bool {
	m := &j.m
	bits := 32
	if cause == "acpi-pm-wrap" {
		bits = 24
	}
	late := func() {
		if m.watched > lateFrom {
			j.also("late-watchdog")
		}
	}
	// The interval was printed as 0: the true one is what the counter shows plus whole wraps.
	if m.clamped || m.computed && m.referenceHex && m.referenceCycles > math.Ldexp(1, bits-1) {
		rates := hpetRates()
		if cause == "acpi-pm-wrap" {
			rates = []float64{pmTimerHz}
		} else if m.referenceHz > 0 {
			rates = []float64{m.referenceHz}
		}
		for _, hz := range rates {
			period := math.Ldexp(1, bits) / hz * 1e9
			seen := m.referenceCycles / hz * 1e9
			k := math.Max(0, math.Round((m.watched-seen)/period))
			if off := math.Abs(seen + k*period - m.watched); off <= math.Max(1e6, crystalPPM*1e-6*m.watched) && m.watched > lateFrom {
				j.because(Good, fmt.Sprintf("the reference's difference was more than half its range and was read as 0; its counter plus %g wraps at %.6g MHz is %s, against %s by the TSC: they agree to %.3g ppm",
					k, hz/1e6, duration(seen+k*period), duration(m.watched), off/m.watched*1e6), cause)
				late()
				return true
			}
		}
	}
	if m.clamped && m.watched > lateFrom {
		j.because(Undecided, fmt.Sprintf("the reference's difference was more than half its range and was read as 0; the TSC's %s fit no number of wraps at a usual rate", duration(m.watched)), cause)
		return true
	}
	if !m.referenceOK || m.period == 0 || math.IsInf(m.period, 1) {
		return false
	}
	skew := m.skew()
	if skew < m.period/2 {
		return false
	}
	k := math.Round(skew / m.period)
	tolerance := math.Max(1e6, 1e-4*skew)
	if cause == "hpet-wrap" {
		tolerance = math.Max(1e6, crystalPPM*1e-6*m.watched)
	}
	tolerance = math.Min(tolerance, m.period/20) // among many wraps everything is near one
	if off := math.Abs(skew - k*m.period); k >= 1 && off <= tolerance {
		j.because(Good, fmt.Sprintf("the clocks differ by %s, which is %g wraps of the %d-bit reference (%s each) to %s: the check came late and the reference wrapped",
			duration(skew), k, bits, duration(m.period), duration(off)), cause)
		late()
		return true
	}
	return false
}

// pmWrappedByCycles knows only cycles of the TSC, whose rate it bounds: the PM
// timer's rate is fixed.
func (j *judgement) pmWrappedByCycles() bool {
	m := &j.m
	const period = float64(1<<24) / pmTimerHz // seconds
	seen := m.referenceCycles / pmTimerHz
	rate := func(k float64) float64 { return m.watchedCycles / (seen + k*period) }
	if m.referenceCycles > 1<<23 && plausibleTSC(rate(0)) {
		j.because(Good, fmt.Sprintf("the PM timer moved by %.4g s, more than half its range, which kernels read as 0; the TSC's cycles over that time make %.4g GHz, a sound rate", seen, rate(0)/1e9), "acpi-pm-wrap", "late-watchdog")
		return true
	}
	if rate(0) <= fastestTSC {
		return false
	}
	// A watchdog that is late by more than some wraps is rare: the smallest number that makes sense is taken.
	for k := 1.0; k <= 1000; k++ {
		if hz := rate(k); plausibleTSC(hz) {
			j.because(Good, fmt.Sprintf("without a wrap the TSC would run at %.3g GHz; with %g wraps of the PM timer (%.4g s each) the interval is %.4g s and the TSC runs at %.4g GHz", rate(0)/1e9, k, period, seen+k*period, hz/1e9), "acpi-pm-wrap", "late-watchdog")
			return true
		}
	}
	return false
}

// hpetClampedByCycles knows only cycles of both clocks.
func (j *judgement) hpetClampedByCycles() bool {
	m := &j.m
	for _, hz := range hpetRates() {
		seen := m.referenceCycles / hz
		for k := 0.0; k <= 3; k++ {
			tsc := m.watchedCycles / (seen + k*math.Ldexp(1, 32)/hz)
			// Half the range of the fastest known HPET is 20 s.
			if plausibleTSC(tsc) && seen+k*math.Ldexp(1, 32)/hz > 20 {
				j.because(Good, fmt.Sprintf("the HPET's difference was more than half its range, which kernels read as 0; at %.6g MHz and %g wraps the TSC runs at %.4g GHz, a sound rate", hz/1e6, k, tsc/1e9), "hpet-wrap", "late-watchdog")
				return true
			}
		}
	}
	return false
}

// watchedCycles judges a known reference interval against cycles of a TSC whose
// rate the log does not tell.
func (j *judgement) watchedCycles(in *event.Incident, f *facts) {
	m := &j.m
	hz := m.watchedCycles / m.reference * 1e9
	// The TSC's own interval lies between these, whatever its rate.
	shortest, longest := m.watchedCycles/fastestTSC*1e9, m.watchedCycles/slowestTSC*1e9
	couldBeNominal := shortest <= nominalHigh && longest >= nominalLow
	text := fmt.Sprintf("%s by %s, %.4g cycles by %s (%s to %s at 1 to 5 GHz)", duration(m.reference), orReference(in.Reference), m.watchedCycles, orWatched(in), duration(shortest), duration(longest))
	switch {
	case strings.HasSuffix(in.Reference, "jiffies") && longest > m.reference:
		j.because(Undecided, text+"; the reference counted timer ticks, and early in the boot ticks get lost", "boot-tsc-early-vs-jiffies")
	case m.reference == 0:
		j.because(Undecided, text+"; the reference's interval was read as 0", "cause-unknown")
	case guestClock(in.Reference) && nominal(m.reference) && shortest > nominalHigh:
		j.because(Good, text+"; the hypervisor's clock leaves out a pause of the guest, the TSC counts through it", "guest-paused")
	case m.watchedCycles > writtenCycles && m.reference < 2e9:
		j.because(Bad, text+"; the TSC jumped within one interval: it was written", "tsc-written")
	case couldBeNominal && m.reference > 2e9:
		verdict := Good
		if len(f.sleeps) > 0 || m.reference < 10e9 {
			verdict = Undecided // CPUs that just came up may have brought a foreign TSC; a stall may have hit both
		}
		j.because(verdict, text+"; the TSC can have shown the watchdog's nominal interval, the reference jumped", "reference-wrong")
		if guestClock(in.Reference) {
			j.also("guest-paused")
		}
	case len(f.toolsBefore(in)) > 0 && !plausibleTSC(hz):
		j.because(Bad, text+"; a tool that changes clocks was at work just before", "tsc-rate-not-constant")
	case shortest > lateFrom || m.reference > lateFrom:
		j.because(Undecided, text+"; the watchdog ran late; whether the clocks agree cannot be told without the TSC's rate", "late-watchdog", "cause-unknown")
	case guestClock(in.Reference):
		j.because(Undecided, text+"; the difference cannot be told without the TSC's rate", "vcpu-preempted", "cause-unknown")
	default:
		j.because(Undecided, text+"; the difference cannot be told without the TSC's rate", "cause-unknown")
	}
}

// cyclesOnly judges hex values of both clocks where neither rate is known: what
// holds for every rate that an HPET and a TSC are known to have still holds.
func (j *judgement) cyclesOnly(in *event.Incident, f *facts) {
	m := &j.m
	shortest, longest := m.watchedCycles/fastestTSC*1e9, m.watchedCycles/slowestTSC*1e9
	ratio := m.watchedCycles / math.Max(m.referenceCycles, 1)
	fits := fittingRates(m.watchedCycles, m.referenceCycles)
	fastest := slices.Max(hpetRates())
	at := func(hz float64) float64 { return m.referenceCycles / hz * 1e9 }
	onlyQEMU := len(fits) == 1 && isQEMURate(fits[0])
	text := fmt.Sprintf("%.4g cycles by %s, %.4g by %s; neither rate is in the log", m.watchedCycles, orWatched(in), m.referenceCycles, orReference(in.Reference))
	if m.watchedOK {
		text = fmt.Sprintf("%s by %s, %.4g cycles by %s, whose rate is not in the log", duration(m.watched), orWatched(in), m.referenceCycles, orReference(in.Reference))
	}
	switch {
	case m.watchedCycles > writtenCycles && at(fastest) < 2e9 && m.referenceCycles < 1<<31 && at(14_318_180) < 5e9:
		j.because(Bad, text+"; the TSC jumped within one interval: it was written", "tsc-written")
	case len(f.toolsBefore(in)) > 0 && len(fits) == 0:
		j.because(Bad, text+"; a tool that changes clocks was at work just before, and no usual rate fits", "tsc-rate-not-constant")
	case j.resumed(in, f):
		j.because(Undecided, text+"; a sleep of the machine lies just before", "resume")
	case !f.stalledBefore(in, stallWindow) && in.Reference == "hpet" && shortest <= nominalLow && longest >= nominalHigh && at(14_318_180) < nominalLow && at(24_000_000) < 450_000_000 && !onlyQEMU:
		j.because(Good, text+"; at no usual rate did the HPET count the watchdog's half second, and the TSC can have: the HPET lost time, as it does where it stops in deep package sleep", "hpet-pc10")
		j.missing = []string{"platform", "cpu-model", "tsc-frequency", "reference-frequency", "second-witness"}
	case shortest > lateFrom || at(fastest) > lateFrom:
		j.because(Undecided, text+"; at every rate the watchdog ran late; whether the clocks agree cannot be told", "late-watchdog", "cause-unknown")
	case onlyQEMU:
		j.because(Undecided, text+"; they fit only the 100 MHz HPET of QEMU, with a TSC of "+fmt.Sprintf("%.4g GHz", ratio*fits[0]/1e9), "cause-unknown", "vcpu-preempted")
	default:
		j.because(Undecided, text, "cause-unknown")
	}
}
