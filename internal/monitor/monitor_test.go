package monitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/kmsg"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/watchdog"
)

const (
	early   = "clocksource: Switched to clocksource tsc-early"
	tsc     = "clocksource: Switched to clocksource tsc"
	delayed = "clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable"
	marked  = "tsc: Marking TSC unstable due to clocksource watchdog"
	fell    = "clocksource: Switched to clocksource hpet"
	retried = "clocksource: timekeeping watchdog on CPU3: hpet retried 2 times before success"
)

// run runs a monitor over a world in the test's bubble. The function it returns ends it.
func run(t *testing.T, w *world, change func(*Config)) (m *Monitor, stop func()) {
	t.Helper()
	c := Config{Sources: w.sources(), Watch: plan}
	if change != nil {
		change(&c)
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { m.Run(ctx); close(done) }()
	synctest.Wait()
	return m, func() { cancel(); <-done }
}

func kindsOf(v tally.View) (kinds []tally.EntryKind) {
	for _, e := range v.Timeline {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func condemnedOf(v tally.View) (all []string) {
	for _, c := range v.Clocks.Condemned {
		all = append(all, fmt.Sprintf("%s %s %d", c.Clock, c.Cause, c.Count))
	}
	return all
}

func TestAMonitorLooksBackAndThenFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.log("Linux version 5.15.0", early, tsc)
		m, stop := run(t, w, nil)
		defer stop()
		if err := m.Ready(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		w.log("usb 1-1: new device", delayed)
		w.set(func() { w.current, w.available = "hpet", []string{"hpet", "acpi_pm"} })
		time.Sleep(10 * time.Millisecond)
		w.log(marked, fell)
		logged := time.Now()
		for len(m.View().Clocks.Condemned) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(logged); took > 900*time.Millisecond {
			t.Errorf("the verdict is seen after %v, want less than a second", took)
		}
		time.Sleep(time.Second) // for the diagnosis
		v := m.View()
		if diff := cmp.Diff([]string{"tsc read-delay 1"}, condemnedOf(v)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]tally.EntryKind{tally.Switched, tally.Switched, tally.Switched, tally.Condemned, tally.StatusChanged}, kindsOf(v)); diff != "" {
			t.Errorf("timeline (-want +got):\n%s", diff)
		}
		if v.Timeline[0].Lookback == false || v.Timeline[2].Lookback {
			t.Error("what was logged before is not told from what came later")
		}
		d := v.Diagnosis
		if d == nil || d.Status == doctor.StatusOK || d.TSCVerdict != doctor.Good || d.KernelTrustsTSC != doctor.TrustNo || d.CurrentClock != "hpet" || v.Best != "tsc" {
			t.Errorf("diagnosis %+v, best %q", d, v.Best)
		}
	})
}

func TestARestartCountsNothingTwiceAndLosesNothing(t *testing.T) {
	for _, c := range []struct {
		name      string
		overwrite int // records that are gone at the restart
		keeps     bool
		lost      uint64
		want      map[event.Kind]uint64
		verdict   []string
	}{
		{"with its state", 0, true, 0, map[event.Kind]uint64{event.Switched: 3, event.DelayVerdict: 1, event.TSCUnstable: 1, event.Retried: 2}, []string{"tsc read-delay 1"}},
		{"with its state, and a ring that has gone round", 4, true, 0, map[event.Kind]uint64{event.Switched: 3, event.DelayVerdict: 1, event.TSCUnstable: 1, event.Retried: 2}, []string{"tsc read-delay 1"}},
		{"with its state, and a ring that has lost what nobody read", 8, true, 2, map[event.Kind]uint64{event.Switched: 2, event.DelayVerdict: 1, event.TSCUnstable: 1, event.Retried: 2}, []string{"tsc read-delay 1"}},
		{"without a state all of the ring is counted", 0, false, 0, map[event.Kind]uint64{event.Switched: 3, event.DelayVerdict: 1, event.TSCUnstable: 1, event.Retried: 2}, []string{"tsc read-delay 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				state := filepath.Join(t.TempDir(), "deep", "state.json")
				keep := func(c *Config) { c.State = state }
				w.log("begin", early, tsc, delayed, marked, retried)
				_, stop := run(t, w, keep)
				time.Sleep(5 * time.Second)
				stop()
				w.log("usb", fell) // while nobody looks: record 7
				w.log(retried)
				if c.overwrite > 0 {
					w.overwrite(c.overwrite)
				}
				if !c.keeps {
					keep = nil
				}
				m, stop := run(t, w, keep)
				defer stop()
				if m.Ready() != nil {
					t.Error("not ready at once")
				}
				time.Sleep(time.Second)
				v := m.View()
				if diff := cmp.Diff(c.want, v.Log.Kinds); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(c.verdict, condemnedOf(v)); diff != "" {
					t.Errorf("given up (-want +got):\n%s", diff)
				}
				if v.Log.Lost != c.lost {
					t.Errorf("%d records lost, want %d", v.Log.Lost, c.lost)
				}
			})
		})
	}
}

func TestAStateOfAnotherBootOrADamagedOneIsNotGoneOnWith(t *testing.T) {
	for name, spoil := range map[string]func(w *world, file string){
		"of another boot": func(w *world, _ string) { w.boot = "boot-2" },
		"cut": func(_ *world, file string) {
			b, _ := os.ReadFile(file)
			os.WriteFile(file, b[:len(b)/2], 0o600)
		},
		"of somebody else": func(_ *world, file string) { os.WriteFile(file, []byte(`{"schema":"x/v1"}`), 0o600) },
		"a folder": func(_ *world, file string) {
			os.Remove(file)
			os.Mkdir(file, 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				state := filepath.Join(t.TempDir(), "state.json")
				keep := func(c *Config) { c.State = state }
				w.log(early, tsc, delayed, marked)
				_, stop := run(t, w, keep)
				time.Sleep(2 * time.Second)
				stop()
				spoil(w, state)
				w.set(func() { w.ring = w.ring[:2] })
				m, stop := run(t, w, keep)
				defer stop()
				if got := m.View().Log.Kinds; got[event.Switched] != 2 || got[event.DelayVerdict] != 0 {
					t.Errorf("events %v: want what the ring holds", got)
				}
			})
		})
	}
}

func TestHooksAreToldOnceAlsoAcrossARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		state := filepath.Join(t.TempDir(), "state.json")
		var m *Monitor
		h := &hookOf{}
		with := func(c *Config) { c.State, c.Hooks = state, []Hook{h} }
		w.log(tsc)
		m, stop := run(t, w, with)
		h.mu.Lock()
		h.then = func(e tally.Entry) { m.Told("test", e.Number) }
		h.mu.Unlock()
		w.log(retried, delayed, marked)
		time.Sleep(3 * time.Second)
		stop()
		before := h.all()
		if len(before) != 2 || !strings.Contains(before[0], "condemned the kernel gave up tsc because reading it against hpet took 60666 ns") {
			t.Fatalf("told %q", before)
		}
		h.mu.Lock()
		h.told = nil
		h.mu.Unlock()
		m, stop = run(t, w, with)
		defer stop()
		time.Sleep(3 * time.Second)
		if again := h.all(); len(again) != 0 {
			t.Errorf("told again: %q", again)
		}
	})
}

func TestWhatCannotBeReadIsSaidAndTriedAgain(t *testing.T) {
	denied := fmt.Errorf("read kernel log: %w", fs.ErrPermission)
	gone := errors.New("sysfs is gone")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.log(tsc)
		w.logErr, w.sysfsErr = denied, gone
		var said bytes.Buffer
		m, stop := run(t, w, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&said, nil)) })
		time.Sleep(5 * time.Minute)
		v := m.View()
		for _, c := range []tally.Collector{tally.Kmsg, tally.Sysfs, tally.Live, tally.Doctor} {
			if h := v.Collectors[c]; h.OK || !h.Known || h.Failures < 2 || h.Error == "" {
				t.Errorf("collector %s: %+v, want one that failed again and again", c, h)
			}
		}
		if m.Ready() != nil || m.Healthy() != nil {
			t.Error("a monitor that sees nothing is ready and healthy all the same")
		}
		w.set(func() { w.logErr, w.sysfsErr = nil, nil })
		time.Sleep(11 * time.Minute)
		v = m.View()
		for _, c := range []tally.Collector{tally.Kmsg, tally.Sysfs, tally.Live, tally.Doctor, tally.Cost} {
			if h := v.Collectors[c]; !h.OK || h.Error != "" {
				t.Errorf("collector %s: %+v, want one that works again", c, h)
			}
		}
		if v.Clocks.Current != "tsc" || v.Diagnosis == nil {
			t.Errorf("current %q, diagnosis %v", v.Clocks.Current, v.Diagnosis)
		}
		stop()
		for _, c := range []string{"kmsg", "sysfs"} {
			failed, works := strings.Count(said.String(), "collector failed\" collector="+c), strings.Count(said.String(), "collector works\" collector="+c)
			if failed != 1 || works != 1 {
				t.Errorf("%s: said %d times that it failed and %d that it works, want once each:\n%s", c, failed, works, said.String())
			}
		}
	})
}

func TestADeviceThatFailsIsOpenedAnewWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.log("begin", tsc)
		m, stop := run(t, w, nil)
		defer stop()
		w.set(func() { w.logErr = errors.New("the device is gone") })
		time.Sleep(time.Minute)
		w.log(delayed, marked)
		time.Sleep(time.Minute)
		w.set(func() { w.logErr = nil })
		time.Sleep(time.Minute)
		v := m.View()
		if v.Log.Kinds[event.Switched] != 1 || v.Log.Kinds[event.DelayVerdict] != 1 || v.Log.Records != 4 || v.Log.Lost != 0 {
			t.Errorf("log %+v", v.Log)
		}
	})
}

func TestOverrunsAreCountedAndEntered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.log("a", "b", tsc)
		m, stop := run(t, w, nil)
		defer stop()
		w.mu.Lock() // in one go, so that nobody reads in between
		for range 5 {
			w.ring = append(w.ring, fmt.Sprintf("6,%d,100,-;x", w.first+uint64(len(w.ring))))
		}
		w.ring, w.first = w.ring[7:], w.first+7
		w.mu.Unlock()
		w.log(fell)
		synctest.Wait()
		v := m.View()
		if v.Log.Lost != 4 || v.Log.Overruns != 1 || v.Log.Kinds[event.Switched] != 2 || !slices.Contains(kindsOf(v), tally.RecordsLost) {
			t.Errorf("log %+v, timeline %v", v.Log, kindsOf(v))
		}
	})
}

func TestSuspendClockStepsAndHotPlugAreSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.log(tsc)
		m, stop := run(t, w, nil)
		defer stop()
		time.Sleep(time.Minute)
		w.set(func() { w.stepped = -48 * time.Hour })
		time.Sleep(2 * time.Minute)
		w.set(func() { w.stepped = 48 * time.Hour; w.slept += 30 * time.Second })
		time.Sleep(2 * time.Minute)
		w.set(func() { w.cpus = []int{0, 2} })
		time.Sleep(12 * time.Minute)
		w.set(func() { w.cpus = []int{0} })
		time.Sleep(12 * time.Minute)
		w.set(func() { w.cpus = []int{0, 1, 2, 3} })
		time.Sleep(12 * time.Minute)
		w.log(retried)
		synctest.Wait()
		v := m.View()
		watch := v.Watch
		if watch.Suspends != 1 || watch.Verdicts[watchdog.Agreed] < 200 || watch.Verdicts[watchdog.CondemnedSkew] != 0 || watch.Backwards != 0 || v.Log.Kinds[event.Retried] != 1 {
			t.Errorf("watch %+v, log %+v", watch, v.Log)
		}
		if h := v.Collectors[tally.Live]; !h.OK {
			t.Errorf("live watch: %+v", h)
		}
		last := v.Timeline[len(v.Timeline)-1]
		if last.Kind != tally.Retried || !strings.Contains(last.Doubt, "slept") {
			t.Errorf("last entry %+v: want a retry with a doubt about its time", last)
		}
	})
}

func TestTheLiveWatchSeesRealSkewAndClocksThatDisagree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.log(tsc)
		h := &hookOf{}
		m, stop := run(t, w, func(c *Config) { c.Hooks = []Hook{h} })
		defer stop()
		time.Sleep(time.Minute)
		w.set(func() { w.ppm = 50_000 })
		time.Sleep(time.Minute)
		w.set(func() { w.ppm, w.backwards = 0, 5000 })
		time.Sleep(time.Minute)
		v := m.View()
		if v.Watch.Verdicts[watchdog.CondemnedSkew] == 0 || v.Watch.Backwards == 0 || v.Watch.Most != 4950 || v.Watch.Reference != "hpet" {
			t.Errorf("watch %+v", v.Watch)
		}
		told := strings.Join(h.all(), "\n")
		for _, want := range []string{"live-condemned", "backwards time ran backwards by 4950 cycles"} {
			if strings.Count(told, want) != 1 {
				t.Errorf("told\n%s\nwant %q once", told, want)
			}
		}
	})
}

func TestTheStateCannotBeKeptAndNothingElseSuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		w := newWorld()
		w.log(tsc, delayed, marked)
		m, stop := run(t, w, func(c *Config) { c.State = filepath.Join(file, "state.json") })
		defer stop()
		time.Sleep(5 * time.Second)
		v := m.View()
		if h := v.Collectors[tally.Keeper]; h.OK || !strings.Contains(h.Error, "keep the state") {
			t.Errorf("state %+v", h)
		}
		if len(v.Clocks.Condemned) != 1 {
			t.Errorf("given up %v", condemnedOf(v))
		}
	})
}

func TestADayChangesNothingInSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.log("begin", tsc)
		m, stop := run(t, w, func(c *Config) { c.State = filepath.Join(t.TempDir(), "state.json") })
		size := func() string {
			v := m.View()
			s := v.State
			return fmt.Sprint(len(s.Clocks.Seen), len(s.Clocks.Switches), len(s.Log.Kinds), len(v.History))
		}
		time.Sleep(7 * time.Hour) // until the history is full
		before, used := size(), usedNow(t)
		began := time.Now()
		for time.Since(began) < 24*time.Hour {
			w.log(retried, "usb: something else")
			w.set(func() { w.ring, w.first = w.ring[2:], w.first+2 })
			time.Sleep(10 * time.Minute)
		}
		later := usedNow(t)
		if later.goroutines != used.goroutines || later.descriptors > used.descriptors || later.heap > used.heap+1<<20 {
			t.Errorf("before %+v, a day later %+v", used, later)
		}
		v := m.View()
		after := strings.Replace(size(), "2 360", "1 360", 1) // one kind of event more
		if before != after {
			t.Errorf("size %s, a day later %s", before, after)
		}
		if v.Log.Kinds[event.Retried] != 24*6 || v.Log.Lost != 0 || v.Watch.Ticks < 24*60*12 || m.Healthy() != nil {
			t.Errorf("log %+v, ticks %d, healthy %v", v.Log, v.Watch.Ticks, m.Healthy())
		}
		if len(v.Timeline) > 2*32 {
			t.Errorf("%d entries", len(v.Timeline))
		}
		stop()
	})
}

// usage is what grows where something leaks.
type usage struct {
	goroutines, descriptors int
	heap                    uint64 // bytes in use
}

func usedNow(t *testing.T) usage {
	t.Helper()
	synctest.Wait()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{runtime.NumGoroutine(), len(open), m.HeapAlloc}
}

// A flood as a kernel can log it, a third of it lines that matter.
func BenchmarkAFlood(b *testing.B) {
	m, err := New(Config{Sources: newWorld().sources(), Watch: plan})
	if err != nil {
		b.Fatal(err)
	}
	const lines = 2000
	var text bytes.Buffer
	var batch kmsg.Batch
	for i := range lines {
		line := [...]string{retried, "usb 1-1: new high-speed USB device number 5 using xhci_hcd", "EXT4-fs (sda1): mounted filesystem with ordered data mode"}[i%3]
		fmt.Fprintf(&text, "4,%d,%d,-;%s\n", i, i*10, line)
		batch.Numbers = append(batch.Numbers, uint64(i))
	}
	batch.Text = text.Bytes()
	reader := &logReader{}
	for b.Loop() {
		m.take(reader, &batch)
	}
	b.ReportMetric(float64(lines*b.N)/b.Elapsed().Seconds(), "lines/s")
}
