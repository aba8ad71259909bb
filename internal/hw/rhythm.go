package hw

import (
	"fmt"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// Rhythm lets ticks come in bursts: so many an interval apart, and a pause until the next
// ones. Nothing is compared over the pause. The zero value has no pauses.
type Rhythm struct {
	Burst int           `json:"burst,omitempty"`    // ticks
	Every time.Duration `json:"every_ns,omitempty"` // from the beginning of a burst to that of the next
}

// Validate reports a rhythm that ticks of that interval cannot keep.
func (r Rhythm) Validate(interval time.Duration) error {
	switch {
	case r == Rhythm{}:
		return nil
	case r.Burst < 1:
		return fmt.Errorf("a burst of %d ticks every %v, want at least one", r.Burst, r.Every)
	case r.Every < time.Duration(r.Burst)*interval:
		return fmt.Errorf("a burst of %d ticks every %v: they take %v", r.Burst, r.Every, time.Duration(r.Burst)*interval)
	}
	return nil
}

// Ends reports whether a burst is over when so many ticks are done.
func (r Rhythm) Ends(done int) bool { return r.Burst > 0 && done%r.Burst == 0 }

// NextBurst returns when the burst behind one is due that was due at first; not before next,
// when a tick without a pause would be.
func (r Rhythm) NextBurst(first, next clocksource.Nanos) clocksource.Nanos {
	return max(first+clocksource.Nanos(r.Every), next)
}
