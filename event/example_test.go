package event_test

import (
	"encoding/json"
	"fmt"

	"github.com/cswatch/cswatch/event"
)

// A skew block is three lines of a log and one incident.
func ExampleCollect() {
	incidents := event.Collect([]event.Event{
		{Kind: event.SkewVerdict, Clocksource: "tsc", CPU: event.Some[int64](3)},
		{Kind: event.ReferenceInterval, Reference: "hpet", IntervalNS: event.Some[int64](515998611)},
		{Kind: event.WatchedInterval, Clocksource: "tsc", IntervalNS: event.Some[int64](515124524)},
	})
	for _, in := range incidents {
		skew, _ := in.Skew()
		fmt.Println(in.Kind, in.Clock, in.Reference, skew, "ns")
	}
	// Output: skew tsc hpet -874087 ns
}

// What the text did not carry is left out.
func ExampleOpt() {
	b, _ := json.Marshal(struct {
		Delay event.Opt[int64]     `json:"delay_ns,omitzero"`
		Now   event.Opt[event.Hex] `json:"now,omitzero"`
	}{Now: event.Some[event.Hex](0x1c29fb9)})
	fmt.Println(string(b))
	// Output: {"now":"0x1c29fb9"}
}
