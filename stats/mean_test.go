package stats

import (
	"math"
	"testing"
)

// The quantiles are those of printed tables.
func TestQuantilesOfStudentsDistributionAreThoseOfTheTables(t *testing.T) {
	for _, c := range []struct{ p, df, want float64 }{
		{0.975, 1, 12.7062}, {0.975, 2, 4.30265}, {0.975, 5, 2.57058}, {0.975, 30, 2.04227}, {0.95, 10, 1.81246}, {0.995, 4, 4.60409},
		{0.025, 2, -4.30265}, {0.5, 3, 0}, {0.975, 1e6, 1.95997},
	} {
		if got := StudentQuantile(c.p, c.df); math.Abs(got-c.want) > 1e-4*math.Max(1, math.Abs(c.want)) {
			t.Errorf("quantile %v with %v degrees of freedom: %v, want %v", c.p, c.df, got, c.want)
		}
	}
	for _, c := range [][2]float64{{0, 3}, {1, 3}, {math.NaN(), 3}, {0.9, 0}, {0.9, math.NaN()}} {
		if got := StudentQuantile(c[0], c[1]); !math.IsNaN(got) {
			t.Errorf("of %v: %v, want NaN", c, got)
		}
	}
}

func TestAMeanHasStudentsInterval(t *testing.T) {
	// 1, 2, 3, 4: deviation 1.29099, so that the half width is 3.18245 x 0.645497.
	mean, i := MeanInterval([]float64{4, 1, 3, 2}, 0.95)
	if mean != 2.5 || math.Abs(i.Low-0.445739) > 1e-5 || math.Abs(i.High-4.554261) > 1e-5 {
		t.Errorf("mean %v, interval %v", mean, i)
	}
	if mean, i := MeanInterval([]float64{7}, 0.95); mean != 7 || !math.IsInf(i.Low, -1) || !math.IsInf(i.High, 1) {
		t.Errorf("of one value: %v, %v", mean, i)
	}
	if mean, _ := MeanInterval(nil, 0.95); !math.IsNaN(mean) {
		t.Errorf("of none: %v", mean)
	}
}

func TestAMedianLiesBetweenRanks(t *testing.T) {
	for _, c := range []struct {
		values           []float64
		median, low, top float64
	}{
		{[]float64{3}, 3, 3, 3},
		{[]float64{3, 1}, 2, 1, 3},
		{[]float64{6, 1, 5, 2, 4, 3}, 3.5, 1, 6},
		{[]float64{9, 1, 8, 2, 7, 3, 6, 4, 5}, 5, 2, 8},
	} {
		if m, i := MedianInterval(c.values, 0.95); m != c.median || i.Low != c.low || i.High != c.top {
			t.Errorf("of %v: %v in %v, want %v in %v to %v", c.values, m, i, c.median, c.low, c.top)
		}
	}
	if m, i := MedianInterval(nil, 0.95); !math.IsNaN(m) || !math.IsNaN(i.Low) || !math.IsNaN(i.High) {
		t.Errorf("of nothing: %v in %v", m, i)
	}
}
