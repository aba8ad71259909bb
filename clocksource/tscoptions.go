package clocksource

// TSCOptions is what the words of tsc= on a command line come to.
type TSCOptions struct {
	Reliable    bool `json:"reliable,omitzero"`    // the TSC is trusted: not watched, not tested at boot
	NoWatchdog  bool `json:"nowatchdog,omitzero"`  // it is not watched, 5.4 and later
	Watchdog    bool `json:"watchdog,omitzero"`    // 6.3 to 7.0: it watches the timers; 7.1 and later: it is watched in any case
	Unstable    bool `json:"unstable,omitzero"`    // it is condemned from the start, about 4.13 and later
	Recalibrate bool `json:"recalibrate,omitzero"` // its frequency is checked against a timer, 6.3 and later
}

// What kernels 6.3 to 7.0 say, at level alert, of two words that contradict each other.
const (
	reasonOverriding = "Overriding earlier tsc=watchdog with tsc=nowatchdog"
	reasonOverridden = "tsc=watchdog overridden by earlier tsc=nowatchdog"
)

// TSCOptions reads the words of tsc= in the order of the command line. Words
// that the release has not, and those that do not concern clocks, count for
// nothing. Of watchdog and nowatchdog the second wins in either order up to 7.0, with an
// alert, and from 7.1 on the last one.
func (r Rules) TSCOptions(words []string) (TSCOptions, []Effect) {
	var o TSCOptions
	var effects []Effect
	for _, word := range words {
		switch {
		case word == "reliable":
			o.Reliable = true
		case word == "unstable" && r.TSCCallback:
			o.Unstable = true
		case word == "recalibrate" && r.TSCRecalibrate:
			o.Recalibrate = true
		case word == "nowatchdog" && r.TSCNoWatchdog:
			if o.Watchdog && r.TSCWatchesTimers {
				effects = append(effects, Effect{Kind: EffectTSCOption, Reason: reasonOverriding})
			}
			o.NoWatchdog, o.Watchdog = true, false
		case word == "watchdog" && r.TSCWatchesTimers && o.NoWatchdog:
			effects = append(effects, Effect{Kind: EffectTSCOption, Reason: reasonOverridden})
		case word == "watchdog" && (r.TSCWatchesTimers || r.TSCForced):
			o.Watchdog, o.NoWatchdog = true, false
		}
	}
	return o, effects
}

// TSCWith returns tsc or tsc-early as its driver registers it with these
// options. exempt says that the kernel trusts this TSC by itself: its CPU flags
// and the size of the machine, which package watchdog judges.
func (r Rules) TSCWith(s Source, o TSCOptions, exempt bool) Source {
	if (exempt || o.Reliable || o.NoWatchdog) && !(o.Watchdog && r.TSCForced) {
		s.Flags &^= MustVerify
	}
	return s
}

// TimerWith returns a timer as its driver registers it beside this TSC. With
// tsc=watchdog kernels 6.3 to 7.0 have the HPET and the ACPI PM timer watched, where
// the TSC itself is not: it is the best clock that needs no watching, and so their reference.
func (r Rules) TimerWith(s Source, o TSCOptions, tsc Source) Source {
	if r.TSCWatchesTimers && o.Watchdog && !tsc.Flags.Has(MustVerify) && (s.Name == "hpet" || s.Name == "acpi_pm") {
		s.Flags |= MustVerify
	}
	return s
}

// RecalibrateTSC is tsc=recalibrate of 6.3 and later: a TSC whose frequency
// came from the processor's word, in kHz, is measured against a timer ("hpet" or
// "acpi_pm"). More than 1/2048 apart, "500 ppm", is warned of, with both frequencies. That
// the measured one is told in either case is from memory; which of the two the kernel
// uses afterwards is not described, and so not done here: see [Registry.UpdateFrequency].
func (r Rules) RecalibrateTSC(o TSCOptions, known, measured uint32, timer string) []Effect {
	if !o.Recalibrate || !r.TSCRecalibrate {
		return nil
	}
	var effects []Effect
	if apart := max(known, measured) - min(known, measured); apart > known>>11 {
		effects = append(effects, Effect{Kind: EffectTSCDiffers}, Effect{Kind: EffectTSCPrevious, Frequency: Hz(known) * 1000})
	}
	return append(effects, Effect{Kind: EffectTSCRecalibrated, Clock: timer, Frequency: Hz(measured) * 1000})
}
