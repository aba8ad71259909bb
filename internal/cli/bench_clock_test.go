package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/bench"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/lease"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// madeBench is a benchmark of a machine that is not there.
type madeBench struct {
	risk     machine.Answer
	current  string
	log      *loggedNews
	after    string // the clocksource at the end, "" for the same
	fail     error
	wait     bool // measures until it is stopped
	left     *lease.Recovered
	lease    *madeLease
	planned  bench.Plan
	plans    []bench.Plan
	measured int
	rated    bool
}

// run runs the command with its flags set by set, and returns its exit code.
func (m *madeBench) run(t *testing.T, set func(*benchClockFlags)) (code int, doc report.ClockBench, errs string) {
	t.Helper()
	var out, stderr bytes.Buffer
	env := newEnv(strings.NewReader(""), &out, &stderr)
	f := benchClockFlags{format: newChoice("json")}
	f.measure = func(ctx context.Context, p bench.Plan) (bench.Result, error) {
		m.planned = p
		m.measured++
		m.plans = append(m.plans, p)
		if m.lease != nil {
			m.current = m.lease.current
		}
		r := bench.Result{Plan: p, Clocksource: m.current, ClocksourceAfter: m.current}
		r.Plan.CPUs = []int{0, 1}
		if m.after != "" {
			r.ClocksourceAfter = m.after
		}
		if m.wait {
			<-ctx.Done()
			return r, ctx.Err()
		}
		return r, m.fail
	}
	f.rate = func(context.Context) (hw.Frequency, error) {
		m.rated = true
		return hw.Frequency{Hz: 3_000_000_000}, nil
	}
	f.allowed = func() ([]int, error) { return []int{0, 1, 2}, nil }
	f.risk = func(*machine.Snapshot) guard {
		if m.risk == "" {
			m.risk = machine.Unknown
		}
		return guard{m.risk, "the test says so"}
	}
	f.switcher = madeSwitcher(m.lease, m.log, m.left)
	f.snapshot = func() *machine.Snapshot {
		return &machine.Snapshot{Clocksource: machine.Clocksource{Current: m.current}}
	}
	set(&f)
	code = exitCode(env, newBenchClockCommand(env), f.run(t.Context(), env))
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
	}
	return code, doc, stderr.String()
}

func TestABenchmarkLoadsSlowCountersOnlyWhereTheTSCCannotBeLost(t *testing.T) {
	accept := func(f *benchClockFlags) { f.acceptLoss = true }
	plain := func(*benchClockFlags) {}
	for _, c := range []struct {
		name     string
		m        madeBench
		set      func(*benchClockFlags)
		code     int
		stderr   string
		ended    string
		loads    bool
		followed bool
	}{
		{"latency can condemn", madeBench{risk: machine.Yes}, plain, ExitOK, "", report.BenchDone, false, false},
		{"what is not known is a risk", madeBench{}, plain, ExitOK, "", report.BenchDone, false, false},
		{"latency cannot condemn", madeBench{risk: machine.No}, plain, ExitOK, "", report.BenchDone, true, false},
		{"with consent the kernel's log is followed", madeBench{risk: machine.Yes, log: &loggedNews{text: otherLine, after: 1}}, accept, ExitOK, "", report.BenchDone, true, true},
		{"without a log that can be followed nothing is measured", madeBench{risk: machine.Yes}, accept, ExitFailed, "follow the kernel's log", "", false, false},
		{"the first complaint ends it", madeBench{risk: machine.Yes, wait: true, log: &loggedNews{text: retryLine, after: 2}}, accept, ExitFailed, "hpet retried 2 times before success", report.BenchKernelLog, true, true},
		{"where latency cannot condemn no log is needed", madeBench{risk: machine.No}, accept, ExitOK, "", report.BenchDone, true, false},
	} {
		code, doc, errs := c.m.run(t, c.set)
		if code != c.code || doc.Ended != c.ended || !strings.Contains(errs, c.stderr) || c.stderr == "" && errs != "" {
			t.Errorf("%s: code %d, ended %q, %q; want code %d, %q, %q", c.name, code, doc.Ended, errs, c.code, c.ended, c.stderr)
		}
		if c.m.planned.AcceptLosingTSC != c.loads {
			t.Errorf("%s: loads %v, want %v", c.name, c.m.planned.AcceptLosingTSC, c.loads)
		}
		if c.m.log != nil && (c.m.log.closed != c.followed || c.m.log.calls == 0) {
			t.Errorf("%s: the log was asked %d times and closed: %v", c.name, c.m.log.calls, c.m.log.closed)
		}
	}
}

func TestTheRateIsNotMeasuredAgainstAClockThatMustNotBeLoaded(t *testing.T) {
	for _, c := range []struct {
		current string
		risk    machine.Answer
		want    bool
	}{
		{"tsc", machine.Yes, true}, {"hpet", machine.Yes, false}, {"acpi_pm", machine.Unknown, false}, {"", machine.Unknown, false}, {"hpet", machine.No, true},
	} {
		m := madeBench{current: c.current, risk: c.risk}
		m.run(t, func(*benchClockFlags) {})
		if m.rated != c.want || (m.planned.CounterHz == 3_000_000_000) != c.want {
			t.Errorf("clocksource %q, risk %s: measured %v, %d Hz", c.current, c.risk, m.rated, m.planned.CounterHz)
		}
	}
}

func TestABenchmarkUnderWhichTheClockChangedHasACodeOfItsOwn(t *testing.T) {
	m := madeBench{current: "tsc", after: "hpet"}
	if code, doc, errs := m.run(t, func(*benchClockFlags) {}); code != ExitClockChanged || doc.Ended != report.BenchChanged || doc.ClocksourceAfter != "hpet" || errs != "" {
		t.Errorf("code %d, %q, %q", code, doc.Ended, errs)
	}
	m = madeBench{current: "tsc", fail: errors.New("measure clocks: no thread")}
	if code, doc, errs := m.run(t, func(*benchClockFlags) {}); code != ExitFailed || doc.Ended != report.BenchFailed || !strings.Contains(errs, "no thread") {
		t.Errorf("code %d, %q, %q", code, doc.Ended, errs)
	}
}

func TestWhatIsAskedOfABenchmarkIsEchoedAndPlanned(t *testing.T) {
	m := madeBench{current: "tsc", risk: machine.Yes}
	code, doc, errs := m.run(t, func(f *benchClockFlags) {
		f.parts, f.clocks, f.counters, f.cpus, f.duration = []string{"costs"}, []string{"tai"}, []string{"hpet"}, "1,0", 30*time.Second
	})
	in := doc.Inputs
	if code != 0 || errs != "" || in.Duration != 30 || in.AcceptLosingTSC || !slices.Equal(in.CPUs, []int{1, 0}) ||
		!slices.Equal(in.Parts, []string{"costs"}) || !slices.Equal(in.Clocks, []string{"tai"}) || !slices.Equal(in.Counters, []string{"hpet"}) {
		t.Errorf("code %d, %s, inputs %+v", code, errs, in)
	}
	if p := m.planned; p.Batches != 2010 || p.Rounds != 110 || p.Ticks != 80 || !slices.Equal(p.References, []string{"hpet"}) {
		t.Errorf("30 s are ten times the default of two CPUs, planned %+v", p)
	}
}

func TestAWrongBenchmarkIsRefusedBeforeAnythingIsRead(t *testing.T) {
	for _, c := range []struct {
		set  func(*benchClockFlags)
		want string
	}{
		{func(f *benchClockFlags) { f.cpus = "1-x" }, "--cpus 1-x"},
		{func(f *benchClockFlags) { f.cpus = "2-1" }, `"2-1" is no CPU and no range`},
		{func(f *benchClockFlags) { f.cpus = "0," }, `"" is no CPU`},
		{func(f *benchClockFlags) { f.cpus = "0-1,1" }, "CPU 1 is named twice"},
		{func(f *benchClockFlags) { f.cpus = "0-99999999999999" }, "is no CPU and no range"},
		{func(f *benchClockFlags) { f.cpus = "7" }, "may not use CPU 7, only [0 1 2]"},
		{func(f *benchClockFlags) { f.duration = -time.Second }, "want a time above 0"},
		{func(f *benchClockFlags) { f.duration = time.Hour }, "up to 10m0s"},
		{func(f *benchClockFlags) { f.parts = []string{"all"} }, `there is no part "all"`},
		{func(f *benchClockFlags) { f.clocks = []string{"sundial"} }, `there is no clock "sundial"`},
	} {
		var m madeBench
		if code, _, errs := m.run(t, c.set); code != ExitUsage || !strings.Contains(errs, c.want) || m.measured > 0 {
			t.Errorf("want %q: code %d, %q, measured %d", c.want, code, errs, m.measured)
		}
	}
}

func TestEveryDurationIsAPlanWithinItsLimits(t *testing.T) {
	for _, d := range []time.Duration{time.Nanosecond, time.Second, mostBench} {
		for _, cpus := range []int{1, 2, 3, 8192} {
			var p bench.Plan
			scale(&p, cpus, d)
			if err := p.Validate(); err != nil || p.Batches < 6 || p.Rounds < 6 || p.Ticks < 1 || p.WarmUp <= 0 || p.RoundTime <= 0 || p.TurnTime <= 0 {
				t.Errorf("%v on %d CPUs: %v in %+v", d, cpus, err, p)
			}
		}
	}
}
