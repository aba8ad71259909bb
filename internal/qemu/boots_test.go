package qemu

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/load"
	"github.com/cswatch/cswatch/internal/qemu/qmp"
	"github.com/cswatch/cswatch/internal/reenact"
)

// The tests here boot real kernels. Nothing in them depends on how fast this
// machine is; the limit, twenty times what a boot takes beside all other tests,
// only ends what would never end.
const bootLimit = 2 * time.Minute

// lost reports a boot that came to nothing, and may be tried again: QEMU's emulation of
// several processors now and then runs an instruction that another one has just
// patched, and the guest's kernel then panics or spins for ever.
func lost(t *testing.T, r *Result, try int) bool {
	t.Helper()
	switch r.Outcome {
	case Done, Stopped:
		return false
	}
	if try == tries {
		t.Fatalf("%s, and so were the %d boots before: %s\nconsole:\n%s", r.Outcome, tries-1, r.Why, r.Console)
	}
	t.Logf("%s: %s; try %d of %d", r.Outcome, r.Why, try, tries)
	return true
}

// realConfig finds QEMU and builds the guest program, or skips the test with the reason.
func realConfig(t *testing.T) Config {
	t.Helper()
	c := Config{}
	path, err := c.FindQEMU()
	skipIfUnavailable(t, err)
	c.QEMU = path
	c.Guest, err = c.FindGuest(t.Context())
	skipIfUnavailable(t, err)
	return c
}

func skipIfUnavailable(t *testing.T, err error) {
	t.Helper()
	var unavailable *UnavailableError
	if errors.As(err, &unavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func realKernel(t *testing.T, c Config, series string) string {
	t.Helper()
	path, err := c.CachedKernel(series)
	skipIfUnavailable(t, err)
	return path
}

// boot boots and reports how long it took.
func boot(t *testing.T, c Config, spec Spec) (Result, []event.Event) {
	t.Helper()
	spec.Limit = bootLimit
	r, err := c.Boot(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s (%s); booted after %.1f s, ended after %.1f s, %.1f s of processor time",
		r.Kernel.Version, r.Outcome, r.Why, r.Booted.Seconds(), r.Wall.Seconds(), r.CPU.Seconds())
	if r.Outcome == Done && (len(r.Troubles()) > 0 || r.Damaged > 0) {
		t.Errorf("troubles %q, %d damaged lines", r.Troubles(), r.Damaged)
	}
	events, err := r.Events()
	if err != nil {
		t.Fatal(err)
	}
	return r, events
}

// condemned returns the incident by which the kernel gave up its TSC, nil if it did not.
func condemned(events []event.Event) *event.Incident {
	incidents := event.Collect(events)
	for i, in := range incidents {
		if in.Kind.Condemns() && strings.HasPrefix(in.Clock, "tsc") {
			return &incidents[i]
		}
	}
	return nil
}

// tries is how often a boot is repeated of which this machine spoilt the result:
// where other tests keep the processors busy, a kernel up to 7.0 may find its
// clocks too slow to read. That is a verdict of the watchdog too, only not the one we want.
const tries = 4

// bootUntilUnspoilt returns the first boot that was not spoilt.
func bootUntilUnspoilt(t *testing.T, c Config, spec Spec) (Result, []event.Event, *event.Incident) {
	t.Helper()
	for try := 1; ; try++ {
		r, events := boot(t, c, spec)
		if lost(t, &r, try) {
			continue
		}
		in := condemned(events)
		if in == nil || in.Kind != event.IncidentDelay || try == tries {
			return r, events, in
		}
		t.Logf("spoilt: the clocks were slow to read; try %d of %d", try, tries)
	}
}

// frequency returns what the kernel takes for the frequency of the TSC, in Hz.
func frequency(events []event.Event) int64 {
	var hz int64
	for _, e := range events {
		if e.Kind == event.TSCDetected || e.Kind == event.TSCRefined {
			hz = e.FrequencyHz.Value
		}
	}
	return hz
}

// intervals returns the times in seconds that the watched clock and its reference
// measured between the two checks that condemned it.
func intervals(t *testing.T, in *event.Incident, events []event.Event) (watched, reference float64) {
	t.Helper()
	wNS, ok1 := in.WatchedInterval.NS.Get()
	rNS, ok2 := in.ReferenceInterval.NS.Get()
	if ok1 && ok2 {
		return float64(wNS) / 1e9, float64(rNS) / 1e9
	}
	// Before 6.1 the lines hold only what the counters said.
	var hpetHz int64
	for _, e := range events {
		if e.Kind == event.HPETCounter {
			hpetHz = e.FrequencyHz.Value
		}
	}
	w, ok1 := in.WatchedInterval.Cycles()
	r, ok2 := in.ReferenceInterval.Cycles()
	if !ok1 || !ok2 || hpetHz == 0 || in.Reference != "hpet" {
		t.Fatalf("the log does not tell the intervals: %+v", in)
	}
	return float64(w) / float64(frequency(events)), float64(r) / float64(hpetHz)
}

func has(events []event.Event, kind event.Kind) bool {
	for _, e := range events {
		if e.Kind == kind {
			return true
		}
	}
	return false
}

// sameWords fails unless our era, fed what the kernel's clocks read, prints what the kernel printed.
func sameWords(t *testing.T, log string) {
	t.Helper()
	again, err := reenact.Log(log)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	for _, d := range again.Differences() {
		t.Error(d)
	}
	t.Logf("era %s prints the same %d lines, %d of the verdict", again.Setup.Profile.Era, again.Compared(), again.Incident)
	if again.Incident < 5 { // verdict, two clocks, mark, switch
		t.Errorf("only %d lines of the verdict were compared", again.Incident)
	}
}

// A healthy machine keeps its TSC, and the same machine whose kernel is told a
// TSC frequency that is 5 % too high condemns it for a real skew, whatever the
// kernel: no luck is needed. Our era, fed the same, prints the same lines.
func TestBootsAndTheWatchdogTellsAWrongClockFromAGoodOne(t *testing.T) {
	c := realConfig(t)
	var hz int64
	t.Run("a good clock on 5.10", func(t *testing.T) {
		kernel := realKernel(t, c, "5.10")
		plan := guest.Plan{Window: 8 * time.Second}
		r, events, in := bootUntilUnspoilt(t, c, Spec{Kernel: kernel, Plan: plan})
		if in != nil {
			t.Fatalf("the TSC was condemned: %+v", in)
		}
		if r.End.Clocksource.Current != "tsc" || r.End.Reason != guest.EndWindow || r.End.LostKmsg != 0 {
			t.Errorf("it ended with %+v", r.End)
		}
		if r.End.DweltNS < int64(plan.Window) || r.End.DweltNS > int64(plan.Window)*2 {
			t.Errorf("it dwelt for %v, planned were %v", time.Duration(r.End.DweltNS), plan.Window)
		}
		if !strings.HasPrefix(r.Hello.Release, "5.10.") || r.Hello.CPUs != 2 || !strings.Contains(r.Hello.CommandLine, "CSWATCH_WINDOW=8s") {
			t.Errorf("it said hello with %+v", r.Hello)
		}
		if hz = frequency(events); hz < 100e6 {
			t.Fatalf("the log tells no frequency of the TSC: %d Hz", hz)
		}
	})
	for _, series := range []string{"5.10", "7"} {
		t.Run("a wrong clock on "+series, func(t *testing.T) {
			kernel := realKernel(t, c, series)
			if hz == 0 {
				t.Skip("the boot of 5.10 did not tell the frequency of the TSC")
			}
			r, events, in := bootUntilUnspoilt(t, c, Spec{
				Kernel: kernel,
				Append: []string{"tsc_early_khz=" + strconv.FormatInt(hz/1000*105/100, 10)},
				Plan:   guest.Plan{Window: time.Minute, EndOn: []event.Kind{event.TSCUnstable}, Linger: 5 * time.Second},
			})
			if in == nil || in.Kind != event.IncidentSkew && in.Kind != event.IncidentFrequency {
				t.Fatalf("the TSC was not condemned for a skew: %+v\n%s", in, r.KernelLog())
			}
			if !has(events, event.SkewVerdict) && !has(events, event.FrequencyVerdict) {
				t.Error("the log has no line with the verdict")
			}
			if !in.Marked || !has(events, event.TSCUnstable) {
				t.Error("the log does not say that the TSC is unstable")
			}
			// Declared too fast, it runs slow. The rest is for the calibration of
			// the good clock on a busy machine.
			watched, reference := intervals(t, in, events)
			if ratio := watched/reference - 1; math.Abs(ratio-(1/1.05-1)) > 0.015 {
				t.Errorf("the TSC ran off by %.2f %%, want %.2f %%", 100*ratio, 100*(1/1.05-1))
			}
			if in.SwitchedTo != "hpet" || r.End.Clocksource.Current != "hpet" {
				t.Errorf("the log says that the kernel switched to %q, and sysfs says %q", in.SwitchedTo, r.End.Clocksource.Current)
			}
			if r.End.Reason != guest.EndEvent || r.End.Event != string(event.TSCUnstable) {
				t.Errorf("it ended with %+v", r.End)
			}
			sameWords(t, r.KernelLog())
		})
	}
}

// The guest program, started a second time, says that it is no process 1: a
// program with output and an exit code that needs no file of its own.
func TestBootsAProgramWhileQMPListens(t *testing.T) {
	c := realConfig(t)
	kernel := realKernel(t, c, "5.10")
	for try := 1; ; try++ {
		r := bootWithQMP(t, c, kernel)
		if lost(t, &r, try) {
			continue
		}
		if r.Outcome != Done || r.End.Reason != guest.EndProgram || r.End.Exit == nil || *r.End.Exit != 1 {
			t.Errorf("%s: %s, ended with %+v", r.Outcome, r.Why, r.End)
		}
		if out := r.Output("stderr"); !strings.Contains(out, "this program is process 1 of a virtual machine") {
			t.Errorf("the program wrote %q", out)
		}
		return
	}
}

// bootWithQMP boots a machine that runs a program, and talks to it until it ends.
func bootWithQMP(t *testing.T, c Config, kernel string) Result {
	t.Helper()
	m, err := c.Start(t.Context(), Spec{Kernel: kernel, Plan: guest.Plan{Window: time.Minute, Run: []string{"/init"}}, QMP: true, Limit: bootLimit})
	if err != nil {
		t.Fatal(err)
	}
	client, err := m.QMP(t.Context())
	if err != nil {
		m.Kill()
		t.Fatal(err)
	}
	var status struct {
		Status string `json:"status"`
	}
	if err := client.Execute(t.Context(), "query-status", nil, &status); err != nil || status.Status != "running" {
		t.Errorf("status %q, error %v", status.Status, err)
	}
	for e := range client.Events() {
		t.Logf("QMP: %s %s", e.Name, e.Data)
	}
	if err := client.Execute(t.Context(), "query-status", nil, nil); !errors.Is(err, qmp.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	r, err := m.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A load of both kinds runs while the kernel is watched, and a file is handed over
// when it has ended. What the watchdog says of a TSC under load is not asked here.
func TestBootsALoadAndHandsOverAFile(t *testing.T) {
	c := realConfig(t)
	kernel := realKernel(t, c, "5.10")
	plan := guest.Plan{Window: 3 * time.Second, Load: load.Both, Fetch: []string{"/proc/version"}}
	for try := 1; ; try++ {
		r, _ := boot(t, c, Spec{Kernel: kernel, Plan: plan})
		if lost(t, &r, try) {
			continue
		}
		if r.End.Reason != guest.EndWindow || r.End.DweltNS < int64(plan.Window) {
			t.Errorf("it ended with %+v", r.End)
		}
		if r.Load == nil || r.Load.Kind != load.Both || r.Load.Idle() != nil || r.Load.LoopingCPUs != 1 || r.Load.ReadingCPUs != 1 {
			t.Fatalf("the load did %+v", r.Load)
		}
		if r.Load.DrivenNS < r.End.DweltNS {
			t.Errorf("it was driven for %v of %v", time.Duration(r.Load.DrivenNS), time.Duration(r.End.DweltNS))
		}
		t.Logf("the load did %+v", *r.Load)
		version := string(r.Files["/proc/version"])
		if len(r.Files) != 1 || !strings.HasPrefix(version, "Linux version "+r.Hello.Release+" ") || !strings.HasSuffix(version, "\n") || r.CutFiles != nil {
			t.Errorf("files %q, cut %q", r.Files, r.CutFiles)
		}
		return
	}
}

func TestBootsAKernelThatPanics(t *testing.T) {
	c := realConfig(t)
	kernel := realKernel(t, c, "7")
	r, _ := boot(t, c, Spec{Kernel: kernel, Append: []string{"rdinit=/no/such/program"}})
	if r.Outcome != Panicked || !strings.HasPrefix(r.Why, panicWords) || r.Hello != nil {
		t.Errorf("%s: %s", r.Outcome, r.Why)
	}
}
