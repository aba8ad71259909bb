package watchdog_test

import (
	"fmt"

	"github.com/cswatch/cswatch/watchdog"
)

// The release string of Debian hides the stable release; the banner names it.
func Example() {
	found := watchdog.Detect(watchdog.Identity{
		Release: "6.1.0-57-amd64",
		Version: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)",
	})
	for _, c := range found.Candidates {
		p, _ := c.Profile()
		limit, _ := p.ReadLimitFor()
		fmt.Printf("%s (%s): %d attempts on 8 CPUs, read limit %d ns, skew %s\n",
			c.Era, c.Release, p.Attempts(8, -1), limit, p.SkewText())
	}
	// Output:
	// LTS-6.1.192 (6.1.192): 3 attempts on 8 CPUs, read limit 100000 ns, skew more than 400 us, however long the interval
}
