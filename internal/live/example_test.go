package live_test

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/live"
)

// Four reads take 2 us or so and one 60 us.
func ExampleHistogram() {
	var delays live.Histogram
	for _, d := range []clocksource.Nanos{1_900, 2_000, 2_010, 2_100, 60_666} {
		delays.Add(d)
	}
	fmt.Println("median at most", delays.Quantile(0.5), "ns, longest", delays.Max(), "ns")
	for _, b := range delays.Buckets() {
		fmt.Println("from", b.From, "ns:", b.Count)
	}
	// Output:
	// median at most 2047 ns, longest 60666 ns
	// from 1024 ns: 3
	// from 2048 ns: 1
	// from 32768 ns: 1
}
