package klog

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"mime/quotedprintable"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/cswatch/cswatch/event"
	"github.com/google/go-cmp/cmp"
)

// source is one record before it is put into a container.
type source struct {
	us    int64
	level int64
	text  string
}

func (s source) dmesg() string {
	return fmt.Sprintf("[%5d.%06d] %s", s.us/1e6, s.us%1e6, s.text)
}

func reference() []source {
	return []source{
		{0, 5, "Linux version 6.1.0-57-amd64 (builder@host) #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)"},
		{0, 6, "Command line: BOOT_IMAGE=/vmlinuz root=UUID=ab12 ro tsc=nowatchdog clocksource=tsc"},
		{12345, 6, "tsc: Detected 2893.299 MHz processor"},
		{72452, 6, "clocksource: refined-jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 1910969940391419 ns"},
		{303717, 4, "[Firmware Bug]: TSC ADJUST differs: CPU15 45960750 --> 78394770. Restoring"},
		{974281, 4, "TSC synchronization [CPU#0 -> CPU#36]:"},
		{2586956, 4, "clocksource: timekeeping watchdog on CPU4: Marking clocksource 'tsc' as unstable because the skew is too large:"},
		{2587920, 4, "clocksource:                       'hpet' wd_nsec: 507753219 wd_now: 22859e0 wd_last: 1b96b0a mask: ffffffff"},
		{2588769, 4, "clocksource:                       'tsc' cs_nsec: 504000390 cs_now: 4dcde2fd4 cs_last: 4823ea9fa mask: ffffffffffffffff"},
		{2589415, 4, "clocksource:                       'kvm-clock' (not 'tsc') is current clocksource."},
		{2589901, 6, "tsc: Marking TSC unstable due to clocksource watchdog"},
		{2590000, 4, "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'."},
		{2590100, 6, "sched_clock: Marking unstable (8511381561, -8990127)<-(8520197471, -17805900)"},
		{2590200, 4, "clocksource: Override clocksource tsc is unstable and not HRT compatible - cannot switch while in HRT/NOHZ mode"},
		{2590300, 6, " #2 #3"},
		{3012345678, 6, "clocksource: Switched to clocksource hpet"},
	}
}

// carries says which facts a container keeps.
type carries struct {
	printk, level, kernel, wall bool
	format                      string
	trimmed                     bool // leading blanks of the text are lost
}

type container struct {
	name   string
	render func([]source) string
	carries
}

// each renders line by line.
func each(f func(s source) string) func([]source) string {
	return func(all []source) string {
		var b strings.Builder
		for _, s := range all {
			b.WriteString(f(s) + "\n")
		}
		return b.String()
	}
}

func quote(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func levelName(l int64) string {
	return []string{"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"}[l]
}

func journalJSON(s source, message any) map[string]any {
	return map[string]any{
		"__CURSOR": "s=a;i=1", "__REALTIME_TIMESTAMP": fmt.Sprint(1772697600000000 + s.us), "__MONOTONIC_TIMESTAMP": fmt.Sprint(s.us + 77),
		"_BOOT_ID": "bb", "_TRANSPORT": "kernel", "SYSLOG_FACILITY": "0", "SYSLOG_IDENTIFIER": "kernel",
		"PRIORITY": fmt.Sprint(s.level), "_SOURCE_MONOTONIC_TIMESTAMP": fmt.Sprint(s.us), "MESSAGE": message,
	}
}

func byteNumbers(s string) []int {
	var out []int
	for i := range len(s) {
		out = append(out, int(s[i]))
	}
	return out
}

func export(text bool) func([]source) string {
	return func(all []source) string {
		var b strings.Builder
		for i, s := range all {
			fmt.Fprintf(&b, "__CURSOR=s=a;i=%d\n__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=bb\n_SOURCE_MONOTONIC_TIMESTAMP=%d\n", i, 1772697600000000+s.us, s.us+5, s.us)
			fmt.Fprintf(&b, "_TRANSPORT=kernel\nPRIORITY=%d\nSYSLOG_FACILITY=0\nSYSLOG_IDENTIFIER=kernel\n", s.level)
			if text {
				fmt.Fprintf(&b, "MESSAGE=%s\n\n", s.text)
			} else {
				b.WriteString("MESSAGE\n" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(s.text)))) + s.text + "\n\n")
			}
		}
		return b.String()
	}
}

func logcatLetter(l int64) string { return []string{"F", "F", "F", "E", "W", "I", "I", "D"}[l] }

func ncfrag(s source, seq int) string {
	head := fmt.Sprintf("%d,%d,%d,-,ncfrag=", s.level, seq, s.us)
	half := len(s.text) / 2
	return fmt.Sprintf("%s0/%d;%s\n%s%d/%d;%s", head, len(s.text), s.text[:half], head, half, len(s.text), s.text[half:])
}

func lineContainers() []container {
	printk := carries{printk: true, format: FormatDmesg}
	kernelLevel := carries{printk: true, level: true, kernel: true}
	of := func(c carries, format string) carries { c.format = format; return c }
	syslog := carries{kernel: true, wall: true, format: FormatSyslog}
	syslogPrintk := carries{kernel: true, wall: true, printk: true, format: FormatSyslog}
	journal := of(syslog, FormatJournal)
	return []container{
		{"dmesg", each(source.dmesg), printk},
		{"dmesg without padding", each(func(s source) string { return fmt.Sprintf("[%d.%06d] %s", s.us/1e6, s.us%1e6, s.text) }), printk},
		{"caller field", each(func(s source) string { return fmt.Sprintf("[%5d.%06d][    C2] %s", s.us/1e6, s.us%1e6, s.text) }), printk},
		{"caller field of newer dmesg", each(func(s source) string { return fmt.Sprintf("[%5d.%06d] [     T1] %s", s.us/1e6, s.us%1e6, s.text) }), printk},
		{"dmesg -r", each(func(s source) string { return fmt.Sprintf("<%d>%s", s.level, s.dmesg()) }), of(kernelLevel, FormatDmesg)},
		{"dmesg -x", each(func(s source) string { return fmt.Sprintf("kern  :%-6s: %s", levelName(s.level), s.dmesg()) }), of(kernelLevel, FormatDmesg)},
		{"dmesg -T", each(func(s source) string { return "[Thu Mar  5 08:00:02 2026] " + s.text }), carries{wall: true, format: FormatDmesgT}},
		{"dmesg -x -T", each(func(s source) string {
			return fmt.Sprintf("kern  :%-6s: [Thu Mar  5 08:00:02 2026] %s", levelName(s.level), s.text)
		}), carries{wall: true, level: true, kernel: true, format: FormatDmesg}},
		{"dmesg -H", each(func(s source) string { return "[Oct23 14:35] " + s.text }), carries{wall: true, format: FormatDmesgH}},
		{"dmesg -e", each(func(s source) string { return "[  +5.036219] " + s.text }), carries{wall: true, format: FormatDmesgH}},
		{"dmesg -d", each(func(s source) string { return fmt.Sprintf("[%5d.%06d <    0.000024>] %s", s.us/1e6, s.us%1e6, s.text) }), printk},
		{"dmesg -d without time", each(func(s source) string { return "[<    0.000024>] " + s.text }), carries{wall: true, format: FormatDmesgH}},
		{"dmesg iso", each(func(s source) string { return "2026-03-05T08:00:02,123456+00:00 " + s.text }), carries{wall: true, format: FormatDmesgT}},
		{"dmesg in colour", each(func(s source) string {
			head, tail, _ := strings.Cut(s.text, " ")
			return fmt.Sprintf("\x1b[32m[%5d.%06d] \x1b[0m\x1b[33m%s\x1b[0m %s\x1b[0m", s.us/1e6, s.us%1e6, head, tail)
		}), printk},
		{"stamp and text on two lines", each(func(s source) string { return fmt.Sprintf("[%d.%06d]\n%s", s.us/1e6, s.us%1e6, s.text) }), printk},
		{"journalctl short", each(func(s source) string { return "Mar 05 08:00:02 host kernel: " + s.text }), syslog},
		{"journalctl short-precise", each(func(s source) string { return "Mar 05 08:00:02.123456 host kernel: " + s.text }), syslog},
		{"journalctl short-iso", each(func(s source) string { return "2026-03-05T08:00:02+0000 host kernel: " + s.text }), syslog},
		{"journalctl short-iso-precise", each(func(s source) string { return "2026-03-05T08:00:02.123456+00:00 host kernel: " + s.text }), syslog},
		{"journalctl short-full", each(func(s source) string { return "Thu 2026-03-05 08:00:02 UTC host kernel: " + s.text }), journal},
		{"journalctl short-unix", each(func(s source) string { return "1772697602.123456 host kernel: " + s.text }), journal},
		{"journalctl short-monotonic", each(func(s source) string { return fmt.Sprintf("[%5d.%06d] host kernel: %s", s.us/1e6, s.us%1e6, s.text) }),
			carries{printk: true, kernel: true, format: FormatJournal}},
		{"journalctl short-delta", each(func(s source) string {
			return fmt.Sprintf("[%5d.%06d <    0.000001 >] host kernel: %s", s.us/1e6, s.us%1e6, s.text)
		}), carries{printk: true, kernel: true, format: FormatJournal}},
		{"journalctl --no-hostname", each(func(s source) string { return "Mar 05 08:00:02 kernel: " + s.text }), syslog},
		{"journalctl cat", each(func(s source) string { return s.text }), carries{format: FormatPlain}},
		{"identifier alone", each(func(s source) string { return "kernel: " + s.dmesg() }), carries{printk: true, kernel: true, format: FormatSyslog}},
		{"journalctl json", each(func(s source) string { return quote(journalJSON(s, s.text)) }), carries{true, true, true, true, FormatJournalJSON, false}},
		{"journalctl json of printk text", each(func(s source) string { return quote(journalJSON(s, s.dmesg())) }), carries{true, true, true, true, FormatJournalJSON, false}},
		{"journalctl json, byte array", each(func(s source) string { return quote(journalJSON(s, byteNumbers(s.text))) }), carries{true, true, true, true, FormatJournalJSON, false}},
		{"journalctl json-seq", each(func(s source) string { return "\x1e" + quote(journalJSON(s, s.text)) }), carries{true, true, true, true, FormatJournalJSON, false}},
		{"journalctl json-sse", each(func(s source) string { return "data: " + quote(journalJSON(s, s.text)) + "\n" }), carries{true, true, true, true, FormatJournalJSON, false}},
		{"kmsg", each(func(s source) string {
			return fmt.Sprintf("%d,%d,%d,-;%s\n SUBSYSTEM=clocksource\n DEVICE=+clocksource:clocksource0", s.level, s.us, s.us, s.text)
		}), of(kernelLevel, FormatKmsg)},
		{"kmsg with caller", each(func(s source) string { return fmt.Sprintf("%d,%d,%d,-,caller=T1;%s", s.level, s.us, s.us, s.text) }), of(kernelLevel, FormatKmsg)},
		{"kmsg with escapes", each(func(s source) string {
			return fmt.Sprintf("%d,%d,%d,-;%s", s.level, s.us, s.us, strings.ReplaceAll(s.text, "_", `\x5f`))
		}), of(kernelLevel, FormatKmsg)},
		{"netconsole extended", each(func(s source) string { return fmt.Sprintf("6.1.0-57,%d,%d,%d,-;%s", s.level, s.us, s.us, s.text) }), of(kernelLevel, FormatNetconsole)},
		{"netconsole fragments", each(func(s source) string { return ncfrag(s, int(s.us)) }), of(kernelLevel, FormatNetconsole)},
		{"syslog", each(func(s source) string { return "Mar  5 08:00:02 host kernel: " + s.dmesg() }), syslogPrintk},
		{"syslog with priority", each(func(s source) string { return fmt.Sprintf("<%d>Mar  5 08:00:02 host kernel: %s", s.level, s.dmesg()) }),
			carries{true, true, true, true, FormatSyslog, false}},
		{"syslog without blank after the colon", each(func(s source) string { return "Mar  5 08:00:02 host kernel:" + s.dmesg() }), syslogPrintk},
		{"syslog, year first", each(func(s source) string { return "2026 Mar  5 08:00:02 host kernel: " + s.dmesg() }), syslogPrintk},
		{"rsyslog RFC 3339", each(func(s source) string { return "2026-03-05T08:00:02.123456-04:00 host kernel: " + s.dmesg() }), syslogPrintk},
		{"RFC 5424", each(func(s source) string {
			return fmt.Sprintf("<%d>1 2026-03-05T08:00:02.1Z host kernel - - - %s", s.level, s.dmesg())
		}),
			carries{true, true, true, true, FormatRFC5424, false}},
		{"RFC 5424 with structured data and mark", each(func(s source) string {
			return fmt.Sprintf("<%d>1 2026-03-05T08:00:02.1Z host kernel - - [meta sequenceId=\"1\" x=\"a\\\"]b\"][t q=\"1\"] \ufeff%s", s.level, s.text)
		}), carries{false, true, true, true, FormatRFC5424, false}},
		{"RFC 5424 without values", each(func(s source) string { return fmt.Sprintf("<%d>1 - - - - - - %s", s.level, s.text) }), carries{false, true, true, false, FormatRFC5424, false}},
		{"OpenWrt", each(func(s source) string {
			return fmt.Sprintf("Tue Mar  8 13:19:34 2022 kern.%s kernel: %s", levelName(s.level), s.dmesg())
		}), carries{true, true, true, true, FormatSyslog, false}},
		{"BusyBox", each(func(s source) string {
			return fmt.Sprintf("Jun  1 21:12:59 host kern.%s kernel: %s", levelName(s.level), s.dmesg())
		}), carries{true, true, true, true, FormatSyslog, false}},
		{"console server", each(func(s source) string { return "2016-12-03 19:08:52    " + s.dmesg() }), carries{printk: true, wall: true, format: FormatSyslog}},
		{"bracketed stamp of a console", each(func(s source) string { return "[2016-12-03 19:08:52.123] " + s.dmesg() }), carries{printk: true, wall: true, format: FormatSyslog}},
		{"logcat threadtime", each(func(s source) string {
			return fmt.Sprintf("03-05 08:40:10.694     0     0 %s %s", logcatLetter(s.level), s.text)
		}), carries{wall: true, kernel: true, format: FormatLogcat}},
		{"logcat time", each(func(s source) string {
			tag, rest, ok := strings.Cut(s.text, ": ")
			if !ok || strings.Contains(tag, " ") {
				tag, rest = "", s.text
			}
			return fmt.Sprintf("03-05 08:40:10.694 %s/%-8s(    0): %s", logcatLetter(s.level), tag, rest)
		}), carries{wall: true, kernel: true, format: FormatLogcat}},
		{"docker", each(func(s source) string {
			return quote(map[string]any{"log": s.dmesg() + "\n", "stream": "stdout", "time": "2026-03-05T08:00:00Z"})
		}), carries{printk: true, wall: true, format: FormatDockerJSON}},
		{"docker, split", each(func(s source) string {
			l := s.dmesg() + "\n"
			f := func(t string) string {
				return quote(map[string]any{"log": t, "stream": "stdout", "time": "2026-03-05T08:00:00Z"})
			}
			return f(l[:17]) + "\n" + f(l[17:20]) + "\n" + f(l[20:])
		}), carries{printk: true, wall: true, format: FormatDockerJSON}},
		{"docker without line ends", each(func(s source) string {
			return quote(map[string]any{"log": s.dmesg(), "stream": "stdout", "time": "2026-03-05T08:00:00Z"})
		}), carries{printk: true, wall: true, format: FormatDockerJSON}},
		{"CRI", each(func(s source) string { return "2026-03-05T08:00:00.000000000Z stdout F " + s.dmesg() }), carries{printk: true, wall: true, format: FormatCRI}},
		{"CRI, partial", each(func(s source) string {
			l := s.dmesg()
			return "2026-03-05T08:00:00.000Z stdout P " + l[:19] + "\n2026-03-05T08:00:00.000Z stdout F " + l[19:]
		}), carries{printk: true, wall: true, format: FormatCRI}},
		{"klog", each(func(s source) string { return "I0621 06:29:49.909671    8194 utils.go:240] > " + s.dmesg() }), carries{printk: true, wall: true, format: FormatKlog}},
		{"klog around dmesg -e", each(func(s source) string { return "I0621 06:29:49.909671    8194 utils.go:240] > [  +5.014631] " + s.text }), carries{wall: true, format: FormatKlog}},
		{"controller JSON", each(func(s source) string {
			return quote(map[string]any{"component": "virt-controller", "level": "info", "msg": s.dmesg(), "timestamp": "2025-02-27T13:32:21.524854Z"})
		}), carries{printk: true, wall: true, format: FormatJSON}},
		{"logcli", each(func(s source) string { return `2026-03-05T08:00:02Z {job="kernel", host="a"} ` + s.dmesg() }), carries{printk: true, wall: true, format: FormatSyslog}},
		{"Loki JSON lines", each(func(s source) string {
			return quote(map[string]any{"labels": map[string]string{"job": "kernel"}, "line": s.dmesg(), "timestamp": "2026-03-05T08:00:02Z"})
		}), carries{printk: true, wall: true, format: FormatJSON}},
		{"fluentd", each(func(s source) string { return quote(map[string]any{"message": s.dmesg(), "ident": "kernel"}) }), carries{printk: true, kernel: true, format: FormatJSON}},
		{"prompt before the stamp", each(func(s source) string { return "~ # " + s.dmesg() }), printk},
		{"Markdown indent", each(func(s source) string { return "    " + s.dmesg() }), printk},
		{"list", each(func(s source) string { return "- " + s.dmesg() }), printk},
		{"numbered list", each(func(s source) string { return "12. " + s.dmesg() }), printk},
		{"list of inline code", each(func(s source) string { return "* `" + s.dmesg() + "`" }), printk},
		{"table cell", each(func(s source) string { return "| " + s.dmesg() + " |" }), printk},
		{"literal, single quotes", each(func(s source) string { return "    '" + strings.ReplaceAll(s.dmesg(), "'", `\'`) + "'," }), printk},
		{"literal, double quotes", each(func(s source) string { return `  "` + s.dmesg() + `\n"` }), printk},
		{"call with a literal", each(func(s source) string { return `log.Print("` + s.dmesg() + `\n")` }), printk},
		{"cat -A of nothing", each(func(s source) string { return s.dmesg() + "\x00\x00" }), printk},
	}
}

func wholeContainers() []container {
	dm := carries{printk: true, format: FormatDmesg}
	journal := carries{true, true, true, true, FormatExport, false}
	return []container{
		{"export, text fields", export(true), journal},
		{"export, binary fields", export(false), journal},
		{"verbose", each(func(s source) string {
			return fmt.Sprintf("Thu 2026-03-05 08:00:02.123456 UTC [s=0a;i=1;b=bb;m=0;t=0;x=0]\n    _TRANSPORT=kernel\n    PRIORITY=%d\n    SYSLOG_FACILITY=0\n    SYSLOG_IDENTIFIER=kernel\n    _SOURCE_MONOTONIC_TIMESTAMP=%d\n    MESSAGE=%s", s.level, s.us, s.text)
		}), carries{true, true, true, true, FormatJournal, false}},
		{"json-pretty", each(func(s source) string {
			b, _ := json.MarshalIndent(journalJSON(s, s.text), "", "\t")
			return string(b)
		}), carries{true, true, true, true, FormatJournalJSON, false}},
		{"json-pretty, byte array", each(func(s source) string {
			b, _ := json.MarshalIndent(journalJSON(s, byteNumbers(s.text)), "", "\t")
			return string(b)
		}), carries{true, true, true, true, FormatJournalJSON, false}},
		{"dmesg --json", func(all []source) string {
			var l []string
			for _, s := range all {
				l = append(l, fmt.Sprintf("{\n         \"pri\": %d,\n         \"time\": %5d.%06d,\n         \"msg\": %s\n      }", s.level, s.us/1e6, s.us%1e6, quote(s.text)))
			}
			return "{\n   \"dmesg\": [\n      " + strings.Join(l, ",") + "\n   ]\n}\n"
		}, carries{printk: true, level: true, kernel: true, format: FormatDmesgJSON}},
		{"dmesg --json, compact", func(all []source) string {
			var l []string
			for _, s := range all {
				l = append(l, fmt.Sprintf(`{"pri":%d,"time":%d.%06d,"msg":%s}`, s.level, s.us/1e6, s.us%1e6, quote(s.text)))
			}
			return `{"dmesg":[` + strings.Join(l, ",") + "]}\n"
		}, carries{printk: true, level: true, kernel: true, format: FormatDmesgJSON}},
		{"array of journal objects", func(all []source) string {
			var l []string
			for _, s := range all {
				l = append(l, quote(journalJSON(s, s.text)))
			}
			return "[" + strings.Join(l, ",") + "]\n"
		}, carries{true, true, true, true, FormatJournalJSON, false}},
		{"html", func(all []source) string {
			return "<html><body>\n<pre><code>" + html.EscapeString(each(source.dmesg)(all)) + "</code></pre>\n</body></html>\n"
		}, carries{printk: true, format: FormatHTML}},
		{"html with br and spans", func(all []source) string {
			var b strings.Builder
			for _, s := range all {
				b.WriteString(`<span class="t">` + html.EscapeString(s.dmesg()) + "</span><br />")
			}
			return b.String() + "\n"
		}, carries{printk: true, format: FormatHTML}},
		{"html paragraphs", each(func(s source) string {
			return "<p>" + strings.ReplaceAll(html.EscapeString(s.dmesg()), "  ", "&nbsp; ") + "</p>"
		}), carries{printk: true, format: FormatHTML}},
		{"fenced code", func(all []source) string { return "```text\n" + each(source.dmesg)(all) + "```\n" }, dm},
		{"carriage returns", func(all []source) string { return strings.ReplaceAll(each(source.dmesg)(all), "\n", "\r\n") }, dm},
		{"carriage returns alone", func(all []source) string { return strings.ReplaceAll(each(source.dmesg)(all), "\n", "\r") }, dm},
		{"carriage return doubled", func(all []source) string { return strings.ReplaceAll(each(source.dmesg)(all), "\n", "\r\r\n") }, dm},
		{"byte order mark", func(all []source) string { return "\xef\xbb\xbf" + each(source.dmesg)(all) }, dm},
		{"UTF-16LE", func(all []source) string { return utf16Text(each(source.dmesg)(all), false, true) }, dm},
		{"UTF-16BE", func(all []source) string { return utf16Text(each(source.dmesg)(all), true, true) }, dm},
		{"UTF-16LE without mark", func(all []source) string { return utf16Text(each(source.dmesg)(all), false, false) }, dm},
		{"pstore", func(all []source) string {
			return "Panic#1 Part1\n" + each(func(s source) string { return fmt.Sprintf("<%d>%s", s.level, s.dmesg()) })(all)
		}, carries{printk: true, level: true, kernel: true, format: FormatPstore}},
		{"ramoops", func(all []source) string { return "====1425592921.123456-D\n" + each(source.dmesg)(all) }, carries{printk: true, format: FormatPstore}},
		{"logcat long", each(func(s source) string {
			return fmt.Sprintf("[ 03-05 08:40:10.694     0:    0 %s/ ]\n%s\n", logcatLetter(s.level), s.text)
		}), carries{wall: true, kernel: true, format: FormatLogcat, trimmed: true}},
		{"one literal with line breaks", func(all []source) string { return quote(each(source.dmesg)(all)) + "\n" }, dm},
		{"stamp alone, blank line, rest", each(func(s source) string { return "Jun 22 15:37:41 \n\nhost kernel: " + s.dmesg() }), carries{printk: true, kernel: true, wall: true, format: FormatSyslog}},
		{"fields in table cells", each(func(s source) string {
			return fmt.Sprintf("| [%5d.%06d] | %s |", s.us/1e6, s.us%1e6, s.text)
		}), carries{printk: true, format: FormatDmesg, trimmed: true}},
	}
}

func utf16Text(s string, big, mark bool) string {
	var out []byte
	units := utf16.Encode([]rune(s))
	if mark {
		units = append([]uint16{0xfeff}, units...)
	}
	for _, u := range units {
		if big {
			out = binary.BigEndian.AppendUint16(out, u)
		} else {
			out = binary.LittleEndian.AppendUint16(out, u)
		}
	}
	return string(out)
}

// wrapper puts a whole text into another container.
type wrapper struct {
	name   string
	wrap   func(string) string
	format string // outermost container after it, "" if it leaves the inner one
	keeps  func(container) bool
}

func perLine(f func(string) string) func(string) string {
	return func(s string) string {
		lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
		for i, l := range lines {
			lines[i] = f(l)
		}
		return strings.Join(lines, "\n") + "\n"
	}
}

func qpText(s string) string {
	var b strings.Builder
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

func wrappers() []wrapper {
	text := func(c container) bool {
		return !strings.Contains(c.name, "binary") && !strings.Contains(c.name, "UTF-16")
	}
	line := func(c container) bool {
		return text(c) && !strings.Contains(c.name, "carriage") && !strings.Contains(c.name, "alone") &&
			!strings.Contains(c.name, "mark") && !strings.Contains(c.name, "cat -A") && !strings.Contains(c.name, "json-seq")
	}
	// A stamp behind a soft break begins a record, so that nothing can hide one.
	soft := func(c container) bool { return line(c) && c.name != "one literal with line breaks" }
	noHTML := func(c container) bool {
		return line(c) && !strings.Contains(c.name, "html")
	}
	single := func(c container) bool {
		return noHTML(c) && c.format != FormatExport && c.name != "verbose" && !strings.Contains(c.name, "JSON") &&
			!strings.Contains(c.name, "json") && c.name != "fenced code" && !strings.Contains(c.name, "journal objects") && c.format != FormatPstore && !strings.Contains(c.name, "kmsg") &&
			!strings.Contains(c.name, "two lines") && !strings.Contains(c.name, "logcat long") && !strings.Contains(c.name, "docker, split") &&
			!strings.Contains(c.name, "literal") && !strings.Contains(c.name, "list") && !strings.Contains(c.name, "table") && !strings.Contains(c.name, "colour")
	}
	return []wrapper{
		{"mail quoting", perLine(func(l string) string { return "> " + l }), "", line},
		{"deep mail quoting", perLine(func(l string) string { return "> > > " + l }), "", line},
		{"quoted-printable", qpText, "", soft},
		{"quoted-printable of mail quoting", func(s string) string { return qpText(perLine(func(l string) string { return "> " + l })(s)) }, "", soft},
		{"mail quoting of quoted-printable", func(s string) string { return perLine(func(l string) string { return "> " + l })(qpText(s)) }, "", soft},
		{"CR LF", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }, "", func(c container) bool { return text(c) && !strings.Contains(c.name, "carriage") }},
		{"UTF-16", func(s string) string { return utf16Text(s, false, true) }, "", func(c container) bool { return text(c) && !strings.Contains(c.name, "byte order") }},
		{"html", func(s string) string { return "<pre>\n" + html.EscapeString(s) + "</pre>\n" }, FormatHTML, noHTML},
		{"docker", perLine(func(l string) string {
			return quote(map[string]any{"log": l + "\n", "stream": "stderr", "time": "2026-03-05T08:00:00Z"})
		}), FormatDockerJSON, single},
		{"CRI", perLine(func(l string) string { return "2026-03-05T08:00:00.123456789Z stderr F " + l }), FormatCRI, single},
	}
}

func want(all []source, c container) []Record {
	var out []Record
	for _, s := range all {
		r := Record{Text: s.text}
		if c.trimmed {
			r.Text = strings.TrimLeft(r.Text, " ")
		}
		if c.printk {
			r.Printk = event.Some(s.us * 1000)
		}
		if c.level {
			r.Level = event.Some(s.level)
		}
		if c.kernel {
			r.Origin = OriginKernel
		}
		out = append(out, r)
	}
	return out
}

// got reads all records and keeps the facts that every container is judged by.
func got(in string, c container, format string) ([]Record, string) {
	r := NewRecordReader(strings.NewReader(in))
	var out []Record
	problem := ""
	for r.Next() {
		rec := *r.Record()
		if strings.TrimSpace(rec.Text) == "~ #" || strings.HasPrefix(rec.Text, "log.Print(") {
			continue
		}
		if rec.Format != format && problem == "" {
			problem = fmt.Sprintf("line %d: format %q, want %q", rec.Line, rec.Format, format)
		}
		if (rec.Wall != "") != c.wall && problem == "" {
			problem = fmt.Sprintf("line %d: wall stamp %q, want one: %v", rec.Line, rec.Wall, c.wall)
		}
		if rec.Bare != (c.format == FormatPlain && !c.printk) && problem == "" {
			problem = fmt.Sprintf("line %d: bare %v", rec.Line, rec.Bare)
		}
		keep := Record{Text: rec.Text, Printk: rec.Printk, Origin: rec.Origin}
		if c.level {
			keep.Level = rec.Level
		}
		out = append(out, keep)
	}
	if r.Err() != nil {
		problem = r.Err().Error()
	}
	return out, problem
}

func TestRecordsSurviveEveryContainer(t *testing.T) {
	for _, c := range append(lineContainers(), wholeContainers()...) {
		t.Run(c.name, func(t *testing.T) {
			in := c.render(reference())
			out, problem := got(in, c, c.format)
			if diff := cmp.Diff(want(reference(), c), out); diff != "" {
				t.Fatalf("records differ (-want +got):\n%s\ninput begins:\n%.600s", diff, in)
			}
			if problem != "" {
				t.Errorf("%s\ninput begins:\n%.300s", problem, in)
			}
		})
	}
}

func TestRecordsSurviveNestedContainers(t *testing.T) {
	for _, c := range append(lineContainers(), wholeContainers()...) {
		for _, w := range wrappers() {
			if !w.keeps(c) {
				continue
			}
			t.Run(c.name+" in "+w.name, func(t *testing.T) {
				in := w.wrap(c.render(reference()))
				format := c.format
				if w.format != "" && format != FormatPlain || w.format != "" {
					format = w.format
				}
				inner := c
				inner.wall = c.wall || w.format == FormatDockerJSON || w.format == FormatCRI
				out, problem := got(in, inner, format)
				if diff := cmp.Diff(want(reference(), c), out); diff != "" {
					t.Fatalf("records differ (-want +got):\n%s\ninput begins:\n%.600s", diff, in)
				}
				if problem != "" {
					t.Errorf("%s\ninput begins:\n%.300s", problem, in)
				}
			})
		}
	}
}
