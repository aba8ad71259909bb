package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/loopback"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// benchNetFlags are the flags of cswatch bench net.
type benchNetFlags struct {
	tests                []string
	pin                  string
	size                 string
	flows                int
	round                time.Duration
	width                float64
	duration             time.Duration
	sources              []string // to switch to
	switches, acceptLoss bool
	// What is looked at behind the rounds.
	profile, model, countReads bool
	format                     *choice

	// Tests have their own of these.
	measure  func(context.Context, loopback.Plan) (loopback.Outcome, error)
	allowed  func() ([]int, error) // CPUs
	risk     func(*machine.Snapshot) guard
	snapshot func() *machine.Snapshot
	current  func() string // the clocksource, "" if not known
	switcher
	netLooks
}

func newBenchNetCommand(env *Env) *cobra.Command {
	f := benchNetFlags{measure: loopback.Run, allowed: hw.AllowedCPUs, risk: riskHere, snapshot: snapshotHere, current: hw.CurrentClocksource, switcher: switcherHere(), netLooks: netLooksHere()}
	cmd := &cobra.Command{
		Use:   "net",
		Short: "Measure TCP over loopback, which reads the clock for every segment",
		Long: "net measures TCP over the loopback interface as netperf's TCP_STREAM, TCP_RR and TCP_CRR do: a stream, requests\n" +
			"and answers over one connection, and with a connection each. The kernel reads its clock for every segment that is\n" +
			"sent and received, so that a slow clocksource shows. Rounds go on until the 95 % intervals are narrow or the time\n" +
			"is up; the result says what the tests took of the CPUs and how many segments they sent. With --switch the rounds go\n" +
			"through the clocksources that the kernel offers and back; the first one is given back.",
		Example: "  cswatch bench net\n  cswatch bench net --switch --test stream\n  cswatch bench net --test rr,crr --width 1 --duration 1m\n" +
			"  cswatch bench net --test stream --size 64K --flows 4 --pin 2,3\n  cswatch bench net --format gobench > before.txt",
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.tests, "test", nil, "measure only these: stream, rr, crr (default all of them)")
	fl.StringVar(&f.pin, "pin", "", "CPUs of client and server, such as 1,0 (default the second of those that it may use, and the first)")
	fl.StringVar(&f.size, "size", "", "size of a message in bytes, or such as 64K or 1M (default 128K in a stream, and otherwise 1)")
	fl.IntVar(&f.flows, "flows", 1, "connections at once, each with a thread on either side")
	fl.DurationVar(&f.round, "round", time.Second, "length of a round, besides its warm-up of a fifth")
	fl.Float64Var(&f.width, "width", 2.5, "measure until each 95 % interval reaches no farther than so many per cent to either side")
	fl.DurationVar(&f.duration, "duration", 30*time.Second, "most time for each test")
	switchFlag(cmd, &f.sources)
	fl.BoolVar(&f.profile, "profile", false, "look at the CPUs during one more window of each test, and show what they do as bench profile would")
	fl.BoolVar(&f.model, "model", false, "measure what a read of the clock takes, and how often a stream reads it, and compute what that should cost the stream")
	fl.BoolVar(&f.countReads, "count-reads", false, "with --model, count the kernel's clock reads by probes in its code; as root, and not in an emulator, where kernels were seen to crash over it")
	fl.BoolVar(&f.acceptLoss, acceptLoss, false, "switch, and measure also where the clock is an hpet or acpi_pm, the load of which can make a kernel give up its TSC; the kernel's log is followed, and its first complaint ends the run")
	f.format = formatFlag(cmd, "text", "json", "csv", "gobench")
	registerCompletion(cmd, "test", cobra.FixedCompletions([]cobra.Completion{"stream", "rr", "crr"}, cobra.ShellCompDirectiveNoFileComp))
	benchmark(cmd, env, &f.switches, f.run)
	return cmd
}

func (f *benchNetFlags) run(ctx context.Context, env *Env) error {
	doc := &report.NetBench{Inputs: report.NetBenchInputs{
		Tests: f.tests, Flows: f.flows, Round: f.round.Seconds(), Width: f.width / 100, Duration: f.duration.Seconds(), AcceptLosingTSC: f.acceptLoss,
		Switch: f.switches, Sources: namedSources(f.sources), Profile: f.profile, Model: f.model, Count: f.countReads,
	}}
	plan, err := f.plan(doc)
	if err != nil {
		return err
	}
	s := f.snapshot()
	risk := f.risk(s)
	doc.CPUModel, doc.Kernel = s.CPU.Model, s.Kernel.Release
	doc.LatencyCanCondemn, doc.LatencyWhy = risk.answer, risk.why
	if f.switches {
		doc.Switching, err = f.during(ctx, env, switchWish{sources: namedSources(f.sources), risk: risk, accept: f.acceptLoss},
			func(ctx context.Context, sources []string, choose chooser) error {
				return f.among(ctx, doc, plan, sources, choose)
			})
	} else {
		err = f.alone(ctx, env, doc, plan, s.Clocksource.Current, risk)
	}
	if doc.Plan.Pin == nil {
		return err // nothing was measured
	}
	if doc.Ended = endOf(ctx, err); errors.Is(err, loopback.ErrChanged) && doc.Ended != report.BenchCondemned {
		doc.Ended = report.BenchChanged
	}
	err = outcome("bench net", doc.Ended, err)
	if shown := f.write(env, doc); shown != nil {
		return errors.Join(shown, err)
	}
	return err
}

// among measures under several clocksources, without those that the kernel does not take.
func (f *benchNetFlags) among(ctx context.Context, doc *report.NetBench, plan loopback.Plan, sources []string, choose chooser) (err error) {
	for _, name := range sources {
		taken, err := choose.taken(name)
		if err != nil {
			return err
		}
		if taken {
			plan.Sources = append(plan.Sources, name)
		}
	}
	if len(plan.Sources) == 0 {
		return errors.New("bench net: the kernel took none of the clocksources that were asked for")
	}
	if err := choose(plan.Sources[0]); err != nil {
		return err
	}
	plan.Select = func(_ context.Context, name string) error { return choose(name) }
	doc.Outcome, err = f.measure(ctx, plan)
	if err != nil || !f.looks() {
		return err
	}
	return f.look(ctx, doc, plan.Sources, choose)
}

// alone measures under the current clocksource. Where it is one that the traffic would load, and that can cost
// the TSC, that must have been accepted; the kernel's log is followed then, and its first complaint ends the measuring.
func (f *benchNetFlags) alone(ctx context.Context, env *Env, doc *report.NetBench, plan loopback.Plan, current string, risk guard) error {
	if err := f.tidy(env); err != nil {
		fmt.Fprintln(env.Stderr, "cswatch:", err)
	}
	measure := func(ctx context.Context) (err error) {
		doc.Outcome, err = f.measure(ctx, plan)
		if err != nil || !f.looks() {
			return err
		}
		return f.look(ctx, doc, []string{current}, nil)
	}
	if risk.answer == machine.No || !slices.Contains([]string{"", hw.HPET, hw.ACPIPM}, current) {
		return measure(ctx)
	}
	if !f.acceptLoss {
		return fmt.Errorf("bench net: every segment would read the clocksource, %s, and such a load %s cost this machine its TSC until it is booted anew: %s; accept that with --%s",
			cmp.Or(current, "which is not known and may be a slow one"), risk.can(), risk.why, acceptLoss)
	}
	return underLog(ctx, f.follow, measure)
}

// plan says what to measure, and notes in the document what was asked.
func (f *benchNetFlags) plan(doc *report.NetBench) (loopback.Plan, error) {
	p := loopback.Plan{Flows: f.flows, Round: f.round, WarmUp: f.round / 5, Most: f.duration, Width: f.width / 100}
	for _, name := range f.tests {
		p.Tests = append(p.Tests, loopback.Test(name))
	}
	if f.size != "" {
		size, err := byteSize(f.size)
		if err != nil {
			return p, usagef("--size %s: %v", f.size, err)
		}
		p.Size, doc.Inputs.Size = size, size
	}
	cpus, err := f.allowed()
	if err != nil {
		return p, err
	}
	if f.pin != "" {
		if doc.Inputs.Pin, err = pinned(f.pin, cpus); err != nil {
			return p, usagef("--pin %s: %v", f.pin, err)
		}
		p.Pin = &loopback.Placement{Client: doc.Inputs.Pin[0], Server: doc.Inputs.Pin[1]}
	}
	streams := len(p.Tests) == 0 || slices.Contains(p.Tests, loopback.Stream)
	format := f.format.String()
	switch {
	case f.countReads && !f.model:
		return p, usagef("--count-reads is part of --model: want both")
	case f.model && !streams:
		return p, usagef("--model is of a stream: want the test stream among --test")
	case f.looks() && format != "text" && format != "json":
		return p, usagef("--profile, --model: --format %s has no place for it, want text or json", format)
	case f.round < leastRound || f.round > loopback.MostRound:
		return p, usagef("--round %v: want %v to %v", f.round, leastRound, loopback.MostRound)
	case f.duration <= 0 || f.duration > loopback.MostTime:
		return p, usagef("--duration %v: want a time above 0 and up to %v", f.duration, loopback.MostTime)
	case !(f.width > 0 && f.width < 100):
		return p, usagef("--width %v: want per cent above 0 and below 100", f.width)
	case f.flows < 1:
		return p, usagef("--flows %d: want 1 to %d", f.flows, loopback.MaxFlows)
	}
	if err := p.Validate(); err != nil {
		return p, &usageError{err: err}
	}
	return p, nil
}

// leastRound is long enough for something to come, and far above the time that samples take.
const leastRound = 10 * time.Millisecond

// pinned reads the CPUs of client and server, which may be one.
func pinned(text string, allowed []int) ([]int, error) {
	var pair []int
	for word := range strings.SplitSeq(text, ",") {
		cpu, err := strconv.ParseUint(strings.TrimSpace(word), 10, 16)
		if err != nil || cpu > mostCPU {
			return nil, fmt.Errorf("%q is no CPU, want two such as 1,0 and at most %d", word, mostCPU)
		}
		if !slices.Contains(allowed, int(cpu)) {
			return nil, fmt.Errorf("this process may not use CPU %d, only %v", cpu, allowed)
		}
		pair = append(pair, int(cpu))
	}
	if len(pair) != 2 {
		return nil, errors.New("want two CPUs, of client and server, such as 1,0")
	}
	return pair, nil
}

// byteSize reads a number of bytes, such as "1400", "64K" or "1M".
func byteSize(text string) (int, error) {
	digits, unit := strings.TrimRight(text, "KM"), 1
	switch text[len(digits):] {
	case "":
	case "K":
		unit = 1 << 10
	case "M":
		unit = 1 << 20
	default:
		digits = ""
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n < 1 || n > uint64(loopback.MaxSize/unit) {
		return 0, fmt.Errorf("want bytes, or such as 64K or 1M, from 1 to %dM", loopback.MaxSize>>20)
	}
	return int(n) * unit, nil
}

func (f *benchNetFlags) write(env *Env, doc *report.NetBench) error {
	switch f.format.String() {
	case "json":
		return report.NetBenchJSON(env.Stdout, doc)
	case "csv":
		return report.NetBenchCSV(env.Stdout, doc)
	case "gobench":
		return report.NetBenchGo(env.Stdout, doc)
	}
	if err := report.NetBenchText(env.Stdout, doc, textOptions(env)); err != nil {
		return fmt.Errorf("bench net: %w", err)
	}
	return nil
}
