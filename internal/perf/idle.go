package perf

import "strings"

// Idle reports samples of a CPU that had nothing to do: they were taken in the
// kernel's idle task where it waits. What interrupts do on such a CPU is no
// idleness, but cannot be told from it where the kernel has no names.
func (s *Stack) Idle() bool {
	f := s.leaf()
	if s.PID != 0 || !f.Kernel {
		return false
	}
	if f.Why != "" {
		return true
	}
	name := bareName(f.Symbol)
	for _, w := range waiting {
		if name == w.Name || strings.HasSuffix(w.Name, "*") && strings.HasPrefix(name, w.Name[:len(w.Name)-1]) {
			return true
		}
	}
	return false
}

// waiting are the kernel's functions in which an idle CPU is found. A star stands for any ending.
var waiting = []struct{ Name, Why string }{
	{"default_idle*", "halts until the next interrupt"},
	{"arch_cpu_idle", "halts until the next interrupt"},
	{"native_safe_halt", "the halt instruction, in older kernels"},
	{"pv_native_safe_halt", "the halt instruction, in newer kernels"},
	{"pvm_safe_halt*", "the halt of a guest that runs without the help of the processor (PVM)"},
	{"xen_safe_halt", "the halt of a Xen guest"},
	{"hv_safe_halt", "the halt of a Hyper-V guest"},
	{"acpi_safe_halt", "the halt instruction, by way of the ACPI driver"},
	{"acpi_idle_*", "the states of the ACPI driver"},
	{"acpi_processor_ffh_cstate_enter", "the mwait instruction, by way of the ACPI driver"},
	{"intel_idle*", "the mwait instruction, by way of Intel's driver"},
	{"mwait_idle*", "the mwait instruction"},
	{"tdx_safe_halt", "the halt of a confidential guest"},
	{"tdx_halt", "the halt of a confidential guest"},
	{"cpuidle_enter*", "between the waiting and the interrupt that ends it"},
	{"haltpoll_*", "a guest's driver that polls before it halts"},
	{"poll_idle", "the loop that waits without sleeping"},
	{"cpu_idle_poll", "the loop that waits without sleeping"},
	{"do_idle", "the loop of the idle task"},
	{"cpu_do_idle", "the wait instruction of arm64"},
	{"psci_cpu_suspend_enter", "a deeper sleep of arm64"},
}
