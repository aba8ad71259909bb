package main

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/sim"
)

// faultFrom is when a fault begins in the simulated boots: between two checks.
const faultFrom = 10*clocksource.NanosPerSecond + 100*1000*clocksource.Microsecond

// frequency is a TSC that runs off.
func frequency(ppm float64) sim.Fault {
	return sim.Fault{Kind: sim.Frequency, PPM: ppm, On: -1, From: faultFrom}
}

// step is a jump of all TSCs, or of one.
func step(us float64, cpu int) sim.Fault {
	return sim.Fault{Kind: sim.Step, By: clocksource.Nanos(us * 1000), On: cpu, From: faultFrom}
}

// smallest returns the least amount of a fault, within a hundredth, that is found in
// 99 of 100 boots, and how long twice as much takes; 0 if even the largest is not.
func (s *study) smallest(m sim.Model, d design, fault func(float64) sim.Fault, low, high float64) (amount float64, within clocksource.Nanos) {
	boots := min(400, s.boots)
	found := func(x float64) (sim.Tally, bool) {
		t := s.cell(m, d, fault(x), boots)
		return t, t.Unstable*100 >= boots*99
	}
	if _, ok := found(high); !ok {
		return 0, 0
	}
	for high/low > 1.01 {
		middle := (low + high) / 2
		if high/low > 4 {
			middle = low * 2
		}
		if _, ok := found(middle); ok {
			high = middle
		} else {
			low = middle
		}
	}
	t, _ := found(2 * high) // at the edge it would be chance
	within, _ = t.Quantile(0.95)
	return high, within
}

// amountText prints an amount with its unit.
func amountText(x float64, unit string) string {
	switch {
	case x == 0:
		return "never"
	case x >= 10_000 && unit == "us":
		return fmt.Sprintf("%.3g ms", x/1000)
	case x >= 100:
		return fmt.Sprintf("%.0f %s", x, unit)
	}
	return fmt.Sprintf("%.3g %s", x, unit)
}
