package klog

import (
	"io"
	"maps"
	"strings"
	"unicode/utf8"
)

// graceLines: so many lines after a wanted one may be the rest of it.
const graceLines = 4

// RecordReader reads log records from an input in which containers may be mixed
// and nested. It recognises the container line by line and keeps state only
// where a record spans lines. Such a state ends at the first line that is a
// record of its own, and what it held is then read line by line, so that no text
// hides the records behind it. Memory is bounded whatever the input.
//
//	r := klog.NewRecordReader(in)
//	for r.Next() {
//		use(r.Record())
//	}
//	if err := r.Err(); err != nil { ... }
type RecordReader struct {
	src    *lineSource
	filter func(line []byte) bool
	follow func(line []byte) int
	queue  []Record
	head   int
	rec    Record
	done   bool

	stats   Stats
	scratch []byte
	grace   int  // so many more lines may be the rest of a wanted one
	wanted  bool // the filter has accepted the raw line
	prev    heldLine

	seen       bool   // a line that is not a marker has been read
	newBoot    bool   // the next record begins a boot
	bootID     string // id of the last journal record
	markedBoot string // id of the last "-- Boot" line
	pstore     bool   // a header of a persistent store was the last container
	html       openHTML
	afterKmsg  bool // KEY=value lines of a kmsg record may follow
	foreign    bool // the physical line is another program's: so is what follows on it
	nested     bool // reads within a field of an export

	chunks chunkKind // a line beyond the limit is being read in chunks
	carry  []byte    // what is left of the chunks before
	long   longText

	pend  pendingStamp
	qp    quotedPrintable
	json  jsonScanner
	entry journalEntry
	parts map[string]*part // unfinished messages: Docker and CRI by stream, netconsole fragments
}

// RecordOption changes how a RecordReader works.
type RecordOption func(*RecordReader)

// WithFilter sets a cheap test of what is worth decoding. It sees the raw line
// of line-oriented containers, and the decoded text where a line does not show
// it (byte arrays, objects over several lines, joined parts). It must not keep
// the slice. Lines that it turns away still count, still advance line numbers
// and still mark boots; bare lines just after a wanted one are delivered in any
// case, since they may be the rest of it.
func WithFilter(wanted func(line []byte) bool) RecordOption {
	return func(r *RecordReader) { r.filter = wanted }
}

// withFollow sets how many bare lines behind a line that the filter wants may be
// the rest of it.
func withFollow(lines func(line []byte) int) RecordOption {
	return func(r *RecordReader) { r.follow = lines }
}

// NewRecordReader returns a reader of the records of r. It reads ahead in r.
func NewRecordReader(r io.Reader, options ...RecordOption) *RecordReader {
	rr := &RecordReader{src: newLineSource(r)}
	rr.stats.Formats = make(map[string]int64)
	for _, o := range options {
		o(rr)
	}
	return rr
}

// Next advances to the next record. It returns false at the end of the input or
// after a read error, which Err tells apart; everything read before an error is
// delivered first.
func (r *RecordReader) Next() bool {
	for r.head >= len(r.queue) {
		if r.done {
			return false
		}
		clear(r.queue)
		r.queue, r.head = r.queue[:0], 0
		r.advance()
	}
	r.rec = r.queue[r.head]
	r.head++
	return true
}

// Record returns the current record; it is valid until the next call of Next.
func (r *RecordReader) Record() *Record { return &r.rec }

// Err returns the first error of the underlying reader other than io.EOF.
func (r *RecordReader) Err() error { return r.src.err }

// Stats returns what has been read so far.
func (r *RecordReader) Stats() Stats {
	s := r.stats
	s.Bytes = r.src.total
	s.Formats = maps.Clone(s.Formats)
	return s
}

// advance reads lines until there is a record to deliver or the input ends.
func (r *RecordReader) advance() {
	for len(r.queue) == 0 {
		if r.chunks != chunksNone {
			r.wanted = false
			r.chunk(r.src.more())
			continue
		}
		last := r.src.line
		raw, ok := r.src.next()
		if !ok {
			r.finish()
			r.done = true
			return
		}
		if r.src.line != last {
			r.stats.Lines++
		}
		if !r.src.within {
			r.foreign = false
		}
		r.wanted = false
		if r.src.long {
			r.prev.set = false
		} else if r.filter != nil && r.turnedAway(raw) {
			continue
		}
		r.raw(raw, r.src.line)
		if r.grace > 0 {
			r.grace--
		}
	}
	// A binary field may have held lines of its own.
	r.stats.Lines = max(r.stats.Lines, int64(r.src.line))
}

// idle reports that no state asks for the next line.
func (r *RecordReader) idle() bool {
	return r.grace == 0 && !r.pend.set && !r.qp.wait && !r.json.active && r.entry.kind == entryNone
}

// sawBoot notes a journal boot id; another id than the last is a new boot.
func (r *RecordReader) sawBoot(id string) {
	if id == "" || id == r.bootID {
		return
	}
	if r.bootID != "" {
		r.newBoot = true
	}
	r.bootID = strings.Clone(id)
}

// finish delivers what waits for a line that does not come.
func (r *RecordReader) finish() {
	r.wanted = false
	r.flushQP()
	r.abandonJSON()
	r.finishEntry()
	r.flushParts()
	r.flushPending()
}

// emit delivers one record, or several if the text has line breaks.
func (r *RecordReader) emit(text string, d draft) {
	for text != "" {
		line, rest, more := strings.Cut(text, "\n")
		r.emitLine(line, d)
		if !more {
			return
		}
		text = rest
	}
}

func (r *RecordReader) emitLine(text string, d draft) {
	text = strings.TrimRight(text, " \t\r")
	if text == "" {
		return
	}
	for len(text) > maxLine {
		n := runeStart(text, maxLine)
		d.cut = true
		r.emitLine(text[:n], d)
		text = text[n:]
	}
	d.judge(&text)
	if d.origin == OriginForeign && !d.byText {
		r.foreign = true
	}
	if text == "" {
		return // an identifier without a message
	}
	r.seen = true
	if r.filter != nil && !r.want(text, &d) {
		r.stats.Rejected++
		return
	}
	r.deliver(text, d)
}

func (r *RecordReader) deliver(text string, d draft) {
	if d.format == "" {
		d.format = FormatPlain
	}
	if d.bootID == "" && (d.format == FormatSyslog || d.format == FormatJournal) {
		d.bootID = r.markedBoot
	}
	if d.format != FormatPstore && d.format != FormatPlain && d.format != FormatDmesg {
		r.pstore = false
	}
	r.stats.Records++
	r.stats.Formats[d.format]++
	if d.origin == OriginForeign {
		r.stats.Foreign++
	}
	r.queue = append(r.queue, Record{
		Text: text, Line: d.line, Printk: d.printk, Wall: d.wall, Doubt: d.doubt, Level: d.level,
		Ident: d.ident, BootID: d.bootID, Format: d.format, Origin: d.origin,
		Bare: !d.own, NewBoot: r.newBoot, Cut: d.cut,
	})
	r.newBoot = false
}

// runeStart returns the last place up to n at which a rune of s begins.
func runeStart(s string, n int) int {
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return n
}
