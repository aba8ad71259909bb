package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu/image"
	"github.com/cswatch/cswatch/internal/qemu/qmp"
)

// How long things may take.
const (
	// probeLimit is for a boot with KVM, which takes 1 to 3 s where it works.
	probeLimit = 15 * time.Second
	// endGrace is for QEMU to end after the guest has said its end.
	endGrace = 5 * time.Second
)

// RefusedError says that QEMU ended before it ran the machine, with what it said.
type RefusedError struct {
	ExitCode int
	Stderr   string
}

func (e *RefusedError) Error() string {
	said := e.Stderr
	if said == "" {
		said = "it said nothing"
	}
	return fmt.Sprintf("QEMU did not run the machine (exit code %d): %s", e.ExitCode, said)
}

// Machine is a virtual machine that runs. It ends by itself, at its time limit
// at the latest; [Machine.Wait] tells how.
type Machine struct {
	spec   Spec
	kernel Kernel
	args   []string
	dir    string
	socket string // for QMP, "" if there is none

	state   *savedState // from which it goes on, nil for a boot
	proc    *process
	began   time.Time
	console text
	stderr  text
	records collector
	readers sync.WaitGroup

	stop     context.CancelCauseFunc // ends the machine
	finished chan struct{}           // closed when result and err are there
	result   Result
	err      error
}

// Causes of an end from outside.
var (
	errKilled = errors.New("killed by the caller")
	errSaved  = errors.New("its state was saved")
	errLimit  = errors.New("time limit")
)

// Boot boots a machine, waits until it ends, and returns what it brought. An
// error means that the machine could not be run, or that ctx ended; the Result
// then holds what there was.
func (c Config) Boot(ctx context.Context, spec Spec) (Result, error) {
	m, err := c.Start(ctx, spec)
	if err != nil {
		return Result{}, err
	}
	return m.Wait()
}

// Start boots a machine and returns while it runs. It ends when the guest has
// carried out its plan, at the time limit, and when ctx ends.
func (c Config) Start(ctx context.Context, spec Spec) (*Machine, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	m := &Machine{spec: spec.withDefaults()}
	var p paths
	var err error
	if p.qemu, err = c.FindQEMU(); err != nil {
		return nil, err
	}
	if m.kernel, err = c.Prepare(spec.Kernel); err != nil {
		return nil, err
	}
	guestPath, err := c.FindGuest(ctx)
	if err != nil {
		return nil, err
	}
	if spec.From != "" {
		if m.state, err = openState(spec.From, spec.Steps); err != nil {
			return nil, err
		}
	}
	// The system's folder for temporary files, for the path of a socket may have
	// 107 bytes only.
	if m.dir, err = os.MkdirTemp("", "cswatch-boot-"); err != nil {
		return nil, errors.Join(fmt.Errorf("make a folder for the boot: %w", err), m.state.close())
	}
	p.kernel, p.initramfs = m.kernel.Path, filepath.Join(m.dir, "initramfs")
	if spec.QMP {
		m.socket = filepath.Join(m.dir, "qmp")
		p.qmp = m.socket
	}
	err = writeFile(p.initramfs, func(w io.Writer) error { return writeInitramfs(w, guestPath, spec.Files) })
	if err == nil {
		m.args = m.spec.arguments(p)
		err = m.run(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, m.state.close(), os.RemoveAll(m.dir))
	}
	return m, nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// run starts QEMU and what reads its pipes.
func (m *Machine) run(ctx context.Context, c Config) error {
	m.console.limit, m.stderr.limit = consoleKept, stderrKept
	cmd := exec.Command(m.args[0], m.args[1:]...)
	var ours, theirs []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	pipes := 3
	if m.state != nil {
		pipes = 4
	}
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(ours, theirs...))
			return fmt.Errorf("make pipes for QEMU: %w", err)
		}
		if i == stateFD-1 { // the one from which QEMU reads
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = theirs[0], theirs[1], theirs[2:]
	m.began = time.Now()
	m.records = collector{began: m.began, midway: m.state != nil, observe: c.Observe, ended: make(chan struct{})}
	var err error
	m.proc, err = startProcess(cmd, c.CPUs)
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return fmt.Errorf("start QEMU: %w", err)
	}
	m.readers.Go(func() { _, _ = io.Copy(&m.console, ours[0]) })
	m.readers.Go(func() { _, _ = io.Copy(&m.stderr, ours[1]) })
	m.readers.Go(func() { m.records.read(ours[2]) })
	if m.state != nil {
		m.readers.Go(func() {
			m.state.send(ours[3])
			ours[3].Close() // QEMU reads on to the end
		})
	}
	ctx, m.stop = context.WithCancelCause(ctx)
	m.finished = make(chan struct{})
	go func() {
		defer close(m.finished)
		m.result, m.err = m.finish(ctx)
		closeAll(ours)
	}()
	return nil
}

// QMP connects to the machine, which must have been specified with QMP.
func (m *Machine) QMP(ctx context.Context) (*qmp.Client, error) {
	if m.socket == "" {
		return nil, errors.New("connect to QEMU: the machine was specified without QMP")
	}
	// The socket of a machine that has ended may never have been there.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-m.finished:
			cancel(errors.New("the machine has ended"))
		case <-ctx.Done():
		}
	}()
	client, err := qmp.Dial(ctx, m.socket)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("connect to QEMU: %w", context.Cause(ctx))
	}
	return client, err
}

// Command is QEMU's command line. What it names is there until the machine has ended.
func (m *Machine) Command() []string { return m.args }

// Kill ends the machine at once.
func (m *Machine) Kill() { m.stop(errKilled) }

// Wait waits until the machine ends and returns what it brought; see [Config.Boot].
func (m *Machine) Wait() (Result, error) {
	<-m.finished
	return m.result, m.err
}

// finish waits for QEMU, ends it where it must, and sums up.
func (m *Machine) finish(ctx context.Context) (Result, error) {
	var killedBy error
	limit := time.NewTimer(time.Until(m.began.Add(m.spec.Limit)))
	defer limit.Stop()
	ended := m.records.ended
	var grace <-chan time.Time
	for running := true; running; {
		select {
		case <-m.proc.done:
			running = false
		case <-ended:
			ended, grace = nil, time.After(endGrace)
		case <-grace:
			grace = nil
			m.proc.kill() // it has said all
		case <-limit.C:
			killedBy = errLimit
			m.proc.kill()
		case <-ctx.Done():
			killedBy = context.Cause(ctx)
			m.proc.kill()
			<-m.proc.done
			running = false
		}
	}
	m.proc.kill() // what QEMU has started and left behind
	m.readers.Wait()
	m.stop(nil)
	r := m.sumUp(killedBy)
	err := os.RemoveAll(m.dir)
	var caller error
	switch {
	case r.Outcome == Stopped && !errors.Is(killedBy, errKilled) && !errors.Is(killedBy, errSaved):
		caller = fmt.Errorf("boot %s: %w", m.spec.Kernel, killedBy)
	case (r.Outcome == NeverBooted || r.Resumed && r.Outcome == Died) && r.ExitCode == 1 && r.Console == "" && len(r.Records) == 0:
		// QEMU's own errors have this code, and come before the machine says anything.
		caller = &RefusedError{ExitCode: r.ExitCode, Stderr: r.Stderr}
	}
	return r, errors.Join(caller, m.state.close(), err)
}

// sumUp makes the result after everything has ended.
func (m *Machine) sumUp(killedBy error) Result {
	c := &m.records
	r := Result{
		Command: m.args, Kernel: m.kernel, Resumed: m.state != nil,
		Hello: c.hello, End: c.end, Records: c.records, Dropped: c.dropped, Damaged: c.damaged,
		Load: c.load, Files: c.files.whole, CutFiles: c.files.cut,
		Console: string(m.console.kept), ConsoleCut: m.console.cut, Stderr: withoutWarnings(string(m.stderr.kept)),
		Booted: c.booted, Wall: m.proc.ended.Sub(m.began), CPU: m.proc.cpu(), ExitCode: m.proc.exitCode(),
	}
	// What QEMU wrote last may have been read when it was gone.
	if n := len(r.Records); n > 0 {
		r.Wall = max(r.Wall, r.Records[n-1].At)
	}
	limit := errors.Is(killedBy, errLimit)
	since := fmt.Sprintf("it had booted after %.1f s", c.booted.Seconds())
	if r.Resumed {
		since = "it had gone on from a saved state"
	}
	ran := c.hello != nil || r.Resumed
	switch panicked := m.console.panicked(); {
	case c.end != nil:
		r.Outcome, r.Why = Done, "the guest carried out its plan: "+endText(c.end)
	case killedBy != nil && !limit:
		r.Outcome, r.Why = Stopped, fmt.Sprintf("ended from outside: %v", killedBy)
	case panicked != "":
		r.Outcome, r.Why = Panicked, panicked
	case limit && ran:
		r.Outcome, r.Why = Hung, fmt.Sprintf("the guest did not end within %v; %s", m.spec.Limit, since)
	case limit:
		r.Outcome, r.Why = NeverBooted, fmt.Sprintf("process 1 did not run within %v; the console's last line: %s", m.spec.Limit, lastLine(r.Console))
	case ran:
		r.Outcome, r.Why = Died, fmt.Sprintf("the machine ended (QEMU's exit code %d) before the guest did; the console's last line: %s", r.ExitCode, lastLine(r.Console))
	default:
		r.Outcome, r.Why = NeverBooted, fmt.Sprintf("the machine ended (QEMU's exit code %d) before process 1 ran; the console's last line: %s", r.ExitCode, lastLine(r.Console))
	}
	if m.kernel.Format == image.BzImage && m.kernel.Why != "" && r.Outcome != Done {
		r.Why += " (booted from the packed image: " + m.kernel.Why + ")"
	}
	return r
}

func endText(e *guest.End) string {
	switch e.Reason {
	case guest.EndEvent:
		return "the kernel log said " + e.Event
	case guest.EndProgram:
		if e.Exit != nil {
			return fmt.Sprintf("its program ended with exit code %d", *e.Exit)
		}
		return "its program ended"
	case guest.EndTrouble:
		return "it could not go on"
	}
	return "the window passed"
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return last
	}
	return "(it is empty)"
}

// withoutWarnings drops what TCG says at every start of the CPU model's features
// that it does not emulate.
func withoutWarnings(s string) string {
	var kept []string
	for line := range strings.Lines(s) {
		if !strings.Contains(line, "doesn't support requested feature") {
			kept = append(kept, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(kept, "\n")
}
