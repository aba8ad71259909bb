package watchdog

import (
	"cmp"
	"slices"

	"github.com/cswatch/cswatch/clocksource"
)

// Remote reads a clock on this CPU, on another one, and on this one again.
type Remote interface {
	ReadRemote(clock, cpu int) (before, remote, after clocksource.Cycles)
}

// VerifyPlan tells which CPUs the check across CPUs asks.
type VerifyPlan struct {
	// CPUs is clocksource.verify_n_cpus where Given says that it was set: 0 is
	// none, negative is all but the asking one. Without it, and in eras that have
	// no such parameter, the era's default counts.
	CPUs  int
	Given bool
	// Anyway makes the check of a clock that is not current, as the kernel's own
	// test of the watchdog does.
	Anyway bool
	// IDs is the number of possible CPU ids, from which the kernel draws; 0 is the number of online CPUs.
	IDs int
	// Random returns a number from 0 to n-1. nil draws nobody: only the CPU that
	// comes without a draw is asked.
	Random func(n int) int
}

// Verification is the result of the check across CPUs that kernels 5.14 to 7.0
// make after they condemned the current clock. It informs and changes nothing.
type Verification struct {
	Clock   int               `json:"clock"`
	CPU     int               `json:"cpu"`
	Started bool              `json:"started"` // false where the era or the clock has no such check, or none was wanted
	Checked []int             `json:"checked"` // empty although started: not enough CPUs
	Ahead   []int             `json:"ahead"`
	Behind  []int             `json:"behind"`
	Min     clocksource.Nanos `json:"min_ns"` // how long asking one CPU took
	Max     clocksource.Nanos `json:"max_ns"`
}

// VerifyFrom makes the check from a CPU. The kernel makes it only if the
// condemned clock is the current one and has the flag for it.
func (w *Watchdog) VerifyFrom(clock, cpu int, online CPUs, plan VerifyPlan, m Remote) Verification {
	c := &w.setup.Watched[clock]
	v := Verification{Clock: clock, CPU: cpu}
	rule := w.profile.Verify
	if rule.CPUs == "none" || !c.VerifyPerCPU || w.setup.Current != c.Name && !plan.Anyway {
		return v
	}
	n := rule.Default
	if plan.Given && w.profile.VerifyParameter {
		n = plan.CPUs
	}
	switch {
	case rule.CPUs == "all", n < 0, rule.AllIfFew && n > 0 && n >= online.Count():
		v.Checked = others(cpu, online)
	case n == 0:
		return v
	default:
		v.Checked = choose(cpu, n, online, plan, rule.Uniform)
	}
	v.Started = true
	// The kernel's test is of signed 64-bit differences: with a narrower mask it never bites.
	behind := func(d clocksource.Cycles) bool { return int64(d&clocksource.Cycles(c.Mask)) < 0 }
	for i, peer := range v.Checked {
		before, remote, after := m.ReadRemote(clock, peer)
		if behind(remote - before) {
			v.Behind = append(v.Behind, peer)
		}
		if behind(after - remote) {
			v.Ahead = append(v.Ahead, peer)
		}
		took := w.between(c, before, after)
		if i == 0 || took < v.Min {
			v.Min = took
		}
		v.Max = max(v.Max, took)
	}
	return v
}

// others returns all online CPUs but one, ascending.
func others(cpu int, online CPUs) []int {
	var all []int
	for c, left := online.First(), online.Count(); left > 0; c, left = online.Next(c), left-1 {
		if c != cpu {
			all = append(all, c)
		}
	}
	slices.Sort(all)
	return all
}

// choose returns the CPUs to ask, ascending, without the asking one: the lowest
// other one, and n-1 draws. A CPU that is drawn twice is asked once, and a draw
// of the asking CPU is lost.
func choose(cpu, n int, online CPUs, plan VerifyPlan, uniform bool) []int {
	var chosen []int
	add := func(c int) {
		if c != cpu && !slices.Contains(chosen, c) {
			chosen = append(chosen, c)
		}
	}
	first := online.First()
	if first == cpu {
		first = online.Next(first)
	}
	add(first)
	ids := cmp.Or(plan.IDs, online.Count())
	for range n - 1 {
		if plan.Random == nil {
			break
		}
		if !uniform {
			// The first online CPU at or behind a random id, the lowest one behind the
			// last: CPUs behind a gap of the ids are drawn more often.
			add(online.Next(plan.Random(ids) - 1))
			continue
		}
		c := online.First()
		for range plan.Random(online.Count()) {
			c = online.Next(c)
		}
		add(c)
	}
	slices.Sort(chosen)
	return chosen
}
