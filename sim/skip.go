package sim

import (
	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// quietness is what is known of a check that nothing disturbs.
type quietness struct {
	// can says that such a check always agrees at its first attempt.
	can bool
	// span bounds how long it takes, from when it is due.
	span clocksource.Nanos
}

// quietness works out whether undisturbed checks can be passed over: reads
// of a bounded cost below the era's limits, a reference that is always there, and no fault.
func (c *Cell) quietness() quietness {
	most, bounded := c.model.Read.Max()
	if first := c.model.First; first != nil {
		longer, ok := first.Max()
		most, bounded = max(most, longer), bounded && ok
	}
	if !bounded || !c.setup.Reference.Continuous {
		return quietness{}
	}
	period := clocksource.NanosPerSecond/clocksource.Nanos(c.model.Rate) + 1
	delay := most + c.model.TSCRead + 2*period // as the kernel measures it
	q := quietness{can: true, span: 4*(most+c.model.TSCRead) + 1}
	ref, watched := c.setup.Reference.Margin, c.setup.Watched[0].Margin
	if limit, set := c.profile.ReadLimit.At(ref, watched); set && delay > limit {
		return quietness{}
	}
	// Both ends of an interval are off by a delay at most; the multipliers are
	// rounded, which at half a second is far below this.
	const rounding = clocksource.Microsecond
	interval := clocksource.NanosPerSecond / 2
	limit, set := c.profile.Skew.Limit.At(ref, watched)
	if c.profile.Skew.Shift > 0 {
		limit, set = interval>>max(c.profile.Skew.Shift, c.profile.Skew.CalibratedShift), true
		hops := clocksource.Nanos(2 * c.profile.Remote.Reads)
		talk := c.model.Call + hops*max(c.model.Hop, c.model.RemoteHop)
		if talk > c.profile.Remote.Timeout || c.model.Hop <= 0 || c.model.RemoteHop <= 0 {
			return quietness{}
		}
		q.span += talk
	}
	if !set || 2*delay+rounding >= limit {
		return quietness{}
	}
	return q
}

// skip passes over the checks before the next disturbance, but for the last one
// before it, whose pair the next comparison needs: it takes that pair without
// comparing. What follows is the same as after all the checks.
func (r *Runner) skip(o *Outcome) {
	c, s := r.cell, &r.state
	// Events come in true time, checks by the kernel's, which a pause holds up.
	m := &r.machine
	due := m.truly(s.Expiry)
	if due < m.now || s.ResetPending > 0 {
		return // it is late
	}
	interval := c.interval()
	end := min(s.Expiry+m.calm(due)-due, c.model.Window)
	if !c.fault.None() {
		end = min(end, c.fault.From)
	}
	// Checks whose whole span lies before the end.
	room := end - c.quiet.span - s.Expiry
	if room < 0 {
		return
	}
	n := uint64(room/interval) + 1
	// A quiet check is one attempt: none that is held may be among them.
	begun := func(h *held) bool { return due >= h.process.From }
	for i := range m.held {
		if h := &m.held[i]; begun(h) {
			n = h.free(n)
		}
	}
	if n == 0 {
		return
	}
	if n < 2 && s.Clocks[0].Initialised {
		return // nothing to gain
	}
	had := s.Clocks[0].Initialised
	passed := n - 1
	s.Ticks += passed
	s.Expiry += clocksource.Nanos(passed) * interval
	remote := s.LastRemote
	if c.profile.Rotate {
		s.CPU = (s.CPU + int(passed%uint64(c.model.CPUs))) % c.model.CPUs
	}
	for i := range s.Clocks {
		s.Clocks[i].Initialised = false
	}
	o.Checks += passed
	for i := range m.held {
		if h := &m.held[i]; begun(h) && passed > 0 {
			h.pass(passed)
		}
	}
	r.check(o)
	if c.profile.Skew.Shift > 0 {
		// Each check asks the next CPU, but for one that has no pair to compare with.
		asked := n
		if !had {
			asked--
		}
		s.LastRemote = (remote + int(asked%uint64(c.model.CPUs))) % c.model.CPUs
	}
}

// interval is the time from check to check.
func (c *Cell) interval() clocksource.Nanos {
	tick := clocksource.NanosPerSecond / clocksource.Nanos(c.model.HZ)
	return clocksource.Nanos(c.model.HZ/2) * tick
}

// calm returns when the next event begins, or has begun, that ends after t, or a
// process that holds reads begins.
func (m *machine) calm(t clocksource.Nanos) clocksource.Nanos {
	next := never
	for i := range m.events {
		e := &m.events[i]
		e.seek(t)
		next = min(next, e.start)
	}
	for i := range m.held {
		if from := m.held[i].process.From; from > t {
			next = min(next, from)
		}
	}
	return next
}

var _ watchdog.Machine = (*machine)(nil)
