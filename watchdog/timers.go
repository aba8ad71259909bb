package watchdog

import (
	"slices"

	"github.com/cswatch/cswatch/machine"
)

// TimersWatched tells whether the HPET and the ACPI PM timer are watched
// against the TSC: under tsc=watchdog of 6.3 to 7.0, where the TSC itself is
// exempt and no tsc=nowatchdog is given. No candidates means that nothing is
// known of the kernel.
func TimersWatched(candidates []Candidate, f TSCFacts) (machine.Answer, string) {
	if f.Arch != "" && !isX86(f.Arch) {
		return machine.No, f.Arch + " has no TSC, and its clocks have no watchdog"
	}
	if !f.CommandLineKnown {
		return machine.Unknown, "the command line could not be read, and only tsc=watchdog has timers watched"
	}
	values, _ := machine.Option(f.CommandLine, "tsc")
	switch {
	case !slices.Contains(values, "watchdog"):
		return machine.No, "without tsc=watchdog no kernel has its timers watched"
	case slices.Contains(values, "nowatchdog"):
		return machine.No, "tsc=nowatchdog wins over tsc=watchdog in the kernels that have timers watched"
	case len(candidates) == 0:
		return machine.Unknown, "tsc=watchdog is given, and the kernel is not known"
	}
	var answer machine.Answer
	var why string
	for i, c := range candidates {
		a, w := timersWatchedBy(c, f)
		if i > 0 && a != answer {
			return machine.Unknown, "the candidates differ: " + why + "; but " + w
		}
		answer, why = a, w
	}
	return answer, why
}

func timersWatchedBy(c Candidate, f TSCFacts) (machine.Answer, string) {
	rules, r, known := rulesOf(c)
	switch {
	case !known:
		return machine.Unknown, "tsc=watchdog has timers watched from 6.3 to 7.0 only, and the release is not known"
	case r.Before("6.3") || !r.Before("7.1"):
		return machine.No, "tsc=watchdog has timers watched from 6.3 to 7.0 only"
	}
	values, _ := machine.Option(f.CommandLine, "tsc")
	if _, notsc := machine.Option(f.CommandLine, "notsc"); notsc || slices.Contains(values, "unstable") {
		return machine.No, "the TSC is given up from the start and watches nobody"
	}
	switch watched, why := watchedBy(rules, r, known, f); watched {
	case machine.Yes:
		return machine.No, "the TSC is watched itself: " + why
	case machine.No:
		return machine.Yes, "tsc=watchdog has the HPET and the PM timer watched by a TSC that is not watched itself: " + why
	default:
		return machine.Unknown, "whether the TSC is watched itself is not known: " + why
	}
}
