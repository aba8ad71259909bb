package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/bench"
	"github.com/cswatch/cswatch/internal/lease"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// madeLease is the clocksources of a machine that is not there.
type madeLease struct {
	current  string
	old      string
	offered  []string
	deaf     []string // names that are accepted and not taken
	loseAt   int      // the switch with which the TSC is condemned, from 1; 0: never
	chosen   []string
	closed   int
	guardian chan struct{}
}

func newMadeLease(offered ...string) *madeLease {
	return &madeLease{current: offered[0], old: offered[0], offered: offered, guardian: make(chan struct{})}
}

func (l *madeLease) Old() string                  { return l.old }
func (l *madeLease) Current() (string, error)     { return l.current, nil }
func (l *madeLease) Available() ([]string, error) { return slices.Clone(l.offered), nil }
func (l *madeLease) Unguarded() <-chan struct{}   { return l.guardian }

func (l *madeLease) Switch(name string) error {
	l.chosen = append(l.chosen, name)
	if len(l.chosen) == l.loseAt {
		l.deaf = append(l.deaf, "tsc")
		l.offered = slices.DeleteFunc(slices.Clone(l.offered), func(n string) bool { return n == "tsc" })
	}
	if slices.Contains(l.deaf, name) {
		return &lease.IgnoredError{Want: name, Got: l.current}
	}
	l.current = name
	return nil
}

func (l *madeLease) Close() error {
	l.closed++
	if l.current == l.old {
		return nil
	}
	return l.Switch(l.old)
}

// madeSwitcher switches a machine that is not there. Without a lease or a log that is not permitted.
func madeSwitcher(l *madeLease, log *loggedNews, left *lease.Recovered) switcher {
	return switcher{
		recover: func() (*lease.Recovered, error) { return left, nil },
		take: func() (borrowed, error) {
			if l == nil {
				return nil, errors.New("switch the clocksource: not permitted")
			}
			return l, nil
		},
		follow: func() (kernelNews, error) {
			if log == nil {
				return nil, errors.New("follow the kernel's log: not permitted")
			}
			return log, nil
		},
	}
}

const condemnedLine = "4,903,28763166,-;tsc: Marking TSC unstable due to clocksource watchdog\n"

func TestARunThatSwitchesMeasuresUnderEachClocksourceAndGivesTheFirstBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		sources []string
		lease   *madeLease
		chosen  []string // with the giving back
		done    []string // measured under
	}{
		{"all that are offered, the current one first", []string{"all"}, func() *madeLease {
			l := newMadeLease("hpet", "tsc", "acpi_pm")
			l.offered = []string{"tsc", "hpet", "acpi_pm"}
			return l
		}(),
			[]string{"tsc", "acpi_pm", "hpet"}, []string{"hpet", "tsc", "acpi_pm"}},
		{"those that are named", []string{"acpi_pm"}, newMadeLease("tsc", "hpet", "acpi_pm"), []string{"acpi_pm", "tsc"}, []string{"acpi_pm"}},
		{"one that the kernel does not take is left out", []string{"all"}, func() *madeLease { l := newMadeLease("tsc", "hpet", "acpi_pm"); l.deaf = []string{"hpet"}; return l }(),
			[]string{"hpet", "acpi_pm", "tsc"}, []string{"tsc", "acpi_pm"}},
	} {
		m := madeBench{risk: machine.No, lease: c.lease, log: &loggedNews{}}
		code, doc, errs := m.run(t, func(f *benchClockFlags) { f.switches, f.sources = true, c.sources })
		if code != ExitOK || doc.Ended != report.BenchDone || errs != "" || doc.Switching == nil {
			t.Fatalf("%s: code %d, %q, %s", c.name, code, doc.Ended, errs)
		}
		if !slices.Equal(c.lease.chosen, c.chosen) || c.lease.closed != 1 || !m.log.closed {
			t.Errorf("%s: chose %v and closed %d times, the log too: %v", c.name, c.lease.chosen, c.lease.closed, m.log.closed)
		}
		var under []string
		for _, r := range doc.Runs {
			under = append(under, r.Clocksource)
		}
		s := doc.Switching
		if !slices.Equal(under, c.done) || !slices.Equal(s.Sources, c.done) || !s.GivenBack || s.From != c.lease.old || s.After != c.lease.old || s.Condemned != "" {
			t.Errorf("%s: measured under %v, %+v", c.name, under, s)
		}
		if len(c.lease.deaf) > 0 && !slices.Equal(s.Ignored, []report.IgnoredSource{{Clocksource: "hpet", Instead: "tsc"}}) {
			t.Errorf("%s: ignored %+v", c.name, s.Ignored)
		}
		for i, p := range m.plans {
			if counters := len(p.Parts) == 0 || slices.Contains(p.Parts, bench.Counters); counters != (i == 0) || !p.AcceptLosingTSC {
				t.Errorf("%s: run %d has the counters: %v; plan %+v", c.name, i, counters, p)
			}
		}
	}
}

func TestASwitchThatCouldCostTheTSCIsRefusedBeforeAnythingIsTouched(t *testing.T) {
	for _, risk := range []machine.Answer{machine.Yes, machine.Unknown} {
		m := madeBench{risk: risk, lease: newMadeLease("tsc", "hpet"), log: &loggedNews{}}
		code, _, errs := m.run(t, func(f *benchClockFlags) { f.switches = true })
		if code != ExitFailed || !strings.Contains(errs, "--accept-losing-tsc-until-reboot") || !strings.Contains(errs, "the test says so") {
			t.Errorf("code %d, %s", code, errs)
		}
		if m.measured > 0 || len(m.lease.chosen) > 0 || m.lease.closed > 0 {
			t.Errorf("it was touched: %+v", m.lease)
		}
	}
}

func TestWhatTheKernelSaysDuringASwitchingRun(t *testing.T) {
	accept := func(f *benchClockFlags) { f.switches, f.acceptLoss = true, true }
	plain := func(f *benchClockFlags) { f.switches = true }
	lost := func(at int) *madeLease { l := newMadeLease("tsc", "hpet", "acpi_pm"); l.loseAt = at; return l }
	for _, c := range []struct {
		name   string
		m      madeBench
		set    func(*benchClockFlags)
		code   int
		stderr string
		ended  string
		given  bool
		line   string
	}{
		{"a retry ends a run that was accepted", madeBench{risk: machine.Yes, wait: true, log: &loggedNews{text: retryLine, after: 2}, lease: lost(0)}, accept,
			ExitFailed, "hpet retried 2 times before success", report.BenchKernelLog, true, ""},
		{"where latency cannot condemn it is told, and the run goes on", madeBench{risk: machine.No, log: &loggedNews{text: retryLine, after: 1}, lease: lost(0)}, plain,
			ExitOK, "", report.BenchDone, true, ""},
		{"a condemned TSC is said to be just that", madeBench{risk: machine.Yes, wait: true, log: &loggedNews{text: retryLine + condemnedLine, after: 2}, lease: lost(1)}, accept,
			ExitClockChanged, "the kernel condemned its TSC under this run", report.BenchCondemned, true, "tsc: Marking TSC unstable due to clocksource watchdog"},
		{"also where that was not to be expected", madeBench{risk: machine.No, wait: true, log: &loggedNews{text: condemnedLine, after: 2}, lease: lost(0)}, plain,
			ExitClockChanged, "the kernel condemned its TSC under this run", report.BenchCondemned, true, "tsc: Marking TSC unstable due to clocksource watchdog"},
		{"and where the log says nothing of it", madeBench{risk: machine.Yes, log: &loggedNews{}, lease: lost(2)}, accept,
			ExitClockChanged, "no longer among those that the kernel offers", report.BenchCondemned, false, "it is no longer among those that the kernel offers"},
		{"a log that cannot be followed forbids the run", madeBench{risk: machine.Yes, lease: lost(0)}, accept,
			ExitFailed, "follow the kernel's log", "", false, ""},
		{"but not one that can do no harm", madeBench{risk: machine.No, lease: lost(0)}, plain, ExitOK, "", report.BenchDone, true, ""},
		{"an error gives back", madeBench{risk: machine.No, lease: lost(0), fail: errors.New("measure clocks: no thread")}, plain,
			ExitFailed, "no thread", report.BenchFailed, true, ""},
		{"a right that is not there is said", madeBench{risk: machine.No}, plain, ExitFailed, "not permitted", "", false, ""},
	} {
		code, doc, errs := c.m.run(t, c.set)
		if code != c.code || doc.Ended != c.ended || !strings.Contains(errs, c.stderr) || c.stderr == "" && errs != "" {
			t.Errorf("%s: code %d, ended %q, %q; want code %d, %q, %q", c.name, code, doc.Ended, errs, c.code, c.ended, c.stderr)
		}
		if c.ended == "" {
			if doc.Switching != nil || c.m.lease != nil && (c.m.lease.closed != 1 || len(c.m.lease.chosen) > 0) {
				t.Errorf("%s: %+v, %+v", c.name, doc.Switching, c.m.lease)
			}
			continue
		}
		if s := doc.Switching; s == nil || s.GivenBack != c.given || s.Condemned != c.line || c.m.lease.closed != 1 {
			t.Errorf("%s: %+v", c.name, doc.Switching)
		}
		if told := len(doc.Switching.Lines) > 0; told != (c.ended == report.BenchDone && c.m.log != nil) {
			t.Errorf("%s: told of the lines: %v", c.name, told)
		}
	}
}

func TestARunWhoseGuardianEndsIsStopped(t *testing.T) {
	l := newMadeLease("tsc", "hpet")
	close(l.guardian)
	m := madeBench{risk: machine.No, wait: true, lease: l, log: &loggedNews{}}
	code, doc, errs := m.run(t, func(f *benchClockFlags) { f.switches = true })
	if code != ExitFailed || doc.Ended != report.BenchFailed || !strings.Contains(errs, "guardian") || !doc.Switching.GivenBack {
		t.Errorf("code %d, %q, %s, %+v", code, doc.Ended, errs, doc.Switching)
	}
}

func TestWrongClocksourcesAreRefusedAndNothingIsLeftSwitched(t *testing.T) {
	for want, sources := range map[string][]string{
		"the kernel offers only tsc, hpet": {"tsc", "sundial"},
		"it is named twice":                {"hpet", "hpet"},
	} {
		m := madeBench{risk: machine.No, lease: newMadeLease("tsc", "hpet"), log: &loggedNews{}}
		code, _, errs := m.run(t, func(f *benchClockFlags) { f.switches, f.sources = true, sources })
		if code != ExitUsage || !strings.Contains(errs, want) || m.measured > 0 || m.lease.closed != 1 {
			t.Errorf("%v: code %d, %s, %+v", sources, code, errs, m.lease)
		}
	}
	m := madeBench{risk: machine.No, lease: newMadeLease("tsc", "hpet")}
	if code, _, errs := m.run(t, func(f *benchClockFlags) { f.switches, f.parts = true, []string{"counters"} }); code != ExitUsage || m.lease.closed > 0 {
		t.Errorf("code %d, %s", code, errs)
	}
}

func TestEveryBenchmarkTellsOfWhatAKilledRunHadLeft(t *testing.T) {
	for _, c := range []struct {
		left *lease.Recovered
		want string
	}{
		{&lease.Recovered{Old: "tsc", To: "hpet", Current: "tsc", Given: true}, "had left hpet as the clocksource: tsc is current again"},
		{&lease.Recovered{Old: "tsc", To: "hpet", Current: "acpi_pm"}, "acpi_pm is current by now and stays"},
	} {
		for _, switches := range []bool{false, true} {
			m := madeBench{risk: machine.No, lease: newMadeLease("tsc"), log: &loggedNews{}, left: c.left}
			if code, _, errs := m.run(t, func(f *benchClockFlags) { f.switches = switches }); code != ExitOK || !strings.Contains(errs, c.want) {
				t.Errorf("code %d, %q, want %q", code, errs, c.want)
			}
		}
	}
}

func TestAnInterruptedRunGivesBack(t *testing.T) {
	l := newMadeLease("tsc", "hpet")
	s := madeSwitcher(l, &loggedNews{}, nil)
	ctx, interrupt := context.WithCancel(t.Context())
	doc, err := s.during(ctx, newEnv(strings.NewReader(""), new(strings.Builder), new(strings.Builder)), switchWish{risk: guard{answer: machine.No}},
		func(ctx context.Context, _ []string, choose chooser) error {
			if err := choose("hpet"); err != nil {
				return err
			}
			interrupt()
			<-ctx.Done()
			return ctx.Err()
		})
	if !errors.Is(err, context.Canceled) || l.current != "tsc" || doc == nil || !doc.GivenBack || endOf(ctx, err) != report.BenchSignal {
		t.Errorf("%v, current %s, %+v", err, l.current, doc)
	}
}
