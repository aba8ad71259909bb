package clocksource

import "math/bits"

// Margins that drivers give, 5.14 to 7.0 and 5.10.223, and the margin of a
// clock that is registered without a frequency.
const (
	DriverMargin      Nanos = 32 * Millisecond
	NoFrequencyMargin Nanos = 31_250_000 // 10^9 >> 5
)

// DefaultMargin returns the uncertainty margin that kernels 5.14 to 7.0 compute
// for a clock whose driver gives none: one period of the counter, at least
// twice maxSkew. maxSkew is 50 us in 5.14 to 5.16, 100 us up to 6.2 and 125 us
// from 6.3 on.
//
// The kernel multiplies scale and freq in 32 bits. For a TSC at 4.294968 GHz or
// a little above the product wraps to a tiny number, and the margin becomes
// 1.4 ms. Where it wraps to exactly 0, which would divide by zero, the floor is returned.
func DefaultMargin(freq uint32, scale Scale, maxSkew Nanos) Nanos {
	if freq == 0 || scale == 0 {
		return NoFrequencyMargin
	}
	floor := 2 * maxSkew
	product := uint32(scale) * freq
	if product == 0 {
		return floor
	}
	return max(NanosPerSecond/Nanos(product), floor)
}

// MarginFor returns the margin of the named clock: what its driver gives
// (tsc-early, jiffies and refined-jiffies bring 32 ms), else [DefaultMargin].
func MarginFor(name string, freq uint32, scale Scale, maxSkew Nanos) Nanos {
	if bringsMargin(name) {
		return DriverMargin
	}
	return DefaultMargin(freq, scale, maxSkew)
}

func bringsMargin(name string) bool {
	switch name {
	case "tsc-early", "jiffies", "refined-jiffies":
		return true
	}
	return false
}

// AutoRetries returns how often kernels from 6.9 on (stable 6.1.105) read
// again: half of the binary logarithm of the number of online CPUs, plus one.
// Less than one CPU counts as one.
func AutoRetries(cpus int) int {
	return (bits.Len(uint(max(cpus, 1)))-1)/2 + 1
}
