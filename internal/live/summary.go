package live

import (
	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// Summary counts what a watch has seen so far.
type Summary struct {
	Ticks     uint64                   `json:"ticks"`
	Checks    uint64                   `json:"checks"`      // ticks at which the era made one
	Idle      uint64                   `json:"idle_ticks"`  // ticks at which it made none
	LateTicks uint64                   `json:"late_ticks"`  // ran a quarter of an interval late and more
	MaxLate   clocksource.Nanos        `json:"max_late_ns"` // of a tick
	Resets    uint64                   `json:"resets"`      // the machine slept
	Elapsed   clocksource.Nanos        `json:"elapsed_ns"`  // from the first tick to the last
	Verdicts  map[watchdog.Kind]uint64 `json:"verdicts"`
	// Condemned is the verdict by which the era gave up the clock.
	Condemned *watchdog.Verdict `json:"-"`
	// ReadBacks are all, also those that only a recording wants. Delays is the
	// distribution of their delays without the preempted ones.
	ReadBacks uint64        `json:"read_backs"`
	LateReads LateReads     `json:"late_reads"`
	Delays    Delays        `json:"readback_delays"`
	Skew      Skew          `json:"skew"`
	Exchanges ExchangeCount `json:"exchanges"`
}

// LateReads counts late read-backs by cause.
type LateReads struct {
	Preempted   uint64 `json:"preempted"`
	Interrupted uint64 `json:"interrupted"`
	Unexplained uint64 `json:"unexplained"`
}

// Total returns how many there were.
func (l LateReads) Total() uint64 { return l.Preempted + l.Interrupted + l.Unexplained }

// Delays describes a distribution of read-back delays. Median and P99 are up to 1/16 too great.
type Delays struct {
	Count   uint64            `json:"count"`
	Min     clocksource.Nanos `json:"min_ns"`
	Median  clocksource.Nanos `json:"median_ns"`
	P99     clocksource.Nanos `json:"p99_ns"`
	Max     clocksource.Nanos `json:"max_ns"`
	Limit   clocksource.Nanos `json:"limit_ns"` // above which a read-back is late
	Buckets []Bucket          `json:"buckets"`
}

// Skew is what the comparisons of the intervals found.
type Skew struct {
	Compared uint64            `json:"compared"`
	Least    clocksource.PPM   `json:"least_ppm"`
	Greatest clocksource.PPM   `json:"greatest_ppm"`
	Mean     clocksource.PPM   `json:"mean_ppm"`    // over the time that was compared
	Largest  clocksource.Nanos `json:"largest_ns"`  // by size
	Nearest  float64           `json:"limit_ratio"` // the largest share of the limit that a skew took

	skew, interval clocksource.Nanos
}

// ExchangeCount counts the comparisons between CPUs.
type ExchangeCount struct {
	Made      uint64 `json:"made"`
	Completed uint64 `json:"completed"`
	TimedOut  uint64 `json:"timed_out"`
	Busy      uint64 `json:"busy"`
	Failed    uint64 `json:"failed"`
	Why       string `json:"why_failed,omitempty"` // of the last that failed
	// Backwards is how many showed time running backwards between two CPUs, and
	// Most by how many cycles at least.
	Backwards uint64             `json:"backwards"`
	Most      clocksource.Cycles `json:"backwards_cycles"`
}

// add counts a tick.
func (s *Summary) add(t *Tick, h *Histogram, interval clocksource.Nanos) {
	s.Ticks++
	if len(t.Verdicts) > 0 {
		s.Checks++
	} else {
		s.Idle++
	}
	late := t.At - t.Due
	if late > interval/4 {
		s.LateTicks++
	}
	s.MaxLate = max(s.MaxLate, late)
	s.Resets += uint64(t.Resets)
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		s.Verdicts[v.Kind]++
		s.Skew.add(v)
		if v.Kind.Condemns() && s.Condemned == nil {
			kept := *v
			s.Condemned = &kept
		}
	}
	s.ReadBacks += uint64(len(t.Samples))
	n := t.LateReads()
	s.LateReads.Preempted += uint64(n[trace.Preempted])
	s.LateReads.Interrupted += uint64(n[trace.Interrupted])
	s.LateReads.Unexplained += uint64(n[trace.Unexplained])
	for i := range t.Samples {
		if t.Samples[i].Late != trace.Preempted {
			h.Add(t.Samples[i].Delay)
		}
	}
	if t.Exchange != nil {
		s.Exchanges.add(t.Exchange)
	}
}

func (s *Skew) add(v *watchdog.Verdict) {
	ppm, ok := v.PPM()
	if !ok {
		return
	}
	if s.Compared == 0 {
		s.Least, s.Greatest = ppm, ppm
	}
	s.Compared++
	s.Least, s.Greatest = min(s.Least, ppm), max(s.Greatest, ppm)
	if v.Skew.Abs() > s.Largest.Abs() {
		s.Largest = v.Skew
	}
	if v.SkewLimit > 0 {
		s.Nearest = max(s.Nearest, float64(v.Skew.Abs())/float64(v.SkewLimit))
	}
	s.skew += v.Skew
	s.interval += v.Reference.NS
	if mean, ok := clocksource.Ratio(s.skew, s.interval); ok {
		s.Mean = mean
	}
}

func (c *ExchangeCount) add(e *Exchange) {
	c.Made++
	switch {
	case e.Busy:
		c.Busy++
	case e.TimedOut:
		c.TimedOut++
	case e.Completed:
		c.Completed++
	}
	if e.Backwards > 0 {
		c.Backwards++
		c.Most = max(c.Most, e.Backwards)
	}
}
