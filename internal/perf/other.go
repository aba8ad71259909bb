//go:build !linux

package perf

import (
	"fmt"
	"io/fs"
	"os/exec"
	"runtime"
)

// Session is a profile being taken, which needs Linux.
type Session struct{}

func elsewhere() error {
	return fmt.Errorf("profiles can be taken on Linux only, and this is %s", runtime.GOOS)
}

// Open returns an error that says so.
func Open(c Config, _ *Cache) (*Session, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return nil, elsewhere()
}

// Start returns an error.
func (s *Session) Start() error { return elsewhere() }

// Stop returns an error.
func (s *Session) Stop() (*Profile, error) { return nil, elsewhere() }

// Close does nothing.
func (s *Session) Close() {}

// Ended never ends.
func (s *Session) Ended() <-chan struct{} { return nil }

// Attempts returns none.
func (s *Session) Attempts() []Attempt { return nil }

// Restrictions returns none.
func (s *Session) Restrictions() []Restriction { return nil }

// ReadSight knows nothing.
func ReadSight() Sight { return Sight{} }

func deviceAndInode(fs.FileInfo) (device, inode uint64) { return 0, 0 }

// ChildMain returns at once: there is no command that is held.
func ChildMain() {}

// Held is a command that waits, which needs Linux.
type Held struct{ Command *exec.Cmd }

// Hold returns an error.
func Hold(*exec.Cmd) (*Held, error) { return nil, elsewhere() }

// Release returns an error.
func (h *Held) Release() error { return elsewhere() }

// Drop does nothing.
func (h *Held) Drop() {}

// CallCounter counts calls of kernel functions, which needs Linux.
type CallCounter struct{}

// CountCalls returns an error that says so.
func CountCalls(symbols []string, _ []int) (*CallCounter, error) {
	e := &NotCounted{}
	for _, s := range symbols {
		e.Functions = append(e.Functions, Uncounted{s, "calls of kernel functions are counted on Linux only, and this is " + runtime.GOOS})
	}
	return nil, e
}

// Read returns an error.
func (c *CallCounter) Read() ([]Calls, error) { return nil, elsewhere() }

// Skipped returns none.
func (c *CallCounter) Skipped() []Uncounted { return nil }

// Close does nothing.
func (c *CallCounter) Close() {}
