package klog_test

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/klog"
)

func ExampleReader() {
	log := `[   13.669682] clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable
[   13.670111] usb 1-1: new high-speed USB device number 2 using xhci_hcd
[   13.673148] clocksource: Switched to clocksource hpet
`
	r := klog.NewReader(strings.NewReader(log), "dmesg.txt")
	for r.Next() {
		e := r.Event()
		fmt.Println(e.Source.Line, e.Kind, e.Reference+e.Clocksource)
	}
	if err := r.Err(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 delay-verdict hpet
	// 3 switched hpet
}
