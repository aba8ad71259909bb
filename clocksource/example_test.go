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

// A verdict on the TSC of a machine that has booted, and what a write to
// current_clocksource does afterwards: it is accepted, and nothing happens.
func ExampleRegistry() {
	rules := clocksource.RulesAt(6, 12, 0)
	r := clocksource.NewRegistry(rules)
	hpet, err := rules.HPET(23_999_999)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range []clocksource.Source{hpet, rules.TSC(2_299_998, true)} {
		if _, err := r.Register(s); err != nil {
			fmt.Println(err)
			return
		}
	}
	r.BootDone()
	r.SetOneshot(r.CanOneshot())
	r.LateInit()

	effects := append(r.MarkUnstable("tsc"), r.RunPending()...)
	back, err := r.WriteCurrent([]byte("tsc\n"))
	for _, e := range clocksource.Visible(append(effects, back...)) {
		fmt.Println(e.Kind)
	}
	fmt.Printf("%v %q\n", err, r.AvailableText())
	// Output:
	// tsc-marked
	// sched-clock-unstable
	// verify-needed
	// switched
	// override-refused
	// <nil> "hpet \n"
}

// The lines of a verdict tell which frequencies the kernel took both clocks for.
func ExamplePrintedInterval() {
	tsc := clocksource.PrintedInterval{
		Last: 0x864727aa, Now: 0xe756b92c, Mask: clocksource.Mask64, NS: 674289919,
		Delta: clocksource.DeltaMaxRaw, Arithmetic: clocksource.OverflowSafe,
	}
	ranges, err := tsc.Frequencies(clocksource.ScaleKHz)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range ranges {
		fmt.Println("tsc-early:", r.Lowest, "to", r.Highest, "Hz")
	}
	hpet := clocksource.PrintedInterval{Last: 0x341e98e, Now: 0x77a45d3, Mask: clocksource.Mask32, NS: 708025010, Delta: tsc.Delta, Arithmetic: tsc.Arithmetic}
	rates, err := hpet.Rates("hpet")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rates {
		fmt.Println("hpet:", r.Hz, "Hz,", r.Name)
	}
	// Output:
	// tsc-early: 2415000000 to 2415000000 Hz
	// hpet: 100000000 Hz, emulated HPET of QEMU, period 10 ns
}
