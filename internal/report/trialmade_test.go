package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/campaign"
)

// madePlan is a campaign with everything that a report tells of.
func madePlan() *campaign.Plan {
	delay, err := campaign.ParseDelay("burst in=0.02 out=0.2 120us..300us")
	if err != nil {
		panic(err)
	}
	none, step := []campaign.Fault{{}}, campaign.Fault{Kind: campaign.Step, CPU: campaign.AllCPUs, By: time.Millisecond}
	restore := campaign.Fault{Kind: campaign.Restore, CPU: campaign.AllCPUs}
	still, idle := []campaign.Delay{{}}, []string{"none"}
	return &campaign.Plan{
		Schema: campaign.PlanSchema, Name: "made", Executor: campaign.InQEMU, Accelerator: "tcg", Seed: 7, Window: campaign.Duration(10 * time.Second),
		Grids: []campaign.Grid{
			{Kernels: []string{"5.10"}, Set: []string{campaign.RetriesParameter + "=1,3,10"}, CPUs: []int{2}, Loads: idle, Delays: []campaign.Delay{delay}, Faults: none, Boots: 40},
			{Kernels: []string{"5.10"}, CPUs: []int{2}, Loads: idle, Delays: still, Faults: none, Boots: 20},
			{Kernels: []string{"7.3"}, CPUs: []int{4}, Loads: []string{"cpu"}, Delays: still, Faults: none, Boots: 6},
			{Kernels: []string{"6.12"}, CPUs: []int{2}, Loads: idle, Delays: still, Faults: []campaign.Fault{restore, step}, Boots: 10},
			{Kernels: []string{"6.12"}, CPUs: []int{2}, Loads: idle, Delays: still, Faults: []campaign.Fault{{Kind: campaign.Rate, CPU: campaign.AllCPUs, PPM: 50_000}}, Boots: 12},
		},
		Searches: []campaign.Search{{Kernels: []string{"5.10", "6.12"}, CPUs: []int{2}, Loads: idle, Fault: "step",
			Low: campaign.Duration(10 * time.Microsecond), High: campaign.Duration(10 * time.Millisecond), Ratio: 1.5, Boots: 4}},
	}
}

// carriedOut carries a plan out by a rule, up to a number of trials; 0 for all.
func carriedOut(t *testing.T, plan *campaign.Plan, rule func(*campaign.Result), most int) *Campaign {
	t.Helper()
	if err := plan.Validate(); err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]campaign.Verdict{}
	known := func(id string) (campaign.Verdict, bool) { v, ok := verdicts[id]; return v, ok }
	var results []*campaign.Result
	for {
		next, err := plan.Next(known)
		if err != nil {
			t.Fatal(err)
		}
		for i, trial := range next {
			if most > 0 && len(results) == most {
				return campaignOf(t, plan, results, plan.Edges(known), true, len(next)-i)
			}
			r := &campaign.Result{Trial: trial, Executor: plan.Executor, Accelerator: plan.Accelerator, Clocksource: "tsc", End: campaign.EndWhole}
			rule(r)
			results, verdicts[trial.ID] = append(results, r), r.Verdict()
		}
		if len(next) == 0 {
			return campaignOf(t, plan, results, plan.Edges(known), false, 0)
		}
	}
}

func campaignOf(t *testing.T, plan *campaign.Plan, results []*campaign.Result, edges []campaign.Edge, running bool, pending int) *Campaign {
	t.Helper()
	c, err := CampaignOf(plan, results, edges, running, pending)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// madeRule makes the result of a trial from its cell and its number alone.
func madeRule(r *campaign.Result) {
	cell, n := &r.Trial.Cell, r.Trial.Repetition
	r.Kernel = map[string]campaign.Kernel{
		"5.10": {Release: "5.10.0-32-amd64", Era: "LTS-5.10.223"}, "6.12": {Release: "6.12.117+deb13-amd64", Era: "E11"}, "7.3": {Release: "7.3.4+deb13-amd64", Era: "E12"},
	}[cell.Kernel]
	r.Outcome, r.Why, r.WallNS = campaign.Stable, "the window passed, and the TSC is still in use", int64(12_400+10*n)*1e6
	if cell.Fault.Restored() {
		r.Restored, r.WallNS = true, int64(4_100+10*n)*1e6
		madeStep(r)
		return
	}
	r.Checks = madeChecks(r.Trial)
	retries, _ := cell.Retries()
	switch {
	case cell.Fault.Kind == campaign.Rate && n == 4:
		r.Outcome, r.Why, r.End = campaign.Panicked, "the kernel panicked: not syncing: softlockup", campaign.EndPanicked
	case cell.Fault.Kind == campaign.Rate && n < 9:
		r.Outcome, r.Cause, r.Why, r.Clock, r.SkewNS = campaign.Unstable, campaign.Skew, "the TSC ran off against its reference", "tsc-early", event.Some[int64](25_000_000)
	case cell.Kernel == "7.3":
		if n == 2 {
			r.TimedOut = 1
		}
	case cell.Delay.None():
		if n == 5 {
			madeDelay(r, 4)
		}
	case retries == 3 && n == 7:
		r.Outcome, r.Why, r.End = campaign.Hung, "process 1 had not ended after 40 s", campaign.EndHung
	case retries == 3 && n == 9:
		r.Outcome, r.Why, r.End = campaign.Lost, "QEMU was killed by signal 9", campaign.EndDied
	case retries == 3 && n > 33:
		r.Outcome, r.Why = campaign.Blind, "a skip suspended the checks for five minutes"
	case n <= map[int]int{1: 29, 3: 15, 10: 2}[retries]:
		madeDelay(r, int64(retries)+1)
	}
}

func madeDelay(r *campaign.Result, attempt int64) {
	n := int64(r.Trial.Repetition)
	delay, cpu := 160_000+n*1_003, n%2
	r.Outcome, r.Cause, r.Why, r.Clock, r.Clocksource = campaign.Unstable, campaign.ReadDelay, "reading the clocks took too long", "tsc", "hpet"
	r.DelayNS, r.Attempt, r.CPU, r.AtNS = event.Some(delay), event.Some(attempt), event.Some(cpu), event.Some(2_500_000_000+n*500_250_000)
	r.Message = fmt.Sprintf("clocksource: timekeeping watchdog on CPU%d: hpet read-back delay of %dns, attempt %d, marking unstable", cpu, delay, attempt)
}

func madeStep(r *campaign.Result) {
	n := r.Trial.Repetition
	by := r.Trial.Cell.Fault.By
	least := map[string]time.Duration{"5.10": 200 * time.Microsecond, "6.12": 450 * time.Microsecond}[r.Trial.Cell.Kernel]
	switch {
	case r.Trial.Cell.Fault.Kind == campaign.Restore:
	case by == time.Millisecond && n == 3: // the machine was slow just then
		madeDelay(r, 3)
	case by >= least || by > least/2 && n == 1:
		r.Outcome, r.Cause, r.Why, r.Clock = campaign.Unstable, campaign.Skew, "the TSC ran off against its reference", "tsc"
		r.SkewNS, r.NoticedNS, r.AtNS = event.Some(int64(by)), event.Some(int64(140+61*n)*1e6), event.Some(int64(9e9))
		r.Message = "clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable because the skew is too large:"
	}
}

// madeChecks are read-backs with episodes of delays, where there are any.
func madeChecks(trial campaign.Trial) (all []campaign.Check) {
	chain := trial.Cell.Delay.Chain(trial.Seed)
	for i := range 12 {
		ns := int64(24_000+700*i) + int64(chain.Next()*11/10)
		all = append(all, campaign.Check{AtNS: int64(i) * 500_000_000, CPU: i % trial.Cell.CPUs, DelaysNS: []int64{ns}})
	}
	return all
}
