package snapshot_test

import (
	"fmt"
	"time"

	"github.com/cswatch/cswatch/internal/qemu/snapshot"
)

// A TSC of 2.3 GHz that one CPU has 300 microseconds ahead of the others.
func ExampleStep() {
	step := snapshot.Step{CPU: 1, Cycles: snapshot.Cycles(300*time.Microsecond, 2_300_000_000)}
	fmt.Println(step)
	// Output: CPU 1 +690000 cycles
}
