package sim

import (
	"math"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
)

func mustDist(t testing.TB, text string) Dist {
	t.Helper()
	d, err := ParseDist(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDistributionsHaveTheirQuantiles(t *testing.T) {
	cases := []struct {
		text string
		u    float64
		want clocksource.Nanos
	}{
		{"60us", 0.3, 60_000},
		{"const 1.5ms", 0.9, 1_500_000},
		{"uniform 1us 3us", 0.25, 1500},
		{"exp 1ms", 1 - 1/math.E, 1_000_000},
		{"exp 1ms max 200us", 0.9, 200_000},
		{"normal 60us 1us", 0.5, 60_000},
		{"normal 60us 1us", 0.84134474606854, 61_000},
		{"normal 1us 1us", 0.01, 0},
		{"lognormal 2us 0.5", 0.5, 2000},
		{"lognormal 2us 0.5", 0.84134474606854, 3297},
		{"pareto 100us 2", 0.75, 200_000},
		{"histogram 5us 1 0 1", 0.25, 2500},
		{"histogram 5us 1 0 1", 0.75, 12_500},
		{"table 1us 3 2us 1 10us", 0.75, 2000},
		{"table 1us 3 2us 1 10us", 0.875, 6000},
	}
	for _, c := range cases {
		d := mustDist(t, c.text)
		if got := d.Draw(c.u); (got - c.want).Abs() > 1 {
			t.Errorf("%s at %v: %d, want %d", c.text, c.u, got, c.want)
		}
		most, bounded := d.Max()
		if last := -1.0; bounded {
			for u := 0.001; u < 1; u += 0.001 {
				x := float64(d.Draw(u))
				if x < last || x > float64(most) {
					t.Fatalf("%s at %v: %v behind %v, bound %v", c.text, u, x, last, most)
				}
				last = x
			}
		}
	}
	for _, unbounded := range []string{"exp 1us", "normal 1us 1ns", "lognormal 1us 1", "pareto 1us 3"} {
		d := mustDist(t, unbounded)
		if most, bounded := d.Max(); bounded {
			t.Errorf("%s has the bound %d", unbounded, most)
		}
	}
}

func TestTextThatIsNoDistributionIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "want a shape",
		"60":                   "is no time",
		"-1us":                 "is no time",
		"gamma 1us 2":          "want const",
		"uniform 3us 1us":      "wrong order",
		"uniform 3us":          "takes 2 parameters, here are 1",
		"exp 1us 2us":          "takes 1 parameters, here are 2",
		"lognormal 1us 0":      "want a number above 0",
		"pareto 0 2":           "above 0",
		"exp 1us max 0":        "behind max",
		"histogram 5us":        "not all 0",
		"histogram 5us 0 0":    "not all 0",
		"histogram 5us x":      `"x" is no count`,
		"table 1us 1":          "want edges",
		"table 2us 1 1us":      "do not rise",
		"table 1us 1 2us 3":    "want edges",
		"histogram 5us -1 2 3": "is no count",
	} {
		if d, err := ParseDist(text); err == nil || !strings.Contains(err.Error(), want) || d.shape != always || d.edges != nil {
			t.Errorf("%q: %+v, %v; want %q", text, d, err, want)
		}
	}
}

// What is accepted prints and reads back as the same distribution, and draws no negative time.
func FuzzParseDist(f *testing.F) {
	for _, s := range []string{"60us", "uniform 1us 3us", "exp 1ms max 1s", "normal 60us 1us", "lognormal 2us 0.5", "pareto 1us 2", "histogram 5us 3 0 1", "table 0 1 1us 5 1ms"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDist(text)
		if err != nil {
			return
		}
		back, err := ParseDist(d.String())
		if err != nil {
			t.Fatalf("%q prints as %q: %v", text, d.String(), err)
		}
		for _, u := range []float64{1e-9, 0.1, 0.5, 0.9, 1 - 1e-9} {
			x, y := d.Draw(u), back.Draw(u)
			if x < 0 {
				t.Fatalf("%q draws %d", text, x)
			}
			if diff := math.Abs(float64(x - y)); d.shape != table && diff > 1 {
				t.Errorf("%q draws %d at %v, and %q draws %d", text, x, u, d.String(), y)
			}
		}
	})
}
