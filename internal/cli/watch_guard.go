package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// acceptLoss is the flag without which nothing is done that can cost a machine its TSC.
const acceptLoss = "accept-losing-tsc-until-reboot"

// guard is an answer about what a kernel's watchdog does with the TSC of this machine, and why.
type guard struct {
	answer machine.Answer
	why    string
}

// riskHere tells whether slow reads of the reference can make a kernel give up its TSC. It asks for the running kernel, whatever era is watched with.
func riskHere(s *machine.Snapshot) guard {
	answer, why := watchdog.LatencyCanCondemn(watchdog.Detect(watchdog.IdentityOf(s)).Candidates, tscFacts(s))
	return guard{answer, why}
}

// tscWatched tells whether a kernel of the era that is run would watch the TSC of this
// machine. Where the era is that of the running kernel, its vendor counts, too.
func tscWatched(named string, era chosenEra, s *machine.Snapshot) guard {
	candidates := []watchdog.Candidate{{Era: era.profile.Era, Release: era.release}}
	if named == "" {
		found := watchdog.Detect(watchdog.IdentityOf(s)).Candidates
		of := func(c watchdog.Candidate) bool { return c.Era == era.profile.Era }
		if i := slices.IndexFunc(found, of); i >= 0 {
			candidates = found[i : i+1]
		}
	}
	answer, why := watchdog.TSCWatched(candidates, tscFacts(s))
	return guard{answer, why}
}

// tscFacts are what decides whether the TSC of this machine is watched.
func tscFacts(s *machine.Snapshot) watchdog.TSCFacts {
	return watchdog.TSCFacts{
		Arch: s.Arch, Flags: s.CPU.Flags, Nodes: s.CPU.Nodes, Packages: s.CPU.Packages,
		CommandLine: s.CommandLine, CommandLineKnown: s.CommandLine != "",
	}
}

// can is the verb for what is known to be possible, or not known to be impossible.
func (g guard) can() string {
	if g.answer == machine.Yes {
		return "can"
	}
	return "may"
}

// explain adds to the refusal of a watch that would load the reference why it is one here.
func (g guard) explain(err error) error {
	if !errors.Is(err, hw.ErrTooFast) {
		return err
	}
	return fmt.Errorf("%w, or accept the loss with --%s: latency %s condemn the TSC on this machine: %s", err, acceptLoss, g.can(), g.why)
}
