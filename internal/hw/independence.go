package hw

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

// Surroundings is what decides whether two clocks are independent.
type Surroundings struct {
	Clocksource string         // current, "" if unknown
	Guest       machine.Answer // runs under a hypervisor
	PTPName     string         // clock_name of a PTP clock, "" if unknown or none is meant
}

// Independence says whether a reference can convict the processor's counter: a
// clock that is computed from that counter agrees with it whatever it does.
type Independence struct {
	Independent machine.Answer `json:"independent"`
	Reason      string         `json:"reason"`
}

// Independent tells whether the reference of that name is independent of the processor's counter.
func Independent(reference string, s Surroundings) Independence {
	switch {
	case reference == HPET || reference == ACPIPM:
		return hardware(reference, "a counter of its own in the chipset; recent Intel processors run it and the TSC from one crystal, whose own error then shows in neither", s)
	case strings.HasPrefix(reference, "rtc"):
		return hardware(reference, "a clock of its own with its own crystal", s)
	case strings.HasPrefix(reference, "ptp"):
		return ptpClock(s)
	case isPOSIX(reference):
		return posixClock(reference, s)
	case reference == processorCounter || reference == "tsc" || reference == "arch_sys_counter":
		return Independence{machine.No, "it is the counter under test"}
	}
	return Independence{machine.Unknown, fmt.Sprintf("%s is not a clock that this program knows", reference)}
}

// hardware is a clock of its own, unless a hypervisor computes it.
func hardware(name, what string, s Surroundings) Independence {
	switch s.Guest {
	case machine.Yes:
		return Independence{machine.Unknown, fmt.Sprintf(
			"the hypervisor computes the guest's %s from its host's clock, which commonly is the host's TSC: it shows what goes wrong between guest and host, and not what goes wrong with the host's TSC", name)}
	case machine.No:
		return Independence{machine.Yes, what}
	}
	return Independence{machine.Unknown, what + "; whether a hypervisor computes it could not be told"}
}

func ptpClock(s Surroundings) Independence {
	name := strings.ToLower(s.PTPName)
	for _, virtual := range []string{"kvm", "hyperv", "vmw", "vmclock", "mock", "arm smccc"} {
		if strings.Contains(name, virtual) {
			return Independence{machine.Unknown, fmt.Sprintf("%q hands through a clock of the host, which commonly comes from the host's TSC", s.PTPName)}
		}
	}
	if s.PTPName == "" {
		return Independence{machine.Unknown, "the PTP clock has no name that says what it is"}
	}
	return Independence{machine.Yes, fmt.Sprintf("%q is a clock in a network card, with an oscillator of its own", s.PTPName)}
}

func isPOSIX(name string) bool {
	switch name {
	case Monotonic, MonotonicRaw, BootTime, RealTime, TAI, MonotonicVDSO, RealTimeVDSO:
		return true
	}
	return false
}

// posixClock judges a clock that the kernel computes from its current clocksource.
func posixClock(name string, s Surroundings) Independence {
	from := fmt.Sprintf("the kernel computes %s from its current clocksource, %s", name, s.Clocksource)
	steered := ""
	if name != MonotonicRaw {
		steered = "; over hours NTP or PTP may steer it, which is independent"
	}
	switch s.Clocksource {
	case "":
		return Independence{machine.Unknown, fmt.Sprintf("the kernel computes %s from its current clocksource, and which one that is could not be read", name)}
	case "tsc", "tsc-early", "kvm-clock", "xen", "hyperv_clocksource_tsc_page", "arch_sys_counter":
		what := ", which is the processor's counter"
		switch s.Clocksource {
		case "kvm-clock", "xen", "hyperv_clocksource_tsc_page":
			what = ", which is the TSC scaled by what the hypervisor says"
		}
		return Independence{machine.No, from + what + steered}
	case "hpet", "acpi_pm":
		i := hardware(s.Clocksource, "a counter of its own in the chipset", s)
		i.Reason = from + ": " + i.Reason
		return i
	case "pit":
		i := hardware(s.Clocksource, "a timer of its own", s)
		i.Reason = from + ": " + i.Reason
		return i
	case "hyperv_clocksource_msr":
		return Independence{machine.Unknown, from + ", which the hypervisor computes from its own clock"}
	case "jiffies", "refined-jiffies":
		return Independence{machine.Unknown, from + ", which counts timer interrupts, and those may be timed by the TSC"}
	}
	return Independence{machine.Unknown, from + ", and where that comes from this program does not know"}
}
