package report

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/stats"
)

// TrialSide is a cell as one side of a comparison.
type TrialSide struct {
	CellID string `json:"cell"`
	campaign.Cell
	Boots    int      `json:"boots"` // decided ones: stable or unstable
	Unstable int      `json:"unstable"`
	Rate     *float64 `json:"rate,omitempty"`
	RateLow  *float64 `json:"rate_low,omitempty"`
	RateHigh *float64 `json:"rate_high,omitempty"`
}

func trialSide(t *campaign.Tally) TrialSide {
	n := t.Count()
	s := TrialSide{CellID: t.Cell.ID(), Cell: t.Cell, Boots: n.Trials, Unstable: n.Events}
	s.Set = list(s.Set)
	s.Rate, s.RateLow, s.RateHigh = rates(n)
	return s
}

// TrialComparison is how two cells differ. Without a decided trial on either side
// there is no difference.
type TrialComparison struct {
	A       TrialSide `json:"a"`
	B       TrialSide `json:"b"`
	Differs []string  `json:"differs"` // in what, with both values
	TrialDifference
}

// TrialDifference is the rate of one side less that of the other.
type TrialDifference struct {
	Difference     *float64 `json:"difference,omitempty"`
	DifferenceLow  *float64 `json:"difference_low,omitempty"` // Newcombe
	DifferenceHigh *float64 `json:"difference_high,omitempty"`
	MidP           *float64 `json:"mid_p,omitempty"` // Fisher's, two-sided
}

func trialDifference(a, b *campaign.Tally) TrialDifference {
	d, ok := campaign.Compare(a, b)
	if !ok {
		return TrialDifference{}
	}
	return TrialDifference{finite(d.Difference), finite(d.Interval.Low), finite(d.Interval.High), finite(d.MidP)}
}

// TrialSeries is cells that differ in the value of one parameter only.
type TrialSeries struct {
	Parameter string      `json:"parameter"`
	Values    []float64   `json:"values"` // ascending
	Cells     []TrialSide `json:"cells"`
	// Trend is absent where there is none to test: without boots, without an
	// unstable boot, or with nothing else.
	Trend *TrialTrend `json:"trend,omitempty"`
}

// TrialTrend is the test of Cochran and Armitage, with the values as scores.
type TrialTrend struct {
	stats.Trend
	ExactRises *float64 `json:"exact_p_rises,omitempty"`
	ExactFalls *float64 `json:"exact_p_falls,omitempty"`
}

// series gathers the series of the grids, and compares the ends of each.
func (c *Campaign) series() {
	for _, s := range campaign.SeriesOf(c.grid) {
		d := TrialSeries{Parameter: s.Parameter, Values: s.Values}
		for _, t := range s.Tallies {
			d.Cells = append(d.Cells, trialSide(t))
		}
		if trend := stats.CochranArmitage(s.Counts()); finite(trend.Z) != nil {
			d.Trend = &TrialTrend{trend, finite(trend.ExactRises), finite(trend.ExactFalls)}
		}
		c.Series = append(c.Series, d)
		first, last := s.Tallies[0], s.Tallies[len(s.Tallies)-1]
		c.Comparisons = append(c.Comparisons, trialComparison(first, last))
	}
}

func trialComparison(a, b *campaign.Tally) TrialComparison {
	return TrialComparison{A: trialSide(a), B: trialSide(b), Differs: list(differences(&a.Cell, &b.Cell)), TrialDifference: trialDifference(a, b)}
}

// TrialSearch is the smallest fault that is noticed, as far as it was found.
type TrialSearch struct {
	Search int `json:"search"` // its number in the plan, from 0
	campaign.Cell
	Where     string       `json:"where"`                // step, or cpuN
	NoticedNS int64        `json:"noticed_ns,omitempty"` // the smallest amount that most trials noticed
	MissedNS  int64        `json:"missed_ns,omitempty"`  // the greatest below it that most did not
	Over      bool         `json:"over"`
	Why       string       `json:"why,omitempty"` // it ended without an edge
	Points    []TrialPoint `json:"points"`
	Times     *TrialTimes  `json:"after_ns,omitempty"` // how long the steps went unnoticed that were noticed, of all amounts
}

// TrialPoint is an amount that was tried.
type TrialPoint struct {
	ByNS    int64    `json:"by_ns"`
	Noticed int      `json:"noticed"`
	Told    int      `json:"told"` // noticed or stable
	Aside   int      `json:"aside"`
	Rate    *float64 `json:"rate,omitempty"`
	Low     *float64 `json:"rate_low,omitempty"`
	High    *float64 `json:"rate_high,omitempty"`
}

func trialSearch(e *campaign.Edge, tallies []campaign.Tally) TrialSearch {
	s := TrialSearch{Search: e.Search, Cell: e.Cell, Where: e.Where, NoticedNS: int64(e.Noticed), MissedNS: int64(e.Missed), Over: e.Over, Why: e.Why, Points: []TrialPoint{}}
	s.Set = list(s.Set)
	var results []*campaign.Result
	for _, at := range e.Points {
		cell := e.CellAt(at.By)
		for i := range tallies {
			if tallies[i].Cell.ID() == cell.ID() {
				results = append(results, tallies[i].Results...)
			}
		}
		p := TrialPoint{ByNS: int64(at.By), Noticed: at.Count.Events, Told: at.Count.Trials, Aside: at.Aside}
		p.Rate, p.Low, p.High = rates(at.Count)
		s.Points = append(s.Points, p)
	}
	s.Times = noticedTimes(results)
	return s
}

// TrialMeasured is what the read-backs of a group of cells say of the delays that
// were programmed, or of the same threshold where none were.
type TrialMeasured struct {
	campaign.Cell            // without parameters
	Control       bool       `json:"control"` // nothing was delayed
	AtLeastNS     int64      `json:"at_least_ns"`
	Trials        int        `json:"trials"` // with checks that were seen
	Attempts      int        `json:"attempts"`
	Delayed       int        `json:"delayed"`
	In            TrialDraws `json:"in"`  // out of an episode
	Out           TrialDraws `json:"out"` // within one
	MedianNS      int64      `json:"delay_median_ns,omitempty"`
	P95NS         int64      `json:"delay_p95_ns,omitempty"`
	MostNS        int64      `json:"delay_most_ns,omitempty"`
}

// TrialDraws is how often a chain of delays changed its state, and was asked to.
type TrialDraws struct {
	Asked  float64  `json:"asked"`
	Events int      `json:"events"`
	Draws  int      `json:"draws"`
	Rate   *float64 `json:"rate,omitempty"`
	Low    *float64 `json:"rate_low,omitempty"`
	High   *float64 `json:"rate_high,omitempty"`
}

// measure looks at the read-backs of each group with delays, and of its control, of real kernels.
func (c *Campaign) measure() {
	if c.Inputs.Executor == campaign.Simulated {
		return // what it reads is not kept
	}
	groups := map[string][]*campaign.Result{}
	var order []campaign.Cell
	for i := range c.grid {
		group := surroundings(c.grid[i].Cell)
		if _, there := groups[group.Key()]; !there {
			order = append(order, group)
		}
		groups[group.Key()] = append(groups[group.Key()], c.grid[i].Results...)
	}
	for i := range order {
		delay := order[i].Delay
		if delay.None() {
			continue
		}
		c.Measured = append(c.Measured, measured(order[i], groups[order[i].Key()], delay, false))
		control := withoutDelay(order[i])
		if results, there := groups[control.Key()]; there {
			c.Measured = append(c.Measured, measured(control, results, delay, true))
		}
	}
}

func measured(cell campaign.Cell, results []*campaign.Result, delay campaign.Delay, control bool) TrialMeasured {
	m := campaign.Measure(results, delay.Low)
	d := TrialMeasured{Cell: cell, Control: control, AtLeastNS: int64(delay.Low), Attempts: m.Attempts, Delayed: len(m.DelaysNS), In: draws(m.In), Out: draws(m.Out)}
	d.Set = []string{}
	if !control {
		d.In.Asked, d.Out.Asked = delay.In, delay.Out
	}
	for _, r := range results {
		if len(r.Checks) > 0 {
			d.Trials++
		}
	}
	if n := len(m.DelaysNS); n > 0 {
		d.MedianNS, d.P95NS, d.MostNS = campaign.Quantile(m.DelaysNS, 0.5), campaign.Quantile(m.DelaysNS, 0.95), m.DelaysNS[n-1]
	}
	return d
}

func draws(n stats.Count) TrialDraws {
	d := TrialDraws{Events: n.Events, Draws: n.Trials}
	d.Rate, d.Low, d.High = rates(n)
	return d
}

// TrialCondemnation is a trial whose kernel gave the TSC up, as far as it told.
type TrialCondemnation struct {
	Trial   string         `json:"trial"`
	Cause   campaign.Cause `json:"cause"`
	DelayNS *int64         `json:"delay_ns,omitempty"`
	SkewNS  *int64         `json:"skew_ns,omitempty"`
	Attempt *int64         `json:"attempt,omitempty"`
	CPU     *int64         `json:"cpu,omitempty"`
	AtNS    *int64         `json:"at_ns,omitempty"` // by the kernel log
	Clock   string         `json:"clock"`
	Message string         `json:"message"`
}

func condemnations(t *campaign.Tally) (all []TrialCondemnation) {
	for _, r := range t.Results {
		if r.Outcome != campaign.Unstable {
			continue
		}
		d := TrialCondemnation{Trial: r.Trial.ID, Cause: r.Cause, Clock: r.Clock, Message: r.Message}
		for _, told := range []struct {
			to  **int64
			get func() (int64, bool)
		}{{&d.DelayNS, r.DelayNS.Get}, {&d.SkewNS, r.SkewNS.Get}, {&d.Attempt, r.Attempt.Get}, {&d.CPU, r.CPU.Get}, {&d.AtNS, r.AtNS.Get}} {
			if v, ok := told.get(); ok {
				*told.to = &v
			}
		}
		all = append(all, d)
	}
	return all
}

// differences are the things in which two cells differ, with both values.
func differences(a, b *campaign.Cell) (all []string) {
	add := func(what, x, y string) {
		if x != y {
			all = append(all, fmt.Sprintf("%s: %s, %s", what, x, y))
		}
	}
	add("kernel", a.Kernel, b.Kernel)
	x, y := settings(a), settings(b)
	for _, p := range a.Set {
		name := settingName(p)
		add(name, x[name], or(y[name], "default"))
	}
	for _, p := range b.Set {
		if name := settingName(p); x[name] == "" {
			add(name, "default", y[name])
		}
	}
	add("CPUs", fmt.Sprint(a.CPUs), fmt.Sprint(b.CPUs))
	add("load", a.Load, b.Load)
	add("delay", a.Delay.String(), b.Delay.String())
	add("fault", a.Fault.String(), b.Fault.String())
	return all
}

func settings(c *campaign.Cell) map[string]string {
	all := map[string]string{}
	for _, p := range c.Set {
		name, value, _ := strings.Cut(p, "=")
		all[name] = value
	}
	return all
}

func settingName(p string) string {
	name, _, _ := strings.Cut(p, "=")
	return name
}
