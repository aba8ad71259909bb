package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/loopback"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// madeNet is a benchmark of a machine that is not there.
type madeNet struct {
	risk     machine.Answer
	current  string
	log      *loggedNews
	lease    *madeLease
	fail     error
	wait     bool // measures until it is stopped
	stopped  bool // by the user
	planned  loopback.Plan
	measured int
	selected []string
}

// run runs the command with its flags set by set, and returns its exit code.
func (m *madeNet) run(t *testing.T, set func(*benchNetFlags)) (code int, doc report.NetBench, errs string) {
	t.Helper()
	var out, stderr bytes.Buffer
	env := newEnv(strings.NewReader(""), &out, &stderr)
	f := benchNetFlags{format: newChoice("json"), flows: 1, round: time.Second, width: 2.5, duration: 30 * time.Second}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.measure = func(ctx context.Context, p loopback.Plan) (loopback.Outcome, error) {
		m.planned = p
		m.measured++
		for _, name := range p.Sources {
			if err := p.Select(ctx, name); err != nil {
				return loopback.Outcome{Plan: p}, err
			}
			m.selected = append(m.selected, name)
		}
		o := loopback.Outcome{Plan: p, Clocksource: m.current, ClocksourceAfter: m.current}
		if o.Plan.Pin == nil {
			o.Plan.Pin = &loopback.Placement{Client: 1}
		}
		if m.stopped {
			cancel()
		}
		if m.wait || m.stopped {
			<-ctx.Done()
			return o, ctx.Err()
		}
		return o, m.fail
	}
	f.allowed = func() ([]int, error) { return []int{0, 1, 2}, nil }
	f.risk = func(*machine.Snapshot) guard {
		if m.risk == "" {
			m.risk = machine.Unknown
		}
		return guard{m.risk, "the test says so"}
	}
	f.switcher = madeSwitcher(m.lease, m.log, nil)
	f.snapshot = func() *machine.Snapshot {
		return &machine.Snapshot{Clocksource: machine.Clocksource{Current: m.current}}
	}
	set(&f)
	code = exitCode(env, newBenchNetCommand(env), f.run(ctx, env))
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
	}
	return code, doc, stderr.String()
}

func TestTrafficLoadsASlowClockOnlyWhereTheTSCCannotBeLost(t *testing.T) {
	accept := func(f *benchNetFlags) { f.acceptLoss = true }
	plain := func(*benchNetFlags) {}
	for _, c := range []struct {
		name     string
		m        madeNet
		set      func(*benchNetFlags)
		code     int
		stderr   string
		ended    string
		followed bool
	}{
		{"the TSC is the clock, which is no load on the reference", madeNet{current: "tsc", risk: machine.Yes}, plain, ExitOK, "", report.BenchDone, false},
		{"the hpet is, and latency can condemn", madeNet{current: "hpet", risk: machine.Yes}, plain, ExitFailed, "accept that with --accept-losing-tsc-until-reboot", "", false},
		{"what is not known is a risk", madeNet{current: "acpi_pm"}, plain, ExitFailed, "the test says so", "", false},
		{"nor is the clock", madeNet{}, plain, ExitFailed, "which is not known and may be a slow one", "", false},
		{"the hpet is, and latency cannot condemn", madeNet{current: "hpet", risk: machine.No}, plain, ExitOK, "", report.BenchDone, false},
		{"with consent the kernel's log is followed", madeNet{current: "hpet", risk: machine.Yes, log: &loggedNews{text: otherLine, after: 1}}, accept, ExitOK, "", report.BenchDone, true},
		{"without a log that can be followed nothing is measured", madeNet{current: "hpet"}, accept, ExitFailed, "follow the kernel's log", "", false},
		{"the first complaint ends it", madeNet{current: "hpet", wait: true, log: &loggedNews{text: retryLine, after: 2}}, accept, ExitFailed, "hpet retried 2 times before success", report.BenchKernelLog, true},
	} {
		code, doc, errs := c.m.run(t, c.set)
		if code != c.code || doc.Ended != c.ended || !strings.Contains(errs, c.stderr) || c.stderr == "" && errs != "" {
			t.Errorf("%s: code %d, ended %q, %q; want code %d, %q, %q", c.name, code, doc.Ended, errs, c.code, c.ended, c.stderr)
		}
		if (c.m.measured > 0) != (c.ended != "") {
			t.Errorf("%s: measured %d times", c.name, c.m.measured)
		}
		if c.m.log != nil && (c.m.log.closed != c.followed || c.m.log.calls == 0) {
			t.Errorf("%s: the log was asked %d times and closed: %v", c.name, c.m.log.calls, c.m.log.closed)
		}
	}
}

func TestTrafficUnderSeveralClocksourcesGoesThroughThoseThatTheKernelTakes(t *testing.T) {
	of := func(deaf ...string) *madeLease {
		l := newMadeLease("tsc", "hpet", "acpi_pm")
		l.deaf = deaf
		return l
	}
	for _, c := range []struct {
		name    string
		m       madeNet
		sources []string
		code    int
		stderr  string
		ended   string
		done    []string // measured under
		chosen  []string // looked which the kernel takes, measured, and given back
	}{
		{"all of them", madeNet{current: "tsc", risk: machine.No, lease: of(), log: &loggedNews{}}, []string{"all"}, ExitOK, "", report.BenchDone,
			[]string{"tsc", "hpet", "acpi_pm"}, []string{"hpet", "acpi_pm", "tsc", "hpet", "acpi_pm", "tsc"}},
		{"without one that it does not take", madeNet{current: "tsc", risk: machine.No, lease: of("hpet"), log: &loggedNews{}}, []string{"all"}, ExitOK, "", report.BenchDone,
			[]string{"tsc", "acpi_pm"}, []string{"hpet", "acpi_pm", "tsc", "acpi_pm", "tsc"}},
		{"none that it takes", madeNet{current: "tsc", risk: machine.No, lease: of("hpet"), log: &loggedNews{}}, []string{"hpet"}, ExitFailed, "took none of the clocksources", "", nil, []string{"hpet"}},
		{"one that is not offered", madeNet{current: "tsc", risk: machine.No, lease: of(), log: &loggedNews{}}, []string{"jiffies"}, ExitUsage, "the kernel offers only tsc, hpet, acpi_pm", "", nil, nil},
		{"latency can condemn", madeNet{current: "tsc", risk: machine.Yes, lease: of(), log: &loggedNews{}}, []string{"all"}, ExitFailed, "add --accept-losing-tsc-until-reboot", "", nil, nil},
	} {
		code, doc, errs := c.m.run(t, func(f *benchNetFlags) { f.switches, f.sources = true, c.sources })
		if code != c.code || doc.Ended != c.ended || !strings.Contains(errs, c.stderr) || c.stderr == "" && errs != "" {
			t.Errorf("%s: code %d, ended %q, %q", c.name, code, doc.Ended, errs)
		}
		if !slices.Equal(c.m.selected, c.done) || !slices.Equal(c.m.lease.chosen, c.chosen) || c.m.lease.current != "tsc" {
			t.Errorf("%s: measured under %v, chose %v, left %s", c.name, c.m.selected, c.m.lease.chosen, c.m.lease.current)
		}
		if c.ended != "" && (doc.Switching == nil || !doc.Switching.GivenBack || !doc.Inputs.Switch) {
			t.Errorf("%s: %+v, inputs %+v", c.name, doc.Switching, doc.Inputs)
		}
	}
}

func TestATSCThatTrafficCostIsSaidWithACodeOfItsOwn(t *testing.T) {
	l := newMadeLease("tsc", "hpet")
	l.loseAt = 3 // with the giving back
	m := madeNet{current: "tsc", risk: machine.Yes, lease: l, log: &loggedNews{}}
	code, doc, errs := m.run(t, func(f *benchNetFlags) { f.switches, f.acceptLoss = true, true })
	if code != ExitClockChanged || doc.Ended != report.BenchCondemned || doc.Switching == nil || doc.Switching.Condemned == "" || errs == "" {
		t.Errorf("code %d, ended %q, %q, %+v", code, doc.Ended, errs, doc.Switching)
	}
}

func TestTrafficThatEndsEarlyShowsWhatItHas(t *testing.T) {
	for _, c := range []struct {
		name   string
		m      madeNet
		code   int
		ended  string
		stderr string
	}{
		{"the clocksource changed", madeNet{current: "tsc", fail: fmt.Errorf("%w: it should be tsc and is hpet", loopback.ErrChanged)}, ExitClockChanged, report.BenchChanged, "it should be tsc and is hpet"},
		{"the user stopped it", madeNet{current: "tsc", stopped: true}, ExitFailed, report.BenchSignal, "shows what it had measured"},
		{"a connection broke", madeNet{current: "tsc", fail: errors.New("send over loopback: broken pipe")}, ExitFailed, report.BenchFailed, "broken pipe"},
	} {
		code, doc, errs := c.m.run(t, func(*benchNetFlags) {})
		if code != c.code || doc.Ended != c.ended || !strings.Contains(errs, c.stderr) || c.stderr == "" && errs != "" {
			t.Errorf("%s: code %d, ended %q, %q", c.name, code, doc.Ended, errs)
		}
	}
}

func TestWhatIsAskedOfTrafficIsEchoedAndPlanned(t *testing.T) {
	m := madeNet{current: "tsc"}
	code, doc, errs := m.run(t, func(f *benchNetFlags) {
		f.tests, f.pin, f.size, f.flows = []string{"rr"}, "2,0", "64K", 3
		f.round, f.width, f.duration = 500*time.Millisecond, 1, time.Minute
	})
	in, p := doc.Inputs, m.planned
	if code != 0 || errs != "" || !slices.Equal(in.Tests, []string{"rr"}) || !slices.Equal(in.Pin, []int{2, 0}) || in.Size != 65536 || in.Flows != 3 || in.Round != 0.5 ||
		in.Width != 0.01 || in.Duration != 60 || in.AcceptLosingTSC {
		t.Errorf("code %d, %s, inputs %+v", code, errs, in)
	}
	if !slices.Equal(p.Tests, []loopback.Test{loopback.RR}) || *p.Pin != (loopback.Placement{Client: 2, Server: 0}) || p.Size != 65536 || p.Flows != 3 ||
		p.Round != 500*time.Millisecond || p.WarmUp != 100*time.Millisecond || p.Width != 0.01 || p.Most != time.Minute || p.Select != nil || len(p.Sources) > 0 {
		t.Errorf("planned %+v", p)
	}
}

func TestWrongTrafficIsRefusedBeforeAnythingRuns(t *testing.T) {
	for _, c := range []struct {
		set  func(*benchNetFlags)
		want string
	}{
		{func(f *benchNetFlags) { f.tests = []string{"udp"} }, `there is no test "udp": want stream, rr, crr`},
		{func(f *benchNetFlags) { f.pin = "1" }, "--pin 1: want two CPUs"},
		{func(f *benchNetFlags) { f.pin = "0,1,2" }, "want two CPUs"},
		{func(f *benchNetFlags) { f.pin = "0-1" }, `"0-1" is no CPU`},
		{func(f *benchNetFlags) { f.pin = "0,7" }, "may not use CPU 7, only [0 1 2]"},
		{func(f *benchNetFlags) { f.size = "0" }, "--size 0: want bytes"},
		{func(f *benchNetFlags) { f.size = "17M" }, "from 1 to 16M"},
		{func(f *benchNetFlags) { f.size = "1KM" }, "--size 1KM"},
		{func(f *benchNetFlags) { f.size = "K" }, "--size K"},
		{func(f *benchNetFlags) { f.flows = 0 }, "--flows 0: want 1 to 256"},
		{func(f *benchNetFlags) { f.flows = 257 }, "257 flows: want 1 to 256"},
		{func(f *benchNetFlags) { f.round = time.Microsecond }, "--round 1µs: want 10ms to 1m0s"},
		{func(f *benchNetFlags) { f.duration = 2 * time.Hour }, "up to 1h0m0s"},
		{func(f *benchNetFlags) { f.width = 0 }, "--width 0: want per cent above 0"},
	} {
		m := madeNet{current: "tsc"}
		if code, _, errs := m.run(t, c.set); code != ExitUsage || !strings.Contains(errs, c.want) || m.measured > 0 {
			t.Errorf("want %q: code %d, %q, measured %d", c.want, code, errs, m.measured)
		}
	}
}
