package lease_test

import (
	"fmt"

	"github.com/cswatch/cswatch/internal/lease"
)

// Without a Linux that can switch there is nothing to borrow, and the error says why.
func ExampleTake() {
	_, err := lease.Take(lease.Config{Sysfs: "/nowhere"})
	fmt.Println(err)
	// Output: read the current clocksource: open /nowhere/current_clocksource: no such file or directory: want Linux with /sys mounted
}
