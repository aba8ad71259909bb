package cli

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/exporter"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/internal/monitor"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// monitorFlags are the flags of one monitor.
type monitorFlags struct {
	web                 exporter.Config // the part that flags say
	era, reference      string
	retries             int
	watch, cost, doctor time.Duration
	state               string
	ignore              []string
	expect              string
	logLevel, logFormat *choice
	hooks               hookFlags

	sources monitor.Sources // tests have their own of these
	systemd service
}

// noState is the value of --state that keeps nothing.
const noState = "none"

func newMonitorCommand(env *Env) *cobra.Command {
	flags := &monitorFlags{retries: -1}
	cmd := &cobra.Command{
		Use:     "monitor",
		GroupID: groupWatch,
		Short:   "Keep watch as a daemon: metrics for Prometheus, a status page, hooks",
		Long: "monitor follows the kernel's log, looking back over what this boot has logged, looks at sysfs, runs the watchdog of\n" +
			"this kernel's era over the live counters in short bursts, samples what a read of the clock costs and keeps the\n" +
			"doctor's verdict current. It serves all of that as metrics for Prometheus, as a JSON document and as a page, and\n" +
			"tells a command or a webhook of what matters: a clock that was condemned, a switch, clocks that disagree.\n\n" +
			"It needs no more than CAP_SYSLOG, for the kernel's log, and does without what it may not read: that is a metric\n" +
			"(cswatch_collector_success) and a line on standard error. It changes nothing on the machine. What it knows of a boot\n" +
			"is kept in a file, so that a restart counts nothing twice and forgets nothing.\n\n" +
			"It listens on the loopback address alone unless told otherwise. Under systemd it says when it is ready and that it is alive.",
		Example: "  cswatch monitor\n  cswatch monitor --web.listen-address :9953 --web.config.file /etc/cswatch/web.yml\n" +
			"  cswatch monitor --on-event '/usr/local/bin/tell-me --loudly' --webhook.url https://example.org/hook",
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.web.Addresses, "web.listen-address", []string{exporter.DefaultAddress}, "`address` to listen on; repeat for several")
	f.StringVar(&flags.web.ConfigFile, "web.config.file", "", "`file` with TLS, client certificates and users, in the form of the Prometheus exporter toolkit")
	f.BoolVar(&flags.web.SystemdSocket, "web.systemd-socket", false, "use the sockets that systemd hands over instead of addresses")
	f.StringVar(&flags.web.TelemetryPath, "web.telemetry-path", exporter.DefaultTelemetryPath, "`path` of the metrics")
	f.StringVar(&flags.era, "era", "", "era or kernel release of the live watch, such as E5 or 5.15 (default that of the running kernel)")
	f.Var(whole{&flags.retries, live.MaxRetries}, "retries", "max_cswd_read_retries of the live watch, for eras that have it (default that of the running kernel)")
	f.Lookup("retries").DefValue = "0" // which is not shown: the default is no number
	f.StringVar(&flags.reference, "reference", live.Auto, "what the live watch compares with: auto, hpet, acpi_pm, ptp0, monotonic_raw or another POSIX clock")
	f.DurationVar(&flags.watch, "watch.every", 15*time.Second, "time between bursts of three checks of the live watch; 0 checks twice a second all the time")
	f.DurationVar(&flags.cost, "cost.every", time.Minute, "time between samples of what a read of the clock costs")
	f.DurationVar(&flags.doctor, "doctor.every", 10*time.Minute, "longest time between two diagnoses; a change is judged at once")
	f.StringVar(&flags.state, "state", "", "`file` that keeps what is known of this boot, none for no file (default monitor.json in $RUNTIME_DIRECTORY, else in /run/cswatch)")
	f.StringArrayVar(&flags.ignore, "ignore", nil, "suppress the doctor's finding with this id")
	f.StringVar(&flags.expect, "expect", "", "let the doctor report it if the machine runs on another clocksource than this one")
	flags.hooks.add(f)
	flags.logLevel = newChoice("info", "debug", "warn", "error")
	f.Var(flags.logLevel, "log.level", "least level of what is logged to standard error")
	flags.logFormat = newChoice("logfmt", "json")
	f.Var(flags.logFormat, "log.format", "form of what is logged")
	registerCompletion(cmd, "log.level", flags.logLevel.complete)
	registerCompletion(cmd, "log.format", flags.logFormat.complete)
	registerCompletion(cmd, "era", cobra.FixedCompletions(eraWords(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		beQuiet()
		flags.sources = monitor.ThisMachine()
		flags.systemd = systemdHere()
		return runMonitor(cmd.Context(), env, cmd, flags)
	}
	return cmd
}

// settle checks the flags and adds what the configuration file and the environment say.
func (f *monitorFlags) settle(cmd *cobra.Command, env *Env) error {
	for _, d := range []struct {
		name        string
		is, atLeast time.Duration
	}{{"watch.every", f.watch, 0}, {"cost.every", f.cost, time.Second}, {"doctor.every", f.doctor, 10 * time.Second}} {
		if d.is < d.atLeast {
			return usagef("--%s %v: want %v or more", d.name, d.is, d.atLeast)
		}
	}
	if f.era != "" {
		if _, err := watchdog.Resolve(f.era); err != nil {
			return usagef("--era: %w", err)
		}
	}
	c, err := LoadConfig(env.Getenv)
	if err != nil {
		return err
	}
	f.ignore = append(f.ignore, c.Ignore...)
	if !cmd.Flags().Changed("expect") {
		f.expect = c.Expect
	}
	switch f.state {
	case noState:
		f.state = ""
	case "":
		f.state = filepath.Join(cmp.Or(env.Getenv("RUNTIME_DIRECTORY"), "/run/cswatch"), "monitor.json")
	}
	if f.web.SystemdSocket {
		if cmd.Flags().Changed("web.listen-address") {
			return usagef("--web.systemd-socket goes without --web.listen-address: the sockets are systemd's")
		}
		f.web.Addresses = nil
	}
	return nil
}

// logger returns where the monitor logs to.
func (f *monitorFlags) logger(env *Env) *slog.Logger {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(f.logLevel.String())) // a choice of its names
	o := &slog.HandlerOptions{Level: level}
	if f.logFormat.String() == "json" {
		return slog.New(slog.NewJSONHandler(env.Stderr, o))
	}
	return slog.New(slog.NewTextHandler(env.Stderr, o))
}

func runMonitor(ctx context.Context, env *Env, cmd *cobra.Command, f *monitorFlags) error {
	if err := f.settle(cmd, env); err != nil {
		return err
	}
	if env.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // a daemon on every machine: memory counts for more than its own time
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	log := f.logger(env)
	hooks, err := f.hooks.open("cswatch/"+versionOf(env).Version, log)
	if err != nil {
		return err
	}
	config := monitor.Config{
		Sources: f.sources, State: f.state, Log: log, WatchEvery: f.watch, CostEvery: f.cost, DoctorEvery: f.doctor, Hooks: hooks.of(),
		Watch: func(s *machine.Snapshot) (monitor.WatchPlan, error) { return f.plan(env, s) },
	}
	if f.watch == 0 {
		config.WatchEvery = -1
	}
	config.Inputs.Ignore, config.Inputs.Expect, config.Inputs.FailOn = f.ignore, f.expect, "warning"
	m, err := monitor.New(config)
	if err != nil {
		return err
	}
	hooks.belong(m)
	server, err := f.listen(env, m, hooks, log)
	if err != nil {
		return err
	}
	return f.serve(ctx, m, server, hooks)
}
