package report

import "github.com/cswatch/cswatch/internal/doctor"

// Worst returns the diagnosis that decides the exit code of several: the first
// of the worst, nil for none.
func Worst(all []*doctor.Diagnosis, failOn string) *doctor.Diagnosis {
	var worst *doctor.Diagnosis
	for _, d := range all {
		if worst == nil || weight(ExitCode(d, failOn)) > weight(ExitCode(worst, failOn)) {
			worst = d
		}
	}
	return worst
}
