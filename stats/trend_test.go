package stats

import (
	"math"
	"math/big"
	"testing"
)

// Malformations of infants by the alcohol that mothers drank: Agresti, Categorical
// Data Analysis, 2nd ed., table 3.7 (B. I. Graubard and E. L. Korn, Biometrics 43
// (1987) 471-476).
var malformations = []Count{{48, 17114}, {38, 14502}, {5, 793}, {1, 127}, {1, 38}}

func TestTheTrendIsThatOfThePublishedExamples(t *testing.T) {
	for _, c := range []struct {
		name   string
		scores []float64
		square float64 // as published: M^2 has n-1 for n, which does not show in 32 574 births
	}{
		{"drinks a day", []float64{0, 0.5, 1.5, 4, 7}, 6.57},
		{"numbers of the groups", []float64{1, 2, 3, 4, 5}, 1.83},
		{"midranks", []float64{8557.5, 24365.5, 32013, 32473, 32555.5}, 0.35},
	} {
		got := CochranArmitage(c.scores, malformations)
		near(t, c.name, got.Z*got.Z, c.square, 5e-3)
		near(t, c.name+", both directions", got.Rises+got.Falls, 1, 1e-12)
	}
	got := CochranArmitage([]float64{0, 0.5, 1.5, 4, 7}, malformations)
	near(t, "one-sided", got.Rises, 0.0052, 5e-5)
	// Few events at the highest scores: the exact one, here from whole numbers of tables, is larger by far.
	near(t, "exact", got.ExactRises, 0.016782951449699213, 1e-9)
	down := CochranArmitage([]float64{7, 6.5, 5.5, 3, 0}, malformations)
	near(t, "the other way round", down.Z, -got.Z, 1e-9)
	near(t, "the other way round, one-sided", down.Falls, got.Rises, 1e-12)
	near(t, "the other way round, exact", down.ExactFalls, got.ExactRises, 1e-9)
}

// enumerate goes through all tables with the margins, and returns the exact
// probabilities of a sum of scores at least and at most the observed one.
func enumerate(scores []int64, counts []Count) (atLeast, atMost float64) {
	events, observed := 0, int64(0)
	for i, c := range counts {
		events += c.Events
		observed += int64(c.Events) * scores[i]
	}
	total, up, down := new(big.Int), new(big.Int), new(big.Int)
	var group func(i, left int, sum int64, ways *big.Int)
	group = func(i, left int, sum int64, ways *big.Int) {
		if i == len(counts) {
			if left > 0 {
				return
			}
			total.Add(total, ways)
			if sum >= observed {
				up.Add(up, ways)
			}
			if sum <= observed {
				down.Add(down, ways)
			}
			return
		}
		for k := range min(counts[i].Trials, left) + 1 {
			w := new(big.Int).Binomial(int64(counts[i].Trials), int64(k))
			group(i+1, left-k, sum+int64(k)*scores[i], w.Mul(w, ways))
		}
	}
	group(0, events, 0, big.NewInt(1))
	atLeast, _ = new(big.Rat).SetFrac(up, total).Float64()
	atMost, _ = new(big.Rat).SetFrac(down, total).Float64()
	return atLeast, atMost
}

func TestTheExactTrendIsTheSumOverAllTables(t *testing.T) {
	tables := 0
	for _, scores := range [][]int64{{0, 1, 2}, {3, 5, 10}, {-4, 2, 0}, {1, 1, 5}} {
		for _, trials := range [][]int{{4, 4, 4}, {1, 5, 3}, {6, 2, 3}, {3, 0, 4}} {
			for a := range trials[0] + 1 {
				for b := range trials[1] + 1 {
					for c := range trials[2] + 1 {
						counts := []Count{{a, trials[0]}, {b, trials[1]}, {c, trials[2]}}
						events, all := a+b+c, trials[0]+trials[1]+trials[2]
						if events == 0 || events == all {
							continue
						}
						tables++
						// Scores in quarters are whole ones in disguise.
						floats := make([]float64, 3)
						for i, s := range scores {
							floats[i] = float64(s) / 4
						}
						got := CochranArmitage(floats, counts)
						up, down := enumerate(scores, counts)
						near(t, "rises", got.ExactRises, up, 1e-12)
						near(t, "falls", got.ExactFalls, down, 1e-12)
						if p := got.Z; p > 1e-9 && got.Rises >= 0.5 || p < -1e-9 && got.Falls >= 0.5 {
							t.Errorf("%v %v: z %v, p %v and %v", scores, counts, got.Z, got.Rises, got.Falls)
						}
					}
				}
			}
		}
	}
	if tables < 500 {
		t.Errorf("%d tables only", tables)
	}
}

func TestTheTrendOfTwoGroupsIsFishersAndTheOfTwoProportions(t *testing.T) {
	a, b := Count{9, 40}, Count{2, 35}
	got := CochranArmitage([]float64{3, 50}, []Count{a, b})
	observed, _ := table(9, a, b).Float64()
	near(t, "exact", got.ExactFalls, FisherMidPGreater(a, b)+observed/2, 1e-12)
	p := 11.0 / 75
	near(t, "z", got.Z, (b.Rate()-a.Rate())/math.Sqrt(p*(1-p)*(1.0/40+1.0/35)), 1e-12)
}

func TestTheSpreadOfScoresDoesNotMatterToTheTrend(t *testing.T) {
	counts := []Count{{10, 100}, {7, 100}, {2, 100}}
	plain := CochranArmitage([]float64{0, 1, 3}, counts)
	moved := CochranArmitage([]float64{1e6, 1e6 + 1024, 1e6 + 3072}, counts)
	near(t, "z", moved.Z, plain.Z, 1e-9)
	near(t, "exact", moved.ExactFalls, plain.ExactFalls, 1e-12)
	near(t, "with a group without trials", CochranArmitage([]float64{0, 99, 1, 3}, []Count{counts[0], {}, counts[1], counts[2]}).ExactFalls, plain.ExactFalls, 1e-12)
}

func TestWhereNoTrendCanBeTestedNothingIsSaid(t *testing.T) {
	some := []Count{{1, 4}, {2, 4}}
	for _, c := range []struct {
		name   string
		scores []float64
		counts []Count
	}{
		{"nothing", nil, nil},
		{"one group", []float64{1}, []Count{{1, 4}}},
		{"one group with trials", []float64{1, 2}, []Count{{1, 4}, {0, 0}}},
		{"equal scores", []float64{2, 2}, some},
		{"equal scores that are not whole", []float64{0.1, 0.1, 0.1}, []Count{{1, 3}, {2, 7}, {0, 5}}},
		{"no events", []float64{1, 2}, []Count{{0, 4}, {0, 4}}},
		{"nothing but events", []float64{1, 2}, []Count{{4, 4}, {4, 4}}},
		{"more scores than groups", []float64{1, 2, 3}, some},
		{"a score that is no number", []float64{1, math.NaN()}, some},
		{"a score without an end", []float64{1, math.Inf(1)}, some},
		{"scores whose squares have none", []float64{-1e300, 1e300}, some},
		{"more events than trials", []float64{1, 2}, []Count{{5, 4}, {1, 4}}},
	} {
		got := CochranArmitage(c.scores, c.counts)
		for _, x := range []float64{got.Z, got.Rises, got.Falls, got.ExactRises, got.ExactFalls} {
			if !math.IsNaN(x) {
				t.Errorf("%s: %+v", c.name, got)
				break
			}
		}
	}
}

func TestWithoutAnExactTrendThereIsTheOther(t *testing.T) {
	for _, c := range []struct {
		name   string
		scores []float64
		counts []Count
	}{
		{"a third", []float64{0, 1.0 / 3, 1}, []Count{{5, 10}, {3, 10}, {1, 10}}},
		{"scores far apart", []float64{0, 1, 1e9}, []Count{{5, 10}, {3, 10}, {1, 10}}},
		{"very many events", []float64{0, 1, 2}, []Count{{5e8, 1e9}, {3e8, 1e9}, {1e8, 1e9}}},
		{"many events, few steps", []float64{0, 1, 2}, []Count{{500, 1000}, {400, 1000}, {300, 1000}}},
	} {
		got := CochranArmitage(c.scores, c.counts)
		if !(got.Z < 0 && got.Falls < 0.1) || !math.IsNaN(got.ExactFalls) || !math.IsNaN(got.ExactRises) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
