package clocksource

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
)

// PrintedInterval is what the lines of a verdict tell of one clock: its raw
// values at two checks and the nanoseconds that the kernel made of them, and by
// which rules it did.
type PrintedInterval struct {
	Last, Now  Cycles
	Mask       Mask
	NS         Nanos
	Delta      DeltaRule
	Arithmetic Arithmetic
}

// Errors of an interval that tells nothing of a frequency.
var (
	// ErrNoCycles: the kernel saw the counter stand still or go backwards, and 0 ns
	// follow from that at any frequency.
	ErrNoCycles = errors.New("no cycles to tell a frequency from")
	// ErrWrapsTooOften: the product of cycles and mult wraps so often that nearly any
	// frequency could have led to the printed number.
	ErrWrapsTooOften = errors.New("the product of cycles and mult wraps too often")
)

// Cycles returns the difference that the kernel converted.
func (p PrintedInterval) Cycles() Cycles { return p.Delta.Delta(p.Last, p.Now, p.Mask) }

// ExplainedBy reports that the kernel prints exactly these nanoseconds with that conversion.
func (p PrintedInterval) ExplainedBy(c Conversion) bool {
	return c.Nanos(p.Cycles(), p.Arithmetic) == p.NS
}

// Frequencies returns the frequencies freq*scale with which [Register] gives
// the counter a conversion that makes exactly the printed nanoseconds of the raw
// values, as contiguous ranges in rising order. There is one, as a rule
// some ppm wide, where the product of cycles and mult fits 64 bits, which at 2.4 GHz
// it does for ten minutes and more. Of a product that wrapped every number of wraps
// is tried that a clock of 1 MHz or more (with [ScaleKHz], a TSC, of 100 MHz or
// more) can have had. None is there where the numbers contradict each other.
//
// It fails with [ErrNoCycles] or [ErrWrapsTooOften], and for a mask or scale with which
// nothing can be registered.
func (p PrintedInterval) Frequencies(scale Scale) ([]FrequencySet, error) {
	if err := registrable(1, scale, p.Mask); err != nil {
		return nil, err
	}
	cycles := p.Cycles()
	if cycles == 0 {
		if p.NS != 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("interval from %#x to %#x: %w", uint64(p.Last), uint64(p.Now), ErrNoCycles)
	}
	s := search{mask: p.Mask, scale: scale, side: p.side(0)}
	if lo, hi, ok := p.window(cycles, scale); ok {
		s.piece(lo, hi)
	}
	if p.Arithmetic == Wrapping && cycles > Cycles(Mask32) { // no mult has more than 32 bits
		if err := p.wrapped(&s, cycles); err != nil {
			return nil, err
		}
	}
	return s.ranges, nil
}

// side compares the nanoseconds of a conversion with the printed ones, for a
// product that wrapped so often. They fall while the frequency rises.
func (p PrintedInterval) side(wraps uint64) func(Conversion) int {
	cycles := uint64(p.Cycles())
	return func(c Conversion) int {
		hi, lo := bits.Mul64(cycles, uint64(c.Mult))
		if p.Arithmetic == OverflowSafe && Cycles(cycles) >= c.MaxCycles && c.Shift > 0 {
			hi, lo = hi>>c.Shift, hi<<(64-c.Shift)|lo>>c.Shift
		} else {
			lo >>= c.Shift
		}
		return cmp.Or(cmp.Compare(wraps, hi), cmp.Compare(uint64(p.NS), lo))
	}
}

// window returns a generous range of frequencies, in units of scale, that
// contains every one which explains the numbers without a wrap.
func (p PrintedInterval) window(cycles Cycles, scale Scale) (lo, hi uint32, ok bool) {
	most := uint64(maxFrequency) / uint64(scale)
	quotient := func(ns uint64) uint64 {
		h, l := bits.Mul64(uint64(cycles), uint64(NanosPerSecond)/uint64(scale))
		if h >= ns {
			return most
		}
		q, _ := bits.Div64(h, l, ns)
		return min(q, most)
	}
	// 1/64 covers the rounding of a multiplier of 128 and more.
	low := quotient(max(uint64(p.NS)+1, 1))
	low -= min(low-min(low, 1), low/64+2)
	high := quotient(uint64(p.NS))
	high += high/64 + 2
	if low > 1<<32-1 {
		return 0, 0, false
	}
	return uint32(max(low, 1)), uint32(min(high, most, 1<<32-1)), true
}

// The slowest counters of more than 32 bits whose wraps are undone.
const (
	slowestWide Hz = 1_000_000
	slowestTSC  Hz = 100_000_000
)

// maxWraps bounds the work on a product that wrapped.
const maxWraps = 1 << 14

// wrapped adds the frequencies with which the product wrapped once or more.
func (p PrintedInterval) wrapped(s *search, cycles Cycles) error {
	slowest := slowestWide
	if s.scale == ScaleKHz {
		slowest = slowestTSC
	}
	first := max(uint64(slowest)/uint64(s.scale), 1)
	last := min(uint64(maxFrequency)/uint64(s.scale), 1<<32-1)
	if first > last {
		return nil
	}
	wraps := func(freq uint32) uint64 {
		hi, _ := bits.Mul64(uint64(cycles), uint64(s.at(freq).Mult))
		return hi
	}
	tried, direct := uint64(0), s.ranges
	s.ranges = nil
	s.uniform(uint32(first), uint32(last), func(lo, hi uint32) {
		most, least := wraps(lo), max(wraps(hi), 1)
		if most < least {
			return
		}
		tried += most - least + 1
		for n := most; n >= least && tried <= maxWraps; n-- {
			s.side = p.side(n)
			s.bisect(lo, hi)
		}
	})
	if tried > maxWraps {
		return fmt.Errorf("interval of %d cycles: %w", uint64(cycles), ErrWrapsTooOften)
	}
	// A frequency without a wrap is higher than all with one.
	s.ranges = append(s.ranges, direct...)
	return nil
}

// Rates returns the rates of the named clock that explain the numbers, the most
// common first: of [KnownRates], of ticks a second for jiffies and
// refined-jiffies. Of an HPET whose rate is none of these it returns the range of
// frequencies that a legal period gives, as its two ends. It fails like [PrintedInterval.Frequencies].
func (p PrintedInterval) Rates(clock string) ([]Rate, error) {
	if p.Cycles() == 0 && p.NS == 0 {
		return nil, fmt.Errorf("clocksource %s: interval from %#x to %#x: %w", clock, uint64(p.Last), uint64(p.Now), ErrNoCycles)
	}
	var found []Rate
	for _, r := range RatesOf(clock) {
		if c, err := p.conversionOf(r); err == nil && p.ExplainedBy(c) {
			found = append(found, r)
		}
	}
	for _, hz := range TickRates() {
		if c, ok := Tick(clock, hz); ok && p.ExplainedBy(c) {
			found = append(found, Rate{clock, Hz(hz), TickMask, fmt.Sprintf("timer ticks at HZ=%d", hz), "the values of HZ that kernels are built with"})
		}
	}
	if len(found) > 0 || clock != "hpet" {
		return found, nil
	}
	ranges, err := p.Frequencies(ScaleHz)
	if err != nil {
		return nil, fmt.Errorf("clocksource %s: %w", clock, err)
	}
	for _, s := range ranges {
		lowest, highest, ok := legalPeriods(s)
		if !ok {
			continue
		}
		found = append(found, Rate{clock, lowest, p.Mask, "an HPET with a period that is legal and not usual", "HPET specification"})
		if highest != lowest {
			found = append(found, Rate{clock, highest, p.Mask, "the same, other end of the range", "HPET specification"})
		}
	}
	return found, nil
}

// conversionOf returns the conversion of a clock of that rate and the interval's mask.
func (p PrintedInterval) conversionOf(r Rate) (Conversion, error) {
	if k, ok := KnownClock(r.Clock); ok && k.Given.Mult != 0 && k.Hz == r.Hz {
		return Given(k.Given.Mult, k.Given.Shift, p.Mask), nil
	}
	if r.Hz > 1<<32-1 {
		return Conversion{}, fmt.Errorf("clocksource %s at %d Hz: a frequency has 32 bits", r.Clock, uint64(r.Hz))
	}
	return Register(uint32(r.Hz), ScaleHz, p.Mask)
}

// legalPeriods returns the lowest and the highest frequency of a set that a
// legal period in whole femtoseconds gives.
func legalPeriods(s FrequencySet) (lowest, highest Hz, ok bool) {
	const second = 1_000_000_000_000_000 // in fs
	longest, shortest := uint64(second)/uint64(s.Lowest), uint64(second)/uint64(s.Highest+1)+1
	longest, shortest = min(longest, HPETMaxPeriod), max(shortest, HPETMinPeriod)
	if shortest > longest {
		return 0, 0, false
	}
	lowest, _ = HPETFrequency(longest) // both lie within the limits
	highest, _ = HPETFrequency(shortest)
	return lowest, highest, true
}
