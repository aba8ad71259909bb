package watchdog

// shared is the tick of E0 and E1: the reference is read once, before the clocks.
func (w *Watchdog) shared(s *State, t Tick, m Machine, reset int, out []Verdict) []Verdict {
	now := m.ReadReference()
	last := s.Shared
	s.Shared = now
	for i := range w.setup.Watched {
		c, cs := &w.setup.Watched[i], &s.Clocks[i]
		out = grow(out)
		v := &out[len(out)-1]
		v.Clock, v.Attempts, v.Allowed = i, 1, 1
		if cs.Unstable {
			*v = Verdict{Clock: i, Kind: AlreadyCondemned}
			continue
		}
		old := *cs
		cs.Clock = m.ReadBack(i, ReadSharedReference).Clock
		if reset > 0 {
			v.Kind = Initialised
			continue
		}
		if !cs.Initialised {
			cs.Initialised = true
			v.Kind = Initialised
			if w.profile.HRESAtInit {
				w.grant(cs, c, v)
			}
			continue
		}
		old.Reference = last
		w.compare(v, c, old, cs.Clock, now)
		w.judge(s, i, v)
	}
	return out
}

// walk is the tick of E2 to E11: each clock is read together with the reference.
func (w *Watchdog) walk(s *State, t Tick, m Machine, reset int, out []Verdict) ([]Verdict, pace) {
	var next pace
	allowed := w.profile.Attempts(t.Online.Count(), w.setup.Retries)
	for i := range w.setup.Watched {
		c, cs := &w.setup.Watched[i], &s.Clocks[i]
		out = grow(out)
		v := &out[len(out)-1]
		v.Clock, v.Allowed = i, allowed
		if cs.Unstable {
			v.Kind = AlreadyCondemned
			continue
		}
		rb, ok := w.read(s, i, m, v, allowed)
		switch {
		case ok:
			if cs.Coarse > 0 { // a store would hold up the copy below
				cs.Coarse = 0
			}
		case v.Kind == Skipped:
			if w.profile.Adapt == AdaptSkip {
				s.MaxSkew = 2 * v.Sequence
				v.MaxSkew = s.MaxSkew
			}
			if w.profile.OnSkip == ActSuspend {
				s.ForgetReference()
				next.extra, next.broken = w.suspend, i+1 < len(w.setup.Watched)
				return out, next
			}
			continue // the old pair is kept, and ages
		case w.profile.OnSlow == ActCoarse:
			w.forgive(cs, c, v, rb, reset)
			continue
		default:
			condemn(cs, v, CondemnedDelay)
			continue
		}
		old := *cs
		cs.Clock, cs.Reference = rb.Clock, rb.Before
		if !old.Initialised || reset > 0 {
			cs.Initialised = true
			v.Kind = Initialised
			continue
		}
		w.compare(v, c, old, rb.Clock, rb.Before)
		if longer := max(v.Watched.NS, v.Reference.NS); w.longest > 0 && longer > w.longest {
			v.Kind = TooLong
			next.fromNow = true
			continue
		}
		w.judge(s, i, v)
	}
	return out, next
}

// read makes attempts until one is fast enough. It fills the delays of the last
// attempt; ok is false where no read-out is accepted, and the verdict's kind
// tells whether that was a skip.
func (w *Watchdog) read(s *State, i int, m Machine, v *Verdict, allowed int) (rb ReadBack, ok bool) {
	l := &w.limits[i]
	v.ReadLimit, v.SkipLimit = l.read, l.skip
	if w.profile.Read == ReadClockFirst {
		v.Attempts = 1
		return m.ReadBack(i, ReadClockFirst), true
	}
	for v.Attempts < allowed {
		rb = m.ReadBack(i, w.profile.Read)
		v.Attempts++
		v.Delay = w.between(&w.setup.Reference, rb.Before, rb.After)
		if w.adapts {
			w.adapt(s, i, v, rb)
		}
		if v.Delay <= v.ReadLimit {
			return rb, true
		}
		if !w.skips {
			continue
		}
		if v.Sequence = w.between(&w.setup.Reference, rb.After, rb.Again); v.Sequence > v.SkipLimit {
			v.Kind = Skipped
			return rb, false
		}
	}
	return rb, false
}

// judge compares the intervals with the limit of E0 to E11.
func (w *Watchdog) judge(s *State, i int, v *Verdict) {
	v.SkewLimit = w.limits[i].skew
	if w.adapts {
		v.SkewLimit = w.adaptedSkew(s, i, v)
	}
	size := v.Skew.Abs()
	if size > v.SkewLimit || w.profile.Skew.Inclusive && size == v.SkewLimit {
		condemn(&s.Clocks[i], v, CondemnedSkew)
		return
	}
	w.passed(&s.Clocks[i], &w.setup.Watched[i], v)
}
