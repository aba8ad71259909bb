package perf

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ReadSight reads what this process may see of this machine. What cannot be read is unknown.
func ReadSight() Sight {
	s := Sight{
		Paranoid: setting("perf_event_paranoid"), Kptr: setting("kptr_restrict"),
		MaxRate: setting("perf_event_max_sample_rate"), Mlock: setting("perf_event_mlock_kb"),
		Lockdown:   lockdown(),
		Container:  container(),
		Hypervisor: hypervisor(),
		UserNS:     otherUserNamespace(),
		PIDNS:      otherPIDNamespace(),
		HiddenProc: hiddenProcesses(),
	}
	if f, err := os.Open("/proc/self/status"); err == nil {
		s.Status, _ = parseStatus(f) // the error leaves it unknown
		f.Close()
	}
	if _, err := os.Stat("/proc/sys/kernel"); err == nil {
		exists := s.Paranoid != nil
		s.PerfEvents = &exists
	}
	if entries, err := os.ReadDir("/sys/bus/event_source/devices"); err == nil {
		found := false
		for _, e := range entries {
			// cpu of x86, POWER and RISC-V; cpu_core and cpu_atom of hybrid processors; armv8_... of ARM.
			name := e.Name()
			found = found || name == "cpu" || strings.HasPrefix(name, "cpu_") || strings.HasPrefix(name, "armv") || strings.HasPrefix(name, "apple_")
		}
		s.PMU = &found
	}
	return s
}

func setting(name string) *int {
	b, err := os.ReadFile("/proc/sys/kernel/" + name)
	if err != nil {
		return nil
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(b)))
	if err != nil {
		return nil
	}
	return &n
}

// lockdown returns the word in brackets of a line such as "none [integrity] confidentiality".
func lockdown() string {
	b, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}

func container() string {
	for _, path := range []string{"/.dockerenv", "/run/.containerenv", "/run/systemd/container"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return "KUBERNETES_SERVICE_HOST"
	}
	return ""
}

func hypervisor() bool {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "flags" {
			return strings.Contains(" "+strings.TrimSpace(value)+" ", " hypervisor ")
		}
	}
	return false
}

// The first namespaces have numbers that are part of the kernel's interface (include/linux/proc_ns.h).
const (
	firstUserNamespace = "user:[4026531837]"
	firstPIDNamespace  = "pid:[4026531836]"
)

func otherUserNamespace() bool { return otherNamespace("user", firstUserNamespace) }
func otherPIDNamespace() bool  { return otherNamespace("pid", firstPIDNamespace) }

func otherNamespace(name, first string) bool {
	link, err := os.Readlink(filepath.Join("/proc/self/ns", name))
	return err == nil && link != first
}

// hiddenProcesses tells a /proc that does not even show process 1.
func hiddenProcesses() bool {
	if _, err := os.Stat("/proc/self"); err != nil {
		return false
	}
	_, err := os.Stat("/proc/1")
	return os.IsNotExist(err)
}
