package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

// What a read of the clock may cost. A TSC read through the vDSO takes 15 to
// 40 ns on bare metal and in guests; a read of the HPET or the PM timer takes
// a microsecond and more.
const (
	slowReadNS = 250
	verySlowNS = 5000 // an emulated device
)

// causesOfMachine finds what only a machine, not a log, can show.
func (x *examination) causesOfMachine(s *machine.Snapshot) {
	current := s.Clocksource.Current
	if current == "" {
		x.find("evidence-unreadable", "the current clocksource could not be read", unreadableProofs(s)...)
		x.lack("clocksource-sysfs")
	}
	for _, u := range s.Unreadable {
		if strings.Contains(u.What, "kmsg") || strings.Contains(u.What, "kernel log") {
			x.find("evidence-unreadable", "the kernel log could not be read: whether a clock was condemned, and why, stays unknown", Proof{Source: u.What, Text: u.Reason})
			x.lack("kernel-log")
		}
	}
	x.speed(s)
	if isX86(x.arch) && x.trust == TrustNo && !x.lastCondemned() && x.verdict == None && x.isGuest() != machine.Yes && !x.has("tsc-disabled-by-option") {
		// sysfs shows the loss, the log does not show why.
		x.findAs(Warning, "cause-unknown", "the TSC is not among the available clocksources and the log at hand does not say why",
			Proof{Source: "available_clocksource", Text: strings.Join(s.Clocksource.Available, " ")})
		x.verdict = Undecided
		x.lack("verdict-line", "earlier-lines")
	}
	x.guarded(s)
	x.disciplined(s)
	x.expected(s)
}

// speed judges what a read of the clock costs, and whether the kernel lists a better clock.
func (x *examination) speed(s *machine.Snapshot) {
	current := s.Clocksource.Current
	cost := x.ev.Cost
	slow := false
	if cost != nil && cost.ReadNS > 0 {
		proof := Proof{Source: "measured", Text: fmt.Sprintf("%.0f ns a read by %s, %.0f ns by system call (%s)", cost.ReadNS, cost.Path, cost.SyscallNS, current)}
		slow = cost.ReadNS > slowReadNS
		if slow {
			text := fmt.Sprintf("reading the clock costs %.0f ns here; a TSC costs 15 to 40", cost.ReadNS)
			if cost.ReadNS > verySlowNS {
				text += "; this is an emulated device"
			}
			x.find("clock-read-slow", text, proof)
		}
		if cost.Path == "syscall" && isX86(x.arch) {
			x.find("no-vdso-path", "each read of the clock goes through the kernel: "+orThis(current)+" has no fast path in user space", proof)
		}
	} else if knownSlow(current) && isX86(x.arch) {
		slow = true
		proof := Proof{Source: "current_clocksource", Text: current}
		if current == "xen" {
			// Nothing was measured, and newer guests have a faster path: told, not held against the machine.
			x.findAs(Info, "clock-read-slow", "xen is in use: on most guests a read is a system call of some 600 ns, where a TSC costs 15 to 40; it was not measured here", proof)
		} else {
			x.find("clock-read-slow", current+" is in use: a read is an access to a device, a microsecond and more, where a TSC costs 15 to 40 ns", proof)
		}
	}
	if better := betterSource(s); better != "" && (slow || knownSlow(current)) && x.verdict != Bad && x.verdict != Undecided {
		x.find("better-source-available", "the kernel lists "+better+", which is faster than "+current,
			Proof{Source: "available_clocksource", Text: strings.Join(s.Clocksource.Available, " ")})
	}
}

func orThis(clock string) string {
	if clock == "" {
		return "this clock"
	}
	return clock
}

// knownSlow names the clocks whose every read leaves the processor. It is used
// where nothing was measured, as in an archive of another machine.
func knownSlow(clock string) bool {
	switch clock {
	case "hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "xen":
		return true
	}
	return false
}

// betterSource is a clocksource that the kernel lists and that is fast and
// sound: its own order of preference decides, never the name "tsc" alone. ""
// if the current one is as good.
func betterSource(s *machine.Snapshot) string {
	current := s.Clocksource.Current
	if current == "" || !knownSlow(current) {
		return ""
	}
	for _, name := range s.Clocksource.Available {
		if name != current && (name == "tsc" || guestClock(name) && name != "xen") {
			return name
		}
	}
	return ""
}

// guarded tells whether a fault of the TSC would be noticed, and whether latency could cost it.
func (x *examination) guarded(s *machine.Snapshot) {
	if !isX86(x.arch) || x.trust == TrustNo || !slices.Contains(s.Clocksource.Available, "tsc") {
		return
	}
	if x.kernel.TSCWatched == machine.No && !x.has("watchdog-disabled-by-option") {
		x.find("tsc-not-watched", "no watchdog guards the TSC here: "+x.kernel.TSCWatchedWhy, Proof{Source: "kernel", Text: x.kernel.Why})
	}
	if x.kernel.LatencyCanCondemn == machine.Yes {
		x.find("latency-can-condemn", "slow reads of the reference alone can cost this machine its TSC until the next boot: "+x.kernel.LatencyWhy, Proof{Source: "kernel", Text: x.kernel.Why})
	}
}

// disciplined tells what NTP says. 500 ppm is the most that it can correct.
func (x *examination) disciplined(s *machine.Snapshot) {
	t := s.Time
	proof := Proof{Source: orThis(t.Source), Text: "synchronised: " + string(t.Synchronised)}
	if t.FrequencyPPM != nil {
		proof.Text += fmt.Sprintf(", frequency correction %.3f ppm", *t.FrequencyPPM)
	}
	switch {
	case t.FrequencyPPM != nil && (*t.FrequencyPPM > 400 || *t.FrequencyPPM < -400):
		x.findAs(Warning, "clock-unsynchronised", "the system clock needs a correction of more than 400 ppm: near the most that NTP can do, and a sign of a wrong clock rate", proof)
	case t.Synchronised == machine.No && s.Container == "" && x.isGuest() != machine.Yes:
		x.findAs(Info, "clock-unsynchronised", "no time daemon disciplines the system clock", proof)
	case t.Synchronised == machine.No:
		x.findAs(Info, "clock-unsynchronised", "the kernel's clock is not marked as disciplined; in a guest or a container the host may do it", proof)
	}
}

// expected compares the current clock with the one that the user expects.
func (x *examination) expected(s *machine.Snapshot) {
	want, current := x.ev.Inputs.Expect, s.Clocksource.Current
	if want == "" || current == "" || want == current {
		return
	}
	x.findAs(Warning, "unexpected-clock", "the current clocksource is "+current+", expected was "+want, Proof{Source: "current_clocksource", Text: current})
}

// unreadableProofs lists what could not be read.
func unreadableProofs(s *machine.Snapshot) []Proof {
	var out []Proof
	for _, u := range s.Unreadable {
		if len(out) < 8 {
			out = append(out, Proof{Source: u.What, Text: u.Reason})
		}
	}
	return out
}
