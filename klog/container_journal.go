package klog

import (
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
	fields []jsonField
	texts  []string
	binary string // a field name that stood alone: its data follow in binary
	quoted bool   // the line came out of another container
	size   int
}

// openEntry recognises the first line of an entry.
func (r *RecordReader) openEntry(t string, d draft) bool {
	if strings.HasPrefix(t, "__") {
		if i := strings.IndexByte(t, '='); i > 0 && fieldName(t[:i]) {
			r.entry = journalEntry{kind: entryExport, d: d, quoted: d.layers > 2}
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
				r.entry = journalEntry{kind: entryVerbose, d: d}
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
	e := &r.entry
	if e.kind == entryVerbose {
		t := strings.TrimLeft(s, " \t")
		if len(t) == len(s) { // not indented
			r.finishEntry()
			return t == ""
		}
		if i := strings.IndexByte(t, '='); i > 0 && fieldName(t[:i]) {
			e.note(t[:i], t[i+1:])
		} else if n := len(e.texts); n > 0 && len(e.texts[n-1]) < maxField {
			e.texts[n-1] += "\n" + t
		}
		return true
	}
	s = strings.TrimRight(s, "\r")
	if e.binary != "" {
		// Quoting destroyed the length; what is left of it stands before the data.
		name := e.binary
		e.binary = ""
		s = cleanText(s)
		if s != "" && int(s[0]) == len(s)-1 {
			s = s[1:]
		}
		e.note(name, s)
		return true
	}
	if s == "" {
		r.finishEntry()
		return true
	}
	if i := strings.IndexByte(s, '='); i > 0 && fieldName(s[:i]) {
		if s[:i] == "__CURSOR" && len(e.fields) > 0 {
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

// exportBinary reads "length data newline" from the source after raw, a name
// that stands alone. It returns false, with nothing consumed, if raw is none or
// what follows does not fit.
func (r *RecordReader) exportBinary(raw []byte) bool {
	if !fieldName(string(raw)) || r.src.long {
		return false
	}
	name := string(raw)
	head := r.src.peek(8)
	if len(head) < 8 {
		return false
	}
	size := binary.LittleEndian.Uint64(head)
	if size > 1<<40 {
		return false
	}
	keep := int(min(size, maxField))
	data := r.src.peek(8 + keep + 1)
	if len(data) < 8+keep {
		return false
	}
	if uint64(keep) == size && len(data) > 8+keep && data[8+keep] != '\n' {
		return false // not a binary field: a line of text that looks like a name
	}
	text := string(data[8 : 8+keep])
	r.entry.note(name, text)
	r.src.skip(8)
	r.src.skip(int64(size))
	if b := r.src.peek(1); len(b) == 1 && b[0] == '\n' {
		r.src.skip(1)
	}
	return true
}

// note keeps one field.
func (e *journalEntry) note(name, value string) {
	if e.size += len(value); e.size > 4*maxField {
		return
	}
	if name == "MESSAGE" {
		e.texts = append(e.texts, strings.Clone(value))
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
	d := e.d
	r.journalDraft(e.get, &d)
	d.literal = true
	wanted := r.wanted
	r.wanted = false
	for _, t := range e.texts {
		r.peel(t, d)
	}
	r.seen = true
	r.wanted = wanted
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
	switch {
	case transport == "kernel" && (ident == "" || ident == "kernel" || facility == "0"):
		d.kernel()
	case transport == "kernel":
		d.foreign("") // written to /dev/kmsg by a program
	case transport != "" && facility != "0":
		d.foreign("") // whatever name the writer gave itself
	case facility == "0" || ident == "kernel":
		d.kernel()
	case facility != "" || ident != "":
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
