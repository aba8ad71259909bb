package cli

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/watchdog"
)

// longVariable, when set, makes the watches in guests last as long as their issue asks for.
const longVariable = "CSWATCH_TEST_LONG"

// How long a watch in a guest lasts, by the guest's clock.
const (
	guestWatch     = 8 * time.Second
	guestWatchLong = 20 * time.Second
)

// A guest has an HPET and an ACPI PM timer, which QEMU computes from the clock of
// its host, as it does the TSC: whatever this machine does, the three agree.
//
// What does not depend on luck: the emulated processor may be halted for
// seconds at any moment, which makes ticks late, reads slow and CPUs silent, and is no
// reason to condemn anything by the rules of 7.1. The guest runs on its HPET, so that the
// rate of the TSC is measured with a known error and is not the estimate of a kernel
// that was disturbed while it made it.
func TestAWatchInAGuestReadsItsRegisters(t *testing.T) {
	config, kernel := guestKernel(t, "7")
	duration := guestWatch
	if os.Getenv(longVariable) != "" {
		duration = guestWatchLong
	}
	program := buildStatic(t)
	for _, reference := range []string{hw.HPET, hw.ACPIPM} {
		t.Run(reference, func(t *testing.T) {
			t.Parallel()
			r := bootUntilDone(t, config, qemu.Spec{
				Kernel: kernel, Append: []string{"clocksource=hpet"}, Limit: 8 * time.Minute,
				Files: []qemu.File{{Guest: "/cswatch", Host: program, Perm: 0o755}},
				Plan: guest.Plan{
					Window: 5 * time.Minute,
					Run:    []string{"/cswatch", "watch", "--era", "7.1", "--reference", reference, "--duration", duration.String(), "--format", "jsonl"},
				},
			})
			stdout, stderr := r.Output("stdout"), r.Output("stderr")
			if r.End.Reason != guest.EndProgram || r.End.Exit == nil || *r.End.Exit != ExitOK || len(r.Troubles()) > 0 {
				t.Fatalf("it ended with %+v, troubles %q\n%s%s", r.End, r.Troubles(), stdout, stderr)
			}
			checkGuestWatch(t, stdout, reference, duration)
			if t.Failed() {
				t.Logf("%s%s", stdout, stderr)
			}
		})
	}
}

// guestTick is what the test reads of a line for a check.
type guestTick struct {
	Schema, Clocksource, Reference string
	Kind                           watchdog.Kind
	Check                          int
	Summary                        *guestSummary
}

// guestSummary is what it reads of the last line.
type guestSummary struct {
	Reference struct {
		Name, Independent, Reason string
		Error                     float64 `json:"clocksource_frequency_error_ppm"`
		Interval                  int64   `json:"interval_ns"`
	}
	Ticks, Checks int
	Elapsed       int64 `json:"elapsed_ns"`
	Verdicts      map[watchdog.Kind]int
	ReadBacks     int `json:"read_backs"`
	Delays        struct {
		Min    int64 `json:"min_ns"`
		Median int64 `json:"median_ns"`
		P99    int64 `json:"p99_ns"`
		Max    int64 `json:"max_ns"`
		Limit  int64 `json:"limit_ns"`
	} `json:"readback_delays"`
	Skew struct {
		Compared int
		Least    float64 `json:"least_ppm"`
		Greatest float64 `json:"greatest_ppm"`
		Mean     float64 `json:"mean_ppm"`
	}
	Exchanges struct {
		Made, Completed, Busy, Failed, Backwards int
		TimedOut                                 int `json:"timed_out"`
	}
	Condemned *json.RawMessage
	Ended     string
}

// checkGuestWatch judges the JSON Lines of a watch in a guest.
func checkGuestWatch(t *testing.T, stdout, reference string, duration time.Duration) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var s *guestSummary
	for i, line := range lines {
		var tick guestTick
		if err := json.Unmarshal([]byte(line), &tick); err != nil {
			t.Fatalf("line %d: %v in %s", i+1, err, line)
		}
		if s = tick.Summary; s != nil {
			break
		}
		if tick.Schema != "cswatch.tick/v1" || tick.Clocksource != "tsc" || tick.Reference != reference || tick.Check != i+1 || tick.Kind.Condemns() {
			t.Errorf("line %d: %s", i+1, line)
		}
	}
	if s == nil {
		t.Fatalf("no summary in %d lines", len(lines))
	}
	t.Logf("%d checks, %d read-backs, delay min %v, median %v, p99 %v, max %v", s.Checks, s.ReadBacks,
		time.Duration(s.Delays.Min), time.Duration(s.Delays.Median), time.Duration(s.Delays.P99), time.Duration(s.Delays.Max))
	t.Logf("skew of %d: mean %.2f ppm, from %.2f to %.2f; rate known within %.1f ppm; verdicts %v; CPUs %+v",
		s.Skew.Compared, s.Skew.Mean, s.Skew.Least, s.Skew.Greatest, s.Reference.Error, s.Verdicts, s.Exchanges)

	// What the hypervisor computes may not be called independent, and is not computed from the guest's TSC either.
	if r := s.Reference; r.Name != reference || r.Independent != "unknown" || !strings.Contains(r.Reason, "the hypervisor computes the guest's "+reference) {
		t.Errorf("reference %+v, want %s, computed by the hypervisor", r, reference)
	}
	if s.Ended != "duration" || s.Condemned != nil || s.Exchanges.Backwards > 0 {
		t.Errorf("ended by %s, condemned %v, %d exchanges backwards", s.Ended, s.Condemned, s.Exchanges.Backwards)
	}
	if s.Checks != len(lines)-1 || s.Ticks < s.Checks {
		t.Errorf("%d ticks and %d checks in %d lines", s.Ticks, s.Checks, len(lines)-1)
	}
	// One check at each end, and the first may have been late by an interval. A machine that is halted makes fewer.
	if most := s.Elapsed/s.Reference.Interval + 2; int64(s.Checks) > most {
		t.Errorf("%d checks in %v, at most %d are possible", s.Checks, time.Duration(s.Elapsed), most)
	}
	planned := int(int64(duration) / s.Reference.Interval)
	if s.Checks < planned/4 || s.Skew.Compared < 2 {
		t.Errorf("%d checks, %d with a comparison; %d were planned", s.Checks, s.Skew.Compared, planned)
	}
	if s.ReadBacks < s.Checks || s.ReadBacks > 3*s.Checks { // one to three attempts each
		t.Errorf("%d read-backs for %d checks", s.ReadBacks, s.Checks)
	}
	// The rest is for the reads at both ends of each series of comparisons, within the limit of a
	// read-back, and for a host whose own clock is being steered: NTP changes its pace by some tens of ppm in this time.
	const steering = 75
	compared := float64(s.Skew.Compared) * float64(s.Reference.Interval) / 2 // at least, as ticks may be late
	reads := 2 * float64(s.Delays.Limit) * float64(s.Verdicts[watchdog.Initialised]) / compared * 1e6
	if most := s.Reference.Error + reads + steering; math.Abs(s.Skew.Mean) > most {
		t.Errorf("the TSC is off by %.1f ppm on average, want %.1f at most", s.Skew.Mean, most)
	}
}

// bootUntilDone boots until the guest carries out its plan. Under load QEMU's emulation may run an
// instruction that another CPU of the guest has just patched, and the guest's kernel then panics: that is no result.
func bootUntilDone(t *testing.T, c qemu.Config, spec qemu.Spec) qemu.Result {
	t.Helper()
	const tries = 4
	for try := 1; ; try++ {
		r, err := c.Boot(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s (%s); booted after %.1f s, ended after %.1f s", r.Kernel.Version, r.Outcome, r.Why, r.Booted.Seconds(), r.Wall.Seconds())
		if r.Outcome == qemu.Done {
			return r
		}
		if try == tries {
			t.Fatalf("the console of the last of %d tries:\n%s", tries, r.Console)
		}
	}
}

// buildStatic builds the program as users get it.
func buildStatic(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cswatch")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-o", path, "github.com/cswatch/cswatch/cmd/cswatch")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program for the guest: %v\n%s", err, out)
	}
	return path
}

func skipIfUnavailable(t *testing.T, err error) {
	t.Helper()
	if unavailable := (*qemu.UnavailableError)(nil); errors.As(err, &unavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
