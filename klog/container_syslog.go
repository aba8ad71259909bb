package klog

import (
	"strings"

	"github.com/cswatch/cswatch/event"
)

// levelWord returns the printk level of a word such as "warn", -1 if it is none.
func levelWord(w string) int64 {
	switch w {
	case "emerg", "panic":
		return 0
	case "alert":
		return 1
	case "crit", "critical":
		return 2
	case "err", "error":
		return 3
	case "warn", "warning":
		return 4
	case "notice":
		return 5
	case "info":
		return 6
	case "debug":
		return 7
	}
	return -1
}

// facilityWord reports that w names a syslog facility.
func facilityWord(w string) bool {
	switch w {
	case "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
		"local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
		"res0", "res1", "res2", "res3", "security", "ntp":
		return true
	}
	return false
}

// facilityLevel reads "kern.warn " as OpenWrt and BusyBox write it.
func facilityLevel(t string, d *draft) (string, bool) {
	word, rest, ok := strings.Cut(t, " ")
	if !ok || len(word) > 20 {
		return t, false
	}
	f, l, ok := strings.Cut(word, ".")
	level := levelWord(l)
	if !ok || level < 0 || !facilityWord(f) {
		return t, false
	}
	d.setFacility(f, level)
	return identTail(rest, d), true
}

func (d *draft) setFacility(facility string, level int64) {
	d.own = true
	d.level = event.Some(level)
	if facility == "kern" {
		d.kernel()
	} else {
		d.foreign("")
	}
}

// columnsHeader reads the columns of dmesg -x: "kern  :warn  : ".
func columnsHeader(t string, d *draft) (string, bool) {
	i := strings.IndexByte(t, ':')
	if i < 3 || i > 12 {
		return t, false
	}
	f := strings.TrimRight(t[:i], " ")
	if !facilityWord(f) {
		return t, false
	}
	j := strings.IndexByte(t[i+1:], ':')
	if j < 3 || j > 10 {
		return t, false
	}
	level := levelWord(strings.TrimRight(t[i+1:i+1+j], " "))
	if level < 0 {
		return t, false
	}
	d.in(FormatDmesg)
	d.setFacility(f, level)
	return strings.TrimPrefix(t[i+j+2:], " "), true
}

// hostName reports that w can be the name or address of a host.
func hostName(w string) bool {
	if w == "" || len(w) > 253 {
		return false
	}
	for i := range len(w) {
		c := w[i]
		if !isDigit(c) && !isLetter(c) && c != '-' && c != '.' && c != '_' && (c != ':' || i == len(w)-1) && c < 0x80 {
			return false
		}
	}
	return true
}

// messagePrefix reports that w begins kernel messages: after a stamp without a
// host it is text and not an identifier.
func messagePrefix(w string) bool {
	switch w {
	case "clocksource", "clocksource_wdtest", "tsc", "TSC", "hpet", "rcu", "mce", "kvm-clock", "kvm-guest", "kvm",
		"sched_clock", "hrtimer", "watchdog", "NMI", "x86", "smp", "smpboot", "ACPI", "BUG", "INFO", "WARNING",
		"Time", "time", "warning", "perf", "acpi_pm", "PM", "DMI", "Hyper-V", "APIC", "timekeeping", "random",
		"workqueue", "Kernel", "tick", "PTP", "ptp", "pps", "RTC", "rtc_cmos", "Xen", "xen",
		"arch_timer", "softdog", "audit", "refined-jiffies", "jiffies", "Firmware":
		return true
	}
	return false
}

// syslogTail reads what follows a syslog stamp, "host kernel: text" or a part
// of it, and returns the text.
func syslogTail(rest string, d *draft) string {
	t := strings.TrimLeft(rest, " ")
	if t == "" || t[0] == '[' || t[0] == '<' || t[0] == '{' {
		return rest
	}
	if text, ok := facilityLevel(t, d); ok {
		return text
	}
	if text, ok := identToken(t, d, true); ok {
		return text
	}
	host, after, ok := strings.Cut(t, " ")
	if !ok || !hostName(host) {
		return rest
	}
	after = strings.TrimLeft(after, " ")
	if text, ok := facilityLevel(after, d); ok {
		return text
	}
	if bracketStamp(after).n > 0 {
		return after
	}
	if host == "NMI" || strings.HasPrefix(after, "[") {
		return rest
	}
	if text, ok := identToken(after, d, false); ok {
		return text
	}
	return rest
}

// identTail reads "IDENT: text" where an identifier must be, if there is one.
func identTail(rest string, d *draft) string {
	t := strings.TrimLeft(rest, " ")
	if text, ok := identToken(t, d, false); ok {
		return text
	}
	return rest
}

// identToken reads "kernel:", "word[pid]:" or "word:" at the beginning of t. A
// word that begins kernel messages does not count where doubtful is set, for
// there no host name went before it.
func identToken(t string, d *draft, doubtful bool) (string, bool) {
	if rest, ok := strings.CutPrefix(t, "kernel:"); ok {
		d.writer("kernel")
		return strings.TrimPrefix(rest, " "), true
	}
	if name, n := processPrefix(t); n > 0 {
		d.writer(unitless(name))
		return strings.TrimPrefix(t[n:], " "), true
	}
	word, rest, _ := strings.Cut(t, " ")
	name, ok := strings.CutSuffix(word, ":")
	if !ok || name == "" || len(name) > 64 || strings.ContainsAny(name, "'\"<>=,;[") {
		return t, false
	}
	if doubtful && (messagePrefix(name) || isDigit(name[0])) {
		return t, false
	}
	d.writer(unitless(name))
	return rest, true
}

// unitless drops the unit that journalctl -o with-unit writes before the identifier.
func unitless(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 && i+1 < len(name) && strings.Contains(name[:i], ".") {
		return name[i+1:]
	}
	return name
}

// rfc5424 reads "1 STAMP HOST APP PROCID MSGID SD text" after the priority.
func rfc5424(s string, d *draft) (string, bool) {
	rest, ok := strings.CutPrefix(s, "1 ")
	if !ok {
		return s, false
	}
	var f [5]string
	for i := range f {
		f[i], rest, ok = strings.Cut(rest, " ")
		if !ok {
			return s, false
		}
	}
	if f[0] != "-" && shape(f[0], "DTHz") != len(f[0]) {
		return s, false
	}
	if rest != "" && rest[0] == '-' {
		rest = rest[1:]
	} else {
		n := structuredData(rest)
		if n == 0 {
			return s, false
		}
		rest = rest[n:]
	}
	d.in(FormatRFC5424)
	d.own = true
	if f[0] != "-" {
		d.wall = f[0]
	}
	if f[2] != "-" {
		d.writer(f[2])
	}
	rest = strings.TrimPrefix(rest, " ")
	return strings.TrimPrefix(rest, "\ufeff"), true
}

// structuredData returns the length of one or more [id key="value"] elements.
func structuredData(s string) int {
	n := 0
	for n < len(s) && s[n] == '[' {
		quoted := false
		i := n + 1
		for ; i < len(s); i++ {
			switch {
			case s[i] == '\\' && quoted:
				i++
			case s[i] == '"':
				quoted = !quoted
			case s[i] == ']' && !quoted:
				goto closed
			}
		}
		return 0
	closed:
		n = i + 1
	}
	return n
}
