package tally_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/klog"
)

// A log is counted, and its verdict is told once all of its lines are there.
func Example() {
	log := strings.NewReader("6,1,250000,-;clocksource: Switched to clocksource tsc\n" +
		"4,2,13669682,-;clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable\n" +
		"6,3,13669690,-;tsc: Marking TSC unstable due to clocksource watchdog\n" +
		"6,4,13669700,-;clocksource: Switched to clocksource hpet\n")
	t := tally.New("a boot")
	stamps := tally.Stamps{Now: time.Unix(1000, 0).UTC(), Monotonic: 20 * time.Second}
	r := klog.NewReader(log, "/dev/kmsg")
	for r.Next() {
		e := r.Event()
		t.Add(e, stamps.At(e.Time))
	}
	t.Settle(func(at event.Time) tally.Moment { return stamps.At(at) })
	for _, e := range t.View().Timeline {
		fmt.Println(e.At.Format("15:04:05"), e.Kind, e.Cause, "-", e.Summary)
	}
	// Output:
	// 00:16:20 switched  - the kernel took tsc
	// 00:16:33 switched  - the kernel went from tsc to hpet
	// 00:16:33 condemned read-delay - the kernel gave up tsc because reading it against hpet took 60666 ns
}
