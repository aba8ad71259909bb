package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// mostRetries bounds --retries: a watchdog that has to repeat a recorded
// read-back reads as often as it is told.
const mostRetries = 1000

func newReplayCommand(env *Env) *cobra.Command {
	var inputs report.ReplayInputs
	cmd := &cobra.Command{
		Use:     "replay TRACE",
		GroupID: groupWatch,
		Short:   "Show what the watchdog of any kernel would have made of a recording",
		Long: "replay runs the watchdogs of one or more eras over a recording of read-backs and shows side by side what\n" +
			"each would have decided. A recording answers exactly where it holds what the era would have read; every\n" +
			"other answer is marked approximate, with the reason. - is standard input.\n\n" +
			"Of a damaged recording everything before the damage is replayed; the exit code is then 1.",
		Example: "  cswatch replay boot.trace\n  cswatch replay boot.trace --era 5.15,6.1.78,7.1\n" +
			"  cswatch replay boot.trace --era E5 --retries 3,10,50\n  cswatch replay boot.trace --format jsonl > ticks.jsonl",
		Args: oneFile,
	}
	f := cmd.Flags()
	f.StringSliceVar(&inputs.Eras, "era", nil, "eras or kernel releases to replay, such as E5,5.15,LTS-6.1.78; all adds the long-term variants; also designs that were never merged, such as tip-forgive (default E0 to E12)")
	f.Var(wholes{&inputs.Retries, mostRetries}, "retries", "values of clocksource.max_cswd_read_retries to replay, for eras that have it (default that of each era)")
	registerCompletion(cmd, "era", completeEras)
	format := formatFlag(cmd, "text", "json", "jsonl")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		inputs.File = args[0]
		return runReplay(env, inputs, format.String())
	}
	return cmd
}

// oneFile takes exactly one argument.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s needs one recording, got %d arguments; - is standard input", strings.TrimPrefix(cmd.CommandPath(), "cswatch "), len(args))
	}
	return nil
}

func runReplay(env *Env, inputs report.ReplayInputs, format string) error {
	plan, err := planReplay(inputs.Eras, inputs.Retries)
	if err != nil {
		return err
	}
	for _, note := range plan.notes {
		fmt.Fprintf(env.Stderr, "cswatch: %s\n", note)
	}
	in, err := openRecording(env, inputs.File)
	if err != nil {
		return err
	}
	defer in.Close()
	doc := report.Replay{Inputs: inputs}
	var lines *report.TickWriter
	each := func(*report.Tick) error { return nil }
	if format == "jsonl" {
		lines = report.NewTickWriter(env.Stdout)
		each = lines.Tick
	}
	doc.Recording, doc.Columns, err = plan.replay(env, in, each)
	if err != nil && len(doc.Columns) == 0 {
		return fmt.Errorf("replay %s: %w", inputs.File, err)
	}
	var written error
	switch format {
	case "json":
		written = report.ReplayJSON(env.Stdout, &doc)
	case "jsonl":
		written = report.ReplaySummary(lines, &doc)
	default:
		written = report.ReplayText(env.Stdout, &doc, textOptions(env))
	}
	if err != nil {
		err = fmt.Errorf("replay %s: %w", inputs.File, err)
	} else if !doc.Recording.Ended {
		fmt.Fprintf(env.Stderr, "cswatch: replay %s: its recorder did not close it; there may have been more\n", inputs.File)
	}
	return errors.Join(written, err)
}

// openRecording opens a file, or standard input.
func openRecording(env *Env, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(env.Stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		remedy := "name a file that cswatch watch --record FILE wrote, or - for standard input"
		if errors.Is(err, os.ErrPermission) {
			remedy = "run as a user who may read it"
		}
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err // which need not name the file again
		}
		return nil, fmt.Errorf("open the recording %s: %w: %s", name, err, remedy)
	}
	return f, nil
}

// replayPlan is which watchdogs a recording is to be shown to.
type replayPlan struct {
	watches []plannedWatch
	named   bool     // by the user, who then wants to know what cannot be had
	notes   []string // what the user may not expect
}

type plannedWatch struct {
	profile watchdog.Profile
	release string // "" where the era was named
	retries int    // the parameter; negative for the era's own
}

// planReplay reads the flags. Where a release may have more than one era, all are replayed.
func planReplay(eras []string, retries []int) (replayPlan, error) {
	return planWatches(eras, retries, "replayed")
}

// planWatches reads --era and --retries of a command that shows watchdogs side by
// side; done says what it does with each.
func planWatches(eras []string, retries []int, done string) (replayPlan, error) {
	var plan replayPlan
	var unmoved []string
	add := func(p watchdog.Profile, release string) {
		values := slices.Clone(retries)
		if !p.RetriesParameter {
			if len(retries) > 0 && !slices.Contains(unmoved, string(p.Era)) {
				unmoved = append(unmoved, string(p.Era))
			}
			values = nil
		}
		if len(values) == 0 {
			values = []int{-1}
		}
		for _, n := range values {
			same := func(w plannedWatch) bool { return w.profile.Era == p.Era && w.release == release && w.retries == n }
			if !slices.ContainsFunc(plan.watches, same) {
				plan.watches = append(plan.watches, plannedWatch{p, release, n})
			}
		}
	}
	if plan.named = len(eras) > 0; !plan.named {
		for _, e := range watchdog.Eras() {
			if !strings.HasPrefix(string(e), "LTS-") {
				eras = append(eras, string(e))
			}
		}
	}
	for _, text := range eras {
		found, err := resolveEra(text)
		if err != nil {
			return plan, err
		}
		if len(found) > 1 && text != "all" {
			plan.notes = append(plan.notes, fmt.Sprintf("%s may have the watchdog of %s: each is %s", text, eraNames(found), done))
		}
		for _, c := range found {
			if p, ok := c.Profile(); ok {
				add(p, c.Release)
			}
		}
	}
	if len(unmoved) > 0 {
		plan.notes = append(plan.notes, fmt.Sprintf("--retries does not count for %s: these have no such parameter",
			strings.Join(unmoved, ", ")))
	}
	return plan, nil
}

// resolveEra reads one value of --era.
func resolveEra(text string) ([]watchdog.Candidate, error) {
	var all []watchdog.Candidate
	var names []string
	for _, e := range watchdog.Eras() {
		all = append(all, watchdog.Candidate{Era: e})
		names = append(names, string(e))
	}
	if text == "all" {
		return all, nil
	}
	found, err := watchdog.Resolve(text)
	if err != nil {
		return nil, usagef("--era: %w; eras are %s, or all", err, strings.Join(names, ", "))
	}
	return found, nil
}

// completeEras offers what --era takes to a shell.
func completeEras(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return append([]cobra.Completion{cobra.CompletionWithDesc("all", "every era and variant")}, eraWords()...), cobra.ShellCompDirectiveNoFileComp
}

// eraWords are the eras, and what they are, for a shell.
func eraWords() []cobra.Completion {
	var words []cobra.Completion
	for _, p := range watchdog.Profiles() {
		words = append(words, cobra.CompletionWithDesc(string(p.Era), p.Releases))
	}
	for _, e := range watchdog.Designs() {
		words = append(words, cobra.CompletionWithDesc(string(e), "a design that was never released"))
	}
	return words
}

// replay shows a recording to all watchdogs. Each result is given to each, in
// the order of the ticks, then of the watchdogs. With an error come the results
// of what was read before it.
func (p *replayPlan) replay(env *Env, in io.Reader, each func(*report.Tick) error) (trace.Report, []*report.ReplayColumn, error) {
	var columns []*report.ReplayColumn
	verified, err := verifyWhile(in, func(in io.Reader) error {
		r, err := trace.NewReader(in)
		if err != nil {
			return err
		}
		h := r.Header()
		replays, err := p.begin(env, &h, &columns)
		if err != nil {
			return err
		}
		var tick trace.Tick
		for {
			if err := r.Read(&tick); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			for i, replay := range replays {
				results, err := replay.Step(&tick)
				if err != nil {
					return err
				}
				columns[i].Add(tick.Seq, results, replay.Idle())
				for k := range results {
					line := columns[i].Of(&results[k])
					if err := each(&line); err != nil {
						return err
					}
				}
			}
			if err := env.stdoutErr(); err != nil {
				return err // nobody reads on
			}
		}
	})
	return verified, columns, err
}

// begin makes a replay and a column for each watchdog that can watch the recorded clocks.
func (p *replayPlan) begin(env *Env, h *trace.Header, columns *[]*report.ReplayColumn) ([]*trace.Replay, error) {
	var clocks []string
	for i := range h.Watched {
		clocks = append(clocks, h.Watched[i].Name)
	}
	var replays []*trace.Replay
	var problems []error
	for _, w := range p.watches {
		setup, err := h.Setup(w.profile, w.retries)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		replay, err := trace.NewReplay(*h, setup)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		by := report.RetriesDefault
		switch {
		case w.profile.AutoRetries:
			by = report.RetriesCPUs
		case w.retries >= 0:
			by = report.RetriesGiven
		}
		replays = append(replays, replay)
		*columns = append(*columns, report.NewReplayColumn(report.Watch{
			Era: w.profile.Era, Release: w.release, Retries: w.profile.Attempts(h.Online.Count(), w.retries) - 1,
			Reference: h.Reference.Name, Clocks: clocks,
		}, by))
	}
	if len(problems) > 0 && (p.named || len(replays) == 0) {
		*columns = nil
		return nil, errors.Join(problems...)
	}
	for _, problem := range problems {
		printError(env.Stderr, fmt.Errorf("left out: %w", problem))
	}
	return replays, nil
}

// verifyWhile lets a function read a recording once, and takes the report of
// [trace.Verify] of the same bytes, for standard input cannot be read twice.
func verifyWhile(in io.Reader, read func(io.Reader) error) (trace.Report, error) {
	pr, pw := io.Pipe()
	verified := make(chan trace.Report)
	go func() {
		r, _ := trace.Verify(pr) // the function meets the same error
		io.Copy(io.Discard, pr)  // and must not wait for a reader that has gone
		verified <- r
	}()
	err := read(io.TeeReader(in, pw))
	pw.Close()
	return <-verified, err
}
