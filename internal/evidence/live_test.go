package evidence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// stage is a machine of two CPUs with an HPET, whose time moves by what is read and slept.
type stage struct {
	now, ahead clocksource.Nanos // the counter's lead over the HPET
	tick       int
	slow       map[int]hw.Cause  // ticks whose every read-back takes 80 us, and through what
	gain       clocksource.Nanos // of the counter, at each tick
	jump       map[int]clocksource.Nanos
	stall      map[int]clocksource.Nanos // how late a tick comes
	back       clocksource.Cycles        // by how much CPU 1 is behind
	broken     map[int]error
	uncounted  bool
	before     func(tick int) // called before each tick
	usage      hw.Usage
	options    live.Options // as it was opened
}

func (s *stage) Now() clocksource.Nanos   { return s.now }
func (s *stage) Slept() clocksource.Nanos { return 0 }
func (s *stage) CPUs() ([]int, error)     { return []int{0, 1}, nil }
func (s *stage) On(_ int, f func()) error { f(); return nil }
func (s *stage) Close() error             { return nil }

func (s *stage) Usage(int) hw.Usage {
	s.usage.Counted = !s.uncounted
	return s.usage
}

func (s *stage) Sleep(ctx context.Context, until clocksource.Nanos) error {
	s.tick++
	s.now = max(s.now, until) + s.stall[s.tick]
	s.ahead += s.gain + s.jump[s.tick]
	if s.before != nil {
		s.before(s.tick)
	}
	return ctx.Err()
}

func (s *stage) Exchange(control, remote int, _ clocksource.Nanos) (hw.Exchange, error) {
	e := hw.Exchange{ControlCPU: control, RemoteCPU: remote, Completed: true}
	for i := range clocksource.Cycles(5) {
		e.Control, e.Remote = append(e.Control, 1000*i+5000), append(e.Remote, 1000*i+5500-s.back)
	}
	return e, nil
}

func (s *stage) ReadRemote(int, int) (before, there, after clocksource.Cycles, err error) {
	now := clocksource.Hz(2_500_000_000).CyclesIn(s.now + s.ahead)
	return now, now + 1000, now + 2000, nil
}

func (s *stage) Reference() hw.Counter {
	return hw.Counter{Name: hw.HPET, Hz: 25_000_000, Mask: clocksource.Mask32}
}

func (s *stage) ReadBack(rb *hw.ReadBack) error {
	if err := s.broken[s.tick]; err != nil {
		return err
	}
	ref := func() clocksource.Cycles {
		return clocksource.Hz(25_000_000).CyclesIn(s.now) & clocksource.Cycles(clocksource.Mask32)
	}
	delay := 2 * clocksource.Microsecond
	if cause := s.slow[s.tick]; cause != "" {
		delay = 80 * clocksource.Microsecond
		switch cause {
		case hw.Preempted:
			s.usage.Involuntary++
		case hw.Interrupted:
			s.usage.Interrupts++
		}
	}
	rb.Before = ref()
	rb.Clock = clocksource.Hz(2_500_000_000).CyclesIn(s.now + delay/2 + s.ahead)
	s.now += delay
	rb.After, rb.Again = ref(), ref()
	return nil
}

func (s *stage) open(ctx context.Context, o live.Options) (*live.Session, error) {
	s.options = o
	s.now = max(s.now, clocksource.NanosPerSecond)
	return live.OpenOn(ctx, o, live.Hardware{
		Counter: "tsc",
		Probe: func() []hw.Availability {
			return []hw.Availability{
				{Counter: hw.Counter{Name: "tsc", Mask: clocksource.Mask64}, Can: machine.Yes, Needs: "nothing"},
				{Counter: s.Reference(), Can: machine.Yes, Needs: "nothing"},
			}
		},
		Frequency: func(context.Context) (hw.Frequency, error) {
			return hw.Frequency{Hz: 2_500_000_000, From: "measured", Error: 0.5}, nil
		},
		Reader: func(string) (live.ReadCloser, error) { return s, nil },
		World:  s, Close: func() error { return nil },
	})
}

// runOf is five seconds by the rules of an era.
func runOf(s *stage, era watchdog.Era) LiveRun {
	p, _ := watchdog.ProfileOf(era)
	return LiveRun{
		Options:  live.Options{Profile: p, Retries: -1, Surroundings: hw.Surroundings{Clocksource: "tsc", Guest: machine.No}},
		Duration: 5 * time.Second, EraWhy: "as the test wants", Kernel: "5.15.0", Open: s.open,
	}
}

func TestWhatALiveRunCounts(t *testing.T) {
	all := func(cause hw.Cause) map[int]hw.Cause { return map[int]hw.Cause{4: cause, 8: cause} }
	for _, c := range []struct {
		name  string
		era   watchdog.Era
		stage stage
		want  string
	}{
		{"a healthy machine", watchdog.E5, stage{}, "11 ticks, 10 compared, 0 left out, beyond 0, condemned 0; slow 0 0 0, disturbed 0; backwards 0"},
		{"slow reads that nothing explains", watchdog.E5, stage{slow: all(hw.Unexplained)}, "11 ticks, 6 compared, 0 left out, beyond 0, condemned 0; slow 2 0 0, disturbed 0; backwards 0"},
		{"the same while the program lost its turn", watchdog.E5, stage{slow: all(hw.Preempted)}, "11 ticks, 6 compared, 0 left out, beyond 0, condemned 0; slow 0 0 0, disturbed 2; backwards 0"},
		{"the same in interrupts", watchdog.E5, stage{slow: all(hw.Interrupted)}, "11 ticks, 6 compared, 0 left out, beyond 0, condemned 0; slow 0 0 0, disturbed 2; backwards 0"},
		{"the same where interrupts are not counted", watchdog.E5, stage{slow: all(hw.Unexplained), uncounted: true}, "11 ticks, 6 compared, 0 left out, beyond 0, condemned 0; slow 0 0 0, disturbed 2; backwards 0"},
		{"an era without a limit compares what was late, and that is left out", watchdog.E4, stage{slow: all(hw.Preempted)}, "11 ticks, 6 compared, 4 left out, beyond 0, condemned 0; slow 0 0 0, disturbed 0; backwards 0"},
		{"time-outs of 7.1", watchdog.E12, stage{slow: map[int]hw.Cause{3: hw.Unexplained}}, "11 ticks, 8 compared, 0 left out, beyond 0, condemned 0; slow 0 0 1, disturbed 0; backwards 0"},
		{"a counter that is fast by 1000 ppm", watchdog.E5, stage{gain: 500_000}, "11 ticks, 5 compared, 0 left out, beyond 991, condemned 5; slow 0 0 0, disturbed 0; backwards 0"},
		{"a counter that is slow by 1000 ppm", watchdog.E5, stage{gain: -500_000}, "11 ticks, 5 compared, 0 left out, beyond -992, condemned 5; slow 0 0 0, disturbed 0; backwards 0"},
		{"one jump", watchdog.E12, stage{jump: map[int]clocksource.Nanos{6: 2_000_000}}, "11 ticks, 9 compared, 0 left out, beyond 3976, condemned 1; slow 0 0 0, disturbed 0; backwards 0"},
		{"a stall in which the HPET wraps tells nothing", watchdog.E5, stage{stall: map[int]clocksource.Nanos{6: 170 * clocksource.NanosPerSecond}}, "11 ticks, 8 compared, 1 left out, beyond 0, condemned 0; slow 0 0 0, disturbed 0; backwards 0"},
		{"CPUs that disagree", watchdog.E5, stage{back: 700}, "11 ticks, 10 compared, 0 left out, beyond 0, condemned 0; slow 0 0 0, disturbed 0; backwards 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ev doctor.Evidence
			runOf(&c.stage, c.era).Into(context.Background(), &ev)
			l := ev.Live
			if l == nil || ev.NoLive != nil || ev.Inputs.LiveSeconds != 5 {
				t.Fatalf("live %v, not live %v, inputs %+v", l, ev.NoLive, ev.Inputs)
			}
			got := fmt.Sprintf("%d ticks, %d compared, %d left out, beyond %.0f, condemned %d; slow %d %d %d, disturbed %d; backwards %d", l.Ticks, l.Skew.Compared, l.Skew.LeftOut,
				float64(l.Skew.Beyond), l.Skew.Condemned, l.Latency.Condemned, l.Latency.Skipped, l.Latency.TimedOut, l.Latency.Disturbed, l.Exchanges.Backwards)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if l.Ended != "duration" || l.Reference != "hpet" || l.Independent != machine.Yes || l.Current != "tsc" || l.Doubt != 0.5 || l.CPUs != "0-1" || l.Era != string(c.era) {
				t.Errorf("%+v", l)
			}
			if (l.Exchanges.Backwards > 0) != (l.Exchanges.Between == "CPU 0 and CPU 1") {
				t.Errorf("exchanges %+v", l.Exchanges)
			}
			if o := c.stage.options; !o.Interrupts || !o.Anew || o.Record != nil {
				t.Errorf("opened with %+v", o)
			}
		})
	}
}

func TestLiveCountersThatCannotBeWatchedAreSaid(t *testing.T) {
	fails := func(err error) func(context.Context, live.Options) (*live.Session, error) {
		return func(context.Context, live.Options) (*live.Session, error) { return nil, err }
	}
	for _, c := range []struct {
		name          string
		err           error
		reason, howTo string
	}{
		{"no counter", &hw.NotHere{What: "tsc", Reason: "CR4.TSD is set", Remedy: "ask the test"}, "tsc cannot be used here: CR4.TSD is set", "ask the test"},
		{"no permission", fmt.Errorf("open /dev/hpet: %w", fs.ErrPermission), machine.ReasonPermission + ": ", "sudo cswatch doctor --live"},
		{"several things", errors.Join(errors.New("one"), errors.New("two")), "one; two", "sudo"},
	} {
		r := runOf(&stage{}, watchdog.E5)
		r.Open = fails(c.err)
		var ev doctor.Evidence
		r.Into(context.Background(), &ev)
		if u := ev.NoLive; ev.Live != nil || u == nil || u.What != "live counters" || !strings.Contains(u.Reason, c.reason) || !strings.Contains(u.HowTo, c.howTo) {
			t.Errorf("%s: live %v, %+v", c.name, ev.Live, ev.NoLive)
		}
	}
}

func TestALiveRunThatBreaksOffKeepsWhatItSaw(t *testing.T) {
	var ev doctor.Evidence
	s := &stage{broken: map[int]error{4: errors.New("the device went away")}}
	runOf(s, watchdog.E5).Into(context.Background(), &ev)
	if ev.Live == nil || ev.Live.Ticks != 3 || ev.Live.Ended != "error" || ev.NoLive == nil || !strings.Contains(ev.NoLive.Reason, "went away") {
		t.Errorf("live %+v, not live %+v", ev.Live, ev.NoLive)
	}
}

func TestASignalEndsALiveRunWithWhatItSaw(t *testing.T) {
	for ticks, want := range map[int]bool{0: false, 3: true} {
		ctx, cancel := context.WithCancel(context.Background())
		s := &stage{before: func(tick int) {
			if tick > ticks {
				cancel()
			}
		}}
		var told int
		r := runOf(s, watchdog.E5)
		r.Progress = func(done, of int) {
			if told++; done != told || of != 11 {
				t.Errorf("told of %d of %d", done, of)
			}
		}
		var ev doctor.Evidence
		r.Into(ctx, &ev)
		if got := ev.Live != nil; got != want || (ev.NoLive == nil) != want || told != ticks {
			t.Errorf("after %d ticks: live %+v, not live %+v, %d told", ticks, ev.Live, ev.NoLive, told)
		}
		if want && (ev.Live.Ended != "signal" || ev.Live.Ticks != uint64(ticks)) {
			t.Errorf("after %d ticks: %+v", ticks, ev.Live)
		}
		cancel()
	}
}
