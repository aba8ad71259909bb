package live

import (
	"math/bits"

	"github.com/cswatch/cswatch/clocksource"
)

// Each power of two is divided into so many steps, so that a quantile is at most
// 1/16 of its value too great.
const (
	stepBits = 4
	steps    = 1 << stepBits
)

// Histogram is the distribution of delays, in bounded memory. The zero value is empty.
type Histogram struct {
	counts   [64 * steps]uint64
	total    uint64
	min, max clocksource.Nanos
}

// Bucket is how many delays were at least From ns and below twice that; the first one begins at 0.
type Bucket struct {
	From  clocksource.Nanos `json:"from_ns"`
	Count uint64            `json:"count"`
}

// index returns the step of a delay; delays below 16 ns have one each.
func index(d uint64) int {
	if d < steps {
		return int(d)
	}
	shift := bits.Len64(d) - 1 - stepBits
	return (shift+1)*steps + int(d>>shift) - steps
}

// last returns the greatest delay of a step.
func last(i int) uint64 {
	if i < steps {
		return uint64(i)
	}
	shift := i/steps - 1
	return (uint64(i%steps)+steps+1)<<shift - 1
}

// Add counts a delay; one below 0 counts as 0.
func (h *Histogram) Add(d clocksource.Nanos) {
	d = max(d, 0)
	if h.total == 0 || d < h.min {
		h.min = d
	}
	h.max = max(h.max, d)
	h.total++
	h.counts[index(uint64(d))]++
}

// Count returns how many delays were added.
func (h *Histogram) Count() uint64 { return h.total }

// Min returns the smallest delay, 0 if there is none.
func (h *Histogram) Min() clocksource.Nanos { return h.min }

// Max returns the greatest delay, 0 if there is none.
func (h *Histogram) Max() clocksource.Nanos { return h.max }

// Quantile returns a bound that the given share of the delays (0 to 1) does not
// exceed: the least such delay, or up to 1/16 more; 0 if there is none.
func (h *Histogram) Quantile(share float64) clocksource.Nanos {
	if h.total == 0 {
		return 0
	}
	// Nearest rank: the least delay for which at least that share is no greater.
	rank := uint64(share * float64(h.total))
	if float64(rank) < share*float64(h.total) {
		rank++
	}
	rank = min(max(rank, 1), h.total)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return max(min(clocksource.Nanos(last(i)), h.max), h.min)
		}
	}
	return h.max
}

// Buckets returns the counts by powers of two, without the empty ones.
func (h *Histogram) Buckets() []Bucket {
	out := []Bucket{}
	for i, n := range h.counts {
		if n == 0 {
			continue
		}
		var from clocksource.Nanos
		if d := last(i); d > 1 {
			from = 1 << (bits.Len64(d) - 1)
		}
		if k := len(out) - 1; k >= 0 && out[k].From == from {
			out[k].Count += n
		} else {
			out = append(out, Bucket{From: from, Count: n})
		}
	}
	return out
}
