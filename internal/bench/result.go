package bench

import "github.com/cswatch/cswatch/internal/hw"

// Paths: how a clock is read.
const (
	PathVDSO        = "vdso"        // clock_gettime in the vDSO, called as C programs call it
	PathSyscall     = "syscall"     // the system call clock_gettime
	PathInstruction = "instruction" // the processor's counter
	PathTimeNow     = "time.Now"    // Go's, which reads CLOCK_REALTIME and CLOCK_MONOTONIC
	PathTimeSince   = "time.Since"  // Go's, which reads CLOCK_MONOTONIC
)

// Way is a way of reading a clock.
type Way struct {
	Path        string `json:"path"`
	Clock       string `json:"clock,omitempty"`       // the POSIX clock
	Instruction string `json:"instruction,omitempty"` // "rdtsc", "lfence_rdtsc", "rdtscp", "cntvct", "isb_cntvct"
}

// Name is what to call the way, such as "vdso monotonic".
func (w Way) Name() string {
	switch {
	case w.Clock != "":
		return w.Path + " " + w.Clock
	case w.Instruction != "":
		return w.Path + " " + w.Instruction
	}
	return w.Path
}

// Result is what was measured, and everything that shaped it. What CPU it was is the caller's to say.
type Result struct {
	Plan Plan `json:"plan"` // with everything filled in
	// Clocksource was current at the beginning and ClocksourceAfter at the end, "" if
	// that is not known. Where they differ the run stopped, and what it had measured until then may be of both.
	Clocksource      string  `json:"clocksource"`
	ClocksourceAfter string  `json:"clocksource_after"`
	CPU              int     `json:"cpu"`      // of the parts on one CPU
	Timer            float64 `json:"timer_ns"` // what one reading of the timer of the batches takes
	Seconds          float64 `json:"seconds"`  // that all of it took

	Costs      []WayCost       `json:"costs"`
	Routes     []Route         `json:"routes"`
	Steps      []WaySteps      `json:"steps"`
	Across     []Crossing      `json:"across"`
	Contention []Crowd         `json:"contention"`
	Counters   []CounterResult `json:"counters"`

	Skipped  []Skipped `json:"skipped"`  // ways that do not work here
	Warnings []Warning `json:"warnings"` // what the figures do not say of themselves
}

// Changed reports that the kernel's clocksource changed under the run.
func (r Result) Changed() bool { return r.Clocksource != r.ClocksourceAfter }

// WayCost is what a way costs on one CPU while no other CPU of this program reads.
type WayCost struct {
	Way
	BatchReads int `json:"reads_per_batch"`
	Cost
}

// WaySteps is how a clock went from one read to the next.
type WaySteps struct {
	Way
	Steps
}

// Crowd is what a way costs while so many CPUs read at once.
type Crowd struct {
	Way
	CPUs   []int `json:"cpus"`
	Rounds int   `json:"rounds"`
	// ReadsPerSecond is of all CPUs together, over rounds. It is of the whole time of a round, also
	// that in which something else ran on a CPU; what a read takes while it runs is in PerCPU.
	ReadsPerSecond Estimate `json:"reads_per_second"`
	// Fairness is the reads of the CPU with the fewest to those of the one with the most, over rounds.
	Fairness Estimate `json:"fairness_ratio"`
	PerCPU   []OnCPU  `json:"per_cpu"`
	Why      string   `json:"why,omitempty"` // there are no figures
}

// OnCPU is what a way costs on one CPU of several that read.
type OnCPU struct {
	CPU int `json:"cpu"`
	Cost
}

// CounterResult is a counter that was read at a pace, or why not.
type CounterResult struct {
	hw.Counter
	Why  string  `json:"why,omitempty"` // it was not read
	Pace float64 `json:"pace_seconds"`  // between groups of reads
	// Cost is of the groups of one tick, by the counter's own time. A read that takes less than the counter's
	// step shows as 0 or as the step, the mean of many as what it takes.
	Cost
	Steps Steps `json:"steps"`
	// Late are the read-backs that took longer than a watchdog allows, by cause.
	Late map[hw.Cause]int `json:"late"`
}

// Skipped is a way that does not work here.
type Skipped struct {
	Way
	Why string `json:"why"`
}

// Warning is doubt about the result.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Codes of warnings.
const (
	WarnChanged    = "clocksource-changed"  // the run stopped for it
	WarnRestrained = "clock-not-loaded"     // the system clock is read through a counter that must not be loaded
	WarnFewThreads = "too-few-threads"      // fewer CPUs at once than allowed, because of GOMAXPROCS
	WarnBackwards  = "clock-went-backwards" // a clock went backwards, on a CPU or between CPUs
)
