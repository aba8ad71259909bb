package klog

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/cswatch/cswatch/event"
)

// entryKind is the multi-line journal format that is being read.
type entryKind uint8

const (
	entryNone    entryKind = iota
	entryExport            // journalctl -o export
	entryVerbose           // journalctl -o verbose
)

// maxField is the size that is kept of one field of an entry.
const maxField = maxLine

// journalEntry collects the fields of one entry of export or verbose format.
type journalEntry struct {
	kind   entryKind
	d      draft
	head   string // verbose: the first line
	fields []jsonField
	texts  []string
	size   int    // of the texts
	binary string // a field name that stood alone: its data may follow
	indent int    // verbose: blanks before the fields
	more   int    // verbose: blanks before the lines of a text behind the first
}

// openEntry recognises the first line of an entry.
func (r *RecordReader) openEntry(s string, d draft) bool {
	t := strings.TrimSpace(s)
	if strings.HasPrefix(t, "__") {
		if i := strings.IndexByte(t, '='); i > 0 && fieldName(t[:i]) {
			r.entry = journalEntry{kind: entryExport, d: d}
			r.entry.d.in(FormatExport)
			r.entry.note(t[:i], t[i+1:])
			return true
		}
	}
	if strings.HasSuffix(t, "]") {
		if i := strings.Index(t, " [s="); i > 0 {
			if n, k := wallStamp(t[:i]); n == i && k != wallNone {
				d.wall = t[:n]
				d.in(FormatJournal)
				r.entry = journalEntry{kind: entryVerbose, d: d, head: t, indent: -blanks(s, 0) - 1}
				if _, b, ok := strings.Cut(t[i:], ";b="); ok {
					b, _, _ = strings.Cut(b, ";")
					r.entry.note("_BOOT_ID", b)
				}
				return true
			}
		}
	}
	return false
}

// entryLine feeds one line. It returns false if the line is none of the entry's.
func (r *RecordReader) entryLine(s string) bool {
	if r.entry.kind == entryVerbose {
		return r.verboseLine(s)
	}
	e := &r.entry
	s = strings.TrimRight(s, "\r")
	if s == "" {
		r.finishEntry()
		return true
	}
	if name := e.binary; name != "" {
		// Something between destroyed the length of the field; it stands before the
		// data as a byte and some zeros.
		e.binary = ""
		if len(s) > 1 && s[1] == 0 {
			e.note(name, strings.TrimLeft(s[1:], "\x00"))
			return true
		}
	}
	if i := strings.IndexByte(s, '='); i > 0 && fieldName(s[:i]) {
		if s[:i] == "__CURSOR" && len(e.fields)+len(e.texts) > 0 {
			d := e.d
			r.finishEntry() // the blank line between entries is missing
			d.line = r.src.line
			return r.openEntry(s, d)
		}
		e.note(s[:i], s[i+1:])
		return true
	}
	if fieldName(s) {
		e.binary = strings.Clone(s)
		return true
	}
	r.finishEntry()
	return false
}

// verboseLine takes an indented line: a field, or a line of the text of the
// field before, which stands below it.
func (r *RecordReader) verboseLine(s string) bool {
	e := &r.entry
	t := trimBlanks(s)
	in := len(s) - len(t)
	i := strings.IndexByte(t, '=')
	switch {
	case e.indent < 0 && in > -e.indent-1 && i > 0 && fieldName(t[:i]):
		e.indent = in
		fallthrough
	case in == e.indent && i > 0 && fieldName(t[:i]):
		e.note(t[:i], t[i+1:])
		e.more = in + 4
		return true
	case e.indent >= 0 && in >= e.more && t != "":
		if n := len(e.texts); n > 0 && len(e.texts[n-1]) < maxField {
			e.texts[n-1] += "\n" + t
		}
		return true
	}
	r.finishEntry()
	return t == ""
}

// exportField takes a field of an export as it stands in a file, without the
// detours that other lines make.
func (r *RecordReader) exportField(raw []byte) bool {
	i := bytes.IndexByte(raw, '=')
	if i <= 0 || r.qp.on || r.qp.wait || raw[len(raw)-1] == '=' || bytes.HasPrefix(raw[i+1:], []byte("3D")) || r.src.long || r.entry.binary != "" || len(r.entry.fields)+len(r.entry.texts) == 0 || raw[0] == '_' && raw[1] == '_' {
		return false
	}
	for _, c := range raw[:i] {
		if c != '_' && (c < 'A' || c > 'Z') && !isDigit(c) {
			return false
		}
	}
	r.entry.note(string(raw[:i]), string(raw[i+1:]))
	return true
}

// maxBinary is the size of a field that the journal takes at most.
const maxBinary = 768 << 20

// exportBinary reads "length data newline" from the source behind a name
// that stands alone. It returns false, with nothing consumed, if what follows
// does not fit.
func (r *RecordReader) exportBinary(name string) bool {
	head := r.src.peek(8)
	if len(head) < 8 {
		return false
	}
	size := binary.LittleEndian.Uint64(head)
	if size > maxBinary {
		return false
	}
	if size > lineBuffer-headSize {
		return r.largeField(name, int64(size))
	}
	data := r.src.peek(8 + int(size) + headSize)
	if len(data) < 8+int(size) || !closesField(data[8+size:]) {
		return false // a line of text that looks like a name
	}
	text := string(data[8 : 8+min(size, maxField)])
	r.entry.note(name, text)
	r.src.skip(int64(8 + size + 1))
	return true
}

// closesField reports that what stands behind the data of a field fits: a line
// end, then the end of the entry or another field.
func closesField(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if b[0] != '\n' {
		return false
	}
	line, _, _ := bytes.Cut(b[1:], lfBytes)
	name, _, _ := bytes.Cut(line, []byte{'='})
	return len(line) == 0 || fieldName(string(name))
}

// note keeps one field.
func (e *journalEntry) note(name, value string) {
	if name == "MESSAGE" {
		if e.size += len(value); e.size > 4*maxField {
			return
		}
		e.texts = append(e.texts, value)
		return
	}
	if len(value) <= 256 && len(e.fields) < maxScalars {
		e.fields = append(e.fields, jsonField{strings.Clone(name), strings.Clone(value)})
	}
}

func (e *journalEntry) get(key string) string {
	for _, f := range e.fields {
		if f.key == key {
			return f.value
		}
	}
	return ""
}

// finishEntry delivers the entry.
func (r *RecordReader) finishEntry() {
	e := r.entry
	if e.kind == entryNone {
		return
	}
	r.entry = journalEntry{}
	defer r.earlier()()
	d := e.d
	if e.kind == entryVerbose && e.indent < 0 {
		r.headers(e.head, draft{line: d.line}) // the head of nothing
	} else {
		r.journalDraft(e.get, &d)
		d.literal = true
		for _, t := range e.texts {
			r.peel(t, d)
		}
		r.seen = true
	}
}

// journalDraft reads the fields of a journal record.
func (r *RecordReader) journalDraft(get func(string) string, d *draft) {
	d.own = true
	if id := get("_BOOT_ID"); id != "" {
		r.sawBoot(id)
		d.bootID = id
	}
	if p := get("PRIORITY"); len(p) == 1 && isDigit(p[0]) {
		d.level = optLevel(int64(p[0] - '0'))
	}
	ident, facility, transport := get("SYSLOG_IDENTIFIER"), get("SYSLOG_FACILITY"), get("_TRANSPORT")
	if ident != "" {
		d.ident = ident
	}
	switch kernel := (ident == "" || ident == "kernel") && (facility == "" || facility == "0"); {
	case transport == "kernel" && (ident == "" || ident == "kernel" || facility == "0"):
		d.kernel()
	case transport != "":
		d.foreign("") // whatever name and facility the writer gave itself
	case kernel && ident+facility != "":
		d.kernel()
	case !kernel:
		d.foreign("")
	}
	// The journal receives early messages late: only the source's stamp is the kernel's.
	if us, ok := micros(get("_SOURCE_MONOTONIC_TIMESTAMP")); ok {
		d.printk = event.Some(us * 1000)
	} else if us, ok := micros(get("__MONOTONIC_TIMESTAMP")); ok {
		d.printk = event.Some(us * 1000)
		d.doubt = DoubtArrival
	}
	if w := get("__REALTIME_TIMESTAMP"); w != "" && d.wall == "" {
		d.wall = w
	}
}

// micros reads a journal stamp in microseconds.
func micros(s string) (int64, bool) {
	n := digits(s, 1, 15)
	return decimal(s[:n]), n > 0 && n == len(s)
}
