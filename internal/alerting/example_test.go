package alerting_test

import (
	"fmt"

	"github.com/cswatch/cswatch/internal/alerting"
)

// A query is held against the list of metrics.
func ExampleParseQuery() {
	q, err := alerting.ParseQuery(`increase(cswatch_clocksource_unstable_total{cause="rust"}[1h]) > 0`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, problem := range q.Check(alerting.Metrics(), nil) {
		fmt.Println(problem)
	}
	// Output: cswatch_clocksource_unstable_total: cause is never "rust"
}
