package doctor_test

import (
	"fmt"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
)

func ExampleExamine() {
	d := doctor.Examine(doctor.Evidence{Events: []event.Event{
		{Kind: event.DelayVerdict, Reference: "hpet", DelayNS: event.Some[int64](60666), Attempt: event.Some[int64](4)},
		{Kind: event.TSCUnstable, Clocksource: "tsc", Detail: "clocksource watchdog"},
		{Kind: event.Switched, Clocksource: "hpet"},
	}})
	fmt.Println(d.Status, d.TSCVerdict, d.FinalClock)
	fmt.Println(d.Findings[0].ID)
	// Output:
	// warning good hpet
	// reference-read-delay
}
