package reenact

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/watchdog"
)

// stage is a machine that reads the values of a verdict: the saved pair in the
// first tick, the new one in the second. Reading takes no time.
type stage struct {
	tick  int
	clock [2]clocksource.Cycles
	ref   [2]clocksource.Cycles
}

func newStage(in *event.Incident, s *watchdog.Setup) (*stage, error) {
	var m stage
	var err error
	if m.clock, err = values(in.WatchedInterval, &s.Watched[0]); err != nil {
		return nil, err
	}
	m.ref, err = values(in.ReferenceInterval, &s.Reference)
	return &m, err
}

// values returns the two raw values of an interval. Where the log has none, the
// second is the lowest that makes the printed nanoseconds.
func values(i event.Interval, c *watchdog.Clock) ([2]clocksource.Cycles, error) {
	last, ok1 := i.Last.Get()
	now, ok2 := i.Now.Get()
	if ok1 && ok2 {
		return [2]clocksource.Cycles{clocksource.Cycles(last), clocksource.Cycles(now)}, nil
	}
	cycles, ok := cyclesFor(clocksource.Nanos(i.NS.Value), c.Conversion)
	if !ok {
		return [2]clocksource.Cycles{}, fmt.Errorf("reenact a kernel log: no counter value of clocksource %s, mult %d and shift %d, makes the printed %d ns", c.Name, c.Conversion.Mult, c.Conversion.Shift, i.NS.Value)
	}
	return [2]clocksource.Cycles{0, cycles}, nil
}

// cyclesFor returns the lowest number of cycles that converts to ns without a wrap.
func cyclesFor(ns clocksource.Nanos, c clocksource.Conversion) (clocksource.Cycles, bool) {
	if ns < 0 || c.Mult == 0 || c.Shift > 63 {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(ns), 1<<c.Shift)
	lo, carry := bits.Add64(lo, uint64(c.Mult)-1, 0)
	hi += carry
	if hi >= uint64(c.Mult) {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, uint64(c.Mult))
	cycles := clocksource.Cycles(q)
	return cycles, cycles <= c.MaxCycles && c.Nanos(cycles, clocksource.Wrapping) == ns
}

func (m *stage) at() int { return min(max(m.tick, 1), 2) - 1 }

// ReadReference is part of [watchdog.Machine].
func (m *stage) ReadReference() clocksource.Cycles { return m.ref[m.at()] }

// ReadBack is part of [watchdog.Machine].
func (m *stage) ReadBack(int, watchdog.ReadPattern) watchdog.ReadBack {
	ref := m.ref[m.at()]
	return watchdog.ReadBack{Before: ref, Clock: m.clock[m.at()], After: ref, Again: ref}
}

// Exchange is part of [watchdog.Machine]. The CPUs are found in order.
func (m *stage) Exchange(int, int, watchdog.RemoteRule) watchdog.Exchange { return watchdog.Exchange{} }

// remote answers the check across CPUs as the log tells it.
type remote struct {
	check *check
	took  []clocksource.Cycles // by the order of asking; the last one goes on
	asked int
}

func newRemote(c *check, clock *watchdog.Clock) *remote {
	shortest, _ := cyclesFor(c.min, clock.Conversion)
	longest, _ := cyclesFor(c.max, clock.Conversion)
	return &remote{check: c, took: []clocksource.Cycles{shortest, longest}}
}

// ReadRemote is part of [watchdog.Remote].
func (r *remote) ReadRemote(_, cpu int) (before, remote, after clocksource.Cycles) {
	const start = 1 << 40
	took := r.took[min(r.asked, len(r.took)-1)]
	r.asked++
	before, after = start, start+took
	remote = before + took/2
	if slices.Contains(r.check.behind, cpu) {
		remote = before - 1
	}
	if slices.Contains(r.check.ahead, cpu) {
		remote = after + 1
	}
	return before, remote, after
}
