package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/trace"
)

func newTraceCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "trace",
		GroupID: groupWatch,
		Short:   "Check and convert recordings of read-backs",
		Long:    "trace looks after recordings of read-backs, which cswatch replay shows to the watchdog of any kernel.",
	}
	cmd.AddCommand(newTraceVerifyCommand(env), newTraceConvertCommand(env))
	return cmd
}

func newTraceVerifyCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Say what a recording holds, whether it is whole, and which eras it answers",
		Long: "verify reads a recording to its end, replays it through every era and says of which the answers are exact.\n" +
			"- is standard input.",
		Example: "  cswatch trace verify boot.trace",
		Args:    oneFile,
	}
	format := formatFlag(cmd, "text", "json")
	setExitStatus(cmd, exitStatus{Failed: ExitFailed, Usage: ExitUsage, Table: []exitMeaning{
		{ExitOK, "the recording is whole"},
		{ExitFailed, "it is damaged, or could not be read"},
		{ExitUsage, "the command line or the configuration file is wrong"},
	}})
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return runTraceVerify(env, args[0], format.String() == "json")
	}
	return cmd
}

func runTraceVerify(env *Env, name string, asJSON bool) error {
	plan, err := planReplay([]string{"all"}, nil)
	if err != nil {
		return err
	}
	plan.named = false // what an era cannot watch is left out, with a note
	in, err := openRecording(env, name)
	if err != nil {
		return err
	}
	defer in.Close()
	v := report.Verification{File: name}
	v.Recording, v.Eras, err = plan.replay(env, in, func(*report.Tick) error { return nil })
	if err != nil {
		err = fmt.Errorf("verify %s: %w", name, err)
		if v.Recording.Form == "" { // not even its header could be read
			return err
		}
	}
	v.Whole = err == nil
	if asJSON {
		return errors.Join(report.VerificationJSON(env.Stdout, &v), err)
	}
	return errors.Join(report.VerificationText(env.Stdout, &v, textOptions(env)), err)
}

func newTraceConvertCommand(env *Env) *cobra.Command {
	var output string
	to := newChoice("", string(trace.JSONLines), string(trace.Binary))
	to.allowed = to.allowed[1:]
	cmd := &cobra.Command{
		Use:   "convert FILE -o OUT",
		Short: "Write a recording in its other form",
		Long: "convert writes a recording as JSON Lines, for people and scripts, or in the binary form, which is smaller and\n" +
			"has checksums. Both hold the same. Without --to the name decides: JSON Lines for OUT.jsonl, OUT.json and\n" +
			"standard output, and the binary form otherwise.\n\n" +
			"Of a damaged recording the good ticks are written; the exit code is then 1.",
		Example: "  cswatch trace convert boot.trace -o boot.jsonl\n  cswatch trace convert boot.trace -o - | head",
		Args:    oneFile,
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "the `file` to write; - is standard output")
	f.Var(to, "to", "form to write (default by the name)")
	registerCompletion(cmd, "to", to.complete)
	if err := cmd.MarkFlagRequired("output"); err != nil {
		panic(err) // only for a flag that does not exist
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return runTraceConvert(cmd.Context(), env, args[0], output, trace.Form(to.String()))
	}
	return cmd
}

func runTraceConvert(ctx context.Context, env *Env, name, output string, form trace.Form) error {
	if form == "" {
		form = formByName(output)
	}
	if output == "-" && form == trace.Binary && env.IsTerminal(env.Stdout) {
		return usagef("the binary form is not for a terminal: name a file with -o, or take --to jsonl")
	}
	in, err := openRecording(env, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if same, err := sameFile(in, output); err != nil {
		return err
	} else if same {
		return usagef("%s is the recording itself: write to another file", output)
	}
	var done trace.Report
	var damage error
	convert := func(w io.Writer) error {
		done, err = trace.Convert(w, form, in)
		if errors.Is(err, trace.ErrDamaged) && done.Form != "" {
			damage, err = err, nil // the good ticks are written all the same
		}
		return err
	}
	if err := writeOutput(ctx, env, "", output, convert); err != nil {
		return fmt.Errorf("convert %s: %w", name, err)
	}
	if err := env.stdoutErr(); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "cswatch: wrote %s\n", report.Converted(&done, form))
	if damage != nil {
		return fmt.Errorf("convert %s: %w", name, damage)
	}
	return nil
}

// formByName is the form that a file's name asks for.
func formByName(name string) trace.Form {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".jsonl", ".json":
		return trace.JSONLines
	}
	if name == "-" {
		return trace.JSONLines
	}
	return trace.Binary
}

// sameFile reports whether a name leads to the file that is being read.
func sameFile(in io.Reader, name string) (bool, error) {
	f, ok := in.(*os.File)
	if !ok || name == "-" {
		return false, nil
	}
	a, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("look at the recording: %w", err)
	}
	b, err := os.Stat(name)
	return err == nil && a.Mode().IsRegular() && os.SameFile(a, b), nil
}
