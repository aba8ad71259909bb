package report_test

import (
	"fmt"
	"os"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/report"
)

func Example() {
	d := &doctor.Diagnosis{
		Status: doctor.StatusWarning, Summary: "the kernel gave up a TSC that the evidence clears (reference-read-delay); hpet is in use",
		KernelTrustsTSC: doctor.TrustNo, CurrentClock: "hpet", TSCVerdict: doctor.Good,
		Findings: []doctor.Finding{{ID: "reference-read-delay", Severity: doctor.Warning}},
	}
	if err := report.NPD(os.Stdout, d); err != nil {
		fmt.Println(err)
	}
	fmt.Println("exit code", report.NPDExitCode(d, "warning"))
	// Output:
	// hpet in use; TSC given up (evidence: cleared): reference-read-delay
	// exit code 1
}

func ExampleSafe() {
	fmt.Println(report.Safe("a line\x1b[2K of \u202ea log"))
	// Output: a line\x1b[2K of \u202ea log
}
