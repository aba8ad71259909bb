package machine

import "strings"

// Schema is the schema id of a snapshot document.
const Schema = "cswatch.snapshot/v1"

// Answer is a three-valued probe: yes, no or could not tell.
type Answer string

const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// Reasons that an Unreadable gives. A reason may carry more words after these.
const (
	// ReasonNotThere: the place was looked at and the thing does not exist.
	ReasonNotThere = "not there"
	// ReasonPermission: it exists, and reading it was refused.
	ReasonPermission = "permission denied"
	// ReasonNotInArchive: the folder or archive holds only a part of the machine, and this is not in it.
	ReasonNotInArchive = "not part of this archive"
	// ReasonNotUnderstood: it was read and does not have the form it should have.
	ReasonNotUnderstood = "not understood"
	// ReasonRedacted: the archive was made without it on purpose.
	ReasonRedacted = "redacted"
)

// Kinds of place that a snapshot comes from.
const (
	KindLive    = "live"      // the running machine
	KindFolder  = "folder"    // a folder that is the root of a machine, or a copy of one
	KindArchive = "archive"   // a tarball of such a folder
	KindSOS     = "sosreport" // a sosreport, unpacked or not
	KindCollect = "collect"   // written by cswatch collect
)

// Unreadable is something that should have been read and was not.
type Unreadable struct {
	What   string `json:"what"`   // the path or the source
	Reason string `json:"reason"` // permission denied, not there, ...
	HowTo  string `json:"how_to"` // the command or setting that gets it
}

// Snapshot is what one machine says of itself at one time. A field that could
// not be read is empty, and Unreadable says why where that matters.
type Snapshot struct {
	Schema string `json:"schema"`
	Root   string `json:"root"`           // "/" for the running machine, else the folder or tarball
	Live   bool   `json:"live"`           // taken from the running machine
	Kind   string `json:"kind,omitempty"` // see the Kind constants
	Host   string `json:"host,omitempty"` // host name, if it may be told
	Arch   string `json:"arch,omitempty"` // as the kernel names it: x86_64, aarch64, s390x, ...

	Kernel      Kernel      `json:"kernel"`
	Clocksource Clocksource `json:"clocksource"`
	CPU         CPU         `json:"cpu"`
	Hypervisor  Hypervisor  `json:"hypervisor"`
	Time        Time        `json:"time"`

	CommandLine   string  `json:"command_line,omitempty"` // redacted where collect wrote it
	DMI           string  `json:"dmi,omitempty"`          // vendor and product
	Redacted      bool    `json:"redacted,omitempty"`     // names and values were taken out on purpose
	Container     string  `json:"container,omitempty"`    // docker, podman, lxc, ...; "" if none was seen
	UptimeSeconds float64 `json:"uptime_seconds,omitempty"`

	// Sources says where a fact was read: the key is the fact's path in this
	// document ("clocksource.current"), the value a file or, for a fact that was
	// concluded, a sentence. Facts whose field has its own From are not in it.
	Sources map[string]string `json:"sources,omitempty"`

	// Cost is what a clock read cost when an archive was made; nil where nothing was measured.
	Cost *Cost `json:"cost,omitempty"`

	Unreadable []Unreadable `json:"unreadable,omitempty"`
}

// Kernel names the kernel as many ways as the machine does.
type Kernel struct {
	Release       string `json:"release,omitempty"`   // uname -r, "6.1.0-57-amd64"
	Version       string `json:"version,omitempty"`   // uname -v, "#1 SMP ... Debian 6.1.192-3 (...)"
	Banner        string `json:"banner,omitempty"`    // /proc/version
	Signature     string `json:"signature,omitempty"` // /proc/version_signature (Ubuntu)
	Distro        string `json:"distro,omitempty"`    // ID of os-release
	DistroVersion string `json:"distro_version,omitempty"`
	Package       string `json:"package,omitempty"` // package version of the running kernel, if known
}

// Clocksource is what sysfs says.
type Clocksource struct {
	Current   string   `json:"current,omitempty"`
	Available []string `json:"available,omitempty"` // in the kernel's order, best first
	// Parameters of the clocksource module: name to value. nil where the folder could not be read, empty where it has none.
	Parameters map[string]string `json:"parameters,omitzero"`
	// HRES is yes where the kernel runs in high resolution mode, in which a condemned clock vanishes from Available.
	HRES       Answer `json:"hres"`
	HPETDevice Answer `json:"hpet_device"` // /dev/hpet exists
}

// CPU is what /proc/cpuinfo and sysfs say.
type CPU struct {
	Model       string   `json:"model,omitempty"`
	Vendor      string   `json:"vendor,omitempty"` // GenuineIntel, AuthenticAMD, ...
	Family      int      `json:"family,omitempty"`
	ModelNumber int      `json:"model_number,omitempty"`
	Flags       []string `json:"flags,omitempty"` // only those that concern clocks: see ClockFlags
	Online      int      `json:"online,omitempty"`
	Possible    int      `json:"possible,omitempty"`
	// Nodes counts the online NUMA nodes, which decide whether Linux 5.16 to 6.11
	// watches the TSC; 0 if unknown.
	Nodes int `json:"nodes,omitempty"`
	// Packages counts the processor packages (sockets), which decide it from 6.12 on; 0 if unknown.
	Packages int `json:"packages,omitempty"`
	// TSCMHz is the rate of the TSC as the kernel calibrated it early in boot, to
	// about 0.01 MHz; 0 if unknown.
	TSCMHz float64 `json:"tsc_mhz,omitempty"`
}

// ClockFlags are the CPU flags that decide how the kernel treats the TSC.
var ClockFlags = [...]string{"tsc", "rdtscp", "constant_tsc", "nonstop_tsc", "tsc_reliable", "tsc_known_freq", "tsc_adjust", "tsc_scale", "hypervisor", "tsc_deadline_timer", "art", "nonstop_tsc_s3"}

// Has reports whether a flag is set; Unknown if no flags could be read.
func (c CPU) Has(flag string) Answer {
	if len(c.Flags) == 0 {
		return Unknown
	}
	for _, f := range c.Flags {
		if f == flag {
			return Yes
		}
	}
	return No
}

// Hypervisor is what is known of virtualisation.
type Hypervisor struct {
	Guest Answer `json:"guest"`          // runs under a hypervisor
	Name  string `json:"name,omitempty"` // kvm, xen, hyperv, vmware, qemu-tcg, firecracker, ...; "" if unknown
	Mode  string `json:"mode,omitempty"` // xen: pv, hvm, pvh, dom0; s390: lpar; "" where it does not matter
	From  string `json:"from,omitempty"` // what said so
}

// Time is what NTP, PTP and chrony say about the system clock.
type Time struct {
	Synchronised Answer `json:"synchronised"`
	// FrequencyPPM is the correction in force, if readable: positive where the
	// clock runs slow by nature and is sped up (the sign of adjtimex).
	FrequencyPPM *float64 `json:"frequency_ppm,omitempty"`
	// OffsetNS is what is left to be corrected; positive where the system clock is behind.
	OffsetNS   *int64 `json:"offset_ns,omitempty"`
	MaxErrorNS *int64 `json:"max_error_ns,omitempty"`
	Leap       string `json:"leap,omitempty"`   // chronyd's leap status, as written
	Source     string `json:"source,omitempty"` // adjtimex, chronyc tracking, ...
	Daemon     string `json:"daemon,omitempty"` // chronyd, ntpd, systemd-timesyncd, ptp4l, ...
}

// Cost is the measured price of reading the clock.
type Cost struct {
	ReadNS      float64 `json:"read_ns"` // clock_gettime(CLOCK_MONOTONIC) as a program calls it, median
	ReadP99NS   float64 `json:"read_p99_ns"`
	SyscallNS   float64 `json:"syscall_ns"` // the same by raw system call, median
	Path        string  `json:"path"`       // "vdso", "syscall" or "unknown": what the first one takes
	Reads       int     `json:"reads"`
	Clocksource string  `json:"clocksource,omitempty"` // current while it was measured
	Seconds     float64 `json:"seconds"`               // wall time that the measurement took
}

// Option returns the values of a command line option (name=value, in order) and whether the bare word occurs.
func (s *Snapshot) Option(name string) (values []string, bare bool) {
	return Option(s.CommandLine, name)
}

// Option finds NAME or NAME=VALUE in a kernel command line. Dashes and
// underscores are the same, and a double-quoted value may hold blanks; what follows "--" is init's.
func Option(cmdline, name string) (values []string, bare bool) {
	want := normalise(name)
	for _, w := range Words(cmdline) {
		if w == "--" {
			break
		}
		key, value, has := strings.Cut(w, "=")
		if normalise(key) != want {
			continue
		}
		if has {
			values = append(values, strings.Trim(value, `"`))
		} else {
			bare = true
		}
	}
	return values, bare
}

// Words splits a kernel command line at blanks outside double quotes.
func Words(cmdline string) []string {
	var words []string
	var b strings.Builder
	quoted := false
	flush := func() {
		if b.Len() > 0 {
			words = append(words, b.String())
			b.Reset()
		}
	}
	for _, r := range cmdline {
		switch {
		case r == '"':
			quoted = !quoted
			b.WriteRune(r)
		case (r == ' ' || r == '\t' || r == '\n') && !quoted:
			flush()
		default:
			b.WriteRune(r)
		}
	}
	flush()
	return words
}

func normalise(name string) string { return strings.ReplaceAll(name, "-", "_") }
