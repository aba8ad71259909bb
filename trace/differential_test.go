package trace

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// truth runs a watchdog over the world itself, on its own schedule, and returns
// its verdicts by the instant at which each check was due.
func truth(t *testing.T, w *world, setup watchdog.Setup, ticks int) map[clocksource.Nanos][]watchdog.Verdict {
	t.Helper()
	dog, err := watchdog.New(setup)
	if err != nil {
		t.Fatal(err)
	}
	online := watchdog.AllCPUs(w.cpus)
	var s watchdog.State
	dog.Start(&s, begin-interval, online)
	found := map[clocksource.Nanos][]watchdog.Verdict{}
	settled := false
	for s.Expiry < begin+clocksource.Nanos(ticks)*interval {
		due := s.Expiry
		if !settled {
			// Where the rotation over the others stands when a recording begins is open: it is the recorder's.
			first := 0
			for first < w.clocks-1 && s.Clocks[first].Unstable {
				first++
			}
			s.LastRemote = (w.peer(int((due-begin)/interval), first) + w.cpus - 1) % w.cpus
		}
		found[due] = dog.Step(&s, watchdog.Tick{Now: w.runs(due), CPU: s.CPU, Online: online}, &view{w: w, due: due, cpu: s.CPU}, nil)
		for _, v := range found[due] {
			settled = settled || v.Kind == watchdog.Agreed || v.Kind == watchdog.RemoteTimedOut || v.Kind == watchdog.CondemnedCPUs
		}
		// A kernel's timers count in whole ticks, those of 250 Hz last 4 ms.
		s.Expiry = begin + (s.Expiry-begin)/(4*ms)*(4*ms)
	}
	return found
}

// TestExactAnswersAreTrue is the promise of the package: whatever a replay calls
// exact is what the era decides on the same machine, to the last number.
func TestExactAnswersAreTrue(t *testing.T) {
	const ticks = 640 // more than a pause of five minutes
	worlds := []world{
		{cpus: 1, clocks: 1, rough: 10},
		{cpus: 4, clocks: 1, rough: 10},
		{cpus: 7, clocks: 1, rough: 30, stalls: true},
		{cpus: 8, clocks: 1, rough: 2, stalls: true},
		{cpus: 8, clocks: 2, rough: 5, leap: begin + 200*clocksource.NanosPerSecond},
		{cpus: 5, clocks: 1, rough: 3, broken: true},
		{cpus: 2, clocks: 1},
	}
	exact, all, differing := map[string]int{}, map[string]int{}, 0
	for n, w := range worlds {
		w.seed = uint64(n)
		for _, kmax := range []int{1, 4, DefaultReadBacks} {
			h := w.header(kmax)
			recorded := make([]*Tick, ticks)
			for k := range recorded {
				recorded[k] = w.tick(k, kmax)
			}
			for name, p := range profiles(t) {
				for _, retries := range []int{-1, 1, 10} {
					if !p.RetriesParameter && retries >= 0 {
						continue
					}
					setup, err := h.Setup(p, retries)
					if err != nil {
						t.Fatal(err)
					}
					want := truth(t, &w, setup, ticks)
					r := newReplay(t, h, p, retries)
					for _, tick := range recorded {
						for _, res := range step(t, r, tick) {
							all[name]++
							same := false
							for _, v := range want[tick.Scheduled] {
								same = same || v == res.Verdict
							}
							switch {
							case res.Exact && !same:
								t.Fatalf("world %d, %d read-backs, %s, retries %d, tick %d: the replay says exactly\n%+v\nthe era says\n%+v",
									n, kmax, name, retries, tick.Seq, res.Verdict, want[tick.Scheduled])
							case res.Exact != (res.Why == "") || res.Exact != (res.Doubts == 0):
								t.Fatalf("%s: exact %v with doubts %q and reason %q", name, res.Exact, res.Doubts, res.Why)
							case res.Exact:
								exact[name]++
							case !same:
								differing++
							}
						}
					}
				}
			}
		}
	}
	for name := range profiles(t) {
		share := float64(exact[name]) / float64(all[name])
		t.Logf("%-13s %6d answers, %5.1f %% exact", name, all[name], 100*share)
		if share < 0.3 {
			t.Errorf("%s: only %.0f %% of the answers are exact", name, 100*share)
		}
	}
	if differing == 0 {
		t.Error("no approximate answer differs from the truth: the worlds put nothing to the test")
	}
}

// lab is a machine whose time passes with each read: the twin of live counters.
type lab struct {
	w   *world
	now clocksource.Nanos
	n   uint64
}

// at is the lab as seen from a CPU.
type at struct {
	*lab
	cpu int
}

func (m at) step(usual, slow uint64) clocksource.Nanos {
	m.n++
	d := clocksource.Nanos(usual/2 + m.w.draw(usual, 7, m.n))
	if m.w.draw(60, 8, m.n/16) == 0 { // episodes of sixteen reads
		d += clocksource.Nanos(m.w.draw(slow, 9, m.n))
	}
	return d
}

func (m at) ReadReference() clocksource.Cycles {
	m.now += m.step(900, 200_000)
	return m.w.reference(m.now)
}

func (m at) ReadBack(clock int, _ watchdog.ReadPattern) watchdog.ReadBack {
	rb := watchdog.ReadBack{Before: m.ReadReference()}
	m.now += m.step(300, 200_000)
	rb.Clock = m.w.clock(clock, m.now)
	rb.After = m.ReadReference()
	rb.Again = m.ReadReference()
	return rb
}

func (m at) Exchange(clock, peer int, r watchdog.RemoteRule) watchdog.Exchange {
	m.now += 10 * us
	return m.w.exchange(m.now, clock, peer, r)
}

// TestARecordedWatchdogIsReplayedExactly lets every era run with a Recorder
// between itself and the machine, and replays the recording through the same era.
func TestARecordedWatchdogIsReplayedExactly(t *testing.T) {
	kinds := map[watchdog.Kind]int{}
	for name, p := range profiles(t) {
		for _, retries := range []int{-1, 0, 3, 7} {
			for _, cpus := range []int{1, 2, 8} {
				for _, clocks := range []int{1, 2} {
					// E0 and E1 read the reference once for all clocks, which only one clock can be read with.
					once := p.Read == watchdog.ReadSharedReference && clocks == 2
					label := fmt.Sprintf("%s, retries %d, %d CPUs, %d clocks", name, retries, cpus, clocks)
					w := &world{seed: uint64(retries + 10*cpus), cpus: cpus, clocks: clocks, leap: begin + 40*clocksource.NanosPerSecond}
					h := w.header(DefaultReadBacks)
					setup, err := h.Setup(p, retries)
					if err != nil {
						t.Fatal(err)
					}
					dog, err := watchdog.New(setup)
					if err != nil {
						t.Fatal(err)
					}
					m := &lab{w: w, now: begin}
					rec, err := NewRecorder(h, p, func(cpu int) watchdog.Machine { return at{m, cpu} })
					if err != nil {
						t.Fatal(err)
					}
					var s watchdog.State
					online := watchdog.AllCPUs(cpus)
					dog.Start(&s, m.now, online)
					replay := newReplay(t, h, p, retries)
					for k := range 120 {
						resets := 0
						if k%37 == 20 {
							resets = 1
							s.Resume()
						}
						m.now = max(m.now, s.Expiry) + clocksource.Nanos(w.draw(20_000, 11, uint64(k)))
						if k%29 == 28 {
							m.now += 700 * ms
						}
						now := watchdog.Tick{Now: m.now, CPU: s.CPU, Online: online}
						rec.Begin(now, s.Expiry, resets)
						want := dog.Step(&s, now, rec, nil)
						tick := rec.End()
						if len(tick.Reads[0]) != DefaultReadBacks || (tick.CPU != 0) != (len(tick.Boot) > 0) {
							t.Fatalf("%s: tick %d has %d read-backs on CPU %d, and %d of the boot CPU", label, k, len(tick.Reads[0]), tick.CPU, len(tick.Boot))
						}
						got := step(t, replay, tick)
						if len(got) != len(want) {
							t.Fatalf("%s: tick %d has %d results, want %d (%s)", label, k, len(got), len(want), replay.Idle())
						}
						for i, v := range want {
							kinds[v.Kind]++
							if diff := cmp.Diff(v, got[i].Verdict); diff != "" {
								t.Fatalf("%s: tick %d (-live +replayed):\n%s", label, k, diff)
							}
							if !got[i].Exact && (!once || i == 0) {
								t.Fatalf("%s: tick %d, clock %d: not exact, %s", label, k, i, got[i].Why)
							}
						}
					}
				}
			}
		}
	}
	for _, k := range []watchdog.Kind{watchdog.Initialised, watchdog.Agreed, watchdog.Skipped, watchdog.TooLong, watchdog.TimedOut, watchdog.RemoteTimedOut,
		watchdog.Coarse, watchdog.CondemnedDelay, watchdog.CondemnedSkew, watchdog.AlreadyCondemned} {
		if kinds[k] == 0 {
			t.Errorf("no verdict is %s: the machine puts nothing to the test", k)
		}
	}
	t.Log(kinds)
}

// TestARecordingOfOneEraAnswersOthers records under an era that rotates and
// makes no exchanges, and replays through all others: without pauses and
// catching up, each of them finds what it asks for.
func TestARecordingOfOneEraAnswersOthers(t *testing.T) {
	w := &world{seed: 3, cpus: 4, clocks: 1}
	h := w.header(DefaultReadBacks)
	live := profile(t, watchdog.E5)
	m := &lab{w: w, now: begin}
	rec, err := NewRecorder(h, live, func(cpu int) watchdog.Machine { return at{m, cpu} })
	if err != nil {
		t.Fatal(err)
	}
	setup, err := h.Setup(live, 7)
	if err != nil {
		t.Fatal(err)
	}
	dog, err := watchdog.New(setup)
	if err != nil {
		t.Fatal(err)
	}
	var s watchdog.State
	dog.Start(&s, begin, watchdog.AllCPUs(4))
	replays := map[string]*Replay{}
	for name, p := range profiles(t) {
		if p.OnSkip != watchdog.ActSuspend { // a pause is another matter
			replays[name] = newReplay(t, h, p, -1)
		}
	}
	kinds := map[watchdog.Kind]int{}
	for k := range 400 {
		m.now = max(m.now, s.Expiry)
		resets := 0
		if k%50 == 30 {
			resets = 1
			s.Resume()
		}
		now := watchdog.Tick{Now: m.now, CPU: s.CPU, Online: watchdog.AllCPUs(4)}
		rec.Begin(now, s.Expiry, resets)
		dog.Step(&s, now, rec, nil)
		tick := rec.End()
		for name, r := range replays {
			for _, res := range step(t, r, tick) {
				kinds[res.Kind]++
				if !res.Exact {
					t.Fatalf("%s: tick %d: %s", name, k, res.Why)
				}
			}
		}
	}
	if kinds[watchdog.TimedOut] == 0 || kinds[watchdog.RemoteTimedOut] == 0 || kinds[watchdog.Skipped] == 0 {
		t.Errorf("the machine puts nothing to the test: %v", kinds)
	}
}
