package clocksource

import (
	"math"
	"math/bits"
)

// Cycles is a raw counter value or a difference of two.
type Cycles uint64

// Nanos is a span of time in nanoseconds. The kernel's unsigned 64 bit results
// are stored bit by bit, so that a value of 2^63 or more reads as negative,
// which is also what the kernel does when it prints one.
type Nanos int64

// Hz is a frequency in cycles per second.
type Hz uint64

// PPM is a ratio in parts per million.
type PPM float64

// NanosPerSecond is 10^9.
const NanosPerSecond Nanos = 1_000_000_000

// Units of time, for constants that are written down in them.
const (
	Microsecond Nanos = 1_000
	Millisecond Nanos = 1_000_000
)

// Seconds returns the span in seconds.
func (n Nanos) Seconds() float64 { return float64(n) / float64(NanosPerSecond) }

// Abs returns the magnitude; the most negative value, which has none, becomes the greatest.
func (n Nanos) Abs() Nanos {
	switch {
	case n == math.MinInt64:
		return math.MaxInt64
	case n < 0:
		return -n
	}
	return n
}

// At returns how long the cycles take at the given frequency, cut to whole
// nanoseconds. It is exact arithmetic, not the kernel's conversion. A
// result that does not fit, and any span at 0 Hz, is the greatest Nanos.
func (c Cycles) At(f Hz) Nanos { return scaled(uint64(c), uint64(NanosPerSecond), uint64(f)) }

// CyclesIn returns how many whole cycles of frequency f pass in n nanoseconds;
// 0 for a negative span, and the greatest Cycles where they do not fit.
func (f Hz) CyclesIn(n Nanos) Cycles {
	if n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(f), uint64(n))
	if hi >= uint64(NanosPerSecond) {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, uint64(NanosPerSecond))
	return Cycles(q)
}

// Ratio returns the skew in parts per million of the interval, and false where
// the interval is not positive: a rate cannot be told from it.
func Ratio(skew, interval Nanos) (PPM, bool) {
	if interval <= 0 {
		return 0, false
	}
	return PPM(float64(skew) / float64(interval) * 1e6), true
}

// Deviation returns by how many parts per million got differs from want, and
// false where want is 0.
func Deviation(got, want Hz) (PPM, bool) {
	if want == 0 {
		return 0, false
	}
	return PPM((float64(got) - float64(want)) / float64(want) * 1e6), true
}

// scaled returns a*b/div cut to an integer, or the greatest Nanos.
func scaled(a, b, div uint64) Nanos {
	if div == 0 {
		return math.MaxInt64
	}
	hi, lo := bits.Mul64(a, b)
	if hi >= div {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, div)
	if q > math.MaxInt64 {
		return math.MaxInt64
	}
	return Nanos(q)
}
