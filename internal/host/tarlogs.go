package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// maxLogPasses is how often a compressed tarball, which can be read from its
// beginning only, is read where there is too little room to hold logs.
const maxLogPasses = 8

// logText makes a reader of the text of a log from its bytes in the tarball.
func (t *tarball) logText(name string, place *logPlace, data io.Reader, limits logLimits) (io.Reader, error) {
	return openText(logSource{name: name, r: data, sparse: place.sparse, size: place.size}, limits)
}

// place finds a log that is one of the root's.
func (t *tarball) place(name string) (*memNode, error) {
	n, _, err := t.facts.find("open", name)
	if err != nil {
		return nil, why(err)
	}
	if n.log == nil {
		return nil, errSpecial
	}
	return n, nil
}

// openAt opens a log where it lies. What is cut off the tarball is an unexpected end.
func (t *tarball) openAt(src tarSource, name string, place *logPlace, limits logLimits) (io.Reader, error) {
	section := io.NewSectionReader(src.at, place.offset, place.size)
	if place.offset+place.size > src.size {
		return openText(logSource{name: name, r: &wholeReader{section, place.size}}, limits)
	}
	return openText(logSource{name: name, r: section, at: section, size: place.size}, limits)
}

// wholeReader turns an early end into an error.
type wholeReader struct {
	r    io.Reader
	left int64
}

func (w *wholeReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.left -= int64(n)
	if err == io.EOF && w.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// openLog reads the tarball up to a log.
func (t *tarball) openLog(src tarSource, name string, limits logLimits) (io.Reader, error) {
	n, err := t.place(name)
	if err != nil {
		return nil, err
	}
	if n.log.offset >= 0 {
		return t.openAt(src, name, n.log, limits)
	}
	r, _, err := src.open()
	if err != nil {
		return nil, err
	}
	var raw io.Reader
	err = walk(r, func(i int, _ *tar.Header, data io.Reader) error {
		if i == n.log.entry {
			raw = data
			return errStop
		}
		return nil
	})
	if raw == nil {
		return nil, errors.Join(errors.New("it is no longer in the tarball"), err)
	}
	return t.logText(name, n.log, raw, limits)
}

// pending is a log that is still to be read.
type pending struct {
	name  string
	place *logPlace
}

// logPass is the state of reading the logs of a compressed tarball in their order.
type logPass struct {
	t        *tarball
	limits   logLimits
	read     func(name string, text io.Reader) error
	todo     []pending
	held     map[int]*chunks // by entry: gzip
	room     int
	problems []LogProblem
}

// readLogs reads logs in the given order. Most often one pass is enough: logs
// that come before their turn are held, compressed, as far as there is room.
func (t *tarball) readLogs(src tarSource, names []string, limits logLimits, read func(string, io.Reader) error) []LogProblem {
	p := logPass{t: t, limits: limits, read: read, held: make(map[int]*chunks), room: limits.held}
	for _, name := range names {
		n, err := t.place(name)
		if err != nil {
			p.problems = append(p.problems, LogProblem{name, err})
			continue
		}
		p.todo = append(p.todo, pending{name, n.log})
	}
	for range maxLogPasses {
		if len(p.todo) == 0 {
			return p.problems
		}
		before := len(p.todo)
		r, _, err := src.open()
		if err == nil {
			err = walk(r, p.entry)
		}
		p.deliverHeld()
		if len(p.todo) > 0 && len(p.todo) == before { // damaged before the log, or not the same tarball any more
			p.problems = append(p.problems, LogProblem{p.todo[0].name, errors.Join(errors.New("it cannot be read in the tarball any more"), ignoreStop(err))})
			p.todo = p.todo[1:]
		}
	}
	for _, l := range p.todo {
		p.problems = append(p.problems, LogProblem{l.name, fmt.Errorf("not read: the large logs of this tarball lie in another order than that of time, and it would have to be read more than %d times; unpack it and give the folder", maxLogPasses)})
	}
	return p.problems
}

func ignoreStop(err error) error {
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// entry reads an entry if it is its turn, or holds it if its turn will come.
func (p *logPass) entry(n int, _ *tar.Header, data io.Reader) error {
	p.deliverHeld()
	if len(p.todo) == 0 {
		return errStop
	}
	if p.todo[0].place.entry == n {
		again := false
		for _, l := range p.todo[1:] {
			again = again || l.place.entry == n
		}
		if again && p.hold(n, p.todo[0].place, data) { // two names for one log
			p.deliverHeld()
			return nil
		}
		p.deliver(data)
		return nil
	}
	for _, l := range p.todo {
		if l.place.entry == n && p.held[n] == nil {
			p.hold(n, l.place, data)
			break
		}
	}
	return nil
}

// deliver reads the first of what is still to be read.
func (p *logPass) deliver(data io.Reader) {
	l := p.todo[0]
	p.todo = p.todo[1:]
	text, err := p.t.logText(l.name, l.place, data, p.limits)
	if err == nil {
		err = p.read(l.name, text)
	}
	if err != nil {
		p.problems = append(p.problems, LogProblem{l.name, err})
	}
}

// hold keeps a log for later; false if there is no room for it. One that cannot
// be read to its end is not held: its turn comes in a pass of its own.
func (p *logPass) hold(n int, place *logPlace, data io.Reader) bool {
	if place.sparse {
		return false
	}
	held := &chunks{room: p.room}
	zw, err := gzip.NewWriterLevel(held, gzip.BestSpeed)
	if err == nil {
		_, err = io.Copy(zw, data)
	}
	if err == nil {
		err = zw.Close()
	}
	if err != nil {
		return false
	}
	p.held[n] = held
	p.room -= held.size
	return true
}

// chunks keeps what is written to it, and refuses what goes beyond its room.
// One slice that grows would take three times the memory while it does.
type chunks struct {
	parts [][]byte
	size  int
	room  int
}

func (c *chunks) Write(p []byte) (int, error) {
	if c.size+len(p) > c.room {
		return 0, errors.New("no room") // hold tells
	}
	c.size += len(p)
	n := len(p)
	for len(p) > 0 {
		last := len(c.parts) - 1
		if last < 0 || len(c.parts[last]) == cap(c.parts[last]) {
			c.parts = append(c.parts, make([]byte, 0, 16<<10))
			last++
		}
		part := c.parts[last]
		k := min(len(p), cap(part)-len(part))
		c.parts[last] = append(part, p[:k]...)
		p = p[k:]
	}
	return n, nil
}

func (c *chunks) reader() io.Reader {
	readers := make([]io.Reader, 0, len(c.parts))
	for _, p := range c.parts {
		readers = append(readers, bytes.NewReader(p))
	}
	return io.MultiReader(readers...)
}

// deliverHeld reads the held logs whose turn it is.
func (p *logPass) deliverHeld() {
	for len(p.todo) > 0 {
		n := p.todo[0].place.entry
		packed := p.held[n]
		if packed == nil {
			return
		}
		zr, err := gzip.NewReader(packed.reader())
		if err != nil { // of what hold has packed itself
			p.problems = append(p.problems, LogProblem{p.todo[0].name, err})
			p.todo = p.todo[1:]
			continue
		}
		p.deliver(zr)
		again := false
		for _, l := range p.todo {
			again = again || l.place.entry == n
		}
		if !again {
			p.room += packed.size
			delete(p.held, n)
		}
	}
}
