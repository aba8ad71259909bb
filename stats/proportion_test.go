package stats

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > tolerance {
		t.Errorf("%s is %.7g, want %.7g", what, got, want)
	}
}

func TestIntervalsOfAProportionAreThoseOfThePublishedTable(t *testing.T) {
	// Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, methods 3 and 5.
	for _, c := range []struct {
		count         Count
		wilson, exact Interval
	}{
		{Count{81, 263}, Interval{0.2553, 0.3662}, Interval{0.2527, 0.3676}},
		{Count{15, 148}, Interval{0.0624, 0.1605}, Interval{0.0578, 0.1617}},
		{Count{0, 20}, Interval{0, 0.1611}, Interval{0, 0.1684}},
		{Count{1, 29}, Interval{0.0061, 0.1718}, Interval{0.0009, 0.1776}},
	} {
		w, e := Wilson(c.count, 0.95), ClopperPearson(c.count, 0.95)
		near(t, "Wilson low", w.Low, c.wilson.Low, 5e-5)
		near(t, "Wilson high", w.High, c.wilson.High, 5e-5)
		near(t, "exact low", e.Low, c.exact.Low, 5e-5)
		near(t, "exact high", e.High, c.exact.High, 5e-5)
	}
}

func TestClopperPearsonAgreesWithBetaQuantilesOfGonum(t *testing.T) {
	for n := 1; n <= 40; n += 3 {
		for k := 0; k <= n; k++ {
			for _, confidence := range []float64{0.8, 0.95, 0.999} {
				got := ClopperPearson(Count{k, n}, confidence)
				want := Interval{0, 1}
				if k > 0 {
					want.Low = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile((1 - confidence) / 2)
				}
				if k < n {
					want.High = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile((1 + confidence) / 2)
				}
				near(t, "low", got.Low, want.Low, 1e-9)
				near(t, "high", got.High, want.High, 1e-9)
			}
		}
	}
}

func TestTheExactIntervalHoldsForCountsOfAnySize(t *testing.T) {
	for _, c := range []Count{{1, 1e9}, {0, 1e9}, {500_000, 1e6}, {999_999_999, 1e9}, {42, 4e8}, {123_456, 999_999_999}} {
		i := ClopperPearson(c, 0.95)
		if c.Events > 0 {
			near(t, "upper tail at the low end", BinomialAtLeast(c, i.Low), 0.025, 1e-6)
		}
		if c.Events < c.Trials {
			near(t, "lower tail at the high end", BinomialAtMost(c, i.High), 0.025, 1e-6)
		}
	}
}

// coverage is the exact probability that an interval holds the true proportion.
func coverage(interval func(Count, float64) Interval, n int, p float64) float64 {
	sum := 0.0
	for k := range n + 1 {
		if interval(Count{k, n}, 0.95).Contains(p) {
			sum += math.Exp(BinomialLogLikelihood(Count{k, n}, p))
		}
	}
	return sum
}

func TestTheCoverageOfIntervalsOfAProportionIsAsDocumented(t *testing.T) {
	for _, n := range []int{1, 5, 20, 100, 400} {
		mean, points := 0.0, 0
		for p := 0.005; p < 1; p += 0.0099 {
			if c := coverage(ClopperPearson, n, p); c < 0.95-1e-9 {
				t.Errorf("n=%d, p=%.3f: the exact interval covers with %.4f", n, p, c)
			}
			mean += coverage(Wilson, n, p)
			points++
		}
		if mean /= float64(points); mean < 0.94 || mean > 0.975 {
			t.Errorf("n=%d: Wilson covers with %.4f on average", n, mean)
		}
	}
}

func TestIntervalsHoldOnTheEdges(t *testing.T) {
	for _, f := range []func(Count, float64) Interval{Wilson, ClopperPearson} {
		for n := range 60 {
			for k := range n + 1 {
				i := f(Count{k, n}, 0.95)
				switch {
				case !(0 <= i.Low && i.Low < i.High && i.High <= 1):
					t.Errorf("%d of %d: %v", k, n, i)
				case n > 0 && !i.Contains(float64(k)/float64(n)):
					t.Errorf("%d of %d lies outside %v", k, n, i)
				case k == 0 && i.Low != 0, k == n && i.High != 1:
					t.Errorf("%d of %d: %v does not reach the edge", k, n, i)
				}
			}
		}
		for _, c := range []Count{{-1, 5}, {6, 5}, {0, -1}} {
			if i := f(c, 0.95); !math.IsNaN(i.Low) || !math.IsNaN(i.High) {
				t.Errorf("%v: %v, want NaN", c, i)
			}
		}
	}
}

func TestTheIntervalOfADifferenceIsThatOfThePublishedTable(t *testing.T) {
	// Newcombe, Statistics in Medicine 17 (1998) 873-890, table II, method 10.
	for _, c := range []struct {
		a, b Count
		want Interval
	}{
		{Count{56, 70}, Count{48, 80}, Interval{0.0524, 0.3339}},
		{Count{9, 10}, Count{3, 10}, Interval{0.1705, 0.8090}},
		{Count{6, 7}, Count{2, 7}, Interval{0.0582, 0.8062}},
		{Count{5, 56}, Count{0, 29}, Interval{-0.0381, 0.1926}},
		{Count{0, 10}, Count{0, 20}, Interval{-0.1611, 0.2775}},
		{Count{0, 10}, Count{0, 10}, Interval{-0.2775, 0.2775}},
		{Count{10, 10}, Count{0, 20}, Interval{0.6791, 1}},
		{Count{10, 10}, Count{0, 10}, Interval{0.6075, 1}},
	} {
		got := NewcombeDifference(c.a, c.b, 0.95)
		near(t, "low", got.Low, c.want.Low, 5e-5)
		near(t, "high", got.High, c.want.High, 5e-5)
		mirrored := NewcombeDifference(c.b, c.a, 0.95)
		near(t, "mirrored low", mirrored.Low, -got.High, 1e-12)
		near(t, "mirrored high", mirrored.High, -got.Low, 1e-12)
	}
	if got := NewcombeDifference(Count{1, 2}, Count{}, 0.95); got != (Interval{-1, 1}) {
		t.Errorf("without trials: %v", got)
	}
}
