package doctor

import (
	"slices"
	"strings"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/machine"
)

// advise turns findings into advice, the least risky first, and leaves out what
// could harm under this evidence.
func (x *examination) advise() []Advice {
	var ids []string
	add := func(more ...string) {
		for _, id := range more {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	for _, f := range x.findings {
		if !f.Suppressed {
			add(x.adviceFor(f.ID)...)
		}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !x.harmless(id) })
	if len(ids) > 1 {
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == "nothing" })
	}
	if len(ids) == 0 && x.status() != StatusUnknown {
		ids = []string{"nothing"}
	}
	out := make([]Advice, 0, len(ids))
	for _, id := range ids {
		out = append(out, x.adviceText(id))
	}
	slices.SortStableFunc(out, func(a, b Advice) int { return riskRank(a.Risk) - riskRank(b.Risk) })
	return out
}

func riskRank(r Risk) int {
	return slices.Index([]Risk{RiskNone, RiskReversible, RiskUntilReboot, RiskUnsafe}, r)
}

// adviceFor lists what helps against one finding.
func (x *examination) adviceFor(id string) []string {
	guest := x.isGuest() == machine.Yes
	condemned := x.lastCondemned()
	switch id {
	case "reference-read-delay":
		if !condemned || x.verdict == Bad {
			return nil
		}
		if x.verdict == Undecided {
			return []string{"check-cross-cpu-sync", "upgrade-kernel", "reboot-to-restore"}
		}
		list := []string{"check-cross-cpu-sync", "upgrade-kernel", "tsc-nowatchdog", "reboot-to-restore"}
		if x.hasRetries() {
			list = append(list, "raise-read-retries")
		}
		if guest {
			list = append(list, "ask-host", "use-kvm-clock")
		}
		return list
	case "late-watchdog":
		list := []string{"find-the-stall"}
		if x.verdict == Undecided {
			list = append(list, "capture-full-log")
		}
		if condemned {
			list = append(list, "upgrade-kernel", "reboot-to-restore")
		}
		if guest {
			list = append(list, "ask-host")
		}
		return list
	case "acpi-pm-wrap", "hpet-wrap":
		list := []string{"find-the-stall", "upgrade-kernel", "reboot-to-restore"}
		if guest {
			list = append(list, "ask-host", "use-kvm-clock")
		} else if id == "acpi-pm-wrap" {
			list = append(list, "remove-reference")
		}
		return list
	case "stall-2-6-32":
		return []string{"find-the-stall"}
	case "hpet-pc10":
		switch {
		case x.lastFacts.hpetForced:
			return []string{"remove-option"}
		case x.lastFacts.hpetOff:
			return nil // the kernel has turned it off
		case !condemned:
			return []string{"nothing"}
		}
		return []string{"upgrade-kernel", "hpet-disable", "capture-full-log"}
	case "reference-wrong":
		if guest {
			return []string{"ask-host", "check-cross-cpu-sync", "upgrade-kernel", "remove-reference"}
		}
		return []string{"remove-reference", "check-cross-cpu-sync", "upgrade-kernel"}
	case "tsc-frequency-wrong":
		list := []string{"measure-drift", "stay-on-fallback", "switch-away"}
		if x.lastFacts.forcedHz > 0 {
			list = append(list, "remove-option")
		}
		if guest {
			return append(list, "ask-host", "fix-frequency")
		}
		return append(list, "fix-frequency", "firmware-update")
	case "tsc-offset-between-cpus":
		list := []string{"check-cross-cpu-sync", "stay-on-fallback", "switch-away"}
		if guest {
			return append(list, "ask-host")
		}
		return append(list, "power-cycle", "firmware-update")
	case "counter-offset-between-cpus":
		if guest {
			return []string{"ask-host"}
		}
		return []string{"firmware-update"}
	case "skew-now":
		list := []string{"measure-drift"}
		if isTSC(x.ev.Live.Counter) {
			list = append(list, "check-cross-cpu-sync")
		}
		if guest {
			list = append(list, "ask-host")
		}
		return list
	case "slow-read-backs":
		if !x.slowReadsCost() {
			return nil
		}
		list := []string{"upgrade-kernel"}
		if x.hasRetries() {
			list = append(list, "raise-read-retries")
		}
		if guest {
			list = append(list, "ask-host")
		}
		return list
	case "warp-noise":
		return []string{"check-cross-cpu-sync", "reboot-to-restore", "upgrade-kernel"}
	case "tsc-went-backwards":
		list := []string{"check-cross-cpu-sync", "stay-on-fallback", "capture-full-log"}
		if guest {
			list = append(list, "ask-host")
		}
		return list
	case "tsc-written":
		list := []string{"stay-on-fallback", "reboot-to-restore"}
		if len(x.lastFacts.tools) > 0 {
			list = append(list, "stop-the-tool")
		}
		if guest {
			list = append(list, "ask-host")
		}
		return list
	case "tsc-rate-not-constant":
		list := []string{"stay-on-fallback"}
		if len(x.lastFacts.tools) > 0 {
			list = append(list, "stop-the-tool", "reboot-to-restore")
		}
		if guest {
			list = append(list, "ask-host")
		}
		return list
	case "tsc-halts-in-idle":
		if x.has("tsc-frequency-wrong") {
			return nil // only a second guess
		}
		return []string{"stay-on-fallback", "limit-c-states"}
	case "resume":
		return []string{"capture-full-log", "report-resume-problem", "upgrade-kernel", "reboot-to-restore"}
	case "warm-reboot":
		return []string{"power-cycle"}
	case "amd-boot-step":
		return []string{"check-cross-cpu-sync", "measure-drift", "capture-full-log", "tsc-nowatchdog", "reboot-to-restore", "firmware-update"}
	case "small-skew":
		return []string{"check-cross-cpu-sync", "measure-drift", "capture-full-log", "upgrade-kernel", "reboot-to-restore"}
	case "guest-paused", "vcpu-preempted":
		if !condemned {
			return nil
		}
		return []string{"ask-host"}
	case "verdict-without-effect":
		if !guest {
			return nil
		}
		return []string{"ask-host"}
	case "option-hides-fault":
		return []string{"remove-option"}
	case "upstream-stall":
		if !condemned {
			return nil
		}
		list := []string{"find-the-stall"}
		if x.hardwareError() {
			list = append(list, "fix-hardware-error")
		}
		return list
	case "boot-tsc-early-vs-jiffies":
		return []string{"capture-full-log", "find-the-stall", "upgrade-kernel"}
	case "arch-drift":
		if x.arch == "" || isX86(x.arch) {
			return []string{"measure-drift"}
		}
		return []string{"measure-drift", "fix-device-tree"}
	case "tsc-adjust-firmware":
		if guest {
			return []string{"check-cross-cpu-sync", "ask-host"}
		}
		return []string{"check-cross-cpu-sync", "firmware-update"}
	case "lost-ticks":
		return []string{"find-the-stall", "capture-full-log", "upgrade-kernel"}
	case "cause-unknown":
		list := []string{"capture-full-log"}
		if x.verdict == Undecided && condemned {
			list = append(list, "find-the-stall", "check-cross-cpu-sync", "reboot-to-restore")
		}
		if guest {
			list = append(list, "ask-host")
		}
		return list
	case "clock-read-slow", "better-source-available":
		return x.fasterClock()
	case "clock-unsynchronised":
		if s := x.ev.Snapshot; guest || s != nil && s.Container != "" {
			return nil // the host may do it
		}
		return []string{"synchronise-clock"}
	}
	return nil
}

// hasRetries reports that some kernel this may be has the parameter for read retries.
func (x *examination) hasRetries() bool {
	if len(x.eras) == 0 {
		return false
	}
	for _, c := range x.eras {
		p, ok := c.Profile()
		if !ok || !p.RetriesParameter {
			return false
		}
	}
	return true
}

// hardwareError reports a line of the hardware itself: machine check, memory, PCIe, GPU.
func (x *examination) hardwareError() bool {
	for _, e := range x.lastFacts.stalls {
		if e.Kind == event.HardwareError || e.Kind == event.CorrectedErr {
			return true
		}
		if e.Kind == event.DriverFault && (strings.Contains(e.Text, "Xid") || strings.Contains(e.Text, "AER")) {
			return true
		}
	}
	return false
}

// harmless reports that an advice cannot make things worse under this evidence.
func (x *examination) harmless(id string) bool {
	backwards := x.has("tsc-went-backwards")
	guest := x.isGuest() == machine.Yes
	bad := x.verdict == Bad || backwards
	switch id {
	case "tsc-reliable":
		return false // it also turns off the test at boot: nothing that cswatch can see warrants it
	case "tsc-nowatchdog":
		return !bad && !x.has("option-hides-fault")
	case "set-clocksource-tsc":
		return !bad && x.verdict != Undecided && x.trust != TrustNo
	case "hpet-disable":
		// A machine whose HPET lost time is helped even where the TSC is not proved good.
		return !bad && !x.lastFacts.hpetOff && (x.verdict == Good || x.has("hpet-pc10"))
	case "tsc-unstable-parameter":
		return false // the kernel's own text proposes it; it only makes the loss permanent
	case "firmware-update", "power-cycle":
		// Hardware is asked for only where it is known or likely that there is any.
		return !guest && !x.has("normal-on-hypervisor")
	case "fix-hardware-error":
		return x.hardwareError()
	case "use-kvm-clock":
		return x.kvmClockFits()
	case "reboot-to-restore":
		return x.lastCondemned()
	case "stay-on-fallback":
		return !x.badInUse() // there is none to stay on
	case "switch-away":
		return x.badInUse() && x.otherClock() != ""
	}
	return true
}

// badInUse reports that the live counters convict the very TSC that keeps the time.
func (x *examination) badInUse() bool { return x.liveBad && x.ev.Live.inUse() }

// otherClock is the best clocksource that the kernel lists beside the TSC, "" if there is none.
func (x *examination) otherClock() string {
	if s := x.ev.Snapshot; s != nil {
		for _, name := range s.Clocksource.Available {
			if !isTSC(name) {
				return name
			}
		}
	}
	return ""
}

// kvmClockFits reports that kvm-clock may be to be had: a KVM guest that does not use it, or one whose hypervisor is not known.
func (x *examination) kvmClockFits() bool {
	if s := x.ev.Snapshot; s != nil {
		return slices.Contains(s.Clocksource.Available, "kvm-clock") && s.Clocksource.Current != "kvm-clock"
	}
	return x.isGuest() == machine.Yes && !x.lastFacts.hyperv && x.final != "kvm-clock"
}

// fasterClock advises a better clock that the kernel lists.
func (x *examination) fasterClock() []string {
	s := x.ev.Snapshot
	if s == nil {
		return nil
	}
	better := betterSource(s)
	switch {
	case better == "tsc":
		return []string{"set-clocksource-tsc"}
	case better == "kvm-clock":
		return []string{"use-kvm-clock"}
	case better != "":
		return []string{"set-clocksource"}
	}
	if x.isGuest() == machine.Yes {
		return []string{"capture-full-log", "ask-host"}
	}
	return []string{"capture-full-log"}
}

// upgradeTarget says from which release on the kernel behaves better for these findings.
func (x *examination) upgradeTarget() string {
	switch {
	case x.has("hpet-pc10"):
		return "5.11 or later knows the machines whose HPET stops in package C10"
	case x.has("reference-read-delay", "small-skew", "slow-read-backs"):
		return "6.12 or later allows 500 to 750 µs for a read-back; from 7.1 on latency alone never condemns"
	case x.has("late-watchdog", "acpi-pm-wrap", "hpet-wrap"):
		return "6.8 or later (6.6.15, 6.1.78, 5.10.210) skips a check that came late"
	case x.has("boot-tsc-early-vs-jiffies"):
		return "7.1 or later never trusts jiffies as the reference"
	case x.has("warp-noise"):
		return "a current kernel repeats the test and uses TSC_ADJUST to repair small offsets"
	}
	return "a current stable kernel"
}
