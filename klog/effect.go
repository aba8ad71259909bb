package klog

import (
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
)

// VisibleEffect returns what a log can show of something that the framework of
// clocksources did, in the order of the lines. sched are the four numbers of a line
// of sched_clock; without them that line is not there. What the comparison
// between CPUs shows is [VisibleVerification]'s. The warning of a margin that is
// too small is a call trace and has no event.
func VisibleEffect(e *clocksource.Effect, sched event.Opt[event.Sched]) []event.Event {
	switch e.Kind {
	case clocksource.EffectRegistered:
		return []event.Event{{
			Kind: event.Registered, Clocksource: e.Clock, Mask: event.Some(event.Hex(e.Mask)),
			MaxCycles: hexOf(e.MaxCycles), MaxIdleNS: nanos(e.MaxIdle),
		}}
	case clocksource.EffectOverflowDanger:
		return []event.Event{{Kind: event.OverflowDanger, Clocksource: e.Clock}}
	case clocksource.EffectSwitched:
		return []event.Event{{Kind: event.Switched, Clocksource: e.Clock}}
	case clocksource.EffectOverrideRefused:
		return []event.Event{{Kind: event.OverrideRefused, Clocksource: e.Clock}}
	case clocksource.EffectOverrideDeferred:
		return []event.Event{{Kind: event.OverrideDeferred, Clocksource: e.Clock}}
	case clocksource.EffectTSCMarked:
		return []event.Event{{Kind: event.TSCUnstable, Clocksource: "tsc", Detail: e.Reason}}
	case clocksource.EffectTSCOption:
		return []event.Event{{Kind: event.TSCOption, Detail: e.Reason}}
	case clocksource.EffectTSCDiffers:
		return []event.Event{{Kind: event.TSCFreqDiffers}}
	case clocksource.EffectTSCPrevious:
		return []event.Event{{Kind: event.TSCFreqPrevious, FrequencyHz: event.Some(int64(e.Frequency))}}
	case clocksource.EffectTSCRecalibrated:
		timer := "PM_TIMER"
		if e.Clock == "hpet" {
			timer = "HPET"
		}
		return []event.Event{{Kind: event.TSCFreqNew, Current: timer, FrequencyHz: event.Some(int64(e.Frequency))}}
	case clocksource.EffectSchedStable:
		return withNumbers(nil, event.SchedStable, sched)
	case clocksource.EffectSchedUnstable:
		return withNumbers([]event.Event{{Kind: event.TSCBrokenBIOS}}, event.SchedUnstable, sched)
	}
	return nil
}

func withNumbers(lines []event.Event, k event.Kind, sched event.Opt[event.Sched]) []event.Event {
	if !sched.Known {
		return lines
	}
	return append(lines, event.Event{Kind: k, SchedNS: sched})
}

// EffectLines writes the lines that a kernel with these rules prints for
// effects; most of them have none. sched are the numbers of sched_clock's line.
func EffectLines(effects []clocksource.Effect, r *clocksource.Rules, sched event.Opt[event.Sched]) []Line {
	var lines []Line
	for i := range effects {
		for _, e := range VisibleEffect(&effects[i], sched) {
			wording, printed := wordingOf(e.Kind, r)
			if !printed {
				continue
			}
			row, text, ok := print(&e, wording)
			if !ok {
				continue
			}
			prefix := row.prefix
			if !r.MessagePrefix {
				prefix = strings.TrimPrefix(prefix, "clocksource: ")
			}
			lines = append(lines, Line{Level: int(row.level), Text: prefix + text})
		}
	}
	return lines
}

// wordingOf returns how a release words an event, "" where all do alike. It is
// false where the release prints nothing.
func wordingOf(k event.Kind, r *clocksource.Rules) (string, bool) {
	switch k {
	case event.Registered:
		return string(r.RegisterText), r.RegisterText != clocksource.RegisterTextNone
	case event.Switched:
		return string(r.SwitchText), true
	case event.OverrideRefused, event.OverrideDeferred:
		return string(r.OverrideText), r.OverrideText != clocksource.OverrideTextNone
	}
	return "", true
}
