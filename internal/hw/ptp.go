package hw

import (
	"strings"

	"github.com/cswatch/cswatch/clocksource"
)

// PTPSample is one comparison of a PTP hardware clock with the system's clock,
// made by the kernel. Times are ns.
type PTPSample struct {
	Way    string            `json:"way"` // "precise", "extended" or "offset", the best that the driver has
	Before clocksource.Nanos `json:"realtime_before_ns"`
	Device clocksource.Nanos `json:"device_ns"`
	After  clocksource.Nanos `json:"realtime_after_ns"` // equal to Before where the hardware took both at once
	// Raw is CLOCK_MONOTONIC_RAW at the same time, 0 unless Way is "precise".
	Raw clocksource.Nanos `json:"monotonic_raw_ns,omitempty"`
}

// ptpCounter describes a PTP clock.
func ptpCounter(name, title string) Counter {
	from := "clock_gettime on /dev/" + name
	if title != "" {
		from += ", " + title
	}
	return Counter{Name: name, Hz: clocksource.Hz(clocksource.NanosPerSecond), Mask: clocksource.Mask64, From: from}
}

// isDevice reports whether a name is a prefix and a small number: no name from
// outside becomes a path by which another file is opened.
func isDevice(name, prefix string) bool {
	digits, ok := strings.CutPrefix(name, prefix)
	return ok && digits != "" && len(digits) <= 4 && strings.Trim(digits, "0123456789") == ""
}

// ptpTitle returns what the driver calls the clock, "" if that cannot be read.
func ptpTitle(readFile func(string) ([]byte, error), name string) string {
	b, err := readFile("/sys/class/ptp/" + name + "/clock_name")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
