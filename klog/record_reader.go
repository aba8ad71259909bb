package klog

import (
	"bytes"
	"io"
	"maps"
	"strings"
)

const (
	// shortLine: shorter lines are decoded before the filter sees them, because
	// they may be a stamp whose text follows on the next line, or a marker.
	shortLine = 48
	// graceLines: so many lines after a wanted one may be the rest of it.
	graceLines = 4
)

// RecordReader reads log records from an input in which containers may be mixed
// and nested. It recognises the container line by line and keeps state only
// where a record spans lines. Memory is bounded whatever the input.
//
//	r := klog.NewRecordReader(in)
//	for r.Next() {
//		use(r.Record())
//	}
//	if err := r.Err(); err != nil { ... }
type RecordReader struct {
	src    *lineSource
	filter func(line []byte) bool
	queue  []Record
	head   int
	rec    Record
	done   bool

	stats   Stats
	scratch []byte
	grace   int  // so many more lines may be the rest of a wanted one
	wanted  bool // the filter has accepted the raw line

	seen       bool   // a line that is not a marker has been read
	newBoot    bool   // the next record begins a boot
	bootID     string // id of the last journal record
	markedBoot string // id of the last "-- Boot" line
	logcat     string // buffer that logcat shows now
	pstore     bool   // a header of a persistent store was the last container
	html       bool   // between HTML tags
	afterKmsg  bool   // KEY=value lines of a kmsg record may follow

	chunks chunkKind // a line beyond the limit is being read in chunks
	carry  []byte    // end of the last chunk of HTML

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
			r.chunk()
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
		r.wanted = false
		if r.filter != nil && len(raw) >= shortLine {
			if r.filter(raw) {
				r.wanted = true
			} else if r.idle() && r.rejectable(raw) {
				r.stats.Rejected++
				r.seen = true
				r.afterKmsg = isDigit(raw[0]) && bytes.IndexByte(raw, ';') > 0 || raw[0] == ' ' && r.afterKmsg
				if r.src.long || r.src.cut {
					r.stats.Cut++
				}
				continue
			}
		}
		r.raw(raw)
		if r.grace > 0 {
			r.grace--
		}
	}
	// A binary field may have held lines of its own.
	r.stats.Lines = max(r.stats.Lines, int64(r.src.line))
}

// chunkKind says how a line beyond the limit is read on: as objects of JSON or
// as HTML with its own line breaks. Other lines lose what is beyond the limit.
type chunkKind uint8

const (
	chunksNone chunkKind = iota
	chunksJSON
	chunksHTML
)

// chunk reads the next chunk.
func (r *RecordReader) chunk() {
	r.wanted = false
	b := r.src.more()
	if r.chunks == chunksJSON {
		r.jsonChunk(b)
	} else {
		r.htmlChunk(b)
	}
}

// idle reports that no state asks for the next line.
func (r *RecordReader) idle() bool {
	return r.grace == 0 && !r.html && !r.pend.set && !r.qp.held() && !r.json.active &&
		r.entry.kind == entryNone && len(r.parts) == 0
}

// rejectable reports that the raw line shows all of its text, so that the
// filter's word on it is final. It also notes what the line says about boots.
func (r *RecordReader) rejectable(line []byte) bool {
	c := line[0]
	if line[len(line)-1] == '=' {
		return false // a soft break may hide a word
	}
	switch {
	case c == '<':
		return isDigit(line[1])
	case c == '-' || c == '_' || c == '=' || c == 'C':
		return c == 'C' && !bytes.HasPrefix(line, []byte("Content-"))
	case c == '{' || c == 0x1e || c == '>' || c == ' ' || c == '"' || c == '[' && line[1] == '{',
		c == 'd' && bytes.HasPrefix(line, []byte("data: {")):
		i := bytes.IndexByte(line, '{')
		return i < 0 || r.rejectableJSON(line[i:])
	case isDigit(c):
		head := line[:min(len(line), 120)]
		return !bytes.Contains(head, []byte("ncfrag=")) && !bytes.Contains(head, []byte(" P ")) &&
			!bytes.Contains(head, []byte(" F {")) && !bytes.Contains(head, []byte(" -{"))
	case c >= 'A' && c <= 'Z' && line[3] == ' ' && isDigit(line[4]):
		return !bytes.Contains(line, []byte("[s=")) // head of an entry of journalctl -o verbose
	}
	return true
}

// rejectableJSON does the same for a line with an object in it.
func (r *RecordReader) rejectableJSON(line []byte) bool {
	if bytes.HasPrefix(line, []byte(`{"dmesg"`)) || r.src.long {
		return false
	}
	if i := bytes.Index(line, []byte(`"MESSAGE"`)); i >= 0 {
		if rest := bytes.TrimLeft(line[i+9:], ": "); len(rest) > 0 && rest[0] == '[' {
			return false
		}
	}
	if i := bytes.Index(line, []byte(`"_BOOT_ID"`)); i >= 0 {
		rest := bytes.TrimLeft(line[i+10:], ` :"`)
		if j := bytes.IndexByte(rest, '"'); j > 0 {
			if string(rest[:j]) != r.bootID {
				r.sawBoot(string(rest[:j]))
			}
		}
	}
	if i := bytes.Index(line, []byte(`"log"`)); i >= 0 {
		return bytes.Contains(line[i:], []byte(`\n"`))
	}
	return true
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
	if len(text) > maxLine {
		text, d.cut = text[:maxLine], true
	}
	d.judge(&text)
	if text == "" {
		return // an identifier without a message
	}
	r.seen = true
	if r.filter != nil && !r.wanted {
		r.scratch = append(r.scratch[:0], text...)
		if !(r.grace > 0 && !d.own) && !r.filter(r.scratch) {
			r.stats.Rejected++
			return
		}
	}
	if r.filter != nil && (r.wanted || d.own) {
		r.grace = graceLines + 1
	}
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
