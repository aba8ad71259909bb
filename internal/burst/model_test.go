package burst

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cswatch/cswatch/stats"
)

// rfc is the campaign of 2021: retries, boots, unstable.
func rfc() []Row { return []Row{{3, 400, 42, 0}, {5, 100, 5, 0}, {10, 100, 6, 0}, {50, 400, 1, 0}} }

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.7g, want %.7g", what, got, want)
	}
}

func examine(t testing.TB, rows []Row, opt Options) *Result {
	t.Helper()
	r, err := Examine(rows, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheCampaignOf2021HasThePublishedFit(t *testing.T) {
	m := examine(t, rfc(), Options{}).Models[0]
	near(t, "episodes per boot", m.EpisodesPerBoot, 0.142, 0.0005)
	near(t, "mean length", *m.MeanLength, 12.3, 0.05)
	near(t, "deviance", m.Deviance, 1.98, 0.005)
	if m.DF != 2 || !m.Best || !m.Fits {
		t.Errorf("%d degrees of freedom, best %v, fits %v", m.DF, m.Best, m.Fits)
	}
}

// The likelihood on a fine grid, by nothing but the model's formula.
func TestTheExponentialFitIsTheBestPointOfAGrid(t *testing.T) {
	best, bestLambda, bestTau := math.Inf(-1), 0.0, 0.0
	ridge := map[float64]float64{} // the best likelihood for each lambda
	for lambda := 0.05; lambda < 0.4; lambda += 0.0005 {
		ridge[lambda] = math.Inf(-1)
		for tau := 4.0; tau < 40; tau += 0.02 {
			l := 0.0
			for _, r := range rfc() {
				p := 1 - math.Exp(-lambda*math.Exp(-float64(r.Retries+1)/tau))
				l += float64(r.Unstable)*math.Log(p) + float64(r.Boots-r.Unstable)*math.Log(1-p)
			}
			ridge[lambda] = max(ridge[lambda], l)
			if l > best {
				best, bestLambda, bestTau = l, lambda, tau
			}
		}
	}
	m := examine(t, rfc(), Options{}).Models[0]
	near(t, "lambda", m.EpisodesPerBoot, bestLambda, 0.0005)
	near(t, "tau", *m.MeanLength, bestTau, 0.05)
	low, high := math.Inf(1), 0.0
	for lambda, l := range ridge {
		if best-l <= 1.9207 {
			low, high = min(low, lambda), max(high, lambda)
		}
	}
	near(t, "lower end of lambda", *m.EpisodesPerBootLow, low, 0.001)
	near(t, "upper end of lambda", *m.EpisodesPerBootHigh, high, 0.001)
}

// The profile of the log-normal family runs along a narrow bent ridge.
func TestTheLogNormalProfileIsThatOfAGrid(t *testing.T) {
	m := fitFamily(LogNormal, dataOf(Pool(rfc())))
	low := m.logLambda(Confidence).Low
	best := math.Inf(-1)
	for x := 1.0; x < 4; x += 0.005 {
		for s := 0.1; s < 2; s += 0.005 {
			best = max(best, m.d.logLikelihood(m.family, point{low, []float64{x, math.Log(s)}}))
		}
	}
	near(t, "the likelihood at the lower end of lambda", m.l-best, 1.9207, 0.003)
}

func TestALargerFamilyFitsNoWorseThanTheOneItContains(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for range 40 {
		rows := simulate(rng, 0.3, 8, []int{0, 2, 5, 10, 20}, 200)
		if hopeless(Pool(rows)) != nil {
			continue
		}
		d := dataOf(Pool(rows))
		exponential := fitFamily(Exponential, d).l
		for _, larger := range []Name{Lomax, TwoExponentials} {
			if l := fitFamily(larger, d).l; l < exponential-1e-7 {
				t.Errorf("%v: %s has likelihood %.6f, the exponential within it %.6f", rows, larger, l, exponential)
			}
		}
		if s := d.saturated(); exponential > s+1e-9 {
			t.Errorf("%v: likelihood %.6f above that of the observed rates, %.6f", rows, exponential, s)
		}
	}
}

func TestEverySurvivalFunctionFallsFromAtMostOne(t *testing.T) {
	for _, name := range Families() {
		f := familyOf(name)
		for _, shape := range bounds(f.box) {
			last := 1e-12
			for k := 1.0; k < 1e6; k *= 1.5 {
				l := f.logS(shape, k)
				if math.IsNaN(l) || l > last {
					t.Errorf("%s%v: log S(%.0f) = %g after %g", name, shape, k, l, last)
					break
				}
				last = l
			}
			mean := f.mean(shape)
			if math.IsNaN(mean) || mean <= 0 {
				t.Errorf("%s%v: mean %g", name, shape, mean)
			}
			if math.IsInf(mean, 0) || mean > 1e300 {
				continue
			}
			if first, ok := f.pin(mean, shape[1:]); !ok || math.Abs(first-shape[0]) > 1e-4*(1+math.Abs(shape[0])) {
				t.Errorf("%s%v: pinned to its own mean %g it is %g, %v", name, shape, mean, first, ok)
			}
		}
	}
}

// bounds returns the corners and the middle of a box.
func bounds(box []stats.Interval) [][]float64 {
	all := [][]float64{{}}
	for _, b := range box {
		var next [][]float64
		for _, x := range []float64{b.Low, (b.Low + b.High) / 2, b.High} {
			for _, begun := range all {
				next = append(next, append(append([]float64{}, begun...), x))
			}
		}
		all = next
	}
	return all
}

func TestTheLikelihoodHoldsOnTheEdges(t *testing.T) {
	for _, rows := range [][]Row{
		{{0, 100, 100, 0}, {5, 100, 100, 0}, {10, 100, 0, 0}},
		{{0, 100, 100, 0}, {1, 100, 0, 0}, {2, 100, 0, 0}},
		{{0, 1, 1, 0}, {1, 1, 0, 0}, {1000000, 1, 0, 0}},
		{{0, 500000000, 1, 0}, {1, 400000000, 0, 0}, {2, 1, 1, 0}},
		{{3, 10, 5, 0}, {4, 10, 5, 0}, {5, 10, 5, 0}, {6, 10, 5, 0}, {7, 10, 10, 0}},
	} {
		d := dataOf(Pool(rows))
		for _, name := range Families() {
			m := fitFamily(name, d)
			dev := m.deviance()
			if math.IsNaN(m.l) || math.IsInf(m.l, 0) || math.IsNaN(dev) || dev < 0 {
				t.Errorf("%v, %s: likelihood %g, deviance %g", rows, name, m.l, dev)
			}
			for _, retries := range []int{0, 7, 100} {
				f := m.at(retries)
				if !(0 <= f.RateLow && f.RateLow <= f.Rate+1e-9 && f.Rate <= f.RateHigh+1e-9 && f.RateHigh <= 1) {
					t.Errorf("%v, %s: rate %+v", rows, name, f)
				}
			}
		}
	}
}

// simulate draws counts of the exponential model.
func simulate(rng *rand.Rand, lambda, tau float64, retries []int, boots int) []Row {
	var rows []Row
	for _, r := range retries {
		p := 1 - math.Exp(-lambda*math.Exp(-float64(r+1)/tau))
		unstable := 0
		for range boots {
			if rng.Float64() < p {
				unstable++
			}
		}
		rows = append(rows, Row{Retries: r, Boots: boots, Unstable: unstable})
	}
	return rows
}

// Of 200 intervals that cover with exactly 95 %, fewer than 181 hold the truth
// with a probability of 0.3 %, and all 200 with 0.004 %; profile intervals come
// near that at these counts. For ten intervals the false alarm rate is 3 %, once:
// the seed is fixed, so that the test does not depend on luck.
func TestIntervalsHoldTheTruthAtTheirNominalRate(t *testing.T) {
	const runs, least, most = 200, 181, 199
	for _, truth := range []struct{ lambda, tau float64 }{{0.14, 12.3}, {0.8, 4}} {
		rng := rand.New(rand.NewPCG(20211027, math.Float64bits(truth.tau)))
		var lambda, tau, rate, needed, predicted int
		attempts := truth.tau * math.Log(truth.lambda/-math.Log1p(-0.01))
		for range runs {
			rows := Pool(simulate(rng, truth.lambda, truth.tau, []int{1, 3, 6, 12, 25}, 400))
			m := fitFamily(Exponential, dataOf(rows))
			b := m.logLambda(Confidence)
			lambda += holds(b, math.Log(truth.lambda))
			tau += holds(m.meanLength(Confidence), truth.tau)
			i := m.rateInterval(9, Confidence)
			rate += holds(stats.Bounds{Interval: i}, 1-math.Exp(-truth.lambda*math.Exp(-9/truth.tau)))
			needed += holds(m.attemptsInterval(0.01, Confidence), attempts)
			if left, ok := m.leaveOut(rows, 2); ok && left.CountLow <= left.Unstable && left.Unstable <= left.CountHigh {
				predicted++
			}
		}
		for what, n := range map[string]int{"lambda": lambda, "tau": tau, "rate": rate, "retries needed": needed, "row left out": predicted} {
			if n < least || n > most {
				t.Errorf("lambda %v, tau %v: the interval of %s held the truth in %d of %d runs", truth.lambda, truth.tau, what, n, runs)
			}
			t.Logf("lambda %v, tau %v: %s %d of %d", truth.lambda, truth.tau, what, n, runs)
		}
	}
}

func holds(b stats.Bounds, x float64) int {
	if (b.OpenLow || b.Low <= x) && (b.OpenHigh || x <= b.High) {
		return 1
	}
	return 0
}

// The chi-squared approximation of the goodness of fit, although one row of the
// campaign has less than one unstable boot expected: the share of simulated
// campaigns that lie farther from their own fits than the observed one from its.
// Its standard error is 0.015; the seed is fixed.
func TestTheGoodnessOfFitIsWhatSimulationSays(t *testing.T) {
	const runs = 1000
	seen := fitFamily(Exponential, dataOf(Pool(rfc())))
	rng := rand.New(rand.NewPCG(4, 2021))
	farther := 0
	for range runs {
		var rows []Row
		for _, r := range rfc() {
			p, unstable := seen.rate(float64(r.Retries+1)), 0
			for range r.Boots {
				if rng.Float64() < p {
					unstable++
				}
			}
			rows = append(rows, Row{Retries: r.Retries, Boots: r.Boots, Unstable: unstable})
		}
		if m := fitFamily(Exponential, dataOf(Pool(rows))); m.deviance() >= seen.deviance() {
			farther++
		}
	}
	t.Logf("%d of %d simulated campaigns lie farther from their fits", farther, runs)
	near(t, "p", float64(farther)/runs, stats.ChiSquaredTail(seen.deviance(), 2), 0.06)
}

// On small grids the coverage can be summed over every outcome.
func TestCoverageOnASmallGridIsNearTheNominalOne(t *testing.T) {
	const boots = 25
	for _, truth := range []struct{ lambda, tau float64 }{{1, 4}, {0.7, 8}} {
		p := func(k float64) float64 { return 1 - math.Exp(-truth.lambda*math.Exp(-k/truth.tau)) }
		covered, total := 0.0, 0.0
		for k1 := range boots + 1 {
			for k2 := range boots + 1 {
				rows := Pool([]Row{{0, boots, k1, 0}, {5, boots, k2, 0}})
				weight := math.Exp(stats.BinomialLogLikelihood(rows[0].Count(), p(1)) + stats.BinomialLogLikelihood(rows[1].Count(), p(6)))
				if weight < 1e-7 || hopeless(rows) != nil {
					continue
				}
				m := fitFamily(Exponential, dataOf(rows))
				i := m.rateInterval(3, Confidence)
				covered += weight * float64(holds(stats.Bounds{Interval: i}, p(3)))
				total += weight
			}
		}
		if c := covered / total; c < 0.92 || c > 0.98 {
			t.Errorf("lambda %v, tau %v: the interval of the rate at 2 retries covers with %.4f", truth.lambda, truth.tau, c)
		}
	}
}
