package tally

import (
	"maps"
	"slices"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/machine"
)

// Tally keeps count. Make one with New or Restore.
type Tally struct {
	state    State
	recorder doctor.Recorder
	left     map[event.Kind]int // of a restored state
	settle   bool               // lines of a verdict were read since Settle
	changed  bool

	watch      Watch
	cost       *machine.Cost
	diagnosis  *doctor.Diagnosis
	collectors map[Collector]Health
	history    history
}

// keepEvents bounds the events of a kind that are kept, at the beginning of the boot and lately. A log may hold all kinds,
// each without end: this is for less than 4 MB of them.
const keepEvents = 32

// New returns the tally of a boot of which nothing is known yet.
func New(boot string) *Tally {
	return &Tally{
		recorder: doctor.Recorder{Keep: keepEvents},
		state: State{
			Schema: StateSchema, Boot: boot, Timeline: []Entry{}, Told: map[string]uint64{},
			Log:    Log{Kinds: map[event.Kind]uint64{}},
			Clocks: Clocks{Switches: []Switch{}, Condemned: []Condemning{}},
		},
		watch: newWatch(), collectors: map[Collector]Health{},
	}
}

// Restore returns a tally that goes on with a state, which is not to be used any more.
func Restore(s State) (*Tally, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	t := New(s.Boot)
	for _, e := range s.Log.Events {
		t.recorder.Add(e)
	}
	if s.Log.Kinds == nil {
		s.Log.Kinds = map[event.Kind]uint64{}
	}
	t.left, s.Log.Events, s.Log.LeftOut = s.Log.LeftOut, nil, nil
	t.state = s
	return t, nil
}

// State returns a copy for keeping.
func (t *Tally) State() State {
	s := t.state
	s.Log.Kinds = maps.Clone(s.Log.Kinds)
	s.Log.Events, s.Log.LeftOut = t.Events()
	s.Clocks.Seen = slices.Clone(s.Clocks.Seen)
	s.Clocks.Available = slices.Clone(s.Clocks.Available)
	s.Clocks.Switches = slices.Clone(s.Clocks.Switches)
	s.Clocks.Condemned = slices.Clone(s.Clocks.Condemned)
	s.Timeline = slices.Clone(s.Timeline)
	s.Told = maps.Clone(s.Told)
	return s
}

// Events returns what is kept of the kernel's log, and how many of each kind were left out.
func (t *Tally) Events() ([]event.Event, map[event.Kind]int) {
	events, left := t.recorder.Events()
	for k, n := range t.left {
		left[k] += n
	}
	return events, left
}

// Current is the clocksource in use, "" where it is not known.
func (t *Tally) Current() string { return t.state.Clocks.Current }

// Entries is how many entries the timeline has had.
func (t *Tally) Entries() uint64 { return t.state.Entries }

// Next is the number of the first record of the kernel's log that was not read yet.
func (t *Tally) Next() uint64 { return t.state.Log.Next }

// Changed reports whether anything changed since it was asked last that would be missed after a restart.
// Records that say nothing of clocks do not count: reading them again does no harm.
func (t *Tally) Changed() bool {
	changed := t.changed
	t.changed = false
	return changed
}

// View is a copy of everything, for whoever shows it. Diagnosis and Cost are shared, and
// nobody changes them; nil before there is one.
type View struct {
	State // without Log.Events
	Watch Watch
	// Best is the best clocksource that this machine has or had in this boot, "" where that cannot be told.
	Best       string
	Cost       *machine.Cost
	Diagnosis  *doctor.Diagnosis
	Collectors map[Collector]Health
	History    []Point // the oldest first
}

// View returns a copy of everything.
func (t *Tally) View() View {
	s := t.state
	s.Log.Kinds = maps.Clone(s.Log.Kinds)
	s.Clocks.Seen = slices.Clone(s.Clocks.Seen)
	s.Clocks.Switches = slices.Clone(s.Clocks.Switches)
	s.Timeline = slices.Clone(s.Timeline)
	s.Told = maps.Clone(s.Told)
	return View{
		State: s, Watch: t.watch.clone(), Best: t.best(), Cost: t.cost, Diagnosis: t.diagnosis,
		Collectors: maps.Clone(t.collectors), History: t.history.points(),
	}
}

// Price notes what a read of the clock costs.
func (t *Tally) Price(c machine.Cost) {
	t.cost = &c
	t.history.price(c.ReadNS)
}

// Diagnose notes what the doctor found. A status other than the one before is an entry of the timeline,
// and so is a first one that is no good news.
func (t *Tally) Diagnose(d *doctor.Diagnosis, m Moment) {
	t.diagnosis = d
	before, after := t.state.Status, string(d.Status)
	if before == after {
		return
	}
	t.state.Status = after
	t.changed = true
	if before == "" && d.Status == doctor.StatusOK {
		return
	}
	t.enter(Entry{Kind: StatusChanged, Moment: m, Before: before, After: after, Summary: d.Summary})
}

// Collector is one of the sources that a tally is filled from. The set is closed.
type Collector string

// The collectors.
const (
	Kmsg   Collector = "kmsg"   // the kernel's log
	Sysfs  Collector = "sysfs"  // its clocksources
	Live   Collector = "watch"  // the watchdog over live counters
	Cost   Collector = "cost"   // the price of a read
	Doctor Collector = "doctor" // the diagnosis
	Keeper Collector = "state"  // the file of the state
)

// CollectorNames returns all of them.
func CollectorNames() []Collector { return []Collector{Kmsg, Sysfs, Live, Cost, Doctor, Keeper} }

// Health is how a collector fares.
type Health struct {
	Known       bool          `json:"known"` // it was tried
	OK          bool          `json:"ok"`
	Error       string        `json:"error,omitempty"` // of the last time that it failed, while it does
	Failures    uint64        `json:"failures"`
	Took        time.Duration `json:"took_ns"` // the last time that it worked
	LastSuccess time.Time     `json:"last_success,omitzero"`
}

// Report notes how a collector fared, and reports whether that is news.
func (t *Tally) Report(c Collector, err error, took time.Duration, at time.Time) bool {
	h := t.collectors[c]
	before := h
	h.Known, h.OK, h.Error = true, err == nil, ""
	if err != nil {
		h.Error = err.Error()
		h.Failures++
	} else {
		h.Took, h.LastSuccess = took, at
	}
	t.collectors[c] = h
	return !before.Known || before.OK != h.OK || before.Error != h.Error
}
