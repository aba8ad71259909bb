package stats

import (
	"fmt"
	"math"
)

// Count is how many trials had the event that is counted.
type Count struct {
	Events int `json:"events"`
	Trials int `json:"trials"`
}

// Validate returns an error for a count that cannot be: negative, or more
// events than trials. The functions of this package return NaN for those.
func (c Count) Validate() error {
	switch {
	case c.Trials < 0:
		return fmt.Errorf("%d trials: want 0 or more", c.Trials)
	case c.Events < 0:
		return fmt.Errorf("%d events: want 0 or more", c.Events)
	case c.Events > c.Trials:
		return fmt.Errorf("%d events in %d trials: want at most as many events as trials", c.Events, c.Trials)
	}
	return nil
}

func (c Count) valid() bool { return c.Validate() == nil }

// Rate returns the share of trials with the event, and NaN where there are no trials.
func (c Count) Rate() float64 {
	if !c.valid() || c.Trials == 0 {
		return math.NaN()
	}
	return float64(c.Events) / float64(c.Trials)
}

// Interval is a range of values of a quantity, both ends included.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Contains reports whether a value lies in the interval.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

// Width returns the length of the interval.
func (i Interval) Width() float64 { return i.High - i.Low }

func nowhere() Interval { return Interval{math.NaN(), math.NaN()} }
