package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cswatch/cswatch/internal/bench"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/loopback"
	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/internal/report"
)

// lookRounds is how many rounds long a window is in which the CPUs are looked at.
const lookRounds = 5

// callCounter counts calls of kernel functions; tests have their own.
type callCounter interface {
	Read() ([]perf.Calls, error)
	Close()
}

// netLooks is how bench net looks at what a test does, besides what it comes to. Tests have their own.
type netLooks struct {
	profiler profiler
	prices   func(context.Context, bench.Plan) (bench.Result, error)
	count    func(symbols []string, cpus []int) (callCounter, error)
}

func netLooksHere() netLooks {
	return netLooks{profiler: profilerHere(), prices: bench.Run, count: func(symbols []string, cpus []int) (callCounter, error) {
		c, err := perf.CountCalls(symbols, cpus)
		if err != nil {
			return nil, err // not a nil *CallCounter in an interface that is none
		}
		return c, nil
	}}
}

// looks tells whether anything is to be seen behind the rounds.
func (f *benchNetFlags) looks() bool { return f.profile || f.model || f.countReads }

// look does that under each of the clocksources, in windows of their own, so that it
// takes no time of the rounds. Without a chooser it is done under the current one.
func (f *benchNetFlags) look(ctx context.Context, doc *report.NetBench, sources []string, choose chooser) error {
	clock := &report.ClockBench{}
	if f.model {
		doc.Model = &report.NetModel{SegmentBytes: report.ModelSegment}
	}
	for _, name := range sources {
		if choose != nil {
			if err := choose(name); err != nil {
				return err
			}
		}
		if f.model {
			result, err := f.prices(ctx, f.pricePlan(doc))
			if err != nil {
				return err
			}
			clock.Measured(&result)
		}
		for _, test := range doc.Plan.Tests {
			if f.profile || f.model && test == loopback.Stream {
				if err := f.profiled(ctx, doc, test); err != nil {
					return err
				}
			}
		}
		if f.countReads {
			if err := f.counted(ctx, doc); err != nil {
				return err
			}
		}
	}
	if f.model {
		cpus := 1
		if doc.Plan.Pin.Client != doc.Plan.Pin.Server {
			cpus = 2
		}
		doc.Model.Priced(clock, cpus)
		doc.Predict()
	}
	return ctx.Err()
}

// pricePlan measures what reading the clock costs, where the test reads it.
func (f *benchNetFlags) pricePlan(doc *report.NetBench) bench.Plan {
	p := bench.Plan{
		Parts: []bench.Part{bench.Costs, bench.Contention}, Clocks: []string{hw.MonotonicRaw}, CPUs: []int{doc.Plan.Pin.Server},
		AcceptLosingTSC: true, // or the traffic would not have been allowed
	}
	if doc.Plan.Pin.Client != doc.Plan.Pin.Server {
		p.CPUs = append(p.CPUs, doc.Plan.Pin.Client)
	}
	return p
}

// window is a plan of one long round of one test under the current clocksource.
func window(p loopback.Plan, test loopback.Test) loopback.Plan {
	p.Tests, p.Sources, p.Select = []loopback.Test{test}, nil, nil
	p.Round = min(lookRounds*p.Round, loopback.MostRound)
	p.Most = time.Nanosecond // the first block is always measured whole
	return p
}

func (f *benchNetFlags) profiled(ctx context.Context, doc *report.NetBench, test loopback.Test) error {
	const rows = 10
	whole := profilePlan{own: true, inputs: report.ProfileInputs{All: true, Event: autoEvent, Frequency: perf.DefaultFrequency, PerCPU: true, Top: rows}}
	var out loopback.Outcome
	var err error
	profile := f.profiler.beside(whole, func() { out, err = f.measure(ctx, window(doc.Plan, test)) })
	if err != nil {
		return err
	}
	n := report.NetProfile{Clocksource: out.Clocksource, Test: test, Profile: profile}
	if len(out.Results) > 0 {
		n.Value, n.Unit = out.Results[0].Value, out.Results[0].Unit
	}
	doc.Profiles = append(doc.Profiles, n)
	return nil
}

// counted counts how often a stream reads the clock on its two CPUs.
func (f *benchNetFlags) counted(ctx context.Context, doc *report.NetBench) error {
	source := f.current()
	pin := doc.Plan.Pin
	cpus := slices.Compact([]int{pin.Client, pin.Server})
	symbols := perf.ClockReadSymbols(source)
	counter, err := f.count(symbols, cpus)
	var refused *perf.NotCounted
	if errors.As(err, &refused) {
		doc.Model.Uncounted(source, errors.New(withProgram(err.Error())))
		return nil
	}
	if err != nil {
		return err
	}
	defer counter.Close()
	p := window(doc.Plan, loopback.Stream)
	p.WarmUp = time.Millisecond // what is read in it is counted, what is sent in it is not
	before, err := counter.Read()
	if err != nil {
		return err
	}
	out, err := f.measure(ctx, p)
	if err != nil {
		return err
	}
	after, err := counter.Read()
	if err != nil {
		return err
	}
	var bytes uint64
	for _, r := range out.Rounds {
		bytes += r.ReceivedBytes
	}
	calls := perf.CallsSince(before, after)
	for _, side := range []struct {
		name string
		cpu  int
	}{{"client", pin.Client}, {"server", pin.Server}} {
		on := slices.DeleteFunc(slices.Clone(calls), func(c perf.Calls) bool { return c.CPU != side.cpu })
		doc.Model.Counted(source, side.name, side.cpu, perf.TotalCalls(on), bytes, calledMost(on))
	}
	return nil
}

// calledMost names the functions that were called, at most three.
func calledMost(calls []perf.Calls) string {
	sorted := slices.SortedFunc(slices.Values(calls), func(a, b perf.Calls) int { return cmp.Compare(b.Count, a.Count) })
	var names []string
	for _, c := range sorted {
		if c.Count > 0 && len(names) < 3 {
			names = append(names, c.Symbol)
		}
	}
	if len(names) == 0 {
		return "functions that read the clock"
	}
	if len(sorted) > len(names) && sorted[len(names)].Count > 0 {
		return fmt.Sprintf("%s and others", strings.Join(names, ", "))
	}
	return strings.Join(names, ", ")
}
