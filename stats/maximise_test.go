package stats

import (
	"math"
	"testing"
)

func TestALineHasItsMaximumFound(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(float64) float64
		want float64
	}{
		{"inside", func(x float64) float64 { return -(x - 0.3) * (x - 0.3) }, 0.3},
		{"at the low end", func(x float64) float64 { return -x }, -2},
		{"at the high end", math.Exp, 7},
		{"beside a flat stretch", func(x float64) float64 { return min(0, 4-math.Abs(x-6)*8) }, 6},
		{"where some values cannot be", func(x float64) float64 { return math.Log(x) - x }, 1},
		{"with a kink", func(x float64) float64 { return -math.Abs(x - 1.234567) }, 1.234567},
	} {
		at, value := MaximiseLine(c.f, -2, 7)
		if c.name != "beside a flat stretch" {
			near(t, c.name, at, c.want, 1e-4)
		}
		near(t, c.name+": value", value, c.f(c.want), 1e-6)
	}
}

func TestABoxHasItsMaximumFound(t *testing.T) {
	box := []Interval{{-5, 5}, {-5, 5}}
	for _, c := range []struct {
		name string
		f    func([]float64) float64
		want []float64
	}{
		{"round", func(x []float64) float64 { return -math.Pow(x[0]-1, 2) - math.Pow(x[1]+2, 2) }, []float64{1, -2}},
		{"in a corner", func(x []float64) float64 { return x[0] - x[1] }, []float64{5, -5}},
		{"on an edge", func(x []float64) float64 { return x[0] - x[1]*x[1] }, []float64{5, 0}},
		{"along a narrow bent ridge", func(x []float64) float64 {
			return -100*math.Pow(x[1]-x[0]*x[0], 2) - math.Pow(1-x[0], 2)
		}, []float64{1, 1}},
		{"where most of the box cannot be", func(x []float64) float64 {
			return math.Log(x[0]) + math.Log(x[1]) - x[0] - x[1]
		}, []float64{1, 1}},
	} {
		at, value := Maximise(c.f, box, nil)
		for d := range at {
			near(t, c.name, at[d], c.want[d], 0.02)
		}
		near(t, c.name+": value", value, c.f(c.want), 1e-4)
		if at, value := Maximise(c.f, box, []float64{2, 2}); !(value > c.f([]float64{2, 2})) || len(at) != 2 {
			t.Errorf("%s: from a start nothing better was found: %v", c.name, at)
		}
	}
	if at, value := Maximise(func(x []float64) float64 { return 7 }, nil, nil); at != nil || value != 7 {
		t.Errorf("in no dimension: %v, %v", at, value)
	}
}

func TestAProfileIntervalEndsWhereALikelihoodRatioTestRejects(t *testing.T) {
	// For a normal mean it is the well-known interval.
	b := ProfileInterval(func(x float64) float64 { return -(x - 3) * (x - 3) / 2 }, 3, -100, 100, 0.95)
	near(t, "low", b.Low, 3-1.959964, 1e-5)
	near(t, "high", b.High, 3+1.959964, 1e-5)
	if b.OpenLow || b.OpenHigh {
		t.Errorf("open ends: %+v", b)
	}
	// For a proportion the deviance at either end is the chi-squared quantile.
	c := Count{6, 100}
	b = ProfileInterval(func(p float64) float64 { return BinomialLogLikelihood(c, p) }, 0.06, 0, 1, 0.95)
	near(t, "deviance at the low end", BinomialDeviance(c, b.Low), 3.8415, 1e-3)
	near(t, "deviance at the high end", BinomialDeviance(c, b.High), 3.8415, 1e-3)
}

func TestAProfileIntervalSaysWhereItHasNoEnd(t *testing.T) {
	none := Count{0, 50}
	b := ProfileInterval(func(p float64) float64 { return BinomialLogLikelihood(none, p) }, 0, 0, 1, 0.95)
	if !b.OpenLow || b.OpenHigh || b.Low != 0 {
		t.Errorf("no event: %+v", b)
	}
	near(t, "high", b.High, 1-math.Exp(-3.8415/100), 1e-5)
	b = ProfileInterval(func(x float64) float64 { return -math.Exp(-x) }, 20, 0, 20, 0.95)
	if !b.OpenHigh || b.High != 20 {
		t.Errorf("a likelihood that never falls: %+v", b)
	}
	if b := ProfileInterval(func(x float64) float64 { return 0 }, 3, 0, 1, 0.95); !math.IsNaN(b.Low) {
		t.Errorf("a maximum outside the range: %+v", b)
	}
}
