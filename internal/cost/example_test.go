package cost_test

import (
	"fmt"

	"github.com/cswatch/cswatch/internal/cost"
)

// What a clocksource with reads of 1.4 µs makes of 13 Gbit/s, at 12 reads for each 64 KiB.
func ExamplePredict() {
	p, err := cost.Predict(cost.Transfer{
		Throughput: cost.Exact(13e9), SegmentBytes: 64 << 10,
		Reads: cost.Within(10, 14), Read: cost.Exact(20), OtherRead: cost.Exact(1400),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f µs per segment become %.2f µs: %.2f Gbit/s (%.2f to %.2f), a loss of %.1f %%\n",
		p.Segment.Value/1e3, p.OtherSegment.Value/1e3, p.OtherThroughput.Value/1e9,
		p.OtherThroughput.Low/1e9, p.OtherThroughput.High/1e9, 100*p.Loss.Value)
	// Output:
	// 40.33 µs per segment become 56.89 µs: 9.22 Gbit/s (8.79 to 9.69), a loss of 29.1 %
}

// What 13 and 1.6 Gbit/s imply, with 84.7 % of the slow one's time in the read.
func ExampleImplied() {
	share := cost.Exact(0.847)
	i, err := cost.Implied(cost.Comparison{Fast: cost.Exact(13e9), Slow: cost.Exact(1.6e9), SegmentBytes: 64 << 10, Share: &share})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("by the times %.1f µs per segment, by the share %.1f µs\n", i.ByTimes.Value/1e3, i.ByShare.Value/1e3)
	for _, r := range i.Rows[3:5] {
		fmt.Printf("%g reads: %.1f µs each\n", r.Reads.Value, r.ByTimes.Value/1e3)
	}
	// Output:
	// by the times 287.4 µs per segment, by the share 277.5 µs
	// 10 reads: 28.7 µs each
	// 20 reads: 14.4 µs each
}
