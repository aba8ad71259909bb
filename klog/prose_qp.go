package klog

import "strings"

// quotedPrintable is what is known of the transport encoding of mail. It is
// undone only on evidence, because "tsc=unstable" is good text, and never joins
// a line that begins as a record to the one before.
type quotedPrintable struct {
	on    bool // a header or good has shown it
	head  bool // the header was read, and the blank line behind the headers was not
	good  int  // lines in which it was found
	buf   []byte
	d     draft
	depth int  // marks of quoting in front of buf
	wait  bool // buf ends with "=" and may go on
	// within says that quoting was encoded, so that the rest of a broken line
	// has no mark; outside says that encoded lines were quoted.
	within, outside bool
}

// enough is how many lines must show the encoding before all are taken for encoded.
const enough = 2

// found notes a line that shows the encoding.
func (q *quotedPrintable) found() {
	q.good++
	q.on = q.on || q.good >= enough
}

// quoted undoes quoted-printable and hands logical lines on.
func (r *RecordReader) quoted(s string, d draft) {
	q := &r.qp
	if q.wait {
		next := s
		t, isQuote := stripQuotes(s)
		if q.depth > 0 && !q.within {
			if isQuote {
				q.outside = true
				next = dropQuotes(s, q.depth)
			} else if !q.outside {
				q.within = true
			}
		}
		if next == ">" || q.within && strings.HasPrefix(s, ">") && !strings.HasPrefix(s, "> ") {
			t = next // the end of a tag
		}
		if !q.ends(t) && q.joins(next) && len(q.buf)+len(next) <= maxLine {
			q.found()
			q.buf = append(q.buf[:len(q.buf)-1], next...)
			if q.wait = softBreak(next, true); !q.wait {
				r.decoded(string(q.buf), q.d)
			}
			return
		}
		r.flushQP()
	}
	if v, ok := cutHeader(s, "Content-Transfer-Encoding:"); ok {
		q.on = strings.EqualFold(v, "quoted-printable")
		q.head, q.good = q.on, 0
		return
	}
	if q.head && strings.TrimSpace(s) == "" {
		q.head = false
	}
	if softBreak(s, q.on) {
		q.buf, q.d, q.wait, q.depth = append(q.buf[:0], s...), d, true, quoteDepth(s)
		return
	}
	r.decoded(s, d)
}

// Lengths of a line, with its "=", that an encoder breaks.
const (
	softBreakLeast = 60
	softBreakMost  = 82
)

// softBreak reports that a line can go on after the "=" at its end. A ruler and
// the padding of base64 cannot.
func softBreak(s string, on bool) bool {
	n := len(s)
	if n < 2 || s[n-1] != '=' || s[n-2] == '=' || n > softBreakMost {
		return false
	}
	return on || n >= softBreakLeast && strings.IndexFunc(s[:n-1], notBase64) >= 0
}

// joins reports that the line that is held, and ends in "=", goes on in the next.
// Plain lines that were wrapped can end so too: command lines, "(delta =".
func (q *quotedPrintable) joins(next string) bool {
	if q.on {
		return true
	}
	held := string(q.buf[:len(q.buf)-1])
	whole := held + strings.TrimSuffix(next, "=")
	_, fits := decodeQP(whole)
	switch {
	case !fits:
		return false
	case q.good > 0 || strings.Contains(whole, "=3D"):
		return true
	}
	return !strings.Contains(held, "ommand line") && !strings.HasSuffix(held, "(delta ")
}

func notBase64(c rune) bool {
	return c >= 0x80 || !isDigit(byte(c)) && !isLetter(byte(c)) && c != '+' && c != '/'
}

// decoded decodes the escapes of a whole line and hands it on.
func (r *RecordReader) decoded(s string, d draft) {
	q := &r.qp
	if shows := looksQuotedPrintable(s); shows || q.on && strings.IndexByte(s, '=') >= 0 {
		t, ok := decodeQP(s)
		switch {
		case ok:
			s = strings.TrimRight(t, "\r\n")
			if shows {
				q.found()
			}
		case !q.head || stamped(s):
			q.on, q.head, q.good = false, false, 0 // no encoder leaves such a line
		}
	}
	r.logical(s, d)
}

// flushQP hands on the line that was held, and nothing goes on from it.
func (r *RecordReader) flushQP() {
	q := &r.qp
	if !q.wait {
		return
	}
	defer r.earlier()()
	q.wait = false
	s := string(q.buf)
	if q.on {
		s = s[:len(s)-1]
	}
	r.decoded(s, q.d)
}

// quoteDepth counts the marks of mail quoting in front of s.
func quoteDepth(s string) int {
	t, _ := stripQuotes(s)
	return strings.Count(s[:len(s)-len(t)], ">")
}

// dropQuotes removes at most n marks, each with one blank after it.
func dropQuotes(s string, n int) string {
	for ; n > 0; n-- {
		t := strings.TrimLeft(s, " ")
		if !strings.HasPrefix(t, ">") {
			break
		}
		s = strings.TrimPrefix(t[1:], " ")
	}
	return s
}

// ends reports that a line does not go on from the one that is held: it begins as
// a record. Where the encoding is certain, the name at the beginning of a message
// may stand behind a break.
func (q *quotedPrintable) ends(t string) bool {
	if strings.IndexByte(t, 0x1b) >= 0 {
		t = cleanText(t)
	}
	t = trimBlanks(t)
	if t != "" && t[0] == '>' {
		return false
	}
	if t == "" || t[0] == '{' || stamped(t) || wrappedStamp(t) {
		return true
	}
	return !(q.on && len(q.buf) >= softBreakLeast) && looksFresh(t)
}

// wrappedStamp reports that a line begins with a stamp behind marks of prose or
// the beginning of a literal.
func wrappedStamp(t string) bool {
	at := nextStamp(t[:min(len(t), headSize)], 0)
	if at >= min(len(t), headSize) || at > 40 {
		return false
	}
	for i := range at {
		if c := t[i]; isLetter(c) || c >= 0x80 {
			return strings.IndexByte("\"'`", t[at-1]) >= 0
		}
	}
	return true
}

func cutHeader(s, name string) (string, bool) {
	if len(s) < len(name) || !strings.EqualFold(s[:len(name)], name) {
		return "", false
	}
	return strings.TrimSpace(s[len(name):]), true
}

// looksQuotedPrintable finds an escape that plain text hardly contains.
func looksQuotedPrintable(s string) bool {
	if strings.IndexByte(s, '=') < 0 {
		return false
	}
	if t, ok := strings.CutSuffix(s, "=20"); ok && t != "" && !isWordByte(t[len(t)-1]) {
		return true // "x=20" is an assignment, "large:=20" is a blank at the end of a line
	}
	if strings.HasSuffix(s, "=0D") || strings.Contains(s, "=1B[") || strings.Contains(s, "=C2=A0") || strings.Contains(s, "=E2=80=") {
		return true
	}
	if i := strings.Index(s, "=3D"); i > 0 {
		t, _ := stripQuotes(s[:i])
		t = strings.TrimSpace(t)
		// Names that are followed by a number or a small-lettered id.
		if fieldName(t) && t != "MESSAGE" || strings.HasSuffix(t, "ncfrag") || strings.HasSuffix(t, " [s") {
			return true
		}
	}
	for rest := s; ; {
		i := strings.Index(rest, "=3D")
		if i < 0 {
			return false
		}
		rest = rest[i+3:]
		if rest == "" || !isDigit(rest[0]) && !(rest[0] >= 'A' && rest[0] <= 'F') {
			return true
		}
	}
}

// decodeQP decodes =XX. It returns false if s holds a "=" that no encoder leaves.
func decodeQP(s string) (string, bool) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '=' {
			out = append(out, s[i])
			continue
		}
		if i+2 >= len(s) || !upperHex(s[i+1]) || !upperHex(s[i+2]) {
			return s, false
		}
		v, _ := hexByte(s[i+1], s[i+2])
		out = append(out, v)
		i += 2
	}
	return string(out), true
}

func upperHex(c byte) bool { return isDigit(c) || c >= 'A' && c <= 'F' }
