package perf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Calls is how often a function of the kernel was called on a CPU since it is counted.
type Calls struct {
	Symbol string `json:"symbol"`
	CPU    int    `json:"cpu"`
	Count  uint64 `json:"count"`
}

// CallsSince returns how often each function was called on each CPU between two
// readings of one counter.
func CallsSince(before, after []Calls) []Calls {
	was := map[Calls]uint64{}
	for _, c := range before {
		was[Calls{Symbol: c.Symbol, CPU: c.CPU}] = c.Count
	}
	between := slices.Clone(after)
	for i, c := range between {
		// A count never falls; were it to, nothing is better than 2^64.
		between[i].Count -= min(c.Count, was[Calls{Symbol: c.Symbol, CPU: c.CPU}])
	}
	return between
}

// TotalCalls returns how often all functions were called on all CPUs.
func TotalCalls(calls []Calls) uint64 {
	var n uint64
	for _, c := range calls {
		n += c.Count
	}
	return n
}

// Uncounted is a function whose calls cannot be counted.
type Uncounted struct {
	Symbol string `json:"symbol"`
	Why    string `json:"why"`
}

// NotCounted is the error of a counter for which no function could be probed.
type NotCounted struct {
	Functions  []Uncounted
	HowToAllow string // what would allow it, "" where nothing is known
}

// Error says what cannot be counted, why, and what would allow it.
func (e *NotCounted) Error() string {
	var names, reasons []string
	for _, f := range e.Functions {
		names = append(names, f.Symbol)
		reasons = append(reasons, f.Why)
	}
	text := fmt.Sprintf("count the calls of %s: ", strings.Join(names, ", "))
	if distinct := slices.Compact(slices.Sorted(slices.Values(reasons))); len(distinct) == 1 {
		text += distinct[0]
	} else {
		for i, f := range e.Functions {
			if i > 0 {
				text += "; "
			}
			text += f.Symbol + ": " + f.Why
		}
	}
	if e.HowToAllow != "" {
		text += "; to allow it, " + e.HowToAllow
	}
	return text
}

// sortCalls puts calls in the order of their functions as asked for, then of CPUs.
func sortCalls(calls []Calls, symbols []string) {
	slices.SortFunc(calls, func(a, b Calls) int {
		return cmp.Or(cmp.Compare(slices.Index(symbols, a.Symbol), slices.Index(symbols, b.Symbol)), cmp.Compare(a.CPU, b.CPU))
	})
}

// ClockReadSymbols returns the functions of the kernel whose calls are its reads of a
// clocksource: the clocksource's own where it can be probed (hpet, acpi_pm, jiffies). Those of tsc and kvm-clock cannot, and newer
// kernels read them inline; for these, and all others, it is the functions that read whichever clocksource is
// current, once each: nearly all reads, since what kernels read for timekeeping alone, and for
// traces, is not among them.
func ClockReadSymbols(clocksource string) []string {
	switch clocksource {
	case "hpet":
		return []string{"read_hpet"}
	case "acpi_pm":
		return []string{"acpi_pm_read", "acpi_pm_read_slow", "acpi_pm_read_verified"}
	case "jiffies":
		return []string{"jiffies_read"}
	}
	return []string{
		"ktime_get", "ktime_get_with_offset", "ktime_get_raw", "ktime_get_ts64", "ktime_get_real_ts64", "ktime_get_raw_ts64",
		"ktime_get_update_offsets_now", "ktime_get_snapshot",
	}
}
