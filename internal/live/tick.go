package live

import (
	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// Tick is what one expiry of the timer brought.
type Tick struct {
	Number uint64            // from 1
	Due    clocksource.Nanos // when it was due and when it ran, on CLOCK_MONOTONIC
	At     clocksource.Nanos
	CPU    int // where it ran
	// Verdicts are the era's, empty where Idle says why it made no check.
	Verdicts []watchdog.Verdict
	Idle     string
	// Samples are all read-backs of the tick in the order in which they were taken,
	// also those that only the recording wants.
	Samples []Sample
	// Exchange is the comparison of two CPUs, nil where none was made.
	Exchange *Exchange
	// Verification is the era's check across CPUs after it condemned the clock, nil where none was made.
	Verification *Verification
	// Resets is how often the machine slept since the tick before.
	Resets int
}

// Sample is one read-back.
type Sample struct {
	watchdog.ReadBack
	CPU   int
	Delay clocksource.Nanos // between the first two reads of the reference
	// Late is why Delay is above the limit; trace.NotLate where it is not.
	Late trace.Cause
}

// Exchange is a comparison of the counters of two CPUs.
type Exchange struct {
	Control, Remote int
	Completed       bool
	TimedOut        bool              // one side waited too long for the other
	Busy            bool              // the other side did not come at all
	Waited          clocksource.Nanos // how long it took
	// Backwards is by how many cycles the counters disagree at least, 0 where time never ran backwards.
	Backwards clocksource.Cycles
}

// causeOf translates the cause of a late read-back.
func causeOf(c hw.Cause) trace.Cause {
	switch c {
	case hw.Preempted:
		return trace.Preempted
	case hw.Interrupted:
		return trace.Interrupted
	}
	return trace.Unexplained
}

// LateReads counts the late read-backs of the tick by cause; the first number is of those that were not late.
func (t *Tick) LateReads() (n [4]int) {
	for i := range t.Samples {
		n[t.Samples[i].Late]++
	}
	return n
}

// Condemned returns the verdict by which the era gave up the clock at this tick, nil if it did not.
func (t *Tick) Condemned() *watchdog.Verdict {
	for i := range t.Verdicts {
		if t.Verdicts[i].Kind.Condemns() {
			return &t.Verdicts[i]
		}
	}
	return nil
}
