package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/store"
	"github.com/cswatch/cswatch/internal/trial"
)

func newTrialCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "trial",
		GroupID: groupExperiment,
		Short:   "Boot real kernels in QEMU by the hundred, and count what they say of their TSC",
		Long: "trial carries out campaigns of boots: real kernels in QEMU, unattended, with read delays and TSC faults that\n" +
			"are programmed from outside, or simulated machines from the same plan. A campaign is a folder; whatever stops\n" +
			"it, nothing that was finished is lost, and no trial counts twice.",
	}
	cmd.AddCommand(newTrialRunCommand(env), newTrialResumeCommand(env), newTrialStatusCommand(env), newTrialReportCommand(env),
		newTrialCompareCommand(env), newTrialVerifyCommand(env))
	return cmd
}

// planName is the name of the plan in a campaign's folder.
const planName = "plan.toml"

// oneFolder wants the folder of a campaign.
func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s wants the folder of one campaign", cmd.CommandPath())
	}
	return nil
}

// keptCampaign reads what is in the folder of a campaign, also while it runs.
func keptCampaign(dir string) (*report.Campaign, error) {
	s, err := store.Read(dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return campaignOf(s, store.Running(dir))
}

// campaignOf makes a report of a campaign, which somebody else may be carrying out.
func campaignOf(s *store.Store, running bool) (*report.Campaign, error) {
	plan, err := campaign.ReadPlan(bytes.NewReader(s.Plan()))
	if err != nil {
		return nil, err
	}
	results, err := trial.Results(s)
	if err != nil {
		return nil, err
	}
	known := campaign.KnownOf(results)
	pending, err := plan.Next(known)
	if err != nil {
		return nil, err
	}
	return report.CampaignOf(plan, results, plan.Edges(known), running, len(pending))
}

func newTrialStatusCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status DIR",
		Short:   "Say how far a campaign is",
		Long:    "status counts the trials of a campaign that are over, and those that are missing. It may run at any time.",
		Example: "  cswatch trial status campaign",
		Args:    oneFolder,
	}
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		c, err := keptCampaign(args[0])
		if err != nil {
			return err
		}
		if format.String() == "json" {
			return report.StatusJSON(env.Stdout, c)
		}
		return report.StatusText(env.Stdout, c, textOptions(env))
	}
	return cmd
}

func newTrialReportCommand(env *Env) *cobra.Command {
	var plot, machine string
	var exact bool
	var series int
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Show what the trials of a campaign came to",
		Long: "report counts the trials of a campaign by cell, with intervals, the trend over the values of a parameter, the\n" +
			"delays that the kernels really measured, and what each search found. It may run at any time.\n\n" +
			"The rate is that of the unstable boots among those that were decided. Boots that came to no verdict, hung or\n" +
			"were lost are shown beside it, and never count as stable.",
		Example: "  cswatch trial report campaign\n" +
			"  cswatch trial report campaign --format csv --series 1 | cswatch fit -\n" +
			"  cswatch trial report campaign --plot rates.svg\n" +
			"  cswatch trial report campaign --machine measured.txt",
		Args: oneFolder,
	}
	cmd.Flags().StringVar(&plot, "plot", "", "draw the rates, or what searches found, to the SVG `FILE`")
	cmd.Flags().StringVar(&machine, "machine", "", "write a simulated machine to `FILE` whose read-backs are delayed as those of this campaign were measured")
	bounds := newChoice("estimate", "low", "high")
	cmd.Flags().Var(bounds, "bound", "with --machine: the estimates, or the ends of their intervals that make delays rarest, or most frequent")
	registerCompletion(cmd, "bound", bounds.complete)
	cmd.Flags().IntVar(&series, "series", 0, "with --format csv: only the cells of the series of this number, as the report lists them; what cswatch fit wants")
	cmd.Flags().BoolVar(&exact, "exact", false, "show exact intervals (Clopper-Pearson) instead of Wilson's")
	format := formatFlag(cmd, "text", "json", "csv")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := store.Read(args[0])
		if err != nil {
			return err
		}
		defer s.Close()
		if machine != "" {
			if err := writeMeasured(cmd.Context(), env, s, machine, bounds.String()); err != nil {
				return err
			}
		}
		c, err := campaignOf(s, store.Running(args[0]))
		if err != nil {
			return err
		}
		switch {
		case series == 0:
			err = writeTrialReport(env, c, format.String(), exact)
		case format.String() != "csv":
			return usagef("--series goes with --format csv")
		case series < 0 || series > len(c.Series):
			return usagef("--series %d: the campaign has %d", series, len(c.Series))
		default:
			err = report.TrialSeriesCSV(env.Stdout, c, series-1)
		}
		if err != nil || plot == "" {
			return err
		}
		return writeOutput(cmd.Context(), env, "plot ", plot, report.TrialPlot(c).SVG)
	}
	return cmd
}

// writeMeasured writes a machine with the delays that a campaign measured.
func writeMeasured(ctx context.Context, env *Env, s *store.Store, name, bound string) error {
	plan, err := campaign.ReadPlan(bytes.NewReader(s.Plan()))
	if err != nil {
		return err
	}
	all, err := trial.Results(s)
	if err != nil {
		return err
	}
	delayed := slices.DeleteFunc(all, func(r *campaign.Result) bool { return r.Trial.Cell.Delay.None() })
	text, err := trial.Measured("qemu-skylake", delayed, time.Duration(plan.Window), map[string]trial.Bound{"low": trial.Least, "high": trial.Most}[bound])
	if err != nil {
		return err
	}
	return writeOutput(ctx, env, "machine ", name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func writeTrialReport(env *Env, c *report.Campaign, format string, exact bool) error {
	switch format {
	case "json":
		return report.TrialJSON(env.Stdout, c)
	case "csv":
		return report.TrialCSV(env.Stdout, c)
	}
	return report.TrialText(env.Stdout, c, report.TrialOptions{TextOptions: textOptions(env), Exact: exact})
}

func newTrialCompareCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare DIR [DIR]",
		Short: "Compare the cells of a campaign, or the same cells of two",
		Long: "compare shows the difference of the rates of any two cells that differ in one thing, with its interval and the\n" +
			"mid-p value of Fisher's test. Of two campaigns it compares the cells that both have, such as those that were\n" +
			"predicted by simulation and those that were observed.",
		Example: "  cswatch trial compare campaign\n" +
			"  cswatch trial compare predicted observed",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("%s wants the folders of one campaign or of two", cmd.CommandPath())
			}
			return nil
		},
	}
	var cells []string
	cmd.Flags().StringArrayVar(&cells, "cells", nil, "compare the two cells `ID,ID`, as report --format json names them; may be given several times")
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		a, err := keptCampaign(args[0])
		if err != nil {
			return err
		}
		c, err := compared(a, args, cells)
		if err != nil {
			return err
		}
		if format.String() == "json" {
			return report.CompareJSON(env.Stdout, c)
		}
		return report.CompareText(env.Stdout, c, textOptions(env))
	}
	return cmd
}

// compared compares the cells of one campaign, or the same cells of two.
func compared(a *report.Campaign, args, cells []string) (*report.TrialComparisons, error) {
	if len(args) == 2 {
		if len(cells) > 0 {
			return nil, usagef("--cells compares cells of one campaign; of two, all that both have are compared")
		}
		b, err := keptCampaign(args[1])
		if err != nil {
			return nil, err
		}
		return report.CompareCampaigns(a, b, args[0], args[1]), nil
	}
	var pairs [][2]string
	for _, text := range cells {
		first, second, ok := strings.Cut(text, ",")
		if !ok {
			return nil, usagef("--cells %q: want the ids of two cells with a comma between", text)
		}
		pairs = append(pairs, [2]string{first, second})
	}
	return report.CompareCells(a, args[0], pairs...)
}

func newTrialVerifyCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Check everything that a campaign has kept",
		Long: "verify holds every file of a campaign against its sum, the index against the trials, and judges each trial\n" +
			"again by its kernel log. It changes nothing.",
		Example: "  cswatch trial verify campaign",
		Args:    oneFolder,
	}
	setExitStatus(cmd, exitStatus{Failed: ExitFailed, Usage: ExitUsage, Table: []exitMeaning{
		{ExitOK, "everything is as it was written"},
		{ExitFailed, "something is not, or could not be read"},
		{ExitUsage, "the command line or the configuration file is wrong"},
	}})
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		checked := 0
		problems, err := store.Verify(args[0], func(_ string, raw json.RawMessage, file func(string) ([]byte, error)) error {
			checked++
			var r campaign.Result
			if err := json.Unmarshal(raw, &r); err != nil {
				return err
			}
			return trial.Recheck(&r, file)
		})
		if err != nil {
			return err
		}
		for _, p := range problems {
			fmt.Fprintln(env.Stdout, p)
		}
		fmt.Fprintf(env.Stdout, "%d trials judged again, %d problems\n", checked, len(problems))
		if len(problems) > 0 {
			return &ExitError{Code: ExitFailed, Err: errors.New("the campaign is not as it was written")}
		}
		return nil
	}
	return cmd
}
