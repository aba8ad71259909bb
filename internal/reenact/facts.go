package reenact

import (
	"fmt"
	"slices"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/trace"
)

// facts is what a log gives.
type facts struct {
	hz          int   // timer ticks a second, 0 if unknown
	cpus        int   // online
	frequencies []tsc // printed ones of the TSC, in their order
	paravirtual bool  // sched_clock is not read from the TSC
	schedAfter  event.Opt[event.Sched]
	check       check
}

// maxCPUs is the most that x86 kernels are built for.
const maxCPUs = 8192

// tsc is a printed frequency.
type tsc struct {
	khz     uint32
	refined bool
	line    int
}

// check is what the log tells of the check across CPUs.
type check struct {
	cpu           int
	peers         []int
	ahead, behind []int
	min, max      clocksource.Nanos
}

func factsOf(events []event.Event, in *event.Incident) facts {
	f := facts{cpus: 1}
	seen := func(cpu event.Opt[int64]) {
		if c, ok := cpu.Get(); ok {
			f.cpus = max(f.cpus, int(min(c, maxCPUs-1))+1)
		}
	}
	for i := range events {
		e := &events[i]
		after := e.Source.Line >= in.Events[0].Source.Line
		switch e.Kind {
		case event.CPUsUp:
			f.cpus = max(f.cpus, int(min(e.Cycles.Value, maxCPUs)))
		case event.TSCDetected, event.TSCRefined:
			f.frequencies = append(f.frequencies, tsc{uint32(e.FrequencyHz.Value / 1000), e.Kind == event.TSCRefined, e.Source.Line})
		case event.KVMClock:
			f.paravirtual = true
		case event.SchedUnstable:
			f.schedAfter = e.SchedNS
		case event.Registered:
			if hz, ok := clocksource.TickRate(e.Clocksource, clocksource.Nanos(e.MaxIdleNS.Value)); ok {
				f.hz = hz
			}
		case event.SkewVerdict:
			seen(e.CPU)
		case event.VerifyStarted:
			seen(e.CPU)
			if after {
				f.check.cpu, f.check.peers = int(e.CPU.Value), cpus(e.CPUs)
			}
		case event.VerifyAhead:
			f.check.ahead = cpus(e.CPUs)
		case event.VerifyBehind:
			f.check.behind = cpus(e.CPUs)
		case event.VerifyDurations:
			f.check.min, f.check.max = clocksource.Nanos(e.MinNS.Value), clocksource.Nanos(e.MaxNS.Value)
		}
	}
	return f
}

// cpus reads a list such as "0,2-3"; one that is damaged has none.
func cpus(list string) []int {
	set, err := trace.ParseCPUs(list)
	if err != nil {
		return nil
	}
	var all []int
	c := set.First()
	for range set.Count() {
		all = append(all, c)
		c = set.Next(c)
	}
	return all
}

// source returns the clock of a registration line, at a frequency that the log
// or the clock's nature gives and that prints this very line.
func (f *facts) source(e *event.Event, r *clocksource.Rules) (clocksource.Source, error) {
	name := e.Clocksource
	candidates, err := f.candidates(e, r)
	for _, s := range candidates {
		line := s.Conversion
		if s.Freq != 0 {
			if line, err = clocksource.Register(s.Freq, s.Scale, s.Mask); err != nil {
				continue
			}
		}
		if line.MaxCycles == clocksource.Cycles(e.MaxCycles.Value) && line.MaxIdle == clocksource.Nanos(e.MaxIdleNS.Value) {
			return s, nil
		}
	}
	return clocksource.Source{}, fmt.Errorf("reenact a kernel log, line %d: none of %d known frequencies of clocksource %s gives %q (%v): give the log from the beginning of its boot",
		e.Source.Line, len(candidates), name, e.Text, err)
}

func (f *facts) candidates(e *event.Event, r *clocksource.Rules) ([]clocksource.Source, error) {
	var found []clocksource.Source
	var failed error
	add := func(s clocksource.Source, err error) {
		if err != nil {
			failed = err
			return
		}
		found = append(found, s)
	}
	switch name := e.Clocksource; name {
	case "tsc", "tsc-early":
		for _, p := range slices.Backward(f.frequencies) {
			if p.line > e.Source.Line || p.khz == 0 {
				continue
			}
			if name == "tsc" {
				add(r.TSC(p.khz, p.refined), nil)
			} else {
				add(r.TSCEarly(p.khz), nil)
			}
		}
	case "jiffies":
		for _, hz := range clocksource.TickRates() {
			add(r.Jiffies(hz))
		}
	case "refined-jiffies":
		for _, hz := range clocksource.TickRates() {
			add(r.RefinedJiffies(hz))
		}
	default:
		for _, rate := range clocksource.RatesOf(name) {
			add(r.Source(name, rate.Hz))
		}
	}
	return found, failed
}
