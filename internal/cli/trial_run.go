package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/store"
	"github.com/cswatch/cswatch/internal/trial"
	"github.com/cswatch/cswatch/sim"
)

// carryFlags are the flags of what carries a plan out. Results do not depend on them.
type carryFlags struct {
	jobs   int
	most   int
	keep   bool
	format *choice
}

func (f *carryFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.IntVar(&f.jobs, "jobs", 0, "idle guests that run side by side; a busy one takes as many places as it has CPUs (default the number of CPUs)")
	fl.IntVar(&f.most, "max-boots", 0, "end this run after so many trials; resume goes on (default all)")
	fl.BoolVar(&f.keep, "keep-states", false, "keep saved states of machines, some hundred MB each, when the campaign is over")
	f.format = formatFlag(cmd, "text", "json", "csv")
}

func newTrialRunCommand(env *Env) *cobra.Command {
	var plan trialFlags
	var carry carryFlags
	var dry bool
	cmd := &cobra.Command{
		Use:   "run DIR",
		Short: "Begin a campaign in a new folder, and carry it out",
		Long: "run makes a plan of its flags, or reads one, writes it into the new folder and carries it out. Lists make a grid,\n" +
			"each combination a cell. Cells with read delays or steps of the TSC get a control cell without.\n\n" +
			"The boots of all cells are mixed in random order, which follows from the seed. An interrupt lets the trials that\n" +
			"run come to their end; \"cswatch trial resume\" goes on after anything.",
		Example: "  cswatch trial run campaign --kernel 5.10 --set clocksource.max_cswd_read_retries=3,10,50 --delay \"burst in=0.03 out=0.08 120us..300us\" --boots 60\n" +
			"  cswatch trial run faults --kernel 5.10,7 --fault \"step +1ms\" --fault \"cpu1 +300us\" --boots 10\n" +
			"  cswatch trial run edges --kernel 6.12 --smallest step,cpu1 --boots 10\n" +
			"  cswatch trial run predicted --plan campaign/plan.toml --executor sim --machine qemu-skylake\n" +
			"  cswatch trial run x --kernel 5.10 --dry-run",
		Args: oneFolder,
	}
	plan.add(cmd)
	carry.add(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the plan, and do nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := plan.plan(cmd)
		if err != nil {
			return err
		}
		text, err := p.Text()
		if err != nil {
			return err
		}
		if dry {
			_, err := env.Stdout.Write(text)
			return err
		}
		ctx, stop := untilSignal(cmd.Context())
		defer stop()
		r, err := carry.runner(env, p, args[0])
		if err != nil {
			return err
		}
		if err := store.Vacant(args[0], planName, text); err != nil {
			return toResume(err, args[0])
		}
		if err := r.Ready(ctx); err != nil {
			return err
		}
		r.Store, err = store.Create(args[0], planName, text)
		if err != nil {
			return toResume(err, args[0])
		}
		return carry.run(ctx, env, r, args[0])
	}
	return cmd
}

func newTrialResumeCommand(env *Env) *cobra.Command {
	var carry carryFlags
	var rebuild bool
	cmd := &cobra.Command{
		Use:   "resume DIR",
		Short: "Go on with a campaign",
		Long: "resume carries out what a campaign still lacks. Trials that a crash or a kill interrupted are counted as lost: they\n" +
			"are shown, and not run again in silence.",
		Example: "  cswatch trial resume campaign --jobs 3",
		Args:    oneFolder,
	}
	carry.add(cmd)
	cmd.Flags().BoolVar(&rebuild, "rebuild-index", false, "first make an index that is damaged anew, from the folders of the trials")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := untilSignal(cmd.Context())
		defer stop()
		if rebuild {
			done, err := store.Rebuild(args[0])
			if err != nil {
				return err
			}
			for _, line := range done.Dropped {
				fmt.Fprintf(env.Stderr, "cswatch: not taken over from the index: %s\n", line)
			}
		}
		s, repairs, err := store.Open(args[0])
		if err != nil {
			return err
		}
		p, err := campaign.ReadPlan(bytes.NewReader(s.Plan()))
		if err == nil {
			tellRepairs(env, repairs)
			err = trial.Lose(p, s, repairs.Interrupted)
		}
		var r *trial.Runner
		if err == nil {
			r, err = carry.runner(env, p, args[0])
		}
		if err != nil {
			return errors.Join(err, s.Close())
		}
		r.Store = s
		return carry.run(ctx, env, r, args[0])
	}
	return cmd
}

// tellRepairs says what a crash had left.
func tellRepairs(env *Env, r store.Repairs) {
	say := func(format string, args ...any) { fmt.Fprintf(env.Stderr, "cswatch: "+format+"\n", args...) }
	if r.Cut > 0 || r.Header {
		say("the last line of the index was not whole: %d bytes were cut off", r.Cut)
	}
	if len(r.Adopted) > 0 {
		say("%d trials were finished and not in the index: entered now", len(r.Adopted))
	}
	if n := len(r.Interrupted); n > 0 {
		say("%d trials were interrupted, and are counted as lost: %s", n, strings.Join(r.Interrupted, ", "))
	}
}

// toResume tells how to go on with a campaign that is there already.
func toResume(err error, dir string) error {
	if errors.Is(err, store.ErrExists) {
		return fmt.Errorf("%w (cswatch trial resume %s)", err, dir)
	}
	return err
}

// runner makes what carries a plan out. It has no store yet.
func (f *carryFlags) runner(env *Env, p *campaign.Plan, dir string) (*trial.Runner, error) {
	r := &trial.Runner{Plan: p, Slots: f.jobs, Most: f.most}
	if r.Slots <= 0 {
		r.Slots = runtime.NumCPU()
	}
	if p.Executor == campaign.InQEMU {
		r.Executor = &trial.QEMU{Plan: p, States: filepath.Join(dir, store.Scratch), Say: func(text string) {
			fmt.Fprintf(env.Stderr, "cswatch: %s\n", text)
		}}
		return r, nil
	}
	s := &trial.Simulated{Plan: p}
	var err error
	if p.MachineText != "" {
		s.Machine, err = sim.Parse(strings.NewReader(p.MachineText))
	} else {
		s.Machine, err = openMachine(p.Machine)
	}
	r.Executor = s
	return r, err
}

// run carries a plan out, and shows what came of it.
func (f *carryFlags) run(ctx context.Context, env *Env, r *trial.Runner, dir string) (err error) {
	defer func() { err = errors.Join(err, r.Store.Close()) }()
	progress := newTrialProgress(env, r.Plan)
	r.Tell = progress.tell
	stopped := r.Run(ctx, context.WithoutCancel(ctx))
	progress.end()
	bounded := errors.Is(stopped, trial.ErrMost)
	if bounded {
		stopped = nil
	}
	if stopped != nil && ctx.Err() == nil {
		return stopped
	}
	if stopped == nil && !bounded && !f.keep {
		if err := os.RemoveAll(filepath.Join(dir, store.Scratch)); err != nil {
			return fmt.Errorf("remove saved states: %w", err)
		}
	}
	c, err := campaignOf(r.Store, false)
	if err != nil {
		return err
	}
	if err := writeTrialReport(env, c, f.format.String(), false); err != nil {
		return err
	}
	if stopped != nil {
		return fmt.Errorf("the campaign was stopped (%w); cswatch trial resume %s goes on", stopped, dir)
	}
	return nil
}

// trialProgress tells of each trial: a line where it took seconds, else a share on a terminal.
type trialProgress struct {
	env  *Env
	long bool
	on   bool
	last time.Time
}

func newTrialProgress(env *Env, p *campaign.Plan) *trialProgress {
	return &trialProgress{env: env, long: p.Executor == campaign.InQEMU, on: env.IsTerminal(env.Stderr)}
}

func (t *trialProgress) tell(p trial.Progress) {
	if t.long {
		fmt.Fprintf(t.env.Stderr, "cswatch: %d of %d: %s\n", p.Done, p.Done+p.Pending, told(p.Result))
		return
	}
	if now := time.Now(); t.on && now.Sub(t.last) > time.Second/5 {
		t.last = now
		fmt.Fprintf(t.env.Stderr, "\r\x1b[K%d of %d trials", p.Done, p.Done+p.Pending)
	}
}

func (t *trialProgress) end() {
	if !t.last.IsZero() {
		fmt.Fprint(t.env.Stderr, "\r\x1b[K")
	}
}

// told is one trial in a line.
func told(r *campaign.Result) string {
	c := &r.Trial.Cell
	words := []string{c.Kernel}
	for _, p := range c.Set {
		words = append(words, p[strings.LastIndex(p, ".")+1:])
	}
	if !c.Delay.None() {
		words = append(words, c.Delay.String())
	}
	if !c.Fault.None() {
		words = append(words, c.Fault.String())
	}
	text := strings.Join(words, " ") + ": " + string(r.Outcome)
	if r.Cause != "" {
		text += " (" + string(r.Cause) + ")"
	}
	return fmt.Sprintf("%s, %.1f s", text, time.Duration(r.WallNS).Seconds())
}
