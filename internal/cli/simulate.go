package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/dispatch"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/simulate"
)

// simulateFlags are the flags of cswatch simulate.
type simulateFlags struct {
	inputs report.SimulationInputs
	print  bool
	plot   string
	show   int64 // number of a boot, -1 for none
	jobs   int
	state  string
	format *choice
}

func newSimulateCommand(env *Env) *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:     "simulate",
		GroupID: groupExperiment,
		Short:   "Boot simulated machines by the thousand, under the watchdog of any kernel",
		Long: "simulate boots machines that exist only as text, under the watchdogs of one or more kernels, and counts how\n" +
			"often each gave up the TSC. Lists of machines, eras, retries, CPUs and faults make a grid, each combination\n" +
			"a cell. Without a fault the TSC of a simulated machine is good: every condemnation is a false positive.\n" +
			"With one it says how often and how soon the fault is detected.\n\n" +
			"The same seed gives the same result for any number of jobs. With --state a run that was stopped goes on\n" +
			"where it was when the same command is given again.",
		Example: "  cswatch simulate --machine e3-1240v5 --era 5.15 --retries 3,5,10,50 --boots 400\n" +
			"  cswatch simulate --machine e3-1240v5 --era 5.15 --show 17\n" +
			"  cswatch simulate --machine milan-x --era 5.17,6.12,7.1 --fault frequency:+800ppm@10s\n" +
			"  cswatch simulate --machine e3-1240v5 --smallest frequency\n" +
			"  cswatch simulate --machine list\n" +
			"  cswatch simulate --machine e3-1240v5 --print > mine.txt",
	}
	in, fl := &f.inputs, cmd.Flags()
	fl.StringSliceVar(&in.Machines, "machine", []string{"e3-1240v5"}, "machines that come with cswatch, or files; list names those that come with it")
	fl.BoolVar(&f.print, "print", false, "print the text of the machines that come with cswatch, to change it")
	fl.StringSliceVar(&in.Eras, "era", nil, "eras or kernel releases, such as E5,5.15,LTS-6.1.78, or designs that were never released, such as tip-forgive; all is every era with the long-term variants (default E0 to E12)")
	fl.Var(wholes{&in.Retries, mostRetries}, "retries", "values of clocksource.max_cswd_read_retries, for eras that have it (default that of each era)")
	fl.IntSliceVar(&in.CPUs, "cpus", nil, "numbers of CPUs (default that of each machine)")
	fl.Uint64Var(&in.Boots, "boots", 1000, "boots of each cell")
	fl.StringSliceVar(&in.Faults, "fault", nil, "what is wrong with the TSC: frequency:+800ppm, step:+1ms, step:cpu1:-300us, drift:node1:+5ppm, halt:cpu2:10%, calibration:+5%, each with @10s behind it to begin then")
	fl.StringVar(&in.Smallest, "smallest", "", "search the smallest fault of a `KIND` that is detected in 99 % of the boots: frequency, step, drift, halt or calibration")
	fl.BoolVar(&in.Curve, "curve", false, "false positives against detection of the one fault given, for each design by its retries")
	fl.StringVar(&f.plot, "plot", "", "with --curve: draw it to the SVG `FILE`")
	fl.Uint64Var(&in.Seed, "seed", 1, "which random numbers are drawn")
	fl.Int64Var(&f.show, "show", -1, "print the kernel log of the boot of this `NUMBER`, of one cell")
	fl.IntVar(&f.jobs, "jobs", 0, "boots that are simulated at the same time (default the number of CPUs)")
	fl.StringVar(&f.state, "state", "", "keep what is finished in `FILE`, and go on from there if it exists")
	f.format = formatFlag(cmd, "text", "json", "csv")
	registerCompletion(cmd, "era", completeEras)
	registerCompletion(cmd, "machine", completeMachines)
	registerCompletion(cmd, "smallest", completeFaultKinds)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := untilSignal(cmd.Context())
		defer stop()
		return f.run(ctx, env)
	}
	return cmd
}

func (f *simulateFlags) run(ctx context.Context, env *Env) error {
	if done, err := f.machineTexts(env); done || err != nil {
		return err
	}
	plan, err := f.plan()
	if err != nil {
		return err
	}
	for _, note := range plan.notes {
		fmt.Fprintf(env.Stderr, "cswatch: %s\n", note)
	}
	if f.show >= 0 {
		return f.showBoot(env, plan)
	}
	doc, stopped := f.simulate(ctx, env, plan)
	if doc == nil {
		return stopped
	}
	err = f.write(env, doc)
	if err == nil && f.plot != "" && stopped == nil {
		err = writeOutput(ctx, env, "plot ", f.plot, report.SimulationCurve(doc))
	}
	if stopped != nil && ctx.Err() != nil {
		how := "name a file with --state before the next such run, and it goes on from there"
		if f.state != "" {
			how = "the same command goes on from there"
		}
		stopped = fmt.Errorf("simulate: stopped (%w); %s", stopped, how)
	}
	return errors.Join(err, stopped)
}

// simulate runs all cells. With an error comes what was counted before it, if anything was.
func (f *simulateFlags) simulate(ctx context.Context, env *Env, plan *simulatePlan) (doc *report.Simulation, err error) {
	runner := simulate.Runner{Seed: f.inputs.Seed, Boots: f.inputs.Boots, Jobs: f.jobs}
	if runner.Jobs == 0 {
		runner.Jobs = runtime.GOMAXPROCS(0)
	}
	if f.state != "" {
		if runner.Ledger, err = dispatch.OpenLedger(f.state, f.parameters(env, plan)); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, runner.Ledger.Close()) }()
	}
	progress := newSimulateProgress(env)
	defer progress.end()
	runner.Progress = progress.tell

	doc = &report.Simulation{Inputs: f.inputs}
	for i := range plan.machines {
		doc.Machines = append(doc.Machines, report.SimulatedModelOf(&plan.machines[i]))
	}
	if plan.search != nil {
		for i := range plan.specs {
			progress.label = fmt.Sprintf("search %d of %d", i+1, len(plan.specs))
			found, err := runner.Smallest(ctx, plan.specs[i], *plan.search)
			if err != nil {
				doc.Interrupted = true
				return doc, err
			}
			doc.Smallest = append(doc.Smallest, report.SmallestFaultOf(&found))
		}
		return doc, nil
	}
	results, err := runner.Cells(ctx, plan.specs)
	doc.Interrupted = err != nil
	return doc, errors.Join(err, f.cells(doc, results))
}

// cells describes the results. Those of a fault come with the same cell without it.
func (f *simulateFlags) cells(doc *report.Simulation, results []simulate.Result) error {
	healthy := map[string]*simulate.Result{}
	for i := range results {
		if results[i].Fault.None() {
			healthy[results[i].Key()] = &results[i]
		}
	}
	for i := range results {
		r := &results[i]
		if r.Tally.Boots == 0 {
			continue // the run was stopped before
		}
		same := r.Healthy()
		cell, err := report.SimulatedCellOf(r, f.inputs.Seed, healthy[same.Key()])
		if err != nil {
			return err
		}
		doc.Cells = append(doc.Cells, cell)
	}
	return nil
}

func (f *simulateFlags) write(env *Env, doc *report.Simulation) error {
	switch f.format.String() {
	case "json":
		return report.SimulationJSON(env.Stdout, doc)
	case "csv":
		return report.SimulationCSV(env.Stdout, doc)
	}
	return report.SimulationText(env.Stdout, doc, textOptions(env))
}

// showBoot prints the log of one boot.
func (f *simulateFlags) showBoot(env *Env, plan *simulatePlan) error {
	if len(plan.specs) != 1 {
		return usagef("--show prints the log of a boot of one cell, and these are %d: name one machine, era, number of retries and of CPUs, and one fault", len(plan.specs))
	}
	spec := &plan.specs[0]
	lines, err := spec.Log(f.inputs.Seed, uint64(f.show))
	if err != nil {
		return fmt.Errorf("simulate boot %d: %w", f.show, err)
	}
	d := report.SimulatedLogOf(spec, f.inputs.Seed, uint64(f.show), lines)
	switch f.format.String() {
	case "json":
		return report.SimulatedLogJSON(env.Stdout, &d)
	case "csv":
		return usagef("--show prints text or json, not csv")
	}
	return report.SimulatedLogText(env.Stdout, &d, textOptions(env))
}
