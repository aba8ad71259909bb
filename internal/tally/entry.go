package tally

import (
	"slices"
	"time"

	"github.com/cswatch/cswatch/event"
)

// EntryKind says what an entry of the timeline tells of. The set is closed.
type EntryKind string

// The kinds of entries. Those before Retried are worth telling somebody at once.
const (
	Switched      EntryKind = "switched"       // the kernel took another clocksource
	Condemned     EntryKind = "condemned"      // the kernel gave up a clock
	Backwards     EntryKind = "backwards"      // time ran backwards from one CPU to another
	LiveCondemned EntryKind = "live-condemned" // the watchdog of this program would have given up the TSC for skew
	StatusChanged EntryKind = "status"         // the doctor's status is another
	Retried       EntryKind = "retried"        // a read succeeded after retries
	Skipped       EntryKind = "skipped"        // the kernel's watchdog skipped a check
	TimedOut      EntryKind = "timed-out"      // a read timed out, 7.1 and later: harmless
	Refused       EntryKind = "refused"        // a wish for a clocksource was refused or put off
	Suspended     EntryKind = "suspended"      // the machine slept
	RecordsLost   EntryKind = "records-lost"   // the kernel's log was overwritten before it was read
)

// EntryKinds returns all kinds, those worth telling first.
func EntryKinds() []EntryKind {
	return []EntryKind{Switched, Condemned, Backwards, LiveCondemned, StatusChanged, Retried, Skipped, TimedOut, Refused, Suspended, RecordsLost}
}

// Telling reports whether entries of the kind are worth telling somebody at once.
func (k EntryKind) Telling() bool {
	return slices.Index(EntryKinds(), k) < slices.Index(EntryKinds(), Retried)
}

// Matters reports whether somebody is to be told of the entry at once. Switches to a better clocksource are not worth it, and of those
// that the boot had made before the program looked only the ones to a certainly worse one.
func (e *Entry) Matters() bool {
	if e.Kind != Switched {
		return e.Kind.Telling()
	}
	worse, better := least(e.From) > most(e.To), least(e.To) > most(e.From)
	return worse || !better && !e.Lookback && e.From != nothing
}

// Moment is when something was, by the wall.
type Moment struct {
	At time.Time `json:"at"`
	// Doubt says why the time may be wrong, "" where there is no reason.
	Doubt string `json:"doubt,omitempty"`
	// Lookback says that it was before the program looked.
	Lookback bool `json:"lookback,omitzero"`
}

// Entry is one line of the timeline.
type Entry struct {
	Number uint64    `json:"number"` // from 1 in this boot
	Kind   EntryKind `json:"kind"`
	Moment
	PrintkNS    event.Opt[int64] `json:"printk_ns,omitzero"` // the kernel's own stamp
	Clocksource string           `json:"clocksource,omitempty"`
	From        string           `json:"from,omitempty"`
	To          string           `json:"to,omitempty"`
	Reference   string           `json:"reference,omitempty"`
	Cause       string           `json:"cause,omitempty"` // an event.IncidentKind
	Before      string           `json:"status_before,omitempty"`
	After       string           `json:"status_after,omitempty"`
	Summary     string           `json:"summary"`
	Line        string           `json:"line,omitempty"` // of the kernel
}

const (
	perKind     = 32 // entries that are kept of each kind
	maxTimeline = perKind * 16
)

// enter adds an entry to the timeline and takes away the oldest of its kind where there are too many.
func (t *Tally) enter(e Entry) {
	s := &t.state
	s.Entries++
	e.Number = s.Entries
	n, oldest := 0, -1
	for i := range s.Timeline {
		if s.Timeline[i].Kind == e.Kind {
			n++
			if oldest < 0 {
				oldest = i
			}
		}
	}
	if n >= perKind {
		s.Timeline = slices.Delete(s.Timeline, oldest, oldest+1)
	}
	s.Timeline = append(s.Timeline, e)
	t.changed = true
}

// Untold returns the entries that a hook has still to be told of, in order.
func (t *Tally) Untold(hook string) []Entry {
	var untold []Entry
	for _, e := range t.state.Timeline {
		if e.Matters() && e.Number > t.state.Told[hook] {
			untold = append(untold, e)
		}
	}
	return untold
}

// Tell notes that a hook was told of an entry, whatever came of it.
func (t *Tally) Tell(hook string, number uint64) {
	if t.state.Told == nil {
		t.state.Told = map[string]uint64{}
	}
	t.state.Told[hook] = max(t.state.Told[hook], number)
	t.changed = true
}
