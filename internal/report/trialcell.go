package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/stats"
	"github.com/cswatch/cswatch/watchdog"
)

// trialCell describes a tally.
func trialCell(t *campaign.Tally) TrialCell {
	n := t.Count()
	exact := stats.ClopperPearson(n, campaign.Confidence)
	c := TrialCell{
		CellID: t.Cell.ID(), Cell: t.Cell, Release: t.Kernel.Release, Era: t.Kernel.Era,
		Boots: t.Boots, Stable: t.By[campaign.Stable], Unstable: t.By[campaign.Unstable],
		ExactLow: finite(exact.Low), ExactHigh: finite(exact.High),
		Causes: t.Causes, Attempts: attempts(t), Blind: t.By[campaign.Blind], NoVerdict: t.By[campaign.NoVerdict], Panicked: t.By[campaign.Panicked],
		Hung: t.By[campaign.Hung], NeverBooted: t.By[campaign.NeverBooted], Lost: t.By[campaign.Lost], TimedOut: t.TimedOut,
		MedianWallSeconds: medianWall(t.Results), tally: t,
	}
	c.Set = list(c.Set)
	c.Rate, c.RateLow, c.RateHigh = rates(n)
	if retries, by, ok := retriesOf(t); ok {
		c.Retries, c.RetriesBy = &retries, by
	}
	if !t.Cell.Fault.None() {
		noticed := trialNoticed(t)
		c.Noticed = &noticed
	}
	return c
}

// retriesOf is how often the kernel of a cell tries again, and by what. A kernel
// that has no such parameter is not moved by one.
func retriesOf(t *campaign.Tally) (retries int, by string, ok bool) {
	set, given := t.Cell.Retries()
	if !given {
		set = -1
	}
	profile, known := watchdog.ProfileOf(watchdog.Era(t.Kernel.Era))
	switch {
	case !known:
		return set, RetriesGiven, given
	case given && profile.RetriesParameter:
		return set, RetriesGiven, true
	case profile.AutoRetries:
		by = RetriesCPUs
	default:
		by = RetriesDefault
	}
	return profile.Attempts(t.Cell.CPUs, set) - 1, by, true
}

func trialNoticed(t *campaign.Tally) TrialNoticed {
	n := t.Noticed()
	d := TrialNoticed{Noticed: n.Events, Told: n.Trials}
	d.Rate, d.Low, d.High = rates(n)
	d.Times = noticedTimes(t.Results)
	return d
}

// noticedTimes are how long faults went unnoticed, nil where it is known of none.
func noticedTimes(results []*campaign.Result) *TrialTimes {
	var times []int64
	for _, r := range results {
		if ns, known := r.NoticedNS.Get(); known && r.Verdict().Noticed() {
			times = append(times, ns)
		}
	}
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	return &TrialTimes{Known: len(times), Least: times[0], Median: campaign.Quantile(times, 0.5), Most: times[len(times)-1]}
}

// attempts counts at which attempt the kernel gave up.
func attempts(t *campaign.Tally) []TrialAttempts {
	counts := map[int64]int{}
	for _, r := range t.Results {
		if n, told := r.Attempt.Get(); told && r.Outcome == campaign.Unstable {
			counts[n]++
		}
	}
	all := []TrialAttempts{}
	for attempt, count := range counts {
		all = append(all, TrialAttempts{attempt, count})
	}
	slices.SortFunc(all, func(a, b TrialAttempts) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return all
}

// aside is what became of the trials that do not count, in words.
func (c *TrialCell) aside() string {
	var parts []string
	for _, o := range campaign.Outcomes() {
		if n := c.tally.By[o]; n > 0 && !o.Decided() {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcomeWord(o)))
		}
	}
	return strings.Join(parts, ", ")
}

func outcomeWord(o campaign.Outcome) string { return strings.ReplaceAll(string(o), "-", " ") }

// surroundings is the cell without its parameters: what a group of cells shares.
func surroundings(c campaign.Cell) campaign.Cell {
	c.Set = nil
	return c
}

// withoutDelay is the cell's surroundings with nothing delayed.
func withoutDelay(c campaign.Cell) campaign.Cell {
	c = surroundings(c)
	c.Delay = campaign.Delay{}
	return c
}

// delayed reports whether the campaign delays reads in the surroundings of a cell.
func (c *Campaign) delayed(cell campaign.Cell) bool {
	around := withoutDelay(cell)
	return c.delays[around.Key()]
}

// cellName names a cell in a sentence, without what is not there.
func cellName(c *campaign.Cell) string {
	parts := []string{c.Kernel}
	for _, p := range c.Set {
		parts = append(parts, strings.TrimPrefix(p, "clocksource."))
	}
	return strings.Join(append(parts, conditions(c)...), ", ")
}

// conditions are what a kernel boots under.
func conditions(c *campaign.Cell) []string {
	parts := []string{plural(c.CPUs, "CPU", "CPUs")}
	if c.Load != "none" && c.Load != "" {
		parts = append(parts, "load "+c.Load)
	}
	if !c.Delay.None() {
		parts = append(parts, "delay "+c.Delay.String())
	}
	if !c.Fault.None() {
		parts = append(parts, "fault "+c.Fault.String())
	}
	return parts
}

// medianWall is how long a trial took, or nil.
func medianWall(results []*campaign.Result) *float64 {
	var times []int64
	for _, r := range results {
		if r.WallNS > 0 {
			times = append(times, r.WallNS)
		}
	}
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	return finite(float64(campaign.Quantile(times, 0.5)) / 1e9)
}

func durations(results []*campaign.Result, restored bool) TrialDurations {
	var some []*campaign.Result
	for _, r := range results {
		if r.Restored == restored {
			some = append(some, r)
		}
	}
	return TrialDurations{Trials: len(some), MedianSeconds: medianWall(some)}
}
