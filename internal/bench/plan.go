package bench

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cswatch/cswatch/internal/hw"
)

// Part is a part of the measuring.
type Part string

// The parts, in the order in which they run.
const (
	Costs      Part = "costs"      // what a read costs on one CPU
	Singles    Part = "steps"      // how the clocks go from one read to the next
	Across     Part = "across"     // whether they agree between CPUs
	Contention Part = "contention" // what a read costs while other CPUs read, too
	Counters   Part = "counters"   // counters that are read at a watchdog's pace
)

func allParts() []Part { return []Part{Costs, Singles, Across, Contention, Counters} }

// Limits of a plan.
const (
	maxBatches = 100_000
	maxSingles = 100_000_000
	maxTurns   = 10_000_000
	maxRounds  = 10_000
	maxTicks   = 10_000
	maxCPUs    = 8192
	maxSpan    = time.Minute
)

// Plan says what Run measures. The zero value of each field is useful.
type Plan struct {
	Parts []Part `json:"parts"` // none: all of them
	// CPUs that may be used, in the order in which contention adds them. None: all that
	// the process may use. The parts on one CPU run on the last one, since the first commonly serves interrupts.
	CPUs []int `json:"cpus"`
	// Clocks are the POSIX clocks besides "monotonic" to read. None: monotonic_raw, boottime, realtime, tai.
	Clocks []string `json:"clocks"`
	// References are the counters to read at a watchdog's pace. None: all that can be
	// read: hpet, acpi_pm, ptp0, ...
	References []string `json:"references"`

	Batches   int           `json:"batches"`      // of each way; 0: 201
	BatchTime time.Duration `json:"batch_ns"`     // that a batch takes about; 0: 200 us. Longer where reading the timer takes long.
	WarmUp    time.Duration `json:"warm_up_ns"`   // reads before the first batch that counts; 0: 50 ms
	Singles   int           `json:"single_reads"` // of each way, for the steps; 0: 100000
	Turns     int           `json:"turns"`        // of each way and pair of CPUs; 0: 10000
	TurnTime  time.Duration `json:"turns_ns"`     // that a pair may take for them; 0: 200 ms
	Rounds    int           `json:"rounds"`       // of each way and number of CPUs; 0: 11
	RoundTime time.Duration `json:"round_ns"`     // 0: 20 ms
	Ticks     int           `json:"ticks"`        // of half a second, for each reference; 0: 8

	// CounterHz is the rate of the processor's counter, to give its resolution in ns; 0 if it is not known.
	CounterHz uint64 `json:"counter_frequency_hz"`
	// AcceptLosingTSC allows HPET and ACPI PM timer to be read as fast as they can be.
	// A caller sets it that has found that latency cannot condemn the TSC here, or whose user accepts the loss.
	AcceptLosingTSC bool `json:"accept_losing_tsc"`
}

// posixClocks are the POSIX clocks that can be read, with their ids (linux/time.h).
func posixClocks() map[string]int64 {
	return map[string]int64{hw.RealTime: 0, hw.Monotonic: 1, hw.MonotonicRaw: 4, hw.BootTime: 7, hw.TAI: 11}
}

// withDefaults fills what is left to the package but the CPUs and the references.
func (p Plan) withDefaults() Plan {
	if len(p.Parts) == 0 {
		p.Parts = allParts()
	}
	if len(p.Clocks) == 0 {
		p.Clocks = []string{hw.MonotonicRaw, hw.BootTime, hw.RealTime, hw.TAI}
	}
	number := func(n *int, otherwise int) {
		if *n == 0 {
			*n = otherwise
		}
	}
	span := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	number(&p.Batches, 201)
	number(&p.Singles, 100_000)
	number(&p.Turns, 10_000)
	number(&p.Rounds, 11)
	number(&p.Ticks, 8)
	span(&p.BatchTime, 200*time.Microsecond)
	span(&p.WarmUp, 50*time.Millisecond)
	span(&p.TurnTime, 200*time.Millisecond)
	span(&p.RoundTime, 20*time.Millisecond)
	return p
}

func (p Plan) has(part Part) bool { return slices.Contains(p.Parts, part) }

// Without returns the plan less a part, which must not be its only one.
func (p Plan) Without(part Part) Plan {
	if len(p.Parts) == 0 {
		p.Parts = allParts()
	}
	p.Parts = slices.DeleteFunc(slices.Clone(p.Parts), func(other Part) bool { return other == part })
	return p
}

// Validate reports everything that is wrong with the plan, joined.
func (p Plan) Validate() error {
	var wrong []error
	add := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("plan of a clock benchmark: "+format, args...))
	}
	for _, part := range p.Parts {
		if !slices.Contains(allParts(), part) {
			add("there is no part %q, want of %v", part, allParts())
		}
	}
	for _, name := range p.Clocks {
		if _, known := posixClocks()[name]; !known {
			add("there is no clock %q, want monotonic, monotonic_raw, boottime, realtime or tai", name)
		}
	}
	for i, cpu := range p.CPUs {
		if cpu < 0 || cpu >= maxCPUs {
			add("CPU %d, want 0 to %d", cpu, maxCPUs-1)
		}
		if slices.Contains(p.CPUs[:i], cpu) {
			add("CPU %d is named twice", cpu)
		}
	}
	for _, n := range []struct {
		what      string
		got, most int
	}{
		{"batches", p.Batches, maxBatches}, {"single reads", p.Singles, maxSingles}, {"turns", p.Turns, maxTurns},
		{"rounds", p.Rounds, maxRounds}, {"ticks", p.Ticks, maxTicks}, {"CPUs", len(p.CPUs), maxCPUs},
	} {
		if n.got < 0 || n.got > n.most {
			add("%d %s, want at most %d", n.got, n.what, n.most)
		}
	}
	for _, d := range []struct {
		what string
		got  time.Duration
	}{{"a batch", p.BatchTime}, {"the warm-up", p.WarmUp}, {"the turns of a pair", p.TurnTime}, {"a round", p.RoundTime}} {
		if d.got < 0 || d.got > maxSpan {
			add("%v for %s, want at most %v", d.got, d.what, maxSpan)
		}
	}
	return errors.Join(wrong...)
}
