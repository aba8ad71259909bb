package bench

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

// script is a machine whose time advances by what is read, and by nothing else.
type script struct {
	mu    sync.Mutex
	t     time.Duration
	timer time.Duration // what reading the timer takes
	reads map[Way]int
	order []Way    // of the batches
	names []string // of the clocksource, one for each time it is asked
}

func newScript(timer time.Duration, names ...string) *script {
	return &script{timer: timer, reads: map[Way]int{}, names: names}
}

func (s *script) rig() rig {
	return rig{
		now: func() time.Duration {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t += s.timer
			return s.t
		},
		quietly: func(f func()) { f() },
		current: func() string {
			s.mu.Lock()
			defer s.mu.Unlock()
			name := s.names[0]
			if len(s.names) > 1 {
				s.names = s.names[1:]
			}
			return name
		},
	}
}

// way is a clock that takes so long to read. Its values are the script's time.
func (s *script) way(w Way, price time.Duration) way {
	advance := func(n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t += time.Duration(n) * price
		s.reads[w] += n
		s.order = append(s.order, w)
	}
	return way{
		Way: w, unit: Nanoseconds,
		batch: func(n int) error { advance(n); return nil },
		values: func(out []uint64) error {
			for i := range out {
				advance(1)
				s.mu.Lock()
				out[i] = uint64(s.t)
				s.mu.Unlock()
			}
			return nil
		},
	}
}

var (
	byVDSO = Way{Path: PathVDSO, Clock: "monotonic"}
	byCall = Way{Path: PathSyscall, Clock: "monotonic"}
)

func TestBatchesMeasureThePriceOfARead(t *testing.T) {
	for _, tt := range []struct {
		name              string
		timer, fast, slow time.Duration
	}{
		{"a timer of 20 ns", 20, 15, 115},
		{"a timer as slow as an HPET", 1500, 1500, 1600},
		{"reads below the timer's own step", 1, 1, 2},
		{"reads that take longer than a batch is to", 50, 10, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(tt.timer, "tsc")
			r := s.rig()
			p := Plan{Batches: 21}.withDefaults()
			target := batchTime(p.BatchTime, r.timer(8), false)
			costs, err := r.costs(t.Context(), []way{s.way(byVDSO, tt.fast), s.way(byCall, tt.slow)}, p, target)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []time.Duration{tt.fast, tt.slow} {
				c := costs[i]
				// One reading of the timer is in each batch, and may be 0.1 % of it.
				if c.Median < float64(want) || c.Median > float64(want)*1.0011+1e-9 {
					t.Errorf("%s: %.3f ns, want %v to 0.1 %% more", c.Name(), c.Median, want)
				}
				if c.Batches != 21 || c.Reads != 21*c.BatchReads || c.Low > c.Median || c.High < c.Median {
					t.Errorf("%s: %+v", c.Name(), c)
				}
			}
		})
	}
}

func TestWaysAreMeasuredInTurnAndBackAgain(t *testing.T) {
	s := newScript(10, "tsc")
	r := s.rig()
	p := Plan{Batches: 4, WarmUp: 1}.withDefaults()
	if _, err := r.costs(t.Context(), []way{s.way(byVDSO, 20), s.way(byCall, 100)}, p, p.BatchTime); err != nil {
		t.Fatal(err)
	}
	got := s.order[len(s.order)-8:]
	for i, want := range []Way{byVDSO, byCall, byCall, byVDSO, byVDSO, byCall, byCall, byVDSO} {
		if got[i] != want {
			t.Fatalf("batch %d is of %s: %v", i, got[i].Name(), got)
		}
	}
}

func TestABatchIsLongAgainstItsTimer(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, tt := range []struct {
		name          string
		wanted, timer time.Duration
		restrained    bool
		want          time.Duration
	}{
		{"a fast timer leaves it as it is", 200 * us, 20, false, 200 * us},
		{"a slow timer makes it longer", 200 * us, 1500, false, 1500 * us},
		{"a very slow one does so up to a bound", 200 * us, 100 * us, false, 20 * ms},
		{"a wish beyond the bound stays", 50 * ms, 100 * us, false, 50 * ms},
		{"where the timer must not be read often it is a tenth of a second", 200 * us, 1500, true, 100 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := batchTime(tt.wanted, tt.timer, tt.restrained); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestMeasuringStopsWhereItWouldLie(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("no such clock")
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		timer time.Duration
		names []string
		spoil func(w *way)
		want  string
	}{
		{"the kernel changes its clocksource", t.Context(), 10, []string{"tsc", "tsc", "hpet"}, func(*way) {}, errChanged.Error()},
		{"the context ends", gone, 10, []string{"tsc"}, func(*way) {}, context.Canceled.Error()},
		{"a way fails", t.Context(), 10, []string{"tsc"}, func(w *way) { w.batch = func(int) error { return broken } }, "read vdso monotonic: no such clock"},
		{"the timer stands still", t.Context(), 0, []string{"tsc"}, func(w *way) { w.batch = func(int) error { return nil } }, "did not advance"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(tt.timer, tt.names...)
			r := s.rig()
			w := s.way(byVDSO, 20)
			tt.spoil(&w)
			p := Plan{Batches: 1000, WarmUp: 1}.withDefaults()
			_, err := r.costs(tt.ctx, []way{w}, p, p.BatchTime)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSingleReadsShowTheStepOfTheClock(t *testing.T) {
	s := newScript(10, "tsc")
	r := s.rig()
	steps, err := r.steps(t.Context(), []way{s.way(byVDSO, 25)}, Plan{Singles: 5000}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	// 5000 reads are two rows of 2048 and one of 904: three steps fewer.
	got := steps[0]
	if got.Count != 4997 || got.Smallest != 25 || got.Max != 25 || got.Resolution != 25 || got.Unit != Nanoseconds || got.Backward != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAWayThatDoesNotWorkIsSetAside(t *testing.T) {
	s := newScript(10, "tsc")
	r := s.rig()
	bad := s.way(byCall, 100)
	bad.batch = func(int) error { return errors.New("invalid argument") }
	good, skipped := r.working([]way{s.way(byVDSO, 25), bad})
	if len(good) != 1 || good[0].Way != byVDSO || len(skipped) != 1 || skipped[0] != (Skipped{byCall, "invalid argument"}) {
		t.Errorf("good %d, skipped %+v", len(good), skipped)
	}
}

// desk does the work of each CPU in the goroutine that asks.
type desk struct{ offline int }

func (d desk) Do(_ context.Context, cpu int, f func()) error {
	if cpu == d.offline {
		return errors.New("it is offline")
	}
	f()
	return nil
}

func TestTwoCPUsReadInTurn(t *testing.T) {
	ticks := func(step uint64) way {
		var mu sync.Mutex
		var v uint64
		return way{Way: byVDSO, unit: Nanoseconds, values: func(out []uint64) error {
			mu.Lock()
			defer mu.Unlock()
			v += step
			out[0] = v
			return nil
		}}
	}
	base := time.Now()
	r := rig{now: func() time.Duration { return time.Since(base) }, quietly: func(f func()) { f() }, current: func() string { return "tsc" }}
	p := Plan{Turns: 100, TurnTime: time.Minute}.withDefaults()

	c := r.cross(t.Context(), desk{offline: -1}, ticks(1), [2]int{0, 1}, p)
	if !c.Complete || c.Turns != 100 || c.Backward != 0 || c.Why != "" {
		t.Errorf("a clock that goes forward: %+v", c)
	}
	c = r.cross(t.Context(), desk{offline: -1}, ticks(math.MaxUint64), [2]int{0, 1}, p) // by -1 each time
	if !c.Complete || c.Backward != 99 || c.Farthest != 1 {
		t.Errorf("a clock that goes backwards: %+v", c)
	}
	c = r.cross(t.Context(), desk{offline: 1}, ticks(1), [2]int{0, 1}, p)
	if c.Complete || !strings.Contains(c.Why, "on CPU 1: it is offline") {
		t.Errorf("a CPU that is offline: %+v", c)
	}
	p.TurnTime = time.Nanosecond
	c = r.cross(t.Context(), desk{offline: -1}, ticks(1), [2]int{0, 1}, p)
	if c.Complete && c.Turns != 100 || c.Why != "" {
		t.Errorf("turns that took too long: %+v", c)
	}
}

func TestACrowdIsMeasuredByRounds(t *testing.T) {
	s := newScript(10, "tsc")
	r := s.rig()
	p := Plan{Rounds: 7, RoundTime: time.Millisecond}.withDefaults()
	c, err := r.crowd(t.Context(), desk{offline: -1}, s.way(byVDSO, 20), 1000, []int{4}, p)
	if err != nil {
		t.Fatal(err)
	}
	// 1000 reads take 20 us, and three readings of the timer stand beside them.
	if c.Rounds != 7 || c.ReadsPerSecond.Median < 49.8e6 || c.ReadsPerSecond.Median > 50e6 || c.Fairness.Median != 1 || len(c.PerCPU) != 1 || c.PerCPU[0].CPU != 4 {
		t.Errorf("%+v", c)
	}
	if got := c.PerCPU[0].Median; got < 20 || got > 20.02 {
		t.Errorf("%.3f ns a read, want 20", got)
	}
	c, err = r.crowd(t.Context(), desk{offline: 5}, s.way(byVDSO, 20), 1000, []int{4, 5}, p)
	if err != nil || !strings.Contains(c.Why, "CPU 5: it is offline") {
		t.Errorf("a CPU that is offline: %+v, %v", c, err)
	}
	s.names = []string{"tsc", "tsc", "hpet"}
	if _, err := r.crowd(t.Context(), desk{offline: -1}, s.way(byVDSO, 20), 1000, []int{4}, p); !errors.Is(err, errChanged) {
		t.Errorf("a changed clocksource: %v", err)
	}
}

func TestTheRateOfAShareIsItsReadsInItsTime(t *testing.T) {
	s := share{batches: []Batch{{Reads: 500, Took: 400}, {Reads: 500, Took: 450}}, took: time.Microsecond}
	if got := s.rate(); got != 1e9 {
		t.Errorf("%g reads/s, want 1e9", got)
	}
	if got := (share{}).rate(); got != 0 {
		t.Errorf("a CPU that read nothing: %g reads/s", got)
	}
}
