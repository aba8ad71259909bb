package host

import (
	"bytes"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// redactor takes out of text what names a machine, a network or a person:
// the host's name, MAC and IP addresses, UUIDs, serial numbers, users in paths,
// and values of command line options. Numbers, counter values and lists of CPUs
// stay as they are.
type redactor struct {
	hosts []string       // longest first; lower case
	boots map[string]int // ids of boots to their numbers
	count int
}

// newRedactor makes a redactor for a host. A name that kernel text uses as a
// word of its own ("vm", "tsc") stays in messages, where it tells nothing.
func newRedactor(host string) *redactor {
	r := new(redactor)
	host = strings.ToLower(strings.TrimSpace(host))
	short, _, _ := strings.Cut(host, ".")
	for _, h := range []string{host, short} {
		if len(h) >= 3 && !commonWord(h) && (len(r.hosts) == 0 || r.hosts[0] != h) {
			r.hosts = append(r.hosts, h)
		}
	}
	return r
}

// commonWord says that a host's name is a word of kernel text.
func commonWord(h string) bool {
	switch h {
	case "localhost", "localhost.localdomain", "none", "(none)", "kernel", "linux", "tsc", "hpet", "cpu", "clock",
		"clocksource", "timer", "watchdog", "xen", "kvm", "acpi", "pci", "usb", "node", "host", "server", "systemd",
		"root", "debian", "ubuntu", "redhat", "suse", "fedora", "rhel", "centos", "alpine", "arch", "jiffies",
		"raspberrypi", "test", "intel", "amd", "arm", "read", "back", "delay", "time", "memory", "boot":
		return true
	}
	return strings.Trim(h, "0123456789") == ""
}

// line redacts one line of text that is no record of a journal.
func (r *redactor) line(s string) string {
	if m := sysHost.FindStringSubmatchIndex(s); m != nil {
		s = s[:m[4]] + r.mark("<host>") + s[m[5]:]
	}
	if strings.Contains(s, "Linux version ") {
		return r.hostNames(r.banner(s)) // a release is full of dots and numbers that are no addresses
	}
	if strings.Contains(s, "ommand line") {
		s = r.commandLine(s)
	}
	s = r.apply(s, everywhere)
	s = r.ipv6(s)
	s = r.ipv4(s)
	if !clockLine.MatchString(s) {
		s = r.apply(s, elsewhere)
	}
	s = r.value(s)
	return r.hostNames(s)
}

// commandLine redacts a command line, or a part of one, within a line of text.
func (r *redactor) commandLine(s string) string {
	m := cmdlineIn.FindStringSubmatch(s)
	if m == nil {
		return s
	}
	line, n := redactCommandLine(m[2])
	if n == 0 {
		return s
	}
	r.count += n
	return m[1] + line
}

// banner takes the builder out of "Linux version R (user@host) ...", unless it is a distribution's.
func (r *redactor) banner(s string) string {
	m := builder.FindStringSubmatchIndex(s)
	if m == nil || knownBuilder(s[m[4]:m[5]]) {
		return s
	}
	return s[:m[4]] + r.mark(redactedMark) + s[m[5]:]
}

// serials takes serial numbers out of any number of lines.
func (r *redactor) serials(s string) string {
	return r.apply(s, serialRules)
}

// text redacts every line.
func (r *redactor) text(b []byte) []byte {
	var out bytes.Buffer
	for i, line := range strings.Split(string(b), "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(r.line(line))
	}
	return out.Bytes()
}

func (r *redactor) mark(m string) string {
	r.count++
	return m
}

// apply replaces what each rule finds, but for the groups that it keeps.
func (r *redactor) apply(s string, rules []rule) string {
	lower := strings.ToLower(s)
	for _, rule := range rules {
		if !rule.concerns(lower) {
			continue
		}
		found := rule.re.FindAllStringSubmatchIndex(s, -1)
		if found == nil {
			continue
		}
		var out strings.Builder
		last := 0
		for _, m := range found {
			from := m[0]
			if rule.keep > 0 {
				from = m[2*rule.keep+1] // the end of the last group to keep
			}
			if s[from:m[1]] == rule.mark {
				continue
			}
			out.WriteString(s[last:from])
			out.WriteString(r.mark(rule.mark))
			last = m[1]
		}
		out.WriteString(s[last:])
		s = out.String()
		lower = strings.ToLower(s)
	}
	return s
}

func (r *redactor) value(s string) string {
	if !strings.Contains(s, "=") {
		return s
	}
	return quoteUser.ReplaceAllStringFunc(s, func(m string) string {
		name, value, _ := strings.Cut(m, "=")
		if strings.Trim(value, `"`) == "?" || strings.HasPrefix(value, "0x") || value == redactedMark {
			return m // audit writes ? for nothing; drivers write addr=0x...
		}
		return name + "=" + r.mark(redactedMark)
	})
}

// ipv4 replaces all that can be read as an address, ranges and parts of longer
// rows of numbers included: 10.20.30.40.8.1 is one with a port.
func (r *redactor) ipv4(s string) string {
	if strings.Count(s, ".") < 3 {
		return s
	}
	return replaceAll(s, ipv4Text, func(before byte, m string, _ byte) (string, bool) {
		if isDigit(before) || strings.HasPrefix(m, "127.") || m == "0.0.0.0" {
			return "", false
		}
		for part := range strings.SplitSeq(m, ".") {
			if n, err := strconv.Atoi(part); err != nil || n > 255 {
				return "", false
			}
		}
		return r.mark("<ip>"), true
	})
}

// ipv6 replaces all that netip takes for an address. A word that touches it at a
// colon ("server:fe80::1") is no part of it, nor is the end of a sentence.
func (r *redactor) ipv6(s string) string {
	if strings.Count(s, ":") < 2 {
		return s
	}
	return replaceAll(s, ipv6Text, func(before byte, m string, after byte) (string, bool) {
		core, lead, trail := m, "", ""
		if isWordByte(before) && before != '_' {
			i := strings.IndexByte(core, ':')
			lead, core = core[:i], core[i:]
		}
		if strings.HasPrefix(core, ":") && !strings.HasPrefix(core, "::") {
			lead, core = lead+":", core[1:]
		}
		if isWordByte(after) && after != '_' {
			i := strings.LastIndexByte(core, ':')
			if i < 0 {
				return "", false
			}
			core, trail = core[:i], core[i:]
		}
		for core != "" {
			a, err := netip.ParseAddr(core)
			if err == nil {
				if a.IsLoopback() || a.IsUnspecified() {
					return "", false
				}
				return lead + r.mark("<ip>") + trail, true
			}
			if end := core[len(core)-1]; end != '.' && end != ':' {
				return "", false
			}
			core, trail = core[:len(core)-1], core[len(core)-1:]+trail
		}
		return "", false
	})
}

// replaceAll replaces matches. The function gets the bytes around them, blanks at the ends.
func replaceAll(s string, re *regexp.Regexp, do func(before byte, m string, after byte) (string, bool)) string {
	found := re.FindAllStringIndex(s, -1)
	if found == nil {
		return s
	}
	var out strings.Builder
	last := 0
	for _, m := range found {
		before, after := byte(' '), byte(' ')
		if m[0] > 0 {
			before = s[m[0]-1]
		}
		if m[1] < len(s) {
			after = s[m[1]]
		}
		if to, ok := do(before, s[m[0]:m[1]], after); ok {
			out.WriteString(s[last:m[0]])
			out.WriteString(to)
			last = m[1]
		}
	}
	out.WriteString(s[last:])
	return out.String()
}

// hostNames replaces the host's own name where it stands as a word.
func (r *redactor) hostNames(s string) string {
	for _, h := range r.hosts {
		lower := strings.Map(func(c rune) rune { // byte for byte as long as s
			if c < 0x80 {
				return unicode.ToLower(c)
			}
			return c
		}, s)
		if len(lower) != len(s) { // invalid UTF-8 grew
			lower = s
		}
		var out strings.Builder
		last := 0
		for at := 0; ; {
			i := strings.Index(lower[at:], h)
			if i < 0 {
				break
			}
			start, end := at+i, at+i+len(h)
			at = end
			if start > 0 && isNameByte(s[start-1]) || end < len(s) && isNameByte(s[end]) {
				continue
			}
			out.WriteString(s[last:start])
			out.WriteString(r.mark("<host>"))
			last = end
		}
		out.WriteString(s[last:])
		s = out.String()
	}
	return s
}

func isWordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func isNameByte(b byte) bool { return isWordByte(b) || b == '-' }

// knownBuilder recognises the build machines of distributions, which say whose
// kernel it is and nothing about this host.
func knownBuilder(who string) bool {
	user, host, _ := strings.Cut(who, "@")
	switch user {
	case "buildd", "mockbuild", "geeko", "abuild", "debian-kernel", "builder", "dom", "kbuild", "archlinux", "linux":
		return true
	}
	return host == "buildhost" || host == "lists.debian.org"
}
