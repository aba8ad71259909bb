package cli

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/bench"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/loopback"
	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// madeCalls is a counter of calls that rise by so many from one reading to the next.
type madeCalls struct {
	step, now uint64
	closed    bool
}

func (c *madeCalls) Read() ([]perf.Calls, error) {
	c.now += c.step
	return []perf.Calls{{Symbol: "ktime_get", CPU: 0, Count: c.now}, {Symbol: "ktime_get", CPU: 1, Count: 3 * c.now}}, nil
}

func (c *madeCalls) Close() { c.closed = true }

// madeLooks are looks at a machine that is not there, whose stream comes to 8 Gbit/s under each clocksource.
type madeLooks struct {
	net     madeNet
	calls   *madeCalls // nil: cannot be counted
	profile madeProfile
	windows []loopback.Plan
	priced  []string
}

func (m *madeLooks) set(f *benchNetFlags) {
	now := func() string {
		if m.net.lease != nil {
			return m.net.lease.current
		}
		return m.net.current
	}
	f.current = now
	f.profiler = m.profile.profiler()
	f.prices = func(_ context.Context, p bench.Plan) (bench.Result, error) {
		m.priced = append(m.priced, now())
		one := func(w bench.Way, ns float64) bench.Crowd {
			c := bench.Cost{Median: ns, Low: ns, High: ns, Batches: 9, Reads: 9}
			return bench.Crowd{Way: w, CPUs: p.CPUs, Rounds: 7, PerCPU: []bench.OnCPU{{CPU: 0, Cost: c}, {CPU: 1, Cost: c}}}
		}
		call := map[string]float64{"tsc": 120, "hpet": 1120}[now()]
		return bench.Result{Plan: p, Clocksource: now(), ClocksourceAfter: now(), Contention: []bench.Crowd{
			one(bench.Way{Path: bench.PathInstruction, Instruction: "lfence_rdtsc"}, 20),
			one(bench.Way{Path: bench.PathSyscall, Clock: hw.Monotonic}, call),
		}}, nil
	}
	f.count = func(symbols []string, cpus []int) (callCounter, error) {
		if m.calls == nil {
			return nil, &perf.NotCounted{Functions: []perf.Uncounted{{Symbol: symbols[0], Why: "probing the kernel is not permitted"}}, HowToAllow: "run as root"}
		}
		return m.calls, nil
	}
	measure := f.measure
	f.measure = func(ctx context.Context, p loopback.Plan) (loopback.Outcome, error) {
		if p.Most == 1 {
			m.windows = append(m.windows, p)
		}
		o, err := measure(ctx, p)
		if len(o.Plan.Tests) == 0 {
			o.Plan.Tests = loopback.Tests()
		}
		o.Clocksource, o.ClocksourceAfter = now(), now()
		sources := p.Sources
		if len(sources) == 0 {
			sources = []string{now()}
		}
		for _, name := range sources {
			o.Results = append(o.Results, loopback.Result{Clocksource: name, Test: loopback.Stream, Value: 8e9, Low: 7.9e9, High: 8.1e9, Client: loopback.Use{CPU: 1, Busy: 1}, Server: loopback.Use{Busy: 1}})
		}
		o.Rounds = []loopback.Round{{Test: loopback.Stream, ReceivedBytes: 65536 * 100}}
		return o, err
	}
}

func TestAModelComesFromPricesAndCountsUnderEachClocksource(t *testing.T) {
	m := madeLooks{net: madeNet{risk: machine.No, lease: newMadeLease("tsc", "hpet"), log: &loggedNews{}}, calls: &madeCalls{step: 500}}
	code, doc, errs := m.net.run(t, func(f *benchNetFlags) {
		f.switches, f.tests, f.model, f.countReads = true, []string{"stream"}, true, true
		m.set(f)
	})
	if code != ExitOK || errs != "" || doc.Model == nil || !doc.Inputs.Model || !doc.Inputs.Count || m.net.lease.current != "tsc" || !m.calls.closed {
		t.Fatalf("code %d, %s, %+v", code, errs, doc.Model)
	}
	if !slices.Equal(m.priced, []string{"tsc", "hpet"}) || len(m.windows) != 4 || len(doc.Profiles) != 2 {
		t.Errorf("prices under %v, %d windows, %d profiles", m.priced, len(m.windows), len(doc.Profiles))
	}
	for _, w := range m.windows {
		if len(w.Sources) > 0 || !slices.Equal(w.Tests, []loopback.Test{loopback.Stream}) || w.Round != 5e9 {
			t.Errorf("window %+v", w)
		}
	}
	// 1500 calls on CPU 1 while 100 segments arrived.
	if len(doc.Model.Predictions) != 1 || doc.Model.Predictions[0].Side != "client" || doc.Model.Predictions[0].Model.Inputs.Reads.Value != 15 {
		t.Errorf("%+v", doc.Model)
	}
}

func TestReadsThatCannotBeCountedAreNoFailure(t *testing.T) {
	m := madeLooks{net: madeNet{current: "tsc", risk: machine.No}}
	code, doc, errs := m.net.run(t, func(f *benchNetFlags) {
		f.model, f.countReads = true, true
		m.set(f)
	})
	if code != ExitOK || errs != "" || !slices.ContainsFunc(doc.Model.Reads, func(r report.NetRate) bool {
		return r.By == report.ByCount && r.Reads == nil && strings.Contains(r.Why, "to allow it, run as root")
	}) {
		t.Errorf("code %d, %s, %+v", code, errs, doc.Model)
	}
}

func TestAProfileOfEachTestHasAWindowOfItsOwn(t *testing.T) {
	m := madeLooks{net: madeNet{current: "tsc", risk: machine.No}}
	code, doc, errs := m.net.run(t, func(f *benchNetFlags) {
		f.profile, f.tests = true, []string{"stream", "rr"}
		m.set(f)
	})
	if code != ExitOK || errs != "" || doc.Model != nil || len(doc.Profiles) != 2 || doc.Profiles[1].Test != "rr" || len(m.priced) > 0 {
		t.Errorf("code %d, %s, %+v", code, errs, doc.Profiles)
	}
	if c := m.profile.config; !c.Target.All {
		t.Errorf("the whole machine was to be profiled: %+v", c)
	}
}

func TestWhatExplainsNothingIsRefused(t *testing.T) {
	for want, set := range map[string]func(*benchNetFlags){
		"--count-reads is part of --model": func(f *benchNetFlags) { f.countReads = true },
		"--model is of a stream":           func(f *benchNetFlags) { f.model, f.tests = true, []string{"rr"} },
		"--format csv has no place for it": func(f *benchNetFlags) { f.profile, f.format = true, newChoice("csv") },
	} {
		m := madeNet{current: "tsc", risk: machine.No}
		if code, _, errs := m.run(t, set); code != ExitUsage || !strings.Contains(errs, want) || m.measured > 0 {
			t.Errorf("%s: code %d, %s", want, code, errs)
		}
	}
}
