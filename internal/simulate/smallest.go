package simulate

import (
	"context"
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/sim"
)

// Wanted is the share of boots in which a fault must be found to count as one that is.
const Wanted = 0.99

// Smallest is the smallest fault of a kind that is found, and the next smaller one.
type Smallest struct {
	Spec
	// Reached says that there is one. Otherwise Found is the amount that was found most
	// often of those that were tried, and Below means nothing.
	Reached bool
	Found   Result
	// Below is the next smaller amount, which is not found often enough; without
	// boots where the smallest that can be tried is found.
	Below Result
	Tried int // amounts
}

// Amounts are tried with two digits: 1.0, 1.1, ... 9.9, 10, 11, ...
const perDecade = 90

// amounts bounds what is tried of a kind of fault: so many steps of two digits from
// 1 ppm, or from 1 us.
func amounts(k sim.FaultKind) int {
	if k == sim.Step {
		return 7 * perDecade // 10 s
	}
	return 5*perDecade + 40 // 500 000 ppm, the most that a fault can have
}

// amount returns a fault of the kind of f with the amount at an index.
func amount(f sim.Fault, index int) sim.Fault {
	units := 10 + index%perDecade // tenths of a ppm or of a microsecond
	for range index / perDecade {
		units *= 10
	}
	if f.Kind == sim.Step {
		f.By = clocksource.Nanos(units) * 100
	} else {
		f.PPM = float64(units) / 10
	}
	return f
}

// Template returns a fault of a kind as a search uses it: on CPU 1 or node 1 where the
// kind needs one, and for a kind that begins at some time, 10 s after the start of the kernel.
func Template(kind sim.FaultKind) (sim.Fault, error) {
	f := sim.Fault{Kind: kind, On: -1, From: 10 * clocksource.NanosPerSecond}
	switch kind {
	case sim.Frequency, sim.Step:
	case sim.Calibration:
		f.From = 0
	case sim.Drift, sim.Halt:
		f.On = 1
	default:
		return f, fmt.Errorf("kind of fault %q: want frequency, step, drift, halt or calibration", kind)
	}
	return f, nil
}

// coarse is the step of the first pass of a search: a third of a decade.
const coarse = perDecade / 3

// Smallest searches upwards in coarse steps for the first amount that is found, then
// by halving between it and the one before. A greater fault is not always found more
// often: eras since 6.8 do not compare an interval that a large step made too long.
// All amounts meet the same boots, so that luck does not turn neighbours around.
func (r *Runner) Smallest(ctx context.Context, s Spec, template sim.Fault) (Smallest, error) {
	out := Smallest{Spec: s.With(template)}
	best := -1.0
	try := func(index int) (Result, bool, error) {
		all, err := r.Cells(ctx, []Spec{s.With(amount(template, index))})
		if err != nil {
			return Result{}, false, err
		}
		out.Tried++
		rate := DetectionOf(&all[0].Tally).Found.Rate
		if !out.Reached && rate > best {
			best, out.Found = rate, all[0]
		}
		return all[0], rate >= Wanted, nil
	}
	last := amounts(template.Kind)
	low, high := -1, 0
	for ; ; high = min(high+coarse, last) {
		found, enough, err := try(high)
		if err != nil {
			return out, err
		}
		if enough {
			out.Found, out.Reached = found, true
			break
		}
		if high == last {
			return out, nil
		}
		low, out.Below = high, found
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		found, enough, err := try(middle)
		if err != nil {
			return out, err
		}
		if enough {
			high, out.Found = middle, found
		} else {
			low, out.Below = middle, found
		}
	}
	return out, nil
}
