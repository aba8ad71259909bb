package sim

import (
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// event is one that a test puts into a machine.
type span struct {
	kind       Kind
	scope      Scope
	start, end clocksource.Nanos
	where      int
}

// staged is a machine of four CPUs with one event in each process, and no more.
func staged(t *testing.T, more string, spans ...span) *machine {
	t.Helper()
	text := "machine m\ncpus 4\nnodes 2\ntsc 1 GHz\nreference hpet 100 MHz\nread 1us\nhop 100ns\nremote-hop 300ns\ncall 2us\n" + more
	for i, s := range spans {
		text += "process p" + string(rune('a'+i)) + " " + string(s.kind) + "\n scope " + string(s.scope) + "\n"
		if s.kind == Readers || s.kind == MappedReaders {
			text += " count 3\n"
		}
		if s.kind == SlowReads || s.kind == SlowClock {
			text += " extra 50us\n"
		}
	}
	p, _ := watchdog.ProfileOf(watchdog.E9)
	c, err := NewCell(parse(t, text), p, -1, Fault{})
	if err != nil {
		t.Fatal(err)
	}
	m := &c.NewRunner().machine
	m.begin(1, 0)
	for i, s := range spans {
		m.events[i].start, m.events[i].end, m.events[i].where = s.start, s.end, s.where
	}
	return m
}

const ns, usec, msec = clocksource.Nanos(1), clocksource.Microsecond, 1000 * clocksource.Microsecond

func TestWorkTakesLongerWhereTheCPUIsStopped(t *testing.T) {
	freeze := func(scope Scope, start, end clocksource.Nanos, where int) span {
		return span{Freeze, scope, start, end, where}
	}
	cases := []struct {
		name  string
		spans []span
		cpu   int
		want  clocksource.Nanos // when 10 us of work from 100 us are done
	}{
		{"nothing happens", nil, 0, 110 * usec},
		{"a stop in the middle", []span{freeze(WholeMachine, 104*usec, 154*usec, 0)}, 0, 160 * usec},
		{"a stop that has begun before", []span{freeze(WholeMachine, 90*usec, 120*usec, 0)}, 0, 130 * usec},
		{"a stop that is over", []span{freeze(WholeMachine, 80*usec, 99*usec, 0)}, 0, 110 * usec},
		{"a stop that comes later", []span{freeze(WholeMachine, 110*usec, 150*usec, 0)}, 0, 110 * usec},
		{"another CPU's", []span{freeze(OneCPU, 104*usec, 154*usec, 3)}, 0, 110 * usec},
		{"this CPU's", []span{freeze(OneCPU, 104*usec, 154*usec, 3)}, 3, 160 * usec},
		{"this node's", []span{freeze(OneNode, 104*usec, 154*usec, 1)}, 2, 160 * usec},
		{"two stops, one in the other", []span{freeze(WholeMachine, 104*usec, 154*usec, 0), freeze(WholeMachine, 120*usec, 130*usec, 0)}, 0, 160 * usec},
		{"two stops that overlap", []span{freeze(WholeMachine, 120*usec, 170*usec, 0), freeze(WholeMachine, 104*usec, 154*usec, 0)}, 0, 176 * usec},
		{"a second one within the time that the first one costs", []span{freeze(WholeMachine, 104*usec, 154*usec, 0), freeze(WholeMachine, 157*usec, 160*usec, 0)}, 0, 163 * usec},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := staged(t, "", c.spans...).after(100*usec, 10*usec, c.cpu); got != c.want {
				t.Errorf("done at %d ns, want %d", got, c.want)
			}
		})
	}
	// An event of another CPU that is still under way is not forgotten.
	m := staged(t, "", freeze(OneCPU, 50*usec, 500*usec, 3))
	if got := m.after(100*usec, 10*usec, 0); got != 110*usec {
		t.Errorf("CPU 0 is done at %d", got)
	}
	if got := m.after(110*usec, 10*usec, 3); got != 510*usec {
		t.Errorf("CPU 3 is done at %d", got)
	}
}

func TestTicksWaitForWhatStopsThem(t *testing.T) {
	cases := []struct {
		name  string
		spans []span
		want  clocksource.Nanos // when a tick due at 1 s on CPU 1 runs
	}{
		{"nothing happens", nil, second},
		{"timers are late", []span{{LateTimers, WholeMachine, second - msec, second + 3*msec, 0}}, second + 3*msec},
		{"timers of another CPU are late", []span{{LateTimers, OneCPU, second - msec, second + 3*msec, 0}}, second},
		{"a stall", []span{{Stall, WholeMachine, second - msec, second + 2*second, 0}}, 3 * second},
		{"one thing after the other", []span{{LateTimers, WholeMachine, second + 2*msec, second + 5*msec, 0}, {Freeze, WholeMachine, second - msec, second + 3*msec, 0}}, second + 5*msec},
		{"a pause before, in which no time passes", []span{{Pause, WholeMachine, second / 2, second/2 + 7*second, 0}}, 8 * second},
		{"a pause that begins just before", []span{{Pause, WholeMachine, second - msec, 2 * second, 0}}, 2*second + msec},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := staged(t, "", c.spans...).due(second, 1); got != c.want {
				t.Errorf("it runs at %d, want %d", got, c.want)
			}
		})
	}
}

func TestCountersGoOnInAFreezeAndStandInAPause(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		want clocksource.Cycles // of a TSC of 1 GHz between 1 s and 3 s, stopped for one
	}{{Freeze, 2e9}, {Pause, 1e9}} {
		m := staged(t, "", span{c.kind, WholeMachine, 1500 * msec, 2500 * msec, 0})
		before := m.tsc(second, 0)
		if got := m.tsc(3*second, 0) - before; got != c.want {
			t.Errorf("%s: %d cycles, want %d", c.kind, got, c.want)
		}
	}
}

func TestJiffiesLoseTheTicksOfAStall(t *testing.T) {
	text := "machine m\ncpus 1\nhz 100\ntsc 1 GHz\nreference jiffies 100 Hz\nread 10ns\nprocess p stall\n"
	p, _ := watchdog.ProfileOf(watchdog.E4)
	c, err := NewCell(parse(t, text), p, -1, Fault{})
	if err != nil {
		t.Fatal(err)
	}
	m := &c.NewRunner().machine
	m.begin(1, 0)
	m.events[0].start, m.events[0].end = 1500*msec, 1755*msec
	before := m.reference(second)
	m.now = 3 * second
	if got := m.reference(m.now) - before; got != 175 { // 25 whole ticks of 10 ms are lost
		t.Errorf("%d ticks in 2 s, want 175", got)
	}
}

func TestEachReadCostsItsTime(t *testing.T) {
	cases := []struct {
		name  string
		more  string
		spans []span
		wdWD  clocksource.Nanos // from the first to the second read, as the HPET shows it
		took  clocksource.Nanos
	}{
		{"nothing happens", "", nil, 1020, 3020},
		{"the counter is looked at at the end", "shows 1\n", nil, 1020, 3020},
		{"an episode of slow reads", "", []span{{SlowReads, WholeMachine, 0, second, 0}}, 51_020, 153_020},
		{"an interrupt of the firmware between the reads", "", []span{{Freeze, WholeMachine, 10*msec + 1100, 10*msec + 201_100, 0}}, 201_020, 203_020},
		{"the TSC is slow", "tsc-read 142us\n", nil, 143_000, 145_000},
		{"an episode in which the TSC is slow", "", []span{{SlowClock, WholeMachine, 0, second, 0}}, 51_020, 53_020},
		{"three other CPUs read through a mapping", "", []span{{MappedReaders, WholeMachine, 0, second, 0}}, -1, -1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := staged(t, c.more, c.spans...)
			m.now = 10 * msec
			rb := m.ReadBack(0, watchdog.ReadFour)
			delay, took := clocksource.Nanos(rb.After-rb.Before)*10, m.now-10*msec
			if c.wdWD < 0 {
				// Each read waits for part of one and two whole ones.
				if delay < 3000-10 || delay > 4000+50 || took < 9000 || took > 12_100 {
					t.Errorf("delay %d ns, all reads %d ns", delay, took)
				}
				return
			}
			if (delay-c.wdWD).Abs() > 10 || took != c.took {
				t.Errorf("delay %d ns, all reads %d ns, want %d and %d", delay, took, c.wdWD, c.took)
			}
			if tsc := clocksource.Nanos(rb.Clock - m.cell.tscHz.CyclesIn(poweredOn)); tsc < 10*msec || tsc > m.now {
				t.Errorf("the TSC showed %d ns", tsc)
			}
		})
	}
}

// Readers that wait for each other's read get its value: on the average half a read
// passes, and two readings in a row can be the same.
func TestWaitingReadersOfTheHPETShareReads(t *testing.T) {
	m := staged(t, "", span{Readers, WholeMachine, 0, 3600 * second, 0})
	m.now = msec
	began := m.now
	const n = 20_000
	last, backwards := clocksource.Cycles(0), 0
	for range n {
		v := m.readReference()
		if v < last {
			backwards++
		}
		last = v
		m.tick++
	}
	// Uniform between 0 and 1 us: standard deviation of the mean 2 ns.
	if mean := float64(m.now-began) / n; mean < 492 || mean > 508 {
		t.Errorf("a shared read takes %.1f ns, want 500", mean)
	}
	if backwards > 0 {
		t.Errorf("the counter went backwards %d times", backwards)
	}
}

func TestAnExchangeTimesOutWhereTheOtherCPUIsStopped(t *testing.T) {
	rule := watchdog.RemoteRule{Reads: 5, Timeout: 50 * usec}
	quiet := staged(t, "")
	quiet.now = second
	x := quiet.Exchange(0, 1, rule)
	if x.TimedOut || x.Count != 10 {
		t.Fatalf("%+v", x)
	}
	for i := 1; i < x.Count; i++ {
		if want := []clocksource.Cycles{2000, 100}[min(i-1, 1)]; x.Stamps[i]-x.Stamps[i-1] != want {
			t.Errorf("stamp %d comes %d cycles after the one before, want %d", i, x.Stamps[i]-x.Stamps[i-1], want)
		}
	}
	stopped := staged(t, "", span{Freeze, OneCPU, second - msec, second + msec, 1})
	stopped.now = second
	if x := stopped.Exchange(0, 1, rule); !x.TimedOut {
		t.Errorf("%+v", x)
	}
	far := staged(t, "")
	far.now = second
	if x := far.Exchange(0, 3, rule); x.TimedOut || x.Stamps[3]-x.Stamps[2] != 300 {
		t.Errorf("%+v", x)
	}
}
