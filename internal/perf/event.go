package perf

import (
	"fmt"
	"strings"
)

// Event is what makes the kernel take a sample, by the name that perf gives it.
type Event string

// The events, in the order in which they are tried.
const (
	Cycles    Event = "cycles"     // core cycles; a halted CPU has none
	BusCycles Event = "bus-cycles" // cycles at a fixed rate; a halted CPU has none
	CPUClock  Event = "cpu-clock"  // time, by a timer of the kernel's: works in every virtual machine
	TaskClock Event = "task-clock" // time of tasks, by the same timer
)

// Events returns the events, the best first.
func Events() []Event { return []Event{Cycles, BusCycles, CPUClock, TaskClock} }

// Hardware reports an event that the processor counts.
func (e Event) Hardware() bool { return e == Cycles || e == BusCycles }

// Sentence says what a sample of the event stands for and what it cannot see, ""
// for one that does not exist.
func (e Event) Sentence() string {
	switch e {
	case Cycles:
		return "so many core cycles; a halted CPU is not seen"
	case BusCycles:
		return "so many cycles at a fixed rate; a halted CPU is not seen"
	case CPUClock, TaskClock:
		return "so much time, by a timer interrupt: code that runs with interrupts off is charged to where they come on again"
	}
	return ""
}

// number returns the event's type and configuration in the kernel's interface.
func (e Event) number() (kind uint32, config uint64, ok bool) {
	const hardware, software = 0, 1
	switch e {
	case Cycles:
		return hardware, 0, true
	case BusCycles:
		return hardware, 6, true
	case CPUClock:
		return software, 0, true
	case TaskClock:
		return software, 1, true
	}
	return 0, 0, false
}

// ParseEvent reads the name of an event.
func ParseEvent(word string) (Event, error) {
	if _, _, ok := Event(word).number(); ok {
		return Event(word), nil
	}
	var names []string
	for _, e := range Events() {
		names = append(names, string(e))
	}
	return "", fmt.Errorf("read an event to sample: %q: want %s", word, strings.Join(names, ", "))
}

// Attempt is one event that was tried.
type Attempt struct {
	Event Event `json:"event"`
	// UserOnly is set where the kernel's own code was left out, because it was refused.
	UserOnly bool   `json:"user_only"`
	Why      string `json:"why"` // why it could not be had, "" for the one that could
}

// Got is what the attempts came to: the one that worked, if any, in a sentence
// that names what was preferred and why it could not be had.
func Got(attempts []Attempt) string {
	var got string
	var events, reasons []string // the events that have a reason in common go together
	for _, a := range attempts {
		what := string(a.Event)
		if a.UserOnly {
			what += " of user code alone"
		}
		switch n := len(reasons); {
		case a.Why == "":
			got = "sampling " + what
		case n > 0 && reasons[n-1] == a.Why:
			events[n-1] += ", " + what
		default:
			events, reasons = append(events, what), append(reasons, a.Why)
		}
	}
	for i := range reasons {
		reasons[i] = events[i] + ": " + reasons[i]
	}
	why := strings.Join(reasons, "; ")
	switch {
	case got == "":
		return "nothing could be sampled: " + why
	case why == "":
		return got
	}
	return got + ", because of " + why
}
