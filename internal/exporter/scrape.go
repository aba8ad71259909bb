package exporter

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"sync"
)

// A form is one of the ways in which a document can be asked for, an index into
// a closed set: an encoding, plain or gzipped.
type form uint8

// plain and packed are the forms of the encoding with the given index.
func plain(encoding int) form  { return form(2 * encoding) }
func packed(encoding int) form { return form(2*encoding + 1) }

func (f form) gzipped() bool { return f%2 == 1 }

// forms is a set of them.
type forms uint32

func (s forms) has(f form) bool { return s&(1<<f) != 0 }

// maxForms is how many forms a set holds.
const maxForms = 8

// bodies holds the document in the forms that were asked for. Nobody may change
// them: everyone who asked shares them.
type bodies [maxForms][]byte

// rounds lets a document be made once for all who ask at a time. One round runs
// at a time, for all who asked before it began and for nobody later: so nobody
// is given an answer that is older than the question, and a thousand who ask at
// once cost two rounds at most.
type rounds struct {
	make func(forms) (bodies, error)

	mu      sync.Mutex
	next    *round // those who asked since the running round began
	running bool
	ended   bool
	idle    chan struct{} // closed while no round runs
}

type round struct {
	wanted forms
	done   chan struct{}
	bodies bodies
	err    error
}

// errEnding is the answer of a server that is about to end.
var errEnding = errors.New("the server is ending")

func newRounds(produce func(forms) (bodies, error)) *rounds {
	r := &rounds{make: produce, idle: make(chan struct{})}
	close(r.idle)
	return r
}

// ask waits for the document in one form until the context ends.
func (r *rounds) ask(ctx context.Context, f form) ([]byte, error) {
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return nil, errEnding
	}
	if r.next == nil {
		r.next = &round{done: make(chan struct{})}
	}
	mine := r.next
	mine.wanted |= 1 << f
	if !r.running {
		r.running, r.idle = true, make(chan struct{})
		go r.run()
	}
	r.mu.Unlock()

	select {
	case <-mine.done:
		return mine.bodies[f], mine.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run carries out rounds until nobody asks.
func (r *rounds) run() {
	for {
		r.mu.Lock()
		now := r.next
		if r.next = nil; now == nil {
			r.running = false
			close(r.idle)
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		now.bodies, now.err = r.once(now.wanted)
		close(now.done)
	}
}

// once turns a panic into an error: it must not end a program whose counters
// are all that remains of a condemned clock.
func (r *rounds) once(wanted forms) (made bodies, err error) {
	defer func() {
		if p := recover(); p != nil {
			made, err = bodies{}, fmt.Errorf("panic: %v", p)
		}
	}()
	return r.make(wanted)
}

// end refuses whoever asks from now on, and waits until the last round is over or the context ends.
func (r *rounds) end(ctx context.Context) error {
	r.mu.Lock()
	r.ended = true
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A packer compresses one document after another with one compressor, whose
// tables are most of a megabyte.
type packer struct {
	z *gzip.Writer
	b bytes.Buffer
}

func (p *packer) gzip(text []byte) ([]byte, error) {
	p.b.Reset()
	if p.z == nil {
		// The fastest level: the answer is some kilobytes either way, and this one
		// takes a third of the time.
		z, err := gzip.NewWriterLevel(&p.b, gzip.BestSpeed)
		if err != nil {
			return nil, err
		}
		p.z = z
	}
	p.z.Reset(&p.b)
	if _, err := p.z.Write(text); err != nil {
		return nil, err
	}
	if err := p.z.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(p.b.Bytes()), nil
}
