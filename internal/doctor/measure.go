package doctor

import (
	"math"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
)

// The limits that decide, in ns. The watchdog runs every half second; ticks of
// 1 to 10 ms spread its interval a little.
const (
	nominalLow  = 490_000_000
	nominalHigh = 520_000_000
	lateFrom    = 750_000_000 // an interval above this means that the watchdog ran late
	// crystalPPM is the difference between two crystals that is accepted: NTP corrects up to 500 ppm.
	crystalPPM = 500
	// A small skew is one that a slow read of the reference can explain.
	smallSkewNS  = 3_000_000
	smallSkewPPM = 6_000
	// The TSC of any machine that runs Linux ticks at 1 to 5 GHz or so.
	slowestTSC = 1e9
	fastestTSC = 5e9
)

// measured is the two intervals of a check, as far as the lines give them.
type measured struct {
	in *event.Incident

	watched, reference     float64 // ns, valid if known
	watchedOK, referenceOK bool
	computed               bool // at least one of them was worked out from hex values and a rate

	watchedCycles, referenceCycles float64
	watchedHex, referenceHex       bool

	referenceHz float64 // 0 if unknown
	period      float64 // ns after which the reference wraps; +Inf for 64 bits; 0 if unknown
	backwards   bool    // the watched counter read lower than before
	clamped     bool    // the reference's interval is printed as 0 although its counter moved
}

// measure reads the intervals off an incident. Hex values are turned into time
// where the clock's rate is known from the same log.
func measure(in *event.Incident, f *facts) measured {
	m := measured{in: in}
	if ns, ok := in.WatchedInterval.NS.Get(); ok {
		m.watched, m.watchedOK = float64(ns), true
	}
	if ns, ok := in.ReferenceInterval.NS.Get(); ok {
		m.reference, m.referenceOK = float64(ns), true
	}
	if c, ok := in.WatchedInterval.Cycles(); ok {
		m.watchedCycles, m.watchedHex = float64(c), true
		wide := in.WatchedInterval.Mask.Value > math.MaxUint32 || in.WatchedInterval.Now.Value > math.MaxUint32
		m.backwards = wide && c > math.MaxInt64
	}
	if c, ok := in.ReferenceInterval.Cycles(); ok {
		m.referenceCycles, m.referenceHex = float64(c), true
	}
	// A number at the end of a cut line may lack digits. Where both lines end
	// there, somebody cut them between the fields.
	if in.WatchedInterval.CutNS != in.ReferenceInterval.CutNS && !in.SkewNS.Known {
		m.watchedOK = m.watchedOK && !in.WatchedInterval.CutNS
		m.referenceOK = m.referenceOK && !in.ReferenceInterval.CutNS
	}
	m.referenceHz = m.rate(f)
	m.period = m.wrapPeriod()

	if !m.referenceOK && m.referenceHex && m.referenceHz > 0 {
		m.reference, m.referenceOK, m.computed = m.referenceCycles/m.referenceHz*1e9, true, true
	}
	if !m.watchedOK && m.watchedHex && !m.backwards {
		hz := float64(f.tscHz)
		if in.Clock == "tsc-early" && f.tscEarlyHz > 0 {
			hz = float64(f.tscEarlyHz)
		}
		if hz > 0 {
			m.watched, m.watchedOK, m.computed = m.watchedCycles/hz*1e9, true, true
		}
	}
	skew, hasSkew := in.Skew()
	if in.WatchedInterval.NS.Known && in.WatchedInterval.NS.Value == 0 && (!m.watchedHex || m.watchedCycles != 0) {
		m.backwards = true
	}
	if hasSkew && m.referenceOK && m.reference > 0 && float64(skew) == -m.reference {
		m.backwards = true
	}
	half := math.Ldexp(1, 31)
	if in.Reference == "acpi_pm" {
		half = math.Ldexp(1, 23)
	}
	m.clamped = m.referenceOK && !m.computed && m.reference == 0 && m.referenceHex && m.referenceCycles > half
	return m
}

// rate is the reference's rate in Hz: what the clock always has, what the log
// says, or what a printed interval and its counter values imply.
func (m *measured) rate(f *facts) float64 {
	in := m.in
	if in.ReferenceInterval.NS.Known && in.ReferenceInterval.NS.Value > 0 && m.referenceHex && m.referenceCycles > 0 {
		return m.referenceCycles / float64(in.ReferenceInterval.NS.Value) * 1e9
	}
	switch in.Reference {
	case "hpet":
		return float64(f.hpetHz)
	case "jiffies", "refined-jiffies":
		if f.jiffiesHz > 0 {
			return float64(f.jiffiesHz)
		}
		return tickRate(in)
	}
	if rates := clocksource.RatesOf(in.Reference); len(rates) > 0 {
		return float64(rates[0].Hz)
	}
	if in.Reference == "" && in.ReferenceInterval.Mask.Value == event.Hex(clocksource.Mask24) {
		return pmTimerHz
	}
	return 0
}

// tickRate reads HZ off a jiffies value: the counter starts 300 s before it wraps 32 bits.
func tickRate(in *event.Incident) float64 {
	now := uint64(in.ReferenceInterval.Now.Value)
	if !in.ReferenceInterval.Now.Known || now > math.MaxUint32 {
		return 0
	}
	left := float64(1<<32 - now)
	for _, hz := range [...]float64{1000, 300, 250, 100} {
		// Early in the boot, between 290 and 300 seconds are left.
		if left <= 300*hz && left > 280*hz {
			return hz
		}
	}
	return 0
}

// pmTimerHz is fixed by the ACPI specification.
const pmTimerHz = 3_579_545

// wrapPeriod is the time in which the reference wraps, in ns.
func (m *measured) wrapPeriod() float64 {
	bits := 0
	switch m.in.Reference {
	case "acpi_pm":
		bits = 24
	case "hpet":
		bits = 32
	case "kvm-clock", "hyperv_clocksource_tsc_page", "hyperv_clocksource_msr", "xen", "tsc", "tsc-early":
		return math.Inf(1)
	default:
		mask, ok := m.in.ReferenceInterval.Mask.Get()
		if !ok {
			return 0
		}
		bits = clocksource.Mask(mask).Width()
	}
	if bits >= 56 {
		return math.Inf(1)
	}
	if m.referenceHz == 0 {
		return 0
	}
	return math.Ldexp(1, bits) / m.referenceHz * 1e9
}

// ppm is the skew in parts per million of the longer interval.
func (m *measured) ppm() float64 {
	return m.skew() / math.Max(m.longer(), 1) * 1e6
}

func (m *measured) skew() float64   { return m.watched - m.reference }
func (m *measured) longer() float64 { return math.Max(m.watched, m.reference) }

func nominal(ns float64) bool { return ns >= nominalLow && ns <= nominalHigh }

func plausibleTSC(hz float64) bool { return hz >= slowestTSC && hz <= fastestTSC }

// hpetRates are the rates at which HPETs are known to run, in Hz.
func hpetRates() []float64 {
	var rates []float64
	for _, r := range clocksource.RatesOf("hpet") {
		rates = append(rates, float64(r.Hz))
	}
	return rates
}

// fittingRates are the HPET rates at which the cycles of a check make a
// plausible TSC, where the log tells neither rate.
func fittingRates(watchedCycles, referenceCycles float64) []float64 {
	var fits []float64
	ratio := watchedCycles / math.Max(referenceCycles, 1)
	for _, hz := range hpetRates() {
		if plausibleTSC(ratio * hz) {
			fits = append(fits, hz)
		}
	}
	return fits
}

// fitsOnlyQEMU returns the line whose cycles only the 100 MHz HPET of QEMU
// explains, "" if there is none. No HPET of real hardware is near that rate.
func fitsOnlyQEMU(incidents []event.Incident) string {
	for i := range incidents {
		in := &incidents[i]
		w, okW := in.WatchedInterval.Cycles()
		r, okR := in.ReferenceInterval.Cycles()
		if in.Reference != "hpet" || !okW || !okR || r == 0 || in.ReferenceInterval.NS.Known {
			continue
		}
		if fits := fittingRates(float64(w), float64(r)); len(fits) == 1 && isQEMURate(fits[0]) {
			return in.Events[0].Text
		}
	}
	return ""
}
