package loopback

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/stats"
)

// leastRounds is how many it takes before the interval of a median has 95 %.
const leastRounds = 6

// Summarise returns the results of a test under each of the clocksources that has a round, and the
// verdicts on all but the best one. The clocksources are in the order of the plan.
func Summarise(p Plan, test Test, rounds []Round) ([]Result, []Verdict) {
	var results []Result
	blocks := blocksOf(test, rounds)
	for _, source := range sourcesOf(test, rounds) {
		results = append(results, resultOf(p, test, source, rounds, blocks))
	}
	if len(results) == 0 {
		return nil, nil
	}
	best := &results[bestOf(results, blocks)]
	// All pairs at once: the best one is chosen by what was measured.
	confidence := 1 - (1-Confidence)/max(1, float64(len(results)*(len(results)-1)/2))
	var verdicts []Verdict
	for i := range results {
		r := &results[i]
		if r == best {
			r.RatioToBest, r.RatioLow, r.RatioHigh = 1, 1, 1
			continue
		}
		v := compare(r, best, blocks, confidence)
		r.RatioToBest, r.RatioLow, r.RatioHigh = v.Ratio, v.Low, v.High
		// A difference that is not found must be that narrow, too: how much there may be is what a reader asks.
		r.ReachedWidth = r.ReachedWidth && v.Low > 0 && (v.High-v.Low)/2 <= p.Width*v.Ratio
		verdicts = append(verdicts, v)
	}
	return results, verdicts
}

// bestOf returns which result is the best: by the blocks that are complete, so that no ratio to it is above 1
// only because another was measured at better times; by the medians where no block is.
func bestOf(results []Result, blocks []pairsOf) (best int) {
	scores := make([]float64, len(results))
	for _, b := range blocks {
		logs := make([]float64, len(results))
		complete := true
		for i := range results {
			first, second, both := b.logs(results[i].Clocksource)
			logs[i], complete = first+second, complete && both
		}
		for i := range scores {
			if complete {
				scores[i] += logs[i]
			}
		}
	}
	for i := range results {
		if scores[i] > scores[best] || scores[i] == scores[best] && results[i].Value > results[best].Value {
			best = i
		}
	}
	return best
}

// sourcesOf returns the clocksources in the order in which they came.
func sourcesOf(test Test, rounds []Round) (names []string) {
	for _, r := range rounds {
		if r.Test == test && !slices.Contains(names, r.Clocksource) {
			names = append(names, r.Clocksource)
		}
	}
	return names
}

// pairsOf are the values of a block's rounds, by clocksource: two each where it is complete.
type pairsOf map[string][]float64

func blocksOf(test Test, rounds []Round) (blocks []pairsOf) {
	for _, r := range rounds {
		if r.Test != test {
			continue
		}
		for len(blocks) <= r.Block {
			blocks = append(blocks, pairsOf{})
		}
		blocks[r.Block][r.Clocksource] = append(blocks[r.Block][r.Clocksource], r.Value)
	}
	return blocks
}

// logs returns the natural logarithms of both values of a clocksource, false where they are not two above 0.
func (b pairsOf) logs(source string) (first, second float64, both bool) {
	v := b[source]
	if len(v) != 2 || v[0] <= 0 || v[1] <= 0 {
		return 0, 0, false
	}
	return math.Log(v[0]), math.Log(v[1]), true
}

func resultOf(p Plan, test Test, source string, rounds []Round, blocks []pairsOf) Result {
	var of []Round
	for _, r := range rounds {
		if r.Test == test && r.Clocksource == source {
			of = append(of, r)
		}
	}
	middle := func(value func(*Round) float64) float64 {
		all := make([]float64, len(of))
		for i := range of {
			all[i] = value(&of[i])
		}
		m, _ := stats.MedianInterval(all, Confidence)
		return m
	}
	values := make([]float64, len(of))
	stalled := 0
	for i := range of {
		values[i] = of[i].Value
		if of[i].Value == 0 {
			stalled++
		}
	}
	r := Result{Clocksource: source, Test: test, Size: p.size(test), Flows: p.Flows, Unit: test.Unit(), Rounds: len(of), Stalled: stalled}
	median, within := stats.MedianInterval(values, Confidence)
	r.Value, r.Low, r.High = median, within.Low, within.High
	r.ReachedWidth = r.Rounds >= leastRounds && r.Value > 0 && within.Width()/2 <= p.Width*r.Value
	r.RepeatRatio = repeats(source, blocks, values)
	r.Client = useOf(of[0].Client.CPU, middle, func(r *Round) *Use { return &r.Client })
	r.Server = useOf(of[0].Server.CPU, middle, func(r *Round) *Use { return &r.Server })
	r.SegmentsPerSecond = middle(func(r *Round) float64 { return r.Client.SegmentsPerSecond + r.Server.SegmentsPerSecond })
	r.DataSegmentsPerSecond = middle(func(r *Round) float64 { return r.Client.DataSegmentsPerSecond + r.Server.DataSegmentsPerSecond })
	r.RetransmitsPerSecond = middle(func(r *Round) float64 { return float64(r.Retransmits) / r.Seconds })
	r.BytesPerSegment = middle(func(r *Round) float64 {
		segments := (r.Client.DataSegmentsPerSecond + r.Server.DataSegmentsPerSecond) * r.Seconds
		if segments <= 0 {
			return 0
		}
		if r.Test == Stream {
			return float64(r.SentBytes) / segments
		}
		return float64(r.Transactions) * 2 * float64(p.size(r.Test)) / segments // a request and an answer
	})
	return r
}

func useOf(cpu int, middle func(func(*Round) float64) float64, side func(*Round) *Use) Use {
	return Use{
		CPU:                   cpu,
		Thread:                middle(func(r *Round) float64 { return side(r).Thread }),
		Busy:                  middle(func(r *Round) float64 { return side(r).Busy }),
		Stolen:                middle(func(r *Round) float64 { return side(r).Stolen }),
		SegmentsPerSecond:     middle(func(r *Round) float64 { return side(r).SegmentsPerSecond }),
		DataSegmentsPerSecond: middle(func(r *Round) float64 { return side(r).DataSegmentsPerSecond }),
	}
}

// repeats returns how far two rounds of a clocksource are apart: those of a block, or neighbours where blocks have one.
func repeats(source string, blocks []pairsOf, values []float64) float64 {
	var apart []float64
	for _, b := range blocks {
		if first, second, both := b.logs(source); both {
			apart = append(apart, math.Abs(first-second))
		}
	}
	for i := 1; i < len(values) && len(blocks) == len(values); i += 2 {
		if values[i-1] > 0 && values[i] > 0 {
			apart = append(apart, math.Abs(math.Log(values[i]/values[i-1])))
		}
	}
	if len(apart) == 0 {
		return 0
	}
	middle, _ := stats.MedianInterval(apart, Confidence)
	return math.Exp(middle)
}

// compare compares a clocksource with the best one, block by block.
func compare(r, best *Result, blocks []pairsOf, confidence float64) Verdict {
	v := Verdict{Test: r.Test, Clocksource: r.Clocksource, Best: best.Clocksource, Verdict: TooFewBlocks, RepeatRatio: max(r.RepeatRatio, best.RepeatRatio)}
	var differences []float64
	for _, b := range blocks {
		a1, a2, ours := b.logs(r.Clocksource)
		b1, b2, theirs := b.logs(best.Clocksource)
		if ours && theirs {
			differences = append(differences, (a1+a2-b1-b2)/2)
		}
	}
	if len(differences) == 0 {
		return v
	}
	mean, within := stats.MeanInterval(differences, confidence)
	v.Ratio = math.Exp(mean)
	if len(differences) < 2 {
		return v
	}
	const most = 700 // whose exponential still is a number
	v.Low, v.High = math.Exp(within.Low), math.Exp(min(within.High, most))
	v.Verdict = NoDifference
	if v.High < 1 && 1/v.Ratio > v.RepeatRatio {
		v.Verdict = Slower
	}
	return v
}

// How much of a CPU others may use, and a hypervisor take, before it is said.
const (
	muchOther  = 0.05
	muchStolen = 0.01
)

// doubts says what the results do not say of themselves.
func doubts(p Plan, results []Result) (warnings []Warning) {
	add := func(code, format string, args ...any) {
		warnings = append(warnings, Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	var wide []string
	for i := range results {
		r := &results[i]
		name := string(r.Test)
		if len(p.Sources) > 1 {
			name += " under " + cmp.Or(r.Clocksource, "a clocksource that is not known")
		}
		sides := []*Use{&r.Client, &r.Server}
		if r.Client.CPU == r.Server.CPU {
			both := r.Client
			both.Thread += r.Server.Thread
			sides = []*Use{&both}
		}
		var busy, stolen []string
		for _, u := range sides {
			if u.Busy-u.Thread > muchOther {
				busy = append(busy, fmt.Sprintf("CPU %d was busy for %.0f %% of the time, %.0f %% with the threads of the test", u.CPU, 100*u.Busy, 100*u.Thread))
			}
			if u.Stolen > muchStolen {
				stolen = append(stolen, fmt.Sprintf("%.0f %% of the time of CPU %d", 100*u.Stolen, u.CPU))
			}
		}
		if len(busy) > 0 {
			add(WarnOthers, "%s: something else ran: %s", name, strings.Join(busy, ", "))
		}
		if len(stolen) > 0 {
			add(WarnStolen, "%s: the hypervisor took %s", name, strings.Join(stolen, " and "))
		}
		if r.Stalled > 0 {
			add(WarnStalled, "%s: nothing came in %d of %d rounds: other work kept the threads of the test from their CPUs for all of a round", name, r.Stalled, r.Rounds)
		}
		if !r.ReachedWidth {
			wide = append(wide, name)
		}
	}
	if len(wide) > 0 {
		add(WarnWidth, "intervals are wider than %g %% on either side, or there were too few rounds, for %s: measure longer, or see that nothing else runs", 100*p.Width, strings.Join(wide, ", "))
	}
	return warnings
}
