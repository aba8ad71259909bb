package klog

import "strings"

// quotedPrintable is what is known of the transport encoding of mail. It is
// undone only on evidence, because "tsc=unstable" is good text.
type quotedPrintable struct {
	on    bool // a header or a soft line break has shown it
	buf   []byte
	d     draft
	depth int  // marks of quoting in front of buf
	wait  bool // buf ends with "=" and may go on
	// within says that quoting was encoded, so that the rest of a broken line
	// has no mark; outside says that encoded lines were quoted.
	within, outside bool
}

func (q *quotedPrintable) held() bool { return q.wait }

// Lengths of a line, with its "=", that an encoder breaks.
const (
	softBreakLeast = 60
	softBreakMost  = 82
)

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
		if q.on || !beginsRecord(t) {
			q.on = true
			q.buf = append(q.buf[:len(q.buf)-1], next...)
			q.d.cut = q.d.cut || d.cut
			q.wait = softBreak(next, true) && len(q.buf) < maxLine
			if !q.wait {
				if len(q.buf) > maxLine {
					q.buf, q.d.cut = q.buf[:maxLine], true
				}
				r.decoded(string(q.buf), q.d)
			}
			return
		}
		q.wait = false
		r.logical(string(q.buf), q.d)
	}
	if v, ok := cutHeader(s, "Content-Transfer-Encoding:"); ok {
		q.on = strings.EqualFold(v, "quoted-printable")
		return
	}
	if softBreak(s, q.on) {
		q.buf, q.d, q.wait, q.depth = append(q.buf[:0], s...), d, true, quoteDepth(s)
		return
	}
	r.decoded(s, d)
}

// softBreak reports that a line can go on after the "=" at its end.
func softBreak(s string, on bool) bool {
	return strings.HasSuffix(s, "=") && len(s) <= softBreakMost && (on || len(s) >= softBreakLeast)
}

// decoded decodes the escapes of a whole line and hands it on.
func (r *RecordReader) decoded(s string, d draft) {
	q := &r.qp
	if strings.IndexByte(s, '=') >= 0 && (q.on || looksQuotedPrintable(s)) {
		if t, ok := decodeQP(s); ok {
			q.on = true
			s = strings.TrimRight(t, "\r\n")
		}
	}
	r.logical(s, d)
}

// flushQP hands on the last line of the input.
func (r *RecordReader) flushQP() {
	if !r.qp.wait {
		return
	}
	r.qp.wait = false
	s := string(r.qp.buf)
	if r.qp.on {
		s = s[:len(s)-1]
	}
	r.decoded(s, r.qp.d)
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

// beginsRecord reports that a line begins with a stamp, so that it does not go
// on from the one before.
func beginsRecord(t string) bool {
	t = strings.TrimLeft(t, " \t")
	return t == "" || looksFresh(t) || t[0] == '{'
}

func cutHeader(s, name string) (string, bool) {
	if len(s) < len(name) || !strings.EqualFold(s[:len(name)], name) {
		return "", false
	}
	return strings.TrimSpace(s[len(name):]), true
}

// looksQuotedPrintable finds an escape that plain text hardly contains.
func looksQuotedPrintable(s string) bool {
	if t, ok := strings.CutSuffix(s, "=20"); ok && t != "" && !isWordByte(t[len(t)-1]) {
		return true // "x=20" is an assignment, "large:=20" is a blank at the end of a line
	}
	if strings.HasSuffix(s, "=0D") || strings.Contains(s, "=C2=A0") || strings.Contains(s, "=E2=80=") {
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
