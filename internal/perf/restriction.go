package perf

import (
	"fmt"
	"strconv"
)

// Restriction is something that a profile may not see, and how to allow it.
type Restriction struct {
	ID         string `json:"id"`
	Why        string `json:"why"`
	HowToAllow string `json:"how_to_allow"`
}

// allowPerf is how a program gets to see everything.
const allowPerf = "run as root, or give the program CAP_PERFMON (setcap cap_perfmon,cap_syslog+ep PROGRAM; CAP_SYS_ADMIN before 5.8)"

// Restrictions returns what a process with this sight may not see of what the
// configuration asks for, the gravest first. An empty list promises nothing: a security module can still refuse.
func Restrictions(s Sight, c Config) []Restriction {
	c = c.withDefaults()
	var list []Restriction
	add := func(id, why, how string) { list = append(list, Restriction{id, why, how}) }

	if s.PerfEvents != nil && !*s.PerfEvents {
		add("no-perf-events", "this kernel has no perf events (/proc/sys/kernel/perf_event_paranoid does not exist), or the container hides /proc/sys",
			"boot a kernel with CONFIG_PERF_EVENTS; in a container, run the profile on the host")
	}
	if s.Lockdown == "confidentiality" && !c.UserOnly {
		add("lockdown", "the kernel is locked down to confidentiality, so that nobody may sample the kernel's own code",
			"profile user code alone, or boot without lockdown=confidentiality")
	}
	if s.Status.Seccomp == 2 {
		why := "system calls of this process are filtered (seccomp), and the default filters of containers refuse perf_event_open"
		if s.Container != "" {
			why += "; this looks like a container, since there is " + s.Container
		}
		add("seccomp", why,
			"start the container with a seccomp profile that allows perf_event_open (docker run --security-opt seccomp=FILE or =unconfined, with --cap-add PERFMON; "+
				"Kubernetes: securityContext.seccompProfile), or run the profile on the host")
	}
	if s.UserNS {
		add("user-namespace", "this process is in a user namespace of its own, as in a rootless container: its root and its capabilities count for nothing with perf",
			"run the profile on the host, as root or with CAP_PERFMON; or loosen kernel.perf_event_paranoid there")
	}
	s.paranoia(c, add)
	s.pointers(c, add)
	if s.PMU != nil && !*s.PMU && anyHardware(c.Events) {
		why, how := "the kernel has no driver for the processor's counters, so that cycles cannot be sampled", "use cpu-clock, which a timer drives: it is taken by itself"
		if s.Hypervisor {
			why = "this virtual machine is given no performance counters, so that cycles cannot be sampled"
			how += "; or give the machine a virtual PMU (KVM: -cpu host,pmu=on; cloud: a whole-machine or metal type)"
		}
		add("no-pmu", why, how)
	}
	if s.PIDNS && c.Target.All {
		add("pid-namespace", "this process sees the process IDs of its container alone: processes outside have the number 0, as the idle task has, and no name",
			"run the profile on the host, or start the container with the host's process IDs (docker run --pid=host; Kubernetes: hostPID: true)")
	}
	if !s.may(capSysPtrace) && c.Target.All {
		add("programs-of-others", "without CAP_SYS_PTRACE the mappings of other users' processes cannot be read (/proc/PID/maps): their code has no names",
			"run as root, or give the program CAP_SYS_PTRACE, too")
	}
	if s.HiddenProc && c.Target.All {
		add("hidden-processes", "/proc is mounted with hidepid: it shows the own processes alone", "run as root, or remount /proc without hidepid")
	}
	if s.MaxRate != nil && c.Frequency > *s.MaxRate {
		add("max-sample-rate", fmt.Sprintf("the kernel allows %d samples a second (kernel.perf_event_max_sample_rate; it lowers that by itself where sampling is slow), and %d were asked for", *s.MaxRate, c.Frequency),
			"ask for fewer, or: sysctl kernel.perf_event_max_sample_rate="+strconv.Itoa(c.Frequency))
	}
	return list
}

func anyHardware(events []Event) bool {
	for _, e := range events {
		if e.Hardware() {
			return true
		}
	}
	return false
}

// paranoia says what kernel.perf_event_paranoid forbids a process without privilege:
// from 0 on raw tracepoints, from 1 on whole CPUs, from 2 on the kernel's code, and from 3 on, in
// the kernels of Debian and Ubuntu, everything.
func (s Sight) paranoia(c Config, add func(id, why, how string)) {
	if s.Paranoid == nil || s.mayPerf() || !s.Status.Known {
		return
	}
	level := *s.Paranoid
	value := fmt.Sprintf("kernel.perf_event_paranoid is %d, and this process has neither CAP_PERFMON nor CAP_SYS_ADMIN: ", level)
	sysctl := func(to int) string {
		return allowPerf + "; or: sysctl kernel.perf_event_paranoid=" + strconv.Itoa(to)
	}
	switch {
	case level >= 3:
		to := 1
		if c.Target.All {
			to = 0
		}
		add("perf-event-paranoid", value+"in the kernels that know such a level, it may sample nothing at all", sysctl(to))
	case c.Target.All && level >= 1:
		add("perf-event-paranoid", value+"it may not sample all processes, only its user's own", sysctl(0)+"; or profile one process")
	case level >= 2 && !c.UserOnly:
		add("perf-event-paranoid", value+"it may sample user code only, and not what the kernel does for it, such as reading a clock", sysctl(1))
	}
	if len(c.Target.PIDs) > 0 && s.Status.UID != 0 {
		add("process-of-others", "only processes of the own user, that are not protected otherwise, may be sampled", allowPerf)
	}
}

// effect is what hidden addresses come to.
const effect = ": the kernel's functions have no names"

// pointers says what hides the addresses in /proc/kallsyms: kptr_restrict 0 shows
// them where perf_event_paranoid is at most 1, or with CAP_SYSLOG, 1 with CAP_SYSLOG, 2 to nobody.
func (s Sight) pointers(c Config, add func(id, why, how string)) {
	if s.Kptr == nil || c.UserOnly {
		return
	}
	switch {
	case *s.Kptr >= 2:
		add("kptr-restrict", fmt.Sprintf("kernel.kptr_restrict is %d, which hides the addresses in /proc/kallsyms from everybody%s", *s.Kptr, effect),
			"sysctl kernel.kptr_restrict=1, and run as root or with CAP_SYSLOG")
	case s.maySyslog() || !s.Status.Known:
	case *s.Kptr == 1:
		add("kptr-restrict", "kernel.kptr_restrict is 1, and this process does not have CAP_SYSLOG, so that the addresses in /proc/kallsyms are hidden"+effect,
			"run as root, give the program CAP_SYSLOG, or: sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1")
	case s.Paranoid != nil && *s.Paranoid > 1:
		add("kptr-restrict", fmt.Sprintf("kernel.kptr_restrict is 0, but with kernel.perf_event_paranoid at %d the addresses in /proc/kallsyms are hidden from processes without CAP_SYSLOG%s", *s.Paranoid, effect),
			"run as root, give the program CAP_SYSLOG, or: sysctl kernel.perf_event_paranoid=1")
	}
}
