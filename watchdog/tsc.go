package watchdog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

// TSCFacts is what decides, beside the kernel, whether the TSC is watched.
type TSCFacts struct {
	Arch     string   // as the kernel names it; "" if unknown, which is taken for x86
	Flags    []string // of /proc/cpuinfo; nil if they could not be read
	Nodes    int      // online NUMA nodes, 0 if unknown
	Packages int      // 0 if unknown
	// CommandLine counts only where CommandLineKnown is set: an empty one may be true.
	CommandLine      string
	CommandLineKnown bool
}

// exemption is a rule by which a kernel stops watching a TSC that it trusts.
type exemption uint8

const (
	notExempt    exemption = iota // before 5.16, 5.15.7 and 5.10.84
	twoNodes                      // up to 6.5
	fourNodes                     // 6.6 to 6.11
	fourPackages                  // 6.12 and later
)

// exemptions returns the rule of a release; two where it is not known which holds.
func exemptions(r Release) []exemption {
	switch {
	case !r.Before("6.12"):
		return []exemption{fourPackages}
	case !r.Before("6.8"):
		return []exemption{fourNodes}
	case !r.Before("6.6"):
		return []exemption{fourNodes, twoNodes} // 6.6 is inferred; 6.5 and 6.8 were read
	case !r.Before("5.16"):
		return []exemption{twoNodes}
	case r.In("5.15.224"):
		return []exemption{fourNodes}
	case r.In("5.15.7"):
		return []exemption{twoNodes, fourNodes} // which release took the second rule is not known
	case r.In("5.10.84"):
		return []exemption{twoNodes}
	}
	return []exemption{notExempt}
}

// eraExemptions returns the rules that the upstream releases of an era have.
func eraExemptions(e Era) []exemption {
	switch e {
	case E0, E1, E2, E3, E4:
		return []exemption{notExempt}
	case E5, LTS51050:
		return []exemption{notExempt, twoNodes}
	case E6, LTS51094, LTS510173, LTS510223, LTS61192:
		return []exemption{twoNodes}
	case E7, E8, E9, LTS51517, LTS515Pause, LTS515Long, LTS6116, LTS6178:
		return []exemption{twoNodes, fourNodes}
	case LTS515224:
		return []exemption{fourNodes, twoNodes}
	case E10, E11, E12:
		return []exemption{fourPackages}
	}
	return anyExemption()
}

func anyExemption() []exemption { return []exemption{notExempt, twoNodes, fourNodes, fourPackages} }

// rulesOf returns the rules that a candidate may have, and its release for what
// options do; of a vendor kernel neither is known. E12 is known to be 7.1 or later.
func rulesOf(c Candidate) (rules []exemption, r Release, known bool) {
	if c.Vendor != "" && c.Release == "" {
		return anyExemption(), Release{}, false
	}
	if r, err := ParseRelease(c.Release); err == nil {
		return exemptions(r), r, true
	}
	r, err := ParseRelease(typical(c.Era))
	return eraExemptions(c.Era), r, err == nil
}

// TSCWatched tells whether a watchdog guards the TSC of a machine whose kernel
// is one of the candidates. No candidates means that nothing is known of the kernel.
func TSCWatched(candidates []Candidate, f TSCFacts) (machine.Answer, string) {
	if f.Arch != "" && !isX86(f.Arch) {
		return machine.No, f.Arch + " has no TSC, and its clocks have no watchdog"
	}
	if len(candidates) == 0 {
		return watchedBy(anyExemption(), Release{}, false, f)
	}
	var answer machine.Answer
	var why string
	for i, c := range candidates {
		rules, r, known := rulesOf(c)
		a, w := watchedBy(rules, r, known, f)
		if i > 0 && a != answer {
			return machine.Unknown, fmt.Sprintf("the candidates differ: %s; but %s", why, w)
		}
		if i == 0 {
			answer, why = a, w
		}
	}
	return answer, why
}

func isX86(arch string) bool {
	switch arch {
	case "x86_64", "x86", "amd64", "386", "i386", "i486", "i586", "i686":
		return true
	}
	return false
}

// watchedBy answers for one release, or for an unknown one.
func watchedBy(rules []exemption, r Release, known bool, f TSCFacts) (machine.Answer, string) {
	option, effect := tscOption(r, known, f)
	switch effect {
	case machine.Yes:
		return machine.Yes, option + " forces the watchdog on"
	case machine.No:
		return machine.No, option + " turns it off"
	}
	if slices.Contains(f.Flags, "tsc_reliable") && (f.CommandLineKnown || known && r.Before("7.1")) {
		return machine.No, "the CPU flag tsc_reliable (a hypervisor's or the firmware's promise) exempts the TSC"
	}
	exempt, rule := exemptBy(rules, f)
	switch {
	case effect == machine.Unknown && exempt == machine.Yes && known && r.Before("7.1"):
		return machine.No, rule // nothing on the command line could force it on
	case effect == machine.Unknown && option != "":
		return machine.Unknown, option
	case exempt == machine.Yes:
		return machine.No, rule
	case exempt == machine.No:
		return machine.Yes, rule
	}
	return machine.Unknown, rule
}

// tscOption returns what the command line says: yes if it forces the watchdog
// on, no if it turns it off, unknown with a text where that cannot be told,
// and unknown without one where the command line is silent.
func tscOption(r Release, known bool, f TSCFacts) (string, machine.Answer) {
	if !f.CommandLineKnown {
		return "the command line could not be read, and an option such as tsc=nowatchdog decides", machine.Unknown
	}
	values, _ := machine.Option(f.CommandLine, "tsc")
	if _, bare := machine.Option(f.CommandLine, "notsc"); bare && (!known || !r.Before("4.15")) {
		return "notsc marks the TSC unstable from the start and", machine.No
	}
	if !slices.ContainsFunc(values, func(v string) bool {
		return v == "reliable" || v == "unstable" || v == "nowatchdog" || v == "watchdog"
	}) {
		return "", machine.Unknown
	}
	if slices.Contains(values, "unstable") && (!known || !r.Before("4.13")) {
		return "tsc=unstable marks the TSC unstable from the start and", machine.No
	}
	last := ""
	for _, v := range values {
		if v == "watchdog" || v == "nowatchdog" {
			last = v
		}
	}
	if last == "watchdog" && !known {
		return "tsc=watchdog is given, which forces the watchdog on only from 7.1 on, and the release is not known", machine.Unknown
	}
	if last == "watchdog" && !r.Before("7.1") {
		return "tsc=watchdog", machine.Yes
	}
	if slices.Contains(values, "reliable") {
		return "tsc=reliable", machine.No
	}
	// Up to 7.0 nowatchdog wins over watchdog in either order.
	if slices.Contains(values, "nowatchdog") && (!known || !r.Before("5.4")) && !(last == "watchdog" && !r.Before("7.1")) {
		return "tsc=nowatchdog", machine.No
	}
	return "", machine.Unknown
}

// exemptBy evaluates the rules that may be in force: yes or no only if all agree.
func exemptBy(rules []exemption, f TSCFacts) (machine.Answer, string) {
	if len(rules) == 1 && rules[0] == notExempt {
		return machine.No, "kernels before 5.16 (5.15.7, 5.10.84) watch every TSC that is not declared reliable"
	}
	if f.Flags == nil {
		return machine.Unknown, "the CPU flags could not be read, and constant_tsc, nonstop_tsc and tsc_adjust decide"
	}
	for _, flag := range [...]string{"constant_tsc", "nonstop_tsc", "tsc_adjust"} {
		if !slices.Contains(f.Flags, flag) {
			return machine.No, "the CPU lacks " + flag + ", so that the TSC is not exempt"
		}
	}
	var answer machine.Answer
	var why string
	for i, rule := range rules {
		a, w := rule.holds(f)
		if i > 0 && a != answer {
			return machine.Unknown, fmt.Sprintf("which rule this kernel has is not known: %s, but %s", why, w)
		}
		if i == 0 {
			answer, why = a, w
		}
	}
	return answer, why
}

// holds evaluates one rule for a TSC with all three flags.
func (e exemption) holds(f TSCFacts) (machine.Answer, string) {
	count, limit, noun := f.Nodes, 2, "online NUMA nodes"
	switch e {
	case notExempt:
		return machine.No, "without the rule of 5.16 every TSC is watched"
	case fourNodes:
		limit = 4
	case fourPackages:
		count, limit, noun = f.Packages, 4, "packages"
	}
	const flags = "constant_tsc, nonstop_tsc and tsc_adjust"
	switch {
	case count == 0:
		return machine.Unknown, fmt.Sprintf("the number of %s could not be read; with %s a TSC is exempt up to %d", noun, flags, limit)
	case count <= limit:
		return machine.Yes, fmt.Sprintf("a TSC with %s is exempt up to %d %s, here %d", flags, limit, noun, count)
	}
	return machine.No, fmt.Sprintf("a TSC with %s is exempt only up to %d %s, here %d", flags, limit, noun, count)
}

// LatencyCanCondemn tells whether slow reads alone can cost the machine its
// TSC until the next boot: the era has to condemn for latency, and the TSC has to be watched.
func LatencyCanCondemn(candidates []Candidate, f TSCFacts) (machine.Answer, string) {
	watched, why := TSCWatched(candidates, f)
	if watched == machine.No {
		return machine.No, "the TSC is not watched: " + why
	}
	answer, era := LatencyIfWatched(candidates)
	switch {
	case answer != machine.Yes:
		return answer, era
	case watched == machine.Unknown:
		return machine.Unknown, era + ", but whether the TSC is watched is not known: " + why
	}
	return machine.Yes, era + ", and the TSC is watched: " + why
}

// LatencyIfWatched tells whether slow reads alone can condemn a clock that is
// watched, which is a matter of the era alone.
func LatencyIfWatched(candidates []Candidate) (machine.Answer, string) {
	if len(candidates) == 0 {
		return machine.Unknown, "the era of the kernel is not known"
	}
	var yes, no []string
	for _, c := range candidates {
		p, ok := c.Profile()
		if ok && !p.LatencyCondemns() {
			no = append(no, string(c.Era))
		} else {
			yes = append(yes, string(c.Era))
		}
	}
	switch {
	case len(yes) == 0:
		return machine.No, "no verdict for latency alone in " + few(no)
	case len(no) > 0:
		return machine.Unknown, fmt.Sprintf("verdicts for latency alone in %s, none in %s, and the kernel may have either", few(yes), few(no))
	}
	return machine.Yes, "verdicts for latency alone in " + few(yes)
}

// few names eras, as long as they are few.
func few(eras []string) string {
	if len(eras) > 4 {
		return fmt.Sprintf("the %d eras that it may have", len(eras))
	}
	return "era " + strings.Join(eras, ", ")
}
