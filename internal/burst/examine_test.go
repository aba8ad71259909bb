package burst

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestEveryRowIsPredictedFromTheOthers(t *testing.T) {
	m := examine(t, rfc(), Options{}).Models[0]
	if len(m.LeftOut) != 4 {
		t.Fatalf("%d rows were left out, want 4", len(m.LeftOut))
	}
	for i, l := range m.LeftOut {
		if l.Row != rfc()[i] {
			t.Errorf("row %d is %+v", i, l.Row)
		}
		if l.Unstable < l.CountLow || l.Unstable > l.CountHigh || l.PredictionP < 0.05 {
			t.Errorf("%d retries: %d unstable, predicted %d to %d, p = %.3f", l.Retries, l.Unstable, l.CountLow, l.CountHigh, l.PredictionP)
		}
		// An interval ends where the test begins to reject.
		if (l.PredictionP >= 0.05) != (l.CountLow <= l.Unstable && l.Unstable <= l.CountHigh) {
			t.Errorf("%d retries: interval and p value disagree: %+v", l.Retries, l)
		}
	}
}

func TestBootsWithoutAnEventAreWorthTheirExactInterval(t *testing.T) {
	few := examine(t, []Row{{3, 400, 0, 0}}, Options{}).Recommendation.Problems[0]
	if !strings.Contains(few.Text, "takes 3688 boots") || few.Further[1] != (Plan{3, 3288}) {
		t.Errorf("400 boots: %+v", few)
	}
	for boots, enough := range map[int]bool{3687: false, 3688: true} {
		p := examine(t, []Row{{3, boots, 0, 0}}, Options{}).Recommendation.Problems[0]
		if strings.Contains(p.Text, "more retries are not needed") != enough {
			t.Errorf("%d boots: %s", boots, p.Text)
		}
	}
}

func TestARowIsNotPredictedFromOthersThatFixNoSlope(t *testing.T) {
	m := examine(t, []Row{{3, 400, 42, 0}, {10, 300, 9, 0}, {50, 400, 0, 0}}, Options{}).Models[0]
	if len(m.LeftOut) != 1 || m.LeftOut[0].Retries != 50 {
		t.Errorf("left out: %+v, want the row with 50 retries alone", m.LeftOut)
	}
}

func TestWhereRatesDoNotFallNoNumberOfRetriesIsEnough(t *testing.T) {
	for _, m := range examine(t, []Row{{3, 100, 5, 0}, {5, 100, 10, 0}, {10, 100, 20, 0}}, Options{}).Models {
		if m.Needed.Retries != nil || m.Needed.High != nil || m.MeanLength != nil || m.MeanLengthHigh != nil {
			t.Errorf("%s: %+v, mean %v", m.Family, m.Needed, m.MeanLength)
		}
	}
}

func TestCountsThatCarryNoConclusionAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, code string
		rows       []Row
	}{
		{"one number of retries", "single-row", []Row{{3, 400, 42, 0}, {3, 100, 11, 0}}},
		{"no unstable boot", "no-event", []Row{{3, 400, 0, 0}, {50, 100, 0, 0}}},
		{"one number of retries and no unstable boot", "no-event", []Row{{3, 400, 0, 0}}},
		{"no stable boot", "no-stable-boot", []Row{{3, 40, 40, 0}, {50, 10, 10, 0}}},
		{"rates that rise", "no-fall", []Row{{3, 100, 5, 0}, {5, 100, 10, 0}, {10, 100, 20, 0}}},
		{"rates that are equal", "no-fall", []Row{{3, 100, 10, 0}, {10, 100, 10, 0}, {50, 100, 10, 0}}},
		{"rates that fall by no more than chance", "no-fall", []Row{{3, 20, 3, 0}, {10, 20, 2, 0}}},
		{"unstable boots in one row only", "one-mixed-row", []Row{{3, 400, 42, 0}, {50, 400, 0, 0}}},
		{"all, some and none", "one-mixed-row", []Row{{3, 40, 40, 0}, {5, 40, 20, 0}, {50, 400, 0, 0}}},
		{"all and none", "one-mixed-row", []Row{{3, 40, 40, 0}, {4, 400, 0, 0}}},
		{"rates that no family has", "no-fit", []Row{{0, 1000, 400, 0}, {3, 1000, 10, 0}, {6, 1000, 300, 0}, {9, 1000, 5, 0}, {12, 1000, 100, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := examine(t, c.rows, Options{})
			rec := r.Recommendation
			if rec.Concluded || rec.Retries != nil || rec.MoreBoots != nil || len(rec.Automatic) > 0 {
				t.Errorf("something was concluded: %+v", rec)
			}
			if len(rec.Problems) != 1 || rec.Problems[0].Code != c.code {
				t.Fatalf("problems %+v, want %s", rec.Problems, c.code)
			}
			if p := rec.Problems[0]; len(p.Further) == 0 || strings.Contains(p.Text, "%!") {
				t.Errorf("no further boots, or a mangled text: %+v", p)
			}
			for _, d := range rec.Designs {
				if d.Rate != nil {
					t.Errorf("%s is given a rate", d.Era)
				}
			}
			for _, f := range rec.Problems[0].Further {
				if f.Boots < 1 || f.Retries < 0 {
					t.Errorf("further boots %+v", f)
				}
			}
		})
	}
}

func TestTheAutomaticRuleIsJudgedAtItsOwnRetries(t *testing.T) {
	r := examine(t, rfc(), Options{CPUs: 8}).Recommendation
	if len(r.Automatic) != 1 || r.Automatic[0].Retries != 2 {
		t.Fatalf("8 CPUs: %+v", r.Automatic)
	}
	near(t, "its rate", r.Automatic[0].Rate, 1-math.Exp(-0.14229*math.Exp(-3/12.3115)), 1e-4)
	both := examine(t, rfc(), Options{Width: 500})
	if three := both.Models[0].Rows[0].Rate; !(r.Automatic[0].Rate > three) {
		t.Errorf("with fewer retries the rate %g is not above %g", r.Automatic[0].Rate, three)
	}
	all := both.Recommendation.Automatic
	for i, a := range all {
		if a.Retries != i+1 || a.CPUsTo < a.CPUsFrom || i > 0 && a.CPUsFrom != all[i-1].CPUsTo+1 {
			t.Errorf("rule %d: %+v", i, a)
		}
	}
	withCPUs := []Row{{3, 400, 42, 0}, {20, 400, 8, 0}}
	for i := range withCPUs {
		withCPUs[i].CPUs = 8
	}
	if a := examine(t, withCPUs, Options{}).Recommendation.Automatic; len(a) != 1 || a[0].CPUsFrom != 8 {
		t.Errorf("the CPUs of the rows are not used: %+v", a)
	}
}

func TestDesignsAreJudgedByTheirProfiles(t *testing.T) {
	want := map[string]string{"E5": "no", "E6": "yes", "E7": "yes", "E9": "yes", "E10": "yes", "E11": "yes", "E12": "no"}
	for _, d := range examine(t, rfc(), Options{CPUs: 8, Delay: 61_833}).Recommendation.Designs {
		if d.Accepts != want[string(d.Era)] {
			t.Errorf("%s accepts 61833 ns: %s", d.Era, d.Accepts)
		}
		if d.Era == "E12" && (d.Condemns || d.Rate == nil || *d.Rate != 0) {
			t.Errorf("latency condemns in E12: %+v", d)
		}
		if d.Era != "E12" && (!d.Condemns || d.Rate == nil || *d.Rate < 0.09) {
			t.Errorf("%s: %+v", d.Era, d)
		}
	}
}

// The plan keeps its promise: counts as the model expects them have the width.
func TestMoreBootsNarrowTheIntervalAsPromised(t *testing.T) {
	r := examine(t, rfc(), Options{Width: 40})
	more := r.Recommendation.MoreBoots
	if more == nil || more.Best == nil || more.Width != 40 || more.Now <= 40 {
		t.Fatalf("no plan: %+v", more)
	}
	m := fitFamily(Exponential, dataOf(Pool(rfc())))
	for _, p := range more.Options {
		rows := append(rfc(), Row{Retries: p.Retries, Boots: p.Boots, Unstable: int(math.Round(float64(p.Boots) * m.rate(float64(p.Retries+1))))})
		with := fitFamily(Exponential, dataOf(Pool(rows)))
		n := with.needed(DefaultRate)
		if n.High == nil || *n.High-*n.Low > 44 {
			t.Errorf("%d boots with %d retries: %d to %d", p.Boots, p.Retries, *n.Low, *n.High)
		}
		if p.Boots < more.Best.Boots {
			t.Errorf("the best plan %+v is not the cheapest: %+v", more.Best, p)
		}
	}
}

func TestDoubtsComeWithTheConclusion(t *testing.T) {
	codes := func(r *Result) string {
		var all []string
		for _, w := range r.Warnings {
			all = append(all, w.Code)
		}
		return strings.Join(all, " ")
	}
	if got := codes(examine(t, rfc(), Options{Width: 500})); got != "extrapolation few-events" {
		t.Errorf("warnings %q", got)
	}
	two := []Row{{3, 400, 42, 0}, {20, 400, 8, 0}}
	if got := codes(examine(t, two, Options{Rate: 0.05})); got != "untested" {
		t.Errorf("two rows: warnings %q", got)
	}
	apart := []Row{{3, 400, 82, 0}, {3, 400, 12, 0}, {20, 400, 8, 0}, {30, 400, 6, 0}}
	if got := codes(examine(t, apart, Options{Rate: 0.05})); got != "rows-disagree" {
		t.Errorf("rows that disagree: warnings %q", got)
	}
	if got := codes(examine(t, two, Options{Rate: 0.9})); !strings.Contains(got, "none-needed") {
		t.Errorf("nothing needed: warnings %q", got)
	}
}

func TestTheWorkIsBoundedWhateverTheTable(t *testing.T) {
	var many []Row
	for i := range 12 {
		many = append(many, Row{Retries: i, Boots: 200, Unstable: 60 - 2*i})
	}
	r := examine(t, many, Options{Width: 1000})
	for _, m := range r.Models {
		if predicted := len(m.LeftOut) > 0; predicted != (m.Family == Exponential || m.Family == Pareto) {
			t.Errorf("%s: rows predicted: %v", m.Family, predicted)
		}
	}
	for i := range 50 {
		many = append(many, Row{Retries: 100 + i, Boots: 1})
	}
	if _, err := Examine(many, Options{}); err == nil || !strings.Contains(err.Error(), "62 different numbers of retries") {
		t.Errorf("62 numbers of retries: %v", err)
	}
	if r := examine(t, many[:22], Options{Width: 1000}); len(r.Models) != 2 || r.Warnings[0].Code != "small-families-only" {
		t.Errorf("22 numbers of retries: %d models, warnings %v", len(r.Models), r.Warnings)
	}
}

// Whatever the counts: no panic, every number a number, every interval around its value.
func TestAnyCountsGiveADocument(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		var rows []Row
		for range 1 + rng.IntN(3) {
			boots := 1 + rng.IntN([...]int{2, 20, 1_000_000}[rng.IntN(3)])
			unstable := [...]int{0, boots, rng.IntN(boots + 1), min(1, boots)}[rng.IntN(4)]
			rows = append(rows, Row{Retries: rng.IntN([...]int{3, 100, MaxRetries + 1}[rng.IntN(3)]), Boots: boots, Unstable: unstable})
		}
		r := examine(t, rows, Options{Rate: [...]float64{1e-9, 0.001, 0.5, 0.999999}[rng.IntN(4)]})
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%v: %v", rows, err)
		}
		if rec := r.Recommendation; rec.Concluded != (len(rec.Problems) == 0) || rec.Concluded && rec.Family == "" {
			t.Errorf("%v: %+v", rows, rec)
		}
		for _, m := range r.Models {
			for _, f := range m.Rows {
				if !(0 <= f.RateLow && f.RateLow <= f.Rate*1.0001 && f.Rate <= f.RateHigh*1.0001 && f.RateHigh <= 1) {
					t.Errorf("%v, %s: %+v", rows, m.Family, f)
				}
			}
			if n := m.Needed; n.Low == nil || n.Retries != nil && *n.Low > *n.Retries || n.Retries != nil && n.High != nil && *n.High < *n.Retries {
				t.Errorf("%v, %s: retries %v %v %v", rows, m.Family, n.Low, n.Retries, n.High)
			}
		}
	}
}

func TestWhatCannotBeAskedIsAnError(t *testing.T) {
	for _, c := range []struct {
		rows []Row
		opt  Options
	}{
		{rfc(), Options{Rate: 1}}, {rfc(), Options{Rate: -0.1}}, {rfc(), Options{Rate: math.NaN()}}, {rfc(), Options{Width: -1}},
		{rfc(), Options{CPUs: -1}}, {rfc(), Options{Delay: -1}}, {nil, Options{}}, {[]Row{{3, 1, 2, 0}}, Options{}},
	} {
		if r, err := Examine(c.rows, c.opt); err == nil || r != nil {
			t.Errorf("%v, %+v: %v, %v", c.rows, c.opt, r, err)
		}
	}
}
