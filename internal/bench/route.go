package bench

import (
	"fmt"
	"slices"
)

// Routes that a call of the vDSO takes.
const (
	ByVDSO    = "vdso"    // it read the counter in user space
	BySyscall = "syscall" // it, or its absence, led into the kernel
	Unknown   = "unknown"
)

// Route is how programs get a system clock, as measured.
type Route struct {
	Clock string `json:"clock"` // "monotonic", "realtime", ...
	Path  string `json:"path"`  // "vdso", "syscall" or "unknown"
	Why   string `json:"why"`
	// Ratio is the price by the vDSO in prices by system call, 0 where one is not known.
	Ratio float64 `json:"vdso_to_syscall_ratio"`
}

// apart is by how much two prices that were taken in turn have to differ before one of
// them is called lower: what loops of different code may differ by.
const apart = 0.03

// RouteOf tells from the two prices which way the vDSO takes. A call that falls
// back makes the system call itself and cannot be cheaper than it. absent says why there
// is no price by the vDSO, "" where there is one; clocksource is the current one, "" if unknown.
func RouteOf(clock string, vdso, call Cost, absent, clocksource string) Route {
	r := Route{Clock: clock, Path: Unknown}
	switch {
	case absent != "":
		r.Path, r.Why = BySyscall, "programs have to make the system call: "+absent
		return r
	case vdso.Batches == 0 || call.Batches == 0:
		r.Why = "one of the two prices is not known"
		return r
	}
	r.Ratio = vdso.Median / call.Median
	prices := fmt.Sprintf("%.1f ns by the vDSO (%.1f to %.1f), %.1f ns by system call (%.1f to %.1f)",
		vdso.Median, vdso.Low, vdso.High, call.Median, call.Low, call.High)
	switch {
	case vdso.High < (1-apart)*call.Low:
		r.Path, r.Why = ByVDSO, "it costs less than the system call that it would make otherwise: "+prices
	case vdso.Low > (1-apart)*call.High:
		r.Path, r.Why = BySyscall, "it costs as much as the system call: "+prices
	default:
		r.Why = "the two prices are too close together to tell: " + prices
	}
	mode, known := userSpaceMode(clocksource)
	switch {
	case !known:
	case mode && r.Path == BySyscall:
		r.Why += fmt.Sprintf("; although %s can be read in user space", clocksource)
	case !mode && r.Path == ByVDSO:
		r.Why += fmt.Sprintf("; although no kernel of today reads %s in user space", clocksource)
	case mode:
		r.Why += fmt.Sprintf("; %s can be read in user space", clocksource)
	default:
		r.Why += fmt.Sprintf("; no kernel of today reads %s in user space", clocksource)
	}
	return r
}

// userSpaceMode tells whether kernels have a vDSO mode for a clocksource; known is false
// for one that may have it or not, such as most timers of arm64's kind.
func userSpaceMode(clocksource string) (mode, known bool) {
	switch {
	case slices.Contains([]string{"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"}, clocksource):
		return true, true
	case slices.Contains([]string{"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit", "hyperv_clocksource_msr"}, clocksource):
		return false, true
	}
	return false, false
}
