package hw

import (
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
)

// ReadBack is one read-back: the reference, the processor's counter, and the
// reference twice more, raw values read in one go.
type ReadBack struct {
	Before clocksource.Cycles `json:"before"`
	Clock  clocksource.Cycles `json:"clock"`
	After  clocksource.Cycles `json:"after"`
	Again  clocksource.Cycles `json:"again"`
}

// Sample is a read-back and why it was late.
type Sample struct {
	ReadBack
	Late  bool  `json:"late"`
	Cause Cause `json:"cause,omitempty"` // "" unless late
}

// Cause is why a read-back was late, as far as user space can tell.
type Cause string

const (
	// Preempted: the thread lost its CPU to another between the counts that
	// enclose the read-back.
	Preempted Cause = "preempted"
	// Interrupted: it did not, and the CPU served interrupts between the counts.
	// The counts enclose more time than the read-back, so the interrupt may have come beside it.
	Interrupted Cause = "interrupted"
	// Unexplained: neither was seen. It leaves the bus, the firmware (system
	// management mode), the hypervisor, page faults and, where interrupts were not counted, those.
	Unexplained Cause = "unexplained"
)

// Usage is what has happened to a thread and on its CPU so far.
type Usage struct {
	Voluntary   int64  // context switches because the thread waited
	Involuntary int64  // and because another was to run
	Interrupts  uint64 // served by the CPU
	Counted     bool   // Interrupts is known
}

// CauseOf tells from the counts before and after a late read-back why it was late.
func CauseOf(before, after Usage) Cause {
	switch {
	case after.Voluntary != before.Voluntary || after.Involuntary != before.Involuntary:
		return Preempted
	case before.Counted && after.Counted && after.Interrupts != before.Interrupts:
		return Interrupted
	}
	return Unexplained
}

// interruptsOn adds up the interrupts of one CPU from the text of
// /proc/interrupts: its columns are the online CPUs, named in the first line.
func interruptsOn(text string, cpu int) (total uint64, ok bool) {
	header, rest, _ := strings.Cut(text, "\n")
	column := -1
	for i, name := range strings.Fields(header) {
		if name == "CPU"+strconv.Itoa(cpu) {
			column = i
		}
	}
	if column < 0 {
		return 0, false
	}
	for line := range strings.Lines(rest) {
		name, counts, isRow := strings.Cut(strings.TrimSpace(line), ":")
		fields := strings.Fields(counts)
		if !isRow || len(fields) <= column || name == "ERR" || name == "MIS" { // these two are totals of all CPUs
			continue
		}
		if n, err := strconv.ParseUint(fields[column], 10, 64); err == nil {
			total += n
			ok = true
		}
	}
	return total, ok
}
