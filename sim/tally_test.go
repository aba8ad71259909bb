package sim

import (
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

func TestATallyTellsDetectionFromWhatLatencyDid(t *testing.T) {
	fault := Fault{Kind: Frequency, PPM: 800, On: -1, From: 10 * second}
	boot := func(k watchdog.Kind, at clocksource.Nanos) *Outcome {
		return &Outcome{Verdict: watchdog.Verdict{Kind: k}, At: at * second}
	}
	tally := Tally{Width: second}
	for n, o := range []*Outcome{
		boot(watchdog.CondemnedSkew, 4),  // by luck, before there was a fault
		boot(watchdog.CondemnedDelay, 5), // likewise for latency
		boot(watchdog.CondemnedDelay, 12),
		boot(watchdog.CondemnedSkew, 11),
		boot(watchdog.CondemnedCPUs, 13),
		{},
	} {
		tally.Add(uint64(n), o, &fault)
	}
	if tally.Boots != 6 || tally.Unstable != 5 || tally.Detected != 2 || tally.Timed() != 2 {
		t.Errorf("%+v", tally)
	}
	if first, ok := tally.Ranked(0); !ok || first != 2*second {
		t.Errorf("first after %d ns", first)
	}
	if last, ok := tally.Ranked(1); !ok || last != 4*second {
		t.Errorf("last after %d ns", last)
	}
	if _, ok := tally.Ranked(2); ok {
		t.Error("a third one")
	}
	whole := Tally{Width: second}
	whole.Merge(&tally)
	whole.Merge(&tally)
	if whole.Detected != 4 || whole.Timed() != 4 {
		t.Errorf("two of them: %d detected", whole.Detected)
	}
	if err := whole.Restore(timeBins, 1); err == nil {
		t.Error("a bin that is none was restored")
	}
}
