package qemu

import (
	"fmt"
	"strings"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/load"
	"github.com/cswatch/cswatch/klog"
)

// Outcome is how a boot went.
type Outcome string

// The outcomes.
const (
	Done        Outcome = "done"         // the guest carried out its plan and said so
	Panicked    Outcome = "panicked"     // the kernel panicked
	Hung        Outcome = "hung"         // process 1 ran, and the time limit came before its end
	NeverBooted Outcome = "never-booted" // process 1 never ran, nor had it before the state was saved
	Died        Outcome = "died"         // the machine ended without the guest's word, as after a triple fault
	Stopped     Outcome = "stopped"      // the caller ended it, or saved its state
)

// Stamped is a record with the time, since the start of QEMU, at which it came.
type Stamped struct {
	At     time.Duration `json:"at_ns"`
	Record guest.Record  `json:"record"`
}

// Result is what a boot brought.
type Result struct {
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why"` // the outcome in a sentence, with what is known of the reason

	Command []string `json:"command"` // QEMU's command line
	Kernel  Kernel   `json:"kernel"`

	// Resumed says that the machine went on from a saved state: its process 1 had
	// said hello before, and Records begin where it was.
	Resumed bool         `json:"resumed,omitempty"`
	Hello   *guest.Hello `json:"hello,omitempty"` // nil if process 1 never ran, or the machine was resumed
	End     *guest.End   `json:"end,omitempty"`   // nil unless Done
	Records []Stamped    `json:"records"`
	Dropped int64        `json:"dropped,omitempty"` // records beyond what is kept
	Damaged int          `json:"damaged,omitempty"` // lines of the record port that are no records

	// Load is what the load of the plan did, nil without one, or if the guest did
	// not come to say it.
	Load *load.Work `json:"load,omitempty"`
	// Files are those of the plan that the guest handed over, by their paths there;
	// together at most 64 MiB. They are not among the Records.
	Files map[string][]byte `json:"files,omitempty"`
	// CutFiles says why one of the Files is not all there: it is its beginning.
	CutFiles map[string]string `json:"cut_files,omitempty"`

	Console    string `json:"console"` // the first MiB of it
	ConsoleCut int64  `json:"console_cut,omitempty"`
	Stderr     string `json:"stderr,omitempty"` // QEMU's own, the first 64 KiB

	Booted   time.Duration `json:"booted_ns"` // from the start of QEMU to the guest's hello; 0 if there was none
	Wall     time.Duration `json:"wall_ns"`   // to the end of QEMU, or of reading its last record
	CPU      time.Duration `json:"cpu_ns"`    // processor time that QEMU took
	ExitCode int           `json:"exit_code"` // QEMU's; -1 if it was killed
}

// KernelLog returns the kernel log as klog reads it: /dev/kmsg records, or the
// console if process 1 never got to hand over any.
func (r *Result) KernelLog() string {
	var b strings.Builder
	for _, s := range r.Records {
		if s.Record.Type == guest.TypeKmsg {
			b.WriteString(s.Record.Kmsg)
			b.WriteByte('\n')
		}
	}
	if b.Len() == 0 {
		return r.Console
	}
	return b.String()
}

// Events returns what the kernel log says.
func (r *Result) Events() ([]event.Event, error) {
	in := klog.NewReader(strings.NewReader(r.KernelLog()), "guest")
	var events []event.Event
	for in.Next() {
		events = append(events, in.Event())
	}
	if err := in.Err(); err != nil {
		return events, fmt.Errorf("read the guest's kernel log: %w", err)
	}
	return events, nil
}

// Output returns what the plan's program wrote to one of its streams, "stdout" or "stderr".
func (r *Result) Output(stream string) string {
	var b strings.Builder
	for _, s := range r.Records {
		if o := s.Record.Output; o != nil && o.Stream == stream {
			b.WriteString(o.Text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Troubles returns what the guest program could not do.
func (r *Result) Troubles() []string {
	var all []string
	for _, s := range r.Records {
		if s.Record.Type == guest.TypeTrouble {
			all = append(all, s.Record.Trouble)
		}
	}
	return all
}
