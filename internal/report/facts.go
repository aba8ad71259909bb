package report

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/machine"
)

// factColumn is where the text of a fact begins.
const factColumn = 14

// facts writes the block of what is known of the machine.
func (p *page) facts(d *doctor.Diagnosis) {
	p.line("")
	p.fact("examined", p.examined(d))
	if host := p.machine(d); host != "" {
		p.fact("machine", host)
	}
	p.fact("kernel", p.kernel(&d.Kernel))
	p.fact("clock", p.clock(d))
	p.fact("TSC", p.tsc(d))
	if d.KernelTrustsTSC != doctor.TrustNotApplicable {
		p.fact("watchdog", p.watched(d))
		p.fact("slow reads", p.latency(&d.Kernel))
	}
	if d.Cost != nil {
		p.fact("clock read", p.cost(d))
	}
}

func (p *page) fact(label, text string) {
	p.para(fmt.Sprintf("  %-*s", factColumn-2, label), text, "", plain)
}

// examined says what the answer rests on.
func (p *page) examined(d *doctor.Diagnosis) string {
	var parts []string
	if d.Inputs.Live {
		parts = append(parts, "this machine")
	}
	if root := d.Inputs.Root; root != "" && root != "/" {
		parts = append(parts, p.safe(root, maxSource))
	}
	const most = 4
	for i, log := range d.Inputs.Logs {
		if i == most && !p.opt.Verbose {
			parts = append(parts, plural(len(d.Inputs.Logs)-most, "more log", "more logs"))
			break
		}
		if log == "-" {
			log = "standard input"
		}
		parts = append(parts, p.safe(log, maxSource))
	}
	if len(parts) == 0 {
		parts = append(parts, "what was given")
	}
	text := strings.Join(parts, ", ")
	switch {
	case d.LogLines > 0:
		text += "; " + plural(d.LogLines, "log line", "log lines")
	case len(d.Inputs.Logs) == 0:
		text += "; no kernel log"
	}
	if d.Live != nil {
		text += "; this machine's counters, live for " + elapsed(d.Live.Elapsed)
	}
	return text
}

// machine names the host and its architecture.
func (p *page) machine(d *doctor.Diagnosis) string {
	host, arch := p.safe(d.Host, maxName), p.safe(d.Arch, maxName)
	switch {
	case host == "":
		return arch
	case arch == "":
		return host
	}
	return host + ", " + arch
}

// kernel names the release and the eras that it may have, and why so.
func (p *page) kernel(k *doctor.KernelFacts) string {
	text := "release not known"
	if k.Release != "" {
		text = p.safe(k.Release, maxName)
	}
	const most = 6
	switch n := len(k.EraCandidates); {
	case n == 0:
		text += ", era not known"
	case n > most && !p.opt.Verbose:
		text += fmt.Sprintf(", one of %d eras", n)
	default:
		text += ", era " + p.safe(Either(k.EraCandidates), maxText)
	}
	if why := p.shortWhy(k.Why); why != "" {
		text += " (" + why + ")"
	}
	return text
}

// shortWhy leaves out of a reason what the list of eras shows anyway.
func (p *page) shortWhy(why string) string {
	if p.opt.Verbose {
		return p.safe(why, maxText)
	}
	var kept []string
	for _, part := range strings.Split(why, "; ") {
		if part == "more than one era remains" || strings.HasSuffix(part, " eras fit what was seen") {
			continue
		}
		kept = append(kept, part)
	}
	return p.safe(strings.Join(kept, "; "), maxText)
}

// clock names the clock in use and the others.
func (p *page) clock(d *doctor.Diagnosis) string {
	current, final := p.safe(d.CurrentClock, maxName), p.safe(d.FinalClock, maxName)
	text := ""
	switch {
	case current != "":
		text = current + " in use"
	case final != "":
		text = final + " in use where the log ends"
	default:
		text = "which one is in use is not known"
	}
	var others []string
	for _, name := range d.Available {
		if name != d.CurrentClock && len(others) < 12 {
			others = append(others, p.safe(name, maxName))
		}
	}
	switch {
	case len(others) > 0:
		text += ", available besides: " + strings.Join(others, ", ")
	case len(d.Available) > 0:
		text += ", no other available"
	}
	return text
}

// tsc says whether the kernel trusts the TSC and what the evidence says of it.
func (p *page) tsc(d *doctor.Diagnosis) string {
	text := ""
	switch d.KernelTrustsTSC {
	case doctor.TrustYes:
		text = "the kernel trusts it"
	case doctor.TrustNo:
		text = "the kernel does not trust it"
		if d.Since != "" {
			text = "given up by the kernel, " + p.safe(d.Since, maxName)
		}
	case doctor.TrustNotApplicable:
		return "none on this architecture"
	default:
		text = "whether the kernel trusts it is not known"
	}
	switch d.TSCVerdict {
	case doctor.Good:
		return text + "; the evidence clears it"
	case doctor.Bad:
		return text + "; the evidence convicts it"
	case doctor.Undecided:
		return text + "; the evidence does not decide"
	}
	return text + "; nothing accuses it"
}

// watched says whether a watchdog guards the TSC. A reason that a finding
// tells in full is not told twice.
func (p *page) watched(d *doctor.Diagnosis) string {
	text := "could not tell whether it watches the TSC"
	switch d.Kernel.TSCWatched {
	case machine.Yes:
		text = "watches the TSC"
	case machine.No:
		text = "does not watch the TSC"
	}
	why := d.Kernel.TSCWatchedWhy
	if why == "" {
		return text
	}
	for _, f := range d.Findings {
		if !f.Suppressed && strings.Contains(f.Summary, why) {
			return text + " (" + p.safe(f.ID, maxName) + ")"
		}
	}
	return text + ": " + p.safe(why, maxText)
}

// latency says whether slow reads alone can cost the TSC. What the watchdog's
// line told already is left out of the reason.
func (p *page) latency(k *doctor.KernelFacts) string {
	text := "could not tell whether they can cost the TSC"
	switch k.LatencyCanCondemn {
	case machine.Yes:
		text = "can cost the TSC until the next boot"
	case machine.No:
		text = "cannot cost the TSC"
	}
	why := k.LatencyWhy
	if k.TSCWatchedWhy != "" {
		why = strings.TrimSuffix(why, ": "+k.TSCWatchedWhy)
	}
	if why == "" {
		return text
	}
	return text + ": " + p.safe(why, maxText)
}

// cost says what a read of the clock costs and which way it takes.
func (p *page) cost(d *doctor.Diagnosis) string {
	c := d.Cost
	text := p.safe(price(c.ReadNS), maxName)
	switch c.Path {
	case "vdso":
		text += " through the vDSO"
	case "syscall":
		text += ", each one a system call"
	default:
		text += " by an unknown path"
	}
	if c.SyscallNS > 0 && c.Path != "syscall" {
		text += ", " + p.safe(price(c.SyscallNS), maxName) + " by raw system call"
	}
	if c.Clocksource != "" && c.Clocksource != d.CurrentClock {
		text += " (measured with " + p.safe(c.Clocksource, maxName) + ")"
	}
	return text
}
