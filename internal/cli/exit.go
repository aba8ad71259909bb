package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/report"
)

// Exit codes of every command that does not document its own.
const (
	ExitOK     = 0
	ExitFailed = 1 // what was asked could not be done
	ExitUsage  = 2 // the command line or the configuration file is wrong
)

// ExitError ends the program with a code of the command's own choice. With a
// nil Err nothing is printed: the code is a verdict, not a failure.
type ExitError struct {
	Code int
	Err  error
}

// Error returns the text of Err, or names the code.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// usageError marks an error as the user's: it gets the command's usage code and a pointer to its help.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef returns a usage error. A command's function returns it for what only
// the command itself can tell, such as two flags that contradict each other.
func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// exitStatus is the part of a command's contract that shells see.
type exitStatus struct {
	Failed int           // code for an error of the command
	Usage  int           // code for a usage error
	Table  []exitMeaning // for the man page, in ascending order
}

type exitMeaning struct {
	Code    int
	Meaning string
}

// defaultExitStatus holds for every command without an entry of its own.
func defaultExitStatus() exitStatus {
	return exitStatus{Failed: ExitFailed, Usage: ExitUsage, Table: []exitMeaning{
		{ExitOK, "done"},
		{ExitFailed, "what was asked could not be done"},
		{ExitUsage, "the command line or the configuration file is wrong"},
	}}
}

// Annotations that carry a command's exit status, because cobra has no field for it.
const (
	annotationFailed = "cswatch.exit.failed"
	annotationUsage  = "cswatch.exit.usage"
	annotationTable  = "cswatch.exit.table"
)

// setExitStatus gives a command exit codes of its own.
func setExitStatus(cmd *cobra.Command, s exitStatus) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	var table strings.Builder
	for _, m := range s.Table {
		fmt.Fprintf(&table, "%d %s\n", m.Code, m.Meaning)
	}
	cmd.Annotations[annotationFailed] = fmt.Sprint(s.Failed)
	cmd.Annotations[annotationUsage] = fmt.Sprint(s.Usage)
	cmd.Annotations[annotationTable] = table.String()
}

// exitStatusOf returns a command's exit codes: its own, or the default.
func exitStatusOf(cmd *cobra.Command) exitStatus {
	s := defaultExitStatus()
	if cmd == nil || cmd.Annotations[annotationTable] == "" {
		return s
	}
	fmt.Sscan(cmd.Annotations[annotationFailed], &s.Failed)
	fmt.Sscan(cmd.Annotations[annotationUsage], &s.Usage)
	s.Table = nil
	for line := range strings.Lines(cmd.Annotations[annotationTable]) {
		code, meaning, _ := strings.Cut(strings.TrimSpace(line), " ")
		m := exitMeaning{Meaning: meaning}
		fmt.Sscan(code, &m.Code)
		s.Table = append(s.Table, m)
	}
	return s
}

// exitCode prints what went wrong, if anything did, and returns the code of the run.
func exitCode(env *Env, cmd *cobra.Command, err error) int {
	status := exitStatusOf(cmd)
	var exit *ExitError
	isExit := errors.As(err, &exit)
	if (err == nil || isExit && exit.Err == nil) && env.stdoutErr() != nil {
		// The verdict never reached its reader, so the code must not pretend it did.
		printError(env.Stderr, env.stdoutErr())
		return status.Failed
	}
	var usage *usageError
	switch {
	case err == nil:
		return ExitOK
	case isExit && exit.Err == nil:
		return exit.Code
	case isExit:
		printError(env.Stderr, err)
		return exit.Code
	case errors.As(err, &usage):
		printError(env.Stderr, err)
		fmt.Fprintf(env.Stderr, "cswatch: see '%s --help'\n", cmd.CommandPath())
		return status.Usage
	}
	printError(env.Stderr, err)
	return status.Failed
}

// printError writes one line "cswatch: <what>" for each line of the error's
// text. What could steer a terminal, as names of files may, is written as an escape.
func printError(w io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			continue
		}
		fmt.Fprintf(w, "cswatch: %s\n", report.Safe(line))
	}
}
