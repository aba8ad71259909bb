package trace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// ErrFormat is wrapped by the error for what is no recording at all.
var ErrFormat = errors.New("not a recording of read-backs")

// ErrDamaged is what every [DamageError] is.
var ErrDamaged = errors.New("the recording is damaged")

// DamageError tells that a recording ends early: it was cut, or bytes in it are
// not those that were written. All ticks before it were read and are good.
type DamageError struct {
	Offset int64  // where the first part begins that cannot be used
	Lost   int64  // bytes from there to the end
	Ticks  uint64 // good ones before it
	Cut    bool   // it just ends in the middle of a part, as after a crash
	Reason error  // what is wrong with that part
}

// Error says where, why and how much.
func (e *DamageError) Error() string {
	if e.Cut && e.Offset == 0 && e.Lost == 0 {
		return "the recording is empty: its recorder wrote nothing, not even the header, or another file was meant: record anew"
	}
	what := "damaged"
	if e.Cut {
		what = "cut off"
	}
	return fmt.Sprintf("the recording is %s at byte %d: %v; %d ticks before it were read, %d bytes are lost", what, e.Offset, e.Reason, e.Ticks, e.Lost)
}

// Is reports true for [ErrDamaged].
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// Unwrap returns the reason.
func (e *DamageError) Unwrap() error { return e.Reason }

// errCut is the reason of a cut.
var errCut = errors.New("it ends in the middle of a part")

// Reader reads a recording in either form. It keeps one part in memory at a
// time, 64 KiB or 256 KiB for JSON Lines at most. A Reader is for one goroutine.
type Reader struct {
	r      *bufio.Reader
	form   Form
	header Header
	codec  codec
	ticks  uint64
	offset int64 // of the next part
	buf    []byte
	ended  bool
	err    error
}

// NewReader finds out the form and reads the header. What ends within the
// header is a [DamageError]; what does not begin as a recording is [ErrFormat].
func NewReader(r io.Reader) (*Reader, error) {
	in := &Reader{r: bufio.NewReader(r)}
	start, err := in.r.Peek(len(magic))
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read a recording: %w", err)
	}
	switch {
	case len(start) > 0 && start[0] == '{':
		in.form = JSONLines
	case string(start) == magic:
		in.form = Binary
		in.skip(len(magic))
	case len(start) < len(magic) && magic[:len(start)] == string(start):
		return nil, in.cut(int64(len(start)))
	default:
		return nil, fmt.Errorf("read a recording: %w: it begins with %q, want the binary form or a line of JSON", ErrFormat, start)
	}
	text, err := in.next()
	if err == io.EOF {
		err = in.cut(0)
	}
	if err != nil {
		return nil, err
	}
	if in.form == Binary {
		if len(text) == 0 || text[0] != frameHeader {
			return nil, in.damaged(int64(len(text)), errors.New("its first frame is no header"))
		}
		text = text[1:]
	}
	if in.header, err = parseHeader(text); err != nil {
		return nil, fmt.Errorf("read a recording: %w", err)
	}
	in.codec = newCodec(&in.header)
	return in, nil
}

// Header returns the header.
func (r *Reader) Header() Header { return r.header.clone() }

// Form returns the form.
func (r *Reader) Form() Form { return r.form }

// Ticks returns how many ticks were read.
func (r *Reader) Ticks() uint64 { return r.ticks }

// Offset returns how many bytes the parts that were read take.
func (r *Reader) Offset() int64 { return r.offset }

// Ended reports whether the mark of a complete recording was read. Where [Reader.Read]
// returned io.EOF without it, the recorder stopped without closing the recording.
func (r *Reader) Ended() bool { return r.ended }

// Read reads the next tick into t, whose memory is used again. It returns io.EOF
// behind the last one, and a [DamageError] where the recording ends otherwise;
// to tell how much is lost, it then has read what is left. On any error t is empty.
func (r *Reader) Read(t *Tick) error {
	if r.err == nil {
		r.err = r.read(t)
	}
	if r.err != nil {
		*t = Tick{}
	}
	return r.err
}

func (r *Reader) read(t *Tick) error {
	before := r.offset
	body, err := r.next()
	if err != nil {
		return err
	}
	size := r.offset - before
	// What follows is undone if the part turns out to be bad.
	bad := func(reason error) error {
		r.offset = before
		return r.damaged(size, reason)
	}
	if r.form == JSONLines {
		var line jsonLine
		if err := unmarshal(body, &line); err != nil {
			return bad(err)
		}
		if line.End != nil {
			if line.Reads != nil {
				return bad(errors.New("a line with a tick and the mark of the end"))
			}
			return r.end(line.End.Ticks, bad)
		}
		*t = line.tidy()
	} else {
		if len(body) == 0 {
			return bad(errShort)
		}
		switch body[0] {
		case frameTick:
			if err := r.codec.tick(body[1:], &r.header, t); err != nil {
				return bad(err)
			}
		case frameEnd:
			n, used := binary.Uvarint(body[1:])
			if used != len(body)-1 {
				return bad(errShort)
			}
			return r.end(n, bad)
		default:
			return bad(fmt.Errorf("frame of kind %d, which this program does not know", body[0]))
		}
	}
	if err := t.Validate(&r.header); err != nil {
		return bad(err)
	}
	r.ticks++
	return nil
}

// end handles the mark of a complete recording.
func (r *Reader) end(ticks uint64, bad func(error) error) error {
	if ticks != r.ticks {
		return bad(fmt.Errorf("it ends with the mark of %d ticks, and has %d", ticks, r.ticks))
	}
	r.ended = true
	if n, err := io.Copy(io.Discard, r.r); err != nil {
		return fmt.Errorf("read a recording behind its end: %w", err)
	} else if n > 0 {
		return &DamageError{Offset: r.offset, Lost: n, Ticks: r.ticks, Reason: errors.New("bytes follow its end")}
	}
	return io.EOF
}

// next returns the next frame's body, or the next line, and counts its bytes
// into offset. It returns io.EOF only between two parts.
func (r *Reader) next() ([]byte, error) {
	if r.form == JSONLines {
		return r.nextLine()
	}
	r.buf = r.buf[:0]
	for {
		b, err := r.r.ReadByte()
		if err == io.EOF && len(r.buf) == 0 {
			return nil, io.EOF
		}
		if err != nil {
			return nil, r.failed(err, int64(len(r.buf)))
		}
		r.buf = append(r.buf, b)
		if b < 0x80 {
			break
		}
		if len(r.buf) == binary.MaxVarintLen32 {
			return nil, r.damaged(int64(len(r.buf)), errors.New("the length of a frame is no number"))
		}
	}
	length, prefix := binary.Uvarint(r.buf)
	if length > maxBody {
		return nil, r.damaged(int64(prefix), fmt.Errorf("a frame of %d bytes, at most %d are written", length, maxBody))
	}
	total := prefix + int(length) + crcSize
	if cap(r.buf) < total {
		r.buf = append(make([]byte, 0, total), r.buf...)
	}
	r.buf = r.buf[:total]
	n, err := io.ReadFull(r.r, r.buf[prefix:])
	if err != nil {
		return nil, r.failed(err, int64(prefix+n))
	}
	sum := binary.LittleEndian.Uint32(r.buf[total-crcSize:])
	if got := crc32.Checksum(r.buf[:total-crcSize], castagnoli); got != sum {
		return nil, r.damaged(int64(total), fmt.Errorf("the checksum is %08x, want %08x", got, sum))
	}
	r.offset += int64(total)
	return r.buf[prefix : total-crcSize], nil
}

// nextLine returns the next line that is not blank. A last line without its end
// counts: a JSON object that was cut is none.
func (r *Reader) nextLine() ([]byte, error) {
	for {
		r.buf = r.buf[:0]
		for {
			part, err := r.r.ReadSlice('\n')
			if len(r.buf)+len(part) > maxLine {
				return nil, r.damaged(int64(len(r.buf)+len(part)), fmt.Errorf("a line of more than %d bytes", maxLine))
			}
			r.buf = append(r.buf, part...)
			if err == nil {
				break
			}
			if err == io.EOF {
				return r.lastLine()
			}
			if err != bufio.ErrBufferFull {
				return nil, fmt.Errorf("read a recording behind %d ticks: %w", r.ticks, err)
			}
		}
		r.offset += int64(len(r.buf))
		if line := bytes.TrimSpace(r.buf); len(line) > 0 {
			return line, nil
		}
	}
}

// lastLine judges what stands behind the last end of a line.
func (r *Reader) lastLine() ([]byte, error) {
	line := bytes.TrimSpace(r.buf)
	if len(line) == 0 {
		r.offset += int64(len(r.buf))
		return nil, io.EOF
	}
	if !json.Valid(line) {
		return nil, r.cut(int64(len(r.buf)))
	}
	r.offset += int64(len(r.buf))
	return line, nil
}

func (r *Reader) skip(n int) {
	m, _ := r.r.Discard(n) // it was peeked at
	r.offset += int64(m)
}

// failed tells the end of the data from an error in reading it.
func (r *Reader) failed(err error, taken int64) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return r.cut(taken)
	}
	return fmt.Errorf("read a recording behind %d ticks: %w", r.ticks, err)
}

func (r *Reader) cut(taken int64) error {
	return &DamageError{Offset: r.offset, Lost: taken, Ticks: r.ticks, Cut: true, Reason: errCut}
}

// damaged counts what is left behind the bytes that were taken already.
func (r *Reader) damaged(taken int64, reason error) error {
	rest, err := io.Copy(io.Discard, r.r)
	if err != nil {
		reason = fmt.Errorf("%w; and reading the rest: %w", reason, err)
	}
	return &DamageError{Offset: r.offset, Lost: taken + rest, Ticks: r.ticks, Reason: reason}
}
