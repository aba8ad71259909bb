package sim

import (
	"fmt"
	"slices"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// Tally counts boots of one cell. Tallies of different boots add up, in any order,
// to the same.
type Tally struct {
	Boots    uint64 `json:"boots"`
	Unstable uint64 `json:"unstable"`
	Delay    uint64 `json:"condemned_delay"` // of the unstable ones, by reason
	Skew     uint64 `json:"condemned_skew"`
	CPUs     uint64 `json:"condemned_cpus"`
	Blind    uint64 `json:"blind"` // checks were suspended beyond the window, and until then nothing was found
	// Detected are those of a cell with a fault that were condemned for what the
	// clock showed, since the fault began: not for latency, and not before.
	Detected uint64 `json:"detected"`

	Checks   uint64 `json:"checks"`
	Retried  uint64 `json:"retried"`   // checks that read more than once and did not condemn
	Skipped  uint64 `json:"skipped"`   // checks
	TimedOut uint64 `json:"timed_out"` // checks
	Troubled uint64 `json:"troubled"`  // boots with a retry, a skip or a time-out

	// First is the unstable boot with the lowest number, and its verdict.
	First   uint64           `json:"first_boot"`
	Verdict watchdog.Verdict `json:"first_verdict"`

	// Times are when the TSC was condemned, since the start of the kernel, in bins of
	// Width; those in the last one came later still. Where the cell has a fault they are
	// of the detected boots only, since the fault began.
	Width clocksource.Nanos `json:"bin_ns"`
	Times []uint64          `json:"times,omitempty"`
}

// timeBins is how finely the times of condemnations are kept: memory is the same
// for any number of boots.
const timeBins = 4096

// NewTally returns an empty tally for the cell.
func (c *Cell) NewTally() Tally {
	return Tally{Width: max((c.model.Window-c.fault.since())/timeBins, 1)}
}

// Add counts a boot. The fault is that of the cell.
func (t *Tally) Add(boot uint64, o *Outcome, f *Fault) {
	t.Boots++
	t.Checks += o.Checks
	t.Retried += o.Retried
	t.Skipped += o.Skipped
	t.TimedOut += o.TimedOut
	if o.Retried+o.Skipped+o.TimedOut > 0 {
		t.Troubled++
	}
	if o.Blind {
		t.Blind++
	}
	if !o.Unstable() {
		return
	}
	if t.Unstable == 0 || boot < t.First {
		t.First, t.Verdict = boot, o.Verdict
	}
	t.Unstable++
	switch o.Verdict.Kind {
	case watchdog.CondemnedDelay:
		t.Delay++
	case watchdog.CondemnedSkew:
		t.Skew++
	case watchdog.CondemnedCPUs:
		t.CPUs++
	}
	if !f.None() {
		if o.Verdict.Kind == watchdog.CondemnedDelay || o.At < f.From {
			return
		}
		t.Detected++
	}
	if t.Times == nil {
		t.Times = make([]uint64, timeBins)
	}
	t.Times[min((o.At-f.since())/t.Width, timeBins-1)]++
}

// since is when the fault begins, and 0 where there is none.
func (f *Fault) since() clocksource.Nanos {
	if f.None() {
		return 0
	}
	return f.From
}

// Merge adds the boots of another tally of the same cell.
func (t *Tally) Merge(o *Tally) {
	if o.Unstable > 0 && (t.Unstable == 0 || o.First < t.First) {
		t.First, t.Verdict = o.First, o.Verdict
	}
	for _, sum := range []struct {
		to   *uint64
		from uint64
	}{
		{&t.Boots, o.Boots}, {&t.Unstable, o.Unstable}, {&t.Delay, o.Delay}, {&t.Skew, o.Skew}, {&t.CPUs, o.CPUs}, {&t.Blind, o.Blind}, {&t.Detected, o.Detected},
		{&t.Checks, o.Checks}, {&t.Retried, o.Retried}, {&t.Skipped, o.Skipped}, {&t.TimedOut, o.TimedOut}, {&t.Troubled, o.Troubled},
	} {
		*sum.to += sum.from
	}
	if t.Times == nil {
		t.Times = slices.Clone(o.Times)
		return
	}
	for i, n := range o.Times {
		t.Times[i] += n
	}
}

// Timed returns how many boots Times holds.
func (t *Tally) Timed() uint64 {
	var n uint64
	for _, k := range t.Times {
		n += k
	}
	return n
}

// Ranked returns the time at a rank among Times, the first of which is 0, to the
// end of its bin, and false where there are not so many.
func (t *Tally) Ranked(rank uint64) (clocksource.Nanos, bool) {
	var sum uint64
	for i, n := range t.Times {
		if sum += n; sum > rank {
			return clocksource.Nanos(i+1) * t.Width, true
		}
	}
	return 0, false
}

// Restore adds n boots to a bin of Times, as when a tally that was kept is read back.
func (t *Tally) Restore(bin, n uint64) error {
	if bin >= timeBins {
		return fmt.Errorf("bin %d of times: there are %d", bin, timeBins)
	}
	if t.Times == nil {
		t.Times = make([]uint64, timeBins)
	}
	t.Times[bin] += n
	return nil
}

// Quantile returns the time by which a share q of the boots in Times were
// condemned, to the end of its bin, and false where there was none.
func (t *Tally) Quantile(q float64) (clocksource.Nanos, bool) {
	n := t.Timed()
	if n == 0 {
		return 0, false
	}
	return t.Ranked(min(uint64(q*float64(n)), n-1))
}

// Run simulates the boots from number first to before number end.
func (r *Runner) Run(seed, first, end uint64) Tally {
	t := r.cell.NewTally()
	for n := first; n < end; n++ {
		o := r.Boot(seed, n)
		t.Add(n, &o, &r.cell.fault)
	}
	return t
}
