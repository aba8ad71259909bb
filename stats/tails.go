package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// BinomialLogLikelihood returns the logarithm of the probability of a count
// where each trial has the event with probability p. It is -Inf for what cannot
// be, such as an event where p is 0.
func BinomialLogLikelihood(c Count, p float64) float64 {
	if !c.valid() || math.IsNaN(p) || p < 0 || p > 1 {
		return math.NaN()
	}
	k, n := float64(c.Events), float64(c.Trials)
	return logChoose(n, k) + timesLog(k, p) + timesLog1p(n-k, -p)
}

// PoissonLogLikelihood returns the logarithm of the probability of a number of
// events whose mean is given.
func PoissonLogLikelihood(events int, mean float64) float64 {
	if events < 0 || math.IsNaN(mean) || mean < 0 {
		return math.NaN()
	}
	k := float64(events)
	return timesLog(k, mean) - mean - logGamma(k+1)
}

// BinomialAtMost returns the probability of at most c.Events events in c.Trials trials.
//
// Source: the regularised incomplete beta function, Abramowitz and Stegun 26.5.24.
func BinomialAtMost(c Count, p float64) float64 {
	switch {
	case !c.valid() || math.IsNaN(p) || p < 0 || p > 1:
		return math.NaN()
	case c.Events == c.Trials || p == 0:
		return 1
	case p == 1:
		return 0
	}
	k, n := float64(c.Events), float64(c.Trials)
	return mathext.RegIncBeta(n-k, k+1, 1-p)
}

// BinomialAtLeast returns the probability of at least c.Events events in c.Trials trials.
func BinomialAtLeast(c Count, p float64) float64 {
	switch {
	case !c.valid() || math.IsNaN(p) || p < 0 || p > 1:
		return math.NaN()
	case c.Events == 0 || p == 1:
		return 1
	case p == 0:
		return 0
	}
	k, n := float64(c.Events), float64(c.Trials)
	return mathext.RegIncBeta(k, n-k+1, p)
}

// BinomialTwoSided returns how probable a count at least as far out is, on
// either side: twice the smaller of the exact tails, and at most 1. It is the
// test that [ClopperPearson] inverts, so a value below 0.05 means that p lies
// outside the 95 % interval.
func BinomialTwoSided(c Count, p float64) float64 {
	return min(1, 2*min(BinomialAtMost(c, p), BinomialAtLeast(c, p)))
}

// PoissonTwoSided is [BinomialTwoSided] for a number of events whose mean is given.
//
// Source: the regularised incomplete gamma function, Abramowitz and Stegun 26.4.21.
func PoissonTwoSided(events int, mean float64) float64 {
	if events < 0 || math.IsNaN(mean) || mean < 0 {
		return math.NaN()
	}
	k := float64(events)
	atMost, atLeast := 1.0, 1.0
	if mean > 0 {
		atMost = mathext.GammaIncRegComp(k+1, mean)
	}
	if events > 0 {
		atLeast = mathext.GammaIncReg(k, mean)
	}
	return min(1, 2*min(atMost, atLeast))
}

// BinomialDeviance returns twice the logarithm of the likelihood ratio between
// the observed proportion and p: the row's part in a model's deviance. It is 0
// at p = events/trials and finite on the edges where the count agrees with p.
//
// Source: P. McCullagh and J. A. Nelder, Generalized Linear Models, 2nd ed., 4.4.3.
func BinomialDeviance(c Count, p float64) float64 {
	if !c.valid() || math.IsNaN(p) || p < 0 || p > 1 {
		return math.NaN()
	}
	if c.Trials == 0 {
		return 0
	}
	k, n := float64(c.Events), float64(c.Trials)
	saturated := timesLog(k, k/n) + timesLog(n-k, (n-k)/n)
	return max(0, 2*(saturated-timesLog(k, p)-timesLog1p(n-k, -p)))
}

// ChiSquaredTail returns the probability that a chi-squared variable with the
// given degrees of freedom exceeds x, and 1 for no degrees of freedom.
func ChiSquaredTail(x float64, df int) float64 {
	switch {
	case math.IsNaN(x) || df < 0:
		return math.NaN()
	case x <= 0 || df == 0:
		return 1
	}
	return mathext.GammaIncRegComp(float64(df)/2, x/2)
}

// ChiSquaredQuantile returns what a chi-squared variable with one degree of
// freedom stays below with probability p: 3.84 for 0.95.
func ChiSquaredQuantile(p float64) float64 {
	z := critical(p)
	return z * z
}

// FisherMidP tests whether two independent samples have the same proportion.
// It is Fisher's exact two-sided p value (all tables with the same margins that
// are at most as probable as the observed one) less half the probability of the
// observed table, which takes away most of the exact test's conservatism.
//
// Source: S. Lydersen, M. W. Fagerland and P. Laake, Recommended tests for
// association in 2x2 tables, Statistics in Medicine 28 (2009) 1159-1175.
func FisherMidP(a, b Count) float64 {
	if !a.valid() || !b.valid() {
		return math.NaN()
	}
	events := a.Events + b.Events
	low, high := max(0, events-b.Trials), min(events, a.Trials)
	observed := logTable(a.Events, events, a.Trials, b.Trials)
	total, all := 0.0, 0.0
	for k := low; k <= high; k++ {
		l := logTable(k, events, a.Trials, b.Trials)
		all += math.Exp(l - observed)
		if l <= observed+1e-7 { // tables as probable as the observed one differ by rounding
			total += math.Exp(l - observed)
		}
	}
	return min(1, (total-0.5)/all)
}

// FisherMidPGreater is the one-sided test of whether the proportion of a is
// the greater one: the probability of more events in a given the margins, and
// half of that of as many.
func FisherMidPGreater(a, b Count) float64 {
	if !a.valid() || !b.valid() {
		return math.NaN()
	}
	events := a.Events + b.Events
	low, high := max(0, events-b.Trials), min(events, a.Trials)
	observed := logTable(a.Events, events, a.Trials, b.Trials)
	more, all := 0.0, 0.0
	for k := low; k <= high; k++ {
		w := math.Exp(logTable(k, events, a.Trials, b.Trials) - observed)
		all += w
		if k > a.Events {
			more += w
		}
	}
	return min(1, (more+0.5)/all)
}

// logTable is the logarithm of the hypergeometric weight of k of the events in the first sample.
func logTable(k, events, first, second int) float64 {
	return logChoose(float64(first), float64(k)) + logChoose(float64(second), float64(events-k))
}

func logGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

func logChoose(n, k float64) float64 { return logGamma(n+1) - logGamma(k+1) - logGamma(n-k+1) }

// timesLog returns x log y, which is 0 for x = 0 whatever y is.
func timesLog(x, y float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log(y)
}

// timesLog1p returns x log(1+y), which is 0 for x = 0.
func timesLog1p(x, y float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log1p(y)
}
