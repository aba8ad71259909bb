package watchdog

import "github.com/cswatch/cswatch/clocksource"

// Watchdog applies one era's rules to one setup. It holds nothing that changes:
// all of that is in a State, which the caller keeps.
type Watchdog struct {
	setup      Setup
	profile    Profile
	rule       clocksource.DeltaRule
	arithmetic clocksource.Arithmetic
	interval   clocksource.Nanos // from tick to tick
	longest    clocksource.Nanos // above which an interval is not compared, 0 for never
	suspend    clocksource.Nanos
	limits     [MaxWatched]limits
	adapts     bool // limits follow the delays
	skips      bool // a slow reference is told from a slow read-out
}

// limits are an era's limits for one clock against the reference.
type limits struct {
	read, skip, skew clocksource.Nanos
	shift            uint
}

// New checks the setup and returns its watchdog.
func New(setup Setup) (*Watchdog, error) {
	if err := setup.Validate(); err != nil {
		return nil, err
	}
	if setup.HZ == 0 {
		setup.HZ = 250
	}
	p := setup.Profile
	w := &Watchdog{setup: setup, profile: p, rule: p.DeltaX86, arithmetic: p.Arithmetic}
	if setup.OtherArch {
		w.rule = p.DeltaOther
	}
	w.adapts, w.skips = p.Adapt != AdaptNone, p.Read == ReadFour && p.OnSkip != ActNothing
	tick := clocksource.NanosPerSecond / clocksource.Nanos(setup.HZ)
	w.interval = clocksource.Nanos(setup.HZ/2) * tick
	w.suspend = clocksource.Nanos(300*setup.HZ) * tick
	if p.LongInterval > 0 {
		w.longest = 2 * w.interval // 1 s for an even HZ
	}
	for i, c := range setup.Watched {
		l := &w.limits[i]
		l.read, _ = p.ReadLimit.At(setup.Reference.Margin, c.Margin)
		l.skip, _ = p.SkipLimit.At(setup.Reference.Margin, c.Margin)
		l.skew, _ = p.Skew.Limit.At(setup.Reference.Margin, c.Margin)
		l.shift = p.Skew.Shift
		if c.Calibrated && setup.Reference.Calibrated {
			l.shift = p.Skew.CalibratedShift
		}
	}
	return w, nil
}

// Setup returns what the watchdog was made of.
func (w *Watchdog) Setup() Setup { return w.setup }

// Start arms the timer: one interval ahead, on the first CPU.
func (w *Watchdog) Start(s *State, now clocksource.Nanos, online CPUs) {
	s.Started, s.Expiry, s.CPU = true, now+w.interval, online.First()
	for i := range w.setup.Watched {
		s.Clocks[i].HRES = w.setup.Watched[i].HRES
	}
}

// Step runs one tick and appends a verdict for each watched clock to out. The
// state then tells when and where the next tick is due: State.Expiry and
// State.CPU. A tick runs when the machine lets it, which Tick.Now says.
func (w *Watchdog) Step(s *State, t Tick, m Machine, out []Verdict) []Verdict {
	s.Ticks++
	reset := s.ResetPending
	first := len(out)
	var next pace
	switch {
	case w.profile.Skew.Shift > 0:
		out = w.rewritten(s, t, m, reset, out)
	case w.profile.Read == ReadSharedReference:
		out = w.shared(s, t, m, reset, out)
	default:
		out, next = w.walk(s, t, m, reset, out)
	}
	if reset > 0 && s.ResetPending > 0 && !next.broken {
		s.ResetPending--
		if w.profile.ResetOnce {
			s.ResetPending = 0
		}
	}
	w.arm(s, t, next)
	for i := first; i < len(out); i++ {
		v := &out[i]
		v.Era, v.Tick, v.Time, v.CPU = w.profile.Era, s.Ticks, t.Now, t.CPU
	}
	return out
}

// grow appends an empty verdict without building it elsewhere first.
func grow(out []Verdict) []Verdict {
	n := len(out)
	if n == cap(out) {
		return append(out, Verdict{})
	}
	out = out[:n+1]
	out[n] = Verdict{}
	return out
}

// pace is what a walk over the watched clocks does to the timer.
type pace struct {
	fromNow bool              // the next interval counts from now, without catching up
	extra   clocksource.Nanos // a pause on top of the interval
	broken  bool              // the walk ended before the last clock
}

// arm sets when and where the next tick is due.
func (w *Watchdog) arm(s *State, t Tick, p pace) {
	base := s.Expiry
	if p.fromNow || w.profile.ExpiryFromNow {
		base = t.Now
	}
	s.Expiry = base + w.interval + p.extra
	if w.profile.Rotate {
		s.CPU = t.Online.Next(t.CPU)
	} else {
		s.CPU = t.CPU
	}
}

// between converts the time between two raw values of a clock.
func (w *Watchdog) between(c *Clock, last, now clocksource.Cycles) clocksource.Nanos {
	return c.Conversion.Between(last, now, c.Mask, w.rule, w.arithmetic)
}

// compare fills both intervals and the skew of a verdict.
func (w *Watchdog) compare(v *Verdict, c *Clock, old ClockState, clock, reference clocksource.Cycles) {
	v.Watched = Interval{NS: w.between(c, old.Clock, clock), Last: old.Clock, Now: clock}
	v.Reference = Interval{NS: w.between(&w.setup.Reference, old.Reference, reference), Last: old.Reference, Now: reference}
	v.Skew = v.Watched.NS - v.Reference.NS
	v.Compared = true
}

// condemn marks a clock. What follows in the framework is package clocksource's.
func condemn(c *ClockState, v *Verdict, k Kind) {
	v.Kind = k
	c.Unstable, c.Initialised, c.HRES = true, false, false
}

// passed notes a good comparison.
func (w *Watchdog) passed(s *ClockState, c *Clock, v *Verdict) {
	v.Kind = Agreed
	v.TickStable = w.profile.TickStable && w.setup.Current == c.Name
	w.grant(s, c, v)
}

// grant lets a clock into high resolution mode, once.
func (w *Watchdog) grant(s *ClockState, c *Clock, v *Verdict) {
	if !s.HRES && c.Continuous && w.setup.Reference.Continuous {
		s.HRES, v.GrantsHRES = true, true
	}
}
