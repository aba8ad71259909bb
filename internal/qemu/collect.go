package qemu

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/load"
)

// What is kept of one boot.
const (
	consoleKept = 1 << 20
	stderrKept  = 64 << 10
	recordsKept = 16 << 20 // bytes of their texts
	filesKept   = 64 << 20 // bytes of the files that the plan fetches
)

// text keeps the first bytes written to it and looks for a panic in all of them.
type text struct {
	limit int
	kept  []byte
	cut   int64
	tail  []byte // of the latest write, in case the words are split
	panic string // what the kernel said of its panic, "" if it did not
}

// The words with which a kernel panic begins, in every release.
const panicWords = "Kernel panic - not syncing"

func (t *text) Write(p []byte) (int, error) {
	n := min(len(p), t.limit-len(t.kept))
	t.kept = append(t.kept, p[:n]...)
	t.cut += int64(len(p) - n)
	if t.panic == "" {
		t.tail = append(t.tail, p...)
		if i := bytes.Index(t.tail, []byte(panicWords)); i >= 0 {
			// Up to the end of the line, as far as it is there by now.
			line, _, whole := bytes.Cut(t.tail[i:], []byte("\n"))
			if whole || len(line) > 512 {
				t.panic = string(bytes.TrimSpace(line[:min(len(line), 512)]))
			}
			t.tail = t.tail[i:]
		} else if keep := len(panicWords) - 1; len(t.tail) > keep {
			t.tail = append(t.tail[:0], t.tail[len(t.tail)-keep:]...)
		}
	}
	return len(p), nil
}

// panicked returns what the kernel said of its panic, also if the line was cut.
func (t *text) panicked() string {
	if t.panic == "" && bytes.HasPrefix(t.tail, []byte(panicWords)) {
		return string(bytes.TrimSpace(t.tail))
	}
	return t.panic
}

// collector gathers the records of a boot.
type collector struct {
	began   time.Time
	midway  bool // the stream begins where a saved one was cut
	observe func(Stamped)
	ended   chan struct{} // closed when the guest has said its end

	once    sync.Once
	hello   *guest.Hello
	booted  time.Duration
	end     *guest.End
	load    *load.Work
	files   files
	records []Stamped
	size    int
	dropped int64
	damaged int
}

// read takes in the record port until it closes.
func (c *collector) read(r io.Reader) {
	d := guest.NewDecoder(r)
	if c.midway {
		d.Midway()
	}
	for {
		rec, ok := d.Next()
		if !ok {
			break
		}
		s := Stamped{At: time.Since(c.began), Record: rec}
		switch {
		case rec.Hello != nil && c.hello == nil:
			c.hello, c.booted = rec.Hello, s.At
		case rec.End != nil:
			c.end = rec.End
		case rec.Type == guest.TypeLoad:
			c.load = rec.Load
		}
		if rec.Type == guest.TypeFile {
			c.files.add(rec.File)
		} else {
			c.keep(s)
		}
		if c.observe != nil {
			c.observe(s)
		}
		if c.end != nil {
			c.once.Do(func() { close(c.ended) })
		}
	}
	c.files.end()
	c.damaged = d.Damaged()
	// A pipe ends in no other way that matters; but QEMU must not be left
	// writing to a full one.
	_, _ = io.Copy(io.Discard, r)
}

// keep keeps a record as long as there is room.
func (c *collector) keep(s Stamped) {
	size := len(s.Record.Kmsg) + len(s.Record.Trouble) + 64
	if s.Record.Output != nil {
		size += len(s.Record.Output.Text)
	}
	if c.size+size > recordsKept {
		c.dropped++
		return
	}
	c.size += size
	c.records = append(c.records, s)
}
