package cli

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/lease"
	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/internal/report"
)

// Groups of commands in the help text, in this order.
const (
	groupDiagnose   = "diagnose"
	groupWatch      = "watch"
	groupExperiment = "experiment"
	groupAbout      = "about"
)

func groups() []*cobra.Group {
	return []*cobra.Group{
		{ID: groupDiagnose, Title: "Judge a machine or a log:"},
		{ID: groupWatch, Title: "Watch live or recorded counters:"},
		{ID: groupExperiment, Title: "Experiment and measure:"},
		{ID: groupAbout, Title: "About cswatch:"},
	}
}

// subcommands lists the commands. One constructor each: it gets the
// surroundings, and returns the command with its flags and its group.
func subcommands(env *Env) []*cobra.Command {
	return []*cobra.Command{
		newDoctorCommand(env),
		newLogCommand(env),
		newCollectCommand(env),
		newExplainCommand(env),
		newWatchCommand(env),
		newMonitorCommand(env),
		newReplayCommand(env),
		newTraceCommand(env),
		newSimulateCommand(env),
		newFitCommand(env),
		newTrialCommand(env),
		newBenchCommand(env),
		newReportCommand(env),
		newVersionCommand(env),
		newManCommand(env),
	}
}

// Main runs the program on the process's own arguments and streams, and exits. A
// child that reads a port or guards the clocksource on behalf of another cswatch does only that, and
// one that is to become a command to profile does nothing before.
func Main() {
	hw.ChildMain()
	lease.GuardianMain()
	perf.ChildMain()
	os.Exit(Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run runs one command line, without the program's name, and returns the exit
// code. Results go to stdout; errors go to stderr, each as "cswatch: <what>".
// The environment variables are those of the process.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(newEnv(stdin, stdout, stderr), args)
}

func run(env *Env, args []string) int {
	root, started := newRoot(env)
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would take the process's own arguments
	cmd, err := root.ExecuteC()
	if err != nil && !*started && env.stdoutErr() == nil { // --version on a full disk fails on its own
		// Whatever fails before a command's own function runs is about the command line.
		err = &usageError{err: err}
	}
	return exitCode(env, cmd, err)
}

// newRoot builds the tree of commands. The second result becomes true when a
// command's own function starts.
func newRoot(env *Env) (*cobra.Command, *bool) {
	root := &cobra.Command{
		Use:   "cswatch",
		Short: "Tell whether a Linux kernel still trusts its fast clock",
		Long: "cswatch tells whether a Linux kernel still trusts its fast clock and, where it stopped, whether it was\n" +
			"right, what that costs and which setting is the cure.\n\n" +
			"Results go to standard output and nothing else does; errors and progress go to standard error.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       versionOf(env).Version,
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetVersionTemplate("cswatch {{.Version}}\n")
	// A command that only groups others is runnable for the sake of its error; its help shows only how to go on.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1))
	root.PersistentFlags().Var(env.color, "color", "colour in text")
	registerCompletion(root, "color", env.color.complete)

	root.SetHelpCommand(newHelpCommand(root))
	root.AddCommand(subcommands(env)...)
	root.InitDefaultHelpCmd()
	addCompletionCommand(root)
	addUsedGroups(root)

	started := new(bool)
	prepare(root, started)
	return root, started
}

// addUsedGroups adds the groups that have a command: cobra prints the title of an empty one too.
func addUsedGroups(root *cobra.Command) {
	for _, g := range groups() {
		for _, cmd := range root.Commands() {
			if cmd.GroupID == g.ID {
				root.AddGroup(g)
				break
			}
		}
	}
}

// prepare sees to it, for a command and all below it, that a wrong argument is
// an error, that a bare group of commands says what it lacks, and that started
// tells usage errors from the command's own.
func prepare(cmd *cobra.Command, started *bool) {
	for _, sub := range cmd.Commands() {
		prepare(sub, started)
	}
	switch {
	case cmd.HasSubCommands() && !cmd.Runnable():
		cmd.Args = cobra.ArbitraryArgs // else cobra words the error, with its own idea of layout
		cmd.RunE = chooseSubcommand
	case cmd.Args == nil:
		cmd.Args = noArguments
	}
	inner, plain := cmd.RunE, cmd.Run
	if cmd.HasSubCommands() {
		return // choosing a command is usage, never a command's own work
	}
	cmd.RunE = func(c *cobra.Command, args []string) error {
		*started = true
		if inner != nil {
			return inner(c, args)
		}
		plain(c, args)
		return nil
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, got %q", cmd.Name(), args[0])
	}
	return nil
}

// chooseSubcommand runs where a command that only groups others was called.
func chooseSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		var names []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return usagef("%s needs a command: %s", cmd.CommandPath(), report.Either(names))
	}
	// Letters to change; cobra's zero value suggests nothing but prefixes. Of a
	// short word two letters are nearly all.
	cmd.SuggestionsMinimumDistance = 2
	if len(args[0]) < 5 {
		cmd.SuggestionsMinimumDistance = 1
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("%s has no command %q; did you mean %s?", cmd.CommandPath(), args[0], report.Either(near))
	}
	return usagef("%s has no command %q", cmd.CommandPath(), args[0])
}

// newHelpCommand replaces cobra's, which reports an unknown topic and then succeeds.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		Short:   "Show the help text of a command",
		GroupID: groupAbout,
		Args:    cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeCommands(root, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, err := findCommand(root, args)
			if err != nil {
				return err
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// findCommand follows a path of command names such as "trial", "run".
func findCommand(root *cobra.Command, path []string) (*cobra.Command, error) {
	cmd := root
	for _, name := range path {
		next := childNamed(cmd, name)
		if next == nil {
			return nil, usagef("there is no command %q", strings.Join(append([]string{root.Name()}, path...), " "))
		}
		cmd = next
	}
	return cmd, nil
}

func childNamed(cmd *cobra.Command, name string) *cobra.Command {
	for _, sub := range cmd.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}

// completeCommands offers the commands below a path to a shell.
func completeCommands(root *cobra.Command, path []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cmd, err := findCommand(root, path)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
