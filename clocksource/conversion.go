package clocksource

import (
	"fmt"
	"math"
	"math/bits"
)

// Scale is the unit in which a driver names its frequency at registration.
type Scale uint32

const (
	// ScaleHz: the frequency is a whole number of Hz. Most drivers.
	ScaleHz Scale = 1
	// ScaleKHz: the frequency is a whole number of kHz. tsc and tsc-early.
	ScaleKHz Scale = 1000
)

// ScaleFor returns the scale with which the clock of that name is registered.
func ScaleFor(name string) Scale {
	if name == "tsc" || name == "tsc-early" {
		return ScaleKHz
	}
	return ScaleHz
}

// Conversion is what the kernel stores for a clocksource at registration, 4.1 and later.
type Conversion struct {
	Mult      uint32 `json:"mult"`
	Shift     uint32 `json:"shift"`
	MaxAdj    uint32 `json:"max_adj"`     // 11 % of mult
	MaxCycles Cycles `json:"max_cycles"`  // convertible without overflow, clipped to the mask
	MaxIdle   Nanos  `json:"max_idle_ns"` // longest time without an update, half of what MaxCycles last
}

// maxSeconds is how long a conversion has to hold for counters wider than 32 bits.
const maxSeconds = 600

// MultShift returns the greatest shift up to 32, and its multiplier, with which
// maxsec seconds of a counter that counts `from` units convert to `to` units
// without an overflow of 64 bits. It returns zeros where from is 0.
// The rule is the same in 3.6 to 7.3.
func MultShift(from, to, maxsec uint32) (mult, shift uint32) {
	if from == 0 {
		return 0, 0
	}
	acc := accuracy(from, maxsec)
	var m uint64
	for shift = 32; shift > 0; shift-- {
		m = rawMult(from, to, shift)
		if m>>acc == 0 {
			break
		}
	}
	return uint32(m), shift
}

// accuracy is how many bits a multiplier may have.
func accuracy(from, maxsec uint32) uint {
	return uint(32 - bits.Len64(uint64(maxsec)*uint64(from)>>32))
}

// rawMult is the 64 bit multiplier before it is cut to 32 bits.
func rawMult(from, to, shift uint32) uint64 {
	return (uint64(to)<<shift + uint64(from)/2) / uint64(from)
}

// Register returns the conversion of a counter whose frequency is freq*scale
// Hz. A clock without a frequency (jiffies, tod of s390) brings its own mult:
// see [Given]. It fails where freq, scale or mask is 0 or scale is above 10^9.
func Register(freq uint32, scale Scale, mask Mask) (Conversion, error) {
	if err := registrable(freq, scale, mask); err != nil {
		return Conversion{}, err
	}
	mult, shift := MultShift(freq, uint32(uint64(NanosPerSecond)/uint64(scale)), span(freq, scale, mask))
	for overflows(mult) && shift > 0 {
		mult >>= 1
		shift--
	}
	return Given(mult, shift, mask), nil
}

func registrable(freq uint32, scale Scale, mask Mask) error {
	switch {
	case freq == 0:
		return fmt.Errorf("registering a clock of frequency 0: a conversion cannot be computed, give mult and shift")
	case scale == 0 || uint64(scale) > uint64(NanosPerSecond):
		return fmt.Errorf("registering a clock with scale %d: want 1 to %d", scale, NanosPerSecond)
	case mask == 0:
		return fmt.Errorf("registering a clock with mask 0: want the all-ones value of its width")
	}
	return nil
}

// span is the time, in the unit of the scaled frequency, for which the conversion must hold.
func span(freq uint32, scale Scale, mask Mask) uint32 {
	sec := uint64(mask) / uint64(freq) / uint64(scale)
	switch {
	case sec == 0:
		sec = 1
	case sec > maxSeconds && mask > Mask32:
		sec = maxSeconds
	}
	return uint32(sec * uint64(scale)) // the kernel hands it over in 32 bits
}

func maxAdj(mult uint32) uint32 { return uint32(uint64(mult) * 11 / 100) }

func overflows(mult uint32) bool { return mult+maxAdj(mult) < mult }

// Given returns the conversion of a clock that brings its own mult and shift.
// A mult of 0 converts everything to 0 and has no limits.
func Given(mult, shift uint32, mask Mask) Conversion {
	c := Conversion{Mult: mult, Shift: shift, MaxAdj: maxAdj(mult)}
	if mult == 0 || shift > 63 {
		return c
	}
	// The kernel adds in 32 bits; a driver whose mult overflows there gets a
	// warning, and a sum of 0 has no quotient.
	sum := mult + c.MaxAdj
	c.MaxCycles = Cycles(mask)
	if sum != 0 {
		c.MaxCycles = min(Cycles(math.MaxUint64/uint64(sum)), Cycles(mask))
	}
	c.MaxIdle = Nanos(uint64(c.MaxCycles) * uint64(mult-c.MaxAdj) >> shift >> 1)
	return c
}

// MightOverflow reports that an 11 % adjustment of mult does not fit 32 bits,
// for which kernels warn "Clocksource ... might overflow on 11% adjustment".
func (c Conversion) MightOverflow() bool { return overflows(c.Mult) }

// Line returns the text of the registration message of 4.2 and later, without prefix or stamp.
func (c Conversion) Line(name string, mask Mask) string {
	return fmt.Sprintf("clocksource: %s: mask: %#x max_cycles: %#x, max_idle_ns: %d ns",
		name, uint64(mask), uint64(c.MaxCycles), int64(c.MaxIdle))
}

// Frequency returns the counter frequency that mult and shift stand for, in
// Hz, rounded to nearest; 0 where mult is 0.
func (c Conversion) Frequency() Hz {
	if c.Mult == 0 || c.Shift > 34 {
		return 0
	}
	return Hz((uint64(NanosPerSecond)<<c.Shift + uint64(c.Mult)/2) / uint64(c.Mult))
}

// IdleBefore41 returns the limits that kernels up to 4.0 computed: the cycle
// limit is a power of two clipped to the mask, and the time is shortened by an
// eighth. It was read in 3.6; maxadj is 0 before 3.2 (from memory). No line was printed.
func IdleBefore41(mult, shift, maxadj uint32, mask Mask) (Cycles, Nanos) {
	sum := uint64(mult) + uint64(maxadj)
	if sum == 0 || shift > 63 || maxadj > mult {
		return 0, 0
	}
	log := bits.Len64(sum) - 1
	cycles := min(Cycles(1)<<uint(63-(log+1)), Cycles(mask))
	ns := uint64(cycles) * uint64(mult-maxadj) >> shift
	return cycles, Nanos(ns - ns>>3)
}

// Arithmetic is how a kernel multiplies cycles by mult.
type Arithmetic uint8

const (
	// Wrapping keeps the low 64 bits of the product. Kernels up to 6.8.
	Wrapping Arithmetic = iota
	// OverflowSafe multiplies in 96 bits where the cycles exceed max_cycles. From
	// the 6.10 cycle (read in 6.11) and stable 6.1.107.
	OverflowSafe
)

// String returns wrapping or overflow-safe.
func (a Arithmetic) String() string {
	switch a {
	case Wrapping:
		return "wrapping"
	case OverflowSafe:
		return "overflow-safe"
	}
	return fmt.Sprintf("Arithmetic(%d)", uint8(a))
}

// Nanos converts cycles. Of a result that needs all 64 bits the top bit becomes the sign.
func (c *Conversion) Nanos(cycles Cycles, a Arithmetic) Nanos {
	if c.Shift > 63 {
		return 0
	}
	if a == OverflowSafe && cycles >= c.MaxCycles {
		hi, lo := bits.Mul64(uint64(cycles), uint64(c.Mult))
		if c.Shift == 0 {
			return Nanos(lo)
		}
		return Nanos(hi<<(64-c.Shift) | lo>>c.Shift)
	}
	return Nanos(uint64(cycles) * uint64(c.Mult) >> c.Shift)
}

// Between converts the time from last to now: delta rule, then conversion.
func (c *Conversion) Between(last, now Cycles, mask Mask, r DeltaRule, a Arithmetic) Nanos {
	return c.Nanos(r.Delta(last, now, mask), a)
}
