package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/report"
)

// benchModelFlags are the flags of cswatch bench model.
type benchModelFlags struct {
	fast, slow, share, reads, read, slowRead, segment *quantity
	clocks                                            []string
	to                                                string
	together                                          int
	format                                            *choice
}

func newBenchModelCommand(env *Env) *cobra.Command {
	f := benchModelFlags{
		fast: rateQuantity(), slow: rateQuantity(), share: shareQuantity(), reads: numberQuantity(),
		read: timeQuantity(), slowRead: timeQuantity(), segment: sizeQuantity("64KiB"),
	}
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Compute what a clocksource costs a transfer, without measuring",
		Long: "model computes what reading the clock costs a transfer: ns per read times reads per segment. From two\n" +
			"throughputs (--fast, --slow) it tells what the reads must have cost, also by their --share of the time of the\n" +
			"busy CPU, and whether the two agree. From one throughput, the --reads per segment and the price of a read under\n" +
			"both clocksources it predicts the throughput under the slow one. The prices can come from documents of\n" +
			"bench clock. The arithmetic is shown line by line. Nothing is measured.",
		Example: "  cswatch bench model --fast 13Gbit --slow 1.6Gbit --share 84.7% --segment 64KiB\n" +
			"  cswatch bench model --fast 13Gbit --read-cost 20ns --slow-read-cost 1.4us --reads 12\n" +
			"  cswatch bench model --fast 13Gbit --reads 10..14 --clock tsc.json --clock hpet.json",
		Args: cobra.NoArgs,
	}
	fl := cmd.Flags()
	fl.Var(f.fast, "fast", "the throughput under the fast clocksource, such as 13Gbit; as all of these also a range, such as 12.5Gbit..13.5Gbit")
	fl.Var(f.slow, "slow", "the throughput under the slow clocksource")
	fl.Var(f.share, "share", "the share of the busy CPU's time in the read under the slow clocksource, such as 84.7%")
	fl.Var(f.reads, "reads", "reads of the clock per segment, on the CPU that limits the transfer")
	fl.Var(f.read, "read-cost", "what one read inside the kernel takes under the fast clocksource, such as 20ns")
	fl.Var(f.slowRead, "slow-read-cost", "the same under the slow clocksource, such as 1.4us")
	fl.Var(f.segment, "segment", "bytes per segment: the unit of which --reads counts the reads")
	fl.StringArrayVar(&f.clocks, "clock", nil, "a `FILE` of bench clock --format json with the prices: one under the fast clocksource and one under the slow one, or one with --to")
	fl.StringVar(&f.to, "to", "", "with one --clock: the slow clocksource in it, such as hpet, by bench clock --switch or else read directly as a counter")
	fl.IntVar(&f.together, "together", 1, "with --clock: take prices while so many CPUs read at once")
	registerCompletion(cmd, "to", cobra.FixedCompletions([]cobra.Completion{hw.HPET, hw.ACPIPM}, cobra.ShellCompDirectiveNoFileComp))
	f.format = formatFlag(cmd, "text", "json")
	setExitStatus(cmd, exitStatus{Failed: ExitFailed, Usage: ExitUsage, Table: []exitMeaning{
		{ExitOK, "it was computed"},
		{ExitFailed, "the numbers cannot be, or a document cannot be read or lacks a price"},
		{ExitUsage, "the command line is wrong"},
	}})
	cmd.RunE = func(*cobra.Command, []string) error { return f.run(env) }
	return cmd
}

func (f *benchModelFlags) run(env *Env) error {
	if err := f.check(); err != nil {
		return err
	}
	in := report.ModelInputs{
		Fast: f.fast.value, Slow: f.slow.asked(), SegmentBytes: f.segment.value.Value, Share: f.share.asked(),
		Reads: f.reads.asked(), Read: f.read.asked(), SlowRead: f.slowRead.asked(),
		ClockFiles: f.clocks, SlowClocksource: f.to,
	}
	if err := f.prices(env, &in); err != nil {
		return fmt.Errorf("bench model: %w", err)
	}
	doc, err := report.NewModelBench(in)
	if err != nil {
		return fmt.Errorf("bench model: %w", err)
	}
	if f.format.String() == "json" {
		return report.ModelBenchJSON(env.Stdout, doc)
	}
	return report.ModelBenchText(env.Stdout, doc, textOptions(env))
}

func (f *benchModelFlags) check() error {
	forward := f.reads.given && (len(f.clocks) > 0 || f.read.given && f.slowRead.given)
	switch {
	case !f.fast.given:
		return usagef("--fast is missing: the throughput under the fast clocksource, such as --fast 13Gbit")
	case !f.slow.given && !forward:
		return usagef("want --slow, the other throughput, or what predicts it: --reads, --read-cost and --slow-read-cost, or --reads and --clock")
	case f.share.given && !f.slow.given:
		return usagef("--share is of the time under the slow clocksource: want --slow with it")
	case len(f.clocks) > 2:
		return usagef("--clock was given %d times: want one document under the fast clocksource and one under the slow one", len(f.clocks))
	case len(f.clocks) == 1 && f.to == "" && !f.slowRead.given:
		return usagef("one --clock tells the fast price alone: want another one under the slow clocksource, --to hpet, or --slow-read-cost")
	case f.to != "" && len(f.clocks) != 1:
		return usagef("--to is of the document of one --clock, and %d were given", len(f.clocks))
	case f.to != "" && f.slowRead.given, len(f.clocks) == 2 && f.slowRead.given:
		return usagef("--slow-read-cost and documents tell the same price: want one of the two")
	case f.together < 1 || f.together > mostCPU:
		return usagef("--together %d: want 1 to %d CPUs", f.together, mostCPU)
	case f.together > 1 && len(f.clocks) == 0:
		return usagef("--together is of the document of --clock, and none was given")
	}
	return nil
}

// prices takes the prices that were not given from the documents.
func (f *benchModelFlags) prices(env *Env, in *report.ModelInputs) error {
	if len(f.clocks) == 0 {
		return nil
	}
	in.ClockCPUs = f.together
	var docs []*report.ClockBench
	for _, name := range f.clocks {
		d, err := readClockBench(env, name)
		if err != nil {
			return err
		}
		docs = append(docs, d)
	}
	fast := report.ReadPrice{From: "as given"}
	if in.Read == nil {
		var err error
		if fast, err = report.FastPrice(docs[0], f.together); err != nil {
			return fmt.Errorf("%s: %w", f.clocks[0], err)
		}
		in.Read = &fast.NS
	}
	fast.NS = *in.Read
	slow := report.ReadPrice{From: "as given"}
	switch {
	case in.SlowRead != nil:
		slow.NS = *in.SlowRead
	case f.to != "" && !docs[0].MeasuredUnder(f.to):
		var err error
		if slow, err = report.CounterPrice(docs[0], f.to); err != nil {
			return fmt.Errorf("%s: %w", f.clocks[0], err)
		}
	default:
		other, name := docs[len(docs)-1], f.to
		if name == "" {
			name = other.Clocksource
		}
		var err error
		if slow, err = report.SlowPrice(other, name, docs[0], fast, f.together); err != nil {
			return err
		}
	}
	in.SlowRead = &slow.NS
	in.ReadFrom, in.SlowReadFrom = fast.From, slow.From
	return nil
}

// maxClockBench bounds a document of bench clock: that of a thousand CPUs has some MiB.
const maxClockBench = 64 << 20

func readClockBench(env *Env, name string) (*report.ClockBench, error) {
	var r io.Reader = env.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("open a document of bench clock: %w", err)
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, maxClockBench+1))
	if err == nil && len(b) > maxClockBench {
		err = fmt.Errorf("more than %d bytes", maxClockBench)
	}
	var d report.ClockBench
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: want the output of cswatch bench clock --format json", name, err)
	}
	if d.Schema != report.ClockBenchSchema {
		return nil, fmt.Errorf("read %s: its schema is %q: want %s, the output of cswatch bench clock --format json", name, d.Schema, report.ClockBenchSchema)
	}
	return &d, nil
}
