package cost

import (
	"errors"
	"fmt"
)

// nsPerSegment is the time of a segment of so many bytes at a throughput in bit/s.
func nsPerSegment(segmentBytes, bitsPerSecond float64) float64 {
	return segmentBytes * 8 / bitsPerSecond * 1e9
}

// Transfer is a transfer under one clocksource, and the price of a read under it and under another.
type Transfer struct {
	Throughput   Value   `json:"throughput_bits_per_second"`
	SegmentBytes float64 `json:"segment_bytes"`
	Reads        Value   `json:"reads_per_segment"` // of the clock, on the CPU that limits the transfer
	Read         Value   `json:"read_ns"`           // one read inside the kernel, under the clocksource in use
	OtherRead    Value   `json:"other_read_ns"`     // the same under the other one
}

// Validate returns what is wrong with a transfer, all of it.
func (t Transfer) Validate() error {
	err := errors.Join(
		t.Throughput.check("throughput in bit/s", true),
		Exact(t.SegmentBytes).check("bytes per segment", true),
		t.Reads.check("reads per segment", false),
		t.Read.check("ns per read", true),
		t.OtherRead.check("ns per read under the other clocksource", true),
	)
	if err != nil {
		return err
	}
	if segment, reading := nsPerSegment(t.SegmentBytes, t.Throughput.Value), t.Reads.Value*t.Read.Value; reading > segment {
		return fmt.Errorf("%.4g reads of %.4g ns are %.4g ns, and the whole segment takes %.4g ns at this throughput: want reads or a price that fit into it",
			t.Reads.Value, t.Read.Value, reading, segment)
	}
	return nil
}

// Prediction is what another clocksource would make of a transfer.
type Prediction struct {
	Segment         Value `json:"segment_ns"`                       // T = T0 + k c
	Reading         Value `json:"reading_ns"`                       // k c
	Share           Value `json:"read_ratio"`                       // k c / T
	OtherSegment    Value `json:"other_segment_ns"`                 // T' = T0 + k c' = T + k (c' - c)
	OtherReading    Value `json:"other_reading_ns"`                 // k c'
	OtherShare      Value `json:"other_read_ratio"`                 // k c' / T'
	OtherThroughput Value `json:"other_throughput_bits_per_second"` // 8 B / T'
	Loss            Value `json:"loss_ratio"`                       // 1 - T / T': of the throughput; less than 0 is a gain
}

// Predict computes what becomes of a transfer under the other clocksource:
//
//	T = 8 B / R    T' = T + k (c' - c)    R' = 8 B / T'    loss = 1 - R'/R = 1 - T/T'
//
// Intervals are carried by corners, which is exact: each result rises or falls
// throughout with each input. Where at a corner the reads would take more than the whole
// segment, as many are taken as fit into it, since T0 is not less than 0.
// The error says which input cannot be.
func Predict(t Transfer) (Prediction, error) {
	if err := t.Validate(); err != nil {
		return Prediction{}, fmt.Errorf("predict a throughput: %w", err)
	}
	// times are those of a segment and of its reads, under both clocksources.
	type times struct{ all, reading, otherAll, otherReading float64 }
	of := func(pick func(times) float64) Value {
		return corners(func(x []float64) float64 {
			rate, k, c, other := x[0], x[1], x[2], x[3]
			all := nsPerSegment(t.SegmentBytes, rate)
			k = min(k, all/c)
			return pick(times{all, k * c, all + k*(other-c), k * other})
		}, t.Throughput, t.Reads, t.Read, t.OtherRead)
	}
	return Prediction{
		Segment:         of(func(x times) float64 { return x.all }),
		Reading:         of(func(x times) float64 { return x.reading }),
		Share:           of(func(x times) float64 { return x.reading / x.all }),
		OtherSegment:    of(func(x times) float64 { return x.otherAll }),
		OtherReading:    of(func(x times) float64 { return x.otherReading }),
		OtherShare:      of(func(x times) float64 { return x.otherReading / x.otherAll }),
		OtherThroughput: of(func(x times) float64 { return t.SegmentBytes * 8 / x.otherAll * 1e9 }),
		Loss:            of(func(x times) float64 { return 1 - x.all/x.otherAll }),
	}, nil
}
