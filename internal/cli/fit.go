package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/burst"
	"github.com/cswatch/cswatch/internal/report"
)

// fitFlags are the flags of one fit.
type fitFlags struct {
	rate        float64
	width, cpus int
	delay       time.Duration
	plot        string
	format      *choice
}

func newFitCommand(env *Env) *cobra.Command {
	var flags fitFlags
	cmd := &cobra.Command{
		Use:     "fit COUNTS.csv",
		GroupID: groupExperiment,
		Short:   "Tell from counted boots how many retries are right",
		Long: "fit takes how many boots were made with how many retries and how many of them ended with an unstable TSC,\n" +
			"fits a model of episodes of slow reads, and says how many retries a wanted rate needs, with intervals, whether\n" +
			"another design is the better cure, and which further boots would tell more. Each row is also predicted from the\n" +
			"others. Where the counts carry no conclusion it says why, and the exit code is 1.\n\n" +
			"Rows are \"retries,boots,unstable\" or \"retries,boots,unstable,cpus\"; a header may stand first, # begins a\n" +
			"comment, and rows with the same retries are added up. - is standard input.",
		Example: "  cswatch fit counts.csv\n  cswatch fit counts.csv --rate 0.01 --plot rates.svg\n" +
			"  cswatch fit counts.csv --cpus 8 --delay 61833ns --width 20\n  cswatch fit counts.csv --format json",
		Args: oneTable,
	}
	f := cmd.Flags()
	f.Float64Var(&flags.rate, "rate", burst.DefaultRate, "the wanted `share` of unstable boots")
	f.IntVar(&flags.width, "width", 0, "how wide the interval of the retries may be, for how many more boots that takes (default half of its width)")
	f.IntVar(&flags.cpus, "cpus", 0, "take the rows of machines with so many CPUs, and those that name none")
	f.DurationVar(&flags.delay, "delay", 0, "longest read-back delay in the kernel log, such as 61833ns, to tell which designs accept it")
	f.StringVar(&flags.plot, "plot", "", "draw the rates and the fit into this SVG `file`")
	flags.format = formatFlag(cmd, "text", "json")
	setExitStatus(cmd, exitStatus{Failed: ExitFailed, Usage: ExitUsage, Table: []exitMeaning{
		{ExitOK, "a conclusion was drawn"},
		{ExitFailed, "the counts carry no conclusion, or cannot be read"},
		{ExitUsage, "the command line is wrong"},
	}})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.check(cmd.Flags().Changed); err != nil {
			return err
		}
		return runFit(cmd.Context(), env, args[0], &flags)
	}
	return cmd
}

func oneTable(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("fit needs one table of counts, got %d arguments; - is standard input", len(args))
	}
	return nil
}

func (f *fitFlags) check(given func(string) bool) error {
	switch {
	case !(f.rate > 0 && f.rate < 1):
		return usagef("--rate %v: want a share between 0 and 1, such as 0.001", f.rate)
	case f.width < 0 || f.width == 0 && given("width") || f.width > burst.MaxRetries:
		return usagef("--width %d: want 1 to %d retries", f.width, burst.MaxRetries)
	case f.cpus < 0 || f.cpus == 0 && given("cpus") || f.cpus > 1<<20:
		return usagef("--cpus %d: want 1 to %d", f.cpus, 1<<20)
	case f.delay < 0 || f.delay == 0 && given("delay"):
		return usagef("--delay %v: want a time above 0", f.delay)
	case f.plot == "-":
		return usagef("--plot needs a file: standard output has the result")
	}
	return nil
}

func runFit(ctx context.Context, env *Env, name string, flags *fitFlags) error {
	rows, err := readCounts(env, name)
	if err != nil {
		return err
	}
	if rows, err = ofCPUs(rows, flags.cpus); err != nil {
		return err
	}
	doc := report.Fit{Inputs: report.FitInputs{
		File: name, Rate: flags.rate, Width: flags.width, CPUs: flags.cpus, Delay: clocksource.Nanos(flags.delay.Nanoseconds()),
	}}
	doc.Result, err = burst.Examine(rows, burst.Options{Rate: flags.rate, Width: flags.width, CPUs: flags.cpus, Delay: doc.Inputs.Delay})
	if err != nil {
		return fmt.Errorf("fit %s: %w", name, err)
	}
	if flags.plot != "" {
		if err := writePlot(ctx, env, flags.plot, &doc); err != nil {
			return err
		}
	}
	if flags.format.String() == "json" {
		err = report.FitJSON(env.Stdout, &doc)
	} else {
		err = report.FitText(env.Stdout, &doc, textOptions(env))
	}
	if rec := &doc.Recommendation; err == nil && !rec.Concluded {
		err = fmt.Errorf("fit %s: the counts carry no conclusion (%s)", name, rec.Problems[0].Code)
	}
	return err
}

func writePlot(ctx context.Context, env *Env, name string, doc *report.Fit) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	return writeOutput(ctx, env, "plot ", name, func(w io.Writer) error { return report.FitChart(doc).SVG(w) })
}

func readCounts(env *Env, name string) ([]burst.Row, error) {
	if name == "-" {
		return burst.Parse("standard input", env.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the counts: %w", err)
	}
	defer f.Close()
	return burst.Parse(name, f)
}

// ofCPUs takes the rows of machines with so many CPUs. Without a number there
// must be only one: rows of different machines have no common rate.
func ofCPUs(rows []burst.Row, cpus int) ([]burst.Row, error) {
	all := burst.CPUs(rows)
	if cpus == 0 {
		if len(all) > 1 {
			return nil, usagef("the rows are of machines with %s CPUs, whose rates need not be the same: choose one with --cpus", report.Either(numbers(all)))
		}
		return rows, nil
	}
	rows = slices.DeleteFunc(rows, func(r burst.Row) bool { return r.CPUs != 0 && r.CPUs != cpus })
	if len(rows) == 0 {
		return nil, usagef("--cpus %d: no row is of such a machine; there are rows with %s CPUs", cpus, report.Either(numbers(all)))
	}
	return rows, nil
}

func numbers(all []int) []string {
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = fmt.Sprint(n)
	}
	return words
}
