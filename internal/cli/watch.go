package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/host"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/machine"
)

// ExitCondemned is the exit code of a watch that gave up a clock.
const ExitCondemned = 3

// watchFlags are the flags of one watch.
type watchFlags struct {
	era, reference, record string
	retries                int
	duration               time.Duration
	interrupts, acceptLoss bool
	format                 *choice

	risk     func(*machine.Snapshot) guard // tests have their own of these
	follow   func() (kernelNews, error)
	snapshot func() *machine.Snapshot
}

func newWatchCommand(env *Env) *cobra.Command {
	var flags watchFlags
	cmd := &cobra.Command{
		Use:     "watch",
		GroupID: groupWatch,
		Short:   "Run the kernel's watchdog of any era over this machine's counters",
		Long: "watch does what the clocksource watchdog of a kernel does, in user space: twice a second it reads a reference,\n" +
			"the processor's counter and the reference again, and decides as the kernel of that era would. It also lets two\n" +
			"CPUs compare their counters. It changes nothing and reads the reference no faster than a kernel.\n\n" +
			"Its reads can be late because the thread was interrupted or lost its CPU, which cannot happen to a kernel: a\n" +
			"verdict about latency is one about user space. It ends with a summary, on SIGINT and SIGTERM too, and when the\n" +
			"clock is condemned, unless it records.\n\n" +
			"On a terminal it draws a table in place, elsewhere it prints JSON Lines: one object for each check and a summary.",
		Example: "  cswatch watch\n  sudo cswatch watch --era 5.15 --reference hpet --duration 10m\n" +
			"  cswatch watch --duration 1h --record night.trace --format text",
	}
	f := cmd.Flags()
	f.StringVar(&flags.era, "era", "", "era or kernel release, such as E5 or 5.15 (default that of the running kernel)")
	flags.retries = -1
	f.Var(whole{&flags.retries, live.MaxRetries}, "retries", "clocksource.max_cswd_read_retries, for eras that have it (default that of the era)")
	f.Lookup("retries").DefValue = "0" // which is not shown: the default is no number
	f.StringVar(&flags.reference, "reference", live.Auto, "what to compare with: auto, hpet, acpi_pm, ptp0, monotonic_raw or another POSIX clock")
	f.DurationVar(&flags.duration, "duration", 0, "how long to watch, such as 30s or 8h (default until it is stopped)")
	f.StringVar(&flags.record, "record", "", "write a recording for cswatch replay to this new `file`")
	f.BoolVar(&flags.interrupts, "interrupts", false, "count interrupts around each read-back, to tell late ones by them; costs more time than all else")
	f.BoolVar(&flags.acceptLoss, acceptLoss, false, "allow more than 8 attempts in a row over hpet and acpi_pm, whose latency can make a kernel give up its TSC; the kernel's log is followed, and its first complaint ends the watch")
	registerCompletion(cmd, "era", cobra.FixedCompletions(eraWords(), cobra.ShellCompDirectiveNoFileComp))
	registerCompletion(cmd, "reference", cobra.FixedCompletions(
		[]cobra.Completion{live.Auto, hw.HPET, hw.ACPIPM, hw.MonotonicRaw, hw.Monotonic, hw.BootTime, hw.RealTime, hw.TAI}, cobra.ShellCompDirectiveNoFileComp))
	flags.format = newChoice("auto", "text", "jsonl")
	f.Var(flags.format, "format", "output format; auto is text on a terminal and jsonl elsewhere")
	registerCompletion(cmd, "format", flags.format.complete)
	setExitStatus(cmd, exitStatus{Failed: ExitFailed, Usage: ExitUsage, Table: []exitMeaning{
		{ExitOK, "no clock was condemned"},
		{ExitFailed, "what was asked could not be done"},
		{ExitUsage, "the command line is wrong"},
		{ExitCondemned, "the era condemned the clock, or the counters of two CPUs disagree"},
	}})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		beQuiet()
		flags.risk, flags.follow, flags.snapshot = riskHere, followKernel, snapshotHere
		return runWatch(cmd.Context(), env, &flags, live.Open)
	}
	return cmd
}

// beQuiet keeps Go's runtime from doing more than the watch: most of what a tick
// costs is its threads that wake each other up, and its monitor, which naps for 20 us at a time while anything runs.
func beQuiet() {
	// A comparison of CPUs takes two threads, also under a quota of one CPU. Where there is none to make, the second one
	// would only be woken at each tick, to look for work. That it was set also ends the look into the control group each second.
	threads := 2
	if cpus, err := hw.AllowedCPUs(); err == nil && len(cpus) == 1 {
		threads = 1
	}
	runtime.GOMAXPROCS(threads)
	// A kernel's own watchdog is no more punctual: its timer counts jiffies, here those of 250 Hz. What is not
	// allowed, to processes without CAP_SYS_NICE, is left as it is.
	_ = hw.LooseTimers(4 * time.Millisecond)
}

// check refuses what no machine can do.
func (f *watchFlags) check() error {
	switch {
	case f.duration < 0:
		return usagef("--duration %v: want a time above 0", f.duration)
	case f.record == "-":
		return usagef("--record needs a file: standard output has the verdicts")
	}
	return nil
}

// openWatch opens the counters; tests have their own.
type openWatch func(context.Context, live.Options) (*live.Session, error)

func runWatch(ctx context.Context, env *Env, flags *watchFlags, open openWatch) error {
	if err := flags.check(); err != nil {
		return err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	snapshot := flags.snapshot()
	era, err := flags.chooseEra(snapshot)
	if err != nil {
		return err
	}
	for _, note := range era.notes {
		fmt.Fprintf(env.Stderr, "cswatch: %s\n", note)
	}
	options := flags.options(env, snapshot, era)
	risk := flags.risk(snapshot)
	options.AcceptLosingTSC = flags.acceptLoss || risk.answer == machine.No
	file, err := createRecording(flags.record)
	if err != nil {
		return err
	}
	if file != nil {
		options.Record = file
		signal.Ignore(syscall.SIGPIPE) // a reader of the verdicts that goes away must not cost the recording its end
	}
	session, err := open(ctx, options)
	if err != nil {
		return errors.Join(risk.explain(err), file.discard())
	}
	var log kernelNews
	if session.Loads && risk.answer != machine.No {
		if log, err = flags.follow(); err != nil {
			return errors.Join(err, session.Close(), file.discard())
		}
		defer log.Close()
	}
	if note := insteadNote(flags.reference, &session.Reference); note != "" {
		fmt.Fprintf(env.Stderr, "cswatch: %s\n", note)
	}
	err = errors.Join(watch(ctx, env, flags, session, snapshot, era, log), session.Close())
	if closed := file.close(); closed != nil {
		return closed // graver than a verdict
	}
	return err
}

// insteadNote says what is compared where the reference that was named cannot be read; "" where it can.
func insteadNote(named string, r *live.Reference) string {
	if named == live.Auto || named == "" || named == r.Name || len(r.Passed) == 0 {
		return ""
	}
	p := r.Passed[0]
	missing := hw.NotHere{What: p.Name, Reason: p.Reason, Remedy: p.Remedy}
	note := fmt.Sprintf("%v; %s is compared with %s instead", &missing, r.Counter, r.Name)
	if r.Independent == machine.No {
		note += ", which is computed from it and cannot convict it"
	}
	if r.CPUs.Count() > 1 {
		return note + ", and the CPUs with each other"
	}
	return note
}

// watch runs a session and shows it. The first complaint in the kernel's log, where it is given, ends it.
func watch(ctx context.Context, env *Env, flags *watchFlags, s *live.Session, snapshot *machine.Snapshot, era chosenEra, log kernelNews) error {
	watched := tscWatched(flags.era, era, snapshot)
	setup := s.Setup()
	doc := &report.LiveWatch{
		Inputs: report.WatchInputs{
			Era: flags.era, Reference: flags.reference, Duration: flags.duration.Seconds(), Record: flags.record, Interrupts: flags.interrupts,
			AcceptLosingTSC: flags.acceptLoss,
		},
		Watch: report.Watch{
			Era: setup.Profile.Era, Release: era.release, Retries: setup.Profile.Attempts(s.Reference.CPUs.Count(), setup.Retries) - 1,
			Reference: s.Reference.Name, Clocks: []string{s.Reference.Counter},
		},
		EraWhy: era.why, Reference: s.Reference, TSCWatched: watched.answer, TSCWatchedWhy: watched.why,
	}
	if flags.retries >= 0 {
		doc.Inputs.Retries = &flags.retries
	}
	show, err := newShow(env, flags.format.String(), doc)
	if err != nil {
		return err
	}
	kernel := newKernelText(setup, era.release, s.Reference.TimerHZ, snapshot)
	run, cancel := ctx, context.CancelFunc(func() {})
	if flags.duration > 0 {
		run, cancel = context.WithTimeout(ctx, flags.duration)
	}
	defer cancel()
	err = s.Run(run, func(t *live.Tick) error {
		lines := kernel.tick(t)
		for _, l := range lines {
			doc.AddLine(l.Text)
		}
		if show.counts != nil && show.counts(t) {
			doc.Summary = s.Summary()
		}
		if err := show.tick(t, lines); err != nil {
			return err
		}
		if log != nil {
			if err := complaint(log); err != nil {
				return err
			}
		}
		return env.stdoutErr() // nobody reads on
	})
	complained := errors.Is(err, errKernelComplains)
	if err != nil && !complained {
		return err
	}
	doc.Summary = s.Summary()
	switch {
	case complained:
		doc.Ended = "kernel-log"
	case ctx.Err() != nil:
		doc.Ended = "signal"
	case run.Err() != nil:
		doc.Ended = "duration"
	default:
		doc.Ended = "condemned"
	}
	if shown := show.end(); shown != nil || complained {
		return errors.Join(shown, err)
	}
	if doc.Condemned != nil || doc.Exchanges.Backwards > 0 {
		return &ExitError{Code: ExitCondemned}
	}
	return nil
}

// show is one way of showing a watch.
type show struct {
	counts func(t *live.Tick) bool // whether a tick needs the counts so far; nil: never
	tick   func(t *live.Tick, lines []klog.Line) error
	end    func() error
}

// newShow chooses the way and begins it.
func newShow(env *Env, format string, doc *report.LiveWatch) (show, error) {
	terminal := env.IsTerminal(env.Stdout)
	opt := textOptions(env)
	switch {
	case format == "jsonl" || format == "auto" && !terminal:
		return jsonShow(env, doc), nil
	case terminal && opt.Color && env.Getenv("TERM") != "dumb":
		return screenShow(env, doc, opt)
	}
	return textShow(env, doc, opt)
}

// jsonShow writes JSON Lines. What a kernel would log goes to stderr: nothing else says it while it happens.
func jsonShow(env *Env, doc *report.LiveWatch) show {
	w := report.NewTickWriter(env.Stdout)
	return show{
		tick: func(t *live.Tick, lines []klog.Line) error {
			printLines(env.Stderr, lines)
			for _, l := range doc.LiveTicks(t) {
				if err := w.LiveTick(&l); err != nil {
					return err
				}
			}
			return nil
		},
		end: func() error { return report.WatchSummary(w, doc) },
	}
}

// textShow writes a line for each tick that is out of the ordinary.
func textShow(env *Env, doc *report.LiveWatch, opt report.TextOptions) (show, error) {
	s := show{
		tick: func(t *live.Tick, lines []klog.Line) error {
			if err := report.WatchNews(env.Stdout, doc, t, opt); err != nil {
				return err
			}
			printLines(env.Stdout, lines)
			return nil
		},
		end: func() error { return report.WatchText(env.Stdout, doc, opt) },
	}
	return s, report.WatchHead(env.Stdout, doc, opt)
}

// screenShow draws a table in place, once a second: each drawing costs more than a tick.
func screenShow(env *Env, doc *report.LiveWatch, opt report.TextOptions) (show, error) {
	screen := report.NewWatchScreen(env.Stdout, opt)
	const pause = clocksource.NanosPerSecond * 3 / 4 // ticks may come early, by what the one before was late
	var drawn clocksource.Nanos
	due := false
	return show{
		counts: func(t *live.Tick) bool {
			if due = t.Number == 1 || t.At-drawn >= pause || t.Condemned() != nil; due {
				drawn = t.At
			}
			return due
		},
		tick: func(t *live.Tick, _ []klog.Line) error {
			if !due {
				return nil
			}
			return screen.Draw(doc, t)
		},
		end: func() error {
			if err := screen.Clear(); err != nil {
				return err
			}
			return report.WatchText(env.Stdout, doc, opt)
		},
	}, report.WatchHead(env.Stdout, doc, opt)
}

// printLines writes what a kernel would have logged, marked as ours.
func printLines(w io.Writer, lines []klog.Line) {
	for _, l := range lines {
		fmt.Fprintf(w, "cswatch(live): %s\n", l.Text)
	}
}

// options says what to open.
func (f *watchFlags) options(env *Env, s *machine.Snapshot, era chosenEra) live.Options {
	return live.Options{
		Profile: era.profile, Retries: f.retries, Reference: f.reference, Instead: f.record == "",
		RecordedBy: clip("cswatch " + versionOf(env).Version), Machine: clip(s.CPU.Model), Kernel: clip(s.Kernel.Release + " " + s.Kernel.Version),
		Surroundings: hw.Surroundings{Clocksource: s.Clocksource.Current, Guest: s.Hypervisor.Guest},
		Known:        s.CPU.Has("tsc_known_freq") == machine.Yes,
		Interrupts:   f.interrupts,
	}
}

// clip shortens what a recording names to what its header holds.
func clip(s string) string {
	const most = 200
	s = strings.ToValidUTF8(strings.TrimSpace(s), "?")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// snapshotHere collects what this machine says of itself; what cannot be read is empty.
func snapshotHere() *machine.Snapshot {
	none := &machine.Snapshot{Hypervisor: machine.Hypervisor{Guest: machine.Unknown}}
	root, err := host.OpenRoot("/")
	if err != nil {
		return none
	}
	defer root.Close()
	s, err := root.Collect()
	if err != nil {
		return none
	}
	return s
}
