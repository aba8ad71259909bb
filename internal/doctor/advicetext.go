package doctor

import (
	"slices"

	"github.com/cswatch/cswatch/internal/explain"
	"github.com/cswatch/cswatch/machine"
)

// known returns the entry of one class for an id. Every id that this package
// uses has one; a test sees to it.
func known(id string, class explain.Class) explain.Entry {
	entries, _ := explain.Lookup(id)
	for _, e := range entries {
		if e.Class == class {
			return e
		}
	}
	return explain.Entry{ID: id, Class: class, Title: id}
}

// adviceText writes an advice out for this machine: what package explain says
// of it, made exact where the evidence allows.
func (x *examination) adviceText(id string) Advice {
	e := known(id, explain.Advice)
	a := Advice{ID: id, Summary: e.Title, Command: e.Command, Risk: Risk(e.Risk)}
	detail := e.Action
	switch id {
	case "nothing":
		a.Summary, detail = "No action is needed for the clock", ""
	case "upgrade-kernel":
		detail = x.upgradeTarget() + "."
	case "remove-reference":
		if command := x.removeReference(); command != "" {
			a.Command = command
		}
	case "use-kvm-clock":
		if s := x.ev.Snapshot; s == nil || !slices.Contains(s.Clocksource.Available, "kvm-clock") {
			a.Command = "cat /sys/devices/system/clocksource/clocksource0/available_clocksource    # is kvm-clock among them?"
		}
	case "set-clocksource":
		if s := x.ev.Snapshot; s != nil {
			a.Command = "echo " + betterSource(s) + " > /sys/devices/system/clocksource/clocksource0/current_clocksource"
		}
	case "switch-away":
		name := x.otherClock()
		a.Command = "echo " + name + " > /sys/devices/system/clocksource/clocksource0/current_clocksource    # to keep it: clocksource=" + name + " on the kernel command line"
	case "remove-option":
		if option := x.suspectOption(); option != "" {
			detail = "Take " + option + " off the kernel command line and reboot."
		}
	}
	if detail != "" {
		a.Summary += ": " + detail
	}
	return a
}

// suspectOption is the option that hides the fault or causes it, "" if none is known.
func (x *examination) suspectOption() string {
	if x.lastFacts.forcedHz > 0 {
		return "tsc_early_khz"
	}
	if x.lastFacts.hpetForced {
		return "hpet=force"
	}
	return optionOff(x.lastFacts.cmdline)
}

// removeReference tells how to get another reference than the one of the
// accusation; "" where the general way holds.
func (x *examination) removeReference() string {
	guest := x.isGuest() == machine.Yes
	for i := range x.incidents {
		switch ref := x.incidents[i].incident.Reference; {
		case ref == "hpet" && !guest:
			return "hpet=disable    # on the kernel command line, then reboot: the watchdog takes the PM timer"
		case ref == "acpi_pm" && !guest:
			return "enable the HPET in the firmware's setup: the watchdog prefers it to the 24-bit PM timer"
		case (ref == "jiffies" || ref == "refined-jiffies") && !guest:
			return "enable the HPET or the PM timer in the firmware's setup: then the watchdog need not count ticks"
		}
	}
	return ""
}

// howToGet names the command that gives what is missing.
func howToGet(id string) string {
	e := known(id, explain.Missing)
	if e.Command == "" {
		return e.Action
	}
	return e.Command
}
