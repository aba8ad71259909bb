package bench

import (
	"slices"
	"time"

	"github.com/cswatch/cswatch/stats"
)

// Confidence is that of all intervals.
const Confidence = 0.95

// Batch is so many reads that were timed together.
type Batch struct {
	Reads int
	Took  time.Duration
}

// price returns what one read of the batch cost, in ns.
func (b Batch) price() float64 { return float64(b.Took) / float64(b.Reads) }

// Cost is the price of one read in ns, over batches. Every read of a batch is
// averaged with the others of it, so that P99 and Max are of batches, too: what single reads
// cost is told by [Steps].
type Cost struct {
	Median float64 `json:"ns_per_read_median"`
	// Low and High enclose the median with 95 % (order statistics). With fewer than six
	// batches they are the ends of what was seen, which encloses it less often.
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	P99     float64 `json:"ns_per_read_p99"`
	Min     float64 `json:"ns_per_read_min"`
	Max     float64 `json:"ns_per_read_max"`
	Batches int     `json:"batches"`
	Reads   int     `json:"reads"`
}

// CostOf summarises batches. Batches without a read do not count, and the cost of no batch is all zero.
func CostOf(batches []Batch) Cost {
	prices := make([]float64, 0, len(batches))
	var c Cost
	for _, b := range batches {
		if b.Reads > 0 {
			prices = append(prices, b.price())
			c.Reads += b.Reads
		}
	}
	slices.Sort(prices)
	if c.Batches = len(prices); c.Batches == 0 {
		return c
	}
	e := EstimateOf(prices)
	c.Median, c.Low, c.High = e.Median, e.Low, e.High
	c.P99 = prices[(len(prices)*99+99)/100-1] // nearest rank
	c.Min, c.Max = prices[0], prices[len(prices)-1]
	return c
}

// Estimate is a median with its 95 % interval.
type Estimate struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// EstimateOf returns the median of values and its interval, all zero for none.
func EstimateOf(values []float64) Estimate {
	if len(values) == 0 {
		return Estimate{}
	}
	median, i := stats.MedianInterval(values, Confidence)
	return Estimate{Median: median, Low: i.Low, High: i.High}
}
