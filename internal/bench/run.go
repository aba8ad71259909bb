package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/machine"
)

// edges is what a run touches of the machine; tests have their own.
type edges struct {
	rig
	cpus    func() ([]int, error) // that the process may use
	threads int                   // that may run Go code at once
	on      func(cpu int, f func()) error
	team    func() (team crew, closed func())
	probe   func() []hw.Availability
	open    func(hw.Plan) (stream, error)
	// ways returns the ways of reading the POSIX clocks, monotonic first, and the
	// processor's counter, and why the vDSO cannot be called, "" where it can.
	ways func(clocks []string, counter bool) (ways []way, absent string)
	// slow tells whether the system clock is as slow as one that is read through a counter that must not be loaded.
	slow func(ctx context.Context) (bool, error)
}

// Run measures by the plan. It needs no privilege but for the counters that ask for it. By the
// plan's defaults it takes about 1 s, and 1 s more for each number of CPUs that read together and 4 s for each counter.
//
// For the ACPI PM timer it starts a child: the program must have called hw.ChildMain. The result holds
// what was measured before an error or the end of the context, too.
//
// Where the kernel's clocksource changes under the run, the run stops: see [Result.Changed].
func Run(ctx context.Context, p Plan) (Result, error) {
	e, err := here()
	if err != nil {
		return Result{}, err
	}
	return run(ctx, p, e)
}

// bench is a run under way.
type bench struct {
	edges
	p          Plan
	r          Result
	restrained bool // reading the system clock loads a counter that a watchdog may use
	ways       []way
	absent     string // why the vDSO cannot be called
	found      []hw.Availability
}

func run(ctx context.Context, p Plan, e edges) (Result, error) {
	if err := p.Validate(); err != nil {
		return Result{}, err
	}
	p = p.withDefaults()
	if len(p.CPUs) == 0 {
		cpus, err := e.cpus()
		if err != nil {
			return Result{}, err
		}
		p.CPUs = cpus
	}
	if len(p.CPUs) == 0 {
		return Result{}, errors.New("measure clocks: the process may use no CPU")
	}
	b := &bench{edges: e, p: p, r: Result{
		Clocksource: e.current(), CPU: p.CPUs[len(p.CPUs)-1],
		Costs: []WayCost{}, Routes: []Route{}, Steps: []WaySteps{}, Across: []Crossing{}, Contention: []Crowd{}, Counters: []CounterResult{},
		Skipped: []Skipped{}, Warnings: []Warning{},
	}}
	start := e.now()
	err := b.parts(ctx)
	b.r.Seconds = (e.now() - start).Seconds()
	b.r.Plan, b.r.ClocksourceAfter = b.p, e.current()
	if b.r.Changed() || errors.Is(err, errChanged) {
		b.warn(WarnChanged, "the clocksource changed from %q to %q under the run, which stopped: the figures are not of one of them", b.r.Clocksource, b.r.ClocksourceAfter)
	}
	if errors.Is(err, errChanged) {
		return b.r, nil
	}
	if err != nil {
		return b.r, fmt.Errorf("measure clocks: %w", err)
	}
	return b.r, nil
}

func (b *bench) warn(code, format string, args ...any) {
	b.r.Warnings = append(b.r.Warnings, Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}

// parts carries the parts of the plan out.
func (b *bench) parts(ctx context.Context) error {
	if err := b.look(ctx); err != nil {
		return err
	}
	var failed error
	if err := b.on(b.r.CPU, func() { failed = b.oneCPU(ctx) }); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	for _, step := range []func(context.Context) error{b.together, b.counters} {
		if b.current() != b.r.Clocksource {
			return errChanged
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	b.backwards()
	return nil
}

// look finds what can be read, and whether it may be read fast.
func (b *bench) look(ctx context.Context) error {
	b.found = b.probe()
	counter := slices.ContainsFunc(b.found, func(a hw.Availability) bool { return a.Name == hw.ProcessorCounter && a.Can == machine.Yes })
	for _, a := range b.found {
		if a.Name == hw.ProcessorCounter && a.Can != machine.Yes {
			b.r.Skipped = append(b.r.Skipped, Skipped{Way: Way{Path: PathInstruction}, Why: a.Err().Error()})
		}
	}
	clocks := []string{hw.Monotonic}
	for _, name := range b.p.Clocks {
		if !slices.Contains(clocks, name) {
			clocks = append(clocks, name)
		}
	}
	b.ways, b.absent = b.edges.ways(clocks, counter)
	if b.absent != "" {
		b.r.Skipped = append(b.r.Skipped, Skipped{Way: Way{Path: PathVDSO}, Why: b.absent})
	}
	loads := b.r.Clocksource == hw.HPET || b.r.Clocksource == hw.ACPIPM
	if b.r.Clocksource == "" {
		var err error
		if loads, err = b.slow(ctx); err != nil {
			return err
		}
	}
	b.restrained = loads && !b.p.AcceptLosingTSC
	if !b.restrained {
		return nil
	}
	// The timer of the batches is the system clock, too.
	b.p.Batches = min(b.p.Batches, restrainedBatches)
	b.p.BatchTime = max(b.p.BatchTime, restrainedBatch)
	b.ways = slices.DeleteFunc(b.ways, func(w way) bool { return w.Path != PathInstruction })
	b.warn(WarnRestrained, "the system clock is read through %s, and reading it in a loop makes the latency for which some kernels condemn their TSC: "+
		"it was read at a watchdog's pace, and neither across CPUs nor by several at once; accept the loss of the TSC to have it measured", orUnknown(b.r.Clocksource))
	return nil
}

// restrainedBatches is how many batches of the counter are taken while the timer must not be read often.
const restrainedBatches = 21

func orUnknown(clocksource string) string {
	if clocksource == "" {
		return "a slow counter of unknown name"
	}
	return clocksource
}

// oneCPU carries out the parts on one CPU, in the goroutine that is bound to it.
func (b *bench) oneCPU(ctx context.Context) error {
	rows := 64
	if b.restrained {
		rows = 1
	}
	timer := b.timer(rows)
	b.r.Timer = float64(timer)
	good, bad := b.working(b.ways)
	b.ways, b.r.Skipped = good, append(b.r.Skipped, bad...)
	if b.p.has(Costs) || b.p.has(Contention) {
		costs, err := b.costs(ctx, b.ways, b.p, batchTime(b.p.BatchTime, timer, b.restrained))
		b.r.Costs = append(b.r.Costs, costs...)
		if err != nil {
			return err
		}
		b.routes()
	}
	if b.p.has(Singles) {
		steps, err := b.steps(ctx, b.ways, b.p)
		b.r.Steps = append(b.r.Steps, steps...)
		if err != nil {
			return err
		}
	}
	return nil
}

// routes tells for each clock that was measured by both paths which one programs get.
func (b *bench) routes() {
	if b.restrained {
		return // comes from the counters
	}
	for _, clock := range append([]string{hw.Monotonic}, b.p.Clocks...) {
		if slices.ContainsFunc(b.r.Routes, func(r Route) bool { return r.Clock == clock }) {
			continue
		}
		vdso, call := b.cost(Way{Path: PathVDSO, Clock: clock}), b.cost(Way{Path: PathSyscall, Clock: clock})
		b.r.Routes = append(b.r.Routes, RouteOf(clock, vdso, call, b.absent, b.r.Clocksource))
	}
}

// cost returns what a way was found to cost, zero where it was not measured.
func (b *bench) cost(w Way) Cost {
	for _, c := range b.r.Costs {
		if c.Way == w {
			return c.Cost
		}
	}
	return Cost{}
}

// principal returns the ways that are compared between CPUs: each path once, and the
// counter as kernels read it.
func (b *bench) principal() []way {
	return choose(b.ways, Way{Path: PathVDSO, Clock: hw.Monotonic}, Way{Path: PathSyscall, Clock: hw.Monotonic},
		Way{Path: PathInstruction, Instruction: orderedInstruction}, Way{Path: PathTimeNow})
}

// together carries out the parts on several CPUs.
func (b *bench) together(ctx context.Context) error {
	if b.restrained || !b.p.has(Across) && !b.p.has(Contention) {
		return nil
	}
	cpus := b.p.CPUs
	if b.threads < len(cpus) {
		b.warn(WarnFewThreads, "only %d threads of this program may run at a time (GOMAXPROCS, or the CPU quota of its control group), and %d CPUs may be used: CPUs %v read together",
			b.threads, len(cpus), cpus[:b.threads])
		cpus = cpus[:b.threads]
	}
	team, closed := b.team()
	defer closed()
	if b.p.has(Across) {
		if err := b.across(ctx, team, cpus); err != nil {
			return err
		}
	}
	if !b.p.has(Contention) {
		return nil
	}
	for _, w := range b.principal() {
		reads := minReads
		for _, c := range b.r.Costs {
			if c.Way == w.Way {
				reads = c.BatchReads
			}
		}
		for _, k := range crowd(len(cpus)) {
			c, err := b.crowd(ctx, team, w, reads, cpus[:k], b.p)
			b.r.Contention = append(b.r.Contention, c)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// across compares the clocks between pairs of CPUs.
func (b *bench) across(ctx context.Context, team crew, cpus []int) error {
	for _, w := range b.principal() {
		for _, pair := range pairs(len(cpus)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			b.r.Across = append(b.r.Across, b.cross(ctx, team, w, [2]int{cpus[pair[0]], cpus[pair[1]]}, b.p))
		}
	}
	return nil
}

// counters reads what is read at a watchdog's pace.
func (b *bench) counters(ctx context.Context) error {
	var names []string
	if b.p.has(Counters) {
		names, b.r.Counters = readable(b.found, b.p.References)
		b.p.References = names
	}
	if b.restrained && b.p.has(Costs) {
		names = append(names, hw.MonotonicVDSO, hw.Monotonic)
	}
	for _, name := range names {
		c, err := counter(ctx, b.open, name, b.r.CPU, b.p)
		b.r.Counters = append(b.r.Counters, c)
		if err != nil {
			return err
		}
		if b.current() != b.r.Clocksource {
			return errChanged
		}
	}
	if b.restrained && b.p.has(Costs) {
		priced := func(name string) (c Cost) {
			for _, x := range b.r.Counters {
				if x.Name == name {
					c = x.Cost
				}
			}
			return c
		}
		b.r.Routes = append(b.r.Routes, RouteOf(hw.Monotonic, priced(hw.MonotonicVDSO), priced(hw.Monotonic), b.absent, b.r.Clocksource))
	}
	return nil
}

// backwards warns of clocks that went backwards. RDTSC without a fence may, and the
// wall clock when it is set.
func (b *bench) backwards() {
	for _, s := range b.r.Steps {
		if s.Backward > 0 {
			b.warn(WarnBackwards, "%s went backwards on CPU %d: %d times, by at most %d %s", s.Name(), b.r.CPU, s.Backward, s.Farthest, s.Unit)
		}
	}
	for _, c := range b.r.Across {
		if c.Backward > 0 {
			b.warn(WarnBackwards, "%s went backwards between CPUs %d and %d: %d times in %d turns, by at most %d %s", c.Name(), c.CPUs[0], c.CPUs[1], c.Backward, c.Turns, c.Farthest, c.Unit)
		}
	}
}
