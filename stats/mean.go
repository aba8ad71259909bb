package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// StudentQuantile returns the point below which a variable of Student's t
// distribution with df degrees of freedom stays with probability p: 12.71 for 0.975 and 1. It is NaN where p is not
// between 0 and 1 or df is not above 0.
//
// Source: the regularised incomplete beta function, Abramowitz and Stegun 26.7.1 and 26.5.27.
func StudentQuantile(p, df float64) float64 {
	if math.IsNaN(p) || p <= 0 || p >= 1 || !(df > 0) {
		return math.NaN()
	}
	if p == 0.5 {
		return 0
	}
	x := mathext.InvRegIncBeta(df/2, 0.5, 2*min(p, 1-p))
	return math.Copysign(math.Sqrt(df*(1-x)/x), p-0.5)
}

// MeanInterval returns the mean of values and the interval of the mean of what they
// are drawn from, by Student's t: exact for values that are independent and normal, near that for means of
// several. It has no end on either side (infinities) where there are fewer than two values, and the
// mean of none is NaN.
//
// Source: Student, The probable error of a mean, Biometrika 6 (1908) 1-25.
func MeanInterval(values []float64, confidence float64) (mean float64, i Interval) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	if n == 0 {
		mean = math.NaN()
	}
	if n < 2 {
		return mean, Interval{Low: math.Inf(-1), High: math.Inf(1)}
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	half := StudentQuantile(0.5+confidence/2, n-1) * math.Sqrt(squares/(n-1)/n)
	return mean, Interval{Low: mean - half, High: mean + half}
}

// MedianInterval returns the median of values and the interval between the ranks of
// [QuantileRanks], whatever the values are drawn from. With fewer than six values and 95 % it is all that was seen, which
// encloses the median less often. Of no values everything is NaN.
func MedianInterval(values []float64, confidence float64) (median float64, i Interval) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	low, high := QuantileRanks(n, 0.5, confidence)
	if low == 0 {
		return math.NaN(), Interval{Low: math.NaN(), High: math.NaN()}
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2, Interval{Low: sorted[low-1], High: sorted[high-1]}
}
