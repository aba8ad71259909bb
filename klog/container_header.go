package klog

import (
	"strings"

	"github.com/cswatch/cswatch/event"
)

// headerResult is what became of one attempt to read a header.
type headerResult uint8

const (
	headerNone headerResult = iota // no header here: the rest is text
	headerMore                     // a header was read, another may follow
	headerDone                     // the line is used up
)

// header reads one header at the beginning of t, which has no leading blanks.
func (r *RecordReader) header(t string, d *draft) (string, headerResult) {
	switch c := t[0]; {
	case c == '[':
		return r.bracketHeader(t, d)
	case c == '<':
		return r.priorityHeader(t, d)
	case c == '{':
		return t, r.object(t, d)
	case c == 0x1e || c == 'd' && strings.HasPrefix(t, "data: {"):
		if i := strings.IndexByte(t, '{'); i >= 0 && i <= 6 {
			return t, r.object(t[i:], d)
		}
	case isDigit(c):
		return r.digitHeader(t, d)
	case isLetter(c):
		return r.letterHeader(t, d)
	}
	return t, headerNone
}

func (r *RecordReader) bracketHeader(t string, d *draft) (string, headerResult) {
	if len(t) > 2 && t[1] == ' ' && isDigit(t[2]) {
		if rest, ok := logcatLong(t, d); ok {
			return rest, headerMore
		}
	}
	if strings.HasPrefix(t, `[{"`) {
		return t, r.object(t[1:], d)
	}
	b := bracketStamp(t)
	if b.n == 0 {
		return t, headerNone
	}
	d.own = true
	d.in(b.format)
	if !b.printk.IsZero() {
		d.printk = b.printk
	} else {
		d.wall, d.doubt = b.wall, b.doubt
	}
	rest := t[b.n:]
	if n := callerField(rest); n > 0 {
		rest = rest[n:]
	} else if strings.HasPrefix(rest, " [") {
		if n := callerField(rest[1:]); n > 0 {
			rest = rest[1+n:]
		}
	}
	rest = strings.TrimPrefix(rest, " ")
	if host, after, ok := strings.Cut(rest, " "); ok && !b.printk.IsZero() && hostName(host) {
		// journalctl short-monotonic: "[   12.345678] host kernel: text".
		if strings.HasPrefix(after, "kernel: ") {
			if d.format == FormatDmesg {
				d.format = FormatJournal
			}
			return after, headerMore
		}
		if name, n := processPrefix(after); n > 0 {
			if d.format == FormatDmesg {
				d.format = FormatJournal
			}
			d.writer(name)
			return strings.TrimPrefix(after[n:], " "), headerMore
		}
	}
	return rest, headerMore
}

// priorityHeader reads "<4>", and the protocol that may follow it.
func (r *RecordReader) priorityHeader(t string, d *draft) (string, headerResult) {
	n := digits(t[1:], 1, 3)
	if n == 0 || len(t) <= 1+n || t[1+n] != '>' {
		return t, headerNone
	}
	pri := decimal(t[1 : 1+n])
	if pri > 191 {
		return t, headerNone
	}
	rest := t[n+2:]
	if msg, ok := rfc5424(rest, d); ok {
		d.priority(pri)
		return msg, headerMore
	}
	d.priority(pri)
	if d.format == "" {
		d.in(FormatDmesg)
		if _, k := wallStamp(strings.TrimLeft(rest, " ")); k != wallNone {
			d.format = FormatSyslog
		}
	}
	return rest, headerMore
}

func (r *RecordReader) digitHeader(t string, d *draft) (string, headerResult) {
	if rest, res := r.kmsgHeader(t, d); res != headerNone {
		return rest, res
	}
	if rest, ok := logcatHeader(t, d); ok {
		return rest, headerMore
	}
	if strings.HasPrefix(t, "1 ") {
		if rest, ok := rfc5424(t, d); ok {
			return rest, headerMore
		}
	}
	// Octet-counted syslog frames: "123 <4>1 ...".
	if n := digits(t, 1, 6); n > 0 && strings.HasPrefix(t[n:], " <") && digits(t[n+2:], 1, 3) > 0 {
		return t[n+1:], headerMore
	}
	return r.wallHeader(t, d)
}

func (r *RecordReader) letterHeader(t string, d *draft) (string, headerResult) {
	if rest, ok := klogHeader(t, d); ok {
		return rest, headerMore
	}
	if rest, ok := columnsHeader(t, d); ok {
		return rest, headerMore
	}
	if rest, ok := logcatBrief(t, d); ok {
		return rest, headerMore
	}
	if rest, res := r.wallHeader(t, d); res != headerNone {
		return rest, res
	}
	if rest, ok := strings.CutPrefix(t, "kernel:"); ok && d.ident == "" {
		if rest == "" || rest[0] == ' ' || rest[0] == '[' || d.wall != "" {
			d.in(FormatSyslog)
			d.writer("kernel")
			return strings.TrimPrefix(rest, " "), headerMore
		}
	}
	if d.ident == "" {
		if host, after, ok := strings.Cut(t, " "); ok && hostName(host) && strings.HasPrefix(after, "kernel: ") && host != "Booting" {
			return after, headerMore
		}
		if rest, ok := facilityLevel(t, d); ok {
			d.in(FormatSyslog)
			return rest, headerMore
		}
	}
	return t, headerNone
}

// wallHeader reads a wall clock stamp and what a log daemon writes after it.
func (r *RecordReader) wallHeader(t string, d *draft) (string, headerResult) {
	n, kind := wallStamp(t)
	if n == 0 {
		return t, headerNone
	}
	stamp, rest := t[:n], t[n:]
	rest = strings.TrimPrefix(rest, ":")
	if kind == wallISO {
		if text, res := r.criHeader(stamp, rest, d); res != headerNone {
			return text, res
		}
	}
	d.own = true
	d.wall, d.doubt = stamp, ""
	switch kind {
	case wallDmesg:
		d.doubt = DoubtDmesgT
		d.in(FormatDmesgT)
		return strings.TrimPrefix(rest, " "), headerMore
	case wallFull, wallUnix:
		d.in(FormatJournal)
	default:
		d.in(FormatSyslog)
	}
	if strings.HasPrefix(rest, "  ") || kind == wallTime {
		// Console servers pad between their stamp and the line.
		return strings.TrimPrefix(rest, " "), headerMore
	}
	rest = strings.TrimPrefix(rest, " ")
	if strings.HasPrefix(rest, "{") {
		if n := labels(rest); n > 0 { // logcli: {job="kernel"} text
			return strings.TrimPrefix(rest[n:], " "), headerMore
		}
	}
	return syslogTail(rest, d), headerMore
}

// labels returns the length of a set of stream labels such as {job="x", host="y"}.
func labels(s string) int {
	end := strings.IndexByte(s, '}')
	if end < 0 || !strings.Contains(s[:end], `="`) {
		return 0
	}
	return end + 1
}

// criHeader reads what a container runtime writes: "STAMP stdout F text".
func (r *RecordReader) criHeader(stamp, rest string, d *draft) (string, headerResult) {
	rest = strings.TrimPrefix(rest, " ")
	stream, after, ok := strings.Cut(rest, " ")
	if !ok || stream != "stdout" && stream != "stderr" {
		return "", headerNone
	}
	tag, text, _ := strings.Cut(after, " ")
	tag, _, _ = strings.Cut(tag, ":")
	if tag != "F" && tag != "P" {
		return "", headerNone
	}
	d.in(FormatCRI)
	d.wall = stamp
	r.collect("cri "+stream, text, tag == "F", *d)
	return "", headerDone
}

// part is a message of which more is to come.
type part struct {
	text []byte
	d    draft
	next int // netconsole: offset expected
	size int // netconsole: total
}

// maxParts bounds the messages that are unfinished at one time.
const maxParts = 16

// open begins a message of which more is to come.
func (r *RecordReader) open(key string, p *part) {
	if len(r.parts) >= maxParts {
		r.flushParts()
	}
	if r.parts == nil {
		r.parts = make(map[string]*part)
	}
	r.parts[strings.Clone(key)] = p
}

// collect joins the pieces of a message by key and peels it when it is whole. A
// piece that begins as a record of its own shows that the end of the one before
// was lost.
func (r *RecordReader) collect(key, text string, whole bool, d draft) {
	p := r.parts[key]
	if p != nil && (stamped(text) || len(p.text)+len(text) > maxLine) {
		r.cutPart(key, p)
		p = nil
	}
	if p == nil {
		if whole || len(text) > maxLine {
			r.peel(text, d)
			return
		}
		p = &part{d: d}
		r.open(key, p)
	}
	p.text = append(p.text, text...)
	if whole {
		delete(r.parts, key)
		r.peel(string(p.text), p.d)
	}
}

// cutPart delivers a message of which the end was lost. Docker's may be whole:
// some shippers drop the line breaks.
func (r *RecordReader) cutPart(key string, p *part) {
	defer r.earlier()()
	delete(r.parts, key)
	p.d.cut = p.d.cut || p.d.format != FormatDockerJSON
	if p.size > 0 {
		p.text = []byte(unescapeKmsg(string(p.text)))
	}
	r.peel(string(p.text), p.d)
}

// flushParts delivers what there is of the unfinished messages, in the order of their lines.
func (r *RecordReader) flushParts() {
	for len(r.parts) > 0 {
		first := ""
		for k, p := range r.parts {
			if q := r.parts[first]; first == "" || p.d.line < q.d.line || p.d.line == q.d.line && k < first {
				first = k
			}
		}
		r.cutPart(first, r.parts[first])
	}
}

func decimal(s string) int64 {
	var v int64
	for i := range len(s) {
		v = v*10 + int64(s[i]-'0')
	}
	return v
}

func optLevel(v int64) event.Opt[int64] {
	if v < 0 || v > 7 {
		return event.Opt[int64]{}
	}
	return event.Some(v)
}
