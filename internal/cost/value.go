package cost

import (
	"fmt"
	"math"
)

// Value is a number and the interval in which it lies; both ends are the number itself
// where it is taken as exact.
type Value struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Exact returns a number that is taken as exact.
func Exact(x float64) Value { return Value{x, x, x} }

// Within returns the middle of an interval, with the interval.
func Within(low, high float64) Value { return Value{low + (high-low)/2, low, high} }

// IsExact reports a number without an interval.
func (v Value) IsExact() bool { return v.Low == v.Value && v.High == v.Value }

// check returns an error for a number that is not finite, not within its interval, or less than a bound.
func (v Value) check(what string, positive bool) error {
	for _, x := range []float64{v.Value, v.Low, v.High} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s: %v (%v to %v): want numbers", what, v.Value, v.Low, v.High)
		}
	}
	switch {
	case !(v.Low <= v.Value && v.Value <= v.High):
		return fmt.Errorf("%s: %v is not between %v and %v", what, v.Value, v.Low, v.High)
	case positive && v.Low <= 0:
		return fmt.Errorf("%s: %v: want more than 0", what, v.Low)
	case v.Low < 0:
		return fmt.Errorf("%s: %v: want 0 or more", what, v.Low)
	}
	return nil
}

// corners evaluates f at the inputs themselves, and at each combination of their
// ends for the interval. f must be monotone in each input for the interval to hold all that the inputs can make.
func corners(f func([]float64) float64, inputs ...Value) Value {
	at := make([]float64, len(inputs))
	for i, v := range inputs {
		at[i] = v.Value
	}
	result := Exact(f(at))
	for mask := range 1 << len(inputs) {
		for i, v := range inputs {
			at[i] = v.Low
			if mask>>i&1 == 1 {
				at[i] = v.High
			}
		}
		x := f(at)
		result.Low, result.High = min(result.Low, x), max(result.High, x)
	}
	return result
}
