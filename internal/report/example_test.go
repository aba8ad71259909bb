package report_test

import (
	"fmt"
	"os"
	"time"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/report"
)

func Example() {
	d := &doctor.Diagnosis{
		Status: doctor.StatusWarning, Summary: "the kernel gave up a TSC that the evidence clears (reference-read-delay); hpet is in use",
		KernelTrustsTSC: doctor.TrustNo, CurrentClock: "hpet", TSCVerdict: doctor.Good,
		Findings: []doctor.Finding{{ID: "reference-read-delay", Severity: doctor.Warning}},
	}
	if err := report.NPD(os.Stdout, d); err != nil {
		fmt.Println(err)
	}
	fmt.Println("exit code", report.NPDExitCode(d, "warning"))
	// Output:
	// hpet in use; TSC given up (evidence: cleared): reference-read-delay
	// exit code 1
}

func ExampleSafe() {
	fmt.Println(report.Safe("a line\x1b[2K of \u202ea log"))
	// Output: a line\x1b[2K of \u202ea log
}

// One cell of three boots, of which one was condemned and one was lost.
func ExampleTrialText() {
	plan := &campaign.Plan{
		Schema: campaign.PlanSchema, Name: "small", Executor: campaign.InQEMU, Seed: 1, Window: campaign.Duration(10 * time.Second),
		Grids: []campaign.Grid{{Kernels: []string{"5.10"}, Set: []string{campaign.RetriesParameter + "=3"}, CPUs: []int{2}, Loads: []string{"none"},
			Delays: []campaign.Delay{{}}, Faults: []campaign.Fault{{}}, Boots: 3}},
	}
	trials, err := plan.Next(func(string) (campaign.Verdict, bool) { return campaign.Verdict{}, false })
	if err != nil {
		fmt.Println(err)
		return
	}
	var results []*campaign.Result
	for i, outcome := range []campaign.Outcome{campaign.Stable, campaign.Unstable, campaign.Lost} {
		r := &campaign.Result{Trial: trials[i]}
		if r.Outcome = outcome; outcome == campaign.Unstable {
			r.Cause = campaign.ReadDelay
		}
		results = append(results, r)
	}
	c, err := report.CampaignOf(plan, results, nil, false, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := report.TrialText(os.Stdout, c, report.TrialOptions{TextOptions: report.TextOptions{Width: 80}}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Campaign small: real kernels in QEMU, each followed for 10 s, seed 1; intervals
	// of 95 % by Wilson
	//   3 trials are over, none of the plan missing
	//
	// 5.10, 2 CPUs
	//   clocksource.max_cswd_read_retries = 3
	//     Reboots: 3  TSC unstable: 1
	//     rate        50.0 % (9.5 to 90.5) of 2 that were decided
	//     because of  latency
	//     aside       1 lost
	//
	// Condemnations
	//   5.10, max_cswd_read_retries=3, 2 CPUs
	//     319af0b8-0002: latency
	//
	// Warnings
	//   ! many-lost: 1 of 3 trials were lost: if that has to do with what they would
	//     have come to, the rates are wrong
	//   ! few-decided: fewer than 10 trials were decided, in 1 cell: 5.10,
	//     max_cswd_read_retries=3, 2 CPUs
	//   ! many-aside: more than a tenth of the trials do not count, and they may
	//     differ from those that do, in 1 cell: 5.10, max_cswd_read_retries=3, 2 CPUs
}
