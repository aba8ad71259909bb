package doctor

import (
	"slices"

	"github.com/cswatch/cswatch/event"
)

// finalClock is the clocksource in use at the end of the last boot, as far as
// the log tells; "" where it does not. A clock that was condemned after it was
// chosen is no longer in use.
func finalClock(events []event.Event) string {
	current, boot := "", 0
	for i := range events {
		e := &events[i]
		if e.Source.Boot > boot {
			current, boot = "", e.Source.Boot
		}
		if e.Source.Duplicate || e.Source.Boot < boot {
			continue
		}
		switch e.Kind {
		case event.Switched:
			current = e.Clocksource
		case event.CurrentClock:
			if e.Clocksource != "" && e.Current != e.Clocksource {
				current = e.Current
			}
		case event.SkewVerdict, event.DeltaVerdict, event.DelayVerdict, event.FrequencyVerdict, event.InterCPUVerdict, event.TSCUnstable, event.TSCBrokenBIOS:
			clock := e.Clocksource
			if clock == "" {
				clock = "tsc" // "hpet read-back delay ..., marking unstable" names only the reference
			}
			if current == clock || isTSC(current) && isTSC(clock) {
				current = ""
			}
		}
	}
	return current
}

func isTSC(name string) bool { return name == "tsc" || name == "tsc-early" }

// lastBoot is the number of the last boot of the log, 1 for an empty one.
func lastBoot(events []event.Event) int {
	boot := 1
	for i := range events {
		boot = max(boot, events[i].Source.Boot)
	}
	return boot
}

// trust says whether the kernel still trusts its TSC.
func trust(ev *Evidence, incidents []weighed, final string, arch string) Trust {
	if arch != "" && !isX86(arch) {
		return TrustNotApplicable
	}
	last := lastBoot(ev.Events)
	for i := range incidents {
		in := &incidents[i]
		if !in.condemns() || in.incident.Boot != last || !isTSC(orTSC(in.incident.Clock)) {
			continue
		}
		if in.incident.Kind == event.IncidentSync && !in.incident.Marked && !in.incident.Header {
			continue
		}
		return TrustNo
	}
	if s := ev.Snapshot; s != nil && len(s.Clocksource.Available) > 0 {
		if slices.Contains(s.Clocksource.Available, "tsc") {
			return TrustYes
		}
		return TrustNo
	}
	if isTSC(final) {
		return TrustYes
	}
	return TrustUnknown
}

func orTSC(name string) string {
	if name == "" {
		return "tsc"
	}
	return name
}

func isX86(arch string) bool {
	switch arch {
	case "x86_64", "i686", "i586", "i486", "i386", "x86", "amd64":
		return true
	}
	return false
}
