package loopback

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// roundsOf makes rounds of blocks, each a clocksource and its two values.
func roundsOf(blocks ...map[string][2]float64) (rounds []Round) {
	for n, b := range blocks {
		for turn := range 2 {
			for _, source := range []string{"tsc", "hpet", "acpi_pm"} {
				if v, there := b[source]; there {
					rounds = append(rounds, Round{Test: Stream, Clocksource: source, Block: n, Value: v[turn], Seconds: 1})
				}
			}
		}
	}
	return rounds
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-4*math.Max(1, math.Abs(b)) }

func TestADifferenceIsFoundOnlyWhereItIsMoreThanThatOfTwoRoundsOfOneClocksource(t *testing.T) {
	type block = map[string][2]float64
	for _, c := range []struct {
		name             string
		blocks           []block
		verdict          string
		ratio, low, high float64
		repeat           float64
	}{
		// Logarithms of the ratios are ln 0.5 in all blocks: the interval is a point.
		{"half in every block", []block{{"tsc": {100, 100}, "hpet": {50, 50}}, {"tsc": {80, 80}, "hpet": {40, 40}}}, Slower, 0.5, 0.5, 0.5, 1},
		// ln 0.5 and ln 0.4: mean -0.80472, deviation 0.15779, half width 12.7062 x 0.15779 / sqrt 2 = 1.41766.
		{"two blocks that differ tell little", []block{{"tsc": {100, 100}, "hpet": {50, 50}}, {"tsc": {100, 100}, "hpet": {40, 40}}}, NoDifference, 0.447214, 0.108351, 1.845876, 1},
		// A drift of 10 % from the first round of a block to the last cancels.
		{"a steady drift cancels and is the noise", []block{
			{"tsc": {100, 110.25}, "hpet": {102.4695, 107.5930}}, {"tsc": {200, 220.5}, "hpet": {204.9390, 215.1860}},
		}, NoDifference, 1, 1, 1, 1.1025},
		{"an interval without 1, but rounds of one clocksource differ as much", []block{
			{"tsc": {100, 110}, "hpet": {98, 108}}, {"tsc": {100, 110}, "hpet": {98, 108}},
		}, NoDifference, math.Sqrt(98. * 108 / 100 / 110), math.Sqrt(98. * 108 / 100 / 110), math.Sqrt(98. * 108 / 100 / 110), 108. / 98},
		{"one block has no interval", []block{{"tsc": {100, 100}, "hpet": {50, 50}}}, TooFewBlocks, 0.5, 0, 0, 1},
		{"no complete block has no ratio", []block{{"tsc": {100, 100}, "hpet": {0, 0}}}, TooFewBlocks, 0, 0, 0, 1},
	} {
		results, verdicts := Summarise(Plan{}.withDefaults(), Stream, roundsOf(c.blocks...))
		if len(results) != 2 || len(verdicts) != 1 {
			t.Fatal(c.name, results, verdicts)
		}
		v := verdicts[0]
		if v.Verdict != c.verdict || !near(v.Ratio, c.ratio) || !near(v.Low, c.low) || !near(v.High, c.high) || !near(v.RepeatRatio, c.repeat) || v.Clocksource == v.Best {
			t.Errorf("%s: %+v", c.name, v)
		}
		i := slices.IndexFunc(results, func(r Result) bool { return r.Clocksource == v.Clocksource })
		if results[i].RatioToBest != v.Ratio || results[i].RatioLow != v.Low || results[i].RatioHigh != v.High || results[1-i].RatioToBest != 1 {
			t.Errorf("%s: results %+v", c.name, results)
		}
	}
}

// Of three clocksources all three pairs are compared at once: each interval has 98.33 %, which
// is 7.64886 deviations with two degrees of freedom.
func TestMoreClocksourcesHaveWiderIntervals(t *testing.T) {
	var three []map[string][2]float64
	for _, x := range []float64{0.5, 0.55, 0.6} {
		three = append(three, map[string][2]float64{"tsc": {100, 100}, "hpet": {100 * x, 100 * x}, "acpi_pm": {10, 10}})
	}
	_, verdicts := Summarise(Plan{}.withDefaults(), Stream, roundsOf(three...))
	logs := []float64{math.Log(0.5), math.Log(0.55), math.Log(0.6)}
	mean := (logs[0] + logs[1] + logs[2]) / 3
	squares := 0.0
	for _, l := range logs {
		squares += (l - mean) * (l - mean)
	}
	half := 7.64886 * math.Sqrt(squares/2/3)
	if v := verdicts[0]; len(verdicts) != 2 || v.Clocksource != "hpet" || !near(v.Low, math.Exp(mean-half)) || !near(v.High, math.Exp(mean+half)) {
		t.Errorf("verdicts %+v, want an interval of %v to %v", verdicts, math.Exp(mean-half), math.Exp(mean+half))
	}
	if v := verdicts[1]; v.Verdict != Slower || !near(v.Ratio, 0.1) || v.Best != "tsc" {
		t.Errorf("verdict %+v", v)
	}
}

// The third block was measured at a bad time. By medians hpet would be the best.
func TestTheBestIsThatOfTheBlocks(t *testing.T) {
	type block = map[string][2]float64
	results, verdicts := Summarise(Plan{}.withDefaults(), Stream, roundsOf(
		block{"tsc": {120, 100}, "hpet": {101, 101}}, block{"tsc": {120, 100}, "hpet": {102, 102}}, block{"tsc": {60, 60}, "hpet": {60, 60}}, block{"tsc": {100, 100}}))
	if results[0].Value >= results[1].Value || results[0].RatioToBest != 1 || len(verdicts) != 1 || verdicts[0].Best != "tsc" || verdicts[0].Ratio >= 1 {
		t.Errorf("results %+v, verdicts %+v", results, verdicts)
	}
}

// Few blocks and many pairs make intervals that no number holds; JSON knows no infinity.
func TestNoBoundOfARatioIsInfinite(t *testing.T) {
	var rounds []Round
	for source := range 16 {
		for n := range 2 {
			for range 2 {
				rounds = append(rounds, Round{Test: RR, Clocksource: string(rune('a' + source)), Block: n, Value: math.Exp(float64(source * n)), Seconds: 1})
			}
		}
	}
	_, verdicts := Summarise(Plan{}.withDefaults(), RR, rounds)
	for _, v := range verdicts {
		if math.IsInf(v.High, 0) || math.IsNaN(v.High) || v.Verdict != NoDifference {
			t.Errorf("%+v", v)
		}
	}
}

// On a machine that is busy with something else the threads may not run for all of a round.
func TestARoundInWhichNothingCameCountsAndIsSaid(t *testing.T) {
	var rounds []Round
	for n, x := range []float64{0, 0, 0, 0, 0, 0, 100} {
		rounds = append(rounds, Round{Test: RR, Clocksource: "tsc", Block: n, Value: x, Seconds: 1})
	}
	p := Plan{}.withDefaults()
	results, _ := Summarise(p, RR, rounds)
	if r := results[0]; r.Stalled != 6 || r.Rounds != 7 || r.Value != 0 || r.High != 100 || r.ReachedWidth || r.RepeatRatio != 0 {
		t.Errorf("%+v", r)
	}
	all := doubts(p, results)
	if i := slices.IndexFunc(all, func(w Warning) bool { return w.Code == WarnStalled }); i < 0 || !strings.Contains(all[i].Text, "rr: nothing came in 6 of 7 rounds") {
		t.Errorf("doubts %+v", all)
	}
}

func TestAResultHasTheMediansOfItsRounds(t *testing.T) {
	var rounds []Round
	for i := range 7 {
		x := float64(i)
		rounds = append(rounds, Round{
			Test: Stream, Clocksource: "tsc", Block: i, Seconds: 2, Value: 1000 + 10*x, SentBytes: 6400, Retransmits: uint64(2 * i),
			Client: Use{CPU: 1, Thread: 0.9, Busy: 0.95, Stolen: 0.02, SegmentsPerSecond: 100, DataSegmentsPerSecond: 100},
			Server: Use{CPU: 0, Thread: 0.25 + x/64, Busy: 0.625, SegmentsPerSecond: 20},
		}, Round{Test: RR, Clocksource: "tsc", Block: i, Seconds: 2, Value: 50, Transactions: 100, Client: Use{DataSegmentsPerSecond: 50}, Server: Use{DataSegmentsPerSecond: 50}})
	}
	p := Plan{Pin: &Placement{Client: 1}}.withDefaults()
	results, verdicts := Summarise(p, Stream, rounds)
	if len(results) != 1 || len(verdicts) > 0 {
		t.Fatalf("results %+v, verdicts %+v", results, verdicts)
	}
	r := results[0]
	want := Result{
		Clocksource: "tsc", Test: Stream, Size: 128 << 10, Flows: 1, Value: 1030, Unit: BitPerSecond, Low: 1000, High: 1060, RatioToBest: 1, RatioLow: 1, RatioHigh: 1,
		RepeatRatio: r.RepeatRatio, Rounds: 7, ReachedWidth: false, SegmentsPerSecond: 120, DataSegmentsPerSecond: 100, BytesPerSegment: 32, RetransmitsPerSecond: 3,
		Client: Use{CPU: 1, Thread: 0.9, Busy: 0.95, Stolen: 0.02, SegmentsPerSecond: 100, DataSegmentsPerSecond: 100},
		Server: Use{CPU: 0, Thread: 0.25 + 3./64, Busy: 0.625, SegmentsPerSecond: 20},
	}
	if r != want || !near(r.RepeatRatio, 1030./1020) {
		t.Errorf("%+v, want %+v", r, want)
	}
	var codes []string
	for _, w := range doubts(p, results) {
		codes = append(codes, w.Code+": "+w.Text)
	}
	wantDoubts := []string{
		"other-work: stream: something else ran: CPU 0 was busy for 62 % of the time, 30 % with the threads of the test",
		"stolen-time: stream: the hypervisor took 2 % of the time of CPU 1",
		"width-not-reached: intervals are wider than 2.5 % on either side, or there were too few rounds, for stream: measure longer, or see that nothing else runs",
	}
	if !slices.Equal(codes, wantDoubts) {
		t.Errorf("doubts %q", codes)
	}
	if rr, _ := Summarise(p, RR, rounds); len(rr) != 1 || rr[0].BytesPerSegment != 1 || rr[0].Unit != TransactionsPerSecond {
		t.Errorf("a request and an answer of a byte each: %+v", rr)
	}
	if none, _ := Summarise(p, CRR, rounds); none != nil {
		t.Errorf("of nothing: %+v", none)
	}
}
