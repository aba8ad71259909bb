package burst

import (
	"math"
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
	if three := examine(t, rfc(), Options{}).Models[0].Rows[0].Rate; !(r.Automatic[0].Rate > three) {
		t.Errorf("with fewer retries the rate %g is not above %g", r.Automatic[0].Rate, three)
	}
	all := examine(t, rfc(), Options{}).Recommendation.Automatic
	for i, a := range all {
		if a.Retries != i+1 || a.CPUsTo < a.CPUsFrom || i > 0 && a.CPUsFrom != all[i-1].CPUsTo+1 {
			t.Errorf("rule %d: %+v", i, a)
		}
	}
	withCPUs := rfc()
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
