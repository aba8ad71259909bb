package clocksource_test

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
)

// A registration line tells the frequency that the kernel gave the clock.
func Example() {
	set, err := clocksource.Frequencies(0x212733415c7, 440795236380, clocksource.Mask64, clocksource.ScaleFor("tsc"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d to %d Hz\n", set.Lowest, set.Highest)

	c, err := clocksource.Register(uint32(set.Lowest/1000), clocksource.ScaleKHz, clocksource.Mask64)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Between(1000, 1000+1149999000, clocksource.Mask64, clocksource.DeltaMaxRaw, clocksource.OverflowSafe), "ns")
	// Output:
	// 2299998000 to 2299998000 Hz
	// 499999994 ns
}
