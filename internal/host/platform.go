package host

import (
	"slices"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

// platform is everything that can betray a hypervisor.
type platform struct {
	arch         string
	kind         string
	cpu          cpuinfo
	flags        machine.Answer // the CPU flag "hypervisor"
	available    []string       // clocksources
	cmdline      string
	xenType      string // /sys/hypervisor/type
	xenGuest     string // /sys/hypervisor/guest_type: PV, HVM, PVH
	xenCaps      string // /proc/xen/capabilities
	vendor       string // DMI
	product      string
	dmiRead      bool
	acpiOEM      string // OEM id of the FACP table
	dtModel      string
	dtHypervisor string
	partition    machine.Answer // ppc: the device tree names a logical partition
	sysinfo      string         // s390x
	lscpu        map[string]string
}

// collectPlatform reads DMI and device tree and judges whether this is a guest.
func (c *collector) collectPlatform() {
	p := platform{
		arch: c.snap.Arch, kind: c.opt.kind(), cpu: c.cpu, available: c.snap.Clocksource.Available,
		cmdline: c.snap.CommandLine, flags: machine.Unknown,
	}
	if c.cpu.hasFlags {
		p.flags = machine.No
		if slices.Contains(c.cpu.flags, "hypervisor") {
			p.flags = machine.Yes
		}
	}
	p.xenType, _ = c.text("sys/hypervisor/type")
	p.xenGuest, _ = c.text("sys/hypervisor/guest_type")
	p.xenCaps, _ = c.text("proc/xen/capabilities")
	p.vendor, p.product, p.dmiRead = c.dmi()
	if data, _, err := c.read("sys/firmware/acpi/tables/FACP"); err == nil && len(data) >= 16 {
		p.acpiOEM = cleanText(strings.TrimRight(string(data[10:16]), " \x00")) // bytes 10 to 15 of every table's header
	}
	p.dtModel = c.deviceTree("model")
	p.dtHypervisor = c.deviceTree("hypervisor/compatible")
	p.partition = c.exists("proc/device-tree/ibm,partition-name")
	p.sysinfo, _ = c.text("proc/sysinfo")
	if p.kind == machine.KindSOS {
		p.lscpu = c.lscpuFields
	}

	c.snap.Hypervisor = p.judge()
	c.snap.DMI = strings.TrimSpace(p.vendor + " " + p.product)
	if c.snap.CPU.Model == "" || strings.HasPrefix(c.snap.CPU.Model, "part ") {
		if p.dtModel != "" {
			c.snap.CPU.Model = p.dtModel
		}
	}
	if c.snap.Hypervisor.Guest == machine.Unknown {
		c.snap.Unreadable = append(c.snap.Unreadable, machine.Unreadable{
			What:   "hypervisor",
			Reason: "nothing that was read says whether this is a guest",
			HowTo:  "run systemd-detect-virt on that machine",
		})
	}
}

// dmi returns vendor and product of the machine.
func (c *collector) dmi() (vendor, product string, read bool) {
	for _, dir := range [...]string{"sys/class/dmi/id/", "sys/devices/virtual/dmi/id/"} {
		v, okV := c.text(dir + "sys_vendor")
		p, okP := c.text(dir + "product_name")
		if okV || okP {
			c.source("dmi", dir+"sys_vendor")
			return oneLine(v), oneLine(p), true
		}
	}
	if c.opt.kind() != machine.KindSOS {
		return "", "", false
	}
	text, ok := c.text("sos_commands/hardware/dmidecode")
	if !ok {
		return "", "", false
	}
	// The block of the whole system comes before those of its parts.
	_, block, ok := strings.Cut(text, "System Information\n")
	if !ok {
		return "", "", false
	}
	eachField(block, ":", func(key, value string) bool {
		switch key {
		case "Manufacturer":
			vendor = value
		case "Product Name":
			product = value
		}
		return vendor == "" || product == ""
	})
	c.source("dmi", "sos_commands/hardware/dmidecode")
	return vendor, product, true
}

// deviceTree reads a property under either of the tree's two names.
func (c *collector) deviceTree(property string) string {
	for _, dir := range [...]string{"proc/device-tree/", "sys/firmware/devicetree/base/"} {
		if v, ok := c.text(dir + property); ok {
			return oneLine(v)
		}
	}
	return ""
}

// judge names the hypervisor. What the kernel itself found comes before what
// firmware says, and firmware before conclusions.
func (p platform) judge() machine.Hypervisor {
	yes := func(name, mode, from string) machine.Hypervisor {
		return machine.Hypervisor{Guest: machine.Yes, Name: name, Mode: mode, From: from}
	}
	no := func(mode, from string) machine.Hypervisor {
		return machine.Hypervisor{Guest: machine.No, Mode: mode, From: from}
	}
	if strings.HasPrefix(p.arch, "s390") || strings.HasPrefix(p.cpu.arch, "s390") {
		return p.judgeS390(yes, no)
	}
	if p.xenType == "xen" {
		if strings.Contains(p.xenCaps, "control_d") {
			return yes("xen", "dom0", "/proc/xen/capabilities")
		}
		mode := strings.ToLower(p.xenGuest)
		if mode == "" && strings.Contains(p.product, "HVM") {
			mode = "hvm"
		}
		return yes("xen", mode, "/sys/hypervisor/type")
	}
	if p.flags == machine.No {
		return no("", "the CPU flag hypervisor is not set in /proc/cpuinfo")
	}
	if name := p.dmiName(); name != "" {
		return yes(name, "", "DMI "+strings.TrimSpace(p.vendor+" "+p.product))
	}
	if h, ok := p.byClocksource(yes); ok {
		return h
	}
	if h, ok := p.byDeviceTree(yes, no); ok {
		return h
	}
	if v := p.lscpu["Hypervisor vendor"]; v != "" {
		return yes(strings.ToLower(v), "", "sos_commands/processor/lscpu")
	}
	if p.flags == machine.Yes {
		if strings.Contains(p.cpu.model, "TCG") {
			return yes("qemu-tcg", "", "the CPU model "+p.cpu.model)
		}
		return yes("", "", "the CPU flag hypervisor in /proc/cpuinfo")
	}
	if x86 := p.cpu.hasFlags || p.arch == "x86_64" || p.arch == "i686"; p.dmiRead && !x86 {
		// x86 has the flag, which was not readable; elsewhere firmware is all there is.
		return no("", "DMI "+strings.TrimSpace(p.vendor+" "+p.product)+", which names no known hypervisor")
	}
	return machine.Hypervisor{Guest: machine.Unknown}
}

// dmiName recognises the firmware that hypervisors show their guests.
func (p platform) dmiName() string {
	vendor, product := strings.ToLower(p.vendor), strings.ToLower(p.product)
	kvm := slices.Contains(p.available, "kvm-clock")
	switch {
	case strings.HasPrefix(vendor, "vmware"):
		return "vmware"
	case vendor == "microsoft corporation" && product == "virtual machine":
		return "hyperv"
	case strings.HasPrefix(vendor, "innotek") || product == "virtualbox":
		return "virtualbox"
	case strings.HasPrefix(vendor, "parallels"):
		return "parallels"
	case vendor == "xen":
		return "xen"
	case vendor == "bhyve" || product == "bhyve":
		return "bhyve"
	case strings.HasPrefix(product, "apple virtualization"):
		return "apple"
	case vendor == "nutanix" && product == "ahv":
		return "kvm"
	case vendor == "qemu" || vendor == "bochs" || strings.HasPrefix(product, "standard pc (") || product == "kvm virtual machine":
		switch {
		case kvm || strings.Contains(product, "kvm"):
			return "kvm"
		case strings.Contains(p.cpu.model, "TCG"):
			return "qemu-tcg"
		}
		return "qemu" // KVM or TCG: the clocks would tell, and do not
	case vendor == "amazon ec2":
		if strings.Contains(product, "metal") {
			return ""
		}
		return "kvm"
	case product == "google compute engine",
		strings.HasPrefix(vendor, "openstack"), strings.HasPrefix(product, "openstack"),
		strings.HasPrefix(vendor, "alibaba cloud"), product == "alibaba cloud ecs",
		vendor == "digitalocean", vendor == "hetzner" && strings.HasPrefix(product, "vserver"),
		vendor == "red hat" && (product == "kvm" || strings.Contains(product, "rhev") || strings.Contains(product, "rhel") || strings.Contains(product, "openshift")),
		vendor == "ovirt":
		return "kvm"
	}
	return ""
}

// byClocksource: the clocks that only a hypervisor offers.
func (p platform) byClocksource(yes func(name, mode, from string) machine.Hypervisor) (machine.Hypervisor, bool) {
	for _, cs := range p.available {
		switch {
		case cs == "kvm-clock":
			if p.acpiOEM == "FIRECK" {
				return yes("firecracker", "", "the OEM id of the ACPI tables, FIRECK"), true
			}
			if !p.dmiRead && strings.Contains(p.cmdline, "virtio_mmio.device=") {
				return yes("firecracker", "", "kvm-clock, no DMI, and virtio_mmio devices on the command line"), true
			}
			return yes("kvm", "", "available_clocksource lists kvm-clock"), true
		case strings.HasPrefix(cs, "hyperv_clocksource"):
			return yes("hyperv", "", "available_clocksource lists "+cs), true
		case cs == "xen":
			return yes("xen", "", "available_clocksource lists xen"), true
		}
	}
	return machine.Hypervisor{}, false
}

// byDeviceTree covers arm64, riscv and ppc.
func (p platform) byDeviceTree(yes func(name, mode, from string) machine.Hypervisor, no func(mode, from string) machine.Hypervisor) (machine.Hypervisor, bool) {
	const node = "the device tree's hypervisor node"
	switch {
	case strings.Contains(p.dtHypervisor, "kvm"):
		return yes("kvm", "", node), true
	case strings.Contains(p.dtHypervisor, "xen"):
		return yes("xen", "", node), true
	case p.dtHypervisor != "":
		return yes("", "", node), true
	case strings.HasPrefix(p.dtModel, "linux,dummy-virt"), strings.Contains(p.cpu.machine, "qemu"), strings.Contains(p.dtModel, "qemu"), p.dtModel == "riscv-virtio,qemu":
		return yes("qemu", "", "the device tree's model"), true
	case p.cpu.platform == "PowerNV":
		return no("", "platform PowerNV in /proc/cpuinfo"), true
	case p.partition == machine.Yes, p.cpu.platform == "pSeries":
		return yes("powervm", "lpar", "platform pSeries in /proc/cpuinfo"), true
	case p.dtModel != "":
		return no("", "the device tree's model, "+p.dtModel+", without a hypervisor node"), true
	}
	return machine.Hypervisor{}, false
}

// judgeS390: a partition (LPAR) runs on the machine's own microcode and counts
// as no guest; under z/VM or KVM there is a "VM00 Control Program" line.
func (p platform) judgeS390(yes func(name, mode, from string) machine.Hypervisor, no func(mode, from string) machine.Hypervisor) machine.Hypervisor {
	const from = "/proc/sysinfo"
	program, lpar := "", false
	eachField(p.sysinfo, ":", func(key, value string) bool {
		switch key {
		case "VM00 Control Program":
			program = value
		case "LPAR Number":
			lpar = true
		}
		return true
	})
	switch {
	case strings.HasPrefix(program, "z/VM"):
		return yes("zvm", "", from)
	case strings.HasPrefix(program, "KVM"):
		return yes("kvm", "", from)
	case program != "":
		return yes("", "", from)
	case lpar:
		return no("lpar", from)
	}
	return machine.Hypervisor{Guest: machine.Unknown}
}
