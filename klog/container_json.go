package klog

import (
	"bytes"
	"strings"
)

// maxObject is the size that is kept of a JSON object over several lines.
const maxObject = 256 << 10

// jsonScanner collects an object that spans lines, or objects of one long line,
// such as the output of journalctl -o json-pretty and dmesg --json.
type jsonScanner struct {
	active   bool
	buf      []byte
	depth    int
	inString bool
	escaped  bool
	line     int   // where the object begins
	d        draft // what stood around it
	cut      bool
	dmesg    bool // the objects are elements of the array of dmesg --json
	array    bool // an enclosing array is open
	tail     bool // the object around that array is open
}

// opensObject reports that t may begin a JSON object or an array of objects.
func opensObject(t string) bool {
	if t == "{" || t == "[" {
		return true
	}
	if strings.HasPrefix(t, "[") {
		t = strings.TrimLeft(t[1:], " \t")
	}
	if !strings.HasPrefix(t, "{") {
		return false
	}
	t = strings.TrimLeft(t[1:], " \t")
	return t == "" || t[0] == '"' || t[0] == '}'
}

// object reads the JSON object at the beginning of t.
func (r *RecordReader) object(t string, d *draft) headerResult {
	if !opensObject(t) {
		return headerNone
	}
	if r.jsonText(t, d) {
		return headerDone
	}
	var o jsonObject
	n, whole := o.parse(t, 0)
	if whole {
		if !r.objectRecord(&o, *d) {
			return headerNone
		}
		if rest := strings.Trim(t[n:], " \t,]"); rest != "" {
			d2 := draft{line: d.line, layers: d.layers, format: d.format}
			r.peel(rest, d2)
		}
		return headerDone
	}
	if hasStampWithin(t) && !d.cut {
		return headerNone // a console wrote into the object: split at the stamp
	}
	last := strings.TrimRight(t, " \t")
	if c := last[len(last)-1]; !d.literal && (c == '{' || c == '[' || c == ',') {
		r.json = jsonScanner{active: true, buf: r.json.buf[:0], line: d.line, d: draft{format: d.format, layers: d.layers}}
		r.jsonLine(t)
		return headerDone
	}
	if o.message() != "" && r.objectRecord(&o, *d) { // the end of the line or file is missing
		return headerDone
	}
	return headerNone
}

// jsonText starts the scanner for the objects of dmesg --json on one line, or
// for an array of objects.
func (r *RecordReader) jsonText(t string, d *draft) bool {
	if r.json.active {
		return false
	}
	rest := strings.TrimLeft(strings.TrimPrefix(t, "{"), " \t")
	dmesg := len(rest) < len(t) && strings.HasPrefix(rest, `"dmesg"`)
	if !dmesg && !strings.HasPrefix(t, `[{"`) {
		return false
	}
	r.json = jsonScanner{active: true, buf: r.json.buf[:0], line: d.line, d: draft{format: d.format, layers: d.layers}}
	if !r.jsonLine(t) {
		r.json.active = false
		return false
	}
	return true
}

// jsonChunks does the same for a line beyond the limit, which is read in chunks.
func (r *RecordReader) jsonChunks(raw []byte) bool {
	t := bytes.TrimLeft(raw[:min(len(raw), 80)], " \t\x1e")
	rest := bytes.TrimLeft(bytes.TrimPrefix(t, []byte{'{'}), " \t")
	if !bytes.HasPrefix(t, []byte(`[{"`)) && (len(rest) == len(t) || !bytes.HasPrefix(rest, []byte(`"dmesg"`))) {
		return false
	}
	r.json = jsonScanner{active: true, buf: r.json.buf[:0], line: r.src.line}
	r.chunks = chunksJSON
	r.jsonChunk(raw)
	return true
}

// jsonChunk feeds one chunk of a long line.
func (r *RecordReader) jsonChunk(b []byte) {
	ok := r.json.feed(r, b)
	if !ok || !r.src.long {
		r.chunks = chunksNone
		r.abandonJSON()
	}
}

// jsonLine feeds one line. It returns false if the line does not go on with the
// JSON; what has been collected is then delivered as far as it can be read.
func (r *RecordReader) jsonLine(line string) bool {
	j := &r.json
	t := strings.TrimLeft(line, " \t\x1e")
	if len(t) > 0 && !j.inString {
		switch c := t[0]; {
		case strings.IndexByte("\"{}[]:,-0123456789tfn", c) < 0,
			c == '[' && bracketStamp(t).n > 0,
			j.depth == 0 && len(j.buf) == 0 && strings.IndexByte("{}[],", c) < 0:
			r.abandonJSON()
			return false
		}
	}
	if len(t) == 0 {
		return true
	}
	ok := j.feed(r, []byte(line))
	if !ok || j.inString {
		r.abandonJSON()
		return ok
	}
	if j.depth > 0 && len(j.buf) < maxObject {
		j.buf = append(j.buf, '\n')
	}
	j.active = j.depth > 0 || j.array || j.tail
	return true
}

// feed scans bytes and delivers each object that closes. It returns false if
// something other than JSON follows an object.
func (j *jsonScanner) feed(r *RecordReader, b []byte) bool {
	for _, c := range b {
		if j.depth == 0 {
			switch c {
			case '{':
				j.depth, j.inString, j.escaped, j.cut = 1, false, false, false
				j.buf = append(j.buf[:0], c)
				j.line = r.src.line
			case '[':
				j.array = true
			case ']', '}', ',', ' ', '\t', '\r', '\n', 0x1e:
				if c == ']' {
					j.array = false
				} else if c == '}' {
					j.tail = false
				}
			default:
				return j.array
			}
			continue
		}
		if len(j.buf) < maxObject {
			j.buf = append(j.buf, c)
		} else {
			j.cut = true
		}
		switch {
		case j.escaped:
			j.escaped = false
		case j.inString:
			switch c {
			case '\\':
				j.escaped = true
			case '"':
				j.inString = false
			}
		case c == '"':
			j.inString = true
		case c == '{':
			if j.depth == 1 && j.listOfRecords() {
				// The enclosing object is only a wrapper: forget it.
				j.buf = append(j.buf[:0], c)
				j.array, j.tail, j.line = true, true, r.src.line
				continue
			}
			j.depth++
		case c == '}':
			if j.depth--; j.depth == 0 {
				r.closeObject()
			}
		}
	}
	return true
}

// listOfRecords reports that the object so far is {"dmesg":[{ or the like.
func (j *jsonScanner) listOfRecords() bool {
	if len(j.buf) > 200 {
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

func (r *RecordReader) closeObject() {
	var o jsonObject
	s := string(r.json.buf)
	o.parse(s, 0)
	o.dmesg = r.json.dmesg
	d := r.json.d
	d.line, d.cut = r.json.line, r.json.cut
	wanted := r.wanted
	r.wanted = false // the raw line is a part only
	if !r.objectRecord(&o, d) {
		r.seen = true
	}
	r.wanted = wanted
	r.json.buf = r.json.buf[:0]
}

// abandonJSON leaves the scanner. An object that is not complete is read as far
// as it goes; if it holds no message, its lines were no JSON and are delivered as text.
func (r *RecordReader) abandonJSON() {
	j := &r.json
	if !j.active {
		return
	}
	j.active = false
	line, s := j.line, string(j.buf)
	open := j.depth > 0
	j.depth, j.array, j.tail, j.buf, j.inString = 0, false, false, j.buf[:0], false
	if !open || strings.TrimSpace(s) == "" {
		return
	}
	var o jsonObject
	o.parse(s, 0)
	o.dmesg = j.dmesg
	if !hasStampWithin(s) && o.message() != "" && r.objectRecord(&o, j.d.at(line)) {
		return
	}
	for l := range strings.SplitSeq(s, "\n") {
		if strings.TrimSpace(l) != "" {
			r.headersNoObject(l, draft{line: line, layers: maxLayers / 2, format: j.d.format})
		}
		line++
	}
}

// at returns the draft for a damaged object that begins at the line.
func (d draft) at(line int) draft {
	d.line, d.cut = line, true
	return d
}

// headersNoObject delivers a line that looks like JSON as text, split at stamps.
func (r *RecordReader) headersNoObject(s string, d draft) {
	r.split(cleanText(s), d)
}

// hasStampWithin reports that an unmistakable stamp stands outside the JSON
// strings of s, or in one that has no end.
func hasStampWithin(s string) bool {
	inString, open := false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && inString:
			i++
		case c == '"':
			inString, open = !inString, i
		case c == '[' && !inString:
			if b := bracketStamp(s[i:]); b.strict {
				return true
			}
		}
	}
	if inString {
		for i := open; i < len(s); i++ {
			if s[i] == '[' && bracketStamp(s[i:]).strict {
				return true
			}
		}
	}
	return false
}

// objectRecord peels the message of an object. It returns false if there is none.
func (r *RecordReader) objectRecord(o *jsonObject, d draft) bool {
	rank := o.rank
	if o.message() == "" && len(o.texts) == 0 {
		return o.hollow()
	}
	d.literal = true
	switch {
	case rank == 0 && o.journal():
		d.in(FormatJournalJSON)
		r.journalDraft(o.get, &d)
	case o.dmesg || o.key == "msg" && o.get("pri") != "" && o.get("level") == "":
		d.in(FormatDmesgJSON)
		o.dmesgDraft(&d)
	case o.key == "log" && (o.get("stream") != "" || o.get("time") != ""):
		d.in(FormatDockerJSON)
		if w := o.get("time"); w != "" {
			d.wall = w
		}
		d.literal = false
		r.docker(o, d)
		return true
	default:
		d.in(FormatJSON)
		o.genericDraft(&d)
		d.literal = false
	}
	for _, t := range o.texts {
		r.peel(t, d)
	}
	return true
}

// docker delivers a log field. Docker ends each line by a line break and splits
// what is longer than its buffer; shippers that drop the line break must not
// make one line of many.
func (r *RecordReader) docker(o *jsonObject, d draft) {
	key := "docker " + o.get("stream")
	for _, t := range o.texts {
		whole := strings.HasSuffix(t, "\n")
		t = strings.TrimRight(t, "\r\n")
		if p := r.parts[key]; p != nil && looksFresh(t) {
			delete(r.parts, key)
			r.peel(string(p.text), p.d)
		}
		r.collect(key, t, whole, d)
	}
}

// looksFresh reports that s begins with a stamp or a prefix of kernel messages.
func looksFresh(s string) bool {
	t := strings.TrimLeft(s, " \t>")
	if t == "" {
		return false
	}
	if bracketStamp(t).n > 0 {
		return true
	}
	if n, _ := wallStamp(t); n > 0 {
		return true
	}
	if t[0] == '<' && len(t) > 3 && isDigit(t[1]) && (t[2] == '>' || t[3] == '>') {
		return true
	}
	word, _, ok := strings.Cut(t, ":")
	return ok && (messagePrefix(word) || word == "kernel")
}
