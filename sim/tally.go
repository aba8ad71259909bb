package sim

import (
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

	Checks   uint64 `json:"checks"`
	Retried  uint64 `json:"retried"`   // checks that read more than once and were accepted
	Skipped  uint64 `json:"skipped"`   // checks
	TimedOut uint64 `json:"timed_out"` // checks
	Troubled uint64 `json:"troubled"`  // boots with a retry, a skip or a time-out

	// First is the unstable boot with the lowest number, and its verdict.
	First   uint64           `json:"first_boot"`
	Verdict watchdog.Verdict `json:"first_verdict"`

	// Times are when the TSC was condemned, since the fault began or else since the
	// start of the kernel, in bins of Width; those in the last one came later still.
	Width clocksource.Nanos `json:"bin_ns"`
	Times []uint64          `json:"times,omitempty"`
}

// timeBins is how finely the times of condemnations are kept: memory is the same
// for any number of boots.
const timeBins = 4096

// NewTally returns an empty tally for the cell.
func (c *Cell) NewTally() Tally {
	return Tally{Width: max((c.model.Window-c.fault.From)/timeBins, 1)}
}

// Add counts a boot.
func (t *Tally) Add(boot uint64, o *Outcome, from clocksource.Nanos) {
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
	if t.Times == nil {
		t.Times = make([]uint64, timeBins)
	}
	bin := max(o.At-from, 0) / t.Width
	t.Times[min(bin, timeBins-1)]++
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
		{&t.Boots, o.Boots}, {&t.Unstable, o.Unstable}, {&t.Delay, o.Delay}, {&t.Skew, o.Skew}, {&t.CPUs, o.CPUs}, {&t.Blind, o.Blind},
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

// Quantile returns the time by which a share q of the condemnations had come, to
// the next bin, and false where there was none.
func (t *Tally) Quantile(q float64) (clocksource.Nanos, bool) {
	if t.Unstable == 0 {
		return 0, false
	}
	rank := uint64(q * float64(t.Unstable))
	var sum uint64
	for i, n := range t.Times {
		if sum += n; sum > rank || sum == t.Unstable {
			return clocksource.Nanos(i+1) * t.Width, true
		}
	}
	return 0, false
}

// Run simulates the boots from number first to before number end.
func (r *Runner) Run(seed, first, end uint64) Tally {
	t := r.cell.NewTally()
	for n := first; n < end; n++ {
		o := r.Boot(seed, n)
		t.Add(n, &o, r.cell.fault.From)
	}
	return t
}
