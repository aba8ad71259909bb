package live

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// newRecorded returns a watch of two scripted CPUs without an end, and its recording.
func newRecorded(t *testing.T) (*Watch, *bytes.Buffer) {
	t.Helper()
	s := newScript(2)
	c := configOf(s, watchdog.E9, 0)
	file := &bytes.Buffer{}
	var err error
	if c.Record, err = trace.NewWriter(file, trace.Binary, c.Header); err != nil {
		t.Fatal(err)
	}
	w, err := New(c, s, s)
	if err != nil {
		t.Fatal(err)
	}
	return w, file
}

func TestTheContextEndsAWatchAndItsRecordingIsWhole(t *testing.T) {
	w, file := newRecorded(t)
	ctx, cancel := context.WithCancel(context.Background())
	err := w.Run(ctx, func(tick *Tick) error {
		if tick.Number == 5 {
			cancel()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := trace.Verify(file)
	if err != nil || !report.Ended || report.Ticks != 5 {
		t.Errorf("report %+v, error %v", report, err)
	}
	if err := w.Run(ctx, nil); err == nil {
		t.Error("a watch ran twice")
	}
}

func TestARecordingIsWholeWhenItsReaderGoesAway(t *testing.T) {
	w, file := newRecorded(t)
	gone := errors.New("broken pipe")
	if err := w.Run(context.Background(), func(*Tick) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("error %v, want %v", err, gone)
	}
	if report, err := trace.Verify(file); err != nil || !report.Ended || report.Ticks != 1 {
		t.Errorf("report %+v, error %v", report, err)
	}
}

func TestAFullDiskEndsARecording(t *testing.T) {
	s := newScript(2)
	c := configOf(s, watchdog.E9, 0)
	disk := &fullDisk{room: 2000}
	var err error
	if c.Record, err = trace.NewWriter(disk, trace.Binary, c.Header); err != nil {
		t.Fatal(err)
	}
	if r := run(c, s); !errors.Is(r.err, errFull) {
		t.Errorf("error %v, want %v", r.err, errFull)
	}
}

var errFull = errors.New("no space left on device")

type fullDisk struct{ room int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// noisy is a machine with slow, late and preempted reads, by a seed.
func noisy(seed uint64, cpus int) *script {
	r := rand.New(rand.NewPCG(seed, 7))
	s := newScript(cpus)
	s.delay = func(int, int) clocksource.Nanos {
		if r.IntN(6) == 0 {
			return clocksource.Nanos(r.IntN(400)) * us
		}
		return 2 * us
	}
	s.gap = func(int, int) clocksource.Nanos {
		if r.IntN(40) == 0 {
			return 150 * us
		}
		return us
	}
	s.cause = func(int, int) hw.Cause { return []hw.Cause{hw.Preempted, hw.Interrupted, hw.Unexplained}[r.IntN(3)] }
	return s
}

func TestARecordingReplaysToTheSameVerdicts(t *testing.T) {
	compared := 0
	for _, era := range watchdog.Eras() {
		for seed := range uint64(3) {
			for _, cpus := range []int{1, 2, 3} {
				for _, way := range []func(Config, *script) result{run, runStream} {
					s := noisy(seed, cpus)
					c := configOf(s, era, 40)
					var file bytes.Buffer
					var err error
					if c.Record, err = trace.NewWriter(&file, trace.Binary, c.Header); err != nil {
						t.Fatal(err)
					}
					r := way(c, s)
					if r.err != nil {
						t.Fatalf("era %s, seed %d: %v", era, seed, r.err)
					}
					if len(r.kinds) != 40 {
						t.Fatalf("era %s, seed %d: %d ticks, a recording goes on behind a condemnation", era, seed, len(r.kinds))
					}
					got := replayed(t, &file, c.Profile)
					if diff := cmp.Diff(r.verdicts, got); diff != "" {
						t.Fatalf("era %s, seed %d, %d CPUs (-live +replayed):\n%s", era, seed, cpus, diff)
					}
					compared += len(got)
				}
			}
		}
	}
	if compared < 5_000 {
		t.Errorf("only %d verdicts were compared", compared)
	}
}

// replayed runs a recording through the profile it was made with, and wants answers
// that are exact but for what user space does to them.
func replayed(t *testing.T, file io.Reader, p watchdog.Profile) []watchdog.Verdict {
	t.Helper()
	r, err := trace.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	h := r.Header()
	setup, err := h.Setup(p, -1)
	if err != nil {
		t.Fatal(err)
	}
	replay, err := trace.NewReplay(h, setup)
	if err != nil {
		t.Fatal(err)
	}
	var out []watchdog.Verdict
	var tick trace.Tick
	doubted := false
	for {
		if err := r.Read(&tick); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		results, err := replay.Step(&tick)
		if err != nil {
			t.Fatal(err)
		}
		for i := range results {
			if own := results[i].Doubts &^ (trace.DoubtUserSpace | trace.DoubtEarlier); own != 0 {
				t.Errorf("tick %d of era %s: approximate (%s): %s", tick.Seq, p.Era, own, results[i].Why)
			}
			if results[i].Doubts == trace.DoubtEarlier && !doubted {
				t.Errorf("tick %d of era %s: follows no doubt: %s", tick.Seq, p.Era, results[i].Why)
			}
			doubted = doubted || results[i].Doubts&trace.DoubtUserSpace != 0
			out = append(out, results[i].Verdict)
		}
	}
}

func TestARecordingKnowsWhyReadBacksWereLate(t *testing.T) {
	s := newScript(2)
	s.delay = func(tick, attempt int) clocksource.Nanos {
		if attempt%3 == 0 {
			return 300 * us
		}
		return 2 * us
	}
	s.cause = func(_, attempt int) hw.Cause {
		return map[int]hw.Cause{3: hw.Preempted, 6: hw.Interrupted}[attempt%9]
	}
	c := configOf(s, watchdog.E5, 2)
	var file bytes.Buffer
	var err error
	if c.Record, err = trace.NewWriter(&file, trace.Binary, c.Header); err != nil {
		t.Fatal(err)
	}
	if r := run(c, s); r.err != nil {
		t.Fatal(r.err)
	}
	report, err := trace.Verify(&file)
	// 8 read-backs of CPU 0, then 8 of CPU 1 and 8 of the boot CPU.
	if want := [4]uint64{17, 3, 3, 1}; err != nil || report.Late != want {
		t.Errorf("late read-backs %v, want %v; error %v", report.Late, want, err)
	}
	if report.Exchanges != 1 {
		t.Errorf("%d exchanges, want the one that 7.1 would make", report.Exchanges)
	}
}

func TestTheReferenceIsReadAtAWatchdogsPace(t *testing.T) {
	for _, p := range watchdog.Profiles() {
		for _, recording := range []bool{false, true} {
			s := newScript(2)
			s.reference = hw.Counter{Name: hw.ACPIPM, Hz: hw.PMTimerHz, Mask: clocksource.Mask24}
			c := configOf(s, p.Era, 4)
			if recording {
				var err error
				if c.Record, err = trace.NewWriter(io.Discard, trace.Binary, c.Header); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Plan().Validate(); err != nil {
				t.Errorf("era %s, recording %t: %v", p.Era, recording, err)
			}
			s.reference.Name = hw.HPET
			c.Header.Reference.Name = hw.HPET
			if r := run(c, s); r.err != nil {
				t.Errorf("era %s: %v", p.Era, r.err)
			}
			if most := 4 * 2 * hw.DefaultReadBacks; len(s.visited) > most || !recording && len(s.visited) != 4 {
				t.Errorf("era %s, recording %t: %d read-backs in 4 ticks of a healthy machine", p.Era, recording, len(s.visited))
			}
		}
	}
}
