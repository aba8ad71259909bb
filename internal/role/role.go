package role

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
)

// self is the running program, also when its file was replaced in the meantime.
const self = "/proc/self/exe"

// Role is one in which a program starts itself. It must not be copied.
type Role struct {
	variable string // of the environment: what the role is told
	does     string // what cannot be done without it, for errors
	call     string // what main has to call for it
	armed    atomic.Bool
}

// New returns a role: the variable that tells it, what it does, as in "guard the clocksource",
// and the function that main has to call first, as in "lease.GuardianMain".
func New(variable, does, call string) *Role {
	return &Role{variable: variable, does: does, call: call}
}

// Taken returns what the process is told, and whether it was started in the role. From
// then on it may start others. The variable is gone, so that what the process starts is not taken for it.
func (r *Role) Taken() (told string, taken bool) {
	told, taken = os.LookupEnv(r.variable)
	os.Unsetenv(r.variable)
	if !taken {
		r.armed.Store(true)
	}
	return told, taken
}

// Ready is an error where the program does not ask for the role in its main.
func (r *Role) Ready() error {
	if !r.armed.Load() {
		return fmt.Errorf("%s: this program does not call %s, so it cannot start itself for that", r.does, r.call)
	}
	return nil
}

// Command returns the command of this program in the role. Its name in lists of processes is this
// program's, with the arguments behind it. It is not started, and has the environment of this process.
func (r *Role) Command(told string, args ...string) (*exec.Cmd, error) {
	c := exec.Command(self)
	return c, r.Cast(c, told, args...)
}

// Start starts a command with pipes to its input and from its output. After an error
// none of them is open.
func Start(c *exec.Cmd) (input io.WriteCloser, output io.ReadCloser, err error) {
	if input, err = c.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if output, err = c.StdoutPipe(); err != nil {
		return nil, nil, errors.Join(err, input.Close())
	}
	return input, output, c.Start() // which closes them where it fails
}

// Cast makes a command this program in the role; all but path, arguments and environment stays.
func (r *Role) Cast(c *exec.Cmd, told string, args ...string) error {
	if err := r.Ready(); err != nil {
		return err
	}
	environment := c.Env
	if environment == nil {
		environment = os.Environ()
	}
	c.Path, c.Args = self, append([]string{os.Args[0]}, args...)
	c.Env = append(environment[:len(environment):len(environment)], r.variable+"="+told)
	return nil
}
