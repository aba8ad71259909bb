package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// benchProfileFlags are the flags of cswatch bench profile.
type benchProfileFlags struct {
	pids      []int
	all       bool
	duration  time.Duration
	event     *choice
	frequency int
	perCPU    bool
	top       int
	folded    string
	command   []string
	format    *choice

	// Tests have their own of these.
	profiler profiler
	snapshot func() *machine.Snapshot
}

const (
	defaultProfile = 10 * time.Second
	mostProfile    = 24 * time.Hour
	maxFrequency   = 1_000_000
	mostPID        = 1 << 22 // the kernel's limit (proc(5), pid_max)
	mostRows       = 1 << 20
	defaultTop     = 20
)

func newBenchProfileCommand(env *Env) *cobra.Command {
	f := benchProfileFlags{profiler: profilerHere(), snapshot: snapshotHere, frequency: perf.DefaultFrequency, top: defaultTop}
	cmd := &cobra.Command{
		Use:   "profile [-- COMMAND [ARG]...]",
		Short: "See what the CPUs do, and how much of it is reading clocks",
		Long: "profile samples what CPUs do, on the whole machine, in some processes or in a command that it starts, and says\n" +
			"how much of that is reading clocks, by process and function, and whether that is hot. It changes nothing.\n\n" +
			"A command is held until the sampling has begun; its output goes to standard error. Where something\n" +
			"may not be sampled, the answer is that it could not be told, with the reason and what allows it.",
		Example: "  cswatch bench profile\n  cswatch bench profile --pid 812,813 --duration 30s --per-cpu\n" +
			"  cswatch bench profile --folded stacks.txt -- make check\n" +
			"  cswatch bench profile --event bus-cycles --format json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return usagef("the command to profile stands behind --, as in: %s -- %s", cmd.CommandPath(), shellWord(args[0]))
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.Var(wholes{&f.pids, mostPID}, "pid", "profile these processes, with their threads and what they start; several with commas, or the flag again")
	fl.BoolVar(&f.all, "all", false, "profile the whole machine (default without --pid and a command)")
	fl.DurationVar(&f.duration, "duration", 0, "how long (default 10s; with a command until it ends, and at most so long)")
	f.event = newChoice(autoEvent, string(perf.Cycles), string(perf.BusCycles), string(perf.CPUClock))
	fl.Var(f.event, "event", "what makes the kernel take a sample; another is taken, and named, where it cannot be had")
	fl.Var(whole{&f.frequency, maxFrequency}, "frequency", "samples a second on each busy CPU")
	fl.BoolVar(&f.perCPU, "per-cpu", false, "a row for each CPU")
	fl.Var(whole{&f.top, mostRows}, "top", "show so many rows, 0 for all")
	fl.StringVar(&f.folded, "folded", "", "sample call chains, and write them to this file as flame graph programs read them")
	f.format = formatFlag(cmd, "text", "json", "csv")
	registerCompletion(cmd, "event", f.event.complete)
	setExitStatus(cmd, exitStatus{Failed: ExitFailed, Usage: ExitUsage, Table: []exitMeaning{
		{ExitOK, "it was sampled, whatever became of the command"},
		{ExitFailed, "nothing could be sampled, or the command could not be started"},
		{ExitUsage, "the command line is wrong"},
		{ExitClockChanged, "the kernel changed its clocksource under the run"},
	}})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.command = args
		ctx, stop := untilSignal(cmd.Context())
		defer stop()
		return f.run(ctx, env)
	}
	return cmd
}

// plan checks the flags and returns what to profile.
func (f *benchProfileFlags) plan() (profilePlan, error) {
	in := report.ProfileInputs{
		All: f.all, PIDs: f.pids, Command: f.command, Event: f.event.String(), Frequency: f.frequency,
		Chains: f.folded != "", PerCPU: f.perCPU, Top: f.top, Folded: f.folded,
	}
	switch {
	case f.duration < 0 || f.duration > mostProfile:
		return profilePlan{}, usagef("--duration %v: want a time above 0 and up to %v", f.duration, mostProfile)
	case len(f.pids) > 0 && len(f.command) > 0:
		return profilePlan{}, usagef("--pid and a command: want one of the two")
	case f.frequency < 1:
		return profilePlan{}, usagef("--frequency %d: want 1 or more samples a second", f.frequency)
	case f.folded == "-":
		return profilePlan{}, usagef("--folded -: want a file, since the result goes to standard output")
	}
	if len(f.command) == 0 {
		in.All = f.all || len(f.pids) == 0
		if f.duration == 0 {
			f.duration = defaultProfile
		}
	}
	in.Duration = f.duration.Seconds()
	plan := profilePlan{inputs: in, child: len(f.command) > 0}
	if len(f.pids) > 0 && f.all {
		return plan, usagef("--all and --pid: want one of the two")
	}
	if err := plan.config().Validate(); err != nil {
		return plan, &usageError{err: err}
	}
	return plan, nil
}

func (f *benchProfileFlags) run(ctx context.Context, env *Env) error {
	plan, err := f.plan()
	if err != nil {
		return err
	}
	s := f.snapshot()
	var command *profiledCommand
	if len(f.command) > 0 {
		if command, err = holdCommand(env, f.command); err != nil {
			return fmt.Errorf("bench profile: %w", err)
		}
		if !plan.inputs.All {
			plan.inputs.PIDs = []int{command.pid()}
		}
	}
	p, err := f.profiler.start(plan)
	if err != nil {
		command.drop()
		return fmt.Errorf("bench profile: %w", err)
	}
	if err := command.release(); err != nil {
		p.close()
		return fmt.Errorf("bench profile: %w", err)
	}
	ended := f.wait(ctx, p, command)
	doc, err := p.stop()
	command.finish(ended == report.BenchSignal)
	if err != nil {
		return fmt.Errorf("bench profile: %w", err)
	}
	doc.CPUModel, doc.Kernel = s.CPU.Model, s.Kernel.Release
	if doc.Ended == "" {
		doc.Ended = ended
	}
	doc.Command = command.outcome()
	shown := f.write(env, doc)
	if f.folded != "" {
		// A profile that a signal ended is whole, and so is its file.
		shown = errors.Join(shown, writeOutput(context.WithoutCancel(ctx), env, "folded stacks ", f.folded, p.folded))
	}
	if shown != nil {
		return shown
	}
	if doc.Ended == report.BenchChanged {
		return &ExitError{Code: ExitClockChanged}
	}
	return nil
}

// wait waits for the end of the profile and says how it ended.
func (f *benchProfileFlags) wait(ctx context.Context, p *profiling, command *profiledCommand) string {
	var over <-chan time.Time
	if f.duration > 0 {
		t := time.NewTimer(f.duration)
		defer t.Stop()
		over = t.C
	}
	ended := p.session.Ended()
	if command != nil {
		ended = nil // its own end tells more
	}
	select {
	case <-ctx.Done():
		return report.BenchSignal
	case <-over:
		return report.BenchDone
	case <-ended:
		return report.ProfileProcesses
	case <-command.done():
		return report.ProfileCommand
	}
}

func (f *benchProfileFlags) write(env *Env, doc *report.ProfileBench) error {
	switch f.format.String() {
	case "json":
		return report.ProfileBenchJSON(env.Stdout, doc)
	case "csv":
		return report.ProfileBenchCSV(env.Stdout, doc)
	}
	return report.ProfileBenchText(env.Stdout, doc, textOptions(env))
}
