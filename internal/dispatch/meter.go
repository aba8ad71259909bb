package dispatch

import "time"

// Meter estimates how much time a run still needs. The zero value is a run of
// which nothing is known.
type Meter struct {
	Total uint64 // units of work
	Done  uint64
	kept  uint64 // of Done, before the clock was started: they cost no time now
	began time.Time
}

// NewMeter begins a run of which some units are done already.
func NewMeter(total, done uint64, now time.Time) Meter {
	return Meter{Total: total, Done: done, kept: done, began: now}
}

// Add counts units that were done.
func (m *Meter) Add(units uint64) { m.Done += units }

// Share is how much is done, 0 to 1.
func (m *Meter) Share() float64 {
	if m.Total == 0 {
		return 1
	}
	return float64(m.Done) / float64(m.Total)
}

// Left estimates the time until the end from how fast it went so far, and false
// where nothing was done yet that took time.
func (m *Meter) Left(now time.Time) (time.Duration, bool) {
	worked := m.Done - m.kept
	if worked == 0 || m.Done > m.Total {
		return 0, false
	}
	return time.Duration(float64(now.Sub(m.began)) * float64(m.Total-m.Done) / float64(worked)), true
}
