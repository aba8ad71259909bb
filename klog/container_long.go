package klog

import "bytes"

// chunkKind says how a line beyond the limit is read on: as objects of JSON, as
// HTML with its own line breaks, or as text in pieces.
type chunkKind uint8

const (
	chunksNone chunkKind = iota
	chunksJSON
	chunksHTML
	chunksText
)

const (
	// reach is how far before the end of a piece a record is looked for that goes
	// on in the next piece. No kernel message is longer.
	reach = 8 << 10
	// headSize is how much of a line its headers can take.
	headSize = 256
)

// longLine begins a line beyond the limit; raw is its first part.
func (r *RecordReader) longLine(raw []byte, d draft) {
	r.stats.Cut++
	r.carry = r.carry[:0]
	t := trimMarks(raw[:min(len(raw), headSize)])
	t = bytes.TrimPrefix(bytes.TrimPrefix(t, []byte{0x1e}), []byte("data: "))
	if opensObject(string(t)) || stamped(string(t)) {
		r.flushQP()
		r.abandonJSON()
		r.finishEntry()
	}
	switch {
	case r.json.active || r.entry.kind != entryNone || r.qp.wait || d.origin == OriginForeign:
		r.chunks = chunksText // what those have opened ends here, or takes the line
	case bytes.HasPrefix(t, []byte("[{")) || opensObject(string(t)):
		r.chunks = chunksJSON
	case r.html != 0 || beginsWithTag(string(t)):
		r.chunks = chunksHTML
	default:
		r.chunks = chunksText
	}
	r.long = longText{line: d.line, begins: true}
	if r.chunks == chunksJSON {
		raw = raw[bytes.IndexAny(raw, "{["):]
		r.startJSON(draft{line: d.line})
	}
	r.chunk(raw)
}

// longText is what is known of a line that is read in pieces.
type longText struct {
	line   int
	begins bool // no piece has been read
}

// chunk takes one chunk of the line.
func (r *RecordReader) chunk(b []byte) {
	last := !r.src.long
	switch r.chunks {
	case chunksJSON:
		r.jsonChunk(b, last)
	case chunksHTML:
		r.htmlChunk(b, last)
	default:
		r.textChunk(b, last)
	}
	if last {
		r.chunks = chunksNone
	}
}

// jsonChunk feeds one chunk to the scanner, object after object.
func (r *RecordReader) jsonChunk(b []byte, last bool) {
	j := &r.json
	for {
		if !j.active {
			if b = bytes.TrimLeft(b, " \t,]\x1e"); len(b) == 0 {
				return
			}
			if b[0] != '{' {
				r.chunks = chunksText
				r.textChunk(b, last)
				return
			}
			r.startJSON(draft{line: r.long.line})
		}
		n, ok := r.scanJSON(b, r.src.line)
		b = b[n:]
		if ok && j.active && (!last || j.endLine()) {
			return
		}
		if ok && !j.active {
			continue
		}
		// No JSON, or an object too large to keep: what there is of it is a record
		// if it holds a message, and text otherwise.
		held := bytes.Clone(j.buf)
		large := len(held) >= maxObject-maxLine
		j.active, j.buf = false, j.buf[:0]
		r.chunks = chunksText
		var o jsonObject
		if o.parse(string(held), 0); large && o.message() != "" {
			r.objectRecord(&o, draft{line: j.line, cut: true})
			r.textChunk(b, last)
			return
		}
		r.textChunk(append(held, b...), last)
		return
	}
}

// textChunk adds a chunk and reads the pieces that are complete.
func (r *RecordReader) textChunk(b []byte, last bool) {
	r.carry = append(r.carry, b...)
	for len(r.carry) > maxLine || last && len(r.carry) > 0 {
		n := len(r.carry)
		if n > maxLine {
			n = pieceEnd(r.carry[:maxLine])
		}
		if r.filter == nil || r.long.begins || r.filter(r.carry[:n]) || !r.shown(r.carry[:n]) {
			r.longPiece(string(r.carry[:n]), last && n == len(r.carry))
		} else {
			r.stats.Rejected++
		}
		r.long.begins = false
		r.carry = append(r.carry[:0], r.carry[n:]...)
	}
}

// shown reports that a piece shows all of its text and is no part of a message.
func (r *RecordReader) shown(piece []byte) bool {
	for _, w := range []string{" stdout P ", " stderr P ", "ncfrag="} {
		if bytes.Contains(piece, []byte(w)) {
			return false
		}
	}
	object, ok := r.showsAll(piece)
	return ok && object < 0
}

// pieceEnd returns where a piece of a long line ends: before a record that begins
// near its end, or far enough from the end that none can begin in what is left
// and be missed.
func pieceEnd(b []byte) int {
	s := string(b[len(b)-reach:])
	return len(b) - reach + min(nextHeader(s, 1), reach-headSize)
}

// longPiece reads a piece of a long line. Something may stand before a record
// on the same line: what is left of another after a loss of power, the output of
// a program that ended no line.
func (r *RecordReader) longPiece(s string, last bool) {
	for s != "" {
		d := draft{line: r.long.line, cut: true}
		if r.foreign {
			d.foreign("")
			r.emit(cleanText(s), d)
			return
		}
		n := 1
		if r.long.begins || stamped(s) {
			n = min(headSize, len(s)) // behind its own headers
		}
		for n < len(s) {
			if n = nextHeader(s, n); n < len(s) && s[n] == '[' {
				n += bracketStamp(s[n:]).n // split finds those
				continue
			}
			break
		}
		if last && n == len(s) && !r.long.begins && (stamped(s) || nextStamp(s, 0) < len(s)) {
			d.cut = false // nothing is missing of the last record
		}
		if r.long.begins {
			r.quoted(s[:n], d)
		} else {
			r.stateful(s[:n], d)
		}
		r.long.begins = false
		s = s[n:]
	}
}

// nextHeader returns the next place from which a record with an unmistakable
// header begins in the middle of a line, len(s) if there is none.
func nextHeader(s string, from int) int {
	objects := 0
	for i := from; i < len(s)-8; i++ {
		t := s[i:]
		switch c := t[0]; {
		case c == '[':
			if bracketStamp(t).strict {
				return i
			}
		case c == '{':
			if t[1] == '"' && objects < 16 {
				objects++
				var o jsonObject
				if _, whole := o.parse(t, 0); whole && o.message() != "" {
					return i
				}
			}
		case isDigit(c):
			if isDigit(s[max(i-1, 0)]) && i > from && t[4] != '-' {
				continue
			}
			if t[4] == '-' && t[7] == '-' || t[4] == '/' && t[7] == '/' || t[4] == ' ' {
				if n, k := wallStamp(t); n > 0 && k != wallTime {
					return i
				}
			} else if t[2] == '-' && t[5] == ' ' {
				if shape(t, "M_H") > 0 {
					return i
				}
			} else if t[1] == ',' || t[2] == ',' || t[3] == ',' {
				if _, ok := parseKmsg(t); ok {
					return i
				}
			}
		case c >= 'A' && c <= 'W':
			if t[3] != ' ' {
				continue
			}
			day := isDigit(t[4]) || t[4] == ' ' && isDigit(t[5])
			if day && nameIn(t, months) > 0 || (day || nameIn(t[4:], months) > 0) && nameIn(t, weekdays) > 0 {
				if n, k := wallStamp(t); n > 0 && k != wallTime {
					return i
				}
			}
		}
	}
	return len(s)
}

// beginsWithTag reports that a line begins with mark-up.
func beginsWithTag(s string) bool {
	t := trimBlanks(s)
	if t == "" || t[0] != '<' {
		return false
	}
	_, n := htmlTag(t)
	return n > 0
}
