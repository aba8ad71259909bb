package doctor

import (
	"fmt"
	"math"
	"strings"

	"github.com/cswatch/cswatch/event"
)

// weighed is an incident with its judgement.
type weighed struct {
	incident event.Incident
	judged   judgement
	selfTest bool // of the kernel's own test: on a test clock, or during the test
	past     bool // of an earlier boot than the one that a snapshot shows
}

// counts reports that the incident speaks of the machine as it is examined.
func (w *weighed) counts() bool { return !w.selfTest && !w.past }

// condemns reports a verdict that counts.
func (w *weighed) condemns() bool { return w.counts() && w.incident.Kind.Condemns() }

// weigh judges all incidents of the log.
func weigh(ev *Evidence) []weighed {
	incidents := event.Collect(ev.Events)
	if ev.Snapshot == nil {
		ev.qemu = fitsOnlyQEMU(incidents)
	}
	byBoot := map[int]*facts{}
	last := lastBoot(ev.Events)
	var out []weighed
	for i := range incidents {
		in := &incidents[i]
		if in.Kind == event.IncidentSync && !in.Header && !in.Marked && strings.HasPrefix(strings.TrimSpace(in.Events[0].Text), "checking") {
			continue // old kernels name the test before it runs
		}
		f := byBoot[in.Boot]
		if f == nil {
			made := factsOf(ev, in.Boot)
			f = &made
			byBoot[in.Boot] = f
		}
		w := weighed{incident: *in, selfTest: strings.HasPrefix(in.Clock, "wdtest-"), past: ev.Snapshot != nil && in.Boot != last}
		if w.selfTest {
			w.judged = judgement{verdict: None, why: "the kernel's own test of its watchdog", m: measure(in, f)}
		} else {
			w.judged = judge(in, f, incidents)
		}
		out = append(out, w)
	}
	return selfTests(ev, out)
}

// selfTests marks incidents in which no clock is named as part of a running
// self-test: the read-out that a test delays is reported by the reference's name.
func selfTests(ev *Evidence, all []weighed) []weighed {
	testing, injected := false, map[int]bool{}
	for i := range ev.Events {
		if e := &ev.Events[i]; e.Kind == event.SelfTest {
			testing = true
			// Error injection makes the kernel condemn real clocks.
			injected[e.Source.Boot] = injected[e.Source.Boot] || strings.Contains(e.Text, "return probe")
		}
	}
	if !testing {
		return all
	}
	for i := range all {
		in := &all[i].incident
		wdtest := strings.HasPrefix(in.Reference, "wdtest-")
		quiet := !in.Kind.Condemns()
		if injected[in.Boot] || in.Clock == "" && (wdtest || quiet || !in.Marked) || quiet {
			all[i].selfTest = true
			all[i].judged = judgement{verdict: None, why: "the kernel's own test of its watchdog"}
		}
	}
	return all
}

// overall combines the verdicts of all incidents: one conviction convicts, and
// without one an open accusation stays open.
func overall(all []weighed) Verdict {
	v := None
	rank := map[Verdict]int{None: 0, Good: 1, Undecided: 2, Bad: 3}
	for i := range all {
		if !all[i].counts() || !isTSC(orTSC(all[i].incident.Clock)) {
			continue
		}
		if got := all[i].judged.verdict; rank[got] > rank[v] {
			v = got
		}
	}
	return v
}

// causesOfLog finds the causes that no single incident shows.
func (x *examination) causesOfLog() {
	events := x.ev.Events
	var proofs = map[string][]event.Event{}
	note := func(id string, e *event.Event) { proofs[id] = append(proofs[id], *e) }
	condemned, boots := false, false
	for i := range x.incidents {
		if in := &x.incidents[i].incident; strings.HasPrefix(in.Clock, "wdtest-") {
			note("self-test", &in.Events[0])
		}
		condemned = condemned || x.incidents[i].condemns()
	}
	for i := range events {
		e := &events[i]
		if e.Source.Duplicate {
			continue
		}
		switch e.Kind {
		case event.SelfTest:
			note("self-test", e)
		case event.HPETPC10:
			if e.Detail == "forced on" {
				x.find("hpet-pc10", "this machine's HPET stops in deep package sleep, and hpet=force keeps it in use all the same", proofOf([]event.Event{*e})...)
			} else {
				note("hpet-pc10", e)
			}
		case event.TSCFreqDiffers:
			note("tsc-frequency-wrong", e)
		case event.AdjustForced, event.AdjustDiffers, event.AdjustSocket:
			note("tsc-adjust-firmware", e)
		case event.TicksLost:
			note("lost-ticks", e)
		case event.ClockDrift:
			note("arch-drift", e)
		case event.Stall:
			if e.Detail == "lost RTC interrupts" {
				note("look-alike", e)
			} else {
				note("stall", e)
			}
		case event.LookAlike:
			note("look-alike", e)
		case event.Version, event.Registered, event.Switched, event.TSCDetected:
			boots = true
		case event.HardwareError, event.CorrectedErr, event.DriverFault:
			note("hardware", e)
		}
	}
	if len(proofs["self-test"]) > 0 {
		x.find("self-test", "the kernel's own test of its watchdog ran: its verdicts are on test clocks and say nothing of the machine", proofOf(proofs["self-test"])...)
	}
	if p := proofs["hpet-pc10"]; len(p) > 0 {
		x.findAs(Info, "hpet-pc10", "the kernel knows that this machine's HPET stops in deep package sleep and handles it", proofOf(p)...)
	}
	x.recalibrated(proofs["tsc-frequency-wrong"])
	if p := proofs["tsc-adjust-firmware"]; len(p) > 0 {
		x.find("tsc-adjust-firmware", "firmware wrote IA32_TSC_ADJUST behind the kernel's back; the kernel repaired it", proofOf(p)...)
		if x.verdict == None {
			x.verdict = Undecided
			x.lack("cmdline", "earlier-lines", "cross-cpu-check", "platform")
		}
		if option := optionOff(x.lastFacts.cmdline); option != "" {
			x.find("option-hides-fault", option+" switches off the check that would notice a TSC that firmware disturbs", proofOf(p)...)
		}
	}
	if p := proofs["lost-ticks"]; len(p) > 0 {
		x.find("lost-ticks", "timer interrupts were lost: interrupts were off for long, or the processor changed its clock", proofOf(p)...)
		if x.verdict == None {
			x.verdict = Undecided
			x.lack("cpu-model", "second-witness", "kernel-version", "earlier-lines")
		}
	}
	if p := proofs["tsc-adjust-firmware"]; len(p) > 0 && len(x.lastFacts.sleeps) > 0 {
		x.find("resume", "the log tells of sleep, after which firmware often leaves other TSC values than before", proofOf(x.lastFacts.sleeps)...)
	}
	if p := proofs["arch-drift"]; len(p) > 0 && !condemned && isX86(x.arch) && isTSC(x.final) && drifts(p) {
		x.find("tsc-frequency-wrong", "a time daemon reports that the system clock, which runs by the TSC, is off by more than crystals are", proofOf(p)...)
		x.verdict = Undecided
		x.lack("second-witness", "tsc-frequency", "platform")
	} else if len(p) > 0 && !condemned {
		x.find("arch-drift", "a time daemon reports that the system clock runs at a wrong rate; no watchdog guards it here", proofOf(p)...)
	}
	if condemned || len(x.incidents) > 0 {
		return
	}
	// No clock event: what is there is told as information.
	stalls, hardware := proofs["stall"], proofs["hardware"]
	if len(stalls) > 0 {
		x.findAs(Info, "upstream-stall", "the log tells of "+names(stalls)+"; no clock event follows from it here", proofOf(stalls)...)
	}
	alike := proofs["look-alike"]
	switch {
	case len(proofs["self-test"]) > 0 || boots:
	case len(stalls)+len(hardware) > 0:
		x.find("not-a-clocksource-event", "the log has trouble, but none with a clocksource", proofOf(append(stalls, hardware...))...)
	case len(alike) > 0:
		x.find("not-a-clocksource-event", "the log speaks of "+names(alike)+", which has nothing to do with the clocksource", proofOf(alike)...)
	case x.ev.Foreign > 0 && len(events) == 0:
		x.find("not-a-clocksource-event", "lines here repeat kernel wording, and others than the kernel wrote them: no evidence")
	}
}

// drifts reports a rate beyond what crystals differ.
func drifts(events []event.Event) bool {
	for _, e := range events {
		if e.RatePPM.Known && math.Abs(float64(e.RatePPM.Value)) > crystalPPM {
			return true
		}
	}
	return false
}

// recalibrated compares the frequencies before and after a recalibration.
func (x *examination) recalibrated(differs []event.Event) {
	var before, after float64
	var proofs []event.Event
	for i := range x.ev.Events {
		e := &x.ev.Events[i]
		switch e.Kind {
		case event.TSCFreqPrevious:
			before = float64(e.FrequencyHz.Value)
			proofs = append(proofs, *e)
		case event.TSCFreqNew:
			after = float64(e.FrequencyHz.Value)
			proofs = append(proofs, *e)
		}
	}
	proofs = append(append([]event.Event(nil), differs...), proofs...)
	wrong := len(differs) > 0
	text := "the frequency that firmware states for the TSC differs from what a hardware timer measures"
	if before > 0 && after > 0 {
		ppm := (after - before) / before * 1e6
		wrong = wrong || math.Abs(ppm) > crystalPPM
		text += fmt.Sprintf(" by %.0f ppm", ppm)
	}
	if !wrong {
		return
	}
	x.find("tsc-frequency-wrong", text, proofOf(proofs)...)
	x.verdict = Bad
}

// unread tells of logs that could not be read to their end.
func (x *examination) unread() {
	for _, u := range x.ev.Incomplete {
		x.findAs(Info, "evidence-unreadable", "not everything could be read: what is missing may hold the verdict", Proof{Source: u.What, Text: u.Reason})
		x.lack("kernel-log")
	}
}

// fallen finds the trace of a verdict whose own lines are missing: the kernel
// left the TSC for a slow clock, in the same boot or long after it began.
func (x *examination) fallen() {
	if x.verdict != None {
		return
	}
	fromTSC := false
	for i := range x.ev.Events {
		e := &x.ev.Events[i]
		if e.Kind != event.Switched || e.Source.Duplicate || e.Source.Boot != x.lastFacts.boot {
			continue
		}
		t, stamped := e.Time.PrintkNS.Get()
		late := stamped && t > 60_000_000_000
		if slowDevice(e.Clocksource) && e.Clocksource == x.final && (fromTSC || late) {
			x.find("cause-unknown", "the kernel went over to "+e.Clocksource+", as it does after a verdict; the lines that say why are not in this log, or somebody chose that clock by hand", proofOf([]event.Event{*e})...)
			x.verdict = Undecided
			x.lack("verdict-line", "earlier-lines", "reference-line")
			return
		}
		fromTSC = isTSC(e.Clocksource)
	}
}

// slowDevice names the clocks to which a kernel falls back.
func slowDevice(clock string) bool {
	return clock == "hpet" || clock == "acpi_pm" || clock == "pit" || clock == "jiffies" || clock == "refined-jiffies"
}

// slowDefault finds a boot that chose a slow clock without any accusation.
func (x *examination) slowDefault() {
	slow := map[string]bool{"xen": true, "hpet": true, "acpi_pm": true, "jiffies": true, "pit": true, "refined-jiffies": true}
	if x.verdict != None || !slow[x.final] || x.lastFacts.version == "" {
		return
	}
	for i := range x.incidents {
		if x.incidents[i].condemns() {
			return
		}
	}
	for i := len(x.ev.Events) - 1; i >= 0; i-- {
		if e := &x.ev.Events[i]; e.Kind == event.Switched {
			x.find("slow-default-clock", x.final+" was chosen without any verdict on the TSC: no fault, but each read of the clock is slow", proofOf([]event.Event{*e})...)
			return
		}
	}
}

// optionsOfLog tells of options that switch the watchdog off. A state, not a fault.
func (x *examination) optionsOfLog() {
	option := optionOff(x.lastFacts.cmdline)
	if option == "" || x.has("option-hides-fault") {
		return
	}
	proof := Proof{Source: "kernel command line", Text: clip(x.lastFacts.cmdline, 300)}
	for i := range x.ev.Events {
		if e := &x.ev.Events[i]; e.Kind == event.CommandLine && e.Source.Boot == x.lastFacts.boot {
			proof = proofOf([]event.Event{*e})[0]
		}
	}
	x.find("watchdog-disabled-by-option", option+" is in force: a TSC that goes wrong would stay unnoticed", proof)
}

// names lists what kinds of trouble the events tell of.
func names(events []event.Event) string {
	var out []string
	seen := map[string]bool{}
	for _, e := range events {
		if d := e.Detail; d != "" && !seen[d] && len(out) < 4 {
			seen[d] = true
			out = append(out, d)
		}
	}
	if len(out) == 0 {
		return "trouble"
	}
	return strings.Join(out, ", ")
}

// proofOf makes evidence of events, the first few of them.
func proofOf(events []event.Event) []Proof {
	const most = 8
	var out []Proof
	for i := range events {
		if len(out) == most {
			break
		}
		e := &events[i]
		out = append(out, Proof{Source: orStdin(e.Source.File), Line: e.Source.Line, Text: e.Text})
	}
	return out
}

func orStdin(file string) string {
	if file == "" || file == "-" {
		return "standard input"
	}
	return file
}

// clip cuts s at n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " ..."
}

// archOf is the architecture as the snapshot or the log tells it, "" if neither does.
func archOf(ev *Evidence) string {
	if s := ev.Snapshot; s != nil {
		if s.Arch != "" {
			return s.Arch
		}
		for _, name := range append([]string{s.Clocksource.Current}, s.Clocksource.Available...) {
			if a := archOfClock(name); a != "" {
				return a
			}
		}
	}
	for i := range ev.Events {
		switch e := &ev.Events[i]; e.Kind {
		case event.Registered, event.Switched:
			if a := archOfClock(e.Clocksource); a != "" {
				return a
			}
		case event.TSCDetected, event.TSCUnstable, event.Warp, event.SyncTest:
			return "x86_64"
		}
	}
	return ""
}

// archOfClock is the architecture that has a clock of this name, "" if several
// have. kvm-clock, xen and Hyper-V's clocks count as x86 here.
func archOfClock(name string) string {
	switch name {
	case "tsc", "tsc-early", "hpet", "acpi_pm", "kvm-clock", "xen", "hyperv_clocksource_tsc_page", "hyperv_clocksource_msr":
		return "x86_64"
	case "arch_sys_counter":
		return "aarch64"
	case "timebase":
		return "ppc64le"
	case "tod":
		return "s390x"
	case "Constant":
		return "loongarch64"
	case "riscv_clocksource":
		return "riscv64"
	}
	return ""
}
