package guest_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/guest"
)

// A plan that watches for ten seconds, or until the TSC is condemned.
func ExamplePlan_Words() {
	p := guest.Plan{Window: 10 * time.Second, EndOn: []event.Kind{event.TSCUnstable}, Linger: time.Second}
	fmt.Println(strings.Join(p.Words(), " "))
	// Output: CSWATCH_WINDOW=10s CSWATCH_END=tsc-unstable CSWATCH_LINGER=1s
}

// What the guest hands over.
func ExampleDecoder() {
	d := guest.NewDecoder(strings.NewReader(
		`{"type":"kmsg","uptime_ns":3300000000,"kmsg":"6,401,3291012,-;clocksource: Switched to clocksource tsc"}` + "\n" +
			`{"type":"end","uptime_ns":3310000000,"end":{"reason":"window","dwelt_ns":900000000,"lost_kmsg":0,"clocksource":{"current":"tsc","available":["tsc","hpet"]}}}` + "\n"))
	for r, ok := d.Next(); ok; r, ok = d.Next() {
		switch r.Type {
		case guest.TypeKmsg:
			fmt.Println(r.Kmsg)
		case guest.TypeEnd:
			fmt.Println("ended:", r.End.Reason, "on", r.End.Clocksource.Current)
		}
	}
	// Output:
	// 6,401,3291012,-;clocksource: Switched to clocksource tsc
	// ended: window on tsc
}
