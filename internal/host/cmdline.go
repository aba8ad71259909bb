package host

import (
	"path"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

// redactedMark stands for a value that was taken out.
const redactedMark = "<redacted>"

// plainOptions are the command line options whose values matter to clocks,
// timers, processors and virtualisation, or tell nothing about a person or a
// network. Patterns are those of path.Match; "-" is written as "_".
var plainOptions = []string{
	// Clocks.
	"clocksource", "clocksource.*", "clock", "tsc", "notsc", "tsc_early_khz", "hpet", "nohpet", "hpet_mmap",
	"acpi_pm*", "pmtmr", "no_kvmclock*", "no_vmw_sched_clock", "no_steal_acc", "no_timer_check",
	"skew_tick", "highres", "nohz", "nohz_full", "lapic", "lapic_timer_c2_ok", "noapictimer", "nolapic_timer",
	"nolapic", "noapic", "apic", "apicpmtimer", "acpi_skip_timer_override", "timer_migration",
	// Idle and frequency.
	"idle", "processor.*", "intel_idle.*", "intel_pstate", "amd_pstate", "cpuidle.*", "cpuidle_haltpoll.*",
	"haltpoll.*", "cpufreq.*", "pcie_aspm", "pcie_aspm.policy",
	// Processors, memory layout, isolation.
	"maxcpus", "nr_cpus", "possible_cpus", "nosmp", "nosmt", "smt", "isolcpus", "irqaffinity", "rcu_nocbs",
	"rcu_nocb_poll", "rcupdate.*", "rcutree.*", "numa", "numa_balancing", "mem", "memmap", "mitigations",
	"preempt", "threadirqs", "kthread_cpus", "managed_irq", "sched_*", "nopti", "pti", "spectre_v2",
	// Watchdogs and stalls.
	"watchdog", "nowatchdog", "nmi_watchdog", "nosoftlockup", "softlockup_*", "hardlockup_*", "watchdog_thresh",
	"hung_task_*", "panic", "panic_on_*", "oops", "mce", "nomce",
	// Console and log.
	"console", "earlyprintk", "earlycon", "quiet", "splash", "loglevel", "debug", "ignore_loglevel",
	"log_buf_len", "printk.*", "initcall_debug", "no_console_suspend", "rhgb",
	// Platform and hypervisor.
	"acpi", "noacpi", "pci", "reboot", "efi", "noefi", "iommu", "intel_iommu", "amd_iommu", "kvm.*", "kvm_*",
	"xen", "xen_*", "hv_*", "virtio_mmio.device", "nomodule", "nomodules", "ro", "rw", "selinux", "apparmor",
	"enforcing", "audit", "crashkernel", "cgroup_*", "systemd.unified_cgroup_hierarchy", "psi", "net.ifnames",
	"biosdevname", "fips", "efi_pstore.*", "swiotlb", "transparent_hugepage", "hugepages", "hugepagesz",
	"default_hugepagesz", "random.trust_cpu", "tsx", "noreplace_smp",
}

func isPlainOption(name string) bool {
	name = strings.ReplaceAll(name, "-", "_")
	for _, p := range plainOptions {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

// redactCommandLine keeps the names of all options and the values of those that
// matter. What follows "--" is for init and goes as a whole. It returns how many
// values it took out.
func redactCommandLine(line string) (string, int) {
	words := joinQuoted(machine.Words(line))
	count := 0
	for i, w := range words {
		if w == "--" {
			if i+1 < len(words) {
				words = append(words[:i+1], redactedMark)
				count++
			}
			break
		}
		// The kernel takes "name=a b" in quotes as a whole, too.
		name, value, has := strings.Cut(w, "=")
		if !has || value == redactedMark || value == "" {
			continue
		}
		bare := strings.TrimPrefix(name, `"`)
		switch {
		case isPlainOption(bare):
			continue
		case bare == "BOOT_IMAGE":
			// Which kernel was booted, not from where.
			words[i] = "BOOT_IMAGE=/" + path.Base(value)
			if words[i] != w {
				count++
			}
			continue
		}
		words[i] = bare + "=" + redactedMark
		count++
	}
	return strings.Join(words, " "), count
}

// joinQuoted puts words together that a value in single quotes spans. The kernel
// does not know such quotes; whoever wrote them took them for one value.
func joinQuoted(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if _, value, ok := strings.Cut(w, "="); ok && strings.HasPrefix(value, "'") && strings.Count(value, "'") == 1 {
			for j := i + 1; j < len(words); j++ {
				if strings.Contains(words[j], "'") {
					w = strings.Join(words[i:j+1], " ")
					i = j
					break
				}
			}
		}
		out = append(out, w)
	}
	return out
}
