package report

import (
	"cmp"
	"io"
	"slices"

	"github.com/cswatch/cswatch/internal/bench"
	"github.com/cswatch/cswatch/machine"
)

// ClockBenchSchema is the schema id of the document about what reading a clock costs.
const ClockBenchSchema = "cswatch.bench-clock/v1"

// How the measuring ended.
const (
	BenchDone      = "done"
	BenchChanged   = "clocksource-changed" // the kernel changed its clocksource under the run, which stopped
	BenchSignal    = "signal"              // the user or the system stopped it
	BenchKernelLog = "kernel-log"          // the kernel's watchdog complained while a counter was loaded
	BenchCondemned = "tsc-condemned"       // the kernel gave up its TSC under the run
	BenchFailed    = "failed"
)

// ClockBench is what reading the clocks of a machine was found to cost.
type ClockBench struct {
	Schema   string           `json:"schema"`
	Inputs   ClockBenchInputs `json:"inputs"`
	CPUModel string           `json:"cpu_model"` // "" if not known, as the next one
	Kernel   string           `json:"kernel"`
	// LatencyCanCondemn: slow reads of a reference can cost this machine its TSC.
	LatencyCanCondemn machine.Answer `json:"latency_can_condemn"`
	LatencyWhy        string         `json:"latency_why"`
	Ended             string         `json:"ended"`
	Plan              bench.Plan     `json:"plan"` // with everything filled in
	// Clocksource was current at the beginning and ClocksourceAfter at the end, "" if not known.
	Clocksource      string     `json:"clocksource"`
	ClocksourceAfter string     `json:"clocksource_after"`
	Switching        *Switching `json:"switching,omitempty"` // nil: nothing was to be switched
	CPU              int        `json:"cpu"`                 // of the parts on one CPU
	Seconds          float64    `json:"seconds"`

	Runs     []ClockRun            `json:"runs"` // one, or one for each clocksource
	Routes   []ClockRoute          `json:"routes"`
	Results  []ClockRead           `json:"results"`
	Steps    []ClockSteps          `json:"steps"`
	Across   []ClockCrossing       `json:"across"`
	Counters []bench.CounterResult `json:"counters"`
	Skipped  []ClockSkipped        `json:"skipped"`
	Warnings []bench.Warning       `json:"warnings"`
}

// ClockRun is the measuring under one clocksource.
type ClockRun struct {
	Clocksource      string  `json:"clocksource"`
	ClocksourceAfter string  `json:"clocksource_after"`
	Timer            float64 `json:"timer_ns"` // one reading of the timer of the batches
	Seconds          float64 `json:"seconds"`
	// Profile is of this program meanwhile, nil where none was to be taken.
	Profile *ProfileBench `json:"profile,omitempty"`
}

// ClockRoute is the path by which programs get a clock under a clocksource.
type ClockRoute struct {
	Clocksource string `json:"clocksource"`
	bench.Route
}

// ClockSteps is how a clock went under a clocksource.
type ClockSteps struct {
	Clocksource string `json:"clocksource"`
	bench.WaySteps
}

// ClockCrossing is two CPUs that read in turn under a clocksource.
type ClockCrossing struct {
	Clocksource string `json:"clocksource"`
	bench.Crossing
}

// ClockSkipped is a way that does not work under a clocksource.
type ClockSkipped struct {
	Clocksource string `json:"clocksource"`
	bench.Skipped
}

// ClockBenchInputs is what was asked for. Empty lists are the defaults, which the plan has filled in.
type ClockBenchInputs struct {
	Parts    []string `json:"parts"`
	CPUs     []int    `json:"cpus"`
	Clocks   []string `json:"clocks"`
	Counters []string `json:"counters"`
	Duration float64  `json:"duration_seconds"` // 0: the default
	// Switch are the clocksources to measure, empty with switching set for all that there are.
	Switch  bool     `json:"switch"`
	Sources []string `json:"clocksources"`
	// AcceptLosingTSC is the flag. The plan has it too where latency cannot condemn.
	AcceptLosingTSC bool `json:"accept_losing_tsc"`
	Profile         bool `json:"profile"`
}

// ClockRead is what a read costs by one way, while so many CPUs read.
type ClockRead struct {
	Clocksource string     `json:"clocksource"`
	Part        bench.Part `json:"part"` // "costs": one CPU for long; "contention": a step of 1, 2, 4 ... CPUs
	bench.Way
	CPUs int `json:"cpus"` // that read at once
	// Cost is of the CPU in the middle, by its median, where several read: the slower one of two.
	bench.Cost
	Crowd *ClockCrowd `json:"crowd,omitempty"`
	Why   string      `json:"why,omitempty"` // there are no figures
}

// ClockCrowd is what CPUs that read at once did together.
type ClockCrowd struct {
	Rounds         int            `json:"rounds"`
	ReadsPerSecond bench.Estimate `json:"reads_per_second"` // of all of them, over rounds
	Fairness       bench.Estimate `json:"fairness_ratio"`   // fewest reads of a CPU to most
	PerCPU         []bench.OnCPU  `json:"per_cpu"`
}

// Measured adds what was measured under the clocksource of the result. The first says what was
// current at the beginning, the last what was at the end.
func (d *ClockBench) Measured(r *bench.Result) {
	of := r.Clocksource
	if len(d.Runs) == 0 {
		d.Plan, d.Clocksource, d.CPU = r.Plan, of, r.CPU
	}
	d.ClocksourceAfter = r.ClocksourceAfter
	d.Seconds += r.Seconds
	d.Runs = append(d.Runs, ClockRun{Clocksource: of, ClocksourceAfter: r.ClocksourceAfter, Timer: r.Timer, Seconds: r.Seconds})
	for _, v := range r.Routes {
		d.Routes = append(d.Routes, ClockRoute{of, v})
	}
	for _, v := range r.Steps {
		d.Steps = append(d.Steps, ClockSteps{of, v})
	}
	for _, v := range r.Across {
		d.Across = append(d.Across, ClockCrossing{of, v})
	}
	for _, v := range r.Skipped {
		d.Skipped = append(d.Skipped, ClockSkipped{of, v})
	}
	d.Counters = append(d.Counters, r.Counters...)
	d.Warnings = append(d.Warnings, r.Warnings...)
	for _, c := range r.Costs {
		d.Results = append(d.Results, ClockRead{Clocksource: of, Part: bench.Costs, Way: c.Way, CPUs: 1, Cost: c.Cost})
	}
	for _, c := range r.Contention {
		d.Results = append(d.Results, ClockRead{
			Clocksource: of, Part: bench.Contention, Way: c.Way, CPUs: len(c.CPUs), Cost: middle(c.PerCPU), Why: c.Why,
			Crowd: &ClockCrowd{Rounds: c.Rounds, ReadsPerSecond: c.ReadsPerSecond, Fairness: c.Fairness, PerCPU: list(c.PerCPU)},
		})
	}
}

// Changed reports that the kernel changed its clocksource by itself during one of the runs.
func (d *ClockBench) Changed() bool {
	return slices.ContainsFunc(d.Runs, func(r ClockRun) bool { return r.Clocksource != r.ClocksourceAfter }) ||
		slices.ContainsFunc(d.Warnings, func(w bench.Warning) bool { return w.Code == bench.WarnChanged })
}

// middle returns the cost on the CPU whose median is that of all CPUs, the greater of two.
func middle(all []bench.OnCPU) bench.Cost {
	if len(all) == 0 {
		return bench.Cost{}
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b bench.OnCPU) int { return cmp.Compare(a.Median, b.Median) })
	return sorted[len(sorted)/2].Cost
}

// stepsOf returns how the clock of a result went, nil where that was not measured.
func (d *ClockBench) stepsOf(r *ClockRead) *bench.Steps {
	if i := slices.IndexFunc(d.Steps, func(s ClockSteps) bool { return s.Clocksource == r.Clocksource && s.Way == r.Way }); i >= 0 {
		return &d.Steps[i].Steps
	}
	return nil
}

// ClockBenchJSON writes the document.
func ClockBenchJSON(w io.Writer, d *ClockBench) error {
	c := *d
	c.Schema = ClockBenchSchema
	c.Inputs.Parts, c.Inputs.CPUs = list(c.Inputs.Parts), list(c.Inputs.CPUs)
	c.Inputs.Clocks, c.Inputs.Counters, c.Inputs.Sources = list(c.Inputs.Clocks), list(c.Inputs.Counters), list(c.Inputs.Sources)
	c.Plan.Parts, c.Plan.CPUs = list(c.Plan.Parts), list(c.Plan.CPUs)
	c.Plan.Clocks, c.Plan.References = list(c.Plan.Clocks), list(c.Plan.References)
	c.Runs, c.Routes, c.Results, c.Steps, c.Across = list(c.Runs), list(c.Routes), list(c.Results), list(c.Steps), list(c.Across)
	c.Counters, c.Skipped, c.Warnings = list(c.Counters), list(c.Skipped), list(c.Warnings)
	c.Switching = c.Switching.whole()
	c.Runs = slices.Clone(c.Runs)
	for i := range c.Runs {
		if p := c.Runs[i].Profile; p != nil {
			c.Runs[i].Profile = p.whole()
		}
	}
	return writeJSON(w, &c, "the clock benchmark")
}
