package doctor

import (
	"fmt"
	"math"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
)

// otherRatePPM is how far the frequency that a line stands for may be from the
// printed one. The first and the refined frequency of a boot differ by tens of ppm.
const otherRatePPM = 100

// mostCycles is two hours of a TSC of 2.4 GHz. Of longer differences too many
// frequencies would have to be tried, and each of them would explain something.
const mostCycles = 1 << 44

// contradiction holds the counter values of an incident against its nanoseconds,
// and the frequency that both stand for against the one that the log prints. It
// returns what does not fit together, "" if nothing is wrong.
func contradiction(in *event.Incident, f *facts) string {
	var found []string
	if !referenceAgrees(in) {
		found = append(found, fmt.Sprintf("no rate that %s can have makes the printed nanoseconds of its counter values: a digit was lost or altered", in.Reference))
	}
	printed := f.tscHz
	if in.Clock == "tsc-early" {
		printed = f.tscEarlyHz
	}
	ranges, ok := watchedFrequencies(in)
	switch {
	case !ok:
	case len(ranges) == 0:
		found = append(found, fmt.Sprintf("no frequency makes the printed nanoseconds of the counter values of %s: a digit was lost or altered", in.Clock))
	case printed != 0:
		if hz, ppm := nearest(ranges, printed); ppm > otherRatePPM {
			found = append(found, fmt.Sprintf("the lines are of a %s of %.3f MHz, and the log prints %.3f MHz: they come from another boot or machine, or were altered",
				in.Clock, float64(hz)/1e6, float64(printed)/1e6))
		}
	}
	return strings.Join(found, "; ")
}

// referenceAgrees reports that some rate of the reference explains its numbers,
// or that there is nothing to explain.
func referenceAgrees(in *event.Incident) bool {
	if len(clocksource.RatesOf(in.Reference)) == 0 {
		return true
	}
	for _, p := range bothWays(in.ReferenceInterval) {
		if rates, err := p.Rates(in.Reference); err != nil || len(rates) > 0 {
			return true
		}
	}
	return len(bothWays(in.ReferenceInterval)) == 0
}

// watchedFrequencies returns the frequencies that explain the numbers of a TSC.
// It is false where they can tell none.
func watchedFrequencies(in *event.Incident) ([]clocksource.FrequencySet, bool) {
	ways := bothWays(in.WatchedInterval)
	if in.Clock != "tsc" && in.Clock != "tsc-early" || len(ways) == 0 {
		return nil, false
	}
	var all []clocksource.FrequencySet
	for _, p := range ways {
		ranges, err := p.Frequencies(clocksource.ScaleKHz)
		if err != nil {
			return nil, false
		}
		all = append(all, ranges...)
	}
	return all, true
}

// nearest returns the frequency of the ranges that comes closest to one, and
// how far it is away in ppm.
func nearest(ranges []clocksource.FrequencySet, to clocksource.Hz) (clocksource.Hz, float64) {
	best, away := clocksource.Hz(0), math.Inf(1)
	for _, r := range ranges {
		hz := min(max(to, r.Lowest), r.Highest)
		if ppm, ok := clocksource.Deviation(hz, to); ok && math.Abs(float64(ppm)) < away {
			best, away = hz, math.Abs(float64(ppm))
		}
	}
	return best, away
}

// bothWays returns an interval that has both kinds of numbers, as the kernels
// before and after the change of their multiplication made it. Differences that
// some era reads as 0 are left out.
func bothWays(i event.Interval) []clocksource.PrintedInterval {
	p := clocksource.PrintedInterval{
		Last: clocksource.Cycles(i.Last.Value), Now: clocksource.Cycles(i.Now.Value),
		Mask: clocksource.Mask(i.Mask.Value), NS: clocksource.Nanos(i.NS.Value),
	}
	if !i.NS.Known || !i.Now.Known || !i.Last.Known || i.CutNS || !p.Mask.Valid() {
		return nil
	}
	if c := p.Cycles(); c == 0 || c > mostCycles || c&p.Mask.TopBit() != 0 {
		return nil
	}
	safe := p
	safe.Arithmetic = clocksource.OverflowSafe
	return []clocksource.PrintedInterval{p, safe}
}
