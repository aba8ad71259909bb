package tally

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cswatch/cswatch/event"
)

// Read notes that the kernel's records up to a number were read, how many they were, and what went missing before them.
func (t *Tally) Read(next, records, foreign, lost, overruns uint64, m Moment) {
	l := &t.state.Log
	l.Next = max(l.Next, next)
	l.Records += records
	l.Foreign += foreign
	l.Lost += lost
	l.Overruns += overruns
	if lost > 0 {
		t.enter(Entry{Kind: RecordsLost, Moment: m, Summary: fmt.Sprintf("the kernel overwrote %d records of its log before they were read", lost)})
	}
}

// Add takes an event of the kernel's log.
func (t *Tally) Add(e event.Event, m Moment) {
	if e.Source.Duplicate {
		return
	}
	t.recorder.Add(e)
	t.state.Log.Kinds[e.Kind]++
	t.changed = true
	entry := Entry{Moment: m, PrintkNS: e.Time.PrintkNS, Clocksource: e.Clocksource, Reference: e.Reference, Line: e.Text}
	switch e.Kind {
	case event.Switched:
		t.see(e.Clocksource)
		from := t.state.Clocks.Logged
		if from == "" && !m.Lookback { // whatever the log said before is lost
			from = t.state.Clocks.Current
		}
		if from == e.Clocksource { // sysfs was looked at in between
			from = ""
		}
		t.switchTo(from, e.Clocksource, entry)
	case event.Registered:
		t.see(e.Clocksource)
	case event.Retried:
		entry.Kind = Retried
		entry.Summary = fmt.Sprintf("reading %s succeeded after %s", or(e.Reference, "the reference"), retries(e.Retries))
		t.enter(entry)
	case event.TestSkipped, event.LongInterval:
		entry.Kind, entry.Summary = Skipped, "the kernel's watchdog skipped a check of "+or(e.Clocksource, "its clock")
		t.enter(entry)
	case event.ReadTimedOut, event.RemoteTimedOut:
		entry.Kind, entry.Summary = TimedOut, "a read of the kernel's watchdog timed out, which is harmless"
		t.enter(entry)
	case event.OverrideRefused, event.OverrideDeferred:
		entry.Kind, entry.Summary = Refused, "the kernel refused or put off a wish for "+or(e.Clocksource, "a clocksource")
		t.enter(entry)
	}
	t.settle = t.settle || tellsOfVerdict(e.Kind)
}

func retries(n event.Opt[int64]) string {
	switch v, ok := n.Get(); {
	case !ok:
		return "some retries"
	case v == 1:
		return "a retry"
	default:
		return fmt.Sprintf("%d retries", v)
	}
}

func or(s, other string) string { return cmp.Or(s, other) }

// tellsOfVerdict reports that lines of that kind are, or may be, part of a condemnation.
func tellsOfVerdict(k event.Kind) bool {
	switch k {
	case event.DeltaVerdict, event.SkewVerdict, event.ReferenceInterval, event.WatchedInterval, event.SkewAmount, event.DelayVerdict,
		event.FrequencyVerdict, event.InterCPUVerdict, event.ReferenceSpan, event.WatchedSpan, event.TSCUnstable, event.TSCBrokenBIOS,
		event.SchedUnstable, event.SyncTest, event.Warp, event.RandomWarp, event.OverrideRefused,
		event.VerifyStarted, event.VerifyAhead, event.VerifyBehind, event.VerifyDurations, event.VerifyImpossible:
		return true
	}
	return false
}

// Unsettled reports that lines of a verdict were read which Settle has still to put together.
func (t *Tally) Unsettled() bool { return t.settle }

// Settle puts the lines of verdicts together: call it when no more of them are coming. at tells when the
// kernel's stamp was.
func (t *Tally) Settle(at func(event.Time) Moment) {
	if !t.settle {
		return
	}
	t.settle = false
	events, _ := t.recorder.Events()
	found := condemnings(event.Collect(events))
	before := t.state.Clocks.Condemned
	t.state.Clocks.Condemned = found
	for _, c := range found {
		same := func(o Condemning) bool { return o.Clock == c.Clock && o.Cause == c.Cause }
		refined := func(o Condemning) bool { return o.Clock == c.Clock && onlyTrace(o.Cause) }
		if slices.ContainsFunc(before, same) || slices.ContainsFunc(before, refined) {
			continue
		}
		t.see(c.Clock)
		t.enter(Entry{
			Kind: Condemned, Moment: at(c.At), PrintkNS: c.At.PrintkNS, Clocksource: c.Clock, Reference: c.Reference,
			Cause: string(c.Cause), Summary: c.Summary, Line: c.Line,
		})
	}
}

// onlyTrace reports a kind of incident that is only the trace of a verdict whose own lines are missing.
func onlyTrace(k event.IncidentKind) bool {
	return k == event.IncidentMarked || k == event.IncidentOverride
}

// condemnings are the clocks that were given up, by cause. A trace of a verdict counts only where the verdict itself is not there.
func condemnings(incidents []event.Incident) []Condemning {
	list := []Condemning{}
	add := func(in *event.Incident) {
		clock := Name(cmp.Or(in.Clock, "tsc"))
		if clock == "tsc-early" { // the same counter: the kernel never registers the other then
			clock = "tsc"
		}
		for i := range list {
			c := &list[i]
			if c.Clock != clock {
				continue
			}
			if onlyTrace(in.Kind) {
				return
			}
			if c.Cause == in.Kind {
				c.Count += max(1, uint64(in.Counted))
				return
			}
		}
		list = append(list, Condemning{
			Clock: clock, Reference: Name(in.Reference), Cause: in.Kind, Count: max(1, uint64(in.Counted)),
			Summary: sentence(in, clock), Line: in.Events[0].Text, At: in.Time,
		})
	}
	for _, traces := range [...]bool{false, true} {
		for i := range incidents {
			if in := &incidents[i]; in.Kind.Condemns() && onlyTrace(in.Kind) == traces {
				add(in)
			}
		}
	}
	return list
}

// sentence says in words why a clock was given up.
func sentence(in *event.Incident, clock string) string {
	against := ""
	if in.Reference != "" {
		against = " against " + in.Reference
	}
	said := "the kernel gave up " + clock
	switch in.Kind {
	case event.IncidentDelay:
		if d, ok := in.DelayNS.Get(); ok {
			return fmt.Sprintf("%s because reading it%s took %d ns", said, against, d)
		}
		return said + " because reading it" + against + " took too long"
	case event.IncidentSkew, event.IncidentDelta, event.IncidentFrequency:
		if s, ok := in.Skew(); ok {
			return fmt.Sprintf("%s for a skew of %d ns%s", said, s, against)
		}
		return said + " for skew" + against
	case event.IncidentInterCPU:
		return said + " because two CPUs read it in the wrong order"
	case event.IncidentSync:
		if c, ok := in.Cycles.Get(); ok {
			return fmt.Sprintf("%s because the CPUs differ by %d cycles", said, c)
		}
		return said + " because the CPUs' synchronisation test failed"
	case event.IncidentByReason:
		return said + " due to " + cmp.Or(in.Reason, "a reason of its own")
	case event.IncidentOverride:
		return said + ": it refuses to take it back"
	}
	return said + ": the lines that say why are missing"
}
