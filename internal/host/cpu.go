package host

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

// collectCPU reads processors, flags, nodes and packages.
func (c *collector) collectCPU() {
	const name = "proc/cpuinfo"
	cpu := &c.snap.CPU
	data, cut, err := c.read(name)
	if err != nil {
		c.unreadable(name, err, "mount /proc, or give the output of lscpu")
	}
	c.cpu = parseCPUInfo(cleanText(string(data)))
	ci := &c.cpu
	cpu.Model, cpu.Vendor, cpu.Family, cpu.ModelNumber, cpu.Flags = ci.model, ci.vendor, ci.family, ci.modelNumber, ci.flags
	if c.snap.Arch == "" {
		c.snap.Arch = ci.arch
	}
	if ci.hasFlags {
		c.source("cpu.flags", name)
	}
	if c.opt.kind() == machine.KindSOS {
		c.lscpuFields = c.lscpu()
	}
	c.countCPUs(cut)
	c.countNodes()
	c.countPackages(cut)
	c.collectTSCRate()
}

func (c *collector) countCPUs(cut bool) {
	cpu := &c.snap.CPU
	if v, ok := c.text(cpuDir + "/online"); ok {
		if n, ok := countList(oneLine(v)); ok {
			cpu.Online = n
			c.source("cpu.online", cpuDir+"/online")
		}
	}
	if v, ok := c.text(cpuDir + "/possible"); ok {
		if n, ok := countList(oneLine(v)); ok {
			cpu.Possible = n
			c.source("cpu.possible", cpuDir+"/possible")
		}
	}
	if cpu.Online == 0 && !cut && c.cpu.processors > 0 {
		cpu.Online = c.cpu.processors
		c.source("cpu.online", "proc/cpuinfo")
	}
}

var nodeName = regexp.MustCompile(`^node[0-9]+$`)

// countNodes counts the online NUMA nodes. A kernel without NUMA has no folder
// for them and one node.
func (c *collector) countNodes() {
	name := nodeDir + "/online"
	data, _, err := c.read(name)
	if err == nil {
		if n, ok := countList(oneLine(string(data))); ok {
			c.snap.CPU.Nodes = n
			c.source("cpu.nodes", name)
			return
		}
		c.missing(name, machine.ReasonNotUnderstood+": want a list such as 0-1", "give the output of lscpu")
		return
	}
	if n, err := strconv.Atoi(c.lscpuFields["NUMA node(s)"]); err == nil && n > 0 && n < maxListed {
		c.snap.CPU.Nodes = n
		c.source("cpu.nodes", "sos_commands/processor/lscpu")
		return
	}
	if c.opt.kind() == machine.KindSOS && errors.Is(err, fs.ErrNotExist) {
		// A sosreport copies folders of nodes without the list.
		n := 0
		for _, kid := range listDir(c.fsys, nodeDir, maxDirEntries) {
			if nodeName.MatchString(kid) {
				n++
			}
		}
		if n > 0 {
			c.snap.CPU.Nodes = n
			c.source("cpu.nodes", nodeDir)
			return
		}
	}
	if errors.Is(err, fs.ErrNotExist) && c.exists(cpuDir) == machine.Yes && c.exists(nodeDir) == machine.No {
		c.snap.CPU.Nodes = 1
		c.source("cpu.nodes", "no NUMA nodes in /"+nodeDir+": a kernel without NUMA has one")
		return
	}
	c.unreadable(name, err, "give the output of lscpu or numactl --hardware")
}

// countPackages counts sockets: from /proc/cpuinfo on x86, from the topology elsewhere.
func (c *collector) countPackages(cut bool) {
	cpu := &c.snap.CPU
	if n := len(c.cpu.packages); n > 0 && !cut {
		cpu.Packages = n
		c.source("cpu.packages", "proc/cpuinfo")
		return
	}
	ids := make(map[string]bool)
	for _, dir := range listDir(c.fsys, cpuDir, maxDirEntries) {
		digits, ok := strings.CutPrefix(dir, "cpu")
		if _, isNumber := listNumber(digits); !ok || !isNumber {
			continue
		}
		id, ok := c.text(path.Join(cpuDir, dir, "topology/physical_package_id"))
		// -1 where the firmware does not tell.
		if n, err := strconv.Atoi(id); ok && err == nil && n >= 0 {
			ids[id] = true
		}
	}
	if len(ids) > 0 {
		cpu.Packages = len(ids)
		c.source("cpu.packages", cpuDir+"/cpu*/topology/physical_package_id")
		return
	}
	if n, err := strconv.Atoi(c.lscpuFields["Socket(s)"]); err == nil && n > 0 && n < maxListed {
		cpu.Packages = n
		c.source("cpu.packages", "sos_commands/processor/lscpu")
	}
}

// lscpu reads the command's output in a sosreport.
func (c *collector) lscpu() map[string]string {
	v, ok := c.text("sos_commands/processor/lscpu")
	if !ok {
		return nil
	}
	fields := make(map[string]string)
	eachField(v, ":", func(key, value string) bool {
		if _, seen := fields[key]; !seen && len(fields) < 256 {
			fields[key] = value
		}
		return true
	})
	return fields
}

// collectTSCRate prefers a file that some kernels have to what BogoMIPS implies.
func (c *collector) collectTSCRate() {
	name := cpuDir + "/cpu0/tsc_freq_khz"
	if v, ok := c.text(name); ok {
		if khz, err := strconv.ParseFloat(v, 64); err == nil && khz > 0 && khz < 1e8 {
			c.snap.CPU.TSCMHz = khz / 1000
			c.source("cpu.tsc_mhz", name)
			return
		}
	}
	if mhz := c.cpu.tscMHz(); mhz > 0 {
		c.snap.CPU.TSCMHz = mhz
		c.source("cpu.tsc_mhz", "half the BogoMIPS of /proc/cpuinfo, which the early calibration set")
	}
}
