package trial_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/store"
	"github.com/cswatch/cswatch/internal/trial"
	"github.com/cswatch/cswatch/sim"
)

// Two simulated boots whose every read-back takes far too long.
func Example() {
	slow, err := campaign.ParseDelay("always 400us")
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := &campaign.Plan{
		Schema: campaign.PlanSchema, Executor: campaign.Simulated, Machine: "qemu-skylake", Seed: 1, Window: campaign.Duration(5 * time.Second),
		Grids: []campaign.Grid{{
			Kernels: []string{"5.10.223", "7.3.4"}, CPUs: []int{2}, Loads: []string{"none"},
			Delays: []campaign.Delay{slow}, Faults: []campaign.Fault{{}}, Boots: 1,
		}},
	}
	if err := carryOut(plan); err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// 5.10.223: unstable (read-delay) at attempt 4
	// 7.3.4: stable
}

func carryOut(plan *campaign.Plan) error {
	dir, err := os.MkdirTemp("", "campaign")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text, err := plan.Text()
	if err != nil {
		return err
	}
	s, err := store.Create(filepath.Join(dir, "slow"), "plan.toml", text)
	if err != nil {
		return err
	}
	defer s.Close()
	machine, err := sim.Builtin(plan.Machine)
	if err != nil {
		return err
	}
	r := trial.Runner{
		Plan: plan, Store: s, Slots: 1, Executor: &trial.Simulated{Plan: plan, Machine: machine},
		Tell: func(p trial.Progress) {
			j := p.Result
			fmt.Printf("%s: %s", j.Trial.Cell.Kernel, j.Outcome)
			if j.Outcome == campaign.Unstable {
				fmt.Printf(" (%s) at attempt %d", j.Cause, j.Attempt.Value)
			}
			fmt.Println()
		},
	}
	return r.Run(context.Background(), context.Background())
}
