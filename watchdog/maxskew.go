package watchdog

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
)

// The range of CONFIG_CLOCKSOURCE_WATCHDOG_MAX_SKEW_US, in microseconds.
const (
	LeastMaxSkew = 50
	MostMaxSkew  = 1000
)

// WithMaxSkew returns the profile as a kernel has it that was built with
// CONFIG_CLOCKSOURCE_WATCHDOG_MAX_SKEW_US set to so many microseconds. It fails
// outside of 50 to 1000 and for a profile that is not Configurable.
//
// The number is what the era makes of S: default margins are twice it, the
// messages from 6.3 on print it as the limit, and where the limits of the reading are
// fixed (up to 6.11) the read limit is S and the skip limit half of it. From 6.12
// on these follow the margins. Margins of clocks are made by [Profile.Margin] of the returned
// profile; what a driver gives (tsc-early: 32 ms) stays.
func (p Profile) WithMaxSkew(us int) (Profile, error) {
	switch {
	case !p.Configurable:
		return Profile{}, fmt.Errorf("max_skew_us for era %s: its kernels have no such build option, which came with 5.18 and went with 7.1: choose another era", p.Era)
	case us < LeastMaxSkew || us > MostMaxSkew:
		return Profile{}, fmt.Errorf("max_skew_us of %d: the build option takes %d to %d microseconds", us, LeastMaxSkew, MostMaxSkew)
	}
	p.MaxSkew = clocksource.Nanos(us) * clocksource.Microsecond
	if p.ReadLimit.Fixed > 0 {
		p.ReadLimit.Fixed = p.MaxSkew
	}
	if p.SkipLimit.Fixed > 0 {
		p.SkipLimit.Fixed = p.MaxSkew / 2
	}
	return p, nil
}
