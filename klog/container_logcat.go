package klog

import (
	"strings"

	"github.com/cswatch/cswatch/event"
)

// logcatLevel returns the printk level of a logcat letter, -1 if it is none.
func logcatLevel(c byte) int64 {
	switch c {
	case 'V', 'D':
		return 7
	case 'I':
		return 6
	case 'W':
		return 4
	case 'E':
		return 3
	case 'F', 'A':
		return 2
	}
	return -1
}

// logcatHeader reads "03-05 08:40:10.694     0     0 W text" (threadtime, with
// or without year, zone and user) and "03-05 08:40:10.694 W/tag( 0): text" (time).
func logcatHeader(t string, d *draft) (string, bool) {
	n := shape(t, "M_H")
	if n == 0 {
		if n = shape(t, "D_H"); n == 0 {
			return t, false
		}
	}
	stamp, rest := t[:n], strings.TrimLeft(t[n:], " ")
	if k := zone(rest); k > 1 && k < len(rest) && rest[k] == ' ' {
		rest = strings.TrimLeft(rest[k:], " ")
	}
	if text, ok := logcatBrief(rest, d); ok {
		d.wall = stamp
		return text, true
	}
	var numbers []int64
	for i := range 5 {
		word, after, ok := strings.Cut(rest, " ")
		switch {
		case !ok:
			return t, false
		case digits(word, 1, 9) == len(word):
			numbers = append(numbers, decimal(word))
		case len(word) == 1 && logcatLevel(word[0]) >= 0 && len(numbers) >= 2:
			// With -v uid a numeric user comes before the pid.
			d.logcat(stamp, logcatLevel(word[0]), numbers[len(numbers)-2])
			return untag(after), true
		case i > 0 || !hostName(word): // with -v uid a name may come first
			return t, false
		}
		rest = strings.TrimLeft(after, " ")
	}
	return t, false
}

// logcatBrief reads "W/clocksource(    0): text" and "W/clocksource: text".
func logcatBrief(t string, d *draft) (string, bool) {
	if len(t) < 5 || t[1] != '/' {
		return t, false
	}
	level := logcatLevel(t[0])
	colon := strings.Index(t, ": ")
	if level < 0 || colon < 0 || colon > 80 {
		return t, false
	}
	tag := t[2:colon]
	pid := int64(0)
	if i := strings.LastIndexByte(tag, '('); i >= 0 && strings.HasSuffix(tag, ")") {
		num := strings.TrimLeft(tag[i+1:len(tag)-1], " ")
		if num == "" || digits(num, 1, 9) != len(num) {
			return t, false
		}
		pid, tag = decimal(num), tag[:i]
	}
	d.logcat(d.wall, level, pid)
	if tag = strings.TrimRight(tag, " "); tag == "" {
		return t[colon+2:], true
	}
	return tag + t[colon:], true
}

// logcatLong reads "[ 03-05 08:40:10.694     0:    0 W/clocksource ]"; the text
// is on the next line, without the tag.
func logcatLong(t string, d *draft) (string, bool) {
	end := strings.Index(t[:min(len(t), 120)], " ]")
	if end < 0 {
		return t, false
	}
	in := strings.TrimSpace(t[1:end])
	n := shape(in, "M_H")
	i := strings.IndexByte(in, '/')
	if n == 0 || i < n+1 {
		return t, false
	}
	level := logcatLevel(in[i-1])
	if level < 0 {
		return t, false
	}
	pid := strings.TrimLeft(in[n:i-1], " ")
	k := digits(pid, 1, 9)
	if k == 0 {
		return t, false
	}
	d.logcat(in[:n], level, decimal(pid[:k]))
	text := strings.TrimSpace(t[end+2:])
	if tag := strings.TrimSpace(in[i+1:]); tag != "" && text != "" {
		text = tag + ": " + text
	}
	return text, true
}

// logcat notes a header of logcat. The kernel's lines have no process, in
// whatever buffer they are shown; no program can write lines without one.
func (d *draft) logcat(stamp string, level, pid int64) {
	d.in(FormatLogcat)
	d.own = true
	if stamp != "" {
		d.wall = stamp
	}
	d.level = event.Some(level)
	if pid == 0 {
		d.kernel()
	} else {
		d.foreign("")
	}
}

// untag removes the padding that logcat puts between a short tag and the colon:
// it pads tags to eight columns.
func untag(s string) string {
	i := strings.IndexByte(s, ':')
	if i != 8 || s[7] != ' ' {
		return s
	}
	tag := strings.TrimRight(s[:8], " ")
	if tag == "" {
		return strings.TrimPrefix(s[9:], " ")
	}
	if strings.IndexByte(tag, ' ') >= 0 {
		return s
	}
	return tag + s[8:]
}

// klogHeader reads "I0621 06:29:49.909671    8194 utils.go:240] " of Kubernetes
// programs. The text may be a quoted line of another log.
func klogHeader(t string, d *draft) (string, bool) {
	if len(t) < 30 || strings.IndexByte("IWEF", t[0]) < 0 || digitShape(t[1:], "dddd ") == 0 {
		return t, false
	}
	n := shape(t[6:], "H")
	if n == 0 {
		return t, false
	}
	rest := strings.TrimLeft(t[6+n:], " ")
	k := digits(rest, 1, 10)
	if k == 0 {
		return t, false
	}
	end := strings.IndexByte(rest, ']')
	if end < 0 || end > 120 {
		return t, false
	}
	if i := strings.LastIndexByte(rest[:end], ':'); i < 0 || digits(rest[i+1:end], 1, 7) != end-i-1 {
		return t, false
	}
	d.in(FormatKlog)
	d.wall = t[:6+n]
	d.own = true
	text, _ := stripQuotes(strings.TrimPrefix(rest[end+1:], " "))
	return text, true
}
