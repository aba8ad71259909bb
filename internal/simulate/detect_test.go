package simulate

import (
	"context"
	"math"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/watchdog"
)

const second = clocksource.NanosPerSecond

// times is a tally of one boot in each of the first n seconds.
func times(n int) *sim.Tally {
	t := &sim.Tally{Width: second}
	for i := range n {
		if err := t.Restore(uint64(i), 1); err != nil {
			panic(err)
		}
	}
	return t
}

// The ranks are those of the tables of Conover, Practical Nonparametric Statistics:
// of 10 values the 2nd and the 9th enclose the median with 97.9 %.
func TestTheIntervalOfAQuantileIsThatOfTheOrderStatistics(t *testing.T) {
	for _, c := range []struct {
		n         int
		q         float64
		low, high clocksource.Nanos
	}{
		{10, 0.5, 2, 9},
		{5, 0.5, 1, 5},    // too few for 95 %: all there is
		{10, 0.95, 8, 10}, // likewise above
		{1, 0.5, 1, 1},
	} {
		v, ok := QuantileOf(times(c.n), c.q)
		if !ok || v.Low != c.low*second || v.High != c.high*second || v.At < v.Low || v.At > v.High {
			t.Errorf("%d values, %v: %+v, want %d to %d s", c.n, c.q, v, c.low, c.high)
		}
	}
	if _, ok := QuantileOf(&sim.Tally{}, 0.5); ok {
		t.Error("a quantile of nothing")
	}
}

// The probability that the interval holds the true quantile is a sum of binomial
// terms. It must be 95 % at least wherever both ends are ranks.
func TestTheIntervalOfAQuantileCoversWhatItPromises(t *testing.T) {
	for _, n := range []int{100, 400, 1000} {
		for _, q := range []float64{0.5, 0.95} {
			v, _ := QuantileOf(times(n), q)
			low, high := int(v.Low/second), int(v.High/second)
			// The true quantile lies in [x(low), x(high)) if low to high-1 values are below it.
			sum := 0.0
			for k := low; k < high; k++ {
				lk, _ := math.Lgamma(float64(n + 1))
				a, _ := math.Lgamma(float64(k + 1))
				b, _ := math.Lgamma(float64(n - k + 1))
				sum += math.Exp(lk - a - b + float64(k)*math.Log(q) + float64(n-k)*math.Log(1-q))
			}
			if sum < Confidence || sum > 0.985 {
				t.Errorf("%d values, %v: ranks %d to %d cover %.4f", n, q, low, high, sum)
			}
		}
	}
}

func TestDetectionLeavesOutWhatLatencyTook(t *testing.T) {
	tally := times(30)
	tally.Boots, tally.Unstable, tally.Detected = 100, 50, 30
	d := DetectionOf(tally)
	if d.Found.Events != 30 || d.Found.Boots != 80 || d.Found.Rate != 0.375 || !(d.Found.Low < 0.375 && d.Found.High > 0.375) || !d.Timed {
		t.Errorf("%+v", d)
	}
	if d := DetectionOf(&sim.Tally{Boots: 5, Unstable: 5}); d.Found.Boots != 0 || d.Found.Rate != 0 || d.Timed {
		t.Errorf("of nothing: %+v", d)
	}
}

func TestAmountsHaveTwoDigits(t *testing.T) {
	for _, c := range []struct {
		kind  sim.FaultKind
		index int
		want  string
	}{
		{sim.Frequency, 0, "frequency:+1ppm"}, {sim.Frequency, 1, "frequency:+1.1ppm"}, {sim.Frequency, 89, "frequency:+9.9ppm"},
		{sim.Frequency, 90, "frequency:+10ppm"}, {sim.Frequency, 91, "frequency:+11ppm"}, {sim.Frequency, amounts(sim.Frequency), "frequency:+500000ppm"},
		{sim.Step, 0, "step:+1us"}, {sim.Step, 91, "step:+11us"}, {sim.Step, amounts(sim.Step), "step:+10s"},
	} {
		f := amount(sim.Fault{Kind: c.kind, On: -1}, c.index)
		if f.String() != c.want {
			t.Errorf("%s %d: %s, want %s", c.kind, c.index, f, c.want)
		}
		if back, err := sim.ParseFault(f.String()); err != nil || back != f {
			t.Errorf("%s: read back as %+v, %v", f, back, err)
		}
	}
}

// On a machine with nothing else, the limit decides: 2 x 100 us in half a second are
// 400 ppm in E5.
func TestTheSmallestFaultIsTheLimitOfTheEra(t *testing.T) {
	r := Runner{Seed: 1, Boots: 50, Jobs: 2}
	for _, c := range []struct {
		era         watchdog.Era
		kind        sim.FaultKind
		reached     bool
		least, most string
	}{
		{watchdog.E5, sim.Frequency, true, "frequency:+400ppm@10s", "frequency:+410ppm@10s"},
		{watchdog.E12, sim.Frequency, true, "frequency:+490ppm@10s", "frequency:+500ppm@10s"},
		// A step of seconds makes an interval that this era does not compare.
		{watchdog.E8, sim.Step, true, "step:+500us@10s", "step:+510us@10s"},
		{watchdog.E0, sim.Halt, false, "", ""},
	} {
		template, err := Template(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Smallest(context.Background(), spec(t, "healthy-laptop", c.era, -1, ""), template)
		if err != nil || got.Reached != c.reached {
			t.Errorf("%s %s: reached %v, %v", c.era, c.kind, got.Reached, err)
			continue
		}
		if found := got.Found.Fault.String(); c.reached && found != c.least && found != c.most {
			t.Errorf("%s %s: %s, want %s or %s", c.era, c.kind, found, c.least, c.most)
		}
		if c.reached && DetectionOf(&got.Below.Tally).Found.Rate >= Wanted {
			t.Errorf("%s %s: %s is found, too", c.era, c.kind, got.Below.Fault)
		}
	}
	if _, err := Template("melting"); err == nil {
		t.Error("a kind that does not exist")
	}
}
