package bench

import (
	"math/bits"
)

// Units of the values of a clock.
const (
	Nanoseconds = "ns"
	CyclesUnit  = "cycles"
)

// Steps up to exactSteps-1 are counted one by one; above, each power of two is
// divided into so many buckets, so that a quantile is at most an eighth too great.
const (
	exactSteps  = 256
	bucketBits  = 3
	octaveParts = 1 << bucketBits
	exactBits   = 8 // exactSteps is 1 << exactBits
)

// Counter counts the steps of a clock from one read to the next. The zero value is empty.
type Counter struct {
	exact    [exactSteps]uint64
	buckets  [(64 - exactBits) * octaveParts]uint64
	total    uint64 // forward steps and zeros
	min, max uint64 // of the steps that are not 0
	divisor  uint64
	backward uint64
	farthest uint64 // of the backward ones
}

// Add counts the step from a value to the next one. Values are counters of 64 bits that
// wrap: half of their range forward is a step back.
func (c *Counter) Add(from, to uint64) {
	if d := int64(to - from); d < 0 {
		c.backward++
		c.farthest = max(c.farthest, from-to)
		return
	}
	d := to - from
	c.total++
	c.max = max(c.max, d)
	if d > 0 && (c.min == 0 || d < c.min) {
		c.min = d
	}
	if d > 0 && (c.divisor == 0 || d%c.divisor != 0) {
		c.divisor = divisor(d, c.divisor)
	}
	if d < exactSteps {
		c.exact[d]++
		return
	}
	c.buckets[bucketOf(d)]++
}

// divisor returns the greatest common divisor; that of a number and 0 is the number.
func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// AddAll counts the steps of a row of values.
func (c *Counter) AddAll(values []uint64) {
	for i := 1; i < len(values); i++ {
		c.Add(values[i-1], values[i])
	}
}

// bucketOf returns the bucket of a step of exactSteps or more.
func bucketOf(d uint64) int {
	octave := bits.Len64(d) - 1
	part := int(d>>(octave-bucketBits)) - octaveParts
	return (octave-exactBits)*octaveParts + part
}

// bounds returns the steps that belong to a bucket: from the first and below the second,
// which is 0 for the last bucket of all, whose end does not fit.
func bounds(bucket int) (from, below uint64) {
	shift := bucket/octaveParts + exactBits - bucketBits
	part := uint64(bucket%octaveParts + octaveParts)
	return part << shift, (part + 1) << shift
}

// Steps is how a clock goes from one read to the next, in the unit of its values.
type Steps struct {
	Unit  string `json:"unit"`  // "ns" or "cycles"
	Count uint64 `json:"count"` // steps forward and of 0
	Zero  uint64 `json:"zero"`  // the same value twice
	// Smallest is the smallest step that is not 0, and 0 where there was none. It is the
	// resolution where that is coarser than a read takes, else what the fastest read took.
	Smallest uint64 `json:"smallest"`
	// Resolution is the same in ns, 0 where the rate of the counter is not known.
	Resolution float64 `json:"resolution_ns"`
	// Divisor divides all steps: a counter that advances by 2 shows 2, however long a read takes.
	Divisor uint64 `json:"common_divisor"`
	Median  uint64 `json:"median"` // a bound that half of the steps do not exceed
	P99     uint64 `json:"p99"`
	Max     uint64 `json:"max"`
	// Backward counts steps back on one CPU, which no clock for programs may make.
	Backward uint64 `json:"backward"`
	Farthest uint64 `json:"farthest_backward"`
	// Exact counts small steps one by one, Buckets the others; both without the empty ones.
	Exact   []ExactStep `json:"exact"`
	Buckets []Bucket    `json:"buckets"`
}

// ExactStep is how often a step was seen.
type ExactStep struct {
	Step  uint64 `json:"step"`
	Count uint64 `json:"count"`
}

// Bucket is how many steps of at least From and below Below there were. Below is 0 in
// the last one, which has no end.
type Bucket struct {
	From  uint64 `json:"from"`
	Below uint64 `json:"below"`
	Count uint64 `json:"count"`
}

// Steps summarises what was counted. hz is the rate of values in cycles, 0 if it is not known.
func (c *Counter) Steps(unit string, hz float64) Steps {
	s := Steps{
		Unit: unit, Count: c.total, Zero: c.exact[0], Smallest: c.min, Divisor: c.divisor, Max: c.max,
		Median: c.quantile(50), P99: c.quantile(99), Backward: c.backward, Farthest: c.farthest,
		Exact: []ExactStep{}, Buckets: []Bucket{},
	}
	switch {
	case unit == Nanoseconds:
		s.Resolution = float64(c.min)
	case hz > 0:
		s.Resolution = float64(c.min) / hz * 1e9
	}
	for d, n := range c.exact {
		if n > 0 {
			s.Exact = append(s.Exact, ExactStep{Step: uint64(d), Count: n})
		}
	}
	for i, n := range c.buckets {
		if n > 0 {
			from, below := bounds(i)
			s.Buckets = append(s.Buckets, Bucket{From: from, Below: below, Count: n})
		}
	}
	return s
}

// quantile returns the least step that so many percent of the steps do not exceed
// (nearest rank), or up to an eighth more.
func (c *Counter) quantile(percent uint64) uint64 {
	if c.total == 0 {
		return 0
	}
	high, low := bits.Mul64(c.total, percent)
	rank, rest := bits.Div64(high, low, 100)
	if rest > 0 {
		rank++
	}
	var seen uint64
	for d, n := range c.exact {
		if seen += n; seen >= rank {
			return uint64(d)
		}
	}
	for i, n := range c.buckets {
		if seen += n; seen >= rank {
			_, below := bounds(i)
			return min(below-1, c.max)
		}
	}
	return c.max
}
