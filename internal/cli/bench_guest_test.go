package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/bench"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/report"
)

// benchInGuest runs a benchmark in a guest, and returns its exit code and its output.
func benchInGuest(t *testing.T, series string, words []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	config, kernel := guestKernel(t, series)
	r := bootUntilDone(t, config, qemu.Spec{
		Kernel: kernel, CPUs: 2, Append: words, Limit: 10 * time.Minute,
		Files: []qemu.File{{Guest: "/cswatch", Host: buildStatic(t), Perm: 0o755}},
		Plan:  guest.Plan{Window: 8 * time.Minute, Run: append([]string{"/cswatch"}, args...)},
	})
	if r.End.Reason != guest.EndProgram || r.End.Exit == nil || len(r.Troubles()) > 0 {
		t.Fatalf("it ended with %+v, troubles %q", r.End, r.Troubles())
	}
	return *r.End.Exit, r.Output("stdout"), r.Output("stderr")
}

// guestKernel returns the kernel of a series, and what boots it.
func guestKernel(t *testing.T, series string) (qemu.Config, string) {
	t.Helper()
	config := qemu.Config{}
	var err error
	if config.QEMU, err = config.FindQEMU(); err == nil {
		config.Guest, err = config.FindGuest(t.Context())
	}
	skipIfUnavailable(t, err)
	kernel, err := config.CachedKernel(series)
	skipIfUnavailable(t, err)
	return config, kernel
}

// How much a read of the TSC costs less is a matter of the emulator; that programs
// read it without the kernel, and the others by the kernel, is one of the kernel. It shows in prices that are
// taken one after the other, between which a busy host may change its pace: then another guest is asked.
func TestABenchmarkInAGuestMeasuresEachClocksourceAndGivesTheTSCBack(t *testing.T) {
	const tries = 5
	for try := 1; ; try++ {
		code, stdout, stderr := benchInGuest(t, "7", nil, "bench", "clock", "--switch", "--part", "costs", "--duration", "1s", "--format", "json")
		var d report.ClockBench
		if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != ExitOK {
			t.Fatalf("code %d, %v\n%s%s", code, err, stdout, stderr)
		}
		var under []string
		for _, r := range d.Runs {
			under = append(under, r.Clocksource)
		}
		want := []string{"tsc", "hpet", "acpi_pm"}
		if s := d.Switching; s == nil || !slices.Equal(s.Sources, want) || !slices.Equal(under, want) || !s.GivenBack || s.After != "tsc" || s.Condemned != "" || len(s.Ignored) > 0 {
			t.Fatalf("measured under %v, switching %+v", under, d.Switching)
		}
		var other []string
		for _, r := range d.Routes {
			if r.Clock == hw.Monotonic && (r.Clocksource == "tsc") != (r.Path == bench.ByVDSO) {
				other = append(other, fmt.Sprintf("under %s programs get the time by %s: %s", r.Clocksource, r.Path, r.Why))
			}
		}
		if len(other) == 0 {
			return
		}
		t.Logf("try %d: %s", try, strings.Join(other, "; "))
		if try == tries {
			t.Fatalf("so it was in %d guests", tries)
		}
	}
}

func TestABenchmarkInAGuestThatCouldLoseItsTSCIsRefused(t *testing.T) {
	code, stdout, stderr := benchInGuest(t, "5.10", nil, "bench", "clock", "--switch")
	if code != ExitFailed || stdout != "" || !strings.Contains(stderr, "latency can condemn the TSC of this machine") || !strings.Contains(stderr, "--"+acceptLoss) {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
}

// Every read of the HPET is late from the moment on at which the guest has booted, so that the
// kernel condemns the TSC at one of the next checks: during the run, if that has begun by then,
// and if the delays reach all attempts of a check, for which luck is needed on a busy machine.
func TestABenchmarkInAGuestUnderWhichTheTSCIsCondemnedSaysSo(t *testing.T) {
	if os.Getenv(longVariable) == "" {
		t.Skipf("takes minutes where luck is bad: set %s", longVariable)
	}
	guestKernel(t, "5.10") // or it is skipped
	program := buildStatic(t)
	const tries = 10
	for try := 1; try <= tries; try++ {
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("campaign-%d", try))
		cmd := exec.CommandContext(t.Context(), program, "trial", "run", dir, "--kernel", "5.10", "--cpus", "2", "--boots", "1", "--controls", "0", "--window", "60s",
			"--delay", "always 400us", "--seed", fmt.Sprint(try), "--run", "bench clock --switch --"+acceptLoss+" --part costs --duration 5s --format json")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		results, err := filepath.Glob(filepath.Join(dir, "trials", "*", "result.json"))
		if err != nil || len(results) != 1 {
			t.Fatalf("results %v, %v", results, err)
		}
		var r struct {
			Result struct {
				Exit *int `json:"exit"`
			} `json:"result"`
		}
		b, err := os.ReadFile(results[0])
		if err == nil {
			err = json.Unmarshal(b, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		output, err := os.ReadFile(filepath.Join(filepath.Dir(results[0]), "output.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Result.Exit == nil || *r.Result.Exit != ExitClockChanged {
			t.Logf("try %d: no condemnation during the run: exit %v", try, r.Result.Exit)
			continue
		}
		var d report.ClockBench
		if err := json.NewDecoder(strings.NewReader(string(output))).Decode(&d); err != nil {
			t.Fatalf("%v in\n%s", err, output)
		}
		if s := d.Switching; d.Ended != report.BenchCondemned || s == nil || s.GivenBack || s.From != "tsc" || s.After != "hpet" ||
			!strings.Contains(s.Condemned, "marking unstable") && !strings.Contains(s.Condemned, "Marking TSC unstable") ||
			!strings.Contains(string(output), "the kernel condemned its TSC under this run") {
			t.Errorf("ended %q, switching %+v\n%s", d.Ended, d.Switching, output)
		}
		return
	}
	t.Errorf("in %d tries the TSC was never condemned during the run", tries)
}

// guestKill is a line of the campaign of kills in internal/lease.
type guestKill struct {
	Whole   int64  `json:"whole_ns"`
	After   int64  `json:"after_ns"`
	Current string `json:"current"`
	Back    int64  `json:"back_ns"`
	Ended   bool   `json:"ended"`
}

func TestFiftyKilledSwitchingRunsInAGuestGiveTheTSCBack(t *testing.T) {
	if os.Getenv(longVariable) == "" {
		t.Skipf("takes minutes: set %s", longVariable)
	}
	config, kernel := guestKernel(t, "7")
	driver := filepath.Join(t.TempDir(), "lease.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", driver, "github.com/cswatch/cswatch/internal/lease")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the driver: %v\n%s", err, out)
	}
	const kills = 50
	r := bootUntilDone(t, config, qemu.Spec{
		Kernel: kernel, CPUs: 2, Limit: 30 * time.Minute,
		Files: []qemu.File{{Guest: "/cswatch", Host: buildStatic(t), Perm: 0o755}, {Guest: "/lease.test", Host: driver, Perm: 0o755}},
		Plan: guest.Plan{Window: 25 * time.Minute, Run: []string{"/lease.test", "-test.run", "KillARealProgram", "-test.v", "-test.timeout", "20m",
			"-kill", "/cswatch", fmt.Sprintf("-kills=%d", kills)}},
	})
	stdout := r.Output("stdout")
	var seen []guestKill
	var whole int64
	for line := range strings.SplitSeq(stdout, "\n") {
		var k guestKill
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &k) != nil {
			continue
		}
		if k.Whole > 0 {
			whole = k.Whole
			continue
		}
		seen = append(seen, k)
	}
	if len(seen) != kills || r.End.Exit == nil || *r.End.Exit != 0 {
		t.Fatalf("%d kills, end %+v\n%s%s", len(seen), r.End, stdout, r.Output("stderr"))
	}
	var switched, ended int
	var longest int64
	for _, k := range seen {
		if k.Current != "tsc" {
			switched++
		}
		if k.Ended {
			ended++
		}
		longest = max(longest, k.Back)
		if k.Back < 0 || k.Back > int64(2*time.Second) {
			t.Errorf("killed %.3f s after its start on %s: back after %.3f s", float64(k.After)/1e9, k.Current, float64(k.Back)/1e9)
		}
	}
	t.Logf("a run takes %.2f s; of %d kills %d came while another clocksource was current, %d after the end; the TSC was back after %.3f s at most",
		float64(whole)/1e9, kills, switched, ended, float64(longest)/1e9)
	if switched == 0 {
		t.Error("no kill came while another clocksource was current")
	}
}
