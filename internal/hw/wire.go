package hw

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
)

// What the child that reads ports writes to its parent: frames of a kind (one
// byte), a length (four) and so many bytes, little endian. One frame holds a
// whole tick. Both sides are always the same program, so there is no version.
const (
	frameReady byte = 'R' // it may read, and has read once: Hz, mask, From
	frameTick  byte = 'T'
	frameError byte = 'E' // what, reason, remedy, unsure; what "" for an error of another kind
	frameEnd   byte = 'Z' // the plan is done

	frameHeader = 5
	maxFrame    = 64 << 10 // two groups of MaxReadBacks samples take 17 kB
	sampleSize  = 4*8 + 1
	maxText     = 4 << 10
)

func putFrame(w io.Writer, kind byte, payload []byte) error {
	// One write a frame: a reader never sees half of one unless the writer died.
	b := make([]byte, 0, frameHeader+len(payload))
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	_, err := w.Write(append(b, payload...))
	return err
}

func getFrame(r io.Reader) (kind byte, payload []byte, err error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(h[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes, at most %d are possible", n, maxFrame)
	}
	payload = make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, fmt.Errorf("a frame was cut off: %w", io.ErrUnexpectedEOF)
	}
	return h[0], payload, nil
}

func appendText(b []byte, s string) []byte {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

// appendTick encodes a tick without its exchange, which the parent takes itself.
func appendTick(b []byte, t *Tick) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(t.Number))
	b = le.AppendUint64(b, uint64(t.At))
	b = append(b, byte(len(t.Groups)))
	for i := range t.Groups {
		g := &t.Groups[i]
		b = le.AppendUint32(b, uint32(g.CPU))
		b = appendText(b, g.Skipped)
		b = le.AppendUint16(b, uint16(len(g.Samples)))
		for _, s := range g.Samples {
			b = le.AppendUint64(b, uint64(s.Before))
			b = le.AppendUint64(b, uint64(s.Clock))
			b = le.AppendUint64(b, uint64(s.After))
			b = le.AppendUint64(b, uint64(s.Again))
			b = append(b, causeByte(s))
		}
	}
	return b
}

// Causes on the wire; 0 is a sample that is not late.
const (
	wirePreempted byte = iota + 1
	wireInterrupted
	wireUnexplained
)

func causeByte(s Sample) byte {
	switch {
	case !s.Late:
		return 0
	case s.Cause == Preempted:
		return wirePreempted
	case s.Cause == Interrupted:
		return wireInterrupted
	}
	return wireUnexplained
}

// causeOf is the inverse of causeByte, false for a byte that stands for no cause.
func causeOf(b byte) (late bool, cause Cause, ok bool) {
	switch b {
	case 0:
		return false, "", true
	case wirePreempted:
		return true, Preempted, true
	case wireInterrupted:
		return true, Interrupted, true
	case wireUnexplained:
		return true, Unexplained, true
	}
	return false, "", false
}

// cursor reads the fields of a payload; after a shortage everything is zero and err is set.
type cursor struct {
	rest []byte
	err  error
}

var errShort = errors.New("it ends too early")

func (c *cursor) take(n int) []byte {
	if c.err != nil || len(c.rest) < n {
		c.err = errShort
		return make([]byte, n)
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) u8() byte    { return c.take(1)[0] }
func (c *cursor) u16() uint16 { return binary.LittleEndian.Uint16(c.take(2)) }
func (c *cursor) u32() uint32 { return binary.LittleEndian.Uint32(c.take(4)) }
func (c *cursor) u64() uint64 { return binary.LittleEndian.Uint64(c.take(8)) }

func (c *cursor) text() string {
	n := int(c.u16())
	if n > maxText {
		c.err = fmt.Errorf("a text of %d bytes, at most %d are possible", n, maxText)
		return ""
	}
	return string(c.take(n))
}

func (c *cursor) end(what string) error {
	if c.err == nil && len(c.rest) > 0 {
		c.err = fmt.Errorf("%d bytes follow it", len(c.rest))
	}
	if c.err != nil {
		return fmt.Errorf("decode %s: %w", what, c.err)
	}
	return nil
}

// decodeTick decodes what appendTick wrote.
func decodeTick(payload []byte) (*Tick, error) {
	c := cursor{rest: payload}
	t := &Tick{Number: int(c.u64()), At: clocksource.Nanos(c.u64())}
	groups := int(c.u8())
	for range groups {
		if c.err != nil {
			break
		}
		g := Group{CPU: int(c.u32()), Skipped: c.text()}
		n := int(c.u16())
		if n*sampleSize > len(c.rest) {
			c.err = errShort
			break
		}
		if n > 0 {
			g.Samples = make([]Sample, n)
		}
		for i := range g.Samples {
			s := &g.Samples[i]
			s.Before, s.Clock = clocksource.Cycles(c.u64()), clocksource.Cycles(c.u64())
			s.After, s.Again = clocksource.Cycles(c.u64()), clocksource.Cycles(c.u64())
			b, known := c.u8(), false
			if s.Late, s.Cause, known = causeOf(b); !known {
				c.err = fmt.Errorf("cause %d is unknown", b)
			}
		}
		t.Groups = append(t.Groups, g)
	}
	if err := c.end("a tick"); err != nil {
		return nil, err
	}
	return t, nil
}

func appendCounter(b []byte, c Counter) []byte {
	b = appendText(b, c.Name)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Hz))
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Mask))
	return appendText(b, c.From)
}

func decodeCounter(payload []byte) (Counter, error) {
	c := cursor{rest: payload}
	counter := Counter{Name: c.text(), Hz: clocksource.Hz(c.u64()), Mask: clocksource.Mask(c.u64()), From: c.text()}
	if err := c.end("a counter"); err != nil {
		return Counter{}, err
	}
	return counter, nil
}

// appendError encodes an error; a *NotHere keeps its parts.
func appendError(b []byte, err error) []byte {
	var n *NotHere
	if !errors.As(err, &n) {
		n = &NotHere{Reason: err.Error()}
	}
	b = appendText(b, n.What)
	b = appendText(b, n.Reason)
	b = appendText(b, n.Remedy)
	if n.Unsure {
		return append(b, 1)
	}
	return append(b, 0)
}

// decodeError returns the error that was encoded, or why it could not be decoded.
func decodeError(payload []byte) error {
	c := cursor{rest: payload}
	n := &NotHere{What: c.text(), Reason: c.text(), Remedy: c.text(), Unsure: c.u8() == 1}
	if err := c.end("an error"); err != nil {
		return err
	}
	if n.What == "" {
		return errors.New(n.Reason)
	}
	return n
}
