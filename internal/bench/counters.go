package bench

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/machine"
)

// stream takes read-backs; hw.Stream is one.
type stream interface {
	Reference() hw.Counter
	Run(ctx context.Context, each func(*hw.Tick) error) error
	Close() error
}

// Where the loss of the TSC is accepted, counters are read as fast as hw allows.
const (
	fastTicks    = 25 // for each tick of the plan
	fastInterval = time.Millisecond
)

// counterPlan says how a counter is read. internal/hw refuses what is faster than a
// watchdog where that is not accepted; here it is not even asked for.
func counterPlan(name string, cpu int, p Plan) hw.Plan {
	plan := hw.Plan{Reference: name, Interval: hw.Pace, Ticks: p.Ticks, CPUs: []int{cpu}, ReadBacks: hw.DefaultReadBacks}
	if p.AcceptLosingTSC {
		plan.AcceptLosingTSC = true
		plan.Interval, plan.Ticks, plan.ReadBacks = fastInterval, p.Ticks*fastTicks, hw.MaxReadBacks
	}
	return plan
}

// counter reads one counter by the plan. A read-back reads it three times, and the
// last two reads have nothing between them.
func counter(ctx context.Context, open func(hw.Plan) (stream, error), name string, cpu int, p Plan) (CounterResult, error) {
	plan := counterPlan(name, cpu, p)
	result := unread(hw.Counter{Name: name}, "")
	result.Pace = plan.Interval.Seconds()
	s, err := open(plan)
	if err != nil {
		result.Why = err.Error()
		return result, nil
	}
	result.Counter = s.Reference()
	var batches []Batch
	var steps Counter
	err = s.Run(ctx, func(t *hw.Tick) error {
		for _, g := range t.Groups {
			if g.Skipped != "" {
				result.Why = g.Skipped
				continue
			}
			var took clocksource.Nanos
			for _, x := range g.Samples {
				took += result.Delay(x.After, x.Again)
				steps.Add(0, uint64((x.Again-x.After)&clocksource.Cycles(result.Mask)))
				if x.Late {
					result.Late[x.Cause]++
				}
			}
			batches = append(batches, Batch{Reads: len(g.Samples), Took: time.Duration(took)})
		}
		return nil
	})
	if closed := s.Close(); err == nil {
		err = closed
	}
	if err != nil {
		result.Why = err.Error()
	}
	result.Cost = CostOf(batches)
	result.Steps = steps.Steps(unitOf(result.Counter), float64(result.Hz))
	return result, ctx.Err()
}

// unread is the result of a counter that has not been read.
func unread(c hw.Counter, why string) CounterResult {
	return CounterResult{Counter: c, Why: why, Steps: new(Counter).Steps(unitOf(c), 0), Late: map[hw.Cause]int{}}
}

// unitOf returns the unit of a counter's values.
func unitOf(c hw.Counter) string {
	if c.Hz == clocksource.Hz(clocksource.NanosPerSecond) {
		return Nanoseconds
	}
	return CyclesUnit
}

// readable returns which counters are to be read at a pace, and entries for those that cannot be.
// POSIX clocks and the processor's counter are measured in loops, real-time clocks are too slow.
func readable(found []hw.Availability, wanted []string) (names []string, not []CounterResult) {
	for _, a := range found {
		looped := a.From != "" && isSystemClock(a.Name) || a.Name == hw.ProcessorCounter
		switch {
		case len(wanted) > 0 && !slices.Contains(wanted, a.Name), len(wanted) == 0 && (looped || a.Slow):
		case a.Slow:
			not = append(not, unread(a.Counter, "it ticks in seconds, which is too slow to measure a read with"))
		case a.Can != machine.Yes:
			not = append(not, unread(a.Counter, a.Err().Error()))
		default:
			names = append(names, a.Name)
		}
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(found, func(a hw.Availability) bool { return a.Name == name }) {
			not = append(not, unread(hw.Counter{Name: name}, "there is no such counter here"))
		}
	}
	return names, not
}

// isSystemClock reports a POSIX clock, read by either path.
func isSystemClock(name string) bool {
	_, is := posixClocks()[strings.TrimSuffix(name, "_vdso")]
	return is
}
