package klog

import (
	"bytes"
	"io"
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
// LF or, as serial consoles and progress displays write, at a CR alone. A block
// of NULs, as a file system leaves in a log after a loss of power, ends a line too.
type lineSource struct {
	r           io.Reader
	buf         []byte
	start, end  int
	total       int64 // bytes taken from r
	eof         bool
	err         error
	line        int  // number of the line returned last
	broke       bool // the piece returned last ended its line
	within      bool // the piece returned last began behind a CR within its line
	long        bool // the piece returned last goes on beyond maxLine
	crLines     bool // the input has no LF: a CR counts as a line
	begun       bool
	after       ending // what ended the piece before
	lf, cr, nul mark
}

// ending is what ends a piece of a line.
type ending uint8

const (
	endNone ending = iota
	endLF
	endCR
	endNUL
)

// nulBlock is how many NULs in a row end a line. Fewer occur in wide characters
// and behind the texts of some programs.
const nulBlock = 8

var (
	lfBytes  = []byte{'\n'}
	crBytes  = []byte{'\r'}
	nulBytes = make([]byte, nulBlock)
)

// mark remembers where a search has got to, so that no byte is searched twice
// for the same end, however many pieces a buffer holds.
type mark struct {
	at    int // where it was found, -1 if nowhere before clean
	clean int // before it there is no other
}

func newLineSource(r io.Reader) *lineSource {
	return &lineSource{r: r, buf: make([]byte, lineBuffer), broke: true, lf: mark{at: -1}, cr: mark{at: -1}, nul: mark{at: -1}}
}

// find returns the next place of what in the buffer, -1 if there is none yet.
func (l *lineSource) find(m *mark, what []byte) int {
	if m.at >= l.start && m.at < m.clean {
		return m.at
	}
	from := max(m.clean, l.start)
	if from >= l.end {
		return -1
	}
	var i int
	if len(what) == 1 {
		i = bytes.IndexByte(l.buf[from:l.end], what[0])
	} else {
		i = bytes.Index(l.buf[from:l.end], what)
	}
	if i < 0 {
		m.at, m.clean = -1, max(from, l.end-len(what)+1)
		return -1
	}
	m.at, m.clean = from+i, from+i+1
	return m.at
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
		for _, m := range []*mark{&l.lf, &l.cr, &l.nul} {
			m.at, m.clean = max(m.at-l.start, -1), max(m.clean-l.start, 0)
		}
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
	for {
		text, how := l.piece()
		if how == endNUL && len(text) == 0 {
			l.after = endNUL
			continue // the block stands at the beginning of a line
		}
		if how == endNone && len(text) == 0 {
			return nil, false
		}
		if l.broke {
			l.line++
		}
		l.within = !l.broke && l.after == endCR
		l.close(how)
		l.long = how == endNone && len(text) == maxLine
		return text, true
	}
}

// close notes how a piece ended.
func (l *lineSource) close(how ending) {
	l.after = how
	l.broke = how == endLF || how == endCR && l.crLines
}

// more returns the next chunk of a line whose beginning was returned with long
// set, and clears long at the end of the line.
func (l *lineSource) more() []byte {
	text, how := l.piece()
	if how != endNone || len(text) < maxLine {
		l.close(how)
		if how == endNone {
			l.broke = true
		}
		l.long = false
	}
	return text
}

// piece consumes the bytes up to the next end, or maxLine of them if there is
// none so far, or all that are left of the input.
func (l *lineSource) piece() ([]byte, ending) {
	for {
		stop, how := l.find(&l.lf, lfBytes), endLF
		if cr := l.find(&l.cr, crBytes); cr >= 0 && (stop < 0 || cr < stop) {
			stop, how = cr, endCR
		}
		if nul := l.find(&l.nul, nulBytes); nul >= 0 && (stop < 0 || nul < stop) {
			stop, how = nul, endNUL
		}
		if stop < 0 && l.end-l.start < maxLine && !l.eof {
			l.fill()
			continue
		}
		if stop < 0 || stop-l.start > maxLine {
			n := min(l.end-l.start, maxLine)
			text := l.buf[l.start : l.start+n]
			l.start += n
			return text, endNone
		}
		if how == endLF {
			text := l.buf[l.start:stop]
			l.start = stop + 1
			return text, endLF
		}
		// What comes behind the CR or the block decides, and may have to be read first.
		i := stop
		for i < l.end && (how == endCR && l.buf[i] == '\r' && (i == stop || !l.crLines) || how == endNUL && l.buf[i] == 0) {
			i++
		}
		if i == l.end && !l.eof {
			switch {
			case l.end-l.start < len(l.buf):
				l.fill()
				continue
			case how == endNUL && stop == l.start:
				l.start = i - nulBlock // a block larger than the buffer
				continue
			}
		}
		text := l.buf[l.start:stop]
		l.start = i
		if i < l.end && l.buf[i] == '\n' {
			l.start++
			how = endLF
		}
		return text, how
	}
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
