package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/kmsg"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// world is a machine whose log, files and counters are as a test says. Its time is that of the test's bubble.
type world struct {
	mu        sync.Mutex
	base      time.Time
	boot      string
	ring      []string // records that are still there; the number of the first is first
	first     uint64
	news      chan struct{} // closed and made anew when something is logged
	logErr    error         // of opening, and of the next read
	sysfsErr  error
	current   string
	available []string
	slept     time.Duration
	stepped   time.Duration // of the wall clock
	price     float64
	ppm       int64 // by which the TSC is fast of the reference
	backwards clocksource.Cycles
	cpus      []int
	opens     int // of the log
	sessions  int
}

func newWorld() *world {
	return &world{
		base: time.Now(), boot: "boot-1", news: make(chan struct{}), current: "tsc", available: []string{"tsc", "hpet", "acpi_pm"},
		price: 20, cpus: []int{0, 1, 2},
	}
}

// set changes the world.
func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.news)
	w.news = make(chan struct{})
}

// log logs lines, stamped with now.
func (w *world) log(lines ...string) {
	w.set(func() {
		for _, l := range lines {
			at := time.Since(w.base) - w.slept
			w.ring = append(w.ring, fmt.Sprintf("6,%d,%d,-;%s", w.first+uint64(len(w.ring)), at.Microseconds(), l))
		}
	})
}

// overwrite drops the oldest records.
func (w *world) overwrite(n int) {
	w.set(func() { w.ring, w.first = w.ring[n:], w.first+uint64(n) })
}

func (w *world) sources() Sources {
	return Sources{
		Boot: func() (string, error) { return w.boot, nil },
		Tail: func(from uint64) (Tail, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.opens++
			return &worldTail{w: w, next: from}, w.logErr
		},
		Clocksources: func() (string, []string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.current, slices.Clone(w.available), w.sysfsErr
		},
		Stamps: func() tally.Stamps {
			w.mu.Lock()
			defer w.mu.Unlock()
			return tally.Stamps{Now: time.Now().Add(w.stepped).UTC(), Monotonic: time.Since(w.base) - w.slept, Slept: w.slept}
		},
		Surroundings: func() (doctor.Evidence, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			s := &machine.Snapshot{Schema: machine.Schema, Live: true, Host: "host", Arch: "x86_64"}
			s.Clocksource.Current, s.Clocksource.Available = w.current, slices.Clone(w.available)
			return doctor.Evidence{Snapshot: s, Inputs: doctor.Inputs{Live: true}}, w.sysfsErr
		},
		Open: func(ctx context.Context, o live.Options) (*live.Session, error) {
			w.mu.Lock()
			w.sessions++
			w.mu.Unlock()
			return live.OpenOn(ctx, o, w.hardware())
		},
		Price: func(context.Context) (machine.Cost, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return machine.Cost{ReadNS: w.price, ReadP99NS: w.price, SyscallNS: 100, Path: "vdso", Clocksource: w.current}, nil
		},
	}
}

// plan watches by the rules of 6.9.
func plan(s *machine.Snapshot) (WatchPlan, error) {
	p, ok := watchdog.ProfileOf(watchdog.E9)
	if !ok {
		return WatchPlan{}, errors.New("no E9")
	}
	return WatchPlan{Options: live.Options{Profile: p, Retries: -1, Reference: live.Auto,
		Surroundings: hw.Surroundings{Clocksource: s.Clocksource.Current, Guest: machine.No}}}, nil
}

// worldTail is the world's log from a record on.
type worldTail struct {
	w     *world
	next  uint64
	begun bool
}

func (t *worldTail) Close() error { return nil }

func (t *worldTail) Next(ctx context.Context) (*kmsg.Batch, error) {
	for {
		t.w.mu.Lock()
		news, err := t.w.news, t.w.logErr
		var b kmsg.Batch
		var text strings.Builder
		for i, r := range t.w.ring {
			n := t.w.first + uint64(i)
			if n < t.next || err != nil || len(b.Numbers) == 1000 {
				continue
			}
			if n > t.next && t.next > 0 {
				b.Lost, b.Overruns = n-t.next, 1
			}
			t.next = n + 1
			text.WriteString(r + "\n")
			b.Numbers = append(b.Numbers, n)
		}
		b.UpToNow = err == nil && t.next >= t.w.first+uint64(len(t.w.ring))
		t.w.mu.Unlock()
		if b.Text = []byte(text.String()); len(b.Numbers) > 0 || b.UpToNow && !t.begun {
			t.begun = t.begun || b.UpToNow
			return &b, nil
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-news:
		}
	}
}

func (w *world) hardware() live.Hardware {
	hpet := hw.Availability{Counter: hw.Counter{Name: hw.HPET, Hz: 25_000_000, Mask: clocksource.Mask32}, Can: machine.Yes}
	tsc := hw.Availability{Counter: hw.Counter{Name: "tsc", Mask: clocksource.Mask64}, Can: machine.Yes}
	return live.Hardware{
		Counter: "tsc", Probe: func() []hw.Availability { return []hw.Availability{tsc, hpet} },
		Frequency: func(context.Context) (hw.Frequency, error) {
			return hw.Frequency{Hz: 2_500_000_000, From: "test", Exact: "exact"}, nil
		},
		Reader: func(string) (live.ReadCloser, error) { return worldReader{w, hpet.Counter}, nil },
		World:  w,
		Close:  func() error { return nil },
	}
}

// worldReader reads an HPET and a TSC, a microsecond from read to read.
type worldReader struct {
	w       *world
	counter hw.Counter
}

func (r worldReader) Close() error          { return nil }
func (r worldReader) Reference() hw.Counter { return r.counter }

func (r worldReader) ReadBack(rb *hw.ReadBack) error {
	now := r.w.Now()
	hpet := func(at clocksource.Nanos) clocksource.Cycles {
		return r.counter.Hz.CyclesIn(at) & clocksource.Cycles(r.counter.Mask)
	}
	r.w.mu.Lock()
	ppm := r.w.ppm
	r.w.mu.Unlock()
	*rb = hw.ReadBack{Before: hpet(now), Clock: clocksource.Hz(2_500_000_000).CyclesIn(now + now*clocksource.Nanos(ppm)/1_000_000), After: hpet(now + 2000), Again: hpet(now + 3000)}
	return nil
}

func (w *world) Now() clocksource.Nanos {
	w.mu.Lock()
	defer w.mu.Unlock()
	return clocksource.Nanos(time.Since(w.base) - w.slept)
}

func (w *world) Slept() clocksource.Nanos {
	w.mu.Lock()
	defer w.mu.Unlock()
	return clocksource.Nanos(w.slept)
}

func (w *world) Sleep(ctx context.Context, until clocksource.Nanos) error {
	return hw.Pause(ctx, time.Duration(until-w.Now()))
}

func (w *world) CPUs() ([]int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.cpus), nil
}

func (w *world) On(cpu int, f func()) error {
	if cpus, _ := w.CPUs(); !slices.Contains(cpus, cpu) {
		return fmt.Errorf("CPU %d is offline", cpu)
	}
	f()
	return nil
}

func (w *world) Usage(int) hw.Usage { return hw.Usage{} }

func (w *world) Exchange(control, remote int, _ clocksource.Nanos) (hw.Exchange, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.cpus, remote) {
		return hw.Exchange{}, fmt.Errorf("CPU %d is offline", remote)
	}
	e := hw.Exchange{ControlCPU: control, RemoteCPU: remote, Completed: true}
	at := clocksource.Cycles(1_000_000)
	for range 5 {
		e.Control, e.Remote = append(e.Control, at), append(e.Remote, at+50-w.backwards)
		at += 100
	}
	return e, nil
}

func (w *world) ReadRemote(int, int) (before, there, after clocksource.Cycles, err error) {
	return 1, 2, 3, nil
}

// hookOf is a hook that writes down what it is told.
type hookOf struct {
	mu   sync.Mutex
	told []string
	then func(tally.Entry) // after each
}

func (h *hookOf) Name() string { return "test" }

func (h *hookOf) Offer(e tally.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, fmt.Sprintf("%d %s %s", e.Number, e.Kind, e.Summary))
	if h.then != nil {
		go h.then(e)
	}
}

func (h *hookOf) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.told)
}
