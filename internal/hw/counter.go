package hw

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/machine"
)

// Names of counters. PTP hardware clocks are called ptp0, ptp1, ... after their
// device, real-time clocks rtc0, ...
const (
	HPET         = "hpet"
	ACPIPM       = "acpi_pm"
	Monotonic    = "monotonic"     // the POSIX clocks by system call
	MonotonicRaw = "monotonic_raw" //
	BootTime     = "boottime"      //
	RealTime     = "realtime"      //
	TAI          = "tai"           //
	// The POSIX clocks as programs read them: through the vDSO, by the Go
	// runtime, which has no way to the others.
	MonotonicVDSO = "monotonic_vdso"
	RealTimeVDSO  = "realtime_vdso"
)

// ProcessorCounter is the name of this architecture's counter: "tsc" on x86-64,
// "arch_sys_counter" on arm64, "counter" where this package reads none.
const ProcessorCounter = processorCounter

// PMTimerHz is the rate of every ACPI PM timer: three times that of the old PC's timer.
const PMTimerHz clocksource.Hz = 3_579_545

// Counter describes a counter as far as it is known without reading it for long.
type Counter struct {
	Name string           `json:"name"`
	Hz   clocksource.Hz   `json:"frequency_hz"` // 0 where it has to be found out: see TSCFrequency
	Mask clocksource.Mask `json:"mask"`
	From string           `json:"source"` // where it is read, with what
}

// Nanos converts cycles of the counter.
func (c Counter) Nanos(n clocksource.Cycles) clocksource.Nanos { return n.At(c.Hz) }

// Delay returns the time from one value to a later one, across one wrap.
func (c Counter) Delay(from, to clocksource.Cycles) clocksource.Nanos {
	return c.Nanos((to - from) & clocksource.Cycles(c.Mask))
}

// Availability says whether a counter can be read by this process, and why.
type Availability struct {
	Counter
	Can    machine.Answer `json:"can"`
	Needs  string         `json:"needs"`            // what reading it takes on any machine
	Why    string         `json:"why"`              // what the answer rests on
	Remedy string         `json:"remedy,omitempty"` // what would change a no, or find out
	// Ways are the system calls by which a PTP clock can be compared with the
	// system's: "precise", "extended", "offset", "clock_gettime".
	Ways  []string `json:"ways,omitempty"`
	Title string   `json:"title,omitempty"` // what the driver calls a PTP clock
	// Slow marks a witness that ticks in seconds: no read-back can be taken of it.
	Slow bool `json:"slow,omitempty"`
}

// Err returns nil where the counter can be read, else a *NotHere.
func (a Availability) Err() error {
	if a.Can == machine.Yes {
		return nil
	}
	return &NotHere{What: a.Name, Reason: a.Why, Remedy: a.Remedy, Unsure: a.Can == machine.Unknown}
}

// NotHere is the error of something that this machine, or this process on it, does not have.
type NotHere struct {
	What   string // the counter or ability
	Reason string // what was looked at and found
	Remedy string // what would help, "" where nothing does
	Unsure bool   // it could not be told
}

func (e *NotHere) Error() string {
	text := fmt.Sprintf("%s cannot be used here: %s", e.What, e.Reason)
	if e.Unsure {
		text = fmt.Sprintf("could not tell whether %s can be used here: %s", e.What, e.Reason)
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// notHere makes the answer no of an error of that kind, and any other error "could not tell".
func (a Availability) notHere(err *NotHere) Availability {
	a.Can = machine.No
	if err.Unsure {
		a.Can = machine.Unknown
	}
	a.Why, a.Remedy = err.Reason, err.Remedy
	return a
}

func (a Availability) here(why string) Availability {
	a.Can, a.Why = machine.Yes, why
	return a
}

// ReadCounter reads the processor's counter, after everything before it in the
// program and before everything behind it. Probe tells whether that may be done.
func ReadCounter() clocksource.Cycles { return clocksource.Cycles(readCounter()) }

// ReadCounterOn also returns the CPU on which it was read, in one step that
// nothing can come between; false where the processor has no such instruction.
func ReadCounterOn() (value clocksource.Cycles, cpu int, ok bool) {
	v, cpu, ok := readCounterOn()
	return clocksource.Cycles(v), cpu, ok
}

// CounterLoop reads the processor's counter n times (at least once) in a loop of
// machine code, to measure what reading it costs, and returns the first and the last
// value and the smallest step, which is all ones for less than two reads.
func CounterLoop(n int) (first, last, step clocksource.Cycles) {
	f, l, s := counterLoop(n)
	return clocksource.Cycles(f), clocksource.Cycles(l), clocksource.Cycles(s)
}
