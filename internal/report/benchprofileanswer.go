package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/machine"
)

// HotFrom is the share of the samples from which on reading clocks is called hot. A
// clock that is ten times as slow then makes the same work take nearly half as long again.
const HotFrom = 0.05

// readingOf answers whether reading clocks is hot, for the samples of busy CPUs in d.
func readingOf(c perf.Clocks, d *ProfileBench) ProfileReading {
	r := ProfileReading{Hot: machine.Unknown, HotFrom: HotFrom, Clocks: c}
	low, high := withLost(c.All.Whole, d.Samples, d.Lost)
	doubts := doubtsOf(c, d, low, high)
	switch {
	case d.Samples > 0 && !c.UserOnly && low >= HotFrom: // what is hidden can only be more
		r.Hot = machine.Yes
		r.Sentence = fmt.Sprintf("Yes: %s of the samples read clocks, %s the counter itself.", shareRated(c.All.Whole), onlyShare(counterShare(c.All)))
	case len(doubts) == 0:
		r.Hot = machine.No
		r.Sentence = fmt.Sprintf("No: %s of the samples read clocks, which is less than %s.", shareRated(c.All.Whole), wanted(HotFrom))
		if hot := hottest(c.Processes); hot != nil {
			r.Sentence += fmt.Sprintf(" But process %d (%s) does so in %s of its own.", hot.PID, hot.Command, shareRated(hot.Whole))
		}
	default:
		r.Sentence = "Could not tell, because " + strings.Join(doubts, "; and ") + "."
		switch {
		case d.Samples == 0:
		case c.UserOnly:
			r.Sentence += fmt.Sprintf(" Of the user code alone, %s of the samples read clocks.", shareRated(c.All.Whole))
		default:
			r.Sentence += fmt.Sprintf(" As far as can be seen, %s of the samples read clocks.", shareRated(c.All.Whole))
			if len(doubts) == 1 && high < HotFrom && !slices.ContainsFunc(d.Nameless, func(n perf.Nameless) bool { return n.Object == "[kernel]" }) {
				r.Sentence += " Reads that programs leave to the vDSO or the kernel are among these; those by an instruction in code without a name are not."
			}
		}
	}
	return r
}

// doubtsOf returns what keeps from saying no.
func doubtsOf(c perf.Clocks, d *ProfileBench, low, high float64) (doubts []string) {
	noted := func(id string) bool {
		return slices.ContainsFunc(d.Notes, func(n perf.Note) bool { return n.ID == id })
	}
	if d.Samples == 0 {
		switch {
		case d.Idle > 0 && noted("no-kernel-names"):
			return []string{"all samples are of the idle task, whose functions have no names, so that it is not known what it did"}
		case d.Idle > 0 && d.Own == 0:
			return []string{"the CPUs were idle in all samples"}
		case d.Own > 0:
			return []string{"nothing but this program was at work"}
		}
		return []string{"no sample was taken: nothing that was looked at ran"}
	}
	if c.UserOnly {
		doubts = append(doubts, "the kernel's own code is not in the profile, and slow clocks are read there")
	}
	hidden := c.Unnamed.Within.High
	if c.Unnamed.Samples == 0 {
		hidden = 0
	}
	switch {
	case noted("no-kernel-names"):
		doubts = append(doubts, "the kernel's functions have no names, so that clocks that are read there are not known as such")
	case high < HotFrom && high+hidden >= HotFrom:
		doubts = append(doubts, onlyShare(c.Unnamed)+" of the samples are in code without a name, which may read clocks")
	}
	if low < HotFrom && high >= HotFrom {
		if d.Lost > 0 && c.All.Whole.Within.High < HotFrom {
			doubts = append(doubts, fmt.Sprintf("%d records were lost beside %d samples, and may have been of clocks", d.Lost, d.Samples))
		} else {
			doubts = append(doubts, fmt.Sprintf("the interval of the share, of %s, has %s in it: profile for longer", plural(d.Samples, "sample", "samples"), wanted(HotFrom)))
		}
	}
	return doubts
}

// withLost returns the bounds of a share as they are if none or all of the records
// that were lost were samples of it.
func withLost(s perf.Share, samples, lost int64) (low, high float64) {
	n, all := float64(samples), float64(samples+lost)
	if lost <= 0 || n == 0 {
		return s.Within.Low, s.Within.High
	}
	return s.Within.Low * n / all, (s.Within.High*n + float64(lost)) / all
}

// counterShare is the share in functions that read the counter itself, those included that
// compute the time, too.
func counterShare(c perf.ClockReading) perf.Share {
	return perf.Share{Samples: c.Counter.Samples + c.Inlined.Samples, Ratio: c.Counter.Ratio + c.Inlined.Ratio}
}

// hottest returns the process of those with enough samples in which reading clocks is hot for certain, and
// takes the most of all samples; nil if there is none.
func hottest(all []perf.ClockReading) *perf.ClockReading {
	for i := range all {
		if all[i].Whole.Within.Low >= HotFrom {
			return &all[i]
		}
	}
	return nil
}

func shareRated(s perf.Share) string { return rated(s.Ratio, s.Within.Low, s.Within.High) }
func onlyShare(s perf.Share) string  { return percent(s.Ratio) }
