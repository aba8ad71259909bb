package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/bench"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// ExitClockChanged is the exit code of a benchmark under which the kernel changed its clocksource.
const ExitClockChanged = 3

// benchClockFlags are the flags of cswatch bench clock.
type benchClockFlags struct {
	parts, clocks, counters []string
	cpus                    string
	duration                time.Duration
	sources                 []string // of --switch
	switches, acceptLoss    bool
	profile                 bool
	format                  *choice

	// Tests have their own of these.
	measure  func(context.Context, bench.Plan) (bench.Result, error)
	rate     func(context.Context) (hw.Frequency, error) // of the processor's counter
	allowed  func() ([]int, error)                       // CPUs
	risk     func(*machine.Snapshot) guard
	snapshot func() *machine.Snapshot
	profiler profiler
	switcher
}

func newBenchClockCommand(env *Env) *cobra.Command {
	f := benchClockFlags{
		measure: bench.Run, rate: hw.TSCFrequency, allowed: hw.AllowedCPUs,
		risk: riskHere, snapshot: snapshotHere, profiler: profilerHere(), switcher: switcherHere(),
	}
	cmd := &cobra.Command{
		Use:   "clock",
		Short: "Measure what a read of the clock takes, by every path",
		Long: "clock measures what one read of the system clock takes by vDSO, by system call, by Go's time.Now and by the\n" +
			"processor's instruction, and of the counters that can be read directly; which path programs really get; how\n" +
			"fine the clocks are, whether they go backwards on a CPU or between two, and what a read takes while 1, 2, 4 ...\n" +
			"all CPUs read at once. It changes nothing but with --switch, which measures under each clocksource that the\n" +
			"kernel offers and gives the first one back. Where latency could cost this machine its TSC, slow counters are\n" +
			"read no faster than a kernel's watchdog does, and so is the clock if it is one of them.",
		Example: "  cswatch bench clock\n  cswatch bench clock --part costs --duration 5s\n  cswatch bench clock --switch\n" +
			"  cswatch bench clock --cpus 0-3 --clock realtime --format json\n" +
			"  cswatch bench clock --format gobench >> before.txt",
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.parts, "part", nil, "measure only these: costs, steps, across, contention, counters (default all of them)")
	fl.StringVar(&f.cpus, "cpus", "", "CPUs to use, such as 0,2-5 (default all that it may use)")
	fl.StringSliceVar(&f.clocks, "clock", nil, "POSIX clocks to read besides monotonic (default monotonic_raw, boottime, realtime, tai)")
	fl.StringSliceVar(&f.counters, "counter", nil, "counters to read at a watchdog's pace, such as hpet, acpi_pm or ptp0 (default all that can be read)")
	fl.DurationVar(&f.duration, "duration", 0, "about how long to measure, such as 10s; each counter takes 4 s more by default, and in proportion (default 1 s, and 1 s for each of 1, 2, 4 ... all CPUs)")
	switchFlag(cmd, &f.sources)
	fl.BoolVar(&f.acceptLoss, acceptLoss, false, "switch, and read hpet and acpi_pm as fast as they can be, whose latency can make a kernel give up its TSC; the kernel's log is followed, and its first complaint ends the run")
	fl.BoolVar(&f.profile, "profile", false, "sample this program meanwhile, and show what it does as bench profile would; the samples take time of what is measured")
	f.format = formatFlag(cmd, "text", "json", "csv", "gobench")
	registerCompletion(cmd, "part", cobra.FixedCompletions([]cobra.Completion{"costs", "steps", "across", "contention", "counters"}, cobra.ShellCompDirectiveNoFileComp))
	registerCompletion(cmd, "clock", cobra.FixedCompletions([]cobra.Completion{hw.MonotonicRaw, hw.BootTime, hw.RealTime, hw.TAI}, cobra.ShellCompDirectiveNoFileComp))
	registerCompletion(cmd, "counter", cobra.FixedCompletions([]cobra.Completion{hw.HPET, hw.ACPIPM}, cobra.ShellCompDirectiveNoFileComp))
	benchmark(cmd, env, &f.switches, f.run)
	return cmd
}

func (f *benchClockFlags) run(ctx context.Context, env *Env) error {
	doc := &report.ClockBench{Inputs: report.ClockBenchInputs{
		Parts: f.parts, Clocks: f.clocks, Counters: f.counters, Duration: f.duration.Seconds(), AcceptLosingTSC: f.acceptLoss,
		Switch: f.switches, Sources: namedSources(f.sources), Profile: f.profile,
	}}
	if format := f.format.String(); f.profile && format != "text" && format != "json" {
		return usagef("--profile: --format %s has no place for it, want text or json", format)
	}
	plan, err := f.plan(doc)
	if err != nil {
		return err
	}
	s := f.snapshot()
	risk := f.risk(s)
	doc.CPUModel, doc.Kernel = s.CPU.Model, s.Kernel.Release
	doc.LatencyCanCondemn, doc.LatencyWhy = risk.answer, risk.why
	plan.AcceptLosingTSC = f.acceptLoss || risk.answer == machine.No
	// Measuring the rate reads the system clock some hundred times, which is no load where that is not a slow counter.
	if slow := []string{"", hw.HPET, hw.ACPIPM}; plan.AcceptLosingTSC || !slices.Contains(slow, s.Clocksource.Current) {
		if rate, err := f.rate(ctx); err == nil {
			plan.CounterHz = uint64(rate.Hz)
		}
	}
	if f.switches {
		doc.Switching, err = f.during(ctx, env, switchWish{sources: namedSources(f.sources), risk: risk, accept: f.acceptLoss},
			func(ctx context.Context, sources []string, choose chooser) error {
				return f.each(ctx, doc, plan, sources, choose)
			})
	} else {
		if err := f.tidy(env); err != nil {
			fmt.Fprintln(env.Stderr, "cswatch:", err)
		}
		err = f.measured(ctx, doc, plan, f.acceptLoss && risk.answer != machine.No)
	}
	if len(doc.Plan.CPUs) == 0 {
		return err // nothing was measured
	}
	if doc.Ended = endOf(ctx, err); doc.Ended == report.BenchDone && doc.Changed() {
		doc.Ended = report.BenchChanged
	}
	err = outcome("bench clock", doc.Ended, err)
	if shown := f.write(env, doc); shown != nil {
		return errors.Join(shown, err)
	}
	return err
}

// each measures under each of the clocksources, and the counters once.
func (f *benchClockFlags) each(ctx context.Context, doc *report.ClockBench, plan bench.Plan, sources []string, choose chooser) error {
	for _, name := range sources {
		if taken, err := choose.taken(name); err != nil {
			return err
		} else if !taken {
			continue
		}
		p := plan
		if len(doc.Runs) > 0 {
			p = plan.Without(bench.Counters)
		}
		if err := f.measured(ctx, doc, p, false); err != nil || doc.Changed() {
			return err
		}
	}
	return nil
}

// measured measures under the clocksource that is current, and adds what came of it.
func (f *benchClockFlags) measured(ctx context.Context, doc *report.ClockBench, plan bench.Plan, loads bool) error {
	var result bench.Result
	var err error
	measure := func() { result, err = f.guarded(ctx, plan, loads) }
	var profile *report.ProfileBench
	if f.profile {
		profile = f.profiler.beside(ownProfile(), measure)
	} else {
		measure()
	}
	if len(result.Plan.CPUs) > 0 {
		doc.Measured(&result)
		doc.Runs[len(doc.Runs)-1].Profile = profile
	}
	return err
}

// guarded measures. With loads the kernel's log is followed meanwhile, and its first complaint ends the measuring.
func (f *benchClockFlags) guarded(ctx context.Context, plan bench.Plan, loads bool) (result bench.Result, err error) {
	measure := func(ctx context.Context) (err error) {
		result, err = f.measure(ctx, plan)
		return err
	}
	if loads {
		err = underLog(ctx, f.follow, measure)
	} else {
		err = measure(ctx)
	}
	return result, err
}

// plan says what to measure. The times are those of the package, or all of them longer or shorter.
func (f *benchClockFlags) plan(doc *report.ClockBench) (bench.Plan, error) {
	p := bench.Plan{Clocks: f.clocks, References: f.counters}
	for _, name := range f.parts {
		p.Parts = append(p.Parts, bench.Part(name))
	}
	cpus, err := f.allowed()
	if err != nil {
		return p, err
	}
	if f.cpus != "" {
		named, err := cpuList(f.cpus)
		if err != nil {
			return p, usagef("--cpus %s: %v", f.cpus, err)
		}
		for _, cpu := range named {
			if !slices.Contains(cpus, cpu) {
				return p, usagef("--cpus %s: this process may not use CPU %d, only %v", f.cpus, cpu, cpus)
			}
		}
		cpus, p.CPUs = named, named
	}
	doc.Inputs.CPUs = p.CPUs
	switch {
	case f.switches && slices.Equal(p.Parts, []bench.Part{bench.Counters}):
		return p, usagef("--switch --part counters: counters are read by themselves, whatever the clocksource is")
	case f.duration < 0 || f.duration > mostBench:
		return p, usagef("--duration %v: want a time above 0 and up to %v", f.duration, mostBench)
	case f.duration > 0:
		scale(&p, len(cpus), f.duration)
	}
	if err := p.Validate(); err != nil {
		return p, &usageError{err: err}
	}
	return p, nil
}

// mostCPU is the greatest number of a CPU that a benchmark takes.
const mostCPU = 8191

// cpuList reads CPUs and ranges of them, such as "0,2-5", in the order given.
func cpuList(text string) (cpus []int, err error) {
	for word := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(word), "-")
		if !isRange {
			high = low
		}
		first, failed := strconv.ParseUint(low, 10, 16)
		last, failedToo := strconv.ParseUint(high, 10, 16)
		if failed != nil || failedToo != nil || last < first || last > mostCPU {
			return nil, fmt.Errorf("%q is no CPU and no range of CPUs, want such as 0,2-5 and at most %d", word, mostCPU)
		}
		for cpu := first; cpu <= last; cpu++ {
			if slices.Contains(cpus, int(cpu)) {
				return nil, fmt.Errorf("CPU %d is named twice", cpu)
			}
			cpus = append(cpus, int(cpu))
		}
	}
	return cpus, nil
}

// mostBench is the longest duration: all counts of a plan that long are within its limits.
const mostBench = 10 * time.Minute

// scale sets how often everything is measured, so that the loops over so many CPUs take about
// the time. The defaults take 1 s, and 1 s more for each of 1, 2, 4 ... CPUs.
func scale(p *bench.Plan, cpus int, length time.Duration) {
	steps := 2 // of 1 s
	for k := 1; k < cpus; k *= 2 {
		steps++
	}
	share := length.Seconds() / float64(steps)
	const enough = 6 // batches, without which there is no interval of 95 %
	times := func(n int, least int) int { return max(least, int(float64(n)*share)) }
	p.Batches, p.Rounds, p.Ticks = times(201, enough), times(11, enough), times(8, 1)
	p.Singles, p.Turns = times(100_000, 1000), times(10_000, 100)
	within := func(d time.Duration) time.Duration {
		return max(time.Millisecond, time.Duration(float64(d)*min(share, 1)))
	}
	p.WarmUp, p.RoundTime = within(50*time.Millisecond), within(20*time.Millisecond)
	p.TurnTime = max(10*time.Millisecond, min(time.Minute, time.Duration(float64(200*time.Millisecond)*share)))
}

func (f *benchClockFlags) write(env *Env, doc *report.ClockBench) error {
	switch f.format.String() {
	case "json":
		return report.ClockBenchJSON(env.Stdout, doc)
	case "csv":
		return report.ClockBenchCSV(env.Stdout, doc)
	case "gobench":
		return report.ClockBenchGo(env.Stdout, doc)
	}
	if err := report.ClockBenchText(env.Stdout, doc, textOptions(env)); err != nil {
		return fmt.Errorf("bench clock: %w", err)
	}
	return nil
}
