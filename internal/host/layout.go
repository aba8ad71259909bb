package host

import (
	"path"
	"strings"
)

// Limits on what is read. They hold for every kind of root.
const (
	maxFact       = 1 << 20  // bytes kept of a file that holds facts
	maxFacts      = 32 << 20 // bytes kept of all of them, for a tarball
	maxLog        = 64 << 20 // bytes handed out of one log
	maxEntries    = 200_000  // entries of a tarball
	maxDirEntries = 1 << 16  // entries looked at in one folder
	maxLinks      = 40       // symbolic links followed for one name
	maxLinkText   = 4096     // bytes of a link's target
)

const (
	clocksourceDir = "sys/devices/system/clocksource/clocksource0"
	moduleDir      = "sys/module"
	parametersDir  = "sys/module/clocksource/parameters"
	nodeDir        = "sys/devices/system/node"
	cpuDir         = "sys/devices/system/cpu"
	manifestName   = "cswatch/collect.json"
	kmsgName       = "cswatch/kmsg"
)

// exactFacts are the names of files and folders that Collect looks at.
var exactFacts = nameSet(
	"proc/version", "proc/version_signature", "proc/cmdline", "proc/cpuinfo",
	"proc/uptime", "proc/sysinfo", "proc/timer_list", "proc/self/cgroup", "proc/xen/capabilities",
	"proc/sys/kernel/osrelease", "proc/sys/kernel/version", "proc/sys/kernel/hostname", "proc/sys/kernel/arch",
	"proc/device-tree/model", "proc/device-tree/hypervisor/compatible", "proc/device-tree/ibm,partition-name",
	"sys/firmware/devicetree/base/model", "sys/firmware/devicetree/base/hypervisor/compatible",
	"sys/firmware/devicetree/base/ibm,partition-name",
	clocksourceDir+"/current_clocksource", clocksourceDir+"/available_clocksource",
	moduleDir, parametersDir,
	nodeDir, nodeDir+"/online", cpuDir, cpuDir+"/online", cpuDir+"/possible", cpuDir+"/cpu0/tsc_freq_khz",
	"sys/hypervisor/type", "sys/hypervisor/guest_type",
	"sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name",
	"sys/devices/virtual/dmi/id/sys_vendor", "sys/devices/virtual/dmi/id/product_name",
	"sys/firmware/acpi/tables/FACP",
	"etc/os-release", "usr/lib/os-release",
	".dockerenv", "run/.containerenv", "run/systemd/container",
	"dev", "dev/hpet",
	"run/chrony/chronyd.pid", "run/chronyd.pid", "run/ntpd.pid", "run/systemd/timesync/synchronized",
	manifestName,
	// Only in sosreports.
	"sos_commands", "sos_commands/kernel/uname_-a", "sos_commands/kernel/sysctl_-a",
	"sos_commands/host/hostname", "sos_commands/host/uptime",
	"sos_commands/processor/lscpu", "sos_commands/hardware/dmidecode",
	"sos_commands/chrony/chronyc_tracking", "sos_commands/chrony/chronyc_-n_tracking",
	"sos_commands/systemd/timedatectl",
	"sos_commands/process/ps_auxwwwm", "sos_commands/process/ps_auxwww",
)

// globFacts are the names of facts that come in any number.
var globFacts = []string{
	parametersDir + "/*",
	cpuDir + "/cpu*/topology/physical_package_id",
}

// logGlobs are the names of kernel logs, best first: what the kernel itself
// kept, then the journal, then what a log daemon wrote.
var logGlobs = []string{
	kmsgName,
	"sos_commands/kernel/dmesg",
	"sos_commands/logs/journalctl_--no-pager*",
	"var/log/kern.log*",
	"var/log/messages*",
	"var/log/syslog*",
	"var/log/dmesg*",
	"sos_commands/kernel/dmesg_-T",
}

// factParents holds every folder above an exact fact, for links such as
// sys/class/dmi/id and var/run that stand for one.
var factParents = parentSet(exactFacts)

func nameSet(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

func parentSet(names map[string]bool) map[string]bool {
	set := make(map[string]bool)
	for n := range names {
		for d := path.Dir(n); d != "."; d = path.Dir(d) {
			set[d] = true
		}
	}
	return set
}

// isFact reports whether a name within a root is on the allow-list.
func isFact(name string) bool {
	if exactFacts[name] {
		return true
	}
	if !strings.HasPrefix(name, "sys/") {
		return false
	}
	for _, g := range globFacts {
		if ok, _ := path.Match(g, name); ok {
			return true
		}
	}
	return false
}

// logRank returns how far up a name is in the order of logs, and whether it is a log.
func logRank(name string) (int, bool) {
	if !strings.HasPrefix(name, "var/log/") && !strings.HasPrefix(name, "sos_commands/") && name != kmsgName {
		return 0, false
	}
	for i, g := range logGlobs {
		if ok, _ := path.Match(g, name); ok {
			return i, true
		}
	}
	return 0, false
}
