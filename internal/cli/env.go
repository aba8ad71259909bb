package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/term"
)

// Env is what a command may touch: its streams and its surroundings. Commands
// reach the world through it, so that tests can replace any part.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer // the result and nothing else
	Stderr io.Writer // errors, warnings, progress

	// Getenv returns the value of an environment variable, "" if it is not set.
	Getenv func(name string) string
	// IsTerminal reports whether a stream is a terminal.
	IsTerminal func(w io.Writer) bool
	// BuildInfo returns what the Go toolchain recorded in the program.
	BuildInfo func() (*debug.BuildInfo, bool)

	color *choice // the value of --color
}

// newEnv returns the surroundings of a real run on the given streams.
func newEnv(stdin io.Reader, stdout, stderr io.Writer) *Env {
	return &Env{
		Stdin:      stdin,
		Stdout:     &stickyWriter{w: stdout},
		Stderr:     stderr,
		Getenv:     os.Getenv,
		IsTerminal: isTerminal,
		BuildInfo:  debug.ReadBuildInfo,
		color:      newChoice("auto", "always", "never"),
	}
}

func isTerminal(w io.Writer) bool {
	if s, ok := w.(*stickyWriter); ok {
		w = s.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Color reports whether text written to w may carry colour. The flag --color
// decides; under "auto" NO_COLOR forbids, CLICOLOR_FORCE demands, and otherwise
// only a terminal that is not dumb gets colour. The variables mean what
// no-color.org and bixense.com/clicolors say.
func (e *Env) Color(w io.Writer) bool {
	switch e.color.String() {
	case "always":
		return true
	case "never":
		return false
	}
	force := e.Getenv("CLICOLOR_FORCE")
	switch {
	case e.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	case e.Getenv("CLICOLOR") == "0", e.Getenv("TERM") == "dumb":
		return false
	}
	return e.IsTerminal(w)
}

// stdoutErr returns the first error that writing the result met, as on a full disk.
func (e *Env) stdoutErr() error {
	if s, ok := e.Stdout.(*stickyWriter); ok && s.err != nil {
		return fmt.Errorf("write the result to standard output: %w", s.err)
	}
	return nil
}

// stickyWriter remembers the first error, so that commands need not check
// every line that they print and a lost result still ends in a failure.
type stickyWriter struct {
	w   io.Writer
	err error
}

func (s *stickyWriter) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	if err == nil && n < len(p) {
		err = errors.New("short write")
	}
	s.err = err
	return n, err
}
