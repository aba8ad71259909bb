package lease

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/cswatch/cswatch/internal/role"
)

// guarding is the role of the guardian of a lease.
var guarding = role.New("CSWATCH_LEASE_GUARDIAN", "guard the clocksource", "lease.GuardianMain")

const (
	guardianStart = 10 * time.Second // until it is ready
	guardianStop  = 10 * time.Second // until it is killed, when it has nothing left to do
	wordReady     = "ready\n"
	wordDone      = "done\n"
)

// job is what the guardian has to know, its first line of input. Its input stays
// open as long as the borrower lives.
type job struct {
	Sysfs string `json:"sysfs"`
	State string `json:"state"`
	Old   string `json:"old"`
}

// GuardianMain is called first thing in main. In a process that was started as the
// guardian of a lease it does that work and does not return; in any other it returns at once.
func GuardianMain() {
	if _, taken := guarding.Taken(); !taken {
		return
	}
	// What ends the borrower must not end its guardian. An order to end, as of a machine
	// that is shut down, is obeyed: by giving back at once, whereupon the borrower stops.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	ordered := make(chan os.Signal, 1)
	signal.Notify(ordered, syscall.SIGTERM)
	gave, err := guardLease(os.Stdin, os.Stdout, ordered)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cswatch: guardian of the clocksource:", err)
		os.Exit(1)
	}
	if gave != "" {
		fmt.Fprintf(os.Stderr, "cswatch: the run ended without giving the clocksource back; its guardian did: %s is current again\n", gave)
	}
	os.Exit(0)
}

// guardLease waits for the borrower's end, and gives back in its place unless it was
// told that it is done. It returns what it gave back, "" if nothing.
func guardLease(in io.Reader, out io.Writer, ordered <-chan os.Signal) (gave string, err error) {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return "", fmt.Errorf("read what to guard: %w", err)
	}
	var j job
	if err := json.Unmarshal(line, &j); err != nil {
		return "", fmt.Errorf("understand what to guard: %w", err)
	}
	if _, err := io.WriteString(out, wordReady); err != nil {
		return "", fmt.Errorf("tell the borrower: %w", err)
	}
	last := make(chan string, 1)
	go func() {
		word, _ := r.ReadString('\n') // the borrower's death is the end of the file
		last <- word
	}()
	select {
	case word := <-last:
		if word == wordDone {
			return "", nil
		}
	case <-ordered:
	}
	f := folder(j.Sysfs)
	before, _ := f.current()
	if err := giveBack(f, state(j.State), j.Old); err != nil {
		return "", err
	}
	after, err := f.current()
	if before == after {
		return "", err
	}
	return after, err
}

// guardian is the borrower's side.
type guardian struct {
	command *exec.Cmd
	input   io.WriteCloser // its closing, by whatever, ends the guardian
	gone    chan struct{}  // closed when it has ended
	ended   error          // how, once gone is closed
}

// startGuardian starts this program again, in a session of its own and with the lock, and
// waits until it is ready.
func startGuardian(j job, lock *os.File) (*guardian, error) {
	c, err := guarding.Command("", "(gives the clocksource "+j.Old+" back)")
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	c.Dir = "/"
	c.Stderr = os.Stderr
	c.ExtraFiles = []*os.File{lock}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, output, err := role.Start(c)
	if err != nil {
		return nil, fmt.Errorf("start the guardian of the clocksource: %w", err)
	}
	g := &guardian{command: c, input: input, gone: make(chan struct{})}
	ready := make(chan error, 1)
	go func() {
		word, err := bufio.NewReader(output).ReadString('\n')
		if err == nil && word != wordReady {
			err = fmt.Errorf("it began with %q", word)
		}
		ready <- err
		_, _ = io.Copy(io.Discard, output) // until its end
		g.ended = c.Wait()
		close(g.gone)
	}()
	late := time.AfterFunc(guardianStart, func() { _ = c.Process.Kill() })
	defer late.Stop()
	_, err = input.Write(append(line, '\n'))
	if told := <-ready; told != nil || err != nil {
		_ = input.Close()
		_ = c.Process.Kill()
		<-g.gone
		return nil, fmt.Errorf("start the guardian of the clocksource: %w (%v)", errors.Join(err, told), g.ended)
	}
	return g, nil
}

// dismiss tells the guardian that nothing is left to do.
func (g *guardian) dismiss() { _, _ = io.WriteString(g.input, wordDone) }

// wait ends the guardian's work and waits for its end, which lets go of the lock.
func (g *guardian) wait() {
	_ = g.input.Close()
	late := time.AfterFunc(guardianStop, func() { _ = g.command.Process.Kill() })
	defer late.Stop()
	<-g.gone
}
