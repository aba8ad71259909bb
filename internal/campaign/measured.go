package campaign

import (
	"slices"
	"time"

	"github.com/cswatch/cswatch/stats"
)

// Measured is what the read-backs of trials say of the chain that delayed them. A
// programmed delay is not what the kernel measures: waking up on both sides adds to
// it, and a busy machine delays reads itself.
type Measured struct {
	AtLeast  time.Duration // what counted as delayed
	Attempts int
	In       stats.Count // draws out of an episode that entered one
	Out      stats.Count // draws within an episode that left it
	DelaysNS []int64     // of the delayed attempts, ascending
	QuietNS  []int64     // of the others, ascending
}

// Measure takes every attempt of the trials' checks for a draw, delayed if it took
// so long at least. Each trial begins out of an episode.
func Measure(results []*Result, atLeast time.Duration) Measured {
	m := Measured{AtLeast: atLeast}
	for _, r := range results {
		in := false
		for _, c := range r.Checks {
			for _, ns := range c.DelaysNS {
				m.Attempts++
				delayed := ns >= int64(atLeast)
				from := &m.In
				if in {
					from = &m.Out
				}
				from.Trials++
				if delayed != in {
					from.Events++
				}
				in = delayed
				if delayed {
					m.DelaysNS = append(m.DelaysNS, ns)
				} else {
					m.QuietNS = append(m.QuietNS, ns)
				}
			}
		}
	}
	slices.Sort(m.DelaysNS)
	slices.Sort(m.QuietNS)
	return m
}

// Quantile returns a quantile of ascending values, 0 where there are none.
func Quantile(ascending []int64, q float64) int64 {
	if len(ascending) == 0 {
		return 0
	}
	return ascending[min(int(q*float64(len(ascending))), len(ascending)-1)]
}
