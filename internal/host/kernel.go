package host

import (
	"regexp"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

// collectKernel reads every name that the kernel gives itself, and the distribution.
func (c *collector) collectKernel() {
	k := &c.snap.Kernel
	data, _, err := c.read("proc/version")
	if err == nil {
		k.Banner = oneLine(cleanText(string(data)))
		k.Release, k.Version = splitBanner(k.Banner)
		c.source("kernel.banner", "proc/version")
	}
	if v, ok := c.text("proc/version_signature"); ok {
		k.Signature = oneLine(v)
		c.source("kernel.signature", "proc/version_signature")
	}
	if v, ok := c.text("proc/sys/kernel/osrelease"); ok {
		k.Release = oneLine(v)
		c.source("kernel.release", "proc/sys/kernel/osrelease")
	}
	if v, ok := c.text("proc/sys/kernel/version"); ok {
		k.Version = oneLine(v)
		c.source("kernel.version", "proc/sys/kernel/version")
	}
	if v, ok := c.text("proc/sys/kernel/hostname"); ok {
		c.snap.Host = oneLine(v)
	}
	arch, _ := c.text("proc/sys/kernel/arch") // Linux 6.1 and later
	arch = oneLine(arch)
	if c.opt.kind() == machine.KindSOS {
		if a := c.sosKernel(k); arch == "" {
			arch = a
		}
	}
	if c.opt.Arch != "" {
		arch = c.opt.Arch
	}
	if c.mani != nil && arch == "" {
		arch = c.mani.Facts.Arch
	}
	if arch == "" {
		arch = archOfRelease(k.Release)
	}
	if k.Release == "" && err != nil {
		c.unreadable("proc/version", err, "mount /proc, or give a kernel log with its \"Linux version\" line")
	}
	c.snap.Arch = arch // collectCPU falls back to the shape of /proc/cpuinfo
	c.collectDistro()
	k.Package = packageOf(*k)
}

// sosKernel fills what a sosreport tells with commands instead of files, and returns the architecture.
func (c *collector) sosKernel(k *machine.Kernel) (arch string) {
	if v, ok := c.text("sos_commands/kernel/uname_-a"); ok {
		host, release, version, a := splitUname(oneLine(v))
		arch = a
		if c.snap.Host == "" {
			c.snap.Host = host
		}
		if k.Release == "" && release != "" {
			k.Release, k.Version = release, version
			c.source("kernel.release", "sos_commands/kernel/uname_-a")
			c.source("kernel.version", "sos_commands/kernel/uname_-a")
		}
	}
	if k.Release == "" || k.Version == "" {
		if v, ok := c.text("sos_commands/kernel/sysctl_-a"); ok {
			eachField(v, "=", func(key, value string) bool {
				switch {
				case key == "kernel.osrelease" && k.Release == "":
					k.Release = value
					c.source("kernel.release", "sos_commands/kernel/sysctl_-a")
				case key == "kernel.version" && k.Version == "":
					k.Version = value
					c.source("kernel.version", "sos_commands/kernel/sysctl_-a")
				}
				return true
			})
		}
	}
	if c.snap.Host == "" {
		if v, ok := c.text("sos_commands/host/hostname"); ok {
			c.snap.Host = oneLine(v)
		}
	}
	return arch
}

func (c *collector) collectDistro() {
	v, ok := c.text("etc/os-release")
	if !ok {
		v, ok = c.text("usr/lib/os-release")
	}
	if ok && c.snap.Container != "" {
		c.source("kernel.distro", "os-release of the container, which need not be the host's")
	}
	eachField(v, "=", func(key, value string) bool {
		value = strings.Trim(value, `"'`)
		switch key {
		case "ID":
			c.snap.Kernel.Distro = value
		case "VERSION_ID":
			c.snap.Kernel.DistroVersion = value
		}
		return true
	})
}

func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.TrimSpace(s)
}

// splitBanner takes release and version out of "Linux version R (builder) (compiler) #1 SMP ...".
func splitBanner(banner string) (release, version string) {
	rest, ok := strings.CutPrefix(banner, "Linux version ")
	if !ok {
		return "", ""
	}
	release, _, _ = strings.Cut(rest, " ")
	if i := strings.LastIndex(rest, ") #"); i >= 0 {
		version = strings.TrimSpace(rest[i+2:])
	}
	return release, version
}

// splitUname takes "Linux HOST RELEASE VERSION... MACHINE [PROCESSOR PLATFORM] OS" apart.
// The version holds blanks; the machine is the first of the last words that names an architecture.
func splitUname(line string) (host, release, version, arch string) {
	f := strings.Fields(line)
	if len(f) < 5 || f[0] != "Linux" {
		return "", "", "", ""
	}
	host, release = f[1], f[2]
	end := len(f) - 1 // the operating system
	for end > 3 && isArch(f[end-1]) {
		end--
		arch = f[end]
	}
	// "unknown" stands for processor and platform on some systems.
	return host, release, strings.Join(f[3:end], " "), arch
}

func isArch(s string) bool {
	switch s {
	case "x86_64", "i386", "i486", "i586", "i686", "aarch64", "armv6l", "armv7l", "armv8l", "s390", "s390x",
		"ppc", "ppc64", "ppc64le", "riscv32", "riscv64", "loongarch64", "mips", "mips64", "parisc", "parisc64", "sparc64", "unknown":
		return true
	}
	return false
}

// archOfRelease reads the architecture off a release of a distribution that puts it there.
func archOfRelease(release string) string {
	for _, a := range [...]struct{ suffix, arch string }{
		{".x86_64", "x86_64"}, {"-amd64", "x86_64"}, {".aarch64", "aarch64"}, {"-arm64", "aarch64"},
		{".s390x", "s390x"}, {"-s390x", "s390x"}, {".ppc64le", "ppc64le"}, {"-powerpc64le", "ppc64le"},
		{"-riscv64", "riscv64"}, {".riscv64", "riscv64"}, {"-loong64", "loongarch64"}, {".loongarch64", "loongarch64"},
	} {
		if strings.HasSuffix(release, a.suffix) {
			return a.arch
		}
	}
	return ""
}

var (
	debianPackage = regexp.MustCompile(`\bDebian ([0-9][^ ]*-[^ ]+)`)
	ubuntuVersion = regexp.MustCompile(`^#([0-9]+)[^ ]*-Ubuntu\b`)
	ubuntuSign    = regexp.MustCompile(`^Ubuntu ([0-9]+\.[0-9]+\.[0-9]+-[0-9]+\.[0-9]+)`)
	ubuntuRelease = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+-[0-9]+`)
	rpmRelease    = regexp.MustCompile(`^[0-9][^-]*-[0-9][^-]*\.(?:el[0-9]|fc[0-9]|amzn[0-9]|oe[0-9]|an[0-9]|tl[0-9])`)
	suseRelease   = regexp.MustCompile(`^([0-9][^-]*-[0-9.]+)-(?:default|azure|rt|64kb|preempt|kvmsmall|vanilla|debug)$`)
)

// packageOf tells the version of the kernel's package where the kernel's own
// names hold it: Debian in the version, Ubuntu in signature or version, the
// RPM distributions in the release.
func packageOf(k machine.Kernel) string {
	if m := debianPackage.FindStringSubmatch(k.Version); m != nil {
		return m[1]
	}
	if m := ubuntuSign.FindStringSubmatch(k.Signature); m != nil {
		return m[1]
	}
	if m := ubuntuVersion.FindStringSubmatch(k.Version); m != nil {
		if r := ubuntuRelease.FindString(k.Release); r != "" {
			return r + "." + m[1]
		}
	}
	if rpmRelease.MatchString(k.Release) {
		return k.Release
	}
	if m := suseRelease.FindStringSubmatch(k.Release); m != nil {
		return m[1]
	}
	return ""
}

// collectCommandLine reads the kernel's command line.
func (c *collector) collectCommandLine() {
	v, ok := c.need("proc/cmdline", "mount /proc, or look for \"Kernel command line:\" in the kernel log")
	if !ok {
		return
	}
	c.snap.CommandLine = strings.ReplaceAll(v, "\n", " ")
	c.source("command_line", "proc/cmdline")
}
