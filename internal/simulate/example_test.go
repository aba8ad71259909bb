package simulate_test

import (
	"context"
	"fmt"

	"github.com/cswatch/cswatch/internal/simulate"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/watchdog"
)

func Example() {
	machine, err := sim.Builtin("milan-x")
	if err != nil {
		fmt.Println(err)
		return
	}
	var specs []simulate.Spec
	for _, era := range []watchdog.Era{watchdog.E5, watchdog.E12} {
		profile, _ := watchdog.ProfileOf(era)
		specs = append(specs, simulate.Spec{Model: machine, Profile: profile, Retries: -1})
	}
	run := simulate.Runner{Seed: 1, Boots: 200, Jobs: 2}
	results, err := run.Cells(context.Background(), specs)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Printf("%s: Reboots: %d  TSC unstable: %d\n", r.Profile.Era, r.Tally.Boots, r.Tally.Unstable)
	}
	// Output:
	// E5: Reboots: 200  TSC unstable: 86
	// E12: Reboots: 200  TSC unstable: 0
}
