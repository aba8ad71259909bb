package watchdog

import "github.com/cswatch/cswatch/clocksource"

// rewritten is the tick of E12 (7.1 and later): a frequency check against the
// reference, then a comparison with one other CPU.
func (w *Watchdog) rewritten(s *State, t Tick, m Machine, reset int, out []Verdict) []Verdict {
	for i := range w.setup.Watched {
		c, cs := &w.setup.Watched[i], &s.Clocks[i]
		out = grow(out)
		v := &out[len(out)-1]
		v.Clock, v.Allowed = i, w.profile.Retries+1
		if cs.Unstable {
			v.Kind = AlreadyCondemned
			continue
		}
		if w.frequency(cs, c, i, m, v, reset) {
			w.compareCPUs(s, t, i, m, v)
		}
		switch v.Kind {
		case Agreed:
			v.TickStable = w.profile.TickStable && w.setup.Current == c.Name
			w.grant(cs, c, v)
		case TimedOut:
			cs.Initialised = false
		case CondemnedSkew, CondemnedCPUs:
			condemn(cs, v, v.Kind)
		}
	}
	return out
}

// frequency compares the rates. It reports whether the other CPU is to be asked.
func (w *Watchdog) frequency(cs *ClockState, c *Clock, i int, m Machine, v *Verdict, reset int) bool {
	ref := &w.setup.Reference
	if ref.Name == "" {
		v.Kind = NoReference
		return false
	}
	if c.TestClock && c.TestPerCPU {
		v.Kind = Agreed
		return true
	}
	v.ReadLimit = w.limits[i].read
	for v.Attempts < v.Allowed {
		rb := m.ReadBack(i, ReadThree)
		v.Attempts++
		v.Delay = w.between(ref, rb.Before, rb.After)
		if v.Delay > v.ReadLimit {
			continue
		}
		old := *cs
		cs.Clock, cs.Reference = rb.Clock, rb.Before
		if !old.Initialised || reset > 0 {
			cs.Initialised = true
			v.Kind = Initialised
			return false
		}
		w.compare(v, c, old, rb.Clock, rb.Before)
		longer := max(v.Watched.NS, v.Reference.NS)
		if longer > c.Conversion.MaxIdle || longer > ref.Conversion.MaxIdle {
			v.Kind = TooLong // the new pair stands
			return false
		}
		v.SkewLimit = longer>>w.limits[i].shift + v.Delay
		if v.Skew.Abs() >= v.SkewLimit {
			v.Kind = CondemnedSkew
			return false
		}
		v.Kind = Agreed
		return true
	}
	v.Kind = TimedOut
	return false
}

// compareCPUs compares the clock with the next CPU's.
func (w *Watchdog) compareCPUs(s *State, t Tick, i int, m Machine, v *Verdict) {
	c := &w.setup.Watched[i]
	s.LastRemote = t.Online.Next(s.LastRemote)
	v.PeerCPU = s.LastRemote
	if v.PeerCPU == t.CPU || c.TestClock && !c.TestPerCPU {
		return // a free tick
	}
	rule := w.profile.Remote
	if w.setup.Distance != nil {
		rule.Timeout = w.profile.RemoteTimeout(w.setup.Distance(t.CPU, v.PeerCPU))
	}
	x := m.Exchange(i, v.PeerCPU, rule)
	if x.Busy {
		v.Kind = RemoteTimedOut
		return
	}
	limit := c.Mask.MaxRawDelta()
	// The first read of either side waits for nothing, and is compared with nothing.
	for n := 2; n < x.Count; n++ {
		if d := (x.Stamps[n] - x.Stamps[n-1]) & clocksource.Cycles(c.Mask); d <= limit {
			continue
		}
		// The later stamp is the smaller one: time went backwards between the CPUs.
		v.Kind = CondemnedCPUs
		v.Earlier, v.Later = x.Stamps[n], x.Stamps[n-1]
		v.EarlyCPU, v.LateCPU = t.CPU, v.PeerCPU
		if n%2 == 1 {
			v.EarlyCPU, v.LateCPU = v.PeerCPU, t.CPU
		}
		return
	}
	if x.TimedOut {
		v.Kind = RemoteTimedOut
	}
}
