package exporter_test

import (
	"fmt"

	"github.com/cswatch/cswatch/internal/exporter"
)

// The table of metrics is what the documentation is made of.
func ExampleMetrics() {
	for _, m := range exporter.Metrics() {
		if m.Type == exporter.Histogram {
			fmt.Println(m.Name, m.Unit)
		}
	}
	// Output:
	// cswatch_watchdog_readback_seconds seconds
	// cswatch_watchdog_attempts
}
