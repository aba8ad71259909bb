package trace

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Form is how a recording is written.
type Form string

// The forms.
const (
	Binary    Form = "binary"
	JSONLines Form = "jsonl"
)

// ErrClosed is the error of writing behind the end of a recording.
var ErrClosed = errors.New("the recording is closed")

// Writer writes a recording. Each tick is one call of Write of the underlying
// writer: what to buffer and when to flush is the caller's choice, and a crash
// costs no tick that arrived whole. A Writer is for one goroutine.
type Writer struct {
	w      io.Writer
	form   Form
	header Header
	codec  codec
	ticks  uint64
	buf    []byte
	err    error // of the underlying writer: nothing can follow a part of a frame
}

// NewWriter fills in what the header leaves to it, checks the rest and writes it.
func NewWriter(w io.Writer, f Form, h Header) (*Writer, error) {
	if f != Binary && f != JSONLines {
		return nil, fmt.Errorf("write a recording as %q: want %q or %q", clip(string(f)), Binary, JSONLines)
	}
	h = h.withDefaults().clone()
	if err := h.Validate(); err != nil {
		return nil, fmt.Errorf("write a recording: %w", err)
	}
	out := &Writer{w: w, form: f, header: h, codec: newCodec(&h), buf: make([]byte, binary.MaxVarintLen64, 512)}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write the header of a recording: %w", err)
	}
	if len(text) > maxHeader {
		return nil, fmt.Errorf("write the header of a recording: %w: %d bytes, want %d or fewer", ErrHeader, len(text), maxHeader)
	}
	if f == JSONLines {
		return out, out.send(append(text, '\n'), "header")
	}
	body, start := frame(append(append(out.buf, frameHeader), text...), binary.MaxVarintLen64)
	return out, out.send(append([]byte(magic), body[start:]...), "header")
}

// Header returns the header as it was written.
func (w *Writer) Header() Header { return w.header.clone() }

// Ticks returns how many ticks were written.
func (w *Writer) Ticks() uint64 { return w.ticks }

// Write adds a tick. One that is not valid is refused and leaves the recording
// as it is; an error of the underlying writer is final.
func (w *Writer) Write(t *Tick) error {
	if w.err != nil {
		return w.err
	}
	if err := t.Validate(&w.header); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	var err error
	if w.form == JSONLines {
		err = w.line(t.tidy())
	} else {
		w.buf = w.codec.appendTick(w.buf[:binary.MaxVarintLen64], t)
		err = w.frame("tick")
	}
	if err == nil {
		w.ticks++
	}
	return err
}

// Close marks the recording as complete and writes no more. It neither flushes
// nor closes the underlying writer.
func (w *Writer) Close() error {
	if w.err != nil {
		if errors.Is(w.err, ErrClosed) {
			return nil
		}
		return w.err
	}
	var err error
	if w.form == JSONLines {
		err = w.line(endLine{&endOf{w.ticks}})
	} else {
		w.buf = binary.AppendUvarint(append(w.buf[:binary.MaxVarintLen64], frameEnd), w.ticks)
		err = w.frame("end")
	}
	if err == nil {
		w.err = ErrClosed
	}
	return err
}

func (w *Writer) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil { // a valid tick has nothing that JSON cannot hold
		w.err = fmt.Errorf("write a line of a recording: %w", err)
		return w.err
	}
	return w.send(append(text, '\n'), "line")
}

func (w *Writer) frame(what string) error {
	var start int
	w.buf, start = frame(w.buf, binary.MaxVarintLen64)
	return w.send(w.buf[start:], what)
}

// send makes the one call of Write.
func (w *Writer) send(b []byte, what string) error {
	n, err := w.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("write the %s of a recording behind %d ticks: %w", what, w.ticks, err)
	}
	return w.err
}
