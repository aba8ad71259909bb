package qemu

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu/snapshot"
	"github.com/cswatch/cswatch/internal/qemu/tap"
)

// checkCounter counts the checks of a kernel's watchdog by what it reads of the
// HPET: that they went on, and not that time went by, is what a test waits for.
type checkCounter struct {
	tap     *tap.Tap
	on      atomic.Bool   // count
	enough  chan struct{} // closed when the checks that were wanted have been
	wanted  int
	last    uint32
	checked int
}

func countChecks(t *testing.T, wanted int) *checkCounter {
	t.Helper()
	c := &checkCounter{enough: make(chan struct{}), wanted: wanted}
	var err error
	c.tap, err = tap.New(t.TempDir(), nil, func(r tap.Read) {
		// Half a second apart, at 100 MHz; what a check reads lies closer together.
		if now := uint32(r.Value); c.on.Load() && now-c.last > 30e6 {
			c.last = now
			if c.checked++; c.checked == c.wanted {
				close(c.enough)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *checkCounter) close(t *testing.T) {
	t.Helper()
	if _, err := c.tap.Close(); err != nil {
		t.Error(err)
	}
}

// spoilt reports that this machine was too slow for the watchdog of a kernel up
// to 7.0: it condemned the TSC for slow reads, or suspended its checks.
func spoilt(events []event.Event) bool {
	for _, in := range event.Collect(events) {
		if in.Kind == event.IncidentDelay || in.Kind == event.IncidentSkip {
			return true
		}
	}
	return false
}

// restorable is a plan of a machine whose state is saved: the window is for what
// never comes.
func restorable() guest.Plan {
	return guest.Plan{
		Window: 20 * time.Minute, Linger: 1500 * time.Millisecond,
		EndOn: []event.Kind{event.TSCUnstable, event.TestSkipped, event.BusyReference},
	}
}

// saveChecked boots a kernel, and saves the machine's state when its watchdog has
// checked the TSC several times. It returns the specification that goes on from
// there, and what there was of the machine up to there.
func saveChecked(t *testing.T, c Config, kernel string) (Spec, Result) {
	t.Helper()
	spec := Spec{Kernel: kernel, Plan: restorable(), Limit: bootLimit, QMP: true}
	path := filepath.Join(t.TempDir(), "state")
	for try := 1; ; try++ {
		counter := countChecks(t, 3)
		c.Observe = func(s Stamped) {
			if strings.Contains(s.Record.Kmsg, "Switched to clocksource tsc") && !strings.HasSuffix(s.Record.Kmsg, "tsc-early") {
				counter.on.Store(true)
			}
		}
		booting := spec
		booting.Extra = counter.tap.Args()
		m, err := c.Start(t.Context(), booting)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-counter.enough:
			err = m.Save(t.Context(), path)
		case <-m.finished:
		}
		m.Kill()
		r, waitErr := m.Wait()
		counter.close(t)
		if waitErr != nil {
			t.Fatal(waitErr)
		}
		events, eventsErr := r.Events()
		if eventsErr != nil {
			t.Fatal(eventsErr)
		}
		if spoilt(events) && try < tries {
			t.Logf("spoilt: the clocks were slow to read; try %d of %d", try, tries)
			continue
		}
		if lost(t, &r, try) {
			continue
		}
		if err != nil || r.Outcome != Stopped || r.Why != "ended from outside: its state was saved" || condemned(events) != nil {
			t.Fatalf("%s: %s, error %v\n%s", r.Outcome, r.Why, err, r.KernelLog())
		}
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: booted after %.1f s, saved after %.1f s in %d MB", r.Kernel.Version, r.Booted.Seconds(), r.Wall.Seconds(), st.Size()>>20)
		spec.From, spec.QMP = path, false
		return spec, r
	}
}

// restore goes on from a saved state until the guest ends, or until its watchdog
// has made so many checks.
func restore(t *testing.T, c Config, spec Spec, checks int) Result {
	t.Helper()
	counter := countChecks(t, checks)
	counter.on.Store(true)
	spec.Extra = counter.tap.Args()
	m, err := c.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-counter.enough:
		m.Kill()
	case <-m.finished:
	}
	r, err := m.Wait()
	counter.close(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v: %s (%s) after %.1f s and %d checks", spec.Steps, r.Outcome, r.Why, r.Wall.Seconds(), counter.checked)
	if !r.Resumed || r.Hello != nil || r.Booted != 0 || r.Damaged != 0 || len(r.Troubles()) > 0 {
		t.Errorf("resumed %v, hello %v, %d damaged lines, troubles %q", r.Resumed, r.Hello, r.Damaged, r.Troubles())
	}
	return r
}

// restoreUntilUnspoilt returns the first restore that was not spoilt, nor so slow
// that it ended before the kernel had switched, with the events of its whole life.
func restoreUntilUnspoilt(t *testing.T, c Config, spec Spec, before Result, checks int) (r Result, log string, events []event.Event) {
	t.Helper()
	for try := 1; ; try++ {
		r = restore(t, c, spec, checks)
		if lost(t, &r, try) {
			continue
		}
		life := Result{Records: slices.Concat(before.Records, r.Records)}
		var err error
		if events, err = life.Events(); err != nil {
			t.Fatal(err)
		}
		log = life.KernelLog()
		in := condemned(events)
		if !spoilt(events) && (in == nil || in.SwitchedTo != "") || try == tries {
			return r, log, events
		}
		t.Logf("spoilt: the clocks were slow to read, or the switch slow; try %d of %d", try, tries)
	}
}

// One boot, three lives: its TSC is good, a millisecond further on all CPUs, and
// a millisecond further on one. The watchdog of 5.10 condemns the two that are
// wrong, and the counters that it prints tell by how much.
func TestBootsOnceAndTheWatchdogFindsTheStepsOfTheTSC(t *testing.T) {
	c := realConfig(t)
	kernel := realKernel(t, c, "5.10")
	spec, before := saveChecked(t, c, kernel)
	events, err := before.Events()
	if err != nil {
		t.Fatal(err)
	}
	hz := frequency(events)
	if hz < 100e6 {
		t.Fatalf("the log tells no frequency of the TSC: %d Hz", hz)
	}
	ms := snapshot.Cycles(time.Millisecond, hz)

	t.Run("no step", func(t *testing.T) {
		r, log, events := restoreUntilUnspoilt(t, c, spec, before, 5)
		if in := condemned(events); in != nil || r.Outcome != Stopped {
			t.Errorf("%s: %s; the TSC was condemned: %+v\n%s", r.Outcome, r.Why, in, log)
		}
	})
	for _, step := range []snapshot.Step{{CPU: snapshot.AllCPUs, Cycles: ms}, {CPU: 1, Cycles: ms}} {
		t.Run(step.String(), func(t *testing.T) {
			stepped := spec
			stepped.Steps = []snapshot.Step{step}
			// The check of CPU 1 comes second at the latest.
			r, log, events := restoreUntilUnspoilt(t, c, stepped, before, math.MaxInt)
			in := condemned(events)
			if in == nil || in.Kind != event.IncidentSkew || !in.Marked || r.Outcome != Done {
				t.Fatalf("%s: %s; the TSC was not condemned for a skew: %+v\n%s", r.Outcome, r.Why, in, log)
			}
			if r.End.Reason != guest.EndEvent || r.End.Event != string(event.TSCUnstable) || in.SwitchedTo != "hpet" || r.End.Clocksource.Current != "hpet" {
				t.Errorf("it ended with %+v, the log says that the kernel switched to %q", r.End, in.SwitchedTo)
			}
			// Each of the two checks may take 100 us before it counts as slow, the clocks
			// do not stop at quite the same moment, and the kernel knows the frequency
			// to some ppm only.
			watched, reference := intervals(t, in, events)
			skew := watched - reference
			t.Logf("skew %.1f us over %.3f s, CPUs ahead %q, behind %q", skew*1e6, reference, in.CPUsAhead, in.CPUsBehind)
			if math.Abs(skew-1e-3) > 250e-6+50e-6*reference {
				t.Errorf("the TSC is %.0f us ahead by the counters of the log, want 1000", skew*1e6)
			}
			// How far apart CPUs must be to be seen depends on how fast they answer.
			if step.CPU == snapshot.AllCPUs && in.CPUsAhead+in.CPUsBehind != "" {
				t.Errorf("CPUs are ahead (%q) or behind (%q), but all made the step", in.CPUsAhead, in.CPUsBehind)
			}
			sameWords(t, log)
		})
	}
	t.Run("another machine", func(t *testing.T) {
		other := spec
		other.MemoryMB = 128
		r, err := c.Boot(t.Context(), other)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Stderr == "" || r.Outcome != Died {
			t.Errorf("%s: %s, error %v", r.Outcome, r.Why, err)
		}
		t.Log(err)
	})
}
