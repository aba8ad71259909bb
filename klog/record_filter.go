package klog

import (
	"bytes"
	"encoding/binary"
)

// heldLine is a line that the filter turned away and that may be the beginning
// of a wrapped message, whose known words are on both lines or on the next.
type heldLine struct {
	set  bool
	text []byte
	line int
	// d is what is known of a line that was decoded before it was turned away.
	decoded bool
	d       draft
}

// Lines that a wrap made. Mail wraps at 72 to 78 columns, forums and terminals
// at 80 or more; quoting marks come on top.
const (
	leastWrapped = 16
	mostWrapped  = 200
	// seam is how much of both lines is looked at where they meet.
	seam = 32
)

// turnedAway asks the filter about a raw line. Where it says no, and its word is
// final because the line shows all of its text, the line is counted only.
func (r *RecordReader) turnedAway(raw []byte) bool {
	r.wanted = r.filter(raw)
	if r.prev.set {
		r.prev.set = false
		if r.wanted || r.filterSeam(raw) {
			r.deliverHeld()
		}
	}
	if r.wanted {
		return false
	}
	if !r.idle() || !r.rejectable(raw) {
		return false
	}
	r.stats.Rejected++
	r.seen = r.seen || len(raw) > 0
	r.afterKmsg = len(raw) > 0 && (isDigit(raw[0]) && bytes.IndexByte(raw, ';') > 0 || raw[0] == ' ' && r.afterKmsg)
	if n := len(raw); n >= leastWrapped && n <= mostWrapped && r.src.nextIsBare(raw) {
		r.prev.set, r.prev.line, r.prev.decoded = true, r.src.line, false
		r.prev.text = append(r.prev.text[:0], raw...)
	}
	return true
}

// deliverHeld takes the held line after all.
func (r *RecordReader) deliverHeld() {
	wanted, foreign := r.wanted, r.foreign
	r.wanted = true
	r.stats.Rejected--
	if r.prev.decoded {
		r.grace = graceLines + 1
		r.deliver(string(r.prev.text), r.prev.d)
	} else {
		r.raw(r.prev.text, r.prev.line)
	}
	r.wanted, r.foreign = wanted, foreign
}

// nextIsBare reports that the line behind this one may lack a stamp. It looks at
// few bytes and errs on this side.
func (l *lineSource) nextIsBare(line []byte) bool {
	a := trimMarks(line)
	b := trimMarks(l.buf[l.start:min(l.start+40, l.end)])
	if len(b) < 4 || len(a) < 4 {
		return true
	}
	switch c := b[0]; {
	case c == '[' && (b[1] == ' ' || isDigit(b[1])), c == '<', c == '{', c == '\n', c == '\r', isDigit(c) && isDigit(a[0]):
		return false
	}
	return string(a[:4]) != string(b[:4]) // "Mar " and "Mar "
}

// trimMarks removes blanks and marks of quoting.
func trimMarks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '>' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

// filterSeam asks the filter about the place where the held line and this one
// meet, with a blank between them and without.
func (r *RecordReader) filterSeam(raw []byte) bool {
	a := bytes.TrimRight(r.prev.text, " \t\r")
	b := trimMarks(raw)
	a, b = a[max(0, len(a)-seam):], b[:min(len(b), seam)]
	r.scratch = append(append(r.scratch[:0], a...), b...)
	if r.filter(r.scratch) {
		return true
	}
	r.scratch = append(append(append(r.scratch[:0], a...), ' '), b...)
	return r.filter(r.scratch)
}

// want asks the filter about a decoded text and notes how many lines may follow it.
func (r *RecordReader) want(text string, d *draft) bool {
	if !r.wanted {
		r.scratch = append(r.scratch[:0], text...)
		if !r.filter(r.scratch) {
			if d.own {
				r.grace = 0 // what follows is the rest of this one, if of any
				if !d.inner && len(text) <= mostWrapped {
					r.prev.set, r.prev.line, r.prev.decoded, r.prev.d = true, d.line, true, *d
					r.prev.text = append(r.prev.text[:0], text...)
				}
				return false
			}
			return r.grace > 0
		}
	}
	lines := graceLines
	if r.follow != nil {
		r.scratch = append(r.scratch[:0], text...)
		lines = r.follow(r.scratch)
	}
	r.grace = max(r.grace, lines+1)
	return true
}

// rejectable reports that the raw line shows all of its text, opens nothing and
// marks nothing, so that the filter's word on it is final. It notes what the
// line says about boots.
func (r *RecordReader) rejectable(line []byte) bool {
	t := trimMarks(line)
	if len(t) == 0 {
		return true
	}
	if r.src.after == endCR && !r.src.broke && !r.src.within {
		return false // whose it is, is said once
	}
	last := line[len(line)-1]
	for i := len(line) - 1; i > 0 && (last == ' ' || last == '\t'); i-- {
		last = line[i-1]
	}
	if last == '=' || last == ']' {
		return false // a soft break may hide a word; some headers have their text on the next line
	}
	switch c := t[0]; {
	case isDigit(c):
		if len(t) < shortLine && bytes.ContainsAny(t, ":;.") {
			return false // a stamp may stand alone
		}
		if len(t) > 6 && t[2] == '-' && t[5] == ' ' && (bytes.Contains(t, []byte("): ")) || bytes.Contains(t, []byte(" : "))) {
			return false // logcat divides a message into tag and text
		}
		head := t[:min(len(t), 120)]
		if bytes.Contains(head, []byte("ncfrag=")) || bytes.Contains(head, []byte(" P ")) || len(r.parts) > 0 && bytes.Contains(head, []byte(" std")) {
			return false // a part of a message
		}
	case isLetter(c):
		if len(t) < shortLine && bytes.IndexByte(t, ':') >= 0 && bytes.ContainsAny(t, "0123456789") || len(t) < 24 && bytes.IndexByte(t, '#') > 0 {
			return false
		}
		if c|0x20 == 'c' && len(t) > 8 && t[7] == '-' || len(t) > 1 && t[1] == '/' {
			return false
		}
	case c == '[':
		if len(t) < shortLine && bytes.HasSuffix(bytes.TrimRight(t, " "), []byte{']'}) || len(t) > 1 && t[1] == '{' {
			return false
		}
	case c == '-' || c == '_' || c == '=' || c == '"' || c == '\'' || c == '|' || c == '`':
		return false
	}
	object, ok := r.showsAll(line)
	return ok && (object < 0 || r.rejectableJSON(line[object:]))
}

// shortLine: shorter lines may be a stamp alone.
const shortLine = 48

// special reports that the line holds a byte that decoding may remove or
// replace: control characters, bytes beyond ASCII, & < = \ {. It looks at eight
// bytes at a time.
func special(line []byte) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(line); i += 8 {
		w := binary.LittleEndian.Uint64(line[i:])
		// The top bit of each byte shows: less than a blank, beyond ASCII, or equal.
		found := (w-ones*' ')&^w | w
		// < and = differ in one bit, and so do { and DEL.
		found |= equal(w|ones, '=') | equal(w|4*ones, 0x7f) | equal(w, '&') | equal(w, '\\')
		if found&tops != 0 {
			return true
		}
	}
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case c < ' ', c >= 0x7f, c == '&', c == '<', c == '=', c == '\\', c == '{':
			return true
		}
	}
	return false
}

// equal sets the top bit of the lowest byte of w that equals c, and perhaps of
// bytes above it.
func equal(w uint64, c uint64) uint64 {
	const ones = 0x0101010101010101
	x := w ^ ones*c
	return (x - ones) &^ x
}

// showsAll reports that decoding does not change the text of the line. It
// returns where an object begins in it, -1 if none does.
func (r *RecordReader) showsAll(line []byte) (int, bool) {
	object := -1
	if !special(line) {
		return object, true
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\t' || c == '\r' || c == '\n':
		case c < ' ', c >= 0x7f, c == '&':
			return object, false
		case c == '<':
			if i+1 < len(line) && (isLetter(line[i+1]) || line[i+1] == '/' || line[i+1] == '!') {
				return object, false
			}
		case c == '=':
			if r.qp.on || i+2 < len(line) && upperHex(line[i+1]) && upperHex(line[i+2]) {
				return object, false
			}
		case c == '\\':
			// Within an object some escapes hide no letter.
			if object < 0 || i+1 >= len(line) || bytes.IndexByte([]byte(`"nrt`), line[i+1]) < 0 {
				return object, false
			}
			i++
		case c == '{' && object < 0:
			object = i
		}
	}
	return object, true
}

// dull reports that nothing in held lines can be wanted.
func (r *RecordReader) dull(held string) bool {
	if r.filter == nil || r.grace > 0 {
		return false
	}
	r.scratch = append(r.scratch[:0], held...)
	if r.filter(r.scratch) || bytes.Contains(r.scratch, []byte("_BOOT_ID")) || bytes.IndexByte(r.scratch, '[') >= 0 {
		return false // a message may be an array of bytes
	}
	_, ok := r.showsAll(r.scratch)
	return ok
}

// rejectableJSON does the same for a line with an object in it.
func (r *RecordReader) rejectableJSON(line []byte) bool {
	end := bytes.TrimRight(line, " \t,")
	if end[len(end)-1] != '}' || bytes.HasPrefix(line, []byte(`{"dmesg"`)) {
		return false
	}
	if i := bytes.Index(line, []byte(`"MESSAGE"`)); i >= 0 {
		if rest := bytes.TrimLeft(line[i+9:], ": "); len(rest) > 0 && rest[0] == '[' {
			return false
		}
	}
	if i := bytes.Index(line, []byte(`"_BOOT_ID"`)); i >= 0 {
		rest := bytes.TrimLeft(line[i+10:], ` :"`)
		j := bytes.IndexByte(rest, '"')
		if j <= 0 || bytes.Contains(rest, []byte(`"_BOOT_ID"`)) {
			return false
		}
		if string(rest[:j]) != r.bootID {
			r.sawBoot(string(rest[:j]))
		}
	}
	if i := bytes.Index(line, []byte(`"log"`)); i >= 0 {
		return len(r.parts) == 0 && bytes.Contains(line[i:], []byte(`\n"`))
	}
	return true
}
