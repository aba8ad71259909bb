package tally

import (
	"fmt"
	"slices"
	"time"
)

const (
	pointEvery = time.Minute
	maxPoints  = 6 * 60
	maxSamples = 256 // of a minute
)

// Point is a minute of the history. Where nothing was measured the counts are 0 and the numbers mean nothing.
type Point struct {
	At        time.Time `json:"at"` // its end
	ReadBacks int       `json:"read_backs"`
	DelayNS   float64   `json:"readback_delay_median_ns"`
	MaxNS     float64   `json:"readback_delay_max_ns"`
	Prices    int       `json:"prices"`
	ReadNS    float64   `json:"read_ns"` // what a read of the clock costs a program
	Skews     int       `json:"skews"`
	SkewPPM   float64   `json:"skew_ppm"` // of the last comparison
}

// history is the last hours.
type history struct {
	past   []Point // a ring
	next   int
	now    Point
	delays []float64
	begun  time.Time
}

func (h *history) delay(ns float64) {
	h.now.ReadBacks++
	h.now.MaxNS = max(h.now.MaxNS, ns)
	if len(h.delays) < maxSamples {
		h.delays = append(h.delays, ns)
	}
}

func (h *history) price(ns float64) { h.now.Prices, h.now.ReadNS = h.now.Prices+1, ns }
func (h *history) skew(ppm float64) { h.now.Skews, h.now.SkewPPM = h.now.Skews+1, ppm }

func (h *history) tick(at time.Time) {
	if h.begun.IsZero() || at.Before(h.begun) { // the wall clock may be set back
		h.begun = at
	}
	if at.Sub(h.begun) < pointEvery {
		return
	}
	h.begun = at
	p := h.now
	p.At = at
	if len(h.delays) > 0 {
		slices.Sort(h.delays)
		p.DelayNS = h.delays[len(h.delays)/2]
	}
	h.now, h.delays = Point{}, h.delays[:0]
	if len(h.past) < maxPoints {
		h.past = append(h.past, p)
		return
	}
	h.past[h.next] = p
	h.next = (h.next + 1) % maxPoints
}

// points returns the past, the oldest first.
func (h *history) points() []Point {
	return append(slices.Clone(h.past[h.next:]), h.past[:h.next]...)
}

func backwardsText(c *Check) string {
	return fmt.Sprintf("time ran backwards by %d cycles at least between CPU %d and CPU %d", c.Backwards, c.Between[0], c.Between[1])
}
