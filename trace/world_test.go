package trace

import (
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

const (
	us = clocksource.Microsecond
	ms = clocksource.Millisecond

	hpetHz, tscHz, otherHz = 25_000_000, 2_500_000_000, 1_000_000_000

	interval = 500 * ms
	begin    = 10 * clocksource.NanosPerSecond
)

// world is a machine whose whole behaviour is a function of when its timer was
// due: what a CPU reads at an instant does not depend on who asks. So it can be
// recorded on one schedule and watched on another one.
type world struct {
	seed   uint64
	cpus   int
	clocks int
	rough  int               // of 100 ticks, how many have slow reads
	stalls bool              // some ticks run late, by up to 1.5 s
	leap   clocksource.Nanos // from when the second clock is 3 ms ahead; 0 for never
	broken bool              // the last CPU's TSC is behind
}

// draw returns a number below n that depends on the seed and the keys alone.
func (w *world) draw(n uint64, keys ...uint64) uint64 {
	h := w.seed ^ 0x9e3779b97f4a7c15
	for _, k := range keys {
		h ^= k
		h += 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h % n
}

// runs returns when a timer that was due at an instant runs. Later timers run later.
func (w *world) runs(due clocksource.Nanos) clocksource.Nanos {
	if w.stalls {
		block := due / (8 * clocksource.NanosPerSecond)
		from := block*8*clocksource.NanosPerSecond + 3*clocksource.NanosPerSecond + 500*ms
		long := clocksource.Nanos(w.draw(1500, 1, uint64(block))) * ms
		if w.draw(4, 2, uint64(block)) != 0 {
			long = 0
		}
		if due >= from && due < from+long {
			return from + long + (due-from)/1_000_000
		}
	}
	return due + 2*us + clocksource.Nanos(w.draw(30_000, 3, uint64(due)))
}

func (w *world) reference(at clocksource.Nanos) clocksource.Cycles {
	return clocksource.Hz(hpetHz).CyclesIn(at) & clocksource.Cycles(clocksource.Mask32)
}

func (w *world) clock(i int, at clocksource.Nanos) clocksource.Cycles {
	if i == 0 {
		return clocksource.Hz(tscHz).CyclesIn(at)
	}
	if w.leap != 0 && at > w.leap {
		at += 3 * ms
	}
	return clocksource.Hz(otherHz).CyclesIn(at)
}

// series returns n read-backs of a clock on a CPU for a timer that was due at an instant.
func (w *world) series(due clocksource.Nanos, cpu, clock, n int) []ReadBack {
	at := w.runs(due) + clocksource.Nanos(clock)*20*us + clocksource.Nanos(cpu)
	key := []uint64{4, uint64(due), uint64(cpu), uint64(clock)}
	slow := 0
	if int(w.draw(100, key...)) < w.rough {
		slow = 1 + int(w.draw(10, append(key, 1)...))
	}
	out := make([]ReadBack, n)
	for k := range out {
		draw := func(what, below uint64) clocksource.Nanos {
			return clocksource.Nanos(w.draw(below, append(key, 2, uint64(k), what)...))
		}
		before, behind, again := 700+draw(0, 900), 700+draw(1, 900), 1000+draw(2, 500)
		if k < slow {
			before += draw(3, 400_000)
			behind += draw(4, 400_000)
			if draw(5, 4) == 0 {
				again += draw(6, 600_000)
			}
			out[k].Late = Unexplained
		}
		out[k].Before = w.reference(at)
		at += before
		out[k].Clock = w.clock(clock, at)
		at += behind
		out[k].After = w.reference(at)
		at += again
		out[k].Again = w.reference(at)
		at += 200
	}
	return out
}

// exchange compares the first CPU with another one.
func (w *world) exchange(due clocksource.Nanos, clock, peer int, rule watchdog.RemoteRule) watchdog.Exchange {
	at := w.runs(due) + 9*ms
	key := []uint64{5, uint64(due), uint64(clock), uint64(peer)}
	var x watchdog.Exchange
	want := 2 * rule.Reads
	switch w.draw(40, key...) {
	case 0:
		return watchdog.Exchange{Busy: true}
	case 1:
		want, x.TimedOut = 1, true
	}
	for ; x.Count < want; x.Count++ {
		x.Stamps[x.Count] = w.clock(clock, at)
		if w.broken && peer == w.cpus-1 && x.Count%2 == 1 {
			x.Stamps[x.Count] -= 1_000_000
		}
		at += 100 + clocksource.Nanos(w.draw(300, append(key, uint64(x.Count))...))
	}
	return x
}

// header describes the world.
func (w *world) header(kmax int) Header {
	all := []Clock{
		{Name: "tsc", Mask: clocksource.Mask64, Frequency: tscHz / 1000, Scale: clocksource.ScaleKHz, Continuous: true, Calibrated: true},
		{Name: "other", Mask: clocksource.Mask64, Frequency: otherHz, Scale: clocksource.ScaleHz, Continuous: true},
	}
	return Header{
		Source: Simulated, Recorder: "test", Simulation: &Simulation{Model: "world", Seed: w.seed},
		Reference: Clock{Name: "hpet", Mask: clocksource.Mask32, Frequency: hpetHz, Scale: clocksource.ScaleHz, Continuous: true, HRES: true, Calibrated: true},
		Watched:   all[:w.clocks], ReadBacks: kmax, Online: FirstCPUs(w.cpus), Exchanges: true, Current: "tsc",
	}.withDefaults()
}

// peer is the other CPU of the comparison of a clock at the k-th recorded tick.
func (w *world) peer(k, clock int) int { return (k*w.clocks + clock) % w.cpus }

// tick records the k-th tick of a schedule without gaps.
func (w *world) tick(k, kmax int) *Tick {
	due := begin + clocksource.Nanos(k)*interval
	e12, _ := watchdog.ProfileOf(watchdog.E12)
	t := &Tick{Seq: uint64(k + 1), Scheduled: due, At: w.runs(due), CPU: k % w.cpus}
	for i := range w.clocks {
		t.Reads = append(t.Reads, w.series(due, t.CPU, i, kmax))
		if t.CPU != 0 {
			t.Boot = append(t.Boot, w.series(due, 0, i, kmax))
		}
		if peer := w.peer(k, i); peer != 0 {
			t.Exchanges = append(t.Exchanges, Exchange{Exchange: w.exchange(due, i, peer, e12.Remote), Clock: i, Peer: peer, Limit: e12.Remote.Timeout})
		}
	}
	return t
}

// view is the world as a machine, for one expiry and CPU. How it orders its
// reads is written down anew here, from the eras' descriptions.
type view struct {
	w      *world
	due    clocksource.Nanos
	cpu    int
	served [2]int
}

func (v *view) ReadReference() clocksource.Cycles { return v.w.series(v.due, v.cpu, 0, 1)[0].Before }

func (v *view) ReadBack(clock int, p watchdog.ReadPattern) watchdog.ReadBack {
	v.served[clock]++
	rb := v.w.series(v.due, v.cpu, clock, v.served[clock])[v.served[clock]-1].ReadBack
	if p == watchdog.ReadClockFirst {
		return watchdog.ReadBack{Clock: rb.Clock, Before: rb.After} // the reference comes right behind the clock
	}
	return rb
}

func (v *view) Exchange(clock, cpu int, r watchdog.RemoteRule) watchdog.Exchange {
	return v.w.exchange(v.due, clock, cpu, r)
}

// profiles returns every era, the designs that were never released, and the release that counts from now on.
func profiles(t testing.TB) map[string]watchdog.Profile {
	t.Helper()
	all := map[string]watchdog.Profile{}
	for _, p := range watchdog.Profiles() {
		all[string(p.Era)] = p
	}
	for _, e := range watchdog.Designs() {
		all[string(e)] = profile(t, e)
	}
	r, err := watchdog.ParseRelease("7.3.4")
	if err != nil {
		t.Fatal(err)
	}
	all["7.3.4"], _ = watchdog.ProfileAt(watchdog.E12, r)
	return all
}

func profile(t testing.TB, e watchdog.Era) watchdog.Profile {
	t.Helper()
	p, ok := watchdog.ProfileOf(e)
	if !ok {
		t.Fatalf("no era %s", e)
	}
	return p
}

func newReplay(t testing.TB, h Header, p watchdog.Profile, retries int) *Replay {
	t.Helper()
	setup, err := h.Setup(p, retries)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReplay(h, setup)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func step(t testing.TB, r *Replay, tick *Tick) []Result {
	t.Helper()
	results, err := r.Step(tick)
	if err != nil {
		t.Fatal(err)
	}
	return append([]Result(nil), results...)
}
