package tally

import (
	"fmt"
	"slices"

	"github.com/cswatch/cswatch/event"
)

// StateSchema is the schema id of a state.
const StateSchema = "cswatch.monitor-state/v1"

// State is what a tally knows of a boot and cannot find out again once the kernel's ring
// buffer has gone round. The zero value is a boot of which nothing is known yet.
type State struct {
	Schema string `json:"schema"`
	Boot   string `json:"boot_id"` // of the kernel
	Log    Log    `json:"kernel_log"`
	Clocks Clocks `json:"clocksources"`
	// Timeline are the last entries of each kind, ascending; Entries is how many there were.
	Timeline []Entry `json:"timeline"`
	Entries  uint64  `json:"entries"`
	// Told is, for each hook, the number of the last entry that it was told.
	Told map[string]uint64 `json:"told,omitempty"`
	// Status is what the last diagnosis came to, "" before the first.
	Status string `json:"status,omitempty"`
}

// Log is what was read of the kernel's log in this boot.
type Log struct {
	Next     uint64                `json:"next_record"` // the number of the first record that was not read yet
	Records  uint64                `json:"records"`
	Foreign  uint64                `json:"foreign_records"` // speak of clocks and were not the kernel's: no evidence
	Overruns uint64                `json:"overruns"`        // how often the kernel overwrote records before they were read
	Lost     uint64                `json:"lost_records"`
	Kinds    map[event.Kind]uint64 `json:"kinds"`
	Events   []event.Event         `json:"events"` // the first and the last ones of each kind, in order
	// LeftOut is how many of each kind came between those.
	LeftOut map[event.Kind]int `json:"left_out,omitempty"`
}

// Clocks is what is known of the machine's clocksources.
type Clocks struct {
	Current   string   `json:"current"`
	Available []string `json:"available"` // in the kernel's order, the best first
	Seen      []string `json:"seen"`      // in this boot, sorted
	Logged    string   `json:"logged"`    // to which the kernel is known to have switched last
	Pending   string   `json:"pending,omitempty"`
	Switches  []Switch `json:"switches"`
	// LastSwitch is when the last one was, zero where none was seen.
	LastSwitch Moment       `json:"last_switch,omitzero"`
	Condemned  []Condemning `json:"condemned"`
}

// Switch counts how often the kernel went from one clocksource to another.
type Switch struct {
	From  string `json:"from"` // "none" where none was known before
	To    string `json:"to"`
	Count uint64 `json:"count"`
}

// Condemning is a clock that the kernel gave up in this boot.
type Condemning struct {
	Clock     string             `json:"clocksource"`
	Reference string             `json:"reference,omitempty"`
	Cause     event.IncidentKind `json:"cause"`
	Count     uint64             `json:"count"`
	Summary   string             `json:"summary"`
	Line      string             `json:"line"` // of the kernel
	At        event.Time         `json:"at"`
}

// maxNames bounds the clocksources that are told apart: what a log names is not to be trusted.
const maxNames = 32

// Validate reports a state that cannot be gone on with, such as one that would show names without end.
func (s *State) Validate() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("the state of a monitor: "+format, args...)
	}
	switch {
	case s.Schema != StateSchema:
		return wrong("its schema is %q, want %q", s.Schema, StateSchema)
	case s.Boot == "":
		return wrong("it names no boot")
	case len(s.Clocks.Seen) > maxNames || len(s.Timeline) > maxTimeline:
		return wrong("it holds more than one ever does")
	}
	last := uint64(0)
	for _, e := range s.Timeline {
		if e.Number <= last || e.Number > s.Entries || !slices.Contains(EntryKinds(), e.Kind) {
			return wrong("entry %d of the timeline, %q, does not follow entry %d of %d", e.Number, e.Kind, last, s.Entries)
		}
		last = e.Number
	}
	for i, name := range s.Clocks.Seen {
		if name == "" || Name(name) != name || i > 0 && name <= s.Clocks.Seen[i-1] {
			return wrong("the clocksources %q, want known ones in order", s.Clocks.Seen)
		}
	}
	for i, w := range s.Clocks.Switches {
		same := func(o Switch) bool { return o.From == w.From && o.To == w.To }
		if w.From != nothing && Name(w.From) != w.From || w.From == "" || w.To == "" || Name(w.To) != w.To || slices.ContainsFunc(s.Clocks.Switches[:i], same) {
			return wrong("the switch from %q to %q is unknown, or there twice", w.From, w.To)
		}
	}
	for i, c := range s.Clocks.Condemned {
		same := func(o Condemning) bool { return o.Clock == c.Clock && o.Reference == c.Reference && o.Cause == c.Cause }
		if c.Clock == "" || Name(c.Clock) != c.Clock || Name(c.Reference) != c.Reference || !c.Cause.Condemns() ||
			!slices.Contains(event.IncidentKinds(), c.Cause) || slices.ContainsFunc(s.Clocks.Condemned[:i], same) {
			return wrong("the verdict on %q by %q, %q, is unknown, or there twice", c.Clock, c.Reference, c.Cause)
		}
	}
	for kind := range s.Log.Kinds {
		if !slices.Contains(event.Kinds(), kind) {
			return wrong("there is no event %q", kind)
		}
	}
	return nil
}
