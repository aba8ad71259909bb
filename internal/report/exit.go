package report

import "github.com/cswatch/cswatch/internal/doctor"

// FailOnCritical as the border lets a warning pass; any other word, such as
// "warning", does not.
const FailOnCritical = "critical"

// ExitCode is the exit code of a diagnosis shown as text, JSON or Nagios
// output: 0 OK, 1 warning, 2 critical, 3 cannot tell. With failOn "critical" a
// warning exits with 0.
func ExitCode(d *doctor.Diagnosis, failOn string) int {
	switch d.Status {
	case doctor.StatusOK:
		return 0
	case doctor.StatusWarning:
		if failOn == FailOnCritical {
			return 0
		}
		return 1
	case doctor.StatusCritical:
		return 2
	}
	return 3
}

// ExitCodeOf is the exit code of several diagnoses: that of the worst, where a
// known trouble is worse than not to know.
func ExitCodeOf(all []*doctor.Diagnosis, failOn string) int {
	code := 0
	for _, d := range all {
		if c := ExitCode(d, failOn); weight(c) > weight(code) {
			code = c
		}
	}
	if len(all) == 0 {
		return 3
	}
	return code
}

// weight orders exit codes by how bad they are: critical, warning, cannot tell, OK.
func weight(code int) int {
	switch code {
	case 2:
		return 3
	case 1:
		return 2
	case 0:
		return 0
	}
	return 1
}

// NPDExitCode is the exit code for node-problem-detector: 0 OK, 1 problem, 2
// cannot tell.
func NPDExitCode(d *doctor.Diagnosis, failOn string) int {
	switch code := ExitCode(d, failOn); code {
	case 0:
		return 0
	case 1, 2:
		return 1
	}
	return 2
}
