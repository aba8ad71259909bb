package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// NormalQuantile returns the point below which a standard normal variable
// stays with probability p.
func NormalQuantile(p float64) float64 {
	switch {
	case math.IsNaN(p) || p < 0 || p > 1:
		return math.NaN()
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	}
	return mathext.NormalQuantile(p)
}

// critical returns the two-sided critical value of the standard normal distribution.
func critical(confidence float64) float64 {
	return NormalQuantile(0.5 + confidence/2)
}

// Wilson returns the score interval of a proportion, for a confidence such as
// 0.95. Its coverage is near the nominal one on average, also for few events;
// for some proportions it is less. Without trials it is 0 to 1.
//
// Source: E. B. Wilson, Probable inference, the law of succession, and
// statistical inference, JASA 22 (1927); without continuity correction, method 3
// of R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872.
func Wilson(c Count, confidence float64) Interval {
	if !c.valid() || !(confidence > 0 && confidence < 1) {
		return nowhere()
	}
	if c.Trials == 0 {
		return Interval{0, 1}
	}
	z := critical(confidence)
	n, p := float64(c.Trials), c.Rate()
	z2 := z * z
	middle := (p + z2/(2*n)) / (1 + z2/n)
	half := z / (1 + z2/n) * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	i := Interval{max(0, middle-half), min(1, middle+half)}
	// On the edges the ends are known, and rounding must not move them.
	if c.Events == 0 {
		i.Low = 0
	}
	if c.Events == c.Trials {
		i.High = 1
	}
	return i
}

// ClopperPearson returns the exact interval of a proportion: its coverage is
// never less than the confidence, and mostly more. Without trials it is 0 to 1.
//
// Source: C. J. Clopper and E. S. Pearson, The use of confidence or fiducial
// limits illustrated in the case of the binomial, Biometrika 26 (1934), by way of
// quantiles of the beta distribution.
func ClopperPearson(c Count, confidence float64) Interval {
	if !c.valid() || !(confidence > 0 && confidence < 1) {
		return nowhere()
	}
	tail := (1 - confidence) / 2
	k, n := float64(c.Events), float64(c.Trials)
	i := Interval{0, 1}
	if c.Events > 0 {
		i.Low = mathext.InvRegIncBeta(k, n-k+1, tail)
	}
	if c.Events < c.Trials {
		i.High = mathext.InvRegIncBeta(k+1, n-k, 1-tail)
	}
	return i
}

// NewcombeDifference returns the interval of the difference of two
// proportions, a minus b, for independent samples.
//
// Source: method 10 (hybrid score) of R. G. Newcombe, Interval estimation for
// the difference between independent proportions, Statistics in Medicine 17
// (1998) 873-890.
func NewcombeDifference(a, b Count, confidence float64) Interval {
	wa, wb := Wilson(a, confidence), Wilson(b, confidence)
	if math.IsNaN(wa.Low) || math.IsNaN(wb.Low) {
		return nowhere()
	}
	if a.Trials == 0 || b.Trials == 0 {
		return Interval{-1, 1}
	}
	pa, pb := a.Rate(), b.Rate()
	return Interval{
		Low:  max(-1, pa-pb-math.Hypot(pa-wa.Low, wb.High-pb)),
		High: min(1, pa-pb+math.Hypot(wa.High-pa, pb-wb.Low)),
	}
}
