package clocksource

import (
	"fmt"
	"math"
)

// Source is a clocksource as its driver describes it, and what the framework
// keeps of it once it is registered.
type Source struct {
	Name   string `json:"name"`
	Rating int    `json:"rating"` // the higher one wins; 0 once it is condemned
	Mask   Mask   `json:"mask"`
	// Freq is the frequency in units of Scale, and 0 for a clock that brings its
	// own Conversion (jiffies, tod).
	Freq  uint32 `json:"freq,omitzero"`
	Scale Scale  `json:"scale,omitzero"`
	// Conversion is computed at registration where Freq is not 0.
	Conversion Conversion `json:"conversion"`
	// Margin is the uncertainty margin; 0 is filled in at registration by releases that have margins.
	Margin Nanos `json:"margin_ns,omitzero"`
	Flags  Flags `json:"flags"`
}

// Frequency returns the frequency in Hz: what the driver gave, or what the conversion stands for.
func (s Source) Frequency() Hz {
	if s.Freq != 0 {
		return Hz(s.Freq) * Hz(s.Scale)
	}
	return s.Conversion.Frequency()
}

// Validate reports why the source cannot be registered.
func (s Source) Validate() error {
	if s.Name == "" {
		return fmt.Errorf("registering a clocksource without a name: give it one")
	}
	if !s.Mask.Valid() {
		return fmt.Errorf("registering clocksource %s with mask %s: want the all-ones value of its width", s.Name, s.Mask)
	}
	if s.Freq != 0 {
		if err := registrable(s.Freq, s.Scale, s.Mask); err != nil {
			return fmt.Errorf("clocksource %s: %w", s.Name, err)
		}
		return nil
	}
	if s.Conversion.Mult == 0 || s.Conversion.Shift > 63 {
		return fmt.Errorf("registering clocksource %s without a frequency, with mult %d and shift %d: give a frequency, or a mult above 0 and a shift below 64",
			s.Name, s.Conversion.Mult, s.Conversion.Shift)
	}
	return nil
}

// convert fills in the conversion and the margin, as a registration does.
func (s *Source) convert(r Rules) {
	if s.Freq != 0 {
		if c, err := Register(s.Freq, s.Scale, s.Mask); err == nil { // Validate was asked before
			s.Conversion = c
		}
	} else {
		s.Conversion = Given(s.Conversion.Mult, s.Conversion.Shift, s.Mask)
	}
	if r.NoMaxAdj {
		s.Conversion.MaxAdj = 0
	}
	if r.IdleBefore41 {
		c := &s.Conversion
		c.MaxCycles, c.MaxIdle = IdleBefore41(c.Mult, c.Shift, c.MaxAdj, s.Mask)
	}
	switch {
	case !r.margins():
		s.Margin = 0
	case s.Margin == 0:
		s.Margin = DefaultMargin(s.Freq, s.Scale, r.MaxSkew)
	}
}

// Source returns the named clock as the drivers of these releases register it,
// running at f. A rate of 0 takes the fixed rate of a clock that has one. Flags
// that depend on the machine (a TSC that is not watched, a clock that keeps
// counting in sleep) and ratings that do ([Known.Other]) are the caller's to change.
func (r Rules) Source(name string, f Hz) (Source, error) {
	if name == "wdtest-ktime" {
		return r.WDTestKtime(), nil
	}
	k, ok := KnownClock(name)
	if !ok {
		return Source{}, fmt.Errorf("clocksource %q: not a known clock, describe it with a Source", name)
	}
	if k.Ticks {
		return Source{}, fmt.Errorf("clocksource %s: it counts ticks, give HZ with Rules.Jiffies or Rules.RefinedJiffies", name)
	}
	if f == 0 {
		f = k.Hz
	}
	scale := ScaleFor(name)
	if freq := uint64(f) / uint64(scale); freq == 0 || freq > math.MaxUint32 {
		return Source{}, fmt.Errorf("clocksource %s at %d Hz: want %d to %d Hz", name, uint64(f), scale, uint64(math.MaxUint32)*uint64(scale))
	}
	return r.known(k, f), nil
}

// known returns a clock of the table at f Hz, which fits 32 bits in its scale.
func (r Rules) known(k Known, f Hz) Source {
	s := Source{Name: k.Name, Rating: k.Rating, Mask: k.Mask, Flags: k.Flags}
	if k.Given.Mult != 0 && f == k.Hz {
		s.Conversion = Given(k.Given.Mult, k.Given.Shift, k.Mask)
	} else {
		s.Scale = ScaleFor(k.Name)
		s.Freq = uint32(uint64(f) / uint64(s.Scale))
	}
	r.adapt(&s)
	return s
}

// TSC returns the clock tsc at khz. From 7.1 on refined says that the frequency was
// measured against a timer, not taken from the processor's word, and so is trusted.
func (r Rules) TSC(khz uint32, refined bool) Source {
	s := r.tscSource("tsc", khz)
	if refined && r.CalibratedFlag {
		s.Flags |= Calibrated
	}
	return s
}

// TSCEarly returns the clock tsc-early at khz, which stands in for tsc until
// its frequency is refined. Releases before 4.16 have none.
func (r Rules) TSCEarly(khz uint32) Source { return r.tscSource("tsc-early", khz) }

func (r Rules) tscSource(name string, khz uint32) Source {
	k, _ := KnownClock(name)
	return r.known(k, Hz(khz)*1000)
}

// HPET returns the clock hpet at f Hz, which is what [HPETFrequency] gives.
// QEMU's runs at 100 MHz.
func (r Rules) HPET(f Hz) (Source, error) { return r.Source("hpet", f) }

// ACPIPM returns the ACPI PM timer.
func (r Rules) ACPIPM() Source { return r.fixed("acpi_pm") }

// KVMClock returns kvm-clock. In a guest with an invariant TSC its rating is 299.
func (r Rules) KVMClock() Source { return r.fixed("kvm-clock") }

// HyperVPage returns the reference clock of Hyper-V that is read from a page.
// In a guest with an invariant TSC its rating is 250.
func (r Rules) HyperVPage() Source { return r.fixed("hyperv_clocksource_tsc_page") }

// TOD returns the clock of s390.
func (r Rules) TOD() Source { return r.fixed("tod") }

// fixed returns a clock of the table that has a rate of its own.
func (r Rules) fixed(name string) Source {
	k, _ := KnownClock(name)
	return r.known(k, k.Hz)
}

// Jiffies returns the clock jiffies at hz ticks a second, which boots begin with.
func (r Rules) Jiffies(hz int) (Source, error) { return r.tick("jiffies", hz) }

// RefinedJiffies returns the clock refined-jiffies at hz ticks a second.
func (r Rules) RefinedJiffies(hz int) (Source, error) { return r.tick("refined-jiffies", hz) }

func (r Rules) tick(name string, hz int) (Source, error) {
	c, ok := Tick(name, hz)
	if !ok {
		return Source{}, fmt.Errorf("clocksource %s at HZ %d: want a positive number of ticks a second, below the rate of the timer that it counts", name, hz)
	}
	k, _ := KnownClock(name)
	s := Source{Name: name, Rating: k.Rating, Mask: k.Mask, Conversion: c, Flags: k.Flags}
	r.adapt(&s)
	return s, nil
}

// WDTestKtime returns the clock wdtest-ktime of the kernel's own watchdog test: the
// first generation, 5.14 to 7.0, or the second, 7.1 and later.
func (r Rules) WDTestKtime() Source {
	k, _ := KnownClock("wdtest-ktime")
	s := Source{Name: k.Name, Rating: k.Rating, Mask: k.Mask, Freq: 1_000_000, Scale: ScaleKHz, Flags: k.Flags}
	if !r.TestFlag {
		s.Rating = 300
		s.Flags = IsContinuous | ValidForHRES | MustVerify | VerifyPerCPU
	}
	return s
}

// WDTestJiffies returns the clock wdtest-jiffies of the first generation of that
// test: it is watched, not continuous, and its margin is one tick.
func (r Rules) WDTestJiffies(hz int) (Source, error) {
	s, err := r.tick("jiffies", hz)
	if err != nil {
		return Source{}, err
	}
	s.Name, s.Flags, s.Margin = "wdtest-jiffies", MustVerify, s.Conversion.Nanos(1, Wrapping)
	return s, nil
}

// adapt makes of the newest driver's flags and margins those of the rules' release.
func (r Rules) adapt(s *Source) {
	if !r.CalibratedFlag {
		s.Flags &^= Calibrated
	}
	if s.Name == "tsc" {
		if r.TSCValidForHRES {
			s.Flags |= ValidForHRES
		}
		if r.VerifyPerCPU {
			s.Flags |= VerifyPerCPU
		}
	}
	if r.margins() && bringsMargin(s.Name) {
		s.Margin = DriverMargin
	}
}
