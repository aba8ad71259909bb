package clocksource

// MaxName is the greatest length of a name that the kernel keeps as a wish, in bytes.
const MaxName = 31

// BootDone opens the selection, as fs_initcall does: timekeeping's default
// clock becomes current, clocks that were condemned during the boot are
// demoted, and the best clock is selected.
func (r *Registry) BootDone() []Effect {
	if r.Booted {
		return nil
	}
	r.Current, r.Booted = DefaultClock, true
	effects, _ := r.threadBody()
	return append(effects, r.selectBest(false)...)
}

// SetOneshot says whether the tick layer is in oneshot mode, in which only
// clocks that are valid for high resolution may be used. A machine enters it once
// [Registry.CanOneshot] is true (unless highres=off and nohz=off) and never leaves
// it. By itself that selects nothing.
func (r *Registry) SetOneshot(on bool) { r.Oneshot = on }

// CanOneshot reports whether the current clock allows oneshot mode.
func (r *Registry) CanOneshot() bool { return r.flags(r.Current).Has(ValidForHRES) }

// SetOverride is the parameter clocksource=NAME (or clock=NAME) of the command
// line, of which the kernel keeps the first 31 bytes. The deprecated clock=pmtmr means acpi_pm:
// see [OverrideOf]. It selects nothing by itself.
func (r *Registry) SetOverride(name string) {
	if len(name) > MaxName {
		name = name[:MaxName]
	}
	r.Override = name
}

// OverrideOf returns the clock that the old parameter clock=VALUE asks for.
func OverrideOf(value string) string {
	if value == "pmtmr" {
		return "acpi_pm"
	}
	return value
}

// SelectBest selects the best clock, or the wished one. It does nothing until
// the boot is done.
func (r *Registry) SelectBest() []Effect { return r.selectBest(false) }

// selectBest selects; with fallback the current clock is no candidate.
func (r *Registry) selectBest(fallback bool) []Effect {
	if !r.Booted {
		return nil
	}
	best := r.best(fallback)
	if best == "" {
		return nil
	}
	var effects []Effect
	if r.Override != "" {
		best, effects = r.wished(best, fallback)
	}
	if best == r.Current {
		return effects
	}
	line, tick := Effect{Kind: EffectSwitched, Clock: best, Other: r.Current}, Effect{Kind: EffectTickNotified}
	r.Current = best
	if r.Rules.SwitchText == SwitchSwitched {
		return append(effects, tick, line) // "Switched" is printed when all is done
	}
	return append(effects, line, tick)
}

// best returns the first clock of the list that may be used.
func (r *Registry) best(fallback bool) string {
	for i := range r.Sources {
		s := &r.Sources[i]
		switch {
		case fallback && s.Name == r.Current,
			s.Flags.Has(WDTest),
			r.Rules.FilterHRES && r.Oneshot && !s.Flags.Has(ValidForHRES):
			continue
		}
		return s.Name
	}
	return ""
}

// wished returns the wished clock, or best where that is not registered or may not be used.
func (r *Registry) wished(best string, fallback bool) (string, []Effect) {
	i := r.index(r.Override)
	if i < 0 || fallback && r.Override == r.Current {
		return best, nil
	}
	s := r.Sources[i]
	if s.Flags.Has(WDTest) {
		return best, nil // never selected: the wish stays, and does nothing
	}
	if r.Rules.Override == OverrideAlways || !r.Oneshot || s.Flags.Has(ValidForHRES) {
		return s.Name, nil
	}
	if r.Rules.Override == OverrideTwoWay && !s.Flags.Has(Unstable) {
		return best, []Effect{{Kind: EffectOverrideDeferred, Clock: s.Name}}
	}
	r.Override = ""
	return best, []Effect{{Kind: EffectOverrideRefused, Clock: s.Name}}
}

// ChooseReference chooses the clock that the watchdog trusts: the one with the
// highest rating among those that need no watching, where it is better than
// the present one. With fallback the present one is given up if there is any other.
// A change makes the saved pairs of all watched clocks void.
func (r *Registry) ChooseReference(fallback bool) []Effect { return r.chooseReference(fallback) }

func (r *Registry) chooseReference(fallback bool) []Effect {
	old, chosen := r.Reference, r.index(r.Reference)
	if fallback {
		chosen = -1
	}
	for i := range r.Sources {
		s := &r.Sources[i]
		switch {
		case s.Flags.Has(MustVerify),
			r.Rules.ContinuousReference && !s.Flags.Has(IsContinuous),
			fallback && s.Name == old:
			continue
		}
		if chosen < 0 || s.Rating > r.Sources[chosen].Rating {
			chosen = i
		}
	}
	var effects []Effect
	if chosen >= 0 && r.Sources[chosen].Name != old {
		r.Reference = r.Sources[chosen].Name
		effects = append(effects, Effect{Kind: EffectReferenceChanged, Clock: r.Reference, Other: old})
		r.ForgetAll()
	}
	return append(effects, r.startTimer()...)
}
