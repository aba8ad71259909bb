package live

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/watchdog"
)

func TestVerdictsFollowTheEra(t *testing.T) {
	slow := func(tick, upTo int) func(*script) {
		return func(s *script) { s.delay = at(tick, upTo, 130*us, 2*us) }
	}
	cases := []struct {
		name     string
		era      watchdog.Era
		cpus     int
		ticks    int
		arrange  func(*script)
		kinds    string
		wantCPUs []int
	}{
		{"a good clock passes, and an era that rotates visits the CPUs in turn", watchdog.E9, 3, 5, nil,
			"initialised agreed agreed agreed agreed", []int{0, 1, 2, 0, 1}},
		{"an era that does not rotate stays on the boot CPU", watchdog.E12, 3, 4, nil,
			"initialised agreed agreed agreed", []int{0, 0, 0, 0}},
		{"2.6.24 reads the reference once a tick", watchdog.E0, 2, 3, nil,
			"initialised agreed agreed", []int{0, 0, 0}},
		{"5.4 does not mind slow reads", watchdog.E4, 2, 3, slow(2, 9), "initialised agreed agreed", []int{0, 1, 0}},
		{"5.15 passes at the fourth attempt", watchdog.E5, 1, 3, slow(2, 3), "initialised agreed agreed", []int{0, 0, 0}},
		{"5.15 condemns after four slow attempts, and nothing is left to watch", watchdog.E5, 1, 5, slow(2, 4),
			"initialised condemned-delay", []int{0, 0}},
		{"7.1 only forgets after three slow attempts", watchdog.E12, 1, 4, slow(2, 3),
			"initialised timed-out initialised agreed", []int{0, 0, 0, 0}},
		{"5.17 skips a check where the reference itself is slow", watchdog.E6, 1, 4, func(s *script) {
			s.delay, s.gap = at(2, 1, 130*us, 2*us), at(2, 1, 80*us, us)
		}, "initialised skipped agreed agreed", []int{0, 0, 0, 0}},
		{"a counter that runs off is condemned for skew", watchdog.E5, 2, 6, func(s *script) {
			s.rate = func(tick int) clocksource.Nanos { return map[bool]clocksource.Nanos{true: 1000}[tick >= 4] }
		}, "initialised agreed agreed condemned-skew", []int{0, 1, 0, 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, way := range []struct {
				name string
				run  func(Config, *script) result
			}{{"reader", run}, {"stream", runStream}} {
				s := newScript(c.cpus)
				if c.arrange != nil {
					c.arrange(s)
				}
				r := way.run(configOf(s, c.era, c.ticks), s)
				if r.err != nil {
					t.Fatalf("%s: %v", way.name, r.err)
				}
				if got := strings.Join(r.kinds, " "); got != c.kinds {
					t.Errorf("%s: verdicts\n%s, want\n%s", way.name, got, c.kinds)
				}
				if diff := cmp.Diff(c.wantCPUs, r.cpus); diff != "" {
					t.Errorf("%s: CPUs (-want +got):\n%s", way.name, diff)
				}
				if len(s.visited) == len(r.cpus) { // nothing was read twice
					if diff := cmp.Diff(r.cpus, s.visited); diff != "" {
						t.Errorf("%s: CPUs of the read-backs (-ticks +read-backs):\n%s", way.name, diff)
					}
				}
			}
		})
	}
}

func TestAWatchThatBeginsAnewGoesOnWhereAKernelWouldNot(t *testing.T) {
	cases := []struct {
		name    string
		era     watchdog.Era
		cpus    int
		arrange func(*script)
		kinds   string
	}{
		{"after slow reads", watchdog.E5, 1, func(s *script) { s.delay = at(2, 4, 130*us, 2*us) }, "initialised condemned-delay initialised agreed agreed"},
		{"after a skip, without the pause", watchdog.E7, 2, func(s *script) {
			s.delay, s.gap = at(3, 1, 200*us, 2*us), at(3, 1, 90*us, us)
		}, "initialised agreed skipped initialised agreed"},
		{"after each skew", watchdog.E5, 2, func(s *script) { s.rate = func(int) clocksource.Nanos { return 1000 } },
			"initialised condemned-skew initialised condemned-skew initialised"},
		{"after CPUs that disagree", watchdog.E12, 2, func(s *script) {
			s.exchange = func(tick int, e *hw.Exchange) error {
				if tick == 2 {
					e.Remote[2] = 7
				}
				return nil
			}
		}, "initialised condemned-cpus initialised agreed agreed"},
	}
	for _, c := range cases {
		for _, way := range []func(Config, *script) result{run, runStream} {
			s := newScript(c.cpus)
			c.arrange(s)
			config := configOf(s, c.era, 5)
			config.Anew = true
			r := way(config, s)
			if got := strings.Join(r.kinds, " "); r.err != nil || got != c.kinds {
				t.Errorf("%s: verdicts %s, error %v; want %s", c.name, got, r.err, c.kinds)
			}
			for i := 1; i < len(s.starts); i++ {
				if s.starts[i]-s.starts[i-1] < halfSecond {
					t.Errorf("%s: tick %d came %d ns after the one before", c.name, i+1, s.starts[i]-s.starts[i-1])
				}
			}
		}
	}
}

func TestAfterASkipTheEraPausesForFiveMinutes(t *testing.T) {
	s := newScript(2)
	s.delay, s.gap = at(3, 1, 200*us, 2*us), at(3, 1, 90*us, us)
	r := run(configOf(s, watchdog.E7, 610), s)
	if r.err != nil {
		t.Fatal(r.err)
	}
	if got := strings.Join(r.kinds[:5], " "); got != "initialised agreed skipped - -" {
		t.Errorf("verdicts %s", got)
	}
	if r.idle[3] == "" || r.kinds[602] != "-" || r.kinds[603] != "initialised" || r.kinds[604] != "agreed" {
		t.Errorf("ticks 603 to 605: %q, want the pause to end after 600 ticks and a new pair", r.kinds[602:605])
	}
	sum := r.watch.Summary()
	if sum.Idle != 600 || sum.Checks != 10 || sum.Verdicts[watchdog.Skipped] != 1 {
		t.Errorf("summary %+v", sum)
	}
	if len(s.visited) != 10 {
		t.Errorf("%d read-backs, want none during the pause", len(s.visited))
	}
}

func TestLateReadBacksAreCountedByCauseAndPreemptedOnesApart(t *testing.T) {
	s := newScript(1)
	causes := map[int]hw.Cause{2: hw.Preempted, 3: hw.Interrupted, 4: hw.Unexplained}
	s.delay = func(tick, attempt int) clocksource.Nanos {
		switch {
		case attempt > 1 || causes[tick] == "":
			return 2 * us
		case causes[tick] == hw.Preempted:
			return 4000 * us
		}
		return 80 * us
	}
	s.cause = func(tick, attempt int) hw.Cause {
		if attempt == 1 {
			return causes[tick]
		}
		return ""
	}
	for _, way := range []func(Config, *script) result{run, runStream} {
		copied := *s
		r := way(configOf(&copied, watchdog.E5, 6), &copied)
		if r.err != nil {
			t.Fatal(r.err)
		}
		got := r.watch.Summary()
		if diff := cmp.Diff(LateReads{1, 1, 1}, got.LateReads); diff != "" {
			t.Errorf("late read-backs (-want +got):\n%s", diff)
		}
		if got.ReadBacks != 9 || got.Delays.Count != 8 || got.Delays.Max > 81*us || got.Delays.Min > 3*us {
			t.Errorf("%d read-backs, distribution %+v: want 9, and the preempted one not in it", got.ReadBacks, got.Delays)
		}
		if diff := cmp.Diff([]int{1, 2, 2, 2, 1, 1}, r.attempts); diff != "" {
			t.Errorf("the era gets the preempted read-back, too: attempts (-want +got):\n%s", diff)
		}
	}
}

func TestCPUsAreCompared(t *testing.T) {
	back := func(e *hw.Exchange) { e.Remote[2] = e.Control[2] - 300 }
	cases := []struct {
		name     string
		era      watchdog.Era
		cpus     int
		exchange func(int, *hw.Exchange) error
		pairs    [][2]int
		kind     string // of the fourth tick
		want     ExchangeCount
	}{
		{"7.1 asks one other CPU a tick, and none at its own turn", watchdog.E12, 3, nil,
			[][2]int{{0, 1}, {0, 2}}, "agreed", ExchangeCount{Made: 2, Completed: 2}},
		{"in other eras the watch compares all the same", watchdog.E5, 3, nil,
			[][2]int{{0, 1}, {0, 2}, {0, 1}}, "agreed", ExchangeCount{Made: 3, Completed: 3}},
		{"with one CPU there is nothing to compare", watchdog.E5, 1, nil, nil, "agreed", ExchangeCount{}},
		{"7.1 condemns where time runs backwards", watchdog.E12, 2,
			func(tick int, e *hw.Exchange) error { back(e); return nil },
			[][2]int{{0, 1}}, "", ExchangeCount{Made: 1, Completed: 1, Backwards: 1, Most: 300}},
		{"5.15 does not, but it is counted", watchdog.E5, 2,
			func(tick int, e *hw.Exchange) error { back(e); return nil },
			[][2]int{{0, 1}, {0, 1}}, "agreed", ExchangeCount{Made: 2, Completed: 2, Backwards: 2, Most: 300}},
		{"the order of the two first reads means nothing", watchdog.E12, 2,
			func(_ int, e *hw.Exchange) error { e.Remote[0] = e.Control[0] - 900; return nil },
			[][2]int{{0, 1}, {0, 1}}, "agreed", ExchangeCount{Made: 2, Completed: 2}},
		{"a CPU that is taken is no fault", watchdog.E12, 2,
			func(_ int, e *hw.Exchange) error {
				*e = hw.Exchange{ControlCPU: e.ControlCPU, RemoteCPU: e.RemoteCPU, Busy: true}
				return nil
			}, [][2]int{{0, 1}, {0, 1}}, "remote-timed-out", ExchangeCount{Made: 2, Busy: 2}},
		{"a comparison that fails is counted with its reason", watchdog.E12, 2,
			func(int, *hw.Exchange) error { return errors.New("no second thread") },
			[][2]int{{0, 1}, {0, 1}}, "remote-timed-out", ExchangeCount{Failed: 2, Why: "no second thread"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(c.cpus)
			s.exchange = c.exchange
			r := run(configOf(s, c.era, 4), s)
			if r.err != nil {
				t.Fatal(r.err)
			}
			if diff := cmp.Diff(c.pairs, s.pairs); diff != "" {
				t.Errorf("compared CPUs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, r.watch.Summary().Exchanges); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if c.kind == "" {
				if got := r.kinds[len(r.kinds)-1]; got != "condemned-cpus" {
					t.Errorf("verdicts %q, want condemned-cpus at the end", r.kinds)
				}
			} else if len(r.kinds) != 4 || r.kinds[3] != c.kind {
				t.Errorf("verdicts %q, want %s at the fourth tick", r.kinds, c.kind)
			}
		})
	}
}

func TestALateTickDoesNotBringTheNextOnesCloser(t *testing.T) {
	for _, way := range []func(Config, *script) result{run, runStream} {
		s := newScript(1)
		s.lateBy = func(tick int) clocksource.Nanos {
			if tick == 3 {
				return 10 * halfSecond
			}
			return 0
		}
		r := way(configOf(s, watchdog.E5, 6), s)
		if r.err != nil {
			t.Fatal(r.err)
		}
		short := 0
		for i := 1; i < len(s.starts); i++ {
			if s.starts[i]-s.starts[i-1] < halfSecond-us {
				short++
			}
		}
		if short > 0 {
			t.Errorf("%d intervals below half a second in %v", short, s.starts)
		}
		if got := strings.Join(r.kinds, " "); got != "initialised agreed agreed agreed agreed agreed" {
			t.Errorf("verdicts %s", got)
		}
		if sum := r.watch.Summary(); sum.LateTicks < 1 || sum.MaxLate < 9*halfSecond {
			t.Errorf("late ticks %d, at most by %d ns", sum.LateTicks, sum.MaxLate)
		}
	}
}

func TestAfterASleepOfTheMachineNewPairsAreTaken(t *testing.T) {
	s := newScript(2)
	s.sleeps = func(tick int) clocksource.Nanos {
		if tick == 3 {
			return 3600 * clocksource.NanosPerSecond
		}
		return 0
	}
	r := run(configOf(s, watchdog.E9, 4), s)
	if got := strings.Join(r.kinds, " "); r.err != nil || got != "initialised agreed initialised agreed" || r.resets != 1 {
		t.Errorf("verdicts %s, %d resets, error %v", got, r.resets, r.err)
	}
}

func TestACPUThatGoesOfflineIsLeftOut(t *testing.T) {
	for _, era := range []watchdog.Era{watchdog.E9, watchdog.E12} {
		s := newScript(3)
		s.lateBy = func(tick int) clocksource.Nanos {
			s.offline[1], s.offline[0] = tick >= 2, era == watchdog.E12 && tick >= 2
			return 0
		}
		r := run(configOf(s, era, 5), s)
		if r.err != nil {
			t.Fatal(r.err)
		}
		want := map[watchdog.Era][]int{watchdog.E9: {0, 1, 2, 0, 2}, watchdog.E12: {0, 0, 2, 2, 2}}[era]
		if diff := cmp.Diff(want, r.cpus); diff != "" {
			t.Errorf("%s: CPUs (-want +got):\n%s", era, diff)
		}
		if r.idle[1] == "" || r.kinds[4] != "agreed" {
			t.Errorf("%s: verdicts %q, idle %q", era, r.kinds, r.idle)
		}
	}
}

func TestWhatCannotBeReadEndsTheWatch(t *testing.T) {
	gone := errors.New("the device is gone")
	s := newScript(1)
	s.readErr = func(tick int) error {
		if tick == 3 {
			return gone
		}
		return nil
	}
	r := run(configOf(s, watchdog.E9, 9), s)
	if !errors.Is(r.err, gone) || len(r.kinds) != 2 {
		t.Errorf("error %v after %d ticks, want %v after 2", r.err, len(r.kinds), gone)
	}
}

func TestTicksInBurstsCompareNothingOverThePauses(t *testing.T) {
	const every = 15 * clocksource.NanosPerSecond
	for _, way := range []struct {
		name string
		run  func(Config, *script) result
	}{{"reader", run}, {"stream", runStream}} {
		t.Run(way.name, func(t *testing.T) {
			s := newScript(3)
			c := configOf(s, watchdog.E9, 7)
			c.Rhythm = hw.Rhythm{Burst: 3, Every: time.Duration(every)}
			r := way.run(c, s)
			if r.err != nil {
				t.Fatal(r.err)
			}
			if got, want := strings.Join(r.kinds, " "), "initialised agreed agreed initialised agreed agreed initialised"; got != want {
				t.Errorf("verdicts\n%s, want\n%s", got, want)
			}
			var since []clocksource.Nanos
			for _, at := range s.starts {
				since = append(since, clocksource.Nanos(time.Duration(at-s.starts[0]).Round(100*time.Millisecond)))
			}
			want := []clocksource.Nanos{0, halfSecond, 2 * halfSecond, every, every + halfSecond, every + 2*halfSecond, 2 * every}
			if diff := cmp.Diff(want, since[:len(want)]); diff != "" {
				t.Errorf("beginning of the ticks (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]int{0, 1, 2, 0, 1, 2, 0}, r.cpus); diff != "" {
				t.Errorf("the CPUs go on in turn (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARhythmThatCannotBeKeptIsRefused(t *testing.T) {
	for name, r := range map[string]hw.Rhythm{
		"no tick":                          {Every: time.Minute},
		"less than nothing":                {Burst: -1, Every: time.Minute},
		"bursts that run into one another": {Burst: 4, Every: time.Second},
	} {
		s := newScript(1)
		c := configOf(s, watchdog.E9, 1)
		c.Rhythm = r
		if _, err := New(c, s, s); err == nil || !strings.Contains(err.Error(), "burst of") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestAWatchGoesOnAmongTheCPUsWhereAnotherEnded(t *testing.T) {
	s := newScript(4)
	first := run(configOf(s, watchdog.E9, 3), s)
	if first.err != nil {
		t.Fatal(first.err)
	}
	c := configOf(s, watchdog.E9, 3)
	c.From = first.watch.Place()
	s.pairs = nil
	second := run(c, s)
	if diff := cmp.Diff([]int{3, 0, 1}, second.cpus); diff != "" {
		t.Errorf("CPUs in turn (-want +got):\n%s", diff)
	}
	// The boot CPU was compared with 1, 2 and 3; its own turn comes next, then 1 and 2 again.
	if diff := cmp.Diff([][2]int{{0, 1}, {0, 2}}, s.pairs); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	c.From = Place{Turn: 99, Peer: 99} // which went offline meanwhile
	if got := run(c, s); got.err != nil || got.cpus[0] != 0 {
		t.Errorf("CPUs %v, error %v", got.cpus, got.err)
	}
}
