package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/kmsg"
	"github.com/cswatch/cswatch/klog"
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

// explain adds to the refusal of a watch that would load the reference why it is one here.
func (g guard) explain(err error) error {
	if !errors.Is(err, hw.ErrTooFast) {
		return err
	}
	may := "can condemn"
	if g.answer == machine.Unknown {
		may = "may condemn"
	}
	return fmt.Errorf("%w, or accept the loss with --%s: latency %s the TSC on this machine: %s", err, acceptLoss, may, g.why)
}

// kernelNews tells what the kernel logs; tests have their own.
type kernelNews interface {
	News() ([]byte, error)
	Close() error
}

// followKernel follows the log of the running kernel.
func followKernel() (kernelNews, error) {
	f, err := kmsg.Config{}.Follow()
	if err != nil {
		return nil, fmt.Errorf("follow the kernel's log, which has to end a run that loads a counter: %w", err)
	}
	return f, nil
}

// errKernelComplains ends a run that loads a counter.
var errKernelComplains = errors.New("the kernel's own watchdog has trouble with its reads")

// complaint reads what the kernel has logged and fails with its first line about reads
// that were late, or about a clock that it gave up.
func complaint(log kernelNews) error {
	news, err := log.News()
	if err != nil {
		return fmt.Errorf("follow the kernel's log during a run that loads a counter: %w", err)
	}
	if len(news) == 0 {
		return nil
	}
	r := klog.NewReader(bytes.NewReader(news), "/dev/kmsg")
	for r.Next() {
		switch e := r.Event(); e.Kind {
		case event.Retried, event.BusyReference, event.TestSkipped, event.LongInterval, event.ReadTimedOut, event.RemoteTimedOut,
			event.DelayVerdict, event.SkewVerdict, event.DeltaVerdict, event.FrequencyVerdict, event.CoarseCheck, event.TSCUnstable:
			return fmt.Errorf("%w (%q): this run was stopped before it costs the TSC", errKernelComplains, e.Text)
		}
	}
	if err := r.Err(); err != nil && err != io.EOF {
		return fmt.Errorf("read the kernel's log during a run that loads a counter: %w", err)
	}
	return nil
}
