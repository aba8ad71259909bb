package sim

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// heldMachine is one whose checks are held and not disturbed otherwise.
func heldMachine(enter, leave float64, more string) string {
	return fmt.Sprintf("machine m\ncpus 2\ntsc 2 GHz\nreference hpet 100 MHz\nread const 1us\nshows 1\nfrom 3s\nwindow 13s\nprocess held held-reads\n enter %v\n leave %v\n%s", enter, leave, more)
}

const heldFar = " extra const 3ms\n" // above the limits of all eras that retry

// A check that does not condemn ends with an attempt that was not held, so that each
// begins like the first: it condemns where the first attempt enters and none of
// the others leaves.
func TestHeldReadsCondemnByTheStepsOfTheirChain(t *testing.T) {
	const boots, checks = 10_000, 19 // from 3.5 s to 12.5 s
	for _, c := range []struct {
		era          watchdog.Era
		enter, leave float64
		retries      []int
	}{
		{watchdog.E5, 0.03, 0.08, []int{0, 1, 3, 10, 50}},
		{watchdog.E5, 0.25, 0.75, []int{0, 1, 2, 3}}, // independent of each other
		{watchdog.LTS510223, 0.03, 0.08, []int{0, 3, 10}},
		{watchdog.E9, 0.03, 0.08, []int{-1}},
		{watchdog.E11, 0.1, 0.3, []int{-1}},
	} {
		for _, retries := range c.retries {
			cell, tally := run(t, heldMachine(c.enter, c.leave, heldFar), c.era, retries, boots)
			attempts := cell.setup.Profile.Attempts(2, retries) // some eras have no parameter
			check := c.enter * math.Pow(1-c.leave, float64(attempts-1))
			what := fmt.Sprintf("%s, enter %v, leave %v, %d retries", c.era, c.enter, c.leave, retries)
			expectRate(t, what, tally.Unstable, boots, 1-math.Pow(1-check, checks))
			if tally.Unstable != tally.Delay || tally.Skipped > 0 || tally.Unstable == 0 {
				t.Errorf("%s: %d unstable, %d for delays, %d checks skipped", what, tally.Unstable, tally.Delay, tally.Skipped)
			}
		}
	}
}

// In 7.1 and later the check times out instead, and the chain stands where it was:
// what comes first is as above.
func TestHeldReadsTimeOutInE12(t *testing.T) {
	const boots, checks, enter, leave = 10_000, 19, 0.03, 0.1
	p, _ := watchdog.ProfileOf(watchdog.E12)
	c, err := NewCell(parse(t, heldMachine(enter, leave, heldFar)), p, -1, Fault{})
	if err != nil {
		t.Fatal(err)
	}
	r := c.NewRunner()
	some, all := uint64(0), uint64(0)
	for boot := range uint64(boots) {
		o := r.Boot(3, boot)
		if o.Unstable() {
			t.Fatalf("boot %d: %+v", boot, o.Verdict)
		}
		all += o.TimedOut
		if o.TimedOut > 0 {
			some++
		}
	}
	attempts := float64(p.Attempts(2, -1))
	first, again := enter*math.Pow(1-leave, attempts-1), math.Pow(1-leave, attempts)
	expectRate(t, "boots with a time-out", some, boots, 1-math.Pow(1-first, checks))
	// After a time-out the chain is in, and else it is out.
	want, in := 0.0, 0.0
	for range checks {
		in = in*again + (1-in)*first
		want += in
	}
	// Time-outs come in runs, of 1/(1-again) in the mean: the count's deviation is
	// that of the runs, whose lengths have a second moment below 2/(1-again)^2.
	runs := boots * want * (1 - again)
	if slack := deviations * math.Sqrt(2*runs) / (1 - again); math.Abs(float64(all)-boots*want) > slack {
		t.Errorf("%d time-outs, want %.0f +- %.0f", all, boots*want, slack)
	}
}

// The chain goes on from check to check, and a delay of an attempt that is held has
// the distribution of extra, beside what reading costs.
func TestHeldAttemptsAreAChainWithTheDelaysOfExtra(t *testing.T) {
	const enter, leave, attempts = 0.03, 0.08, 100_000
	p, _ := watchdog.ProfileOf(watchdog.E7)
	c, err := NewCell(parse(t, heldMachine(enter, leave, " extra uniform 120us 300us\n")), p, -1, Fault{})
	if err != nil {
		t.Fatal(err)
	}
	m := &c.NewRunner().machine
	var delays []float64
	var from [2]uint64 // attempts behind one that was not held, and behind one that was
	var held [2]uint64 // ... that were held themselves
	last := 0
	m.begin(3, 1)
	for i := range uint64(attempts) {
		m.tick, m.read = i, 0
		rb := m.ReadBack(0, watchdog.ReadFour)
		delay, third := 10*(rb.After-rb.Before), 10*(rb.Again-rb.After)
		if third > 1010 {
			t.Fatalf("attempt %d: the third read of the reference took %d ns", i, third)
		}
		from[last]++
		if delay > 100_000 {
			delays = append(delays, float64(delay)-1020)
			held[last]++
			last = 1
		} else {
			last = 0
		}
	}
	expectRate(t, "enter", held[0], from[0], enter)
	expectRate(t, "leave", from[1]-held[1], from[1], leave)
	slices.Sort(delays)
	if delays[0] < 120e3-10 || delays[len(delays)-1] > 300e3+10 {
		t.Errorf("delays of %v to %v ns", delays[0], delays[len(delays)-1])
	}
	// Kolmogorov and Smirnov: sqrt(n) D exceeds 2.28 by chance once in 16 000 tests.
	far, n := 0.0, float64(len(delays))
	for i, d := range delays {
		u := (d - 120e3) / 180e3
		far = max(far, u-float64(i)/n, float64(i+1)/n-u)
	}
	if x := far * math.Sqrt(n); n < 20_000 || x > 2.28 {
		t.Errorf("%v delays, sqrt(n) D = %.2f", n, x)
	}
}

func TestNothingIsHeldBeforeItsTime(t *testing.T) {
	for from, want := range map[string]clocksource.Nanos{"0": 3500 * msec, "7.2s": 7500 * msec, "7.5s": 7500 * msec, "7.500001s": 8 * second} {
		_, tally := run(t, heldMachine(1, 0, heldFar+" from "+from+"\n"), watchdog.E5, 3, 20)
		first, _ := tally.Quantile(0)
		last, _ := tally.Quantile(1)
		// Four attempts of 3 ms, and the bins of the tally.
		if tally.Unstable != 20 || first < want+12*msec || last > want+20*msec {
			t.Errorf("from %s: %d unstable between %d and %d ns", from, tally.Unstable, first, last)
		}
	}
}

// Eras that read the reference once are held between the two reads as well: the
// clock seems off by that.
func TestHeldReadsOfErasWithOneReferenceReadShowAsSkew(t *testing.T) {
	for _, era := range []watchdog.Era{watchdog.E0, watchdog.E1, watchdog.E2, watchdog.E3, watchdog.E4} {
		for extra, want := range map[string]uint64{"60ms": 0, "66ms": 20} {
			_, tally := run(t, heldMachine(1, 1, " extra const "+extra+"\n"), era, -1, 20)
			if tally.Unstable != want || tally.Skew != want {
				t.Errorf("%s, held for %s: %d unstable, %d for skew, want %d", era, extra, tally.Unstable, tally.Skew, want)
			}
		}
	}
}

// The number of an attempt decides, and nothing else: not the era, not the read
// costs, not another process.
func TestTheSameAttemptsAreHeldUnderEveryEra(t *testing.T) {
	series := func(era watchdog.Era, text string) (waits []clocksource.Nanos) {
		p, _ := watchdog.ProfileOf(era)
		c, err := NewCell(parse(t, text), p, -1, Fault{})
		if err != nil {
			t.Fatal(err)
		}
		m := &c.NewRunner().machine
		m.begin(9, 4)
		for i := range uint64(200) {
			m.tick = i
			waits = append(waits, m.holdNext())
			m.readReference()
		}
		return waits
	}
	text := heldMachine(0.2, 0.3, " extra exp 1ms\n")
	want := series(watchdog.E5, text)
	if got := series(watchdog.E12, text+"process smi freeze\n rate 10/s\n length 1ms\n"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if slices.Max(want) == 0 {
		t.Error("nothing is held")
	}
}
