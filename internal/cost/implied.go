package cost

import (
	"errors"
	"fmt"
)

// Comparison is one transfer under two clocksources. What is nil is not known.
type Comparison struct {
	Fast         Value   `json:"fast_bits_per_second"`
	Slow         Value   `json:"slow_bits_per_second"`
	SegmentBytes float64 `json:"segment_bytes"`
	// Share is the part of the time of the CPU that limits the transfer that goes into
	// reading the clock, under the slow clocksource: of this CPU's busy time, not of the whole machine's.
	Share    *Value `json:"share_ratio"`
	Reads    *Value `json:"reads_per_segment"` // on that CPU
	FastRead *Value `json:"read_ns"`           // one read inside the kernel, under the fast clocksource
	SlowRead *Value `json:"slow_read_ns"`      // the same under the slow one
}

// Validate returns what is wrong with a comparison, all of it.
func (c Comparison) Validate() error {
	errs := []error{
		c.Fast.check("throughput under the fast clocksource in bit/s", true),
		c.Slow.check("throughput under the slow clocksource in bit/s", true),
		Exact(c.SegmentBytes).check("bytes per segment", true),
	}
	for _, o := range []struct {
		what string
		v    *Value
	}{{"share of the reads", c.Share}, {"reads per segment", c.Reads}, {"ns per read", c.FastRead}, {"ns per slow read", c.SlowRead}} {
		if o.v != nil {
			errs = append(errs, o.v.check(o.what, true))
		}
	}
	if c.Share != nil && c.Share.High > 1 {
		errs = append(errs, fmt.Errorf("share of the reads: %v: want at most 1", c.Share.High))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	switch {
	case c.Slow.High >= c.Fast.Low:
		return fmt.Errorf("%.4g bit/s at most under the slow clocksource and %.4g at least under the fast one: there is no loss to explain", c.Slow.High, c.Fast.Low)
	case c.FastRead != nil && c.SlowRead != nil && c.SlowRead.Low <= c.FastRead.High:
		return fmt.Errorf("a slow read of %.4g ns at least and a fast one of %.4g ns at most: want the slow one to be dearer", c.SlowRead.Low, c.FastRead.High)
	}
	return nil
}

// Implication is what two throughputs imply of reading the clock. What is nil takes an input that is not there.
type Implication struct {
	FastSegment Value `json:"fast_segment_ns"` // T = 8 B / R
	SlowSegment Value `json:"slow_segment_ns"` // T'
	Loss        Value `json:"loss_ratio"`      // 1 - T/T'

	// ByTimes is what the slow clocksource costs more per segment: T' - T = k (c' - c). PerByte is the same
	// per byte, which no size of the segments changes.
	ByTimes Value `json:"by_times_ns"`
	PerByte Value `json:"by_times_ns_per_byte"`
	// ByShare is what its reads cost per segment: share T' = k c'.
	ByShare *Value `json:"by_share_ns"`
	// Difference is ByShare - ByTimes = k c, what the reads of the fast clocksource
	// cost per segment, and DifferenceRatio the same as a part of ByTimes. The two ways contradict each other if it
	// cannot be 0 or more, or is more than a segment takes under the fast clocksource (Consistent).
	Difference      *Value `json:"difference_ns"`
	DifferenceRatio *Value `json:"difference_ratio"`
	Consistent      *bool  `json:"consistent"`

	Rows []ImpliedRead `json:"per_read"` // for the reads asked for, or a choice of numbers

	// NeededReads is how many reads per segment a slow read of the price given takes to
	// explain the loss, and BytesPerRead after how many bytes the clock would be read.
	NeededReads  *Value `json:"needed_reads_per_segment"`
	BytesPerRead *Value `json:"needed_bytes_per_read"`
}

// ImpliedRead is what one read under the slow clocksource must have cost, were there so many per segment.
type ImpliedRead struct {
	Reads   Value  `json:"reads_per_segment"`
	ByTimes Value  `json:"by_times_ns_per_read"` // (T' - T) / k + c, without c where it is not known
	ByShare *Value `json:"by_share_ns_per_read"` // share T' / k
}

// choice are the numbers of reads for which the price is told where none is given.
var choice = [...]float64{1, 2, 5, 10, 20, 50, 100, 200, 500}

// Implied computes what reading the clock must have cost for the throughput to fall so:
//
//	(a) by the times   T' - T   = k (c' - c)
//	(b) by the share   share T' = k c'
//
// The two check each other: (b) - (a) = k c, what the reads cost under the fast
// clocksource, which is little. Intervals are carried by corners. The
// error says which input cannot be.
func Implied(c Comparison) (Implication, error) {
	if err := c.Validate(); err != nil {
		return Implication{}, fmt.Errorf("tell what reading the clock cost: %w", err)
	}
	segment := func(rate float64) float64 { return nsPerSegment(c.SegmentBytes, rate) }
	extra := func(x []float64) float64 { return segment(x[1]) - segment(x[0]) }
	r := Implication{
		FastSegment: corners(func(x []float64) float64 { return segment(x[0]) }, c.Fast),
		SlowSegment: corners(func(x []float64) float64 { return segment(x[0]) }, c.Slow),
		Loss:        corners(func(x []float64) float64 { return 1 - x[1]/x[0] }, c.Fast, c.Slow),
		ByTimes:     corners(extra, c.Fast, c.Slow),
		PerByte:     corners(func(x []float64) float64 { return extra(x) / c.SegmentBytes }, c.Fast, c.Slow),
	}
	if c.Share != nil {
		r.ByShare = at(corners(func(x []float64) float64 { return x[1] * segment(x[0]) }, c.Slow, *c.Share))
		// T0 is what is left of a slow segment: k c = T - (1 - share) T'.
		rest := func(x []float64) float64 { return segment(x[0]) - (1-x[2])*segment(x[1]) }
		r.Difference = at(corners(rest, c.Fast, c.Slow, *c.Share))
		// At each corner of the same throughputs: it rises with the share and falls with T'/T.
		r.DifferenceRatio = at(corners(func(x []float64) float64 { return rest(x) / extra(x) }, c.Fast, c.Slow, *c.Share))
		most := r.FastSegment.High
		if c.Reads != nil && c.FastRead != nil {
			most = min(most, c.Reads.High*c.FastRead.High)
		}
		consistent := r.Difference.High >= 0 && r.Difference.Low <= most
		r.Consistent = &consistent
	}
	fast := Exact(0)
	if c.FastRead != nil {
		fast = *c.FastRead
	}
	for _, k := range c.reads() {
		row := ImpliedRead{Reads: k, ByTimes: corners(func(x []float64) float64 { return extra(x)/x[2] + x[3] }, c.Fast, c.Slow, k, fast)}
		if c.Share != nil {
			row.ByShare = at(corners(func(x []float64) float64 { return x[1] * segment(x[0]) / x[2] }, c.Slow, *c.Share, k))
		}
		r.Rows = append(r.Rows, row)
	}
	if c.SlowRead != nil {
		needed := func(x []float64) float64 { return extra(x) / (x[2] - x[3]) }
		r.NeededReads = at(corners(needed, c.Fast, c.Slow, *c.SlowRead, fast))
		r.BytesPerRead = at(corners(func(x []float64) float64 { return c.SegmentBytes / needed(x) }, c.Fast, c.Slow, *c.SlowRead, fast))
	}
	return r, nil
}

func (c Comparison) reads() []Value {
	if c.Reads != nil {
		return []Value{*c.Reads}
	}
	var all []Value
	for _, k := range choice {
		all = append(all, Exact(k))
	}
	return all
}

func at(v Value) *Value { return &v }
