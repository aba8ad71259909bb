package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// madeSession is a profile of a machine that is not there.
type madeSession struct {
	ended   chan struct{}
	started bool
	stopped bool
	closed  bool
	fail    error // of the start
}

func (s *madeSession) Start() error {
	s.started = s.fail == nil
	return s.fail
}

func (s *madeSession) Stop() (*perf.Profile, error) {
	s.stopped = true
	one := func(pid int, samples int64, frames ...perf.Frame) perf.Stack {
		return perf.Stack{PID: int32(pid), Command: "work", Frames: frames, Weight: perf.Weight{Samples: samples, Sum: float64(samples), Squares: float64(samples)}}
	}
	hpet := perf.Frame{Object: "[kernel]", Symbol: "read_hpet", Kernel: true}
	return &perf.Profile{
		Event: perf.CPUClock, Frequency: 997, Attempts: []perf.Attempt{{Event: perf.CPUClock}}, Seconds: 1, CPUs: 2,
		Stacks: []perf.Stack{
			one(12, 900, hpet, perf.Frame{Object: "work", Symbol: "main"}),
			one(0, 50, perf.Frame{Object: "[kernel]", Symbol: "default_idle", Kernel: true}),
			one(os.Getpid(), 30, perf.Frame{Object: "cswatch", Symbol: "main.main"}),
		},
	}, nil
}

func (s *madeSession) Close()                 { s.closed = true }
func (s *madeSession) Ended() <-chan struct{} { return s.ended }

// madeProfile is a run of cswatch bench profile over such a machine.
type madeProfile struct {
	session *madeSession
	refuse  error
	clocks  []string // the clocksource at each look, the last one also later
	config  perf.Config
}

func (m *madeProfile) profiler() profiler {
	if m.session == nil {
		m.session = &madeSession{}
	}
	return profiler{
		open: func(c perf.Config) (profileSession, error) {
			m.config = c
			if m.refuse != nil {
				return nil, m.refuse
			}
			return m.session, nil
		},
		sight: func() perf.Sight { return perf.Sight{} },
		current: func() string {
			if len(m.clocks) == 0 {
				return "tsc"
			}
			now := m.clocks[0]
			if len(m.clocks) > 1 {
				m.clocks = m.clocks[1:]
			}
			return now
		},
	}
}

// run runs the command with its flags set by set, and returns its exit code.
func (m *madeProfile) run(ctx context.Context, t *testing.T, set func(*benchProfileFlags)) (code int, doc report.ProfileBench, errs string) {
	t.Helper()
	var out, stderr bytes.Buffer
	env := newEnv(strings.NewReader(""), &out, &stderr)
	f := benchProfileFlags{
		format: newChoice("json"), event: newChoice(autoEvent, "cycles", "bus-cycles", "cpu-clock"), frequency: 997, top: 20,
		duration: time.Millisecond, profiler: m.profiler(),
		snapshot: func() *machine.Snapshot { return &machine.Snapshot{CPU: machine.CPU{Model: "Made CPU"}} },
	}
	set(&f)
	code = exitCode(env, newBenchProfileCommand(env), f.run(ctx, env))
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
	}
	return code, doc, stderr.String()
}

func TestAProfileLeavesIdleCPUsAndThisProgramOut(t *testing.T) {
	m := madeProfile{}
	code, doc, errs := m.run(t.Context(), t, func(*benchProfileFlags) {})
	if code != ExitOK || errs != "" || doc.Ended != report.BenchDone || !doc.Inputs.All || doc.CPUModel != "Made CPU" {
		t.Errorf("code %d, %q, ended %q, inputs %+v", code, errs, doc.Ended, doc.Inputs)
	}
	if doc.Samples != 900 || doc.Idle != 50 || doc.Own != 30 || doc.Reading.Hot != machine.Yes {
		t.Errorf("%d samples, %d idle, %d of this program, hot %s", doc.Samples, doc.Idle, doc.Own, doc.Reading.Hot)
	}
	if !m.session.started || !m.session.stopped || !m.session.closed || !m.config.Target.All {
		t.Errorf("session %+v, config %+v", m.session, m.config)
	}
}

func TestWhyAProfileEndedIsSaid(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	forever := func(f *benchProfileFlags) { f.duration = time.Hour; f.pids = []int{12} }
	for _, c := range []struct {
		name string
		ctx  context.Context
		m    madeProfile
		set  func(*benchProfileFlags)
		code int
		want string
	}{
		{"the time is over", t.Context(), madeProfile{}, func(*benchProfileFlags) {}, ExitOK, report.BenchDone},
		{"the processes have ended", t.Context(), madeProfile{session: &madeSession{ended: ended}}, forever, ExitOK, report.ProfileProcesses},
		{"the user ends it", stopped, madeProfile{}, forever, ExitOK, report.BenchSignal},
		{"the clocksource changed", t.Context(), madeProfile{clocks: []string{"tsc", "hpet"}}, func(*benchProfileFlags) {}, ExitClockChanged, report.BenchChanged},
	} {
		code, doc, errs := c.m.run(c.ctx, t, c.set)
		if code != c.code || doc.Ended != c.want || errs != "" {
			t.Errorf("%s: code %d, ended %q, %q; want code %d, %q", c.name, code, doc.Ended, errs, c.code, c.want)
		}
	}
}

func TestARefusedProfileSaysWhatAllowsIt(t *testing.T) {
	refused := &perf.Refused{
		Target: perf.Target{All: true}, Attempts: []perf.Attempt{{Event: perf.Cycles, Why: "it is not permitted"}},
		Restrictions: []perf.Restriction{{ID: "perf-event-paranoid", Why: "it is 2", HowToAllow: "setcap cap_perfmon+ep PROGRAM"}},
	}
	m := madeProfile{refuse: refused}
	code, doc, errs := m.run(t.Context(), t, func(*benchProfileFlags) {})
	path, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	for _, want := range []string{"profile all processes: nothing could be sampled: cycles: it is not permitted", "perf-event-paranoid: it is 2; to allow it, setcap cap_perfmon+ep " + shellWord(path)} {
		if !strings.Contains(errs, want) {
			t.Errorf("%q, want %q in it", errs, want)
		}
	}
	if code != ExitFailed || doc.Schema != "" {
		t.Errorf("code %d, document %+v", code, doc)
	}
	m = madeProfile{session: &madeSession{fail: errors.New("start a profile: no memory")}}
	if code, _, errs := m.run(t.Context(), t, func(*benchProfileFlags) {}); code != ExitFailed || !strings.Contains(errs, "no memory") || !m.session.closed {
		t.Errorf("code %d, %q, closed %v", code, errs, m.session.closed)
	}
}

func TestAnEventThatIsAskedForIsTriedFirst(t *testing.T) {
	for asked, want := range map[string][]perf.Event{
		autoEvent:    nil,
		"cycles":     {perf.Cycles, perf.BusCycles, perf.CPUClock, perf.TaskClock},
		"bus-cycles": {perf.BusCycles, perf.Cycles, perf.CPUClock, perf.TaskClock},
		"cpu-clock":  {perf.CPUClock, perf.TaskClock},
	} {
		m := madeProfile{}
		code, doc, errs := m.run(t.Context(), t, func(f *benchProfileFlags) {
			if err := f.event.Set(asked); err != nil {
				t.Fatal(err)
			}
			f.frequency, f.perCPU, f.top, f.pids = 99, true, 3, []int{3, 12}
		})
		in := doc.Inputs
		if code != 0 || errs != "" || !slices.Equal(m.config.Events, want) || m.config.Frequency != 99 || !slices.Equal(m.config.Target.PIDs, []int{3, 12}) || m.config.Chains {
			t.Errorf("%s: code %d, %q, config %+v, want the events %v", asked, code, errs, m.config, want)
		}
		if in.Event != asked || in.Frequency != 99 || !in.PerCPU || in.Top != 3 || in.All || !slices.Equal(in.PIDs, []int{3, 12}) || in.Duration != 0.001 {
			t.Errorf("%s: inputs %+v", asked, in)
		}
	}
}

func TestFoldedStacksGoToAFileAndComeFromCallChains(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stacks")
	m := madeProfile{}
	code, doc, errs := m.run(t.Context(), t, func(f *benchProfileFlags) { f.folded = path })
	got, err := os.ReadFile(path)
	if code != 0 || errs != "" || err != nil || string(got) != "work;main;read_hpet_[k] 900\n" {
		t.Errorf("code %d, %q, %v, file %q", code, errs, err, got)
	}
	if !m.config.Chains || !doc.Inputs.Chains || doc.Inputs.Folded != path {
		t.Errorf("chains %v, inputs %+v", m.config.Chains, doc.Inputs)
	}
	m = madeProfile{}
	if code, doc, errs := m.run(t.Context(), t, func(f *benchProfileFlags) { f.folded = filepath.Join(path, "no", "folder") }); code != ExitFailed || doc.Schema == "" || !strings.Contains(errs, "folded stacks") {
		t.Errorf("a file that cannot be written: code %d, %q, schema %q", code, errs, doc.Schema)
	}
}

func TestAWrongProfileIsRefusedBeforeAnythingIsOpened(t *testing.T) {
	for _, c := range []struct {
		set  func(*benchProfileFlags)
		want string
	}{
		{func(f *benchProfileFlags) { f.pids, f.all = []int{3}, true }, "--all and --pid: want one of the two"},
		{func(f *benchProfileFlags) { f.pids, f.command = []int{3}, []string{"ls"} }, "--pid and a command: want one of the two"},
		{func(f *benchProfileFlags) { f.pids = []int{3, 3} }, "process 3 is named twice"},
		{func(f *benchProfileFlags) { f.pids = []int{0} }, "want a process ID from 1 on"},
		{func(f *benchProfileFlags) { f.duration = -1 }, "--duration -1ns"},
		{func(f *benchProfileFlags) { f.duration = 48 * time.Hour }, "up to 24h0m0s"},
		{func(f *benchProfileFlags) { f.frequency = 0 }, "--frequency 0: want 1 or more"},
		{func(f *benchProfileFlags) { f.folded = "-" }, "--folded -: want a file"},
	} {
		var m madeProfile
		if code, _, errs := m.run(t.Context(), t, c.set); code != ExitUsage || !strings.Contains(errs, c.want) || m.session.started {
			t.Errorf("want %q: code %d, %q", c.want, code, errs)
		}
	}
}

func TestAProfileBesideOtherWorkNeverKeepsItFromBeingDone(t *testing.T) {
	plan := profilePlan{inputs: report.ProfileInputs{Event: autoEvent, Frequency: 997}, own: true}
	done := 0
	m := madeProfile{}
	doc := m.profiler().beside(plan, func() {
		done++
		if !m.session.started || m.session.stopped {
			t.Errorf("at work: started %v, stopped %v", m.session.started, m.session.stopped)
		}
	})
	if done != 1 || doc.Ended != report.BenchDone || doc.Samples != 930 || doc.Own != 0 || !m.session.closed {
		t.Errorf("done %d, ended %q, %d samples, %d of this program", done, doc.Ended, doc.Samples, doc.Own)
	}
	m = madeProfile{refuse: &perf.Refused{Attempts: []perf.Attempt{{Event: perf.Cycles, Why: "it is not permitted"}}}}
	doc = m.profiler().beside(plan, func() { done++ })
	if done != 2 || doc.Ended != report.BenchFailed || doc.Why != "nothing could be sampled: cycles: it is not permitted" || doc.Reading.Hot != machine.Unknown {
		t.Errorf("refused: done %d, ended %q, why %q, hot %s", done, doc.Ended, doc.Why, doc.Reading.Hot)
	}
	m = madeProfile{}
	func() {
		defer func() { recover() }()
		m.profiler().beside(plan, func() { panic("work") })
	}()
	if !m.session.closed {
		t.Error("after a panic the profile goes on")
	}
}

func TestAClockBenchmarkCanHaveAProfile(t *testing.T) {
	for _, c := range []struct {
		name     string
		asked    bool
		profile  madeProfile
		ended    string
		reported bool
	}{
		{"asked for", true, madeProfile{}, report.BenchDone, true},
		{"not permitted", true, madeProfile{refuse: &perf.Refused{}}, report.BenchFailed, true},
		{"not asked for", false, madeProfile{}, "", false},
	} {
		m := madeBench{current: "tsc", risk: machine.No}
		code, doc, errs := m.run(t, func(f *benchClockFlags) { f.profile, f.profiler = c.asked, c.profile.profiler() })
		if code != ExitOK || errs != "" || m.measured != 1 || doc.Inputs.Profile != c.asked || len(doc.Runs) != 1 {
			t.Fatalf("%s: code %d, %q, measured %d times, inputs %+v, runs %+v", c.name, code, errs, m.measured, doc.Inputs, doc.Runs)
		}
		got := doc.Runs[0].Profile
		if (got != nil) != c.reported || c.reported && (got.Ended != c.ended || got.Inputs.All || got.Schema == "") {
			t.Errorf("%s: profile %+v", c.name, got)
		}
	}
	m := madeBench{}
	if code, _, errs := m.run(t, func(f *benchClockFlags) { f.profile, f.format = true, newChoice("csv", "text") }); code != ExitUsage || !strings.Contains(errs, "--format csv has no place for it") || m.measured > 0 {
		t.Errorf("as CSV: code %d, %q, measured %d times", code, errs, m.measured)
	}
}

func TestWordsAreQuotedForAShellWhereTheyMustBe(t *testing.T) {
	for word, want := range map[string]string{"/usr/bin/cswatch": "/usr/bin/cswatch", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'"} {
		if got := shellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// The program itself runs here, since a command is held in a process of its own.
func TestWhatBecomesOfTheCommandIsReported(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell to profile")
	}
	for _, c := range []struct {
		name  string
		args  []string
		ended string
		want  report.ProfiledCommand
	}{
		{"it ends", []string{"--", "sh", "-c", "echo its output; exit 4"}, report.ProfileCommand, report.ProfiledCommand{ExitCode: 4}},
		{"a signal ends it", []string{"--", "sh", "-c", "echo its output; kill -9 $$"}, report.ProfileCommand, report.ProfiledCommand{ExitCode: -1, Signal: "killed"}},
		{"the time is over", []string{"--duration", "1s", "--", "sh", "-c", "echo its output; exec sleep 600"}, report.BenchDone, report.ProfiledCommand{ExitCode: -1, Signal: "terminated", Stopped: true}},
	} {
		cmd := exec.Command("cswatch", append([]string{"bench", "profile", "--format", "json"}, c.args...)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Skipf("nothing may be sampled here: %v: %s", err, errs.String())
		}
		var doc report.ProfileBench
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%s: %v in\n%s", c.name, err, out.String())
		}
		got := doc.Command
		if got == nil || got.PID == 0 || got.Seconds <= 0 {
			t.Fatalf("%s: the command is %+v", c.name, got)
		}
		c.want.PID, c.want.Seconds = got.PID, got.Seconds
		if *got != c.want || doc.Ended != c.ended || !slices.Equal(doc.Inputs.PIDs, []int{got.PID}) || errs.String() != "its output\n" {
			t.Errorf("%s: ended %q, command %+v, want %+v; standard error %q; inputs %+v", c.name, doc.Ended, *got, c.want, errs.String(), doc.Inputs)
		}
	}
}
