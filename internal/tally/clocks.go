package tally

import (
	"slices"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
)

// Other stands for the clocksources that are not known by name.
const Other = "other"

// nothing is what there was before the first clocksource.
const nothing = "none"

// Name returns the name of a clocksource where it is a known one, "" for "", and [Other] else, so that
// what a log or a driver calls itself cannot make more and more names.
func Name(clock string) string {
	if clock == "" {
		return ""
	}
	if _, known := clocksource.KnownClock(clock); known {
		return clock
	}
	return Other
}

// see notes that the machine has, or had, a clocksource.
func (t *Tally) see(clock string) {
	name := Name(clock)
	if i, found := slices.BinarySearch(t.state.Clocks.Seen, name); !found && name != "" && len(t.state.Clocks.Seen) < maxNames {
		t.state.Clocks.Seen = slices.Insert(t.state.Clocks.Seen, i, name)
	}
}

// switchTo counts a switch and enters it.
func (t *Tally) switchTo(from, clock string, e Entry) {
	c := &t.state.Clocks
	e.Kind, e.Clocksource = Switched, clock
	e.From, e.To = Name(from), Name(clock)
	if e.From == "" {
		e.From = nothing
	}
	e.Summary = "the kernel took " + clock
	if e.From != nothing {
		e.Summary = "the kernel went from " + e.From + " to " + clock
	}
	same := func(s Switch) bool { return s.From == e.From && s.To == e.To }
	if i := slices.IndexFunc(c.Switches, same); i >= 0 {
		c.Switches[i].Count++
	} else {
		c.Switches = append(c.Switches, Switch{e.From, e.To, 1})
	}
	c.Current, c.Logged, c.Pending = clock, clock, ""
	c.LastSwitch = e.Moment
	t.enter(e)
}

// Observe takes what sysfs says of the clocksources, the available ones in its order. A change that the
// log does not tell of counts as a switch when it is seen twice in a row: until then the log may yet come. It
// reports whether it has to be asked again, soon.
func (t *Tally) Observe(current string, available []string, m Moment) (again bool) {
	c := &t.state.Clocks
	c.Available = slices.Clone(available)
	for _, a := range available {
		t.see(a)
	}
	t.see(current)
	switch {
	case current == c.Current:
		c.Pending = ""
	case c.Current == "": // the first look, and no log: whatever was before is not known
		c.Current = current
	case c.Pending == current:
		t.switchTo(c.Current, current, Entry{Moment: m})
	default:
		c.Pending = current
	}
	return c.Pending != ""
}

// best is the best clocksource that this machine has, or had before the kernel gave it up. The kernel lists
// the available ones by their rating, which is not to be had otherwise.
func (t *Tally) best() string {
	c := &t.state.Clocks
	best := ""
	if len(c.Available) > 0 {
		best = Name(c.Available[0])
	}
	better := func(clock string) {
		if least(clock) > most(best) {
			best = clock
		}
	}
	for _, gone := range c.Condemned {
		better(gone.Clock)
	}
	if d := t.diagnosis; d != nil && d.KernelTrustsTSC == doctor.TrustNo {
		better("tsc")
	}
	return best
}

// least and most are the ends of what a clock of that name is rated; a clock is better than another only
// where that is certain.
func least(clock string) int { r, _ := ratings(clock); return r }
func most(clock string) int  { _, r := ratings(clock); return r }

func ratings(clock string) (low, high int) {
	k, ok := clocksource.KnownClock(clock)
	if !ok {
		if clock == "" {
			return 0, 0
		}
		return 0, clocksource.RatingPerfect // whatever it may be
	}
	low, high = k.Rating, k.Rating
	for _, o := range k.Other {
		low, high = min(low, o.Rating), max(high, o.Rating)
	}
	return low, high
}

// Stamps turns the kernel's stamps into times of the wall.
type Stamps struct {
	// Now is the time, Monotonic that of the kernel's stamps at it, and Slept for how long the machine
	// was suspended since it was booted, during which the stamps stood still.
	Now       time.Time
	Monotonic time.Duration
	Slept     time.Duration
}

// someSleep is by how much two clocks may differ without a suspend.
const someSleep = 100 * time.Millisecond

// At returns when a stamp was. Where the machine slept since the boot, or where the kernel changed the base
// of its stamps, that is doubtful, and said to be.
func (s Stamps) At(t event.Time) Moment {
	ns, ok := t.PrintkNS.Get()
	ago := s.Monotonic - time.Duration(ns)
	switch {
	case !ok:
		return Moment{At: s.Now, Doubt: "the line has no stamp: this is when it was read"}
	case ago < -time.Second:
		return Moment{At: s.Now, Doubt: "the line's stamp lies in the future: this is when it was read"}
	}
	m := Moment{At: s.Now.Add(-max(ago, 0)), Doubt: t.Doubt}
	if s.Slept > someSleep && m.Doubt == "" {
		m.Doubt = "the machine has slept for " + s.Slept.Round(time.Second).String() + " in this boot: the line may be older by as much"
	}
	return m
}
