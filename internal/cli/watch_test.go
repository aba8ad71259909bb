package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// pretend is a machine with an HPET whose time moves by what is read and slept.
type pretend struct {
	now   clocksource.Nanos
	ticks int
	delay func(tick int) clocksource.Nanos    // of a read-back
	stop  func(ctx context.Context, tick int) // called before each tick
	back  clocksource.Cycles                  // by how many cycles CPU 1 is behind
	busy  bool                                // the thread loses its CPU in each slow read-back
	lost  int64                               // how often it did

	current string         // the kernel's clocksource; "" is one that is not known
	risk    machine.Answer // whether latency can cost the machine its TSC; "" is unknown
	log     *loggedNews    // what the kernel logs; nil for a log that cannot be followed
}

func (p *pretend) Now() clocksource.Nanos   { return p.now }
func (p *pretend) Slept() clocksource.Nanos { return 0 }
func (p *pretend) CPUs() ([]int, error)     { return []int{0, 1}, nil }
func (p *pretend) On(_ int, f func()) error { f(); return nil }
func (p *pretend) Usage(int) hw.Usage       { return hw.Usage{Counted: true, Involuntary: p.lost} }
func (p *pretend) Close() error             { return nil }

func (p *pretend) Sleep(ctx context.Context, until clocksource.Nanos) error {
	p.now = max(p.now, until)
	p.ticks++
	if p.stop != nil {
		p.stop(ctx, p.ticks)
	}
	return ctx.Err()
}

func (p *pretend) Exchange(control, remote int, _ clocksource.Nanos) (hw.Exchange, error) {
	e := hw.Exchange{ControlCPU: control, RemoteCPU: remote, Completed: true}
	for i := range clocksource.Cycles(5) {
		e.Control, e.Remote = append(e.Control, 1000*i+5000), append(e.Remote, 1000*i+5500-p.back)
	}
	return e, nil
}

func (p *pretend) ReadRemote(int, int) (before, there, after clocksource.Cycles, err error) {
	at := clocksource.Hz(2_500_000_000).CyclesIn(p.now)
	return at, at + 500 - p.back, at + 1000, nil
}

func (p *pretend) Reference() hw.Counter {
	return hw.Counter{Name: hw.HPET, Hz: 25_000_000, Mask: clocksource.Mask32}
}

func (p *pretend) ReadBack(rb *hw.ReadBack) error {
	ref := func() clocksource.Cycles {
		return clocksource.Hz(25_000_000).CyclesIn(p.now) & clocksource.Cycles(clocksource.Mask32)
	}
	delay := 2 * clocksource.Microsecond
	if p.delay != nil {
		delay = p.delay(p.ticks)
	}
	rb.Before, rb.Clock = ref(), clocksource.Hz(2_500_000_000).CyclesIn(p.now)
	if p.now += delay; p.busy && delay > 50_000 {
		p.lost++
	}
	rb.After, rb.Again = ref(), ref()
	return nil
}

// open opens the pretended machine.
func (p *pretend) open(ctx context.Context, o live.Options) (*live.Session, error) {
	o.Surroundings.Clocksource = p.current // not that of the machine that runs the test
	return live.OpenOn(ctx, o, live.Hardware{
		Counter: "tsc",
		Probe: func() []hw.Availability {
			return []hw.Availability{
				{Counter: hw.Counter{Name: "tsc", Mask: clocksource.Mask64}, Can: machine.Yes, Needs: "nothing"},
				{Counter: p.Reference(), Can: machine.Yes, Needs: "nothing"},
				{Counter: hw.Counter{Name: hw.ACPIPM, Hz: hw.PMTimerHz, Mask: clocksource.Mask24}, Can: machine.No, Why: "no port is named", Remedy: "ask the firmware"},
			}
		},
		Frequency: func(context.Context) (hw.Frequency, error) {
			return hw.Frequency{Hz: 2_500_000_000, From: "script"}, nil
		},
		Reader: func(string) (live.ReadCloser, error) { return p, nil },
		World:  p, Close: func() error { return nil },
	})
}

// watchRun runs the command on a pretended machine.
func watchRun(t *testing.T, p *pretend, terminal bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := newEnv(strings.NewReader(""), &out, &errs)
	variables := map[string]string{"LC_ALL": "C.UTF-8", "TERM": "xterm"}
	for len(args) > 0 && strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "-") {
		name, value, _ := strings.Cut(args[0], "=")
		variables[name], args = value, args[1:]
	}
	env.Getenv = func(name string) string { return variables[name] }
	env.IsTerminal = func(io.Writer) bool { return terminal }
	cmd := newWatchCommand(env)
	flags := &watchFlags{format: newChoice("auto", "text", "jsonl")}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	f := cmd.Flags()
	flags.era, _ = f.GetString("era")
	flags.retries, _ = f.GetInt("retries")
	flags.reference, _ = f.GetString("reference")
	flags.record, _ = f.GetString("record")
	flags.duration, _ = f.GetDuration("duration")
	flags.acceptLoss, _ = f.GetBool(acceptLoss)
	flags.risk = func(*machine.Snapshot) guard { return guard{cmp.Or(p.risk, machine.Unknown), "the test says so"} }
	flags.snapshot = func() *machine.Snapshot {
		s := snapshotHere()
		s.Clocksource.Available, s.Hypervisor.Name = []string{"tsc", "hpet", "acpi_pm"}, ""
		return s
	}
	flags.follow = func() (kernelNews, error) {
		if p.log == nil {
			return nil, errors.New("follow the kernel's log: run as root")
		}
		return p.log, nil
	}
	if err := flags.format.Set(f.Lookup("format").Value.String()); err != nil {
		t.Fatal(err)
	}
	code = exitCode(env, cmd, runWatch(context.Background(), env, flags, p.open))
	return code, out.String(), errs.String()
}

// slowAt makes all reads of a tick slow, and stops a watch some ticks later.
func slowAt(tick int) *pretend {
	return &pretend{delay: func(at int) clocksource.Nanos {
		if at == tick {
			return 60_680
		}
		return 2_000
	}}
}

func TestAWatchThatCondemnsEndsWithCode3AndTheKernelsLine(t *testing.T) {
	const line = "cswatch(live): clocksource: timekeeping watchdog on CPU0: hpet read-back delay of 60680ns, attempt 4, marking unstable\n" +
		"cswatch(live): tsc: Marking TSC unstable due to clocksource watchdog\n" +
		"cswatch(live): TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.\n" +
		"cswatch(live): clocksource: Switched to clocksource hpet\n"
	code, out, errs := watchRun(t, slowAt(5), false, "--era", "5.15", "--format", "text")
	if code != ExitCondemned || !strings.Contains(out, line) || !strings.Contains(out, "CONDEMNED: era E5") {
		t.Errorf("text: code %d\n%s%s", code, out, errs)
	}
	code, out, errs = watchRun(t, slowAt(5), false, "--era", "E5")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != ExitCondemned || errs != line || len(lines) != 6 {
		t.Errorf("JSON Lines: code %d, %d lines\n%s%s", code, len(lines), out, errs)
	}
	for i, l := range lines {
		var doc struct {
			Schema  string
			Tick    int
			Kind    watchdog.Kind
			Summary *struct{ Ended string }
		}
		if err := json.Unmarshal([]byte(l), &doc); err != nil || doc.Schema != "cswatch.tick/v1" {
			t.Errorf("line %d: %v in %s", i+1, err, l)
		}
		if last := i == 5; last != (doc.Summary != nil) || !last && doc.Tick != i+1 || last && doc.Summary.Ended != "condemned" {
			t.Errorf("line %d is %s", i+1, l)
		}
	}
	if _, out, _ := watchRun(t, slowAt(5), false, "CLICOLOR_FORCE=1", "--era", "E5"); strings.Contains(out, "\x1b") {
		t.Error("JSON has colours")
	}
}

func TestTheCheckAcrossCPUsAfterAVerdictIsShown(t *testing.T) {
	condemning := func(back clocksource.Cycles) *pretend {
		p := slowAt(3)
		p.back, p.current = back, "tsc"
		return p
	}
	const checking = "cswatch(live): TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.\n" +
		"cswatch(live): clocksource: Checking clocksource tsc synchronization from CPU 0 to CPUs 1.\n" +
		"cswatch(live): clocksource: Switched to clocksource hpet\n"
	code, out, errs := watchRun(t, condemning(0), false, "--era", "E5")
	if code != ExitCondemned || !strings.Contains(errs, checking) || !strings.Contains(out, `"verification":{"clock":0,"cpu":0,"started":true,"checked":[1],"ahead":[],"behind":[],"min_ns":399,"max_ns":399,"not_answered":[]}`) {
		t.Errorf("CPUs that agree: code %d\n%s%s", code, out, errs)
	}
	code, out, errs = watchRun(t, condemning(5000), false, "--era", "E5")
	if code != ExitCondemned || !strings.Contains(errs, "cswatch(live): clocksource:         CPUs 1 behind CPU 0 for clocksource tsc.\n") || !strings.Contains(out, `"behind":[1]`) {
		t.Errorf("a CPU that is behind: code %d\n%s%s", code, out, errs)
	}
}

func TestMoreRetriesForgive(t *testing.T) {
	p := slowAt(3)
	slow := p.delay
	n := 0
	p.delay = func(tick int) clocksource.Nanos {
		if d := slow(tick); d < 50_000 || n >= 8 {
			return 2_000
		}
		n++
		return 60_680
	}
	p.risk = machine.No // eleven attempts over the HPET harm nothing
	stopAfter(t, p, 6)
	code, out, errs := watchRun(t, p, false, "--era", "E5", "--retries", "10", "--format", "text")
	if code != ExitOK || !strings.Contains(out, "8 of 14 above 50 µs") || !strings.Contains(out, "5 comparisons, all within the limits") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
}

// stopAfter sends the process a signal as a user would, and has the pretended
// machine wait until the watch has heard it.
func stopAfter(t *testing.T, p *pretend, ticks int) {
	t.Helper()
	p.stop = func(ctx context.Context, tick int) {
		if tick <= ticks {
			return
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Signal(os.Interrupt)
		}
		if err != nil {
			t.Error(err)
			return
		}
		<-ctx.Done()
	}
}

func TestASignalEndsAWatchWithASummaryAndAWholeRecording(t *testing.T) {
	name := filepath.Join(t.TempDir(), "night.trace")
	p := &pretend{}
	stopAfter(t, p, 8)
	code, out, errs := watchRun(t, p, false, "--era", "6.11", "--record", name)
	if code != ExitOK || !strings.Contains(out, `"ended":"signal"`) {
		t.Fatalf("code %d\n%s%s", code, out, errs)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	report, err := trace.Verify(f)
	if err != nil || !report.Ended || report.Ticks < 8 || report.Header.Source != trace.Live {
		t.Errorf("recording %+v, error %v", report, err)
	}
	if code, _, errs := watchRun(t, &pretend{}, false, "--record", name); code != ExitUsage || !strings.Contains(errs, "exists") {
		t.Errorf("a recording was overwritten: code %d, %s", code, errs)
	}
}

func TestCPUsThatDisagreeEndWithCode3InEveryEra(t *testing.T) {
	for _, era := range []string{"E4", "E5", "E12"} {
		p := &pretend{back: 700}
		stopAfter(t, p, 5)
		code, out, errs := watchRun(t, p, false, "--era", era, "--format", "text")
		if code != ExitCondemned || !strings.Contains(out, "BAD: the tsc of two CPUs disagree") {
			t.Errorf("%s: code %d\n%s%s", era, code, out, errs)
		}
	}
}

func TestANamedReferenceThatIsMissingIsNamedAndTheRestIsChecked(t *testing.T) {
	p := &pretend{}
	stopAfter(t, p, 4)
	code, out, errs := watchRun(t, p, false, "--era", "E12", "--reference", "acpi_pm")
	const note = "cswatch: acpi_pm cannot be used here: no port is named; ask the firmware; tsc is compared with hpet instead, and the CPUs with each other\n"
	if code != ExitOK || errs != note {
		t.Errorf("code %d, said %q, want %q", code, errs, note)
	}
	for _, want := range []string{`"inputs":{"era":"E12","reference":"acpi_pm"`, `"passed_over":[{"name":"acpi_pm","reason":"no port is named","remedy":"ask the firmware"}]`, `"exchange":{`} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %s\n%s", want, out)
		}
	}

	// A recording of something else would be of no use.
	name := filepath.Join(t.TempDir(), "night.trace")
	code, _, errs = watchRun(t, &pretend{}, false, "--era", "E12", "--reference", "acpi_pm", "--record", name)
	if _, err := os.Stat(name); code != ExitFailed || !strings.Contains(errs, "acpi_pm cannot be used here: no port is named; ask the firmware\n") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a recording: code %d, %s, the file: %v", code, errs, err)
	}
}

func TestTheFormOfAWatchFollowsTheTerminal(t *testing.T) {
	cases := []struct {
		name     string
		terminal bool
		args     []string
		screen   bool
		json     bool
	}{
		{"a pipe gets JSON Lines", false, nil, false, true},
		{"a terminal a table", true, nil, true, false},
		{"a dumb terminal lines", true, []string{"TERM=dumb"}, false, false},
		{"and so does one without colour", true, []string{"NO_COLOR=1"}, false, false},
		{"JSON that was asked for is JSON", true, []string{"--format", "jsonl"}, false, true},
	}
	for _, c := range cases {
		code, out, errs := watchRun(t, slowAt(3), c.terminal, append(c.args, "--era", "E5")...)
		if code != ExitCondemned || strings.Contains(out, "\x1b[J") != c.screen || strings.HasPrefix(out, "{") != c.json {
			t.Errorf("%s: code %d\n%q\n%s", c.name, code, out, errs)
		}
	}
}

func TestTheEraOfAWatch(t *testing.T) {
	debian := &machine.Snapshot{Kernel: machine.Kernel{Release: "6.1.0-57-amd64", Distro: "debian"}}
	cases := []struct {
		name    string
		era     string
		retries int
		here    *machine.Snapshot
		want    watchdog.Era
		note    string
		err     string
	}{
		{"an era by its id", "e9", -1, nil, watchdog.E9, "", ""},
		{"a release", "5.15", -1, nil, watchdog.E5, "", ""},
		{"retries where there is no parameter", "E12", 5, nil, watchdog.E12, "--retries does not count for E12", ""},
		{"nonsense", "fast", -1, nil, "", "", "want an era"},
		{"the running kernel: the newest that it may have", "", -1, debian, watchdog.LTS61192, "--era names another", ""},
		{"a kernel that does not tell", "", -1, &machine.Snapshot{}, watchdog.E12, "could not be told", ""},
	}
	for _, c := range cases {
		f := watchFlags{era: c.era, retries: c.retries}
		got, err := f.chooseEra(c.here)
		if c.err != "" {
			if usage := (*usageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v", c.name, err)
			}
			continue
		}
		if err != nil || got.profile.Era != c.want || got.why == "" {
			t.Errorf("%s: era %s because %q, error %v; want %s", c.name, got.profile.Era, got.why, err, c.want)
		}
		if notes := strings.Join(got.notes, "\n"); !strings.Contains(notes, c.note) || (c.note == "") != (notes == "") {
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.note)
		}
	}
}
