package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/machine"
)

// pretendSnapshot is a 5.15.0 whose TSC is watched, as it says of itself.
func pretendSnapshot() *machine.Snapshot {
	return &machine.Snapshot{
		Schema: machine.Schema, Live: true, Arch: "x86_64", Host: "pretended",
		Kernel:      machine.Kernel{Release: "5.15.0", Banner: "Linux version 5.15.0 (a@b) #1 SMP"},
		Clocksource: machine.Clocksource{Current: "tsc", Available: []string{"tsc", "hpet"}, Parameters: map[string]string{"max_cswd_read_retries": "1", "verify_n_cpus": "8"}},
		CPU:         machine.CPU{Flags: []string{"tsc", "constant_tsc", "nonstop_tsc", "tsc_adjust"}, Nodes: 1, Packages: 1},
		Hypervisor:  machine.Hypervisor{Guest: machine.No}, Time: machine.Time{Synchronised: machine.Yes}, CommandLine: "ro",
	}
}

// doctorRun runs the command on a pretended machine. The output is text unless the arguments say otherwise.
func doctorRun(t *testing.T, here machineHere, terminal bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := newEnv(strings.NewReader(""), &out, &errs)
	variables := map[string]string{"LC_ALL": "C.UTF-8", "TERM": "xterm", "CSWATCH_CONFIG": os.DevNull, "NO_COLOR": "1"}
	if len(args) > 0 && args[0] == "TERM=dumb" {
		variables["TERM"], args = "dumb", args[1:]
	}
	env.Getenv = func(name string) string { return variables[name] }
	env.IsTerminal = func(w io.Writer) bool { return terminal && w == env.Stderr }
	cmd, flags := newDoctorCommandOf(env)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	cmd.SetContext(context.Background())
	code = exitCode(env, cmd, runDoctor(cmd, env, flags, here))
	return code, out.String(), errs.String()
}

// here is a pretended machine as doctor uses it.
func (p *pretend) here() machineHere {
	return machineHere{
		gather: func(context.Context) (doctor.Evidence, error) {
			return doctor.Evidence{Snapshot: pretendSnapshot(), Inputs: doctor.Inputs{Live: true}}, nil
		},
		snapshot: pretendSnapshot, open: p.open,
	}
}

// nowhere is a machine that must not be looked at.
func nowhere(t *testing.T) machineHere {
	return machineHere{
		gather: func(context.Context) (doctor.Evidence, error) {
			t.Error("the machine was examined")
			return doctor.Evidence{}, nil
		},
		snapshot: func() *machine.Snapshot { t.Error("a snapshot was taken"); return pretendSnapshot() },
		open: func(context.Context, live.Options) (*live.Session, error) {
			t.Error("the counters were opened")
			return nil, errors.New("no")
		},
	}
}

// quietLog is a log without any accusation.
func quietLog(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "dmesg.txt")
	if err := os.WriteFile(name, []byte("[    1.640000] clocksource: Switched to clocksource tsc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDoctorWithLiveCounters(t *testing.T) {
	slow := func(busy bool) *pretend {
		return &pretend{busy: busy, delay: func(tick int) clocksource.Nanos {
			if tick == 3 {
				return 60_680
			}
			return 2_000
		}}
	}
	broken := (&pretend{}).here()
	broken.open = func(context.Context, live.Options) (*live.Session, error) {
		return nil, errors.New("open /dev/hpet: no luck")
	}
	for _, c := range []struct {
		name string
		here machineHere
		code int
		says []string
		not  []string
	}{
		{"a healthy machine", (&pretend{}).here(), 0,
			[]string{"OK: tsc is in use", "live for 2.0 s", "live-watch: the rules of era E5", "cswatch(live): era E5: of this kernel", "reference hpet, independent of tsc"}, []string{"skew-now"}},
		{"CPUs that disagree", (&pretend{back: 700}).here(), 2,
			[]string{"CRITICAL: the TSC is not to be trusted, as measured now (tsc-offset-between-cpus)", "✗ tsc-offset-between-cpus: the tsc of two CPUs disagree now", "echo hpet > "}, []string{"stay-on-fallback"}},
		{"reads that are slow by themselves, with the retries that this kernel is set to", slow(false).here(), 1,
			[]string{"! slow-read-backs: read-backs of hpet are slow now: the rules of era E5 give the clock up at 1 of 5 checks", "2 late read-backs", "raise-read-retries"}, nil},
		{"the same while the thread lost its CPU", slow(true).here(), 0,
			[]string{"2 late read-backs, while the program lost its turn"}, []string{"slow-read-backs"}},
		{"counters that cannot be opened leave the rest of the verdict", broken, 0,
			[]string{"OK: tsc is in use", "evidence-unreadable: the live counters could not be watched", "no luck", "live-counters"}, []string{"live-watch"}},
	} {
		code, out, errs := doctorRun(t, c.here, false, "--live", "2s")
		if code != c.code || errs != "" {
			t.Errorf("%s: code %d, want %d; stderr %q\n%s", c.name, code, c.code, errs, out)
		}
		flat := strings.Join(strings.Fields(out), " ") // however the lines are broken
		for _, want := range c.says {
			if !strings.Contains(flat, want) {
				t.Errorf("%s: it does not say %q:\n%s", c.name, want, out)
			}
		}
		for _, bad := range c.not {
			if strings.Contains(out, bad) {
				t.Errorf("%s: it says %q:\n%s", c.name, bad, out)
			}
		}
	}
}

func TestALogAloneLeavesTheMachineAlone(t *testing.T) {
	if code, out, errs := doctorRun(t, nowhere(t), false, "--log", quietLog(t)); code != 0 || errs != "" {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
}

func TestALogAndLiveCountersAreJudgedTogether(t *testing.T) {
	here := (&pretend{back: 700}).here()
	here.gather = nowhere(t).gather
	code, out, errs := doctorRun(t, here, false, "--log", quietLog(t), "--live", "2s", "--format", "json")
	var d doctor.Diagnosis
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 2 || errs != "" {
		t.Fatalf("code %d, error %v\n%s%s", code, err, out, errs)
	}
	if d.Inputs.Live || d.Inputs.LiveSeconds != 2 || d.CurrentClock != "" || d.FinalClock != "tsc" || d.TSCVerdict != doctor.Bad || d.LogLines != 1 {
		t.Errorf("inputs %+v, current %q, final %q, verdict %s, %d lines", d.Inputs, d.CurrentClock, d.FinalClock, d.TSCVerdict, d.LogLines)
	}
	l := d.Live
	if l == nil || l.Era != "E5" || l.Retries != 1 || l.Ticks != 5 || l.Kernel != "5.15.0" || l.Kinds["agreed"] != 4 || l.Exchanges.Backwards == 0 || l.Ended != "duration" {
		t.Errorf("live %+v", l)
	}
}

func TestASignalEndsTheWatchAndNotTheAnswer(t *testing.T) {
	p := &pretend{}
	stopAfter(t, p, 3)
	code, out, errs := doctorRun(t, p.here(), false, "--live", "1h")
	if code != 0 || errs != "" || !strings.Contains(out, "OK: tsc is in use") || !strings.Contains(strings.Join(strings.Fields(out), " "), "it was stopped before its end") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	p = &pretend{}
	stopAfter(t, p, 0)
	code, out, errs = doctorRun(t, p.here(), false, "--live", "1h")
	if code != 0 || errs != "" || !strings.Contains(out, "interrupted before the first check") {
		t.Errorf("before the first check: code %d\n%s%s", code, out, errs)
	}
}

func TestProgressIsForTerminalsAlone(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		args     []string
		want     bool
	}{
		{"a terminal", true, nil, true},
		{"a terminal that cannot draw", true, []string{"TERM=dumb"}, false},
		{"a pipe", false, nil, false},
	} {
		_, out, errs := doctorRun(t, (&pretend{}).here(), c.terminal, append(slices.Clone(c.args), "--live", "1s")...)
		want := ""
		if c.want {
			const line = "\rcswatch: watching the live counters by the rules of E5: "
			want = line + "  0 % " + line + " 33 % " + line + " 66 % " + line + "100 % " + "\r\x1b[K"
		}
		if errs != want || strings.Contains(out, "\r") {
			t.Errorf("%s: stderr is %q, want %q", c.name, errs, want)
		}
	}
}

func TestWhatLiveCannotBe(t *testing.T) {
	for _, c := range []struct {
		says string
		args []string
	}{
		{"want 1s or more", []string{"--live", "10ms"}},
		{"want 1s or more", []string{"--live", "0"}},
		{"want 1s or more", []string{"--live=-5s"}},
		{"at most one --root", []string{"--live", "5s", "--root", "a", "--root", "b"}},
	} {
		if code, out, errs := doctorRun(t, nowhere(t), false, c.args...); code != 3 || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("%q: code %d\n%s%s", c.args, code, out, errs)
		}
	}
}

func TestALiveWatchSaysWhichEraItRanAndWhatElseItMayBe(t *testing.T) {
	here := (&pretend{}).here()
	here.gather = func(context.Context) (doctor.Evidence, error) {
		s := pretendSnapshot()
		s.Kernel, s.Clocksource.Parameters = machine.Kernel{Release: "6.1.0-57-amd64", Distro: "debian"}, nil
		return doctor.Evidence{Snapshot: s, Inputs: doctor.Inputs{Live: true}}, nil
	}
	_, out, errs := doctorRun(t, here, false, "--live", "1s", "--format", "json")
	var d doctor.Diagnosis
	if err := json.Unmarshal([]byte(out), &d); err != nil || d.Live == nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	if d.Live.Era != "LTS-6.1.192" || !strings.Contains(d.Live.EraWhy, "the newest, LTS-6.1.192, is run") || strings.Contains(d.Live.EraWhy, "--era") || errs != "" {
		t.Errorf("era %s: %s; stderr %q", d.Live.Era, d.Live.EraWhy, errs)
	}
}

func TestAKernelThatIsSetToManyRetriesIsNotCopiedWhereThatIsAnyRisk(t *testing.T) {
	here := (&pretend{}).here()
	here.gather = func(context.Context) (doctor.Evidence, error) {
		s := pretendSnapshot()
		s.Kernel = machine.Kernel{Release: "5.15.0-91-generic", Version: "5.15.0"}
		s.Clocksource.Parameters = map[string]string{"max_cswd_read_retries": "50", "verify_n_cpus": "8"}
		return doctor.Evidence{Snapshot: s, Inputs: doctor.Inputs{Live: true}}, nil
	}
	_, out, errs := doctorRun(t, here, false, "--live", "1s", "--format", "json")
	if !strings.Contains(out, "51 attempts in a row over hpet") || !strings.Contains(out, "sudo cswatch watch --retries 7 --duration 5s") {
		t.Errorf("want the reason why the live counters were not watched:\n%s%s", out, errs)
	}
}
