package cli

import (
	"os/exec"
	"syscall"
	"time"

	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/internal/report"
)

// A command that is still at work at the end of its profile is told to end, after a grace where the signal
// that ended the profile may have reached it, too, and is ended after a longer one.
const (
	commandGrace = time.Second
	commandLimit = 5 * time.Second
)

// profiledCommand is a command that runs for its profile. A nil one is none.
type profiledCommand struct {
	held    *perf.Held
	began   time.Time
	seconds float64
	ended   chan struct{}
	stopped bool
}

// holdCommand starts a command that waits to be released. Its output goes to our standard error,
// since nothing but the result goes to standard output.
func holdCommand(env *Env, words []string) (*profiledCommand, error) {
	c := exec.Command(words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = env.Stdin, env.Stderr, env.Stderr
	c.WaitDelay = commandLimit
	held, err := perf.Hold(c)
	if err != nil {
		return nil, err
	}
	return &profiledCommand{held: held, ended: make(chan struct{})}, nil
}

func (c *profiledCommand) pid() int { return c.held.Command.Process.Pid }

// drop ends a command that was not released.
func (c *profiledCommand) drop() {
	if c != nil {
		c.held.Drop()
	}
}

// release lets the command begin.
func (c *profiledCommand) release() error {
	if c == nil {
		return nil
	}
	c.began = time.Now()
	if err := c.held.Release(); err != nil {
		return err
	}
	go func() {
		c.held.Command.Wait() // its state says how it ended
		c.seconds = time.Since(c.began).Seconds()
		close(c.ended)
	}()
	return nil
}

// done is closed when the command has ended, and for none never.
func (c *profiledCommand) done() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.ended
}

// finish sees to it that the command ends. A signal may have gone to it, too, as that of a terminal does.
func (c *profiledCommand) finish(signalled bool) {
	if c == nil {
		return
	}
	if signalled && c.endsWithin(commandGrace) || c.endsWithin(0) {
		return
	}
	c.stopped = true
	c.held.Command.Process.Signal(syscall.SIGTERM)
	if !c.endsWithin(commandLimit) {
		c.held.Command.Process.Kill()
		<-c.ended
	}
}

func (c *profiledCommand) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.ended:
		return true
	case <-timer.C:
	}
	select {
	case <-c.ended: // both may have been true
		return true
	default:
		return false
	}
}

// outcome tells how the command ended, nil for none. It has.
func (c *profiledCommand) outcome() *report.ProfiledCommand {
	if c == nil {
		return nil
	}
	state := c.held.Command.ProcessState
	r := &report.ProfiledCommand{PID: c.pid(), ExitCode: state.ExitCode(), Stopped: c.stopped, Seconds: c.seconds}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal = status.Signal().String()
	}
	return r
}
