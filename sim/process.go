package sim

import (
	"math"

	"github.com/cswatch/cswatch/clocksource"
)

// never is a time that does not come.
const never = clocksource.Nanos(math.MaxInt64 / 2)

// events walks through the events of one process in one boot, in the order of
// time: the one that is under way or comes next.
type events struct {
	process *Process
	model   *Model
	draws   stream

	index      uint64 // of the event below
	start, end clocksource.Nanos
	where      int // CPU or node

	passed clocksource.Nanos // length of all events that ended
	ticks  clocksource.Nanos // whole timer ticks in each of them, together
}

// Each event uses so many random numbers, one for each purpose.
const (
	drawGap = iota
	drawLength
	drawWhere
	drawsPerEvent
)

// drawExtra is where the random numbers begin that reads within an episode use.
const drawExtra = 1 << 40

// begin starts the walk of a boot.
func (e *events) begin(seed, boot uint64, process int) {
	e.draws = newStream(seed, boot, process)
	e.index, e.passed, e.ticks = 0, 0, 0
	e.draw(0)
}

// draw draws the event that follows a moment.
func (e *events) draw(after clocksource.Nanos) {
	at := e.index * drawsPerEvent
	e.start = e.arrival(after, -math.Log1p(-e.draws.unit(at+drawGap)))
	if e.start == never {
		e.end = never
		return
	}
	e.end = e.start + e.process.Length.Draw(e.draws.unit(at+drawLength))
	switch e.process.Scope {
	case OneCPU:
		e.where = int(e.draws.unit(at+drawWhere) * float64(e.model.CPUs))
	case OneNode:
		e.where = int(e.draws.unit(at+drawWhere) * float64(e.model.Nodes))
	}
}

// arrival is when so much of the process's intensity has passed.
func (e *events) arrival(t clocksource.Nanos, intensity float64) clocksource.Nanos {
	for i, p := range e.model.Phases {
		until := p.Until
		if until == 0 {
			until = never
		}
		if t >= until {
			continue
		}
		rate := e.process.Rates[i] / 1e9 // a nanosecond
		if there := float64(until-t) * rate; intensity >= there {
			intensity -= there
			t = until
			continue
		}
		return t + clocksource.Nanos(intensity/rate)
	}
	return never
}

// seek goes on to the first event that ends after t.
func (e *events) seek(t clocksource.Nanos) {
	for e.end <= t && e.end < never {
		length := e.end - e.start
		e.passed += length
		tick := clocksource.NanosPerSecond / clocksource.Nanos(e.model.HZ)
		e.ticks += length / tick * tick
		e.index++
		e.draw(e.end)
	}
}

// meets reports that the event is of this CPU.
func (e *events) meets(cpu int) bool {
	switch e.process.Scope {
	case OneCPU:
		return e.where == cpu
	case OneNode:
		return e.where == e.model.node(cpu)
	}
	return true
}

// active reports that an event is under way at t on the CPU.
func (e *events) active(t clocksource.Nanos, cpu int) bool {
	e.seek(t)
	return e.start <= t && e.meets(cpu)
}
