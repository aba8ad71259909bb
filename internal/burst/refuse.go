package burst

import (
	"fmt"
	"math"

	"github.com/cswatch/cswatch/stats"
)

// hopeless returns why no model can be fitted at all, or nil.
func hopeless(pooled []Pooled) *Problem {
	boots, unstable := 0, 0
	for _, p := range pooled {
		boots += p.Boots
		unstable += p.Unstable
	}
	first, last := pooled[0], pooled[len(pooled)-1]
	switch {
	case unstable == 0:
		return &Problem{
			Code: "no-event",
			Text: fmt.Sprintf("none of %d boots was unstable: there is nothing to fit. With %d retries, the fewest that were tried, the rate is at most %s",
				boots, first.Retries, percent(stats.ClopperPearson(first.Count(), Confidence).High)),
			Further: []Plan{{0, max(100, boots)}},
		}
	case unstable == boots:
		return &Problem{
			Code:    "no-stable-boot",
			Text:    fmt.Sprintf("all %d boots were unstable: how long episodes are shows only where some boots survive", boots),
			Further: []Plan{{10*last.Retries + 10, max(100, first.Boots)}, {100*last.Retries + 100, max(100, first.Boots)}},
		}
	case len(pooled) == 1:
		n := max(100, first.Boots)
		return &Problem{
			Code: "single-row",
			Text: fmt.Sprintf("all boots had %d retries: one rate cannot tell few long episodes from many short ones", first.Retries),
			// Two further values: the second tests the shape that the first one gives.
			Further: []Plan{{3*first.Retries + 2, n}, {10*first.Retries + 9, n}},
		}
	}
	return nil
}

// enough adds what boots without an event tell by themselves of the wanted rate.
func (p *Problem) enough(first Pooled, rate float64) {
	if stats.ClopperPearson(first.Count(), Confidence).High <= rate {
		p.Text += fmt.Sprintf(". That is no more than the %s that are wanted, without any model: more retries are not needed", percent(rate))
		return
	}
	// So many boots without an event put the exact interval below the rate.
	boots := int(math.Ceil(math.Log((1-Confidence)/2) / math.Log1p(-rate)))
	p.Text += fmt.Sprintf(". To show without a model that it is no more than the %s that are wanted takes %d boots without an event in all", percent(rate), boots)
	p.Further = append(p.Further, Plan{first.Retries, max(1, boots-first.Boots)})
}

// doubtful returns why a fit carries no conclusion. fits are those of all
// families that the rows carry, the exponential first.
func doubtful(pooled []Pooled, models []Model, fits []*fitted) []Problem {
	var found []Problem
	m := fits[0]
	first, last := pooled[0], pooled[len(pooled)-1]
	if p := fallP(m); p > 0.05 {
		rate := (float64(first.Unstable) + 0.5) / (float64(first.Boots) + 1)
		n := bootsToHalve(rate)
		found = append(found, Problem{
			Code: "no-fall",
			Text: fmt.Sprintf("the rate does not fall with the number of retries by more than chance explains (one-sided p = %s): nothing shows that more retries help",
				pValue(p)),
			Further: []Plan{{first.Retries, n}, {4*last.Retries + 4, n}},
		})
		return found
	}
	if both := mixed(pooled); len(both) < 2 {
		found = append(found, oneMixed(pooled, both))
	}
	fit := false
	for _, model := range models {
		fit = fit || model.Fits
	}
	if !fit {
		found = append(found, Problem{
			Code: "no-fit",
			Text: fmt.Sprintf("no family of lengths fits (the exponential: deviance %.1f on %d degrees of freedom): either the rates depend on more than the retries, such as different kernels, loads or machines, or the lengths have a form that is not among these",
				models[0].Deviance, models[0].DF),
			Further: []Plan{{first.Retries, max(100, first.Boots)}, {last.Retries, max(100, last.Boots)}},
		})
	}
	return found
}

// mixed returns the rows in which some boots were unstable and others not. Two
// of them are what it takes to fix a slope: with fewer, ever steeper curves fit as well.
func mixed(pooled []Pooled) []int {
	var found []int
	for i, p := range pooled {
		if 0 < p.Unstable && p.Unstable < p.Boots {
			found = append(found, i)
		}
	}
	return found
}

// oneMixed says that there are too few such rows, and asks for boots between
// the last number of retries with unstable boots and the next one.
func oneMixed(pooled []Pooled, both []int) Problem {
	at := 0
	for i, p := range pooled {
		if p.Unstable > 0 {
			at = i
		}
	}
	next := pooled[min(at+1, len(pooled)-1)]
	p := Problem{
		Code: "one-mixed-row",
		Text: "with each number of retries either all boots were unstable or none: the counts tell between which numbers the rate falls, but not how",
	}
	if len(both) == 1 {
		p.Text = fmt.Sprintf("only with %d retries were some boots unstable and others not: the counts tell that the rate falls, but not how", pooled[both[0]].Retries)
	}
	between := int(math.Sqrt(float64(pooled[at].Retries+1)*float64(next.Retries+1))) - 1
	if between > pooled[at].Retries && between < next.Retries {
		p.Further = append(p.Further, Plan{between, max(100, pooled[at].Boots)})
	}
	p.Further = append(p.Further, Plan{next.Retries, max(100, 3*next.Boots)})
	return p
}

// fallP is the one-sided p value of the likelihood ratio between the
// exponential family and a rate that does not depend on retries: half of the
// chi-squared tail, because the hypothesis lies on the edge of the family.
//
// Source: S. G. Self and K.-Y. Liang, JASA 82 (1987) 605-610, case 5.
func fallP(m *fitted) float64 {
	k, n := 0.0, 0.0
	for _, c := range m.d {
		k += c.k
		n += c.n
	}
	flat := cell{1, k, n}.saturated()
	ratio := 2 * (m.l - flat)
	if ratio <= 1e-6 { // the family reaches its edge only in the limit
		return 1
	}
	return stats.ChiSquaredTail(ratio, 1) / 2
}

// bootsToHalve is how many boots on each side tell a rate from half of it: 5 % two-sided, power 90 %.
//
// Source: J. L. Fleiss, Statistical Methods for Rates and Proportions, 3.2, without continuity correction.
func bootsToHalve(rate float64) int {
	half := rate / 2
	mean := (rate + half) / 2
	z := stats.NormalQuantile(0.975) + stats.NormalQuantile(0.9)
	return int(math.Ceil(z * z * 2 * mean * (1 - mean) / (half * half)))
}

// percent shows a rate for a person.
func percent(x float64) string {
	p := 100 * x
	switch {
	case p == 0:
		return "0 %"
	case p < 0.01:
		return fmt.Sprintf("%.1g %%", p)
	case p < 1:
		return fmt.Sprintf("%.2g %%", p)
	case p < 99.95:
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.0f %%", p)
}

func pValue(p float64) string {
	if p < 0.001 {
		return fmt.Sprintf("%.1g", p)
	}
	return fmt.Sprintf("%.2g", p)
}
