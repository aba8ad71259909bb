package guest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/cswatch/cswatch/internal/load"
)

// Schema names the form of the records; it stands in the hello.
const Schema = "cswatch.guest/v1"

// RecordType says which part of a record is filled.
type RecordType string

// The types, in the order in which a trial produces them.
const (
	TypeHello       RecordType = "hello"       // first: process 1 runs
	TypeKmsg        RecordType = "kmsg"        // one record of the kernel log
	TypeSymbols     RecordType = "symbols"     // where functions of the kernel are
	TypeClocksource RecordType = "clocksource" // the clocksource changed
	TypeOutput      RecordType = "output"      // a line of the program that the plan runs
	TypeLoad        RecordType = "load"        // what the load did, when it has ended
	TypeFile        RecordType = "file"        // a part of a file that the plan fetches
	TypeTrouble     RecordType = "trouble"     // process 1 could not do something; it goes on
	TypeEnd         RecordType = "end"         // last: the guest stops now
)

// Record is one line that the guest hands over.
type Record struct {
	Type RecordType `json:"type"`
	// UptimeNS is the guest's monotonic clock when the record was written. It
	// runs on the clocksource under test: where that is wrong, so is this.
	UptimeNS int64 `json:"uptime_ns"`

	Hello       *Hello       `json:"hello,omitempty"`
	Kmsg        string       `json:"kmsg,omitempty"` // as /dev/kmsg gives it, without the last newline
	Symbols     []Symbol     `json:"symbols,omitempty"`
	Clocksource *Clocksource `json:"clocksource,omitempty"`
	Output      *Output      `json:"output,omitempty"`
	Load        *load.Work   `json:"load,omitempty"`
	File        *FilePart    `json:"file,omitempty"`
	Trouble     string       `json:"trouble,omitempty"`
	End         *End         `json:"end,omitempty"`
}

// Hello says who is there.
type Hello struct {
	Schema      string      `json:"schema"`
	Release     string      `json:"release"` // uname -r
	Version     string      `json:"version"` // uname -v
	CommandLine string      `json:"command_line"`
	CPUs        int         `json:"cpus"` // online
	Clocksource Clocksource `json:"clocksource"`
}

// Clocksource is what sysfs says of the clocksource.
type Clocksource struct {
	Current   string   `json:"current"`
	Available []string `json:"available"`
}

func (c Clocksource) equal(d Clocksource) bool {
	if c.Current != d.Current || len(c.Available) != len(d.Available) {
		return false
	}
	for i := range c.Available {
		if c.Available[i] != d.Available[i] {
			return false
		}
	}
	return true
}

// Output is a line that the program wrote.
type Output struct {
	Stream string `json:"stream"` // stdout or stderr
	Text   string `json:"text"`   // without the newline, cut at 64 KiB
}

// EndReason says why a trial ended.
type EndReason string

// The reasons.
const (
	EndWindow  EndReason = "window"  // the window passed
	EndEvent   EndReason = "event"   // an event of Plan.EndOn came
	EndProgram EndReason = "program" // the program ended
	EndTrouble EndReason = "trouble" // process 1 could not go on; a trouble record says why
)

// End says why the guest stops, and what it saw last.
type End struct {
	Reason EndReason `json:"reason"`
	// Event is the kind of the event that ended the trial early, "" if none did.
	Event string `json:"event,omitempty"`
	// DweltNS is the time since the hello by the guest's monotonic clock.
	DweltNS int64 `json:"dwelt_ns"`
	// LostKmsg counts kernel log records that the ring buffer dropped before they were read.
	LostKmsg    int64       `json:"lost_kmsg"`
	Clocksource Clocksource `json:"clocksource"`
	// Exit is the exit code of the program, -1 if it was killed, nil if none ran.
	Exit *int `json:"exit,omitempty"`
}

// check reports what a record lacks for its type.
func (r Record) check() error {
	missing := func(there bool) error {
		if !there {
			return fmt.Errorf("a %s record without its content", r.Type)
		}
		return nil
	}
	switch r.Type {
	case TypeHello:
		if r.Hello != nil && r.Hello.Schema != Schema {
			return fmt.Errorf("schema %q, want %q: build host and guest program from the same source", r.Hello.Schema, Schema)
		}
		return missing(r.Hello != nil)
	case TypeKmsg:
		return missing(r.Kmsg != "")
	case TypeClocksource:
		return missing(r.Clocksource != nil)
	case TypeSymbols:
		return missing(len(r.Symbols) > 0)
	case TypeOutput:
		return missing(r.Output != nil)
	case TypeLoad:
		if r.Load != nil {
			_, err := load.Parse(string(r.Load.Kind))
			return err
		}
		return missing(false)
	case TypeFile:
		if r.File != nil {
			return r.File.check()
		}
		return missing(false)
	case TypeTrouble:
		return missing(r.Trouble != "")
	case TypeEnd:
		return missing(r.End != nil)
	}
	return fmt.Errorf("a record of the unknown type %q", r.Type)
}

// AppendRecord appends a record as one line, with its newline.
func AppendRecord(b []byte, r Record) ([]byte, error) {
	if err := r.check(); err != nil {
		return b, fmt.Errorf("write a guest record: %w", err)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return b, fmt.Errorf("write a guest record: %w", err)
	}
	return append(append(b, line...), '\n'), nil
}

// ParseRecord reads one line.
func ParseRecord(line []byte) (Record, error) {
	var r Record
	err := json.Unmarshal(line, &r)
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return Record{}, fmt.Errorf("read a guest record: %w", err)
	}
	return r, nil
}

// MaxLine bounds a line of the stream, in bytes. The kernel's log records are
// below 1 KiB, lines of output below 64 KiB before they are escaped, parts of
// files too.
const MaxLine = 512 << 10

// Decoder reads a stream of records. A line that is no record, as when the guest
// was killed in the middle of one, is counted and passed over.
type Decoder struct {
	r       *bufio.Reader
	midway  bool
	damaged int
	err     error
}

// NewDecoder returns a decoder of the stream r.
func NewDecoder(r io.Reader) *Decoder { return &Decoder{r: bufio.NewReaderSize(r, MaxLine)} }

// Midway says that the stream may begin within a line, as that of a machine whose
// state was saved and restored: the first line is not counted if it is no record.
func (d *Decoder) Midway() { d.midway = true }

// Next returns the next record. It returns false at the end of the stream or at an error.
func (d *Decoder) Next() (Record, bool) {
	for d.err == nil {
		line, err := d.r.ReadSlice('\n')
		rest := d.midway && len(line) > 0
		d.midway = d.midway && !rest
		for tooLong := false; errors.Is(err, bufio.ErrBufferFull); {
			if !tooLong {
				tooLong, line = true, nil
				d.count(rest)
			}
			_, err = d.r.ReadSlice('\n') // the rest of a line that is no record
		}
		d.err = err
		if len(line) == 0 {
			continue
		}
		if r, err := ParseRecord(line); err == nil {
			return r, true
		}
		d.count(rest)
	}
	return Record{}, false
}

func (d *Decoder) count(rest bool) {
	if !rest {
		d.damaged++
	}
}

// Damaged counts the lines that were no records so far.
func (d *Decoder) Damaged() int { return d.damaged }

// Err returns the error that ended the stream, nil at its regular end.
func (d *Decoder) Err() error {
	if errors.Is(d.err, io.EOF) {
		return nil
	}
	return d.err
}
