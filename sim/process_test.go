package sim

import (
	"math"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
)

const second = clocksource.NanosPerSecond

func parse(t testing.TB, text string) Model {
	t.Helper()
	m, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// walk returns the events of a boot's only process that begin before the end.
func walk(m *Model, seed, boot uint64, end, pace clocksource.Nanos) (starts, ends []clocksource.Nanos, where []int) {
	e := events{process: &m.Processes[0], model: m}
	e.begin(seed, boot, 0)
	last := never
	for t := clocksource.Nanos(0); t <= end; t = min(t+pace, max(end, t+1)) {
		e.seek(t)
		if e.start != last && e.start < end {
			starts, ends, where = append(starts, e.start), append(ends, e.end), append(where, e.where)
		}
		last = e.start
	}
	return starts, ends, where
}

func TestEventsComeAtTheirRateInEachPhase(t *testing.T) {
	m := parse(t, plain+"phase boot until 10s\nphase quiet until 20s\nphase run\nprocess a freeze\n scope cpu\n rate boot 3/s run 0.5/s\n length exp 1ms\n")
	var boot, quiet, run, length, first float64
	const boots = 400
	for b := range uint64(boots) {
		starts, ends, where := walk(&m, 1, b, 60*second, 10_000_000)
		for i, s := range starts {
			switch {
			case s < 10*second:
				boot++
			case s < 20*second:
				quiet++
			default:
				run++
			}
			length += float64(ends[i] - s)
			first += float64(1 - where[i])
			if i > 0 && s < ends[i-1] {
				t.Fatalf("event at %d begins before the one at %d ends", s, starts[i-1])
			}
		}
	}
	// A Poisson count is within 4 standard deviations of its mean in all but 1 of
	// 16 000 cases; with this seed it never changes. Events of the walk that end
	// between two looks are missed: 3/s * 10 ms of them at most.
	within := func(what string, got, want, slack float64) {
		if math.Abs(got-want) > 4*math.Sqrt(want)+slack {
			t.Errorf("%s: %.0f, want about %.0f", what, got, want)
		}
	}
	within("in the boot", boot, 3*10*boots, 0.03*3*10*boots)
	within("behind it", run, 0.5*40*boots, 0.03*0.5*40*boots)
	if quiet != 0 {
		t.Errorf("%v events where the rate is 0", quiet)
	}
	n := boot + run
	if mean := length / n; math.Abs(mean-1e6) > 4*1e6/math.Sqrt(n)+3e4 {
		t.Errorf("mean length %.0f ns", mean)
	}
	if share := first / n; math.Abs(share-0.5) > 4*0.5/math.Sqrt(n) {
		t.Errorf("CPU 0 has %.3f of the events", share)
	}
}

func TestEventsDoNotDependOnHowTheyAreLookedFor(t *testing.T) {
	m := parse(t, plain+"process a freeze\n rate 0.2/s\n length const 2s\n")
	for b := range uint64(50) {
		s1, e1, _ := walk(&m, 7, b, 60*second, 1_000_000)
		s2, e2, _ := walk(&m, 7, b, 60*second, 1_900_000_000)
		if len(s1) != len(s2) {
			t.Fatalf("boot %d: %d and %d events", b, len(s1), len(s2))
		}
		for i := range s1 {
			if s1[i] != s2[i] || e1[i] != e2[i] {
				t.Fatalf("boot %d, event %d: %d to %d, and %d to %d", b, i, s1[i], e1[i], s2[i], e2[i])
			}
		}
	}
}
