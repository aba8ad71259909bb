package stats

import (
	"math"
	"testing"
)

func TestRanksOfAQuantileHoldItAsOftenAsPromised(t *testing.T) {
	for _, tt := range []struct {
		name          string
		n             int
		q, confidence float64
		low, high     int
	}{
		// The tables of order statistics for the median, 95 %.
		{"one value is its own interval", 1, 0.5, 0.95, 1, 1},
		{"five values are too few: the ends are all there is", 5, 0.5, 0.95, 1, 5},
		{"six values are just enough", 6, 0.5, 0.95, 1, 6},
		{"ten values", 10, 0.5, 0.95, 2, 9},
		{"21 values", 21, 0.5, 0.95, 6, 16},
		{"100 values", 100, 0.5, 0.95, 40, 61},
		{"a percentile beyond the values ends with the greatest", 50, 0.99, 0.95, 48, 50},
		{"no value has no rank", 0, 0.5, 0.95, 0, 0},
		{"a quantile of 1 has no interval", 10, 1, 0.95, 0, 0},
		{"a confidence that is no number", 10, 0.5, math.NaN(), 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			low, high := QuantileRanks(tt.n, tt.q, tt.confidence)
			if low != tt.low || high != tt.high {
				t.Errorf("ranks %d and %d, want %d and %d", low, high, tt.low, tt.high)
			}
		})
	}
}

func TestRanksOfAQuantileAreTheNarrowestThatReachTheirTails(t *testing.T) {
	const confidence, tail = 0.95, 0.025
	for n := 6; n <= 300; n++ {
		low, high := QuantileRanks(n, 0.5, confidence)
		below := func(k int) float64 { return BinomialAtMost(Count{Events: k - 1, Trials: n}, 0.5) }
		if p := below(low); p > tail {
			t.Errorf("%d values: rank %d lies above the median with %g", n, low, p)
		}
		if p := 1 - below(high); p > tail+1e-12 {
			t.Errorf("%d values: rank %d lies below the median with %g", n, high, p)
		}
		if p := below(low + 1); p <= tail {
			t.Errorf("%d values: rank %d would do as well as %d", n, low+1, low)
		}
	}
}
