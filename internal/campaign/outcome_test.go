package campaign

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/stats"
)

func eventsOf(t *testing.T, log string) []event.Event {
	t.Helper()
	in := klog.NewReader(strings.NewReader(log), "test")
	var all []event.Event
	for in.Next() {
		all = append(all, in.Event())
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	return all
}

const (
	delayLog = "[    3.421001] clocksource: timekeeping watchdog on CPU1: hpet read-back delay of 165920ns, attempt 4, marking unstable\n" +
		"[    3.421101] tsc: Marking TSC unstable due to clocksource watchdog\n"
	skipLog = "[    4.100000] clocksource: timekeeping watchdog on CPU0: hpet wd-wd read-back delay of 107970ns\n" +
		"[    4.100010] clocksource: wd-tsc-wd read-back delay of 207970ns, clock-skew test skipped!\n"
	skewLog = "[    5.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n" +
		"[    5.000001] clocksource:                       'hpet' wd_nsec: 500000000 wd_now: 5f5e100 wd_last: 2faf080 mask: ffffffff\n" +
		"[    5.000002] clocksource:                       'tsc' cs_nsec: 501000000 cs_now: 8f0d1800 cs_last: 0 mask: ffffffffffffffff\n" +
		"[    5.000003] tsc: Marking TSC unstable due to clocksource watchdog\n"
	optionLog  = "[    0.070000] tsc: Marking TSC unstable due to boot parameter\n"
	timeoutLog = "[    1.550000] clocksource: Watchdog hpet read timed out. Readout sequence took: 1338460ns\n"
)

func TestEvidenceComesToOneOutcome(t *testing.T) {
	whole := Evidence{End: EndWhole, Clock: "tsc"}
	with := func(change func(*Evidence)) Evidence {
		e := whole
		change(&e)
		return e
	}
	for _, c := range []struct {
		name     string
		log      string
		evidence Evidence
		want     Verdict
		why      string
	}{
		{"the window passed", "", whole, Verdict{Outcome: Stable}, "still in use"},
		{"reads that timed out are harmless", timeoutLog, whole, Verdict{Outcome: Stable}, "still in use"},
		{"reads took too long", delayLog, with(func(e *Evidence) { e.Clock = "hpet" }), Verdict{Unstable, ReadDelay}, "took too long"},
		{"the TSC ran off", skewLog, with(func(e *Evidence) { e.Clock = "hpet" }), Verdict{Unstable, Skew}, "ran off"},
		{"an option", optionLog, with(func(e *Evidence) { e.Clock = "hpet" }), Verdict{Unstable, Option}, "command line"},
		{"a skip", skipLog, whole, Verdict{Outcome: Blind}, "suspended"},
		{"a verdict counts although the kernel hung then", delayLog, Evidence{End: EndHung}, Verdict{Unstable, ReadDelay}, "took too long"},
		{"a skip and then a verdict", skipLog + delayLog, whole, Verdict{Unstable, ReadDelay}, "took too long"},
		{"a hang after a skip", skipLog, Evidence{End: EndHung, Why: "no end"}, Verdict{Outcome: Hung}, "no end"},
		{"a panic", "", Evidence{End: EndPanicked, Why: "Kernel panic"}, Verdict{Outcome: Panicked}, "Kernel panic"},
		{"never booted", "", Evidence{End: EndNeverBooted, Why: "silence"}, Verdict{Outcome: NeverBooted}, "silence"},
		{"the machine died", "", Evidence{End: EndDied, Why: "gone"}, Verdict{Outcome: Lost}, "gone"},
		{"another clock is in use, without a word", "", with(func(e *Evidence) { e.Clock = "hpet" }), Verdict{Outcome: NoVerdict}, "used hpet"},
		{"nobody knows the clock", "", with(func(e *Evidence) { e.Clock = "" }), Verdict{Outcome: NoVerdict}, "not known"},
		{"records were lost", "", with(func(e *Evidence) { e.LostLog = 3 }), Verdict{Outcome: NoVerdict}, "3 records"},
		{"it tells nothing", "", with(func(e *Evidence) { e.Untold = "the delays never began" }), Verdict{Outcome: NoVerdict}, "never began"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.evidence.Events = eventsOf(t, c.log)
			j := Judge(&c.evidence)
			if j.Verdict() != c.want || !strings.Contains(j.Why, c.why) {
				t.Errorf("%s %s: %s; want %s %s: %s", j.Outcome, j.Cause, j.Why, c.want.Outcome, c.want.Cause, c.why)
			}
		})
	}
}

func TestAJudgementTellsWhatTheKernelSaid(t *testing.T) {
	j := Judge(&Evidence{End: EndWhole, Events: eventsOf(t, timeoutLog+delayLog)})
	if j.DelayNS != event.Some[int64](165920) || j.Attempt != event.Some[int64](4) || j.CPU != event.Some[int64](1) ||
		j.AtNS != event.Some[int64](3_421_001_000) || j.TimedOut != 1 || !strings.Contains(j.Message, "attempt 4, marking unstable") {
		t.Errorf("%+v", j)
	}
	j = Judge(&Evidence{End: EndWhole, Events: eventsOf(t, skewLog)})
	if j.SkewNS != event.Some[int64](1_000_000) || j.Clock != "tsc" {
		t.Errorf("%+v", j)
	}
}

// resultOf makes a result of a cell.
func resultOf(c Cell, repetition int, v Verdict) *Result {
	p := Plan{Seed: 1}
	return &Result{Trial: p.trial(&c, repetition), Judgement: Judgement{Outcome: v.Outcome, Cause: v.Cause}}
}

func someResults() (cells []Cell, results []*Result) {
	for _, retries := range []string{"50", "3", "10"} { // not in order
		cells = append(cells, Cell{Kernel: "5.10", Set: []string{RetriesParameter + "=" + retries}, CPUs: 2, Load: "none"})
	}
	add := func(c, n int, v Verdict) {
		for range n {
			results = append(results, resultOf(cells[c], len(results)+1, v))
		}
	}
	add(0, 1, Verdict{Unstable, ReadDelay})
	add(0, 59, Verdict{Outcome: Stable})
	add(1, 22, Verdict{Unstable, ReadDelay})
	add(1, 30, Verdict{Outcome: Stable})
	add(1, 2, Verdict{Outcome: Blind})
	add(1, 1, Verdict{Outcome: Hung})
	add(2, 9, Verdict{Unstable, Skew})
	add(2, 51, Verdict{Outcome: Stable})
	add(2, 3, Verdict{Outcome: Lost})
	return cells, results
}

func TestOnlyDecidedTrialsCountForTheRate(t *testing.T) {
	cells, results := someResults()
	tallies := Count(cells, results)
	want := []stats.Count{{Events: 1, Trials: 60}, {Events: 22, Trials: 52}, {Events: 9, Trials: 60}}
	for i := range tallies {
		if got := tallies[i].Count(); got != want[i] {
			t.Errorf("cell %d: %+v, want %+v", i, got, want[i])
		}
	}
	if t1 := tallies[1]; t1.Boots != 55 || t1.Aside() != 3 || t1.By[Blind] != 2 || t1.By[Hung] != 1 || t1.Causes[ReadDelay] != 22 {
		t.Errorf("%+v", t1.By)
	}
	if n := tallies[1].Noticed(); n != (stats.Count{Events: 0, Trials: 30}) {
		t.Errorf("latency counts as noticed: %+v", n)
	}
	if n := tallies[2].Noticed(); n != (stats.Count{Events: 9, Trials: 60}) {
		t.Errorf("noticed: %+v", n)
	}
}

func TestCellsThatDifferInOneNumberAreASeries(t *testing.T) {
	cells, results := someResults()
	tallies := Count(cells, results)
	all := SeriesOf(tallies)
	if len(all) != 1 || all[0].Parameter != RetriesParameter || !cmp.Equal(all[0].Values, []float64{3, 10, 50}) {
		t.Fatalf("%+v", all)
	}
	scores, counts := all[0].Counts()
	trend := stats.CochranArmitage(scores, counts)
	if trend.Z >= 0 || trend.Falls > 0.001 {
		t.Errorf("%+v", trend)
	}
	c, ok := Compare(all[0].Tallies[0], all[0].Tallies[2])
	if !ok || math.Abs(c.Difference-(22.0/52-1.0/60)) > 1e-12 || c.MidP > 1e-6 || c.Interval.Low < 0.2 {
		t.Errorf("%+v", c)
	}
	if _, ok := Compare(&tallies[0], &Tally{}); ok {
		t.Error("a cell without boots was compared")
	}
}

func TestMeasuredDelaysAreTakenForAChain(t *testing.T) {
	r := func(checks ...[]int64) *Result {
		var out Result
		for _, c := range checks {
			out.Checks = append(out.Checks, Check{DelaysNS: c})
		}
		return &out
	}
	const d = 200_000
	m := Measure([]*Result{r([]int64{900}, []int64{d, d, 800}, []int64{700}), r([]int64{d, d, d, d}), r()}, 100*time.Microsecond)
	// Draws out of an episode: 900, d, 700 and the d of the second trial; within: d, 800, and three more.
	if m.In != (stats.Count{Events: 2, Trials: 4}) || m.Out != (stats.Count{Events: 1, Trials: 5}) || m.Attempts != 9 {
		t.Errorf("in %+v, out %+v, %d attempts", m.In, m.Out, m.Attempts)
	}
	if !cmp.Equal(m.QuietNS, []int64{700, 800, 900}) || len(m.DelaysNS) != 6 || Quantile(m.QuietNS, 0.5) != 800 || Quantile(nil, 0.5) != 0 {
		t.Errorf("%+v", m)
	}
}
