package klog

import (
	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/watchdog"
)

// Visible returns what a log can show of a verdict in the era of the setup: one
// event a line, in the order of the lines, with the numbers that the era's text
// carries and no others. Which of them a kernel prints again and again, and
// which once, is the [Printer]'s.
func Visible(v *watchdog.Verdict, s *watchdog.Setup) []event.Event {
	p := &s.Profile
	clock, ref := s.Watched[v.Clock].Name, s.Reference.Name
	out := coarse(v, s)
	if retried(v, p) {
		out = append(out, event.Event{Kind: event.Retried, CPU: number(v.CPU), Reference: ref, Retries: number(v.Attempts - 1)})
	}
	switch v.Kind {
	case watchdog.CondemnedDelay:
		out = append(out, delayVerdict(v, p, clock, ref))
	case watchdog.Skipped:
		out = append(out,
			event.Event{Kind: event.BusyReference, CPU: number(v.CPU), Reference: ref, WatchdogDelayNS: nanos(v.Sequence)},
			event.Event{Kind: event.TestSkipped, Clocksource: clock, DelayNS: nanos(v.Delay)})
		if v.MaxSkew > 0 {
			out = append(out, event.Event{Kind: event.MaxSkewRaised, CPU: number(v.CPU), LimitNS: nanos(v.MaxSkew)})
		}
	case watchdog.TooLong:
		if p.LongInterval > 0 {
			out = append(out, event.Event{Kind: event.LongInterval, IntervalNS: nanos(v.Watched.NS), ReferenceIntervalNS: nanos(v.Reference.NS)})
		}
	case watchdog.CondemnedSkew:
		out = append(out, skewLines(v, s)...)
	case watchdog.CondemnedCPUs:
		out = append(out,
			event.Event{Kind: event.InterCPUVerdict, Clocksource: clock},
			event.Event{Kind: event.CPUOrder, CPU: number(v.EarlyCPU), Stamp: hexOf(v.Earlier), PeerCPU: number(v.LateCPU), PeerStamp: hexOf(v.Later)})
	case watchdog.TimedOut:
		out = append(out, event.Event{Kind: event.ReadTimedOut, Reference: ref, DelayNS: nanos(v.Delay)})
	case watchdog.RemoteTimedOut:
		out = append(out, event.Event{Kind: event.RemoteTimedOut, CPU: number(v.PeerCPU)})
	}
	return out
}

func number(n int) event.Opt[int64]              { return event.Some(int64(n)) }
func nanos(n clocksource.Nanos) event.Opt[int64] { return event.Some(int64(n)) }

// retried reports that a read-out succeeded after so many attempts that the era
// says so. Up to 6.10 either condition suffices, so that without retries every
// success is announced; from 6.11 on both must hold.
func retried(v *watchdog.Verdict, p *watchdog.Profile) bool {
	if p.Text.Delay == "" || v.Attempts == 0 || v.Kind == watchdog.CondemnedDelay || v.Kind == watchdog.Skipped || v.CoarseReads > 0 {
		return false
	}
	n, most := v.Attempts-1, v.Allowed-1
	if p.Text.RetriedStrict {
		return n > 1 && n >= most
	}
	return n > 1 || n >= most
}

// coarse is what the design that forgives latency says of a slow read-out, in
// the order in which the proposal does: the read-out, the warning where the row
// of them is long, and the comparison if there is one.
func coarse(v *watchdog.Verdict, s *watchdog.Setup) []event.Event {
	if v.CoarseReads == 0 {
		return nil
	}
	of := func(detail string) event.Event {
		return event.Event{Kind: event.CoarseCheck, CPU: number(v.CPU), Reference: s.Reference.Name, Detail: detail}
	}
	slow := of(coarseAwaiting)
	if v.Compared {
		slow.Detail = coarseChecked
	}
	slow.DelayNS, slow.Attempt = nanos(v.Delay), number(v.Attempts)
	out := []event.Event{slow}
	if every, ok := s.CoarseWarning(); ok && v.CoarseReads%every == 0 {
		row := of(coarseConsecutive)
		row.Retries = number(v.CoarseReads)
		out = append(out, row)
	}
	if v.Compared {
		check := of(coarseLimit)
		check.LimitNS = nanos(v.SkewLimit)
		out = append(out, check)
	}
	return out
}

func delayVerdict(v *watchdog.Verdict, p *watchdog.Profile, clock, ref string) event.Event {
	e := event.Event{Kind: event.DelayVerdict, CPU: number(v.CPU), DelayNS: nanos(v.Delay), Attempt: number(v.Attempts)}
	if p.Text.Delay != "excessive" {
		e.Reference = ref
		return e
	}
	// The text prints a constant, which from 6.12 on is not the limit in force.
	e.Clocksource, e.LimitNS, e.WatchdogDelayNS = clock, nanos(p.MaxSkew), nanos(v.Sequence)
	return e
}

// skewLines is the block of a condemnation for skew.
func skewLines(v *watchdog.Verdict, s *watchdog.Setup) []event.Event {
	text := &s.Profile.Text
	clock, ref := &s.Watched[v.Clock], &s.Reference
	switch text.Skew {
	case "delta":
		return []event.Event{{Kind: event.DeltaVerdict, Clocksource: clock.Name, SkewNS: nanos(v.Skew)}}
	case "frequency":
		return []event.Event{
			{Kind: event.FrequencyVerdict, Clocksource: clock.Name},
			{Kind: event.ReferenceSpan, Reference: ref.Name, IntervalNS: nanos(v.Reference.NS)},
			{Kind: event.WatchedSpan, Clocksource: clock.Name, IntervalNS: nanos(v.Watched.NS)},
		}
	}
	header := event.Event{Kind: event.SkewVerdict, Clocksource: clock.Name}
	if text.Skew == "header-cpu" {
		header.CPU = number(v.CPU)
	}
	of := func(k event.Kind, i watchdog.Interval, mask clocksource.Mask) event.Event {
		e := event.Event{Kind: k, Now: hexOf(i.Now), Last: hexOf(i.Last), Mask: event.Some(event.Hex(mask))}
		if text.Nanoseconds {
			e.IntervalNS = nanos(i.NS)
		}
		return e
	}
	r := of(event.ReferenceInterval, v.Reference, ref.Mask)
	r.Reference = ref.Name
	w := of(event.WatchedInterval, v.Watched, clock.Mask)
	w.Clocksource = clock.Name
	lines := []event.Event{header, r, w}
	if text.SkewedLine {
		lines = append(lines, event.Event{Kind: event.SkewAmount, Clocksource: clock.Name, Reference: ref.Name, SkewNS: nanos(v.Skew), ReferenceIntervalNS: nanos(v.Reference.NS)})
	}
	if text.Nanoseconds {
		lines = append(lines, current(s.Current, clock.Name))
	}
	return lines
}

func hexOf(c clocksource.Cycles) event.Opt[event.Hex] { return event.Some(event.Hex(c)) }

// current is the line on which clock is in use.
func current(now, condemned string) event.Event {
	if now == "" {
		return event.Event{Kind: event.CurrentClock, Detail: noCurrentClock}
	}
	return event.Event{Kind: event.CurrentClock, Clocksource: condemned, Current: now}
}

// VisibleVerification returns what a log can show of the check across CPUs.
func VisibleVerification(v *watchdog.Verification, s *watchdog.Setup) []event.Event {
	if !v.Started {
		return nil
	}
	rule, clock := s.Profile.Verify, s.Watched[v.Clock].Name
	// 5.10 has no word for it: it names no CPUs and checks none.
	if len(v.Checked) == 0 && rule.ListsPeers {
		return []event.Event{{Kind: event.VerifyImpossible, Clocksource: clock}}
	}
	start := event.Event{Kind: event.VerifyStarted, Clocksource: clock, CPU: number(v.CPU)}
	if rule.ListsPeers {
		start.CPUs = cpuList(v.Checked)
	}
	lines := []event.Event{start}
	side := func(k event.Kind, cpus []int) {
		if len(cpus) > 0 {
			lines = append(lines, event.Event{Kind: k, Clocksource: clock, CPU: number(v.CPU), CPUs: cpuList(cpus)})
		}
	}
	side(event.VerifyAhead, v.Ahead)
	side(event.VerifyBehind, v.Behind)
	if rule.Durations || len(lines) > 1 {
		lines = append(lines, event.Event{Kind: event.VerifyDurations, Clocksource: clock, CPU: number(v.CPU), MinNS: nanos(v.Min), MaxNS: nanos(v.Max)})
	}
	return lines
}
