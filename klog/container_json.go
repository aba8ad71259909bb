package klog

import (
	"bytes"
	"strings"
)

const (
	// maxObject is the size that is kept of a JSON object over several lines.
	maxObject = 256 << 10
	// maxKernelText is more than the kernel's log takes of one message.
	maxKernelText = 16 << 10
)

// jsonScanner collects an object that spans lines, or objects of one long line,
// such as the output of journalctl -o json-pretty and dmesg --json. It follows
// the grammar byte by byte and gives up at the first that does not fit, so that
// it never takes in the lines of a log.
type jsonScanner struct {
	active bool
	buf    []byte // the object so far
	stack  []byte // the objects and arrays that are open, by their brackets
	base   int    // how many of them only enclose the records
	want   jsonWant
	word   int  // where in buf a number or a name such as null begins
	key    bool // the string is a key
	line   int  // where the object begins
	d      draft
	dmesg  bool // the records are elements of the array of dmesg --json
	list   bool // an array of objects has been opened
	dry    bool // only look whether it is JSON
	closed int  // objects that have closed
}

// jsonWant is what the grammar allows next.
type jsonWant uint8

const (
	wantValue jsonWant = iota
	wantKey
	wantColon
	wantComma
	inString
	inEscape
	inWord
)

// openJSON begins an object over several lines at a bare line. What does not
// go on as JSON is given back line by line.
func (r *RecordReader) openJSON(s string, d draft) bool {
	t := trimBlanks(s)
	if t == "" || t[0] != '{' && !strings.HasPrefix(t, "[{") || d.origin == OriginForeign || wholeObject(t) && !listFirst(t) {
		return false
	}
	b := []byte(s)
	r.startJSON(d)
	r.json.dry = true
	n, ok := r.scanJSON(b, d.line)
	goesOn := ok && r.json.active && n == len(b) && r.json.endLine()
	list := ok && !r.json.active && r.json.list && strings.TrimSpace(s[n:]) == ""
	if r.json.active = false; !goesOn && !list {
		return false
	}
	r.flushPending()
	r.startJSON(d)
	r.scanJSON(b, d.line)
	if goesOn {
		r.json.endLine()
	}
	return true
}

// listFirst reports that the first value of an object is an array.
func listFirst(t string) bool {
	head, rest, ok := strings.Cut(t[:min(len(t), 80)], ":")
	return ok && strings.HasPrefix(strings.TrimLeft(rest, " "), "[") && strings.Count(head, `"`) == 2
}

func (r *RecordReader) startJSON(d draft) {
	r.json = jsonScanner{active: true, buf: r.json.buf[:0], stack: r.json.stack[:0], line: d.line, d: draft{format: d.format, layers: d.layers}}
}

// jsonLine feeds one line. It returns false if the line is none of the object's.
func (r *RecordReader) jsonLine(line string, number int) bool {
	j := &r.json
	t := strings.TrimLeft(line, " \t\x1e")
	if t == "" {
		return true
	}
	if stamped(t) && (t[0] != '{' || len(j.stack) != j.base) {
		r.abandonJSON()
		return false
	}
	before, closed := len(j.buf), j.closed
	n, ok := r.scanJSON([]byte(line), number)
	if ok && j.active && j.endLine() {
		return true
	}
	if ok && !j.active {
		if rest := strings.Trim(line[n:], " \t,]\r"); rest != "" {
			r.bare(cleanText(rest), draft{line: number, format: j.d.format})
		}
		return true
	}
	if j.closed != closed {
		before = 0
	}
	j.buf = j.buf[:before] // the line is read on its own
	r.abandonJSON()
	return false
}

// endLine closes a line: no string and no key goes on in the next.
func (j *jsonScanner) endLine() bool {
	if j.want == inWord && !j.endWord() {
		return false
	}
	if j.want == inString || j.want == inEscape || j.want == wantColon {
		return false
	}
	if len(j.buf) > 0 {
		j.buf = append(j.buf, '\n')
	}
	return true
}

// endWord ends a number or a name.
func (j *jsonScanner) endWord() bool {
	j.want = wantComma
	w := string(j.buf[min(j.word, len(j.buf)):])
	switch w {
	case "true", "false", "null":
		return true
	}
	w = strings.TrimPrefix(w, "-")
	n := digits(w, 1, 40)
	if n > 0 && n < len(w) && w[n] == '.' {
		n += 1 + digits(w[n+1:], 1, 40)
	}
	if n > 0 && n < len(w) && w[n]|0x20 == 'e' {
		rest := strings.TrimLeft(w[n+1:], "+-")
		n = len(w) - len(rest) + digits(rest, 1, 4)
	}
	return n > 0 && n == len(w)
}

// scanJSON reads on in b and delivers each object that closes. It returns how
// much it has read, and false if the next byte is none of JSON's or the object
// is too large. The scanner is no longer active where the outermost value ends.
func (r *RecordReader) scanJSON(b []byte, line int) (int, bool) {
	j := &r.json
	for i := 0; i < len(b); i++ {
		c := b[i]
		if j.want == inString { // the most of all bytes
			n := bytes.IndexAny(b[i:], "\"\\")
			if n < 0 {
				n = len(b) - i
			}
			if len(j.buf)+n >= maxObject {
				return i, false
			}
			j.buf = append(j.buf, b[i:i+n]...)
			if i += n; i == len(b) {
				return i, true
			}
			c = b[i]
		}
		if len(j.buf) >= maxObject {
			return i, false
		}
		blank := c == ' ' || c == '\t' || c == '\r' || c == '\n'
		if j.want == inWord {
			if !blank && c != ',' && c != '}' && c != ']' {
				if j.buf = append(j.buf, c); len(j.buf)-j.word > 60 {
					return i, false
				}
				continue
			}
			if !j.endWord() {
				return i, false
			}
		}
		if len(j.stack) == j.base && j.want != inString && j.want != inEscape && c == '{' {
			j.buf, j.line = j.buf[:0], line
		}
		j.buf = append(j.buf, c)
		if blank && j.want != inString && j.want != inEscape {
			continue
		}
		if !r.stepJSON(c, line) {
			j.buf = j.buf[:max(len(j.buf)-1, 0)]
			return i, false
		}
		if !j.active {
			return i + 1, true
		}
	}
	return len(b), true
}

// stepJSON takes one byte that is not blank.
func (r *RecordReader) stepJSON(c byte, line int) bool {
	j := &r.json
	switch {
	case j.want == inEscape:
		j.want = inString
	case j.want == inString:
		switch {
		case c == '\\':
			j.want = inEscape
		case j.key:
			j.want = wantColon
		default:
			j.want = wantComma
		}
	case c == '"' && (j.want == wantKey || j.want == wantValue && len(j.stack) > 0):
		j.key, j.want = j.want == wantKey, inString
	case c == ':' && j.want == wantColon:
		j.want = wantValue
	case c == ',' && j.want == wantComma:
		j.want = wantValue
		if j.top() == '{' {
			j.want = wantKey
		}
	case (c == '{' || c == '[') && j.want == wantValue:
		if c == '{' && j.listOfRecords() {
			// What encloses the list is no record: forget it.
			j.base, j.buf, j.line, j.list = len(j.stack), append(j.buf[:0], c), line, true
		} else if len(j.stack) == 0 && c == '[' {
			j.base, j.list = 1, true
		}
		j.stack = append(j.stack, c)
		if j.want = wantKey; c == '[' {
			j.want = wantValue
		}
	case (c == '}' || c == ']') && j.want != wantColon && len(j.stack) > 0 && j.top() == c-2:
		j.stack = j.stack[:len(j.stack)-1]
		j.want = wantComma
		if c == '}' && len(j.stack) == j.base {
			r.closeObject()
		}
		j.base = min(j.base, len(j.stack))
		j.active = len(j.stack) > 0
	case j.want == wantValue && len(j.stack) > 0 && (isDigit(c) || c == '-' || c == 't' || c == 'f' || c == 'n'):
		j.word, j.want = len(j.buf)-1, inWord
	default:
		return false
	}
	return true
}

func (j *jsonScanner) top() byte {
	if len(j.stack) == 0 {
		return 0
	}
	return j.stack[len(j.stack)-1]
}

// listOfRecords reports that the object so far is {"dmesg":[{ or the like.
func (j *jsonScanner) listOfRecords() bool {
	if len(j.buf) > 200 || string(j.stack) != "{[" {
		return false
	}
	compact := strings.Join(strings.Fields(string(j.buf)), "")
	for _, k := range []string{"dmesg", "logs", "entries", "records", "messages", "events", "items"} {
		if compact == `{"`+k+`":[{` {
			j.dmesg = k == "dmesg"
			return true
		}
	}
	return false
}

// closeObject delivers the object that has closed. One that holds no message was
// no record: its lines are given back.
func (r *RecordReader) closeObject() {
	j := &r.json
	j.closed++
	if j.dry {
		j.buf = j.buf[:0]
		return
	}
	var o jsonObject
	s := string(j.buf)
	j.buf = j.buf[:0]
	o.parse(s, 0)
	o.dmesg = j.dmesg && o.key == "msg"
	d := j.d
	d.line = j.line
	wanted := r.wanted
	r.wanted = false // the raw line is a part only
	if _, ok := r.objectRecord(&o, d); ok {
		r.seen = true
	} else {
		r.giveBack(s, d)
	}
	r.wanted = wanted
}

// giveBack reads lines that have been held, each on its own.
func (r *RecordReader) giveBack(s string, d draft) {
	for l := range strings.SplitSeq(s, "\n") {
		if strings.TrimSpace(l) != "" {
			r.bare(cleanText(l), d)
		}
		d.line++
	}
}

// abandonJSON leaves the scanner. An object that is not complete is read as far
// as it goes; what holds no message was no record, and its lines are given back.
func (r *RecordReader) abandonJSON() {
	j := &r.json
	if !j.active {
		return
	}
	s, d := string(j.buf), j.d
	d.line = j.line
	j.active, j.buf, j.stack, j.base = false, j.buf[:0], j.stack[:0], 0
	if strings.TrimSpace(s) == "" {
		return
	}
	if r.dull(s) {
		r.stats.Rejected++
		return
	}
	defer r.earlier()()
	var o jsonObject
	o.parse(s, 0)
	o.dmesg = j.dmesg && o.key == "msg"
	d.cut = true
	if o.message() == "" {
		d.cut = false
		r.giveBack(s, d)
		return
	}
	origin, _ := r.objectRecord(&o, d)
	if origin == OriginForeign {
		return
	}
	// The message may be there and the object still not be one.
	for l := range strings.SplitSeq(s, "\n") {
		if stamped(strings.TrimLeft(l, " \t\"'")) {
			r.bare(cleanText(l), draft{line: d.line, format: d.format})
		}
		d.line++
	}
}
