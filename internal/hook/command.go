package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// DefaultCommandLimit is how long a command may run.
	DefaultCommandLimit = 30 * time.Second

	grace     = 2 * time.Second // between SIGTERM and SIGKILL
	lastWait  = time.Second     // for what SIGKILL does not end: it hangs in the kernel
	maxOutput = 4 << 10
)

// CommandConfig says which command is run. It is started without a shell.
type CommandConfig struct {
	// Path is absolute, or a name that is looked for in PATH once.
	Path  string
	Args  []string      // without the name of the program
	Limit time.Duration // 0: DefaultCommandLimit
	Log   *slog.Logger  // gets the output; nil: it is lost
}

// Validate reports everything that is wrong with the configuration, without a look at the machine.
func (c CommandConfig) Validate() error {
	var all []error
	wrong := func(format string, args ...any) {
		all = append(all, fmt.Errorf("the command to run on events: "+format, args...))
	}
	switch {
	case c.Path == "":
		wrong("it is empty")
	case strings.Contains(c.Path, "/") && !filepath.IsAbs(c.Path):
		wrong("%q is not an absolute path, and the folder of a daemon is not yours: give the whole path", c.Path)
	}
	for _, word := range append([]string{c.Path}, c.Args...) {
		if strings.ContainsRune(word, 0) {
			wrong("%q holds a NUL", word)
		}
	}
	if c.Limit < 0 {
		wrong("a time limit of %v", c.Limit)
	}
	return errors.Join(all...)
}

// Command runs a program for each event, one at a time.
//
// The program gets the arguments of the configuration, the document of the event on its standard input and
// in its environment what [Event.Environment] returns; besides only PATH, HOME, LANG, LC_ALL, LOGNAME, TMPDIR, TZ and USER of this
// program, so that neither secrets nor the sockets of a service manager reach it. Its folder is "/", no descriptor
// but the first three is open, and it has the user and the rights of this program. The first 4 KiB of its output are logged.
//
// It stands in a process group of its own. When it has run for too long, or when the context ends, the group gets
// SIGTERM and 2 s later SIGKILL. When it has ended by itself, what it has left in the group is killed. Whoever leaves the group (setsid) is
// not found. The program itself dies with this one where the system can do that.
//
// Exit code 0 is [OK], every other one, and a program that cannot be started, [Failed].
type Command struct {
	path        string
	args        []string
	limit       time.Duration
	log         *slog.Logger
	environment []string
	slot        chan struct{} // holds something while a process runs
	after       func(time.Duration) <-chan time.Time
	pipes       time.Duration // for the output of a process that has left the group
}

// NewCommand returns the command. A program that is not there, or cannot be executed, is an error at once, and not only when it is needed.
func NewCommand(c CommandConfig) (*Command, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	path, err := exec.LookPath(c.Path)
	if err != nil {
		return nil, fmt.Errorf("the command to run on events: %w; it has to be a file that may be executed", err)
	}
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("the command to run on events: %s was found as %s, by a PATH that is not absolute: give the whole path", c.Path, path)
	}
	h := &Command{
		path: path, args: slices.Clone(c.Args), limit: c.Limit, log: logger(c.Log),
		environment: handedOn(), slot: make(chan struct{}, 1), after: time.After, pipes: time.Second,
	}
	if h.limit == 0 {
		h.limit = DefaultCommandLimit
	}
	return h, nil
}

// handedOn is what a command has of this program's environment.
func handedOn() []string {
	var list []string
	for _, name := range []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "TMPDIR", "TZ", "USER"} {
		if value, set := os.LookupEnv(name); set {
			list = append(list, name+"="+value)
		}
	}
	path := os.Getenv("PATH")
	if path == "" {
		path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	return append(list, "PATH="+path)
}

// Tell runs the command.
func (c *Command) Tell(ctx context.Context, e Event) (Outcome, error) {
	limit := c.after(c.limit)
	select {
	case c.slot <- struct{}{}:
	case <-limit:
		return TimedOut, fmt.Errorf("run %s: the run before it has not ended, though it was killed", c.path)
	case <-ctx.Done():
		return Failed, fmt.Errorf("run %s: %w", c.path, context.Cause(ctx))
	}
	document, err := e.Document()
	if err != nil {
		<-c.slot
		return Failed, err
	}
	cmd := exec.Command(c.path, c.args...)
	cmd.Dir = "/"
	cmd.Env = append(c.environment[:len(c.environment):len(c.environment)], e.Environment()...)
	cmd.Stdin = bytes.NewReader(document)
	var output clipped
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = c.pipes
	p, err := start(cmd, func() { <-c.slot })
	if err != nil {
		return Failed, fmt.Errorf("run %s: %w", c.path, err)
	}
	outcome, err := c.await(ctx, p, limit)
	if p.over() {
		c.say(e, outcome, &output)
	}
	return outcome, err
}

// await waits until the process has ended, and ends it where it runs too long.
func (c *Command) await(ctx context.Context, p *process, limit <-chan time.Time) (Outcome, error) {
	select {
	case <-p.done:
		if p.err == nil || errors.Is(p.err, exec.ErrWaitDelay) { // it ended well, and something outside of the group has its output
			return OK, nil
		}
		return Failed, fmt.Errorf("run %s: %w", c.path, p.err)
	case <-limit:
		if !c.end(p) {
			return TimedOut, fmt.Errorf("run %s: it was killed after %v and does not end", c.path, c.limit)
		}
		return TimedOut, fmt.Errorf("run %s: it was ended after %v", c.path, c.limit)
	case <-ctx.Done():
		c.end(p)
		return Failed, fmt.Errorf("run %s: it was ended: %w", c.path, context.Cause(ctx))
	}
}

// end ends the process and its group, and reports whether it has ended.
func (c *Command) end(p *process) bool {
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, lastWait + c.pipes}} {
		p.signal(step.signal)
		select {
		case <-p.done:
			return true
		case <-c.after(step.wait):
		}
	}
	return p.over()
}

// say logs what the command has printed.
func (c *Command) say(e Event, outcome Outcome, output *clipped) {
	text := strings.TrimSpace(strings.ToValidUTF8(string(output.head), "?"))
	if text == "" {
		return
	}
	level := slog.LevelInfo
	if outcome != OK {
		level = slog.LevelWarn
	}
	c.log.Log(context.Background(), level, "output of the command", keyEvent, e.ID(), keyOutput, text, keyCut, output.lost)
}

// clipped keeps the first bytes of what is written to it.
type clipped struct {
	head []byte
	lost int64
}

func (c *clipped) Write(p []byte) (int, error) {
	n := min(len(p), maxOutput-len(c.head))
	c.head = append(c.head, p[:n]...)
	c.lost += int64(len(p) - n)
	return len(p), nil
}
