package stats

import (
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestBinomialTailsAreTheSumsOfTheirTerms(t *testing.T) {
	for _, n := range []int{1, 2, 7, 30, 100} {
		for _, p := range []float64{0, 1e-9, 0.001, 0.3, 0.5, 0.97, 1} {
			below := 0.0
			for k := range n + 1 {
				atLeast := BinomialAtLeast(Count{k, n}, p)
				near(t, "at least", atLeast, 1-below, 1e-12)
				below += math.Exp(BinomialLogLikelihood(Count{k, n}, p))
				near(t, "at most", BinomialAtMost(Count{k, n}, p), below, 1e-12)
				near(t, "two-sided", BinomialTwoSided(Count{k, n}, p), min(1, 2*min(atLeast, below)), 1e-11)
			}
		}
	}
}

func TestTheTwoSidedTailInvertsTheExactInterval(t *testing.T) {
	for _, c := range []Count{{42, 400}, {5, 100}, {1, 400}, {0, 300}, {7, 7}} {
		i := ClopperPearson(c, 0.95)
		for _, end := range []float64{i.Low, i.High} {
			if end > 0 && end < 1 {
				near(t, "tail at an end", BinomialTwoSided(c, end), 0.05, 1e-8)
			}
		}
	}
}

func TestPoissonAgreesWithGonum(t *testing.T) {
	for _, mean := range []float64{0.01, 0.9, 4, 55.5, 1000} {
		d := distuv.Poisson{Lambda: mean}
		for k := 0; k < 1200; k += 7 {
			near(t, "log-likelihood", PoissonLogLikelihood(k, mean), d.LogProb(float64(k)), 1e-8*(1+math.Abs(d.LogProb(float64(k)))))
			want := min(1, 2*min(d.CDF(float64(k)), d.Survival(float64(k-1))))
			near(t, "two-sided", PoissonTwoSided(k, mean), want, 1e-9)
		}
	}
	near(t, "nothing of nothing", PoissonTwoSided(0, 0), 1, 0)
	near(t, "something of nothing", PoissonTwoSided(1, 0), 0, 0)
	near(t, "impossible", PoissonLogLikelihood(1, 0), math.Inf(-1), 0)
}

func TestChiSquaredAgreesWithTheTableAndWithGonum(t *testing.T) {
	// Abramowitz and Stegun, table 26.8.
	for _, c := range []struct {
		x  float64
		df int
		p  float64
	}{{3.84146, 1, 0.05}, {5.99147, 2, 0.05}, {6.63490, 1, 0.01}, {18.3070, 10, 0.05}, {13.8155, 2, 0.001}} {
		near(t, "tail", ChiSquaredTail(c.x, c.df), c.p, 1e-6)
	}
	for df := 1; df < 40; df++ {
		for x := 0.1; x < 80; x *= 1.7 {
			near(t, "tail", ChiSquaredTail(x, df), distuv.ChiSquared{K: float64(df)}.Survival(x), 1e-10)
		}
	}
	near(t, "quantile", ChiSquaredQuantile(0.95), 3.841458820694124, 1e-9)
	near(t, "no degrees of freedom", ChiSquaredTail(3, 0), 1, 0)
}

func TestTheDevianceIsTwiceTheLogarithmOfTheLikelihoodRatio(t *testing.T) {
	for _, c := range []Count{{0, 10}, {3, 10}, {10, 10}, {1, 400}} {
		for _, p := range []float64{0.001, 0.2, 0.999} {
			want := 2 * (BinomialLogLikelihood(c, c.Rate()) - BinomialLogLikelihood(c, p))
			near(t, "deviance", BinomialDeviance(c, p), want, 1e-8)
		}
		near(t, "deviance at the observed rate", BinomialDeviance(c, c.Rate()), 0, 1e-9)
	}
	near(t, "deviance of no trials", BinomialDeviance(Count{}, 0.3), 0, 0)
}

// table is the hypergeometric probability of k events in the first sample, exactly.
func table(k int, a, b Count) *big.Rat {
	choose := func(n, k int) *big.Int { return new(big.Int).Binomial(int64(n), int64(k)) }
	events := a.Events + b.Events
	num := new(big.Int).Mul(choose(a.Trials, k), choose(b.Trials, events-k))
	return new(big.Rat).SetFrac(num, choose(a.Trials+b.Trials, events))
}

func TestFishersMidPIsTheSumOverAllTables(t *testing.T) {
	half := big.NewRat(1, 2)
	for n1 := 1; n1 <= 9; n1 += 2 {
		for n2 := 1; n2 <= 12; n2++ {
			for k1 := range n1 + 1 {
				for k2 := range n2 + 1 {
					a, b := Count{k1, n1}, Count{k2, n2}
					observed := table(k1, a, b)
					two, greater := new(big.Rat), new(big.Rat)
					for k := max(0, k1+k2-n2); k <= min(n1, k1+k2); k++ {
						p := table(k, a, b)
						if p.Cmp(observed) <= 0 {
							two.Add(two, p)
						}
						if k > k1 {
							greater.Add(greater, p)
						}
					}
					part := new(big.Rat).Mul(half, observed)
					want, _ := new(big.Rat).Sub(two, part).Float64()
					near(t, "mid-p", FisherMidP(a, b), want, 1e-9)
					want, _ = new(big.Rat).Add(greater, part).Float64()
					near(t, "one-sided mid-p", FisherMidPGreater(a, b), want, 1e-9)
				}
			}
		}
	}
}

func TestFishersMidPIsThatOfThePublishedExamples(t *testing.T) {
	// Fisher's tea: Agresti, Categorical Data Analysis, 3.5.2 and 3.5.6: p = 0.486 and 0.243, mid-p 0.129.
	near(t, "two-sided", FisherMidP(Count{3, 4}, Count{1, 4}), 0.486-0.229/2, 5e-4)
	near(t, "one-sided", FisherMidPGreater(Count{3, 4}, Count{1, 4}), 0.129, 5e-4)
	if p := FisherMidP(Count{42, 400}, Count{1, 400}); p > 1e-9 {
		t.Errorf("3 against 50 retries of the campaign of 2021: mid-p %g", p)
	}
	near(t, "no trials", FisherMidP(Count{}, Count{}), 0.5, 1e-12)
}
