package hw_test

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/machine"
)

func ExampleIndependent() {
	here := hw.Surroundings{Clocksource: "tsc", Guest: machine.No}
	for _, reference := range []string{hw.HPET, hw.MonotonicRaw} {
		i := hw.Independent(reference, here)
		fmt.Printf("%s: %s\n", reference, i.Independent)
	}
	// Output:
	// hpet: yes
	// monotonic_raw: no
}

func ExampleExchange_Backwards() {
	e := hw.Exchange{Control: []clocksource.Cycles{100, 120, 140}, Remote: []clocksource.Cycles{90, 105, 125}}
	fmt.Println("the remote CPU's counter is behind by at least", e.Backwards(), "cycles")
	// Output: the remote CPU's counter is behind by at least 15 cycles
}
