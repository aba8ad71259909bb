package monitor

import (
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/trace"
)

// of fills a check from a tick of the live watch. What it held before is overwritten.
func of(c *tally.Check, t *live.Tick) {
	*c = tally.Check{Verdicts: t.Verdicts, Delays: c.Delays[:0], Late: c.Late[:0], Resets: t.Resets}
	for i := range t.Samples {
		s := &t.Samples[i]
		if s.Late != trace.NotLate {
			c.Late = append(c.Late, s.Late)
		}
		if s.Late != trace.Preempted { // its delay is the scheduler's
			c.Delays = append(c.Delays, s.Delay)
		}
	}
	e := t.Exchange
	if e == nil {
		return
	}
	c.Between, c.Backwards = [2]int{e.Control, e.Remote}, e.Backwards
	switch {
	case e.Completed:
		c.Exchange = tally.Completed
	case e.Busy:
		c.Exchange = tally.Busy
	case e.TimedOut:
		c.Exchange = tally.Late
	default:
		c.Exchange = tally.Failed
	}
}
