package perf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/cswatch/cswatch/internal/role"
	"golang.org/x/sys/unix"
)

// holding is the role of a process that waits to become a command, whose path it is told.
var holding = role.New("CSWATCH_PERF_HOLD", "start a command to profile", "perf.ChildMain")

// The descriptors of a process that waits: from the first it reads a byte and goes on, to the
// second it writes one when it waits, and the reason if it cannot go on.
const (
	holdGate   = 3
	holdStatus = 4
)

// ChildMain is the first thing that main calls. In a process that [Hold] started it
// waits, becomes the command and does not return; in any other it returns at once.
func ChildMain() {
	path, taken := holding.Taken()
	if !taken {
		return
	}
	unix.CloseOnExec(holdGate)
	unix.CloseOnExec(holdStatus)
	gate, status := os.NewFile(holdGate, "gate"), os.NewFile(holdStatus, "status")
	status.Write([]byte{0}) // who waits for it notices where it does not arrive
	if _, err := io.ReadFull(gate, make([]byte, 1)); err != nil {
		os.Exit(1) // whoever held this process has ended
	}
	err := syscall.Exec(path, os.Args[1:], os.Environ())
	status.Write([]byte(err.Error()))
	os.Exit(1)
}

// Held is a command that has a process and does nothing until it is let go.
type Held struct {
	Command *exec.Cmd
	gate    *os.File
	status  *os.File
}

// Hold starts a command that does nothing yet, so that a profile of its process has all that
// it will do. c says what to run and with which streams; its ExtraFiles are Hold's.
// Its process is the one that the command will be, and before that this program.
func Hold(c *exec.Cmd) (*Held, error) {
	if c.Err != nil {
		return nil, fmt.Errorf("start a command to profile: %w", c.Err)
	}
	if err := holding.Ready(); err != nil {
		return nil, err
	}
	gateRead, gate, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a command to profile: %w", err)
	}
	status, statusWrite, err := os.Pipe()
	if err != nil {
		gateRead.Close()
		gate.Close()
		return nil, fmt.Errorf("start a command to profile: %w", err)
	}
	c.ExtraFiles = []*os.File{gateRead, statusWrite}
	if err = holding.Cast(c, c.Path, c.Args...); err == nil {
		err = c.Start()
	}
	gateRead.Close()
	statusWrite.Close()
	h := &Held{Command: c, gate: gate, status: status}
	if err == nil {
		if _, err = io.ReadFull(status, make([]byte, 1)); err == nil {
			return h, nil
		}
		err = fmt.Errorf("its process ended before it began: %w", err)
	}
	h.Drop()
	return nil, fmt.Errorf("start a command to profile: %w", err)
}

// Release lets the command begin, and returns when it is what runs. Then Command.Wait waits for its end.
func (h *Held) Release() error {
	_, err := h.gate.Write([]byte{0})
	h.gate.Close()
	text, readErr := io.ReadAll(io.LimitReader(h.status, 1<<10)) // ends when the process has become the command
	h.status.Close()
	switch {
	case err == nil && len(text) > 0:
		err = errors.New(strings.TrimSpace(string(text)))
	case err == nil:
		err = readErr
	}
	if err == nil {
		return nil
	}
	h.Command.Wait() // its state is that of a process that never was the command
	return fmt.Errorf("start a command to profile: %s: %w", h.Command.Args[1], err)
}

// Drop ends the process of a command that was not let go.
func (h *Held) Drop() {
	h.gate.Close()
	h.status.Close()
	if h.Command.Process != nil {
		h.Command.Wait()
	}
}
