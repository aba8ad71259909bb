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
	t := strings.TrimLeft(*text, " \t")
	if strings.HasPrefix(t, "cswatch(") {
		d.foreign("cswatch")
		d.own = true
		return
	}
	if name, n := processPrefix(t); n > 0 {
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
	blanks int
}

// raw takes one physical line.
func (r *RecordReader) raw(raw []byte) {
	d := draft{line: r.src.line, cut: r.src.long || r.src.cut}
	if d.cut {
		r.stats.Cut++
	}
	if r.entry.kind == entryExport && r.exportBinary(raw) {
		return
	}
	if r.src.long && (r.jsonChunks(raw) || r.htmlChunks(raw)) {
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
	if strings.TrimSpace(s) != "" && (r.html || strings.IndexByte(s, '<') >= 0) {
		if pieces, ok := r.stripTags(s); ok {
			d.in(FormatHTML)
			for _, p := range pieces {
				r.stateful(p, d)
			}
			return
		}
	}
	r.stateful(s, d)
}

// stateful offers a line to the containers that span lines.
func (r *RecordReader) stateful(s string, d draft) {
	if r.entry.kind != entryNone && r.entryLine(s) {
		return
	}
	if r.json.active && r.jsonLine(s) {
		return
	}
	after := r.afterKmsg
	r.afterKmsg = false
	if after && strings.HasPrefix(s, " ") && isAssignment(s[1:]) {
		r.afterKmsg = true
		return
	}
	r.peel(s, d)
}

// peel takes a text from which layers may have to be removed.
func (r *RecordReader) peel(s string, d draft) {
	s = cleanText(s)
	if d.layers++; d.layers > maxLayers {
		r.emit(s, d)
		return
	}
	if !d.literal && d.layers > 1 && (r.html || strings.IndexByte(s, '<') >= 0) {
		if pieces, ok := r.stripTags(s); ok {
			d.in(FormatHTML)
			for _, p := range pieces {
				r.bare(p, d)
			}
			return
		}
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
	if strings.HasPrefix(strings.TrimLeft(s, " \t"), "cswatch(") {
		r.emit(s, d)
		return
	}
	if !d.literal {
		if cells := tableCells(s); cells != nil {
			for _, c := range cells {
				r.bare(c, d)
			}
			return
		}
		lines, changed := unwrapProse(s)
		if len(lines) > 1 {
			d.layers++
			for _, l := range lines {
				r.bare(l, d)
			}
			return
		}
		if changed {
			s = lines[0]
		}
	}
	if r.resume(&s, &d) || r.marker(strings.TrimSpace(s), d) {
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
	t := strings.TrimLeft(*s, " \t")
	if strings.TrimSpace(t) == "" {
		if r.pend.blanks++; r.pend.blanks > 2 {
			r.flushPending()
		}
		return true
	}
	p := r.pend
	b := bracketStamp(t)
	n, _ := wallStamp(t)
	if n > 0 || b.n > 0 && (p.printk || b.printk.IsZero()) || t[0] == '{' || t[0] == '<' || strings.HasPrefix(t, "-- ") {
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
	*d = p.d
	return false
}

func (r *RecordReader) flushPending() {
	p := r.pend
	r.pend = pendingStamp{}
	if p.set && p.text != "" {
		r.emit(p.text, p.out)
	}
}

// marker recognises lines that are not records but tell about those that follow.
func (r *RecordReader) marker(t string, d draft) bool {
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
	case strings.HasPrefix(t, "--------- "):
		for _, w := range []string{"--------- beginning of ", "--------- switch to "} {
			if strings.HasPrefix(t, w) {
				r.logcat = strings.Clone(strings.TrimPrefix(strings.TrimPrefix(t, w), "/dev/log/"))
				return true
			}
		}
	case isFence(t):
		return true
	case pstoreHeader(t):
		r.pstore = true
		return true
	}
	return r.openEntry(t, d)
}

// headers reads one header after the other and delivers what is left.
func (r *RecordReader) headers(s string, d draft) {
	base := d
	cur := s
	if r.pstore && (strings.HasPrefix(s, "[") || strings.HasPrefix(s, "<")) {
		d.in(FormatPstore)
	}
	t := strings.TrimLeft(cur, " \t")
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
		t = strings.TrimLeft(cur, " \t")
	}
	if d.own && !d.literal && d.ident == "" && (!d.printk.IsZero() || d.wall != "") {
		host := t != "" && d.format == FormatSyslog && d.level.IsZero() && d.printk.IsZero() && !strings.ContainsAny(t, " :[")
		if t == "" || host {
			r.flushPending()
			r.pend = pendingStamp{set: true, s: strings.Clone(s), d: base, printk: !d.printk.IsZero()}
			if host {
				r.pend.text, r.pend.out = strings.Clone(t), d
			}
			return
		}
	}
	r.split(cur, d)
}
