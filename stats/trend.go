package stats

import "math"

// Trend is what a test of proportions against a score says. A p value is the
// probability of a trend at least as strong in its direction where the
// proportion does not depend on the score: a small Falls says that it falls.
type Trend struct {
	Z     float64 `json:"z"` // above 0 where the proportion rises with the score
	Rises float64 `json:"p_rises"`
	Falls float64 `json:"p_falls"`
	// The exact ones are given the margins: how many trials each group has, and how
	// many events all have together. NaN where there is no exact test, see [CochranArmitage].
	ExactRises float64 `json:"-"`
	ExactFalls float64 `json:"-"`
}

// CochranArmitage tests whether the proportion of events rises or falls with the
// score of a group, such as a number of retries. Groups may come in any order, and
// those without trials count for nothing. Everything is NaN where the test does not
// exist: fewer than two scores with trials, no events, nothing but events, a score that
// is no finite number, a count that cannot be, lists of different lengths.
//
// The exact p values need scores that are whole numbers, or become so when they are
// doubled up to 20 times, and their work grows with the square of the events and the
// span of the scores; above some tenths of a second they are NaN, and so many events
// do not need them. For two groups they are Fisher's.
//
// Source: P. Armitage, Tests for linear trends in proportions and frequencies,
// Biometrics 11 (1955) 375-386, with the variance of W. G. Cochran, Biometrics 10 (1954)
// 417-451; exact: A. Agresti, Categorical Data Analysis, 2nd ed., 3.5.7.
func CochranArmitage(scores []float64, counts []Count) Trend {
	nan := math.NaN()
	none := Trend{nan, nan, nan, nan, nan}
	if len(scores) != len(counts) {
		return none
	}
	var all Count
	for i, c := range counts {
		if !c.valid() || math.IsNaN(scores[i]) || math.IsInf(scores[i], 0) {
			return none
		}
		all.Events += c.Events
		all.Trials += c.Trials
	}
	if all.Events == 0 || all.Events == all.Trials {
		return none
	}
	n, p := float64(all.Trials), all.Rate()
	mean := 0.0
	for i, c := range counts {
		mean += scores[i] * (float64(c.Trials) / n)
	}
	slope, spread := 0.0, 0.0
	var used []float64
	var groups []Count
	differ := false
	for i, c := range counts {
		if c.Trials == 0 {
			continue
		}
		used, groups = append(used, scores[i]), append(groups, c)
		differ = differ || scores[i] != used[0]
		d := scores[i] - mean
		slope += d * (float64(c.Events) - p*float64(c.Trials))
		spread += d * d * float64(c.Trials)
	}
	t := none
	t.Z = slope / math.Sqrt(p*(1-p)*spread)
	if !differ || math.IsNaN(t.Z) || math.IsInf(spread, 0) {
		return none
	}
	t.Rises, t.Falls = math.Erfc(t.Z/math.Sqrt2)/2, math.Erfc(-t.Z/math.Sqrt2)/2
	if steps, ok := wholeScores(used); ok {
		t.ExactRises, t.ExactFalls = exactTrend(steps, groups, all)
	}
	return t
}

// Limits of the exact test.
const (
	maxScoreSteps = 1 << 20
	maxTrendCells = 1 << 22 // 8 bytes each, twice
	maxTrendWork  = 2e8     // additions
)

// wholeScores returns the scores as whole steps above the least one, as few as there can be.
func wholeScores(scores []float64) ([]int, bool) {
	least := scores[0]
	for _, s := range scores {
		least = min(least, s)
	}
	factor := 1.0
	for range 21 {
		steps, divisor, whole := make([]int, len(scores)), 0, true
		for i, s := range scores {
			// Doubling is exact, and so is the difference of whole numbers that a float64 holds.
			if math.Abs(s*factor) >= 1<<53 || s*factor != math.Trunc(s*factor) {
				whole = false
				break
			}
			step := s*factor - least*factor
			if step > maxScoreSteps {
				return nil, false
			}
			steps[i] = int(step)
			divisor = gcd(divisor, steps[i])
		}
		if whole {
			for i := range steps {
				steps[i] /= divisor // not 0, since scores differ
			}
			return steps, true
		}
		factor *= 2
	}
	return nil, false
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// exactTrend returns how probable a sum of the events' scores at least, and at most,
// as large as the observed one is, given the margins: the groups' weights are folded
// into the distribution of (events so far, sum so far), one after the other.
func exactTrend(steps []int, groups []Count, all Count) (rises, falls float64) {
	// The rarer of the two outcomes has the same test, the other way round.
	swap := all.Events > all.Trials-all.Events
	events := min(all.Events, all.Trials-all.Events)
	widest, observed := 0, 0
	for i, c := range groups {
		widest = max(widest, steps[i])
		if swap {
			c.Events = c.Trials - c.Events
		}
		observed += c.Events * steps[i]
	}
	if float64(events+1)*float64(events*widest+1) > maxTrendCells {
		return math.NaN(), math.NaN()
	}
	width := events*widest + 1 // of the sums
	work := 0.0
	for _, c := range groups {
		work += float64(events+1) * float64(width) * float64(min(c.Trials, events)+1) / 2
	}
	if work > maxTrendWork {
		return math.NaN(), math.NaN()
	}
	from, to := make([]float64, (events+1)*width), make([]float64, (events+1)*width)
	from[0] = 1
	before := 0 // most events so far
	share := float64(events) / float64(all.Trials)
	for i, c := range groups {
		clear(to)
		most := min(c.Trials, events)
		weights := make([]float64, most+1)
		for k := range weights {
			// Binomial probabilities are hypergeometric weights, given the sum, and never overflow.
			weights[k] = math.Exp(BinomialLogLikelihood(Count{k, c.Trials}, share))
		}
		for e := range before + 1 {
			for sum, p := range from[e*width : (e+1)*width] {
				if p == 0 {
					continue
				}
				for k := range min(most, events-e) + 1 {
					to[(e+k)*width+sum+k*steps[i]] += p * weights[k]
				}
			}
		}
		before = min(before+most, events)
		from, to = to, from
	}
	total, atLeast, atMost := 0.0, 0.0, 0.0
	for sum, p := range from[events*width:] {
		total += p
		if sum >= observed {
			atLeast += p
		}
		if sum <= observed {
			atMost += p
		}
	}
	rises, falls = min(1, atLeast/total), min(1, atMost/total)
	if swap {
		rises, falls = falls, rises
	}
	return rises, falls
}
