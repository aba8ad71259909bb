package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/cswatch/cswatch/internal/unpack"
)

// LimitError says that a log is longer than is read of it: its head and its
// tail were delivered, whole lines, and what is between was not. It comes where
// the end of the log would.
type LimitError struct {
	Skipped int64 // bytes
	Tail    int64 // bytes that were read behind what was skipped
}

func (e *LimitError) Error() string {
	what := "between its head and its tail"
	if e.Tail == 0 {
		what = "behind its head"
	}
	return fmt.Sprintf("%d bytes %s were not read; give the part that matters with --log FILE", e.Skipped, what)
}

// logLimits are the bytes that are read of one log. Reading takes no memory, so
// they bound time only; a sparse file of a terabyte is made in no time.
type logLimits struct {
	head   int64
	tail   int64 // of a file, which is read from where it begins
	stream int64 // of what cannot be read from anywhere: this much of it is held in memory
	held   int   // memory for logs that come in a compressed tarball before their turn, compressed
}

var usualLimits = logLimits{head: 1 << 30, tail: 1 << 30, stream: 4 << 20, held: 6 << 20}

// longLog delivers a log, or its head, its tail and a LimitError. The head may
// exceed its limit by the rest of a line; the tail begins with a whole line.
type longLog struct {
	r    io.Reader
	at   io.ReaderAt // what r reads from its beginning; nil if it is a stream
	size int64       // of at
	// sparse: r can be endless; what is behind the head is not even passed over.
	sparse bool
	limits logLimits

	given   int64
	midLine bool
	tail    io.Reader // nil: still in the head
	end     error     // behind the tail
}

func (l *longLog) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if l.tail == nil && l.given < l.limits.head {
		p = p[:min(int64(len(p)), l.limits.head-l.given)]
		n, err := l.r.Read(p)
		if l.given += int64(n); n > 0 {
			l.midLine = p[n-1] != '\n'
		}
		return n, err
	}
	if l.tail == nil {
		l.leaveHead()
	}
	n, err := l.tail.Read(p)
	if n == 0 && err == io.EOF {
		return 0, l.end
	}
	return n, nil // an error comes from l.end
}

// leaveHead finds the tail and what comes behind it.
func (l *longLog) leaveHead() {
	var line []byte // the rest of the head's last line
	r := bufio.NewReaderSize(l.r, maxLogLine)
	if l.midLine {
		var err error
		line, err = r.ReadSlice('\n')
		line = bytes.Clone(line)
		l.given += int64(len(line))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			line = append(line, '\n')
		case err != nil:
			l.tail, l.end = bytes.NewReader(line), err
			return
		}
	}
	tail, skipped, err := l.findTail(r)
	if skipped > 0 {
		limit := &LimitError{Skipped: skipped, Tail: tail.n}
		if err == io.EOF {
			err = limit
		} else {
			err = errors.Join(limit, err)
		}
	}
	l.tail, l.end = io.MultiReader(bytes.NewReader(line), tail.r), err
}

// found is the tail of a log.
type found struct {
	r io.Reader
	n int64
}

// findTail returns what is to be read behind the head, how much is passed over
// before it, and what ends it.
func (l *longLog) findTail(r *bufio.Reader) (tail found, skipped int64, err error) {
	none := found{r: bytes.NewReader(nil)}
	switch {
	case l.sparse:
		if _, err := r.Peek(1); err != nil {
			return none, 0, err
		}
		return none, max(l.size-l.given, 1), io.EOF
	case l.at != nil && l.size-l.given > l.limits.tail:
		start := l.size - l.limits.tail
		br := bufio.NewReaderSize(io.NewSectionReader(l.at, start, l.limits.tail), maxLogLine)
		cut, err := br.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return none, l.size - l.given, err
		}
		start += int64(len(cut))
		return found{br, l.size - start}, start - l.given, io.EOF
	case l.at != nil:
		return found{r, l.size - l.given}, 0, io.EOF
	}
	ring := &ring{limit: l.limits.stream}
	_, err = io.Copy(ring, r)
	if err == nil {
		err = io.EOF
	}
	text := ring.bytes()
	if ring.dropped > 0 {
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text, ring.dropped = text[i+1:], ring.dropped+int64(i)+1
		}
	}
	return found{bytes.NewReader(text), int64(len(text))}, ring.dropped, err
}

// ring keeps the last bytes that are written to it.
type ring struct {
	limit   int64
	buf     []byte
	next    int // where the oldest byte is once the ring is full
	full    bool
	dropped int64
}

func (r *ring) Write(p []byte) (int, error) {
	n := len(p)
	if over := int64(n) - r.limit; over > 0 {
		r.dropped += over
		p = p[over:]
	}
	if !r.full {
		k := min(int64(len(p)), r.limit-int64(len(r.buf)))
		r.buf = append(r.buf, p[:k]...)
		p = p[k:]
		r.full = int64(len(r.buf)) == r.limit
	}
	for len(p) > 0 {
		k := copy(r.buf[r.next:], p)
		p = p[k:]
		r.dropped += int64(k)
		r.next = (r.next + k) % len(r.buf)
	}
	return n, nil
}

// bytes returns what the ring holds, in order.
func (r *ring) bytes() []byte {
	if r.next == 0 {
		return r.buf
	}
	return append(append(make([]byte, 0, len(r.buf)), r.buf[r.next:]...), r.buf[:r.next]...)
}

// logSource is a log as it is stored.
type logSource struct {
	name   string
	r      io.Reader
	at     io.ReaderAt // what r reads from its beginning; nil if it is a stream
	size   int64       // as stored; not known if it is 0
	sparse bool
}

// openText makes a reader of the text of a log: decompressed, and within limits.
func openText(src logSource, limits logLimits) (io.Reader, error) {
	text, format, err := unpack.Reader(src.r, src.name)
	if err != nil {
		return nil, err
	}
	l := &longLog{r: text, sparse: src.sparse, size: src.size, limits: limits}
	if format == unpack.Plain && src.size > 0 && src.at != nil {
		// The log as it is now: one that grows would never end.
		l.at, l.r = src.at, io.NewSectionReader(src.at, 0, src.size)
	}
	return l, nil
}
