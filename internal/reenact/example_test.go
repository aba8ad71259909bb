package reenact_test

import (
	"fmt"
	"os"

	"github.com/cswatch/cswatch/internal/reenact"
)

func Example() {
	text, err := os.ReadFile("testdata/7.3.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := reenact.Log(string(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %d lines, %d differ\n", r.Release, r.Compared(), len(r.Differences()))
	for _, l := range r.Strands[reenact.Decision].Ours {
		fmt.Println(l.Text)
	}
	// Output:
	// 7.3.4: 10 lines, 0 differ
	// clocksource: Marking clocksource tsc-early unstable due to frequency skew
	// clocksource: Watchdog                    hpet interval:        551708150ns
	// clocksource: Clocksource            tsc-early interval:        525420060ns
	// tsc: Marking TSC unstable due to clocksource watchdog
}
