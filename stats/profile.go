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
// 87-94; the ends are found without derivatives.
func ProfileInterval(profile func(float64) float64, at, low, high, confidence float64) Bounds {
	if !(low <= at && at <= high) || !(confidence > 0 && confidence < 1) {
		return Bounds{Interval: nowhere()}
	}
	floor := profile(at) - ChiSquaredQuantile(confidence)/2
	above := func(x float64) float64 { return profile(x) - floor }
	b := Bounds{Interval: Interval{low, high}}
	if at == low || above(low) >= 0 {
		b.OpenLow = true
	} else {
		b.Low = border(above, at, low)
	}
	if at == high || above(high) >= 0 {
		b.OpenHigh = true
	} else {
		b.High = border(above, at, high)
	}
	return b
}

// border finds where a function falls from 0 or more, at in, to below 0, at
// out. It looks near the inside first: far away, likelihoods are flat and numbers
// rough. Then it draws lines through both ends, and halves where those do not help.
//
// Source: the Illinois method, M. Dowell and P. Jarratt, BIT 11 (1971) 168-174.
func border(above func(float64) float64, in, out float64) float64 {
	fIn, fOut := above(in), above(out)
	for step := (out - in) / 1024; math.Abs(step) < math.Abs(out-in); step *= 2 {
		f := above(in + step)
		if !(f >= 0) {
			out, fOut = in+step, f
			break
		}
		in, fIn = in+step, f
	}
	side := 0 // which end stayed where it was last time
	for range 200 {
		if math.Abs(out-in) < 1e-7*(1e-3+math.Abs(in)) {
			break
		}
		x := in + (out-in)/2
		// A line from a value that is no number, or far below, leads nowhere.
		if t := fIn / (fIn - fOut); t > 0.001 && t < 0.999 && !math.IsInf(fOut, 0) {
			x = in + (out-in)*t
		}
		if x == in || x == out {
			break
		}
		f := above(x)
		if f >= 0 {
			in, fIn = x, f
			if side == 1 {
				fOut /= 2
			}
			side = 1
		} else {
			out, fOut = x, f
			if side == -1 {
				fIn /= 2
			}
			side = -1
		}
		if math.Abs(f) < 1e-5 { // far less than what any likelihood is worth
			return x
		}
	}
	return in
}
