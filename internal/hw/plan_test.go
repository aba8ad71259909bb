package hw

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/google/go-cmp/cmp"
)

// script is a machine for the loop of read-backs: each read-back takes 1 us,
// unless the script says how long the next ones take.
type script struct {
	now     clocksource.Nanos
	cpu     int
	delays  []clocksource.Nanos // of the read-backs to come
	usages  []Usage             // one for each time it is asked; the last one stays
	offline int                 // a CPU that is gone, -1 for none
	readErr error
	freed   int // how often the thread was set free
	waited  []clocksource.Nanos
	stopAt  clocksource.Nanos // stop when waiting for this time or later; 0: never
}

func (s *script) rig() *rig {
	return &rig{
		reference: Counter{Name: "scripted", Hz: 1e9, Mask: clocksource.Mask64},
		pin: func(cpu int) error {
			if cpu == s.offline {
				return errors.New("it is offline")
			}
			s.cpu = cpu
			return nil
		},
		free: func() { s.freed++ },
		read: func(rb *ReadBack) error {
			delay := clocksource.Microsecond
			if len(s.delays) > 0 {
				delay, s.delays = s.delays[0], s.delays[1:]
			}
			*rb = ReadBack{Before: clocksource.Cycles(s.now), Clock: clocksource.Cycles(1000 + s.cpu)}
			s.now += delay
			rb.After = clocksource.Cycles(s.now)
			rb.Again = rb.After + 1
			return s.readErr
		},
		usage: func(int, bool) Usage {
			var u Usage
			if len(s.usages) > 0 {
				u = s.usages[0]
			}
			if len(s.usages) > 1 {
				s.usages = s.usages[1:]
			}
			return u
		},
		now: func() clocksource.Nanos { return s.now },
		wait: func(until clocksource.Nanos) bool {
			s.waited = append(s.waited, until)
			s.now = max(s.now, until)
			return s.stopAt > 0 && until >= s.stopAt
		},
	}
}

// cpusOf runs a plan and returns which CPUs each tick read how often.
func cpusOf(t *testing.T, s *script, p Plan) (ticks [][]int) {
	t.Helper()
	err := s.rig().run(p, func(k *Tick) error {
		var row []int
		for _, g := range k.Groups {
			row = append(row, g.CPU, len(g.Samples))
			if (g.Skipped != "") != (len(g.Samples) == 0) {
				t.Errorf("CPU %d has %d samples, skipped because %q", g.CPU, len(g.Samples), g.Skipped)
			}
		}
		ticks = append(ticks, row)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ticks
}

func TestCPUsTakeTurns(t *testing.T) {
	for _, tt := range []struct {
		name    string
		plan    Plan
		offline int
		want    [][]int
	}{
		{"one after the other, and around", Plan{CPUs: []int{0, 2, 5}, Ticks: 4, ReadBacks: 1}, -1, [][]int{{0, 1}, {2, 1}, {5, 1}, {0, 1}}},
		{"the boot CPU is read beside the others", Plan{CPUs: []int{0, 1}, Ticks: 3, ReadBacks: 2, AlsoBoot: true}, -1, [][]int{{0, 2}, {1, 2, 0, 2}, {0, 2}}},
		{"a CPU that went offline is passed over", Plan{CPUs: []int{0, 1}, Ticks: 3, ReadBacks: 2}, 1, [][]int{{0, 2}, {1, 0}, {0, 2}}},
		{"eight read-backs unless said otherwise", Plan{CPUs: []int{3}, Ticks: 1}, -1, [][]int{{3, 8}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, cpusOf(t, &script{offline: tt.offline}, tt.plan)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadBacksEndWithTheFirstGoodOne(t *testing.T) {
	late := 60 * clocksource.Microsecond
	p := Plan{CPUs: []int{0}, Ticks: 3, ReadBacks: 4, UntilGood: true}
	s := &script{offline: -1, delays: []clocksource.Nanos{1000, late, late, 1000, late, late, late, late}}
	if d := cmp.Diff([][]int{{0, 1}, {0, 3}, {0, 4}}, cpusOf(t, s, p)); d != "" {
		t.Error(d)
	}
}

func TestLateReadBacksAreMarkedWithTheirCause(t *testing.T) {
	s := &script{offline: -1,
		delays: []clocksource.Nanos{50_000, 50_001, 50_001, 50_001},
		usages: []Usage{{}, {Involuntary: 1}, {Involuntary: 2}, {Involuntary: 2, Interrupts: 0, Counted: true}, {Involuntary: 2, Interrupts: 4, Counted: true}},
	}
	var got []Sample
	if err := s.rig().run(Plan{CPUs: []int{0}, Ticks: 1, ReadBacks: 4}, func(k *Tick) error {
		got = append(got, k.Groups[0].Samples...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		late  bool
		cause Cause
	}{{false, ""}, {true, Preempted}, {true, Unexplained}, {true, Interrupted}}
	for i, w := range want {
		if got[i].Late != w.late || got[i].Cause != w.cause {
			t.Errorf("read-back %d: late %v, %q; want %v, %q", i, got[i].Late, got[i].Cause, w.late, w.cause)
		}
	}
}

func TestTicksKeepTheirDistance(t *testing.T) {
	const half = 500 * clocksource.Millisecond
	s := &script{offline: -1, delays: []clocksource.Nanos{1000, 1_700 * clocksource.Millisecond, 1000, 1000}}
	cpusOf(t, s, Plan{CPUs: []int{0}, Ticks: 4, ReadBacks: 1})
	// The second tick takes 1.7 s: the third was due meanwhile and comes at once, and the
	// fourth half a second after that one, not sooner.
	want := []clocksource.Nanos{0, half, 2 * half, 2*half + 1_700*clocksource.Millisecond}
	if d := cmp.Diff(want, s.waited); d != "" {
		t.Error(d)
	}
}

func TestLoopEnds(t *testing.T) {
	boom := errors.New("boom")
	t.Run("when it is told to while it waits", func(t *testing.T) {
		s := &script{offline: -1, stopAt: 1_200 * clocksource.Millisecond}
		if got := cpusOf(t, s, Plan{CPUs: []int{0}, ReadBacks: 1}); len(got) != 3 {
			t.Errorf("%d ticks, want 3", len(got))
		}
		if s.freed != 3 {
			t.Errorf("the thread was set free %d times in 3 ticks", s.freed)
		}
	})
	t.Run("with the error of a read", func(t *testing.T) {
		s := &script{offline: -1, readErr: boom}
		if err := s.rig().run(Plan{CPUs: []int{7}}, func(*Tick) error { return nil }); !errors.Is(err, boom) || !strings.Contains(err.Error(), "CPU 7") || s.freed != 1 {
			t.Errorf("error %v, set free %d times; want boom on CPU 7, once", err, s.freed)
		}
	})
	t.Run("with the error of the consumer", func(t *testing.T) {
		if err := (&script{offline: -1}).rig().run(Plan{CPUs: []int{0}}, func(*Tick) error { return boom }); !errors.Is(err, boom) {
			t.Errorf("error %v, want boom", err)
		}
	})
	t.Run("at once without a CPU", func(t *testing.T) {
		if err := (&script{}).rig().run(Plan{}, func(*Tick) error { return nil }); err == nil {
			t.Error("no error")
		}
	})
}

func TestLoopDoesNotAllocate(t *testing.T) {
	s := &script{offline: -1}
	r := s.rig()
	r.wait = func(clocksource.Nanos) bool { return false }
	measure := func(ticks int) float64 {
		return testing.AllocsPerRun(10, func() {
			if err := r.run(Plan{CPUs: []int{0, 1}, AlsoBoot: true, Ticks: ticks}, func(*Tick) error { return nil }); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := measure(4), measure(400); few != many {
		t.Errorf("4 ticks allocate %v times and 400 ticks %v times, want the same", few, many)
	}
}

func TestPlanIsCheckedWhole(t *testing.T) {
	for _, tt := range []struct {
		name string
		plan Plan
		want []string // each in the error; none: the plan is right
	}{
		{"a reference is enough", Plan{Reference: HPET}, nil},
		{"a watchdog's pace is allowed", Plan{Reference: HPET, Interval: Pace, ReadBacks: 8}, nil},
		{"so are 8 attempts where only late ones are repeated, as kernels do", Plan{Reference: HPET, ReadBacks: 8, UntilGood: true}, nil},
		{"but not more, which come in a row just when it is slow", Plan{Reference: HPET, ReadBacks: 51, UntilGood: true}, []string{"accept the loss"}},
		{"faster is refused", Plan{Reference: HPET, Interval: 100 * time.Millisecond}, []string{"accept the loss"}},
		{"more is refused", Plan{Reference: ACPIPM, ReadBacks: 9}, []string{"accept the loss"}},
		{"unless the loss is accepted", Plan{Reference: HPET, Interval: time.Millisecond, ReadBacks: 256, AcceptLosingTSC: true}, nil},
		{"clocks that no kernel watches with may be read faster", Plan{Reference: MonotonicRaw, Interval: time.Millisecond}, nil},
		{"everything wrong is said", Plan{Interval: 1, Ticks: -1, ReadBacks: 257, Limit: -1, CPUs: []int{0, -3}}, []string{"no reference", "interval of 1ns", "-1 ticks", "257 read-backs", "below 0", "CPU -3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.plan.Validate()
			if (err == nil) != (len(tt.want) == 0) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q lacks %q", err, w)
				}
			}
			if fast := len(tt.want) == 1; fast != errors.Is(err, ErrTooFast) {
				t.Errorf("error %v is ErrTooFast: %v", err, !fast)
			}
		})
	}
}

func TestALateTickDoesNotBringTheNextOneCloser(t *testing.T) {
	const interval = 500_000_000
	for _, c := range []struct {
		name             string
		due, began, want clocksource.Nanos
	}{
		{"in time", 1000, 1000, 1000 + interval},
		{"a little late: the pace is kept", 1000, 1000 + interval/4, 1000 + interval},
		{"late", 1000, 1001 + interval/4, 1001 + interval/4 + interval},
		{"very late", 1000, 20 * interval, 21 * interval},
	} {
		if got := NextDue(c.due, c.began, interval); got != c.want {
			t.Errorf("%s: due at %d, want %d", c.name, got, c.want)
		}
	}
}
