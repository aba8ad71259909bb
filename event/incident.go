package event

import "cmp"

// IncidentKind names what a group of lines tells of.
type IncidentKind string

const (
	IncidentSkew         IncidentKind = "skew"           // condemned for skew, 4.1 to 7.0; also such a block without its header
	IncidentDelta        IncidentKind = "delta"          // condemned for skew, up to 4.0: only the difference is printed
	IncidentFrequency    IncidentKind = "frequency-skew" // condemned for skew, 7.1 and later
	IncidentInterCPU     IncidentKind = "inter-cpu-skew" // condemned for order between CPUs, 7.1 and later
	IncidentDelay        IncidentKind = "read-delay"     // condemned because reading took too long
	IncidentSkip         IncidentKind = "skip"           // check skipped: the reference was busy
	IncidentLongInterval IncidentKind = "long-interval"  // check skipped: too long an interval
	IncidentTimeout      IncidentKind = "timeout"        // a read timed out, 7.1 and later: harmless
	IncidentRetry        IncidentKind = "retry"          // a read succeeded after retries
	IncidentSync         IncidentKind = "sync-test"      // the boot-time synchronisation test failed
	IncidentByReason     IncidentKind = "by-reason"      // "Marking TSC unstable due to" anything but the watchdog
	IncidentMarked       IncidentKind = "marked"         // condemned by the watchdog, the decision's own lines are missing
	IncidentOverride     IncidentKind = "override"       // only the refusal of a condemned clock tells of the verdict
)

// IncidentKinds returns every kind.
func IncidentKinds() []IncidentKind {
	return []IncidentKind{
		IncidentSkew, IncidentDelta, IncidentFrequency, IncidentInterCPU, IncidentDelay, IncidentSkip, IncidentLongInterval,
		IncidentTimeout, IncidentRetry, IncidentSync, IncidentByReason, IncidentMarked, IncidentOverride,
	}
}

// Condemns reports whether an incident of this kind makes the kernel give up the clock.
func (k IncidentKind) Condemns() bool {
	switch k {
	case IncidentSkip, IncidentLongInterval, IncidentTimeout, IncidentRetry:
		return false
	}
	return true
}

// Interval is what the lines tell of one clock between two checks.
type Interval struct {
	NS   Opt[int64] `json:"ns,omitzero"`
	Now  Opt[Hex]   `json:"now,omitzero"`
	Last Opt[Hex]   `json:"last,omitzero"`
	Mask Opt[Hex]   `json:"mask,omitzero"`
	// CutNS says that the line ended behind NS: the number itself may have lost digits.
	CutNS bool `json:"cut_ns,omitzero"`
}

// knownMask is the mask of a clock that always has the same, 0 for others. A
// printed mask may be cut, and a cut one would change the difference.
func knownMask(clock string) Hex {
	switch clock {
	case "acpi_pm":
		return 1<<24 - 1
	case "hpet":
		return 1<<32 - 1
	case "tsc", "tsc-early", "kvm-clock":
		return 1<<64 - 1
	}
	return 0
}

// Seen reports whether any line told of the interval.
func (i Interval) Seen() bool { return i.NS.Known || i.Now.Known }

// Cycles is the counter's masked difference. Without a printed mask 64 bits are
// assumed for values above 32 bits, else 32.
func (i Interval) Cycles() (uint64, bool) {
	if !i.Now.Known || !i.Last.Known {
		return 0, false
	}
	mask, ok := i.Mask.Get()
	if !ok || mask == 0 {
		mask = 1<<32 - 1
		if i.Now.Value > mask || i.Last.Value > mask {
			mask = 1<<64 - 1
		}
	}
	return uint64((i.Now.Value - i.Last.Value) & mask), true
}

// Incident is one decision, or trace of one, assembled from the lines that tell of it.
type Incident struct {
	Kind      IncidentKind `json:"kind"`
	Clock     string       `json:"clock,omitempty"`
	Reference string       `json:"reference,omitempty"`
	Boot      int          `json:"boot"`
	Time      Time         `json:"time"`
	CPU       Opt[int64]   `json:"cpu,omitzero"`

	Header  bool `json:"header"`           // the decision's first line is there
	Marked  bool `json:"marked,omitzero"`  // "Marking TSC unstable" followed
	Counted int  `json:"counted,omitzero"` // how many incidents like this one it stands for, where only some are kept

	WatchedInterval   Interval   `json:"watched"`
	ReferenceInterval Interval   `json:"reference_interval"`
	Second            Interval   `json:"second_reference,omitzero"`
	SecondReference   string     `json:"second_reference_name,omitempty"`
	SkewNS            Opt[int64] `json:"skew_ns,omitzero"`
	DelayNS           Opt[int64] `json:"delay_ns,omitzero"`
	WatchdogDelayNS   Opt[int64] `json:"watchdog_delay_ns,omitzero"`
	LimitNS           Opt[int64] `json:"limit_ns,omitzero"`
	Attempt           Opt[int64] `json:"attempt,omitzero"`
	Cycles            Opt[int64] `json:"cycles,omitzero"` // warp
	Reason            string     `json:"reason,omitempty"`

	Current    string  `json:"current,omitempty"` // the clock in use, as the block says
	NoCurrent  bool    `json:"no_current,omitzero"`
	Verified   bool    `json:"verified,omitzero"` // the cross-CPU check started
	CPUsAhead  string  `json:"cpus_ahead,omitempty"`
	CPUsBehind string  `json:"cpus_behind,omitempty"`
	Durations  bool    `json:"durations,omitzero"` // the check's durations were printed: it ended
	SwitchedTo string  `json:"switched_to,omitempty"`
	Events     []Event `json:"events"`
}

// Skew returns watched minus reference in ns, from the printed skew or the two intervals.
func (in *Incident) Skew() (int64, bool) {
	if s, ok := in.SkewNS.Get(); ok {
		return s, true
	}
	w, okW := in.WatchedInterval.NS.Get()
	r, okR := in.ReferenceInterval.NS.Get()
	return w - r, okW && okR
}

// maxIncidentEvents bounds the lines that an incident keeps.
const maxIncidentEvents = 24

// Collect assembles incidents from events in the order of the log. Duplicates are passed over.
func Collect(events []Event) []Incident {
	var c collector
	for i := range events {
		if !events[i].Source.Duplicate {
			c.add(&events[i])
		}
	}
	return c.incidents
}

// collector is the state of Collect.
type collector struct {
	incidents []Incident
	open      int // index+1 of the incident that following lines belong to
	condemned int // index+1 of the latest condemnation of this boot
	boot      int
}

func (c *collector) begin(kind IncidentKind, e *Event) *Incident {
	c.incidents = append(c.incidents, Incident{Kind: kind, Boot: e.Source.Boot, Time: e.Time, CPU: e.CPU, Clock: e.Clocksource, Reference: e.Reference})
	c.open = len(c.incidents)
	if kind.Condemns() {
		c.condemned = c.open
	}
	in := &c.incidents[c.open-1]
	in.keep(e)
	return in
}

func (in *Incident) keep(e *Event) {
	if len(in.Events) < maxIncidentEvents {
		in.Events = append(in.Events, *e)
	}
}

func (c *collector) current() *Incident {
	if c.open == 0 {
		return nil
	}
	return &c.incidents[c.open-1]
}

func (c *collector) verdict() *Incident {
	if c.condemned == 0 {
		return nil
	}
	return &c.incidents[c.condemned-1]
}

func (c *collector) add(e *Event) {
	if e.Source.Boot != c.boot {
		c.boot, c.open, c.condemned = e.Source.Boot, 0, 0
	}
	switch e.Kind {
	case SkewVerdict:
		c.begin(IncidentSkew, e).Header = true
	case DeltaVerdict:
		in := c.begin(IncidentDelta, e)
		in.Header, in.SkewNS = true, e.SkewNS
	case FrequencyVerdict:
		c.begin(IncidentFrequency, e).Header = true
	case InterCPUVerdict:
		c.begin(IncidentInterCPU, e).Header = true
	case DelayVerdict:
		in := c.begin(IncidentDelay, e)
		in.Header = true
		in.DelayNS, in.WatchdogDelayNS, in.LimitNS, in.Attempt = e.DelayNS, e.WatchdogDelayNS, e.LimitNS, e.Attempt
	case Retried:
		in := c.begin(IncidentRetry, e)
		in.Header, in.Attempt = true, e.Retries
	case ReadTimedOut, RemoteTimedOut:
		in := c.begin(IncidentTimeout, e)
		in.Header, in.DelayNS = true, e.DelayNS
	case LongInterval, ProbableStall:
		in := c.begin(IncidentLongInterval, e)
		in.Header = true
		in.WatchedInterval.NS, in.ReferenceInterval.NS = e.IntervalNS, e.ReferenceIntervalNS
	case BusyReference:
		in := c.begin(IncidentSkip, e)
		in.Header, in.WatchdogDelayNS = true, e.WatchdogDelayNS
	case TestSkipped:
		in := c.current()
		if in == nil || in.Kind != IncidentSkip || in.DelayNS.Known {
			in = c.begin(IncidentSkip, e)
		} else {
			in.keep(e)
		}
		in.Clock, in.DelayNS = e.Clocksource, e.DelayNS
	case ReferenceInterval, WatchedInterval, SecondReference, SkewAmount, CurrentClock:
		c.skewLine(e)
	case ReferenceSpan, WatchedSpan:
		c.spanLine(e)
	case CPUOrder:
		if in := c.current(); in != nil && in.Kind == IncidentInterCPU {
			in.keep(e)
			in.CPU = e.CPU
		}
	default:
		c.aftermath(e)
	}
}

// skewLine adds a line of a skew block. Without an open block that lacks it, the
// block's header was cut off.
func (c *collector) skewLine(e *Event) {
	in := c.current()
	fits := in != nil && in.Kind == IncidentSkew
	if fits {
		switch e.Kind {
		case ReferenceInterval:
			fits = !in.ReferenceInterval.Seen() && (in.Reference == "" || in.Reference == e.Reference)
		case WatchedInterval:
			fits = !in.WatchedInterval.Seen() && (in.Clock == "" || in.Clock == e.Clocksource)
		case SkewAmount:
			fits = !in.SkewNS.Known && (in.Clock == "" || in.Clock == e.Clocksource)
		}
	}
	if !fits && (e.Kind == SecondReference || e.Kind == CurrentClock) {
		return // nothing that it could belong to
	}
	if !fits {
		in = c.begin(IncidentSkew, e)
	} else {
		in.keep(e)
	}
	interval := Interval{NS: e.IntervalNS, Now: e.Now, Last: e.Last, Mask: e.Mask, CutNS: e.Cut && e.IntervalNS.Known && !e.Now.Known}
	if mask := knownMask(cmp.Or(e.Reference, e.Clocksource)); mask != 0 && e.Now.Known {
		interval.Mask = Some(mask)
	}
	switch e.Kind {
	case ReferenceInterval:
		in.Reference, in.ReferenceInterval = e.Reference, interval
	case WatchedInterval:
		in.Clock, in.WatchedInterval = e.Clocksource, interval
	case SecondReference:
		in.SecondReference, in.Second = e.Reference, interval
	case SkewAmount:
		in.Clock, in.Reference, in.SkewNS = e.Clocksource, e.Reference, e.SkewNS
		if ns, ok := e.ReferenceIntervalNS.Get(); ok && !in.ReferenceInterval.NS.Known {
			in.ReferenceInterval.NS = Some(ns)
		}
		r, okR := in.ReferenceInterval.NS.Get()
		if s, ok := e.SkewNS.Get(); ok && okR && !in.WatchedInterval.NS.Known {
			in.WatchedInterval.NS = Some(r + s)
		}
	case CurrentClock:
		in.Current, in.NoCurrent = e.Current, e.Current == ""
	}
}

// spanLine adds an interval line of 7.1 and later.
func (c *collector) spanLine(e *Event) {
	in := c.current()
	if in == nil || in.Kind != IncidentFrequency ||
		e.Kind == ReferenceSpan && in.ReferenceInterval.Seen() || e.Kind == WatchedSpan && in.WatchedInterval.Seen() {
		in = c.begin(IncidentFrequency, e)
	} else {
		in.keep(e)
	}
	if e.Kind == ReferenceSpan {
		in.Reference, in.ReferenceInterval.NS = e.Reference, e.IntervalNS
	} else {
		in.Clock, in.WatchedInterval.NS = e.Clocksource, e.IntervalNS
	}
}

// aftermath adds what follows a verdict, and the verdicts that are not the watchdog's.
func (c *collector) aftermath(e *Event) {
	v := c.verdict()
	switch e.Kind {
	case Warp, RandomWarp, SyncTest:
		if e.Kind == SyncTest && e.Detail != "" {
			return // passed or skipped
		}
		if v == nil || v.Kind != IncidentSync || v.Marked || e.Kind == SyncTest || v.Cycles.Known && e.Kind == Warp {
			v = c.begin(IncidentSync, e)
			v.Clock = "tsc"
		} else {
			v.keep(e)
		}
		v.Header = v.Header || e.Kind != SyncTest
		if e.Kind == Warp {
			v.Cycles = e.Cycles
		}
		if e.Kind == RandomWarp {
			v.Reason = "random"
		}
	case TSCUnstable:
		c.marked(v, e)
	case TSCBrokenBIOS, SchedUnstable:
		if v == nil {
			v = c.begin(IncidentMarked, e)
			v.Clock = "tsc"
		} else {
			v.keep(e)
		}
		v.Marked = true
	case VerifyStarted, VerifyAhead, VerifyBehind, VerifyDurations, VerifyImpossible:
		if v == nil {
			v = c.begin(IncidentMarked, e)
		} else {
			v.keep(e)
		}
		switch e.Kind {
		case VerifyStarted:
			v.Verified = true
		case VerifyAhead:
			v.CPUsAhead = e.CPUs
		case VerifyBehind:
			v.CPUsBehind = e.CPUs
		case VerifyDurations:
			v.Durations = true
		}
	case OverrideRefused:
		if v == nil {
			c.begin(IncidentOverride, e)
		} else {
			v.keep(e)
		}
	case Switched:
		if v != nil && v.SwitchedTo == "" {
			v.SwitchedTo = e.Clocksource
			v.keep(e)
		}
	}
}

// marked adds a "Marking TSC unstable" line.
func (c *collector) marked(v *Incident, e *Event) {
	switch {
	case e.Detail == "clocksource watchdog" || e.Detail == "":
		if v == nil || v.Marked || v.Kind == IncidentSync || v.Kind == IncidentByReason {
			v = c.begin(IncidentMarked, e)
			v.Clock = "tsc"
		} else {
			v.keep(e)
		}
	case e.Detail == "check_tsc_sync_source failed":
		if v == nil || v.Kind != IncidentSync || v.Marked {
			v = c.begin(IncidentSync, e)
		} else {
			v.keep(e)
		}
		if v.Reason == "" {
			v.Reason = e.Detail
		}
	default:
		v = c.begin(IncidentByReason, e)
		v.Reason = e.Detail
		v.Header = true
	}
	v.Marked = true
}
