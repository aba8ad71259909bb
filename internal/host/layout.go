package host

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Limits on what is read. They hold for every kind of root.
const (
	maxFact       = 1 << 20  // bytes kept of a file that holds facts
	maxSysFact    = 64 << 10 // the same in /sys, where the kernel fills one page at most: 64 KiB on arm64 and ppc64
	maxFacts      = 12 << 20 // bytes kept of all of them, for a tarball, with their names
	maxLogs       = 64       // logs of one root; the newest are read
	maxEntries    = 200_000  // entries of a tarball
	maxDirEntries = 1 << 16  // entries looked at in one folder
	maxLinks      = 40       // symbolic links followed for one name
	maxLinkText   = 4096     // bytes of a link's target, and of a name
	maxNamePart   = 255      // bytes of one part of a name: no Linux file system takes more
)

// maxParameter is the same for a parameter of a module: a page of x86.
const maxParameter = 4 << 10

// maxParameters is how many of them are read; the clocksource module has six.
const maxParameters = 256

// limitOf is how much of a fact is read.
func limitOf(name string) int {
	if strings.HasPrefix(name, parametersDir+"/") {
		return maxParameter
	}
	if strings.HasPrefix(name, "sys/") {
		return maxSysFact
	}
	return maxFact
}

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

// logGlobs are the names of kernel logs, in the order in which they are read:
// what a log daemon wrote, then the journal, then what the kernel itself kept,
// which knows best what was said last. The buffer at the start of a boot
// (var/log/dmesg) comes before the daemons' logs, which go on to the present.
var logGlobs = []string{
	"sos_commands/kernel/dmesg_-T",
	"var/log/dmesg*",
	"var/log/syslog*",
	"var/log/messages*",
	"var/log/kern.log*",
	"sos_commands/logs/journalctl_--no-pager*",
	"sos_commands/kernel/dmesg",
	kmsgName,
}

// tailedDir is where a sosreport puts the ends of logs that were too long for
// it; the logs are links to them.
const tailedDir = "sos_strings/logs"

// parents holds every folder above a fact or a log, for links such as
// sys/class/dmi/id and var/run that stand for one.
var parents = parentSet(slices.Concat(slices.Collect(maps.Keys(exactFacts)), globFacts, logGlobs, []string{tailedDir + "/*"}))

func nameSet(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

func parentSet(names []string) map[string]bool {
	set := make(map[string]bool)
	for _, n := range names {
		for d := path.Dir(n); d != "."; d = path.Dir(d) {
			set[d] = true
		}
	}
	return set
}

// use is what a name in a root is good for.
type use uint8

const (
	asFact    use = 1 << iota
	asLog         // or what a log may be a link to
	asFolder      // facts or logs are below it
	asProcess     // names a program, which may be a time daemon
)

// useOf tells what a name within a root is good for; 0 for nothing.
func useOf(name string) use {
	var u use
	if isFact(name) {
		u |= asFact
	}
	if _, log := logRank(name); log || path.Dir(name) == tailedDir {
		u |= asLog
	}
	if parents[name] {
		u |= asFolder
	}
	if rest, ok := strings.CutPrefix(name, "proc/"); ok {
		if pid, ok := strings.CutSuffix(rest, "/comm"); ok && pidName.MatchString(pid) {
			u |= asProcess
		}
	}
	return u
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

// logRank returns how late a name is read among the kinds of logs, and whether it is a log.
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
