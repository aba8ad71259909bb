package hw

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/role"
	"golang.org/x/sys/unix"
)

// reading is the role of the child that reads ports.
var reading = role.New("CSWATCH_HW_CHILD", "read ports", "hw.ChildMain")

const (
	childStart = 5 * time.Second // until it is ready
	childStop  = 2 * time.Second // until it is killed
	maxJob     = 1 << 20
	maxStderr  = 4 << 10
)

// job is what the child is to do, its first line of input. Its input stays open
// as long as it is wanted: it ends when its parent ends, however that came about.
type job struct {
	Plan Plan   `json:"plan"`
	Port uint16 `json:"port,omitempty"` // of the ACPI PM timer
	From string `json:"from,omitempty"` // who named the port
	Try  bool   `json:"try,omitempty"`  // only see whether the port can be read
}

// ChildMain is the first thing that main calls. In a process that was started as
// the child that reads I/O ports it does that and does not return; in any other it
// returns at once.
func ChildMain() {
	if _, taken := reading.Taken(); !taken {
		return
	}
	// Permission for ports is a thread's, and the loop stays on this one.
	runtime.LockOSThread()
	// The terminal sends its interrupt to the child, too; the parent decides when to stop.
	signal.Ignore(os.Interrupt)
	if err := childRun(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// childRun does the job and reports its outcome in frames; it fails only where it cannot report.
func childRun(in, out *os.File) error {
	// Byte by byte, so that nothing behind the line is taken from who waits for the end.
	line, err := readLine(in)
	if err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	var j job
	if err := json.Unmarshal(line, &j); err != nil {
		return fmt.Errorf("understand what to do: %w", err)
	}
	r, err := j.open()
	if err != nil {
		return putFrame(out, frameError, appendError(nil, err))
	}
	if err := putFrame(out, frameReady, appendCounter(nil, r.Reference())); err != nil || j.Try {
		return errors.Join(err, r.Close())
	}
	rig := newRig(r)
	rig.pin, rig.free = Pin, func() {} // this thread stays bound: the process has nothing else to do
	rig.wait = func(until clocksource.Nanos) bool { return waitOrClosed(in, until) }
	var frame []byte
	err = rig.run(j.Plan, func(t *Tick) error {
		frame = appendTick(frame[:0], t)
		return putFrame(out, frameTick, frame)
	})
	if err != nil {
		return putFrame(out, frameError, appendError(nil, err))
	}
	return errors.Join(putFrame(out, frameEnd, nil), r.Close())
}

func readLine(r io.Reader) ([]byte, error) {
	var line []byte
	var b [1]byte
	for len(line) < maxJob {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, err
		}
		if b[0] == '\n' {
			return line, nil
		}
		line = append(line, b[0])
	}
	return nil, errors.New("the line is too long")
}

// waitOrClosed sleeps on this thread until the time or until the other end of
// the file closes, and reports the latter.
func waitOrClosed(f *os.File, until clocksource.Nanos) bool {
	for {
		left := max(until-monotonic(), 0)
		timeout := unix.NsecToTimespec(int64(left))
		fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
		n, err := unix.Ppoll(fds, &timeout, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return true
		case n > 0: // nothing is ever sent after the job, so this is the end
			return true
		case left == 0 || monotonic() >= until:
			return false
		}
	}
}

// open opens what the job reads.
func (j job) open() (*Reader, error) {
	if j.Plan.Reference != ACPIPM {
		return OpenReader(j.Plan.Reference)
	}
	if err := allowPorts(j.Port); err != nil {
		return nil, iopermError(j.Port, err)
	}
	r := &Reader{
		reference: Counter{Name: ACPIPM, Hz: PMTimerHz, Mask: clocksource.Mask24, From: fmt.Sprintf("I/O port %#x, named by %s, read by a child process", j.Port, j.From)},
		how:       byPort, port: j.Port,
	}
	var v [4]uint64
	readBackPort(j.Port, &v)
	if v[0] == 0xffffffff && v[2] == v[0] {
		return nil, &NotHere{What: ACPIPM, Reason: fmt.Sprintf("nothing answers at I/O port %#x", j.Port)}
	}
	if err := r.advances(); err != nil {
		return nil, err
	}
	return r, nil
}

func iopermError(port uint16, err error) *NotHere {
	n := &NotHere{What: ACPIPM, Reason: fmt.Sprintf("ioperm for port %#x: %v", port, err)}
	switch {
	case errors.Is(err, unix.ENOSYS):
		n.Remedy = "the kernel is built without CONFIG_X86_IOPL_IOPERM"
	case errors.Is(err, unix.EPERM):
		n.Remedy = "run as root, outside of a container, on a kernel that is not locked down (/sys/kernel/security/lockdown)"
	default:
		n.Unsure = true
	}
	return n
}

// childSource takes read-backs in a child.
type childSource struct {
	counter Counter
	command *exec.Cmd
	input   io.Closer // closing it ends the child
	frames  *bufio.Reader
	stderr  *tail
}

// startChild starts this program again and waits until it is ready. Its error
// is that of the child where it has one.
func startChild(j job) (*childSource, error) {
	c, err := reading.Command("", "(reads "+j.Plan.Reference+")")
	if err != nil {
		return nil, &NotHere{What: ACPIPM, Reason: err.Error()}
	}
	line, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	s := &childSource{command: c, stderr: &tail{}}
	c.Stderr = s.stderr
	c.WaitDelay = childStop
	input, output, err := role.Start(c)
	if err != nil {
		return nil, fmt.Errorf("start the child that reads ports: %w", err)
	}
	s.input, s.frames = input, bufio.NewReader(output)
	late := time.AfterFunc(childStart, func() { _ = c.Process.Kill() }) // a child that hangs is read to its end
	_, err = input.Write(append(line, '\n'))
	if err == nil {
		err = s.ready()
	}
	if !late.Stop() && err != nil {
		err = fmt.Errorf("the child was not ready in %v: %w", childStart, err)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// ready reads the first frame.
func (s *childSource) ready() error {
	kind, payload, err := s.next()
	if err != nil {
		return err
	}
	if kind != frameReady {
		return fmt.Errorf("the child that reads ports began with a frame of kind %q", kind)
	}
	s.counter, err = decodeCounter(payload)
	return err
}

// next reads a frame; a frame of an error becomes that error.
func (s *childSource) next() (kind byte, payload []byte, err error) {
	kind, payload, err = getFrame(s.frames)
	switch {
	case err != nil:
		// It died: what it said last is complete only when it has been waited for.
		_ = s.close()
		return 0, nil, fmt.Errorf("the child that reads ports ended early (%v): %w", s.stderr, err)
	case kind == frameError:
		return 0, nil, decodeError(payload)
	}
	return kind, payload, nil
}

func (s *childSource) reference() Counter { return s.counter }

func (s *childSource) run(ctx context.Context, _ Plan, each func(*Tick) error) error {
	// When the context ends, the closed input ends the child, and the child's end the loop.
	stop := context.AfterFunc(ctx, func() { _ = s.input.Close() })
	defer stop()
	for {
		kind, payload, err := s.next()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		switch kind {
		case frameEnd:
			return nil
		case frameTick:
			t, err := decodeTick(payload)
			if err != nil {
				return fmt.Errorf("the child that reads ports: %w", err)
			}
			if err := each(t); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the child that reads ports sent a frame of unknown kind %q", kind)
		}
	}
}

// close ends the child and waits for it, for 2 s and then with a kill.
func (s *childSource) close() error {
	if s.command.ProcessState != nil {
		return nil
	}
	_ = s.input.Close() // closed already where the context has ended
	kill := time.AfterFunc(childStop, func() { _ = s.command.Process.Kill() })
	defer kill.Stop()
	// What it still has to say must not keep it from ending.
	_, _ = io.Copy(io.Discard, s.frames)
	if err := s.command.Wait(); err != nil {
		return fmt.Errorf("end the child that reads ports (%v): %w", s.stderr, err)
	}
	return nil
}

// tail keeps the beginning of what a child writes to its standard error.
type tail struct{ text bytes.Buffer }

func (t *tail) Write(b []byte) (int, error) {
	t.text.Write(b[:min(len(b), maxStderr-t.text.Len())])
	return len(b), nil
}

func (t *tail) String() string {
	if text := strings.TrimSpace(t.text.String()); text != "" {
		return "it said: " + strings.ToValidUTF8(text, "?")
	}
	return "it said nothing"
}

// tryPort tells whether a child can read the PM timer at that port.
func tryPort(port uint16) error {
	s, err := startChild(job{Plan: Plan{Reference: ACPIPM}, Port: port, From: "probing", Try: true})
	if err != nil {
		return err
	}
	return s.close()
}
