package kmsg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
)

// readJournal runs the journal's command and keeps its output. What the command
// starts is ended with it.
func (c Config) readJournal(ctx context.Context) (*Buffer, error) {
	limited, cancel := context.WithTimeout(ctx, c.JournalLimit)
	defer cancel()
	name := strings.Join(c.Journal, " ")
	out := clipped{half: max(c.JournalBytes/2, 1)}
	complaint := clipped{half: 2 << 10}
	cmd := exec.CommandContext(limited, c.Journal[0], c.Journal[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.WaitDelay = c.JournalLimit / 4
	// A group of its own, so that one signal reaches its children, too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return endGroup(cmd) }
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		// It has ended and left a child that holds its output.
		err = errors.Join(err, endGroup(cmd))
	}
	head, tail := out.text()
	some := hasRecord(head) || hasRecord(tail)
	b := &Buffer{Source: name, r: io.MultiReader(bytes.NewReader(head), bytes.NewReader(tail))}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("run %s: %w", name, context.Cause(ctx))
	case !some && err != nil:
		head, _ := complaint.text()
		if said := strings.TrimSpace(string(head)); said != "" {
			return nil, fmt.Errorf("run %s: %w: %s", name, err, said)
		}
		return nil, fmt.Errorf("run %s: %w; give the log with --log FILE", name, err)
	case !some:
		return nil, fmt.Errorf("run %s: %w; give the log with --log FILE", name, ErrEmpty)
	}
	if lost := out.size - int64(len(head)+len(tail)); lost > 0 {
		b.notes = append(b.notes, fmt.Sprintf("%d bytes between its beginning and its end are missing: the journal printed more than %d bytes", lost, c.JournalBytes))
	}
	switch {
	case limited.Err() != nil:
		b.notes = append(b.notes, fmt.Sprintf("its end is missing: the journal did not finish within %v", c.JournalLimit))
	case err != nil:
		b.notes = append(b.notes, fmt.Sprintf("its end may be missing: the journal ended with an error: %v", err))
	}
	return b, nil
}

// endGroup ends the command and what it has started.
func endGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err == syscall.ESRCH {
		return nil // all have ended
	}
	return err
}

// hasRecord says that the journal printed more than remarks of its own, such as
// "-- No entries --".
func hasRecord(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("-- ")) {
			return true
		}
	}
	return false
}

// clipped keeps the first and the last bytes that are written to it, in whole lines
// where some are lost.
type clipped struct {
	half int64
	head []byte
	tail []byte // used as a ring once it is full
	next int
	size int64 // of all that was written
	lost bool
}

func (c *clipped) Write(p []byte) (int, error) {
	n := len(p)
	c.size += int64(n)
	k := min(int64(len(p)), c.half-int64(len(c.head)))
	c.head = append(c.head, p[:k]...)
	p = p[k:]
	k = min(int64(len(p)), c.half-int64(len(c.tail)))
	c.tail = append(c.tail, p[:k]...)
	for p = p[k:]; len(p) > 0; p = p[k:] {
		k = int64(copy(c.tail[c.next:], p))
		c.next = (c.next + int(k)) % len(c.tail)
		c.lost = true
	}
	return n, nil
}

// text returns what was kept. Parts of lines beside the gap are dropped.
func (c *clipped) text() (head, tail []byte) {
	head, tail = c.head, c.tail
	if c.next > 0 {
		tail = append(append(make([]byte, 0, len(tail)), c.tail[c.next:]...), c.tail[:c.next]...)
	}
	if !c.lost {
		return head, tail
	}
	head = head[:bytes.LastIndexByte(head, '\n')+1]
	tail = tail[bytes.IndexByte(tail, '\n')+1:]
	return head, tail
}
