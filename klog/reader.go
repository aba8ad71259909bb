package klog

import (
	"bytes"
	"io"

	"github.com/cswatch/cswatch/event"
)

// Reader reads a kernel log of any container and yields its events.
//
//	r := klog.NewReader(file, "dmesg.txt")
//	for r.Next() {
//		e := r.Event()
//		...
//	}
//	if err := r.Err(); err != nil { ... } // what was read before it stands
//
// Memory is bounded whatever the input.
type Reader struct {
	records *RecordReader
	before  Stats // of the logs before this one
	parser  parser
	event   event.Event
	done    bool
}

// NewReader returns a reader of the log text in r; name stands in the events' Source.File.
func NewReader(r io.Reader, name string) *Reader {
	reader := &Reader{parser: newParser(name)}
	reader.records = newRecords(r)
	return reader
}

// newRecords returns the records in which a message can be. Behind a line that
// holds any text that we know some bare lines pass: mail and forums wrap lines,
// and the rest of a message need not hold any.
func newRecords(r io.Reader) *RecordReader {
	return NewRecordReader(r, WithFilter(knownAnchors.match), withFollow(func(line []byte) int {
		if bytes.Contains(line, []byte("ommand line")) {
			return maxCommandLines
		}
		return graceLines
	}))
}

// Next advances to the next event. It returns false at the end of the input or at an error.
func (r *Reader) Next() bool {
	for {
		if e, ok := r.parser.pop(); ok {
			r.event = e
			return true
		}
		if r.done {
			return false
		}
		if r.records.Next() {
			r.parser.record(r.records.Record())
			continue
		}
		r.done = true
		r.parser.finish()
	}
}

// Continue goes on with another log of the same machine, read after the ones
// before it: boots are numbered on, and a line that was read before counts as a
// copy. Lines are numbered anew. It may be called after Next has returned false.
func (r *Reader) Continue(next io.Reader, name string) {
	r.before = r.before.plus(r.records.Stats())
	r.parser.name = name
	r.records = newRecords(next)
	r.done = false
}

// Event returns the event that Next found.
func (r *Reader) Event() event.Event { return r.event }

// Err returns the error that ended the reading, nil at a regular end.
func (r *Reader) Err() error { return r.records.Err() }

// Stats counts what was read so far.
func (r *Reader) Stats() Summary {
	s := r.parser.stats
	s.Records = r.before.plus(r.records.Stats())
	s.Boots = r.parser.boots.number
	return s
}

// Summary counts what a Reader met.
type Summary struct {
	Records    Stats              `json:"records"`
	Events     int                `json:"events"`
	Duplicates int                `json:"duplicates"` // second copies, contained in Events
	Foreign    int                `json:"foreign"`    // lines that speak of clocks but are not the kernel's: no evidence
	Boots      int                `json:"boots"`
	Kinds      map[event.Kind]int `json:"kinds"` // without duplicates
}

// plus adds two counts.
func (s Stats) plus(o Stats) Stats {
	sum := Stats{
		Lines: s.Lines + o.Lines, Bytes: s.Bytes + o.Bytes, Records: s.Records + o.Records,
		Foreign: s.Foreign + o.Foreign, Cut: s.Cut + o.Cut, Rejected: s.Rejected + o.Rejected,
		Formats: map[string]int64{},
	}
	for _, formats := range [...]map[string]int64{s.Formats, o.Formats} {
		for name, n := range formats {
			sum.Formats[name] += n
		}
	}
	return sum
}
