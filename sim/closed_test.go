package sim

import (
	"math"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/stats"
	"github.com/cswatch/cswatch/watchdog"
)

// Each test here compares a count of boots with a formula. It fails if the count is
// more than four standard deviations away, which by chance happens once in 16 000
// tests; the seed is fixed, so that it either always does or never.
const deviations = 4

// expectRate checks a count of boots against the probability of one.
func expectRate(t *testing.T, what string, count, boots uint64, p float64) {
	t.Helper()
	n := float64(boots)
	if slack := deviations * math.Sqrt(n*p*(1-p)); math.Abs(float64(count)-n*p) > slack+1 {
		t.Errorf("%s: %d of %d boots, want %.1f +- %.1f", what, count, boots, n*p, slack)
	}
}

func run(t *testing.T, text string, era watchdog.Era, retries int, boots uint64) (*Cell, Tally) {
	t.Helper()
	p, ok := watchdog.ProfileOf(era)
	if !ok {
		t.Fatalf("no era %s", era)
	}
	c, err := NewCell(parse(t, text), p, retries, Fault{})
	if err != nil {
		t.Fatal(err)
	}
	return c, c.NewRunner().Run(3, 0, boots)
}

// A read is slow with probability 0.3, whatever the one before it was: a check
// condemns with 0.3^(R+1), where the delay is that of the second read.
func TestIndependentDelaysCondemnWithTheirPower(t *testing.T) {
	const text = "machine m\ncpus 2\ntsc 2 GHz\nreference hpet 25 MHz\nread table 1us 7 2us 0 60us 3 61us\nshows 1\nfrom 3s\nwindow 13s\n"
	for retries := range 6 {
		const boots = 20_000
		_, tally := run(t, text, watchdog.E5, retries, boots)
		const checks = 19 // from 3.5 s to 12.5 s
		check := math.Pow(0.3, float64(retries+1))
		expectRate(t, "unstable", tally.Unstable, boots, 1-math.Pow(1-check, checks))
		if tally.Unstable != tally.Delay || tally.Unstable == 0 {
			t.Errorf("%d retries: %d unstable, %d for delays", retries, tally.Unstable, tally.Delay)
		}
	}
}

// Where the first attempt finds caches cold it is slow alone: the others are not, and
// a third read of the reference is not either, so that nothing is skipped.
func TestAColdFirstAttemptIsRetriedAndNoMore(t *testing.T) {
	const text = "machine m\ncpus 2\ntsc 2 GHz\nreference hpet 25 MHz\nread const 1us\nfirst-attempt const 600us\nshows 1\nfrom 3s\nwindow 13s\n"
	const boots, checks = 10, 19
	for _, era := range []watchdog.Era{watchdog.E5, watchdog.LTS510223, watchdog.E9, watchdog.E11, watchdog.E12} {
		if _, tally := run(t, text, era, 3, boots); tally.Unstable+tally.Skipped+tally.TimedOut > 0 || tally.Retried != boots*checks {
			t.Errorf("%s: %+v", era, tally)
		}
	}
	if _, tally := run(t, text, watchdog.E5, 0, boots); tally.Delay != boots {
		t.Errorf("without a retry: %+v", tally)
	}
	for _, era := range []watchdog.Era{watchdog.E0, watchdog.E1, watchdog.E4} { // they have no such read
		if _, tally := run(t, strings.Replace(text, "600us", "600ms", 1), era, -1, boots); tally.Unstable > 0 || tally.Checks != boots*checks {
			t.Errorf("%s: %+v", era, tally)
		}
	}
}

// Episodes of exponential length leave no trace of how long they have lasted: what
// is left of one when a check meets it has the same distribution. So all attempts
// are slow with exp(-(time until the last slow read begins)/mean).
func TestExponentialEpisodesCondemnByTheirLength(t *testing.T) {
	const text = `machine m
cpus 8
tsc 2 GHz
reference hpet 25 MHz
read const 1us
shows 1
from 3s
window 13s
process e slow-reads
 rate 5/s
 length exp 1.5ms
 extra const 60us
`
	const read, tsc, mean = 61e3, 20.0, 1.5e6
	busy := 5 * 1.5e-3 / (1 + 5*1.5e-3) // share of time within an episode
	for _, retries := range []int{0, 3, 10, 30} {
		const boots, checks = 20_000, 19
		_, tally := run(t, text, watchdog.E5, retries, boots)
		until := float64(retries)*(2*read+tsc) + read + tsc
		expectRate(t, "unstable", tally.Unstable, boots, 1-math.Pow(1-busy*math.Exp(-until/mean), checks))
	}
}

// The same numbers in the terms of cswatch fit: lambda episodes are met in a boot, and
// their length is tau attempts.
func TestTheMachineOfTheRFCHasTheFittedEpisodes(t *testing.T) {
	m, err := Builtin("e3-1240v5")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := watchdog.ProfileOf(watchdog.E5)
	const lambda, tau, boots = 0.142, 12.3, 40_000
	for retries, observed := range map[int]stats.Count{3: {Events: 42, Trials: 400}, 5: {Events: 5, Trials: 100}, 10: {Events: 6, Trials: 100}, 50: {Events: 1, Trials: 400}} {
		c, err := NewCell(m, p, retries, Fault{})
		if err != nil {
			t.Fatal(err)
		}
		tally := c.NewRunner().Run(1, 0, boots)
		rate := float64(tally.Unstable) / boots
		want := 1 - math.Exp(-lambda*math.Exp(-float64(retries+1)/tau))
		if math.Abs(rate/want-1) > 0.15+deviations/math.Sqrt(boots*want) {
			t.Errorf("%d retries: %.4f of boots, the fit says %.4f", retries, rate, want)
		}
		// What was observed is no surprise.
		if tail := stats.BinomialTwoSided(observed, rate); tail < 0.025 {
			t.Errorf("%d retries: %d of %d boots have a probability of %.3f where %.4f are expected", retries, observed.Events, observed.Trials, tail, rate)
		}
		first, _ := tally.Quantile(0)
		last, _ := tally.Quantile(1)
		if first < 3*second || first > 4*second || last < 12*second || last > 14*second+msec*500 {
			if retries < 50 {
				t.Errorf("%d retries: condemned between %d and %d ns", retries, first, last)
			}
		}
		if d := tally.Verdict.Delay; d < 58_000 || d > 64_000 {
			t.Errorf("%d retries: condemned for %d ns, the RFC's were 60666 and 61833", retries, d)
		}
	}
}

// Section by section, what the published events lead to if the delay persists.
func TestPublishedEventsComeOutAsStated(t *testing.T) {
	machine := func(cpus, read, tsc string) string {
		return "machine m\ncpus " + cpus + "\ntsc 2 GHz calibrated\nreference hpet 24 MHz\nread const " + read + "\nshows 1\ntsc-read " + tsc + "\nfrom 3s\nwindow 8s\n"
	}
	rfc, boot, sockets := machine("8", "60646ns", "20ns"), machine("40", "200us", "20ns"), machine("960", "11440ns", "142120ns")
	eras := []watchdog.Era{watchdog.E5, watchdog.E6, watchdog.E7, watchdog.E9, watchdog.E10, watchdog.E11, watchdog.E12}
	cases := []struct {
		name, text string
		want       [7]string
	}{
		{"the RFC's 60 666 ns", rfc, [7]string{"condemn", "accept", "accept", "accept", "accept", "accept", "time-out"}},
		{"200 us in the boot of 40 CPUs", boot, [7]string{"condemn", "skip", "skip", "skip", "accept", "accept", "time-out"}},
		{"153 560 ns on 8 sockets", sockets, [7]string{"condemn", "condemn", "condemn", "condemn", "accept", "accept", "time-out"}},
	}
	for _, c := range cases {
		for i, era := range eras {
			cell, tally := run(t, c.text, era, -1, 1)
			got := "accept"
			switch {
			case tally.Delay == 1:
				got = "condemn"
			case tally.Unstable == 1:
				got = tally.Verdict.Kind.String()
			case tally.Skipped > 0:
				got = "skip"
			case tally.TimedOut > 0:
				got = "time-out"
			}
			if got != c.want[i] {
				t.Errorf("%s in %s: %s, want %s", c.name, era, got, c.want[i])
			}
			if got == "condemn" && era == watchdog.E9 {
				if n := cell.profile.Attempts(960, -1); tally.Verdict.Attempts != n || n != 6 {
					t.Errorf("%s in %s: after %d attempts, want 6", c.name, era, tally.Verdict.Attempts)
				}
			}
		}
	}
}
