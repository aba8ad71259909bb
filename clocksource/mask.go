package clocksource

import (
	"fmt"
	"math"
	"math/bits"
)

// Mask is the all-ones value of a counter's width.
type Mask uint64

// Masks of the widths that real counters have.
const (
	Mask24 Mask = 1<<24 - 1      // acpi_pm
	Mask32 Mask = 1<<32 - 1      // hpet, jiffies
	Mask56 Mask = 1<<56 - 1      // the architected timer of ARM, at least this wide
	Mask64 Mask = math.MaxUint64 // tsc, kvm-clock, timebase
)

// MaskOf returns the mask of a counter that is width bits wide. Widths of 64
// and more give Mask64; widths below 1 give 0, the mask of no counter.
func MaskOf(width int) Mask {
	switch {
	case width < 1:
		return 0
	case width >= 64:
		return Mask64
	}
	return 1<<uint(width) - 1
}

// Width returns the number of bits up to the highest one that is set.
func (m Mask) Width() int { return bits.Len64(uint64(m)) }

// Valid reports whether the mask is all ones up to its width and not 0.
func (m Mask) Valid() bool { return m != 0 && m&(m+1) == 0 }

// TopBit returns the highest bit of the mask: deltas that have it set are more
// than half of the range.
func (m Mask) TopBit() Cycles {
	if m == 0 {
		return 0
	}
	return 1 << uint(m.Width()-1)
}

// MaxRawDelta returns the greatest delta that kernels from 6.13 on (stable
// 6.12.5) take for forward motion: half of the mask and a quarter and an
// eighth of it, each cut to an integer, which is 0.875 of the range.
func (m Mask) MaxRawDelta() Cycles { return Cycles(m>>1 + m>>2 + m>>3) }

// String returns the mask as the kernel prints it, such as "0xffffffff".
func (m Mask) String() string { return fmt.Sprintf("%#x", uint64(m)) }

// WrapPeriod returns the time after which a counter of frequency f returns to
// the same value, cut to whole nanoseconds: 4 686 968 874 ns for the
// ACPI PM timer. Where it does not fit (a 64 bit counter below 2 GHz takes more
// than 292 years) or f is 0 it is the greatest Nanos.
func WrapPeriod(mask Mask, f Hz) Nanos {
	if mask == 0 {
		return 0
	}
	if mask == Mask64 {
		// 2^64 * 10^9 / f, in 128 bits: the high word is 10^9 and the low word 0.
		if uint64(f) <= uint64(NanosPerSecond) {
			return math.MaxInt64
		}
		q, _ := bits.Div64(uint64(NanosPerSecond), 0, uint64(f))
		if q > math.MaxInt64 {
			return math.MaxInt64
		}
		return Nanos(q)
	}
	return scaled(uint64(mask)+1, uint64(NanosPerSecond), uint64(f))
}
