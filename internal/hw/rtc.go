package hw

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// Edge is the moment at which a real-time clock went to another second, as
// seen from the processor's counter: between two of its values.
type Edge struct {
	Seconds  int64              `json:"seconds"`  // since 1970, what the clock showed from then on
	Earliest clocksource.Cycles `json:"earliest"` // before the last look that showed the old second
	Latest   clocksource.Cycles `json:"latest"`   // after the first that showed the new one
}

const (
	rtcLook = 2 * time.Millisecond // between looks; a look takes the kernel up to a millisecond
	rtcWait = 3 * time.Second      // an edge must come in 1 s
)

// rtcSource is a real-time clock and what time is told by; tests have their own.
type rtcSource struct {
	seconds func() (int64, error)
	counter func() uint64
	now     func() time.Duration
	sleep   func(context.Context, time.Duration) error
}

// WatchRTC waits for the next second of a real-time clock ("rtc0"), up to some 1.2 s.
// Two edges minutes apart give the rate of the processor's counter against the crystal
// of that clock: see Rate. It only reads: no alarm or interrupt is set.
func WatchRTC(ctx context.Context, name string) (Edge, error) {
	s, err := platformRTC(name)
	if err != nil {
		return Edge{}, err
	}
	e, err := s.edge(ctx)
	if err != nil {
		return Edge{}, fmt.Errorf("wait for the next second of %s: %w", name, err)
	}
	return e, nil
}

func (s rtcSource) edge(ctx context.Context) (Edge, error) {
	start := s.now()
	before := s.counter()
	old, err := s.seconds()
	if err != nil {
		return Edge{}, err
	}
	for {
		if err := s.sleep(ctx, rtcLook); err != nil {
			return Edge{}, err
		}
		look := s.counter()
		now, err := s.seconds()
		if err != nil {
			return Edge{}, err
		}
		if now != old {
			return Edge{Seconds: now, Earliest: clocksource.Cycles(before), Latest: clocksource.Cycles(s.counter())}, nil
		}
		before = look
		if s.now()-start > rtcWait {
			return Edge{}, &NotHere{What: "the real-time clock", Reason: fmt.Sprintf("it stood still for %v", rtcWait)}
		}
	}
}

// Rate returns the mean rate of the processor's counter between two edges of a
// real-time clock, and how wrong it can be at most, in parts per million, if the real-time
// clock is right. It fails where the later edge is no later.
func Rate(first, last Edge) (clocksource.Hz, clocksource.PPM, error) {
	span := last.Seconds - first.Seconds
	low, high := last.Earliest-first.Latest, last.Latest-first.Earliest
	if span <= 0 || last.Earliest <= first.Latest {
		return 0, 0, errors.New("take a rate from two seconds of a real-time clock: the second one is not later")
	}
	hz := (float64(low) + float64(high)) / 2 / float64(span)
	return clocksource.Hz(hz + 0.5), clocksource.PPM(float64(high-low) / 2 / float64(span) / hz * 1e6), nil
}
