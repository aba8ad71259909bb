package sim_test

import (
	"fmt"

	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/watchdog"
)

// The question of the request for comments: how many of 400 boots lose their TSC
// with 3 retries, and with 50? It counted 42 and 1.
func ExampleRunner_Run() {
	m, err := sim.Builtin("e3-1240v5")
	if err != nil {
		fmt.Println(err)
		return
	}
	profile, _ := watchdog.ProfileOf(watchdog.E5)
	for _, retries := range []int{3, 50} {
		cell, err := sim.NewCell(m, profile, retries, sim.Fault{})
		if err != nil {
			fmt.Println(err)
			return
		}
		t := cell.NewRunner().Run(1, 0, 400)
		fmt.Printf("retries %2d: Reboots: %d  TSC unstable: %d\n", retries, t.Boots, t.Unstable)
	}
	// Output:
	// retries  3: Reboots: 400  TSC unstable: 56
	// retries 50: Reboots: 400  TSC unstable: 2
}
