package bench

import (
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/hw"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	hw.ChildMain()
	// A program with the race detector waits for a second before it ends, which
	// the child that reads ports need not.
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// small is a plan that takes a fraction of a second, of what no counter is needed for.
func small() Plan {
	return Plan{
		Parts: []Part{Costs, Singles, Across, Contention}, Batches: 11, BatchTime: 20 * time.Microsecond, WarmUp: time.Millisecond,
		Singles: 5000, Turns: 200, Rounds: 3, RoundTime: time.Millisecond,
	}
}

// TestThisMachineIsMeasured looks whether the figures are possible, not whether they are good.
func TestThisMachineIsMeasured(t *testing.T) {
	r, err := Run(t.Context(), small())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r.Routes)
	if r.Changed() {
		t.Skipf("the clocksource changed under the test: %q, %q", r.Clocksource, r.ClocksourceAfter)
	}
	want := 2 // time.Now and time.Since
	if orderedInstruction != "" {
		want += 5 // the clocks by system call
	}
	for _, s := range r.Skipped {
		t.Logf("%s: %s", s.Name(), s.Why)
	}
	if restrained := slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Code == WarnRestrained }); restrained {
		want = 0
	}
	if len(r.Costs) < want-len(r.Skipped) {
		t.Errorf("%d ways were measured, want %d at least", len(r.Costs), want)
	}
	for _, c := range r.Costs {
		if c.Batches != 11 || c.Min <= 0 || c.Min > c.Low || c.Low > c.Median || c.Median > c.High || c.High > c.Max || c.P99 > c.Max || c.Median > 1e9 {
			t.Errorf("%s: %+v", c.Name(), c)
		}
	}
	for _, s := range r.Steps {
		if s.Count == 0 || s.Smallest == 0 || s.Smallest > s.Max || s.Median > s.P99 {
			t.Errorf("%s: %+v", s.Name(), s.Steps)
		}
	}
	for _, c := range r.Across {
		if c.Turns > 200 || c.Complete != (c.Turns == 200) || c.CPUs[0] == c.CPUs[1] || c.Why != "" {
			t.Errorf("%s: %+v", c.Name(), c)
		}
	}
	for _, c := range r.Contention {
		if c.Why != "" || c.Rounds != 3 || c.ReadsPerSecond.Median <= 0 || c.Fairness.Median < 0 || c.Fairness.Median > 1 || len(c.PerCPU) != len(c.CPUs) {
			t.Errorf("%s: %+v", c.Name(), c)
		}
	}
}

func TestSignalsAreHeldBackAndComeAfterwards(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	defer signal.Stop(signals)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	quietly(func() {
		if err := unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGUSR2); err != nil {
			t.Error(err)
		}
		if len(signals) != 0 {
			t.Error("a signal came through")
		}
	})
	<-signals
}
