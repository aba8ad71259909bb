package stats

import "math"

// Bounds is a likelihood interval. An open end is one that was not found in
// the range that was searched: the counts set no limit there.
type Bounds struct {
	Interval
	OpenLow, OpenHigh bool
}

// ProfileInterval returns the values of one quantity that a likelihood ratio
// test does not reject. profile is the logarithm of the likelihood, maximised over
// everything but that quantity; at is where it is largest and must lie between
// low and high, which bound the search. Away from at, profile must not rise. An
// end that is not found is low or high, and open.
//
// For a confidence of 0.95 an end is where profile has fallen by 1.92, half of
// the chi-squared quantile with one degree of freedom; the coverage approaches the
// confidence as counts grow.
//
// Source: D. J. Venzon and S. H. Moolgavkar, A method for computing
// profile-likelihood-based confidence intervals, Applied Statistics 37 (1988)
// 87-94; the ends are found by halving, which needs no derivatives.
func ProfileInterval(profile func(float64) float64, at, low, high, confidence float64) Bounds {
	if !(low <= at && at <= high) || !(confidence > 0 && confidence < 1) {
		return Bounds{Interval: nowhere()}
	}
	floor := profile(at) - ChiSquaredQuantile(confidence)/2
	b := Bounds{Interval: Interval{low, high}}
	inside := func(x float64) bool { return profile(x) >= floor }
	if at == low || inside(low) {
		b.OpenLow = true
	} else {
		b.Low = border(inside, at, low)
	}
	if at == high || inside(high) {
		b.OpenHigh = true
	} else {
		b.High = border(inside, at, high)
	}
	return b
}

// border halves the way from a point inside to one outside until both are one.
// It looks near the inside first: far away, likelihoods are flat and numbers rough.
func border(inside func(float64) bool, in, out float64) float64 {
	for step := (out - in) / 1024; math.Abs(step) < math.Abs(out-in); step *= 2 {
		if !inside(in + step) {
			out = in + step
			break
		}
		in += step
	}
	for range 200 {
		middle := in + (out-in)/2
		if math.Abs(out-in) < 1e-7*(1e-3+math.Abs(in)) || middle == in || middle == out {
			break
		}
		if inside(middle) {
			in = middle
		} else {
			out = middle
		}
	}
	return in
}
