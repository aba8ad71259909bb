package simulate

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/sim"
)

// Unvisited says that the watchdog never comes to the CPUs of a fault: no amount of
// it could be detected, which tells nothing of the design.
type Unvisited struct {
	What string // "CPU 700", "a CPU of node 1"
	CPUs int    // so many are visited within the window
	// Window is one in which it comes there, in whole tens of seconds; 0 where none is,
	// because the era looks from one CPU only.
	Window clocksource.Nanos
}

// Unvisited reports whether a fault of one CPU or node lies where no check comes
// between its begin and the end of the window. Checks that are late or suspended are not
// thought of: they make the way of the watchdog no faster.
func (s *Spec) Unvisited() (Unvisited, bool) {
	m, f := &s.Model, &s.Fault
	if f.On < 0 || f.None() || f.Kind != sim.Step && f.Kind != sim.Drift && f.Kind != sim.Halt {
		return Unvisited{}, false
	}
	u := Unvisited{What: fmt.Sprintf("CPU %d", f.On)}
	if f.Kind == sim.Drift {
		u.What = fmt.Sprintf("a CPU of node %d", f.On)
	}
	faulty := func(cpu int) bool {
		if f.Kind == sim.Drift {
			return cpu*m.Nodes/m.CPUs == f.On
		}
		return cpu == f.On
	}
	// The kernel counts half a second in whole ticks. The first check is one interval
	// after the watchdog was started, on CPU 0.
	interval := clocksource.Nanos(m.HZ/2) * (clocksource.NanosPerSecond / clocksource.Nanos(m.HZ))
	at := func(check int) clocksource.Nanos { return m.From + clocksource.Nanos(check+1)*interval }
	checks := max(0, int((m.Window-m.From-1)/interval))
	// E12 checks on CPU 0 and compares it with one CPU after the other.
	moves := s.Profile.Rotate || s.Profile.Remote.Reads > 0
	stays := !s.Profile.Rotate // on CPU 0
	u.CPUs = 1
	if moves {
		u.CPUs = max(1, min(checks, m.CPUs))
	}
	first := 0 // check after the fault began
	if f.From > at(0) {
		first = int((f.From - at(0) + interval - 1) / interval)
	}
	for n := first; n < first+m.CPUs; n++ {
		if stays && faulty(0) || moves && faulty(n%m.CPUs) {
			if at(n) < m.Window {
				return Unvisited{}, false
			}
			// One more check, to compare with.
			const tens = 10 * clocksource.NanosPerSecond
			u.Window = (at(n+1)/tens + 1) * tens
			break
		}
	}
	return u, true
}
