package host

import (
	"bytes"
	"net/netip"
	"regexp"
	"strings"
	"unicode"
)

// redactor takes out of text what names a machine, a network or a person:
// the host's name, MAC and IP addresses, UUIDs, serial numbers, users in paths,
// and values of command line options. Numbers, counter values and lists of CPUs
// stay as they are.
type redactor struct {
	hosts []string // longest first; lower case
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

var (
	macText = regexp.MustCompile(`(?i)\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5,19}\b`)
	// Candidates for addresses; netip decides.
	ipv4Text = regexp.MustCompile(`\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b`)
	ipv6Text = regexp.MustCompile(`(?i)[0-9a-f:]*:[0-9a-f:.]*:[0-9a-f:.]*`)
	uuidText = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	// Container ids and the like: 32 digits and more is no counter and no mask.
	longHex    = regexp.MustCompile(`(?i)\b[0-9a-f]{32,}\b`)
	wwnText    = regexp.MustCompile(`(?i)\b(wwn-0x|naa\.|eui\.|nvme\.)[0-9a-f]{8,}`)
	serialText = regexp.MustCompile(`(?i)\b(serial ?(?:number|no|#)?|serialnumber|s/n|asset tag|sequence code|lpar(?: extended)? name|vm[0-9]+ (?:extended )?name|plant)(\s*[:=]\s*)("[^"]*"|[^,;\n]*[^,;\s])`)
	homeText   = regexp.MustCompile(`(/home/|/Users/|/export/home/|/var/lib/AccountsService/users/)[^/\s"',:;)]+`)
	quoteUser  = regexp.MustCompile(`\b(acct|user|USER|USERNAME|LOGNAME|hostname|addr|laddr|raddr)=("[^"]*"|[^\s,;]+)`)
	identText  = regexp.MustCompile(`\b(identification = )[0-9A-F]+`)
	builder    = regexp.MustCompile(`(Linux version \S+ \()([^()@\s]+@[^()\s]+)(\))`)
	cmdlineIn  = regexp.MustCompile(`^(.*?(?:[Cc]ommand line|Unknown kernel command line parameters?):? ?"?)(.*)$`)
	sysHost    = regexp.MustCompile(`^((?:<[0-9]+>)?(?:[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.,]+(?:Z|[+-][0-9:]{4,6})) )(\S+)( \S+: )`)
	hostnameTo = regexp.MustCompile(`(?i)((?:set )?hostname (?:to|set to) <?)([^\s>]+)`)
)

// line redacts one line of text.
func (r *redactor) line(s string) string {
	if m := sysHost.FindStringSubmatchIndex(s); m != nil {
		s = s[:m[4]] + r.mark("<host>") + s[m[5]:]
	}
	if strings.Contains(s, "Linux version ") {
		return r.hostNames(r.banner(s)) // a release is full of dots and numbers that are no addresses
	}
	if m := cmdlineIn.FindStringSubmatch(s); m != nil && strings.Contains(m[2], "=") {
		line, n := redactCommandLine(m[2])
		r.count += n
		s = m[1] + line
	}
	s = r.all(s, uuidText, "<uuid>")
	s = r.all(s, macText, "<mac>")
	s = r.ipv6(s)
	s = r.ipv4(s)
	s = r.all(s, longHex, "<hex>")
	s = r.after(s, wwnText, "<serial>", 1)
	s = r.serials(s)
	s = r.after(s, homeText, "<user>", 1)
	s = r.value(s)
	s = r.after(s, hostnameTo, "<host>", 1)
	return r.hostNames(s)
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
	s = r.after(s, serialText, "<serial>", 2)
	return r.after(s, identText, "<serial>", 1)
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

func (r *redactor) all(s string, re *regexp.Regexp, mark string) string {
	return re.ReplaceAllStringFunc(s, func(string) string { return r.mark(mark) })
}

// after replaces what follows the first n groups of a match.
func (r *redactor) after(s string, re *regexp.Regexp, mark string, n int) string {
	return re.ReplaceAllStringFunc(s, func(m string) string {
		groups := re.FindStringSubmatch(m)
		if groups == nil {
			return m
		}
		return strings.Join(groups[1:1+n], "") + r.mark(mark)
	})
}

func (r *redactor) value(s string) string {
	return quoteUser.ReplaceAllStringFunc(s, func(m string) string {
		name, value, _ := strings.Cut(m, "=")
		if strings.Trim(value, `"`) == "?" || strings.HasPrefix(value, "0x") {
			return m // audit writes ? for nothing; drivers write addr=0x...
		}
		return name + "=" + r.mark(redactedMark)
	})
}

func (r *redactor) ipv4(s string) string {
	return replaceBounded(s, ipv4Text, func(m string) (string, bool) {
		a, err := netip.ParseAddr(m)
		if err != nil || a.IsLoopback() || a.IsUnspecified() {
			return "", false
		}
		return r.mark("<ip>"), true
	})
}

func (r *redactor) ipv6(s string) string {
	return replaceBounded(s, ipv6Text, func(m string) (string, bool) {
		// A full stop or colon behind an address belongs to the sentence.
		core := strings.TrimRight(m, ".")
		if !strings.HasSuffix(core, "::") {
			core = strings.TrimSuffix(core, ":")
		}
		a, err := netip.ParseAddr(core)
		if err != nil || a.IsLoopback() || a.IsUnspecified() || !strings.ContainsAny(core, "0123456789abcdefABCDEF") {
			return "", false
		}
		return r.mark("<ip>") + m[len(core):], true
	})
}

// replaceBounded replaces matches that are no part of a longer word or number.
func replaceBounded(s string, re *regexp.Regexp, do func(string) (string, bool)) string {
	var out strings.Builder
	last := 0
	for _, m := range re.FindAllStringIndex(s, -1) {
		before, after := byte(' '), byte(' ')
		if m[0] > 0 {
			before = s[m[0]-1]
		}
		if m[1] < len(s) {
			after = s[m[1]]
		}
		if isWordByte(before) || before == '.' || before == '-' || isWordByte(after) || after == '-' {
			continue
		}
		if to, ok := do(s[m[0]:m[1]]); ok {
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
