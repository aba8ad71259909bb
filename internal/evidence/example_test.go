package evidence_test

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/evidence"
)

func ExampleFromLogs() {
	ev, err := evidence.FromLogs([]string{"-"}, strings.NewReader("[    0.303781] tsc: Marking TSC unstable due to TSC halts in idle\n"))
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(doctor.Examine(ev).TSCVerdict)
	// Output: bad
}
