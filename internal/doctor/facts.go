package doctor

import (
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/machine"
)

// facts is what the evidence says about the machine and one boot of it.
type facts struct {
	boot    int
	guest   machine.Answer // runs under a hypervisor
	guestBy string         // what says so
	qemu    bool           // an emulated HPET of 100 MHz was seen: QEMU
	hyperv  bool

	cmdline     string
	cmdlineSeen bool
	version     string // "Linux version" text
	cpuModel    string
	platform    string
	deviceTree  bool // the platform is described by a device tree

	tscHz      clocksource.Hz // the rate that the kernel uses for the TSC, 0 if unknown
	tscEarlyHz clocksource.Hz
	hpetHz     clocksource.Hz
	jiffiesHz  clocksource.Hz

	tools   []event.Event // tools that write clocks
	stalls  []event.Event // stalls, hardware errors, driver faults
	sleeps  []event.Event // suspend, resume, hot plug
	refined bool
	// hpetOff says that the kernel turned the HPET off because it stops in deep
	// sleep, hpetForced that an option kept it on all the same.
	hpetOff, hpetForced bool
	// forcedHz says that an option set the TSC's frequency by hand, and trueHz what the hardware was measured at, if known.
	forcedHz, trueHz clocksource.Hz
}

// factsOf gathers the facts of one boot. The machine's own facts (platform,
// hypervisor) hold for every boot of one log.
func factsOf(ev *Evidence, boot int) facts {
	f := facts{boot: boot, guest: machine.Unknown}
	if s := ev.Snapshot; s != nil {
		f.guest, f.guestBy = s.Hypervisor.Guest, s.Hypervisor.From
		f.cmdline, f.cmdlineSeen = s.CommandLine, s.CommandLine != ""
		f.platform, f.cpuModel = s.DMI, s.CPU.Model
		f.qemu = strings.HasPrefix(s.Hypervisor.Name, "qemu")
	}
	if ev.qemu != "" && f.guest == machine.Unknown {
		f.guest, f.guestBy, f.qemu = machine.Yes, ev.qemu, true
	}
	for i := range ev.Events {
		e := &ev.Events[i]
		if e.Source.Duplicate {
			continue
		}
		f.machineLine(e)
		if e.Source.Boot == boot {
			f.bootLine(e)
		}
	}
	if values, _ := machine.Option(f.cmdline, "tsc_early_khz"); len(values) > 0 {
		f.forcedHz = clocksource.Hz(parseUint(values[len(values)-1]) * 1000)
	}
	return f
}

// machineLine takes what is true of the machine in whatever boot it stands.
func (f *facts) machineLine(e *event.Event) {
	guest := func(by string) {
		if f.guest != machine.Yes {
			f.guest, f.guestBy = machine.Yes, by
		}
	}
	switch e.Kind {
	case event.Hypervisor:
		switch detail := strings.ToLower(e.Detail); {
		case strings.HasPrefix(detail, "bare hardware"):
			if f.guest == machine.Unknown {
				f.guest, f.guestBy = machine.No, e.Text
			}
		case detail == "none", detail == "":
		default:
			guest(e.Text)
			f.hyperv = f.hyperv || strings.Contains(detail, "hyper-v")
		}
	case event.KVMClock:
		guest(e.Text)
	case event.Platform:
		f.platform = e.Detail
		f.deviceTree = f.deviceTree || strings.Contains(e.Text, "Machine model")
		if name := virtualPlatform(e.Detail); name != "" {
			guest(e.Text)
			f.qemu = f.qemu || name == "QEMU"
		}
	case event.CPUModel:
		f.cpuModel = e.Detail
	case event.Registered, event.Switched, event.ReferenceInterval, event.CurrentClock:
		for _, name := range [...]string{e.Clocksource, e.Reference, e.Current} {
			if guestClock(name) {
				guest(e.Text)
			}
		}
		if e.Kind == event.Registered && e.Clocksource == "hpet" && registeredHz(e) == qemuHPET {
			guest(e.Text + " (100 MHz: the emulated HPET of QEMU)")
			f.qemu = true
		}
		if e.Kind == event.ReferenceInterval && e.Reference == "hpet" && isQEMURate(impliedHz(e)) {
			guest(e.Text + " (100 MHz: the emulated HPET of QEMU)")
			f.qemu = true
		}
	case event.HPETCounter:
		if e.FrequencyHz.Value == qemuHPET {
			guest(e.Text + " (the emulated HPET of QEMU)")
			f.qemu = true
		}
	case event.TSCUnstable:
		if e.Detail == "running on Hyper-V" {
			guest(e.Text)
			f.hyperv = true
		}
	}
}

// bootLine takes what holds for one boot.
func (f *facts) bootLine(e *event.Event) {
	switch e.Kind {
	case event.Version:
		f.version = e.Text
	case event.CommandLine:
		f.cmdline, f.cmdlineSeen = e.Detail, true
	case event.TSCDetected:
		hz := clocksource.Hz(e.FrequencyHz.Value)
		if e.Detail == "TSC" {
			f.trueHz = f.tscEarlyHz // the processor's, printed just before
		}
		f.tscEarlyHz = hz
		if !f.refined {
			f.tscHz = hz
		}
	case event.TSCRefined:
		f.tscHz, f.refined = clocksource.Hz(e.FrequencyHz.Value), true
		f.trueHz = f.tscHz
	case event.HPETCounter:
		f.hpetHz = clocksource.Hz(e.FrequencyHz.Value)
	case event.Registered:
		hz := registeredHz(e)
		switch {
		case hz == 0:
		case e.Clocksource == "tsc":
			f.tscHz = hz
		case e.Clocksource == "tsc-early" && f.tscEarlyHz == 0:
			f.tscEarlyHz = hz
			if f.tscHz == 0 {
				f.tscHz = hz
			}
		case e.Clocksource == "hpet" && f.hpetHz == 0:
			f.hpetHz = hz
		}
		if strings.HasSuffix(e.Clocksource, "jiffies") {
			f.jiffiesHz = jiffiesHz(e)
		}
	case event.FrequencyTool:
		if writesClock(e.Text) {
			f.tools = append(f.tools, *e)
		}
	case event.HPETPC10:
		f.hpetForced = f.hpetForced || e.Detail == "forced on"
		f.hpetOff = f.hpetOff || e.Detail != "forced on"
	case event.Stall, event.HardwareError, event.DriverFault, event.CorrectedErr:
		f.stalls = append(f.stalls, *e)
	case event.SuspendEntry, event.SuspendExit, event.CPUsOnline, event.VMRestored:
		f.sleeps = append(f.sleeps, *e)
	}
}

// writesClock reports whether a tool's line can be about the clock. Of the many
// MSRs that programs write only the TSC (0x10) and TSC_ADJUST (0x3b) count.
func writesClock(text string) bool {
	_, msr, ok := strings.Cut(text, "unrecognized MSR ")
	if !ok {
		return true
	}
	msr, _, _ = strings.Cut(msr, " ")
	return msr == "0x10" || msr == "0x3b"
}

// qemuHPET is the rate of the HPET that QEMU emulates, 10 ns a cycle.
const qemuHPET = 100_000_000

func isQEMURate(hz float64) bool { return hz > 0.999*qemuHPET && hz < 1.001*qemuHPET }

// impliedHz is the rate that a printed interval and its counter values imply, 0 if they do not tell.
func impliedHz(e *event.Event) float64 {
	in := event.Interval{NS: e.IntervalNS, Now: e.Now, Last: e.Last, Mask: e.Mask}
	cycles, ok := in.Cycles()
	if !ok || !in.NS.Known || in.NS.Value <= 0 {
		return 0
	}
	return float64(cycles) / float64(in.NS.Value) * 1e9
}

// registeredHz is the middle of the frequencies that explain a registration line, 0 if none does.
func registeredHz(e *event.Event) clocksource.Hz {
	if !e.MaxCycles.Known || !e.MaxIdleNS.Known || !e.Mask.Known {
		return 0
	}
	set, err := clocksource.Frequencies(clocksource.Cycles(e.MaxCycles.Value), clocksource.Nanos(e.MaxIdleNS.Value), clocksource.Mask(e.Mask.Value), clocksource.ScaleFor(e.Clocksource))
	if err != nil || set.Count == 0 {
		return 0
	}
	return set.Mid()
}

// jiffiesHz reads HZ off the registration line of a tick-based clock: half of 2^32 ticks, less 11 %.
func jiffiesHz(e *event.Event) clocksource.Hz {
	for _, hz := range [...]int64{100, 250, 300, 1000} {
		// max_idle = 0.89 * 2^32 ticks / 2, to a few parts in ten thousand.
		want := float64(0xffffffff) / float64(hz) * 1e9 * 0.89 / 2
		if got := float64(e.MaxIdleNS.Value); got > 0.999*want && got < 1.001*want {
			return clocksource.Hz(hz)
		}
	}
	return 0
}

// guestClock reports whether a clock exists only under a hypervisor.
func guestClock(name string) bool {
	return name == "kvm-clock" || name == "xen" || name == "vmware" || strings.HasPrefix(name, "hyperv_clocksource")
}

// virtualPlatform names the hypervisor that a DMI line betrays, "" for none.
func virtualPlatform(dmi string) string {
	for _, known := range [...][2]string{
		{"QEMU", "QEMU"}, {"Bochs", "QEMU"}, {"VMware", "VMware"}, {"VirtualBox", "VirtualBox"}, {"innotek", "VirtualBox"},
		{"Xen HVM", "Xen"}, {"HVM domU", "Xen"}, {"Microsoft Corporation Virtual Machine", "Hyper-V"}, {"Google Compute Engine", "KVM"},
		{"OpenStack", "KVM"}, {"KVM Virtual Machine", "KVM"}, {"RHEV", "KVM"}, {"oVirt", "KVM"}, {"Parallels Virtual", "Parallels"}, {"BHYVE", "bhyve"},
		{"Alibaba Cloud ECS", "KVM"}, {"DigitalOcean Droplet", "KVM"}, {"Nutanix AHV", "KVM"},
	} {
		if strings.Contains(dmi, known[0]) {
			return known[1]
		}
	}
	// Amazon's virtual instances have no "metal" in their type.
	if strings.Contains(dmi, "Amazon EC2") && !strings.Contains(dmi, ".metal") {
		return "Nitro"
	}
	return ""
}

// Windows before an accusation, in ns: what came this shortly before may be its cause.
const (
	stallWindow  = 120_000_000_000
	momentWindow = 30_000_000_000 // the same for a slow read, which is over in a moment
	toolWindow   = 300_000_000_000
	sleepWindow  = 60_000_000_000
)

// stalledBefore reports a stall, hardware error or driver fault just before an accusation.
func (f *facts) stalledBefore(in *event.Incident, within int64) bool {
	return len(before(f.stalls, in, within, 1e9)) > 0
}

// toolsBefore returns what programs that write clocks did just before an accusation.
func (f *facts) toolsBefore(in *event.Incident) []event.Event {
	return before(f.tools, in, toolWindow, 1e9)
}

// sleptBefore reports that the machine came back from sleep just before an accusation.
func (f *facts) sleptBefore(in *event.Incident) bool {
	return len(before(f.sleeps, in, sleepWindow, 0)) > 0
}

// before returns the events that come before the incident, by at most the given
// time where both carry a kernel stamp. An event up to slack after it counts too:
// the lines of two CPUs interleave.
func before(events []event.Event, in *event.Incident, within, slack int64) []event.Event {
	first := in.Events[0].Source
	t, stamped := in.Time.PrintkNS.Get()
	var found []event.Event
	for _, e := range events {
		et, ok := e.Time.PrintkNS.Get()
		switch {
		case ok && stamped && in.Time.Doubt == "":
			if et <= t+slack && et >= t-within {
				found = append(found, e)
			}
		case e.Source.File != first.File || e.Source.Line < first.Line:
			found = append(found, e)
		}
	}
	return found
}

func parseUint(s string) uint64 {
	var v uint64
	for _, r := range s {
		if r < '0' || r > '9' || v > 1<<40 {
			return 0
		}
		v = v*10 + uint64(r-'0')
	}
	return v
}
