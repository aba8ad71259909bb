package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/evidence"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/machine"
)

// leastLive is the shortest time for which counters are watched: a watchdog
// checks twice a second and compares from its second check on.
const leastLive = time.Second

// machineHere is the running machine, as doctor uses it; tests have their own.
type machineHere struct {
	gather   func(context.Context) (doctor.Evidence, error)
	snapshot func() *machine.Snapshot
	open     openWatch
}

func thisMachine() machineHere {
	return machineHere{gather: evidence.Machine{}.Gather, snapshot: snapshotHere, open: live.Open}
}

// checkLive refuses what no machine can do.
func (d *doctorFlags) checkLive(asked bool) error {
	switch {
	case asked && d.live < leastLive:
		return usagef("--live %v: want %v or more: a watchdog checks twice a second", d.live, leastLive)
	case asked && len(d.roots) > 1:
		return usagef("--live goes with at most one --root: the counters are of this machine")
	}
	return nil
}

// watchCounters adds what the live counters of this machine show to the
// evidence. A signal ends the watch and not the answer.
func (d *doctorFlags) watchCounters(ctx context.Context, env *Env, here machineHere, ev *doctor.Evidence) {
	ctx, stop := untilSignal(ctx)
	defer stop()
	snapshot := ev.Snapshot
	if snapshot == nil || !ev.Inputs.Live { // the evidence is of a log or a copy
		snapshot = here.snapshot()
	}
	watch := watchFlags{retries: retriesOf(snapshot), reference: live.Auto}
	era, err := watch.chooseEra(snapshot)
	if err != nil {
		ev.NoLive = &machine.Unreadable{What: "live counters", Reason: err.Error(), HowTo: "cswatch watch --era E12"}
		return
	}
	bar := progress{env: env, what: fmt.Sprintf("watching the live counters by the rules of %s", era.profile.Era)}
	defer bar.clear()
	bar.show(0, 1)
	beQuiet()
	options := watch.options(env, snapshot, era)
	// A kernel that is set to more than 7 retries is not copied where that can cost it its TSC: the run then says why not.
	options.AcceptLosingTSC = riskHere(snapshot).answer == machine.No
	evidence.LiveRun{
		Options: options, Duration: d.live, Release: era.release,
		EraWhy: cmp.Or(era.doubt, era.why), Kernel: snapshot.Kernel.Release, Open: here.open, Progress: bar.show,
	}.Into(ctx, ev)
}

// retriesOf is the number of retries that this kernel is set to, -1 for the era's default.
func retriesOf(s *machine.Snapshot) int {
	n, err := strconv.Atoi(s.Clocksource.Parameters["max_cswd_read_retries"])
	if err != nil || n < 0 || n > live.MaxRetries {
		return -1
	}
	return n
}

// progress is a line on stderr that is drawn in place, on terminals alone.
type progress struct {
	env   *Env
	what  string
	drawn bool
}

func (p *progress) show(done, of int) {
	if !p.env.IsTerminal(p.env.Stderr) || p.env.Getenv("TERM") == "dumb" {
		return
	}
	p.drawn = true
	fmt.Fprintf(p.env.Stderr, "\rcswatch: %s: %3d %% ", p.what, 100*done/of)
}

// clear takes the line away, for what stands in its place.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.env.Stderr, "\r\x1b[K")
	}
}
