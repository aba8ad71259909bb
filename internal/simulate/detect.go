package simulate

import (
	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/stats"
)

// Confidence is that of all intervals.
const Confidence = 0.95

// Share is a part of a number of boots, with its interval.
type Share struct {
	Events, Boots uint64
	Rate          float64 // 0 where there are no boots
	stats.Interval
}

// ShareOf returns a share with Wilson's interval.
func ShareOf(events, boots uint64) Share {
	c := stats.Count{Events: int(events), Trials: int(boots)}
	s := Share{Events: events, Boots: boots, Interval: stats.Wilson(c, Confidence)}
	if boots > 0 {
		s.Rate = c.Rate()
	}
	return s
}

// Quantile is a time by which a share of boots had come, with an interval.
type Quantile struct {
	At, Low, High clocksource.Nanos
}

// QuantileOf estimates a quantile of the times of a tally, and reports false where
// it has none. The interval is that of the order statistics, which supposes nothing of how
// times are distributed; with few boots its ends are the least and the greatest time.
func QuantileOf(t *sim.Tally, q float64) (Quantile, bool) {
	n := t.Timed()
	var v Quantile
	var ok bool
	if v.At, ok = t.Quantile(q); !ok {
		return v, false
	}
	low, high := stats.QuantileRanks(int(n), q, Confidence)
	v.Low, _ = t.Ranked(uint64(max(low, 1) - 1))
	v.High, _ = t.Ranked(uint64(max(high, 1) - 1))
	return v, true
}

// Detection is how well a fault is found.
type Detection struct {
	// Found is the share of boots in which the clock was condemned for what it showed,
	// since the fault began, of those that were not condemned earlier or for latency:
	// what latency took away says nothing of how a fault is found.
	Found Share
	// Median and P95 are of the time from the fault until then, in the boots where it was found.
	Median, P95 Quantile
	Timed       bool // it was found at all
}

// DetectionOf estimates it from the tally of a cell with a fault.
func DetectionOf(t *sim.Tally) Detection {
	d := Detection{Found: ShareOf(t.Detected, t.Boots-(t.Unstable-t.Detected))}
	if d.Median, d.Timed = QuantileOf(t, 0.5); d.Timed {
		d.P95, _ = QuantileOf(t, 0.95)
	}
	return d
}
