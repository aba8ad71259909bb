package clocksource

import "slices"

// MarkUnstable is a verdict of the watchdog on a clock. It does nothing for a
// clock that is condemned already. From 2.6.31 on the rating drops later, in
// [Registry.RunThread], and before the boot is done in [Registry.BootDone].
func (r *Registry) MarkUnstable(name string) []Effect { return r.condemn(name, ReasonWatchdog) }

// MarkTSCUnstable is a verdict on the TSC that comes from elsewhere than the
// watchdog: a boot parameter, the synchronisation test, power management. The first reason
// counts. It condemns tsc-early and tsc, registered or not.
func (r *Registry) MarkTSCUnstable(reason string) []Effect {
	if r.TSCMarked {
		return nil
	}
	effects := r.markTSC(reason)
	for _, name := range []string{"tsc-early", "tsc"} {
		if name == "tsc-early" && !r.Rules.HasTSCEarly {
			continue
		}
		effects = append(effects, r.condemn(name, reason)...)
	}
	return effects
}

// markTSC sets the driver's own flag and passes the news on to sched_clock.
func (r *Registry) markTSC(reason string) []Effect {
	r.TSCMarked = true
	effects := r.clearSchedStable()
	return append(effects, Effect{Kind: EffectTSCMarked, Clock: "tsc", Reason: reason})
}

// condemn marks a clock and starts what follows from it.
func (r *Registry) condemn(name, reason string) []Effect {
	i := r.index(name)
	if i < 0 {
		if name == "" || slices.Contains(r.Condemned, name) {
			return nil
		}
		r.Condemned = append(slices.Clip(r.Condemned), name)
		return []Effect{{Kind: EffectMarkedUnstable, Clock: name, Reason: reason}}
	}
	if r.Sources[i].Flags.Has(Unstable) {
		return nil
	}
	var effects []Effect
	if !r.Rules.RatingAtOnce && !slices.Contains(r.Watched, name) {
		// A clock that is not watched joins the watched ones: from there the thread takes it.
		effects = append(effects, r.watch(name))
	}
	r.setFlags(i, Unstable, ValidForHRES|Watchdog)
	effects = append(effects, Effect{Kind: EffectMarkedUnstable, Clock: name, Reason: reason})
	if r.Rules.TSCCallback && isTSC(name) && !r.TSCMarked {
		effects = append(effects, r.markTSC(reason)...)
	}
	if r.Rules.RatingAtOnce {
		effects = append(effects, r.rate(r.index(name), 0)...)
		effects = append(effects, r.unwatch(name)...)
		effects = append(effects, r.stopTimer()...)
		return append(effects, r.selectBest(false)...)
	}
	return append(effects, r.WakeThread()...)
}

// WakeThread is what a tick does that meets a condemned clock: it makes sure
// that the thread will run. Before the boot is done there is no thread.
func (r *Registry) WakeThread() []Effect {
	if !r.Booted || r.ThreadPending || r.Rules.RatingAtOnce {
		return nil
	}
	r.ThreadPending = true
	return []Effect{{Kind: EffectThreadNeeded}}
}

// RunThread is the kernel's thread kwatchdog, once it gets to run: it asks for
// the cross-CPU check of a condemned current clock, takes condemned clocks from the watched
// ones, drops their ratings to 0, stops the timer where nothing is left to watch, and selects
// again where something changed.
func (r *Registry) RunThread() []Effect {
	r.ThreadPending = false
	if !r.Booted {
		return nil
	}
	effects, changed := r.threadBody()
	if changed {
		effects = append(effects, r.selectBest(false)...)
	}
	return effects
}

func (r *Registry) threadBody() (effects []Effect, changed bool) {
	if r.Rules.VerifyPerCPU && r.flags(r.Current).Has(Unstable|VerifyPerCPU) {
		effects = append(effects, Effect{Kind: EffectVerifyNeeded, Clock: r.Current})
	}
	for _, name := range slices.Clone(r.Watched) {
		i := r.index(name)
		if r.Sources[i].Flags.Has(Unstable) {
			effects = append(effects, r.unwatch(name)...)
			effects = append(effects, r.rate(i, 0)...)
			changed = true
		}
		if i = r.index(name); r.Sources[i].Flags.Has(Reselect) {
			r.setFlags(i, 0, Reselect)
			changed = true
		}
	}
	return append(effects, r.stopTimer()...), changed
}

// GrantHRES makes a watched clock fit for oneshot mode, as the watchdog does
// after its first good check. It does nothing for a clock that is fit already
// or condemned, and where the clock or the reference is not continuous.
func (r *Registry) GrantHRES(name string) []Effect {
	i := r.index(name)
	if i < 0 || r.Sources[i].Flags&(ValidForHRES|Unstable) != 0 ||
		!r.Sources[i].Flags.Has(IsContinuous) || !r.flags(r.Reference).Has(IsContinuous) {
		return nil
	}
	r.setFlags(i, ValidForHRES, 0)
	effects := []Effect{{Kind: EffectHRESGranted, Clock: name}}
	switch {
	case r.Rules.ReselectOnGrant && !r.Booted:
		return effects
	case r.Rules.ReselectOnGrant && name != r.Current:
		if r.Sources[i].Flags.Has(WDTest) {
			return effects
		}
		r.setFlags(i, Reselect, 0)
		return append(effects, r.WakeThread()...)
	}
	return append(effects, Effect{Kind: EffectTickNotified})
}

// SetReady says that the saved pair of a clock is valid (flag WATCHDOG). It
// reports whether it was not before.
func (r *Registry) SetReady(name string) bool {
	i := r.index(name)
	return i >= 0 && !r.Sources[i].Flags.Has(Unstable) && r.setFlags(i, Watchdog, 0)
}

// Forget says that the saved pair of a clock is void. It reports whether it was valid before.
func (r *Registry) Forget(name string) bool {
	i := r.index(name)
	return i >= 0 && r.setFlags(i, 0, Watchdog)
}

// ForgetAll says that the saved pairs of all watched clocks are void.
func (r *Registry) ForgetAll() {
	for _, name := range r.Watched {
		r.Forget(name)
	}
}

// clearSchedStable makes sched_clock unstable, where it is read from the TSC:
// silently during the boot, and by a work item that says so once it had been declared stable.
func (r *Registry) clearSchedStable() []Effect {
	if !r.Rules.SchedClock || r.Sched.Source != SchedTSC || r.Sched.Unstable {
		return nil
	}
	if !r.Sched.LateInit {
		r.Sched.Unstable = true
		return nil
	}
	r.Sched.Pending = true
	return []Effect{{Kind: EffectSchedNeeded}}
}

// LateInit is the end of the boot: sched_clock is declared stable unless a
// verdict came before.
func (r *Registry) LateInit() []Effect {
	if r.Sched.LateInit {
		return nil
	}
	r.Sched.LateInit = true
	if !r.Rules.SchedClock || r.Sched.Source == SchedNone || r.Sched.Unstable {
		return nil
	}
	return []Effect{{Kind: EffectSchedStable}}
}

// RunSchedClock is the work item that makes sched_clock unstable. It is queued
// before the thread is woken and as a rule runs first.
func (r *Registry) RunSchedClock() []Effect {
	if !r.Sched.Pending {
		return nil
	}
	r.Sched.Pending, r.Sched.Unstable = false, true
	return []Effect{{Kind: EffectSchedUnstable}}
}

// RunPending runs what is queued, sched_clock's work item first.
func (r *Registry) RunPending() []Effect {
	effects := r.RunSchedClock()
	if r.ThreadPending {
		effects = append(effects, r.RunThread()...)
	}
	return effects
}
