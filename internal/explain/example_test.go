package explain_test

import (
	"fmt"

	"github.com/cswatch/cswatch/internal/explain"
	"github.com/cswatch/cswatch/watchdog"
)

// What is this option, and does my kernel have it?
func Example() {
	found, _ := explain.Lookup("clocksource.max_cswd_read_retries=50")
	for _, e := range found {
		fmt.Printf("%s %s: %s\n", e.Class, e.ID, e.Title)
	}
	r, err := watchdog.ParseRelease("6.1.192")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("in 6.1.192:", explain.ParameterAt("clocksource.max_cswd_read_retries", r).Exists)
	// Output:
	// parameter clocksource.max_cswd_read_retries: How often the watchdog reads again
	// in 6.1.192: no
}
