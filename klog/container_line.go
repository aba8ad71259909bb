package klog

import (
	"strings"

	"github.com/cswatch/cswatch/event"
)

// maxLayers bounds how often a line is peeled, so that no input can nest without end.
const maxLayers = 16

// draft is what the outer layers have said about a record so far.
type draft struct {
	line    int
	printk  event.Opt[int64]
	level   event.Opt[int64]
	wall    string
	doubt   string
	ident   string
	bootID  string
	format  string
	origin  Origin
	own     bool // has a stamp, a level or an identifier of its own
	cut     bool
	literal bool // came out of an object or a kmsg record: no quoting around it
	inner   bool // came out of an object or of parts: not a physical line
	byText  bool // foreign because of what the text behind a stamp of the kernel's begins with
	many    bool // one of so many records on a line that the line must be a whole log
	layers  int
}

// in names the container; the outermost one stays.
func (d *draft) in(format string) {
	if d.format == "" {
		d.format = format
	}
}

// kernel and foreign say who wrote the text. Foreign is final.
func (d *draft) kernel() {
	if d.origin == OriginUnsaid {
		d.origin = OriginKernel
	}
}

func (d *draft) foreign(ident string) {
	d.origin = OriginForeign
	if ident != "" && (d.ident == "" || d.ident == "kernel") {
		d.ident = ident
	}
}

// writer notes a syslog identifier without its pid.
func (d *draft) writer(ident string) {
	d.own = true
	if ident == "kernel" {
		if d.ident == "" {
			d.ident = ident
		}
		d.kernel()
		return
	}
	d.foreign(ident)
}

// priority notes facility*8 + level.
func (d *draft) priority(pri int64) {
	d.own = true
	d.level = event.Some(pri & 7)
	if pri>>3 == 0 {
		d.kernel()
	} else {
		d.foreign("")
	}
}

// judge looks for a writer in the text itself: "word[pid]:" names a process,
// and cswatch marks its own lines.
func (d *draft) judge(text *string) {
	t := trimBlanks(*text)
	if strings.HasPrefix(t, "cswatch(") {
		d.byText = d.byText || d.origin != OriginForeign
		d.foreign("cswatch")
		d.own = true
		return
	}
	if name, n := processPrefix(t); n > 0 {
		d.byText = d.byText || d.origin != OriginForeign && !d.printk.IsZero()
		d.writer(name)
		*text = strings.TrimPrefix(t[n:], " ")
	}
}

// pendingStamp is a line that held only a stamp; its text may follow.
type pendingStamp struct {
	set    bool
	s      string
	d      draft  // what stood around the line
	text   string // what to deliver if nothing follows, with out
	out    draft
	printk bool
	host   bool // a host name stood behind the stamp
	others bool // the line is another program's
	blanks int
}

// raw takes one physical line.
func (r *RecordReader) raw(raw []byte, line int) {
	if r.entry.kind == entryExport {
		if r.exportField(raw) {
			return
		}
		if !r.src.long && len(raw) <= maxFieldName && fieldName(string(raw)) {
			name := string(raw) // looking ahead moves what is in the buffer
			if !r.exportBinary(name) {
				r.quoted(name, draft{line: line})
			}
			return
		}
	}
	d := draft{line: line}
	if r.foreign {
		d.foreign("") // behind a CR in another program's line
	}
	if r.src.long {
		d.cut = true
		r.longLine(raw, d)
		return
	}
	r.quoted(string(raw), d)
}

// logical takes one line after transport encodings are gone. Quoting and
// mark-up come off first, for the containers below them may span lines.
func (r *RecordReader) logical(s string, d draft) {
	if t, ok := stripQuotes(s); ok {
		s = t
	}
	if strings.TrimSpace(s) != "" && !objectFirst(s) {
		if pieces, ok := r.stripTags(s); ok {
			d.in(FormatHTML)
			r.pieces(s, pieces, d, r.stateful)
			return
		}
	}
	r.stateful(cutTags(s), d)
}

// pieces takes the lines that mark-up, a table or a literal makes of one physical
// line. Behind a line of another program only what begins as a record of its own
// is a new one, and none at all where the whole line is the program's.
func (r *RecordReader) pieces(whole string, pieces []string, d draft, take func(string, draft)) {
	headed := stamped(whole) || ownWords(whole)
	for _, p := range pieces {
		piece := d
		switch {
		case !headed && d.origin != OriginForeign && stamped(p):
			r.foreign = false
		case r.foreign:
			piece.foreign("")
		}
		take(p, piece)
	}
}

// stateful offers a line to the containers that span lines.
func (r *RecordReader) stateful(s string, d draft) {
	if r.entry.kind != entryNone && r.entryLine(s) {
		return
	}
	if r.json.active && r.jsonLine(s, d.line) {
		return
	}
	after := r.afterKmsg
	r.afterKmsg = false
	if after && strings.HasPrefix(s, " ") && isAssignment(s[1:]) {
		r.afterKmsg = true
		return
	}
	if r.openJSON(s, d) {
		return
	}
	s = cleanText(s)
	if strings.IndexByte(s, '&') >= 0 {
		s = unescapeHTML(s)
	}
	r.bare(s, d)
}

// peel takes a text that came out of an object or of parts.
func (r *RecordReader) peel(s string, d draft) {
	s = cleanText(s)
	d.inner = true
	if d.layers++; d.layers > maxLayers {
		r.emit(s, d)
		return
	}
	if strings.IndexByte(s, '&') >= 0 {
		s = unescapeHTML(s)
	}
	r.bare(s, d)
}

// bare takes a text without mark-up: it removes quoting, then reads headers.
func (r *RecordReader) bare(s string, d draft) {
	if strings.IndexByte(s, '\n') >= 0 {
		for line := range strings.SplitSeq(s, "\n") {
			r.bare(line, d)
		}
		return
	}
	if d.layers++; d.layers > maxLayers {
		r.emit(s, d)
		return
	}
	if strings.HasPrefix(trimBlanks(s), "cswatch(") {
		r.emit(s, d)
		return
	}
	if !d.literal {
		if cells := tableCells(s); cells != nil {
			r.pieces(s, cells, d, r.bare)
			return
		}
		lines, changed := unwrapProse(s)
		if len(lines) > 1 {
			d.layers++
			r.pieces(s, lines, d, r.bare)
			return
		}
		if changed {
			s = lines[0]
		}
	}
	if !d.inner && (r.resume(&s, &d) || d.origin != OriginForeign && r.marker(s, d)) {
		return
	}
	r.headers(s, d)
}

// resume joins the text with a stamp that stood alone before it. It returns
// true if the text is used up.
func (r *RecordReader) resume(s *string, d *draft) bool {
	if !r.pend.set {
		return false
	}
	t := trimBlanks(*s)
	if strings.TrimSpace(t) == "" {
		if r.pend.blanks++; r.pend.blanks > 2 {
			r.flushPending()
		}
		return true
	}
	p := r.pend
	if stamped(t) && !strings.HasPrefix(t, "kernel:") || t[0] == '<' || strings.HasPrefix(t, "-- ") || p.host && !identified(t) ||
		p.others && (nextStamp(t, 0) < len(t) || strings.HasPrefix(t, "kernel:")) {
		r.flushPending()
		return false
	}
	r.pend = pendingStamp{}
	sep := " "
	if strings.HasSuffix(p.s, " ") {
		sep = ""
	}
	// Blanks before the text belong to it, as after any stamp.
	*s = p.s + sep + *s
	if !p.printk {
		*s = p.s + sep + t
	}
	p.d.cut = p.d.cut || d.cut
	if d.origin == OriginForeign {
		p.d.foreign(d.ident)
	}
	r.foreign = r.foreign || ownWords(t)
	*d = p.d
	return false
}

// identified reports that t begins with an identifier, as text does behind a host name.
func identified(t string) bool {
	word, _, _ := strings.Cut(t, " ")
	name, ok := strings.CutSuffix(word, ":")
	if _, n := processPrefix(t); n > 0 {
		return true
	}
	return ok && !messagePrefix(name) && name != "" && !isDigit(name[0])
}

func (r *RecordReader) flushPending() {
	p := r.pend
	r.pend = pendingStamp{}
	if p.set && p.text != "" {
		defer r.earlier()()
		r.emit(p.text, p.out)
	}
}

// earlier prepares for delivering what lines before this one have held, and
// returns what restores the state of this line.
func (r *RecordReader) earlier() func() {
	wanted, foreign := r.wanted, r.foreign
	r.wanted, r.foreign = false, false
	return func() { r.wanted, r.foreign = wanted, foreign }
}

// marker recognises lines that are not records but tell about those that follow.
func (r *RecordReader) marker(s string, d draft) bool {
	t := strings.TrimSpace(s)
	switch {
	case t == "":
		return true
	case strings.HasPrefix(t, "-- "):
		switch {
		case t == "-- Reboot --":
			r.newBoot = r.seen
			return true
		case strings.HasPrefix(t, "-- Boot ") && strings.HasSuffix(t, " --"):
			id := t[len("-- Boot ") : len(t)-len(" --")]
			r.markedBoot = strings.Clone(id)
			r.newBoot = r.seen
			r.bootID = r.markedBoot
			return true
		case strings.HasPrefix(t, "-- Logs begin at"), strings.HasPrefix(t, "-- Journal begins at"), t == "-- No entries --":
			return true
		}
	case strings.HasPrefix(t, "--------- beginning of "), strings.HasPrefix(t, "--------- switch to "):
		return true // a buffer of logcat
	case isFence(t):
		return true
	case pstoreHeader(t):
		r.pstore = true
		return true
	}
	return r.openEntry(s, d)
}

// headers reads one header after the other and delivers what is left.
func (r *RecordReader) headers(s string, d draft) {
	base := d
	cur := s
	if r.pstore && (strings.HasPrefix(s, "[") || strings.HasPrefix(s, "<")) {
		d.in(FormatPstore)
	}
	t := trimBlanks(cur)
	for range maxLayers {
		if t == "" {
			break
		}
		rest, res := r.header(t, &d)
		if res == headerDone {
			return
		}
		if res == headerNone {
			break
		}
		cur = rest
		t = trimBlanks(cur)
	}
	if d.origin == OriginForeign && !d.byText {
		r.foreign = true
	}
	if d.own && !d.inner && d.ident == "" && (d.origin != OriginForeign || d.format == FormatLogcat) && (!d.printk.IsZero() || d.wall != "") {
		host := t != "" && d.format == FormatSyslog && d.level.IsZero() && d.printk.IsZero() && !strings.ContainsAny(t, " :[")
		if t == "" || host {
			r.flushPending()
			r.pend = pendingStamp{set: true, s: strings.Clone(s), d: base, printk: !d.printk.IsZero(), host: host, others: d.origin == OriginForeign}
			if host {
				r.pend.text, r.pend.out = strings.Clone(t), d
			}
			return
		}
	}
	r.split(cur, d)
}
