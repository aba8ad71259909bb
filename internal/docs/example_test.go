package docs

import (
	"fmt"
	"strings"
)

// The table of eras in docs/eras.md is written from the profiles of package watchdog.
func Example() {
	for line := range strings.SplitSeq(eraTable(), "\n") {
		if strings.HasPrefix(line, "| `E12` |") {
			fmt.Println(strings.Join(strings.Split(line, "|")[1:5], "|"))
		}
	}
	// Output:
	//  `E12` | 7.1 and later | reference, clock, reference | 3
}
