package perf

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Sight is what decides how much of the machine a process may see. A nil pointer
// is something that could not be read.
type Sight struct {
	Paranoid   *int   `json:"perf_event_paranoid"` // kernel.perf_event_paranoid
	Kptr       *int   `json:"kptr_restrict"`       // kernel.kptr_restrict
	MaxRate    *int   `json:"perf_event_max_sample_rate_hz"`
	Mlock      *int   `json:"perf_event_mlock_kb"`
	PerfEvents *bool  `json:"perf_events"`      // the kernel has perf events at all
	PMU        *bool  `json:"pmu"`              // the processor's counters have a driver
	Lockdown   string `json:"lockdown"`         // none, integrity, confidentiality; "" where the kernel does not have it
	Container  string `json:"container"`        // what says that this is one, "" where nothing does
	Hypervisor bool   `json:"hypervisor"`       // the processor says that it is virtual
	UserNS     bool   `json:"user_namespace"`   // in another than the first: its root is none to perf
	PIDNS      bool   `json:"pid_namespace"`    // in another than the first: processes outside have no number
	HiddenProc bool   `json:"hidden_processes"` // /proc shows the own processes alone
	Status     Status `json:"status"`
}

// Status is what a process is allowed, from its /proc/PID/status.
type Status struct {
	Known        bool   `json:"known"`
	UID          int    `json:"uid"` // the effective one
	Capabilities uint64 `json:"capabilities"`
	Seccomp      int    `json:"seccomp"` // 0 none, 1 strict, 2 filter
}

// Capabilities by their number (capabilities(7)). CAP_PERFMON exists since 5.8;
// CAP_SYS_ADMIN still stands for it.
const (
	capSysPtrace = 19
	capSysAdmin  = 21
	capSyslog    = 34
	capPerfmon   = 38
)

// may reports a capability that counts: perf asks for it in the first user namespace.
func (s Sight) may(capability int) bool {
	return s.Status.Known && !s.UserNS && s.Status.Capabilities>>capability&1 != 0
}

func (s Sight) mayPerf() bool   { return s.may(capPerfmon) || s.may(capSysAdmin) }
func (s Sight) maySyslog() bool { return s.may(capSyslog) }

// parseStatus reads the lines that matter of a /proc/PID/status (proc(5)).
func parseStatus(r io.Reader) (Status, error) {
	var s Status
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		fields := strings.Fields(value)
		var err error
		switch {
		case key == "Uid" && len(fields) == 4:
			s.UID, err = strconv.Atoi(fields[1])
			s.Known = true
		case key == "CapEff" && len(fields) == 1:
			s.Capabilities, err = strconv.ParseUint(fields[0], 16, 64)
		case key == "Seccomp" && len(fields) == 1:
			s.Seccomp, err = strconv.Atoi(fields[0])
		}
		if err != nil {
			return Status{}, fmt.Errorf("read what this process may do: the line %q: %w", lines.Text(), err)
		}
	}
	return s, lines.Err()
}
