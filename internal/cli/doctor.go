package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/evidence"
	"github.com/cswatch/cswatch/internal/report"
)

// doctorFlags are the flags of one doctor run.
type doctorFlags struct {
	logs, roots, ignore []string
	expect              string
	live                time.Duration // 0: the counters are left alone
	failOn              *choice
	format              *choice
	verbose             bool
}

func newDoctorCommand(env *Env) *cobra.Command {
	cmd, flags := newDoctorCommandOf(env)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd, env, flags, thisMachine()) }
	return cmd
}

// newDoctorCommandOf makes the command without what it runs, and its flags.
func newDoctorCommandOf(env *Env) (*cobra.Command, *doctorFlags) {
	flags := &doctorFlags{}
	cmd := &cobra.Command{
		Use:     "doctor",
		GroupID: groupDiagnose,
		Short:   "Judge this machine, a kernel log, or machines from an archive",
		Long: "doctor says whether the kernel still trusts its fast clock, whether it was right, what a read of the clock\n" +
			"costs, and what to do, the least risky first. It judges the running machine; with --log or --root only\n" +
			"what they name is used. It changes nothing.\n\n" +
			"With --live the watchdog of this kernel's era also runs in user space over this machine's counters, as\n" +
			"cswatch watch does, and lets the CPUs compare theirs: do they agree now, and is reading them slow? A signal\n" +
			"ends the watch early and not the answer.",
		Example: "  cswatch doctor\n  sudo cswatch doctor --live 5s\n" +
			"  journalctl -k -b -o json | cswatch doctor --log -\n" +
			"  cswatch doctor --log dmesg.txt --format json\n" +
			"  cswatch doctor --root sosreport-a.tar.xz --root sosreport-b.tar.xz",
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.logs, "log", nil, "judge this log instead of the machine; - is standard input; repeat for the logs of one machine, the oldest first")
	f.StringArrayVar(&flags.roots, "root", nil, "judge this root folder, sosreport or archive of cswatch collect; repeat for a table")
	f.DurationVar(&flags.live, "live", 0, "watch this machine's counters for so long, such as 5s, and judge what they show, too, also with --log or --root")
	f.StringArrayVar(&flags.ignore, "ignore", nil, "suppress the finding with this id; it stays visible in JSON")
	f.StringVar(&flags.expect, "expect", "", "report it if the machine runs on another clocksource than this one")
	f.BoolVarP(&flags.verbose, "verbose", "v", false, "show all evidence and the arithmetic of each verdict")
	flags.failOn = newChoice("warning", "critical")
	f.Var(flags.failOn, "fail-on", "from which status on to exit with a failure")
	registerCompletion(cmd, "fail-on", flags.failOn.complete)
	flags.format = formatFlag(cmd, "text", "json", "nagios", "npd")
	setExitStatus(cmd, exitStatus{Failed: 3, Usage: 3, Table: []exitMeaning{
		{0, "ok (npd: ok)"},
		{1, "warning (npd: there is a problem); 0 with --fail-on critical"},
		{2, "critical (npd: cannot tell)"},
		{3, "cannot tell, or the command line is wrong"},
	}})
	return cmd, flags
}

// settle adds what the configuration file says to what the flags leave open.
func (d *doctorFlags) settle(cmd *cobra.Command, env *Env) error {
	c, err := LoadConfig(env.Getenv)
	if err != nil {
		return err
	}
	d.ignore = append(d.ignore, c.Ignore...)
	if !cmd.Flags().Changed("expect") {
		d.expect = c.Expect
	}
	if c.FailOn != "" && !cmd.Flags().Changed("fail-on") {
		return d.failOn.Set(c.FailOn)
	}
	return nil
}

func runDoctor(cmd *cobra.Command, env *Env, flags *doctorFlags, here machineHere) error {
	if err := flags.settle(cmd, env); err != nil {
		return err
	}
	if err := flags.checkLive(cmd.Flags().Changed("live")); err != nil {
		return err
	}
	if len(flags.roots) > 1 && len(flags.logs) > 0 {
		return usagef("--log goes with at most one --root: the logs are of one machine")
	}
	boundMemory(env)
	all, problems := flags.examine(cmd.Context(), env, here)
	for _, problem := range problems {
		printError(env.Stderr, problem)
	}
	if len(all) == 0 {
		return &ExitError{Code: 3}
	}
	if err := flags.print(env, all); err != nil {
		return &ExitError{Code: 3, Err: err}
	}
	if err := env.stdoutErr(); err != nil {
		return &ExitError{Code: 3, Err: err}
	}
	return &ExitError{Code: flags.code(all, len(problems) > 0)}
}

// examine judges what the flags name. Problems come beside the answers that could be had.
func (d *doctorFlags) examine(ctx context.Context, env *Env, here machineHere) (all []*doctor.Diagnosis, problems []error) {
	judge := func(ev doctor.Evidence, err error) {
		if err != nil {
			problems = append(problems, err)
			if ev.Snapshot == nil && ev.LogLines == 0 {
				return // nothing at all was read
			}
		}
		if d.live > 0 {
			d.watchCounters(ctx, env, here, &ev)
		}
		ev.Inputs.Ignore, ev.Inputs.Expect, ev.Inputs.FailOn = d.ignore, d.expect, d.failOn.String()
		diagnosis := doctor.Examine(ev)
		all = append(all, &diagnosis)
	}
	switch {
	case len(d.roots) == 1 && len(d.logs) > 0:
		judge(evidence.FromRootAndLogs(d.roots[0], d.logs, env.Stdin))
	case len(d.roots) > 0:
		for _, root := range d.roots {
			judge(evidence.FromRoot(root))
		}
	case len(d.logs) > 0:
		judge(evidence.FromLogs(d.logs, env.Stdin))
	default:
		judge(here.gather(ctx))
	}
	return all, problems
}

// print writes the answers in the wanted form.
func (d *doctorFlags) print(env *Env, all []*doctor.Diagnosis) error {
	opt := textOptions(env)
	opt.Verbose = d.verbose
	several := len(d.roots) > 1
	switch d.format.String() {
	case "json":
		if several {
			return report.JSONList(env.Stdout, all)
		}
		return report.JSON(env.Stdout, all[0])
	case "nagios", "npd":
		write := report.Nagios
		if d.format.String() == "npd" {
			write = report.NPD
		}
		return write(env.Stdout, report.Worst(all, d.failOn.String()))
	}
	if several {
		if !env.IsTerminal(env.Stdout) {
			opt.Width = 0 // nothing demands that cells be shortened
		}
		return report.Table(env.Stdout, all, opt)
	}
	return report.Text(env.Stdout, all[0], opt)
}

// code is the exit code. An input that could not be read to its end leaves no
// room for "ok".
func (d *doctorFlags) code(all []*doctor.Diagnosis, incomplete bool) int {
	if d.format.String() == "npd" {
		code := report.NPDExitCode(report.Worst(all, d.failOn.String()), d.failOn.String())
		if code == 0 && incomplete {
			return 2
		}
		return code
	}
	code := report.ExitCodeOf(all, d.failOn.String())
	if code == 0 && incomplete {
		return 3
	}
	return code
}

// textOptions fits text to the terminal, if there is one.
func textOptions(env *Env) report.TextOptions {
	opt := report.TextOptions{Color: env.Color(env.Stdout), Width: 100, ASCII: asciiOnly(env)}
	if f, ok := underlying(env.Stdout).(interface{ Fd() uintptr }); ok && env.IsTerminal(env.Stdout) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			opt.Width = min(width, 140) // the report has a least width of its own
		}
	}
	return opt
}

// underlying returns the stream that a stickyWriter wraps.
func underlying(w io.Writer) io.Writer {
	if s, ok := w.(*stickyWriter); ok {
		return s.w
	}
	return w
}

// asciiOnly reports that the locale has no room for other letters: LC_ALL goes
// before LC_CTYPE goes before LANG, and the first one that is set decides.
func asciiOnly(env *Env) bool {
	for _, name := range [...]string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env.Getenv(name); v != "" {
			return v == "C" || v == "POSIX"
		}
	}
	return false
}
