package klog

import (
	"bytes"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxLine is the length that is kept of a line, in bytes.
	maxLine = 64 << 10
	// lineBuffer holds at least two lines of the maximal length, so that a
	// length-prefixed field can be examined before it is consumed.
	lineBuffer = 256 << 10
	// maxEmptyReads bounds the patience with a reader that returns nothing.
	maxEmptyReads = 100
)

// lineSource splits an input into lines in a fixed buffer. Lines end at LF, CR
// LF or, as serial consoles and progress displays write, at a CR alone.
type lineSource struct {
	r          io.Reader
	buf        []byte
	start, end int
	total      int64 // bytes taken from r
	eof        bool
	err        error
	line       int  // number of the line returned last
	broke      bool // the piece returned last ended its line
	long       bool // the line returned last goes on beyond maxLine
	cut        bool // the piece returned last lost its end
	crLines    bool // the input has no LF: a CR counts as a line
	begun      bool
	// clean and lf save looking for the same LF again for every piece of a line
	// that CRs divide: before buf[clean] there is none, at buf[lf] there is one.
	clean, lf int
}

func newLineSource(r io.Reader) *lineSource {
	return &lineSource{r: r, buf: make([]byte, lineBuffer), broke: true}
}

// fill moves the unread part to the front and reads once more. It returns
// false at the end of the input or if the buffer is full.
func (l *lineSource) fill() bool {
	if l.eof {
		return false
	}
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.clean, l.lf = l.clean-l.start, l.lf-l.start
		l.start = 0
	}
	if l.end == len(l.buf) {
		return false
	}
	for range maxEmptyReads {
		n, err := l.r.Read(l.buf[l.end:])
		if n < 0 || n > len(l.buf)-l.end {
			n, err = 0, io.ErrShortBuffer
		}
		l.end += n
		l.total += int64(n)
		if err != nil {
			l.eof = true
			if err != io.EOF {
				l.err = err
			}
			return n > 0
		}
		if n > 0 {
			return true
		}
	}
	l.eof, l.err = true, io.ErrNoProgress
	return false
}

// begin looks at the first bytes: UTF-16 is recoded on the fly, a byte order
// mark is dropped, and an input without any LF has its lines ended by CR.
func (l *lineSource) begin() {
	l.begun = true
	for l.end < 4096 && l.fill() {
	}
	head := l.buf[:l.end]
	if order, skip := utf16Order(head); order != 0 {
		rest := bytes.Clone(head[skip:])
		src := l.r
		if l.eof {
			src = errorReader{l.err}
		}
		l.r = &utf16Reader{r: io.MultiReader(bytes.NewReader(rest), src), big: order == 'B'}
		l.start, l.end, l.total, l.eof, l.err = 0, 0, 0, false, nil
		for l.end < 4096 && l.fill() {
		}
		head = l.buf[:l.end]
	} else if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		l.start = 3
	}
	i := bytes.IndexByte(head, '\r')
	l.crLines = i >= 0 && bytes.IndexByte(head, '\n') < 0
}

// errorReader ends with an error, or with io.EOF if there is none.
type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) {
	if e.err == nil {
		return 0, io.EOF
	}
	return 0, e.err
}

// next returns the next line without its end, valid until the next call. Of a
// line beyond maxLine it returns the beginning and sets long.
func (l *lineSource) next() ([]byte, bool) {
	if !l.begun {
		l.begin()
	}
	for l.long {
		l.more()
	}
	l.cut = false
	for {
		window := l.buf[l.start:l.end]
		if i := l.findLF(); i >= 0 {
			return l.take(window, i-l.start), true
		}
		if len(window) > maxLine || (l.crLines && len(window) > 1) || l.eof {
			if i := bytes.IndexByte(window, '\r'); i >= 0 && (i+1 < len(window) || l.eof) {
				return l.cutCR(window, i), true
			}
		}
		if len(window) > maxLine {
			l.advance()
			l.long, l.broke = true, false
			l.start += maxLine
			return window[:maxLine], true
		}
		if l.eof {
			if len(window) == 0 {
				return nil, false
			}
			l.advance()
			l.start = l.end
			l.broke = true
			return window, true
		}
		l.fill()
	}
}

// findLF returns the place of the next LF in the buffer, -1 if there is none yet.
func (l *lineSource) findLF() int {
	if l.lf >= l.start && l.lf < l.end && l.buf[l.lf] == '\n' && l.clean >= l.lf {
		return l.lf
	}
	from := max(l.clean, l.start)
	if from >= l.end {
		return -1
	}
	if i := bytes.IndexByte(l.buf[from:l.end], '\n'); i >= 0 {
		l.clean, l.lf = from+i, from+i
		return from + i
	}
	l.clean = l.end
	return -1
}

// take returns the line that ends at the LF at window[i].
func (l *lineSource) take(window []byte, i int) []byte {
	line := window[:i]
	if j := bytes.IndexByte(line, '\r'); j >= 0 {
		trimmed := bytes.TrimRight(line, "\r")
		if j < len(trimmed) {
			return l.cutCR(window, j)
		}
		line = trimmed
	}
	l.advance()
	if len(line) > maxLine {
		l.long, l.broke = true, false
		l.start += maxLine
		return line[:maxLine]
	}
	l.broke = true
	l.start += i + 1
	return line
}

// cutCR returns the piece before a CR that stands alone.
func (l *lineSource) cutCR(window []byte, i int) []byte {
	l.advance()
	l.broke = l.crLines
	l.start += i + 1
	if i > maxLine {
		l.cut = true
		return window[:maxLine]
	}
	return window[:i]
}

func (l *lineSource) advance() {
	if l.broke {
		l.line++
	}
}

// more returns the next chunk of a line whose beginning was returned with long
// set, and clears long at the end of the line.
func (l *lineSource) more() []byte {
	if l.end-l.start < maxLine {
		l.fill()
	}
	window := l.buf[l.start:l.end]
	if len(window) > maxLine {
		window = window[:maxLine]
	}
	if i := bytes.IndexByte(window, '\n'); i >= 0 {
		l.start += i + 1
		l.long, l.broke = false, true
		return window[:i]
	}
	l.start += len(window)
	if len(window) == 0 || (l.eof && l.start == l.end) {
		l.long, l.broke = false, true
	}
	return window
}

// peek returns the next n bytes, or fewer at the end of the input.
func (l *lineSource) peek(n int) []byte {
	n = min(n, len(l.buf))
	for l.end-l.start < n && l.fill() {
	}
	return l.buf[l.start:min(l.start+n, l.end)]
}

// skip consumes n bytes and counts the lines among them.
func (l *lineSource) skip(n int64) {
	for n > 0 {
		if l.start == l.end && !l.fill() {
			return
		}
		k := min(n, int64(l.end-l.start))
		l.line += bytes.Count(l.buf[l.start:l.start+int(k)], []byte{'\n'})
		l.start += int(k)
		n -= k
	}
}

// utf16Order recognises UTF-16 by its byte order mark or by every second byte
// of the beginning being zero. It returns 'L', 'B' or 0 and the length of the mark.
func utf16Order(head []byte) (order byte, skip int) {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return 'L', 2
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return 'B', 2
	}
	n := min(len(head), 64) &^ 1
	if n < 16 {
		return 0, 0
	}
	var zero [2]int
	for i := range n {
		if head[i] == 0 {
			zero[i&1]++
		}
	}
	switch {
	case zero[1] == n/2 && zero[0] == 0:
		return 'L', 0
	case zero[0] == n/2 && zero[1] == 0:
		return 'B', 0
	}
	return 0, 0
}

// utf16Reader recodes UTF-16 as UTF-8.
type utf16Reader struct {
	r    io.Reader
	big  bool
	in   [4096]byte
	n    int    // bytes in in
	out  []byte // recoded, not yet delivered
	high rune   // first half of a surrogate pair
	err  error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		k, err := u.r.Read(u.in[u.n:])
		u.n += k
		u.err = err
		u.recode()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

func (u *utf16Reader) recode() {
	u.out = u.out[:0]
	i := 0
	for ; i+1 < u.n; i += 2 {
		c := rune(u.in[i]) | rune(u.in[i+1])<<8
		if u.big {
			c = rune(u.in[i])<<8 | rune(u.in[i+1])
		}
		if u.high != 0 {
			pair := utf16.DecodeRune(u.high, c)
			u.high = 0
			u.out = utf8.AppendRune(u.out, pair)
			if pair != utf8.RuneError {
				continue
			}
		}
		if c >= 0xd800 && c < 0xdc00 {
			u.high = c
			continue
		}
		u.out = utf8.AppendRune(u.out, c)
	}
	copy(u.in[:], u.in[i:u.n])
	u.n -= i
}
