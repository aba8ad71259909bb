package trace

import (
	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// player is the machine behind a replayed watchdog: one recorded tick. It notes
// for each clock where it gave something else than the era asked for.
type player struct {
	header *Header
	setup  *watchdog.Setup
	tick   *Tick
	series [][]ReadBack // of the CPU that the era reads on, as far as recorded
	served [watchdog.MaxWatched]int
	doubts [watchdog.MaxWatched]reasons
	bus    [watchdog.MaxWatched]int // of those served, how many were late for no reason of user space
	// shared is the clock whose first read-back stands for the reference that E0 and E1 read once a tick.
	shared int
}

// begin prepares for a tick.
func (p *player) begin(t *Tick, series [][]ReadBack) {
	p.tick, p.series, p.shared = t, series, -1
	p.served = [watchdog.MaxWatched]int{}
	p.doubts = [watchdog.MaxWatched]reasons{}
	p.bus = [watchdog.MaxWatched]int{}
}

// ReadBack implements [watchdog.Machine].
func (p *player) ReadBack(clock int, want watchdog.ReadPattern) watchdog.ReadBack {
	series := p.series[clock]
	n := p.served[clock]
	p.served[clock]++
	if len(series) == 0 {
		return watchdog.ReadBack{} // the replay does not run a tick that lacks read-backs
	}
	if n >= len(series) {
		p.doubts[clock].add(DoubtAttempts, "only %d attempts were recorded", len(series))
		n = len(series) - 1
	}
	p.lateness(clock, series[n].Late)
	if want == watchdog.ReadSharedReference {
		p.sharedBy(clock)
	}
	if p.header.Pattern == watchdog.ReadClockFirst && (want == watchdog.ReadThree || want == watchdog.ReadFour) {
		p.doubts[clock].add(DoubtPattern, "read order differs: only %s was recorded, and no delay can be told", p.header.Pattern)
	}
	return rearrange(series[n].ReadBack, p.header.Pattern, want)
}

// rearrange picks from a recorded read-back what another pattern reads. A read
// of the reference that is missing is taken to be the one before it.
func rearrange(rb watchdog.ReadBack, recorded, want watchdog.ReadPattern) watchdog.ReadBack {
	switch want {
	case watchdog.ReadSharedReference:
		return watchdog.ReadBack{Clock: rb.Clock}
	case watchdog.ReadClockFirst:
		if recorded == watchdog.ReadClockFirst {
			return watchdog.ReadBack{Before: rb.Before, Clock: rb.Clock}
		}
		// wd,cs,wd holds cs,wd: the clock, and the reference right behind it.
		return watchdog.ReadBack{Before: rb.After, Clock: rb.Clock}
	}
	switch recorded {
	case watchdog.ReadClockFirst:
		rb.After, rb.Again = rb.Before, rb.Before
	case watchdog.ReadThree:
		rb.Again = rb.After
	}
	return rb
}

// ReadReference implements [watchdog.Machine]: E0 and E1 read the reference, then
// the clocks, so it is the first read of the first read-back.
func (p *player) ReadReference() clocksource.Cycles {
	for i, series := range p.series {
		if len(series) > 0 {
			p.shared = i
			return series[0].Before
		}
	}
	return 0
}

// sharedBy notes what is wrong with a clock that is compared with the once-read reference.
func (p *player) sharedBy(clock int) {
	if p.header.Pattern == watchdog.ReadClockFirst {
		p.doubts[clock].add(DoubtPattern, "read order differs: the reference was read behind the clock, the era reads it before")
	}
	if clock == p.shared || p.shared < 0 {
		return
	}
	r := &p.setup.Reference
	late := r.Conversion.Between(p.series[p.shared][0].Before, p.series[clock][0].Before, r.Mask, p.setup.Profile.DeltaX86, p.setup.Profile.Arithmetic)
	p.doubts[clock].add(DoubtPattern, "the era reads the reference once for all clocks: this one was read %d ns behind it", late)
}

// Exchange implements [watchdog.Machine].
func (p *player) Exchange(clock, cpu int, rule watchdog.RemoteRule) watchdog.Exchange {
	doubts := &p.doubts[clock]
	x := p.tick.exchange(clock)
	if x == nil {
		doubts.add(DoubtExchange, "no comparison with CPU %d was recorded", cpu)
		return watchdog.Exchange{}
	}
	if x.Peer != cpu || x.CPU != p.header.BootCPU {
		doubts.add(DoubtExchange, "CPU %d was compared with CPU %d, the era compares CPU %d with CPU %d", x.CPU, x.Peer, p.header.BootCPU, cpu)
	}
	out := x.Exchange
	if x.Busy {
		if p.header.Source == Live {
			doubts.add(DoubtUserSpace, "the thread on CPU %d got no CPU in time; a kernel interrupts what runs there instead", x.Peer)
		}
		return out
	}
	if x.TimedOut && p.header.Source == Live && x.Limit <= rule.Timeout {
		doubts.add(DoubtUserSpace, "a thread in user space was late, whom a kernel's interrupt does not wait for")
	}
	took := x.Waited
	if took == 0 && x.Count > 1 {
		c := &p.setup.Watched[clock]
		took = max(0, c.Conversion.Nanos((x.Stamps[x.Count-1]-x.Stamps[0])&clocksource.Cycles(c.Mask), p.setup.Profile.Arithmetic))
	}
	switch {
	case x.TimedOut && x.Limit < rule.Timeout:
		doubts.add(DoubtExchange, "the recorder waited %d ns for the other CPU, the era waits %d ns", x.Limit, rule.Timeout)
	case x.TimedOut && !p.header.NodesKnown() && x.Limit < p.setup.Profile.Remote.MaxTimeout:
		doubts.add(DoubtExchange, "how far apart the nodes of the CPUs are was not recorded: the recorder waited %d ns for the other CPU, the era waits %d to %d ns",
			x.Limit, rule.Timeout, p.setup.Profile.Remote.MaxTimeout)
	case x.TimedOut && x.Limit > rule.Timeout && x.Count > 0:
		doubts.add(DoubtExchange, "the recorder waited %d ns for the other CPU and took %d stamps, the era waits %d ns", x.Limit, x.Count, rule.Timeout)
	case !x.TimedOut && x.Limit != rule.Timeout && took > rule.Timeout:
		doubts.add(DoubtExchange, "the other CPU took %d ns, the era waits %d ns", took, rule.Timeout)
		out.TimedOut = true
	case !x.TimedOut && x.Count < 2*rule.Reads && !backwards(&out, p.setup.Watched[clock].Mask):
		doubts.add(DoubtExchange, "%d stamps were recorded, the era takes %d", x.Count, 2*rule.Reads)
	}
	return out
}

// backwards reports whether the exchange ends with the step for which a clock is condemned.
func backwards(x *watchdog.Exchange, mask clocksource.Mask) bool {
	for n := 1; n < x.Count; n++ {
		if (x.Stamps[n]-x.Stamps[n-1])&clocksource.Cycles(mask) > mask.MaxRawDelta() {
			return true
		}
	}
	return false
}
