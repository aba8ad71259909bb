package tally

import (
	"fmt"

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

// Validate reports a state that cannot be gone on with.
func (s *State) Validate() error {
	switch {
	case s.Schema != StateSchema:
		return fmt.Errorf("the state of a monitor: its schema is %q, want %q", s.Schema, StateSchema)
	case s.Boot == "":
		return fmt.Errorf("the state of a monitor: it names no boot")
	case len(s.Clocks.Seen) > maxNames || len(s.Clocks.Switches) > maxNames*maxNames || len(s.Timeline) > maxTimeline:
		return fmt.Errorf("the state of a monitor: it holds more than one ever does")
	}
	last := uint64(0)
	for _, e := range s.Timeline {
		if e.Number <= last || e.Number > s.Entries {
			return fmt.Errorf("the state of a monitor: entry %d of the timeline does not follow entry %d of %d", e.Number, last, s.Entries)
		}
		last = e.Number
	}
	return nil
}
