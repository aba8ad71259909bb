package klog

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// app stands in a poison for the beginning of a line of another program.
const app = "{app}"

// poisons are texts that open something that spans lines, or look as if they did.
func poisons() map[string]string {
	length := func(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }
	base64 := strings.Repeat("QUJD", 18)
	ruler := strings.Repeat("=", 76)
	return map[string]string{
		"brace":                          "{",
		"bracket":                        "[",
		"brace in an object":             `{"a": {`,
		"brace, then a key":              "{\n  \"a\": 1,",
		"array of objects":               `[{"a":`,
		"array, whole object":            `[{"a":1},`,
		"dmesg list":                     `{"dmesg": [`,
		"dmesg list on lines":            "{\n   \"dmesg\": [\n      {\n         \"pri\": 6,",
		"dmesg record":                   `{"dmesg":[{"pri":4,`,
		"dmesg text":                     `{"dmesg":[{"pri":4,"msg":"x`,
		"object with a message":          "{\n  \"msg\": \"x\",\n  \"lines\": [",
		"object, string open":            "{\n  \"a\": \"x",
		"object without message":         "{\n  \"a\": [\n    1,\n    2\n  ]\n}",
		"data":                           "data: {",
		"record separator":               "\x1e{",
		"string":                         `"`,
		"quote":                          `'`,
		"back tick":                      "`",
		"comma":                          ",",
		"number":                         "12,",
		"null":                           "null",
		"large object":                   "{\n" + strings.Repeat("\"a\": \""+strings.Repeat("x", 1000)+"\",\n", 300),
		"deep object":                    strings.Repeat("{\"a\":\n", 100),
		"brace of a program":             app + "{",
		"object of a program":            app + `{"a": [`,
		"object of a program, two lines": app + "{\n" + app + "  \"x\": 1,",
		"long object":                    `{"a":"` + strings.Repeat("x", 200<<10),
		"pre":                            "<pre>",
		"page":                           "<!DOCTYPE html>\n<html><body>",
		"inline code":                    "text <code> text",
		"code":                           "<code>",
		"half a tag":                     "<a href=",
		"comment":                        "<!--",
		"tags of a program":              app + "<pre><p>",
		"script":                         "<script>",
		"base64":                         base64 + "QUI=\n-----END CERTIFICATE-----\n" + app + "key=",
		"base64 lines":                   strings.Repeat(base64+"QUI=\n", 4) + base64 + "QUI=",
		"escapes of mail":                "hello =3D world\n" + app + "key=",
		"escapes of mail, many":          strings.Repeat("hello =3D world\nbye =20\n", 4) + app + "key=",
		"soft breaks":                    strings.Repeat(strings.Repeat("word ", 14)+"more=\n", 3) + "the end of it=",
		"ruler":                          ruler + "\nreport\n" + ruler,
		"rulers":                         ruler + "\n" + ruler + "\n" + ruler,
		"header of mail":                 "Content-Transfer-Encoding: quoted-printable\nfoo=",
		"header of mail, long line":      "Content-Transfer-Encoding: quoted-printable\n\n" + strings.Repeat("x ", 37) + "=",
		"environment":                    app + "AcceptEnv LANG=",
		"mbox":                           "From someone@example.org Thu Mar  5 08:00:02 2026",
		"quoting":                        "> ",
		"deep quoting":                   "> > > {",
		"quoted text":                    "> On Thursday somebody wrote=",
		"export field":                   "__CURSOR=1\nMESSAGE\n" + length(0),
		"export, length too large":       "__CURSOR=1\nMESSAGE\n" + length(5000),
		"export, length of a buffer":     "__CURSOR=1\nCOREDUMP\n" + length(250<<10) + "x",
		"export, length of 16 MiB":       "__CURSOR=1\nCOREDUMP\n" + length(16<<20) + "x",
		"export, length of 1 TiB":        "__CURSOR=1\nCOREDUMP\n" + length(1<<40) + "x",
		"export, names":                  "__REALTIME_TIMESTAMP=1\nFOO\nBAR",
		"export, fields":                 "__REALTIME_TIMESTAMP=1\nA=1\nB=2",
		"export of another program":      "__REALTIME_TIMESTAMP=1\n_TRANSPORT=syslog\nMESSAGE=x",
		"verbose head":                   "Thu 2026-03-05 08:00:02.123456 UTC [s=0a;i=1;b=bb;m=0;t=0;x=0]",
		"verbose field":                  "Thu 2026-03-05 08:00:02.123456 UTC [s=0a;i=1;b=bb;m=0;t=0;x=0]\n    MESSAGE=x",
		"verbose field of a program":     "Thu 2026-03-05 08:00:02.123456 UTC [s=0a;i=1;b=bb;m=0;t=0;x=0]\n    _TRANSPORT=syslog\n    MESSAGE=x",
		"buffer of logcat":               "--------- beginning of main",
		"other buffer of logcat":         "--------- switch to system",
		"head of logcat long":            "[ 03-05 08:40:10.694  1234: 1240 I/zygote ]",
		"reboot":                         "-- Reboot --",
		"boot":                           "-- Boot 0123456789abcdef0123456789abcdef --",
		"boot of a program":              app + "-- Boot 0123456789abcdef0123456789abcdef --",
		"store":                          "Panic#1 Part1",
		"ramoops":                        "====1425592921.123456-D",
		"fence":                          "```",
		"fence with a language":          "~~~text",
		"document":                       "---",
		"table":                          "| a | b |",
		"stamp, host":                    "Mar  5 08:00:02 host",
		"stamp alone":                    "Jun 22 15:37:41 ",
		"kernel's stamp alone":           "[   11.123456]",
		"docker, part":                   `{"log":"part","stream":"stdout","time":"2026-03-05T08:00:00Z"}`,
		"docker, part of a program":      `{"log":"app[1]: part","stream":"stdout","time":"2026-03-05T08:00:00Z"}`,
		"CRI, part":                      "2026-03-05T08:00:00.123456Z stdout P part",
		"CRI, parts":                     strings.Repeat("2026-03-05T08:00:00.123456Z stdout P "+strings.Repeat("x", 9000)+"\n", 20),
		"fragment":                       "6,1,1,-,ncfrag=0/900;part",
		"fragments":                      strings.Repeat("6,1,1,-,ncfrag=5/900;part\n", 40),
		"kmsg with fields":               "6,1,1,-;x\n SUBSYSTEM=a",
		"priority":                       "<14>",
		"title of a terminal":            "foo \x1b]0;title",
		"half a sequence":                "foo \x1b[",
		"half a colour":                  "\x1b[31",
		"byte order mark":                "\xff\xfe",
		"wide text":                      "\xff\xfea\x00b\x00\n\x00",
		"UTF-8 mark":                     "\xef\xbb\xbf",
		"broken UTF-8":                   "\xe2\x80",
		"carriage return":                "progress 10 %\rprogress 20 %\r",
		"NULs":                           strings.Repeat("\x00", 1<<20),
		"a few NULs":                     "\x00\x00\x00",
		"long line":                      strings.Repeat("x", 200<<10),
		"long line of words":             strings.Repeat("some words ", 20<<10),
		"long line of a program":         app + strings.Repeat("some words ", 20<<10),
		"long line of digits":            strings.Repeat("1 ", 100<<10),
		"half a string of a program":     `log.Print("`,
		"klog":                           "I0621 06:29:49.909671    8194 utils.go:240] >",
		"list":                           "- ",
		"list of a brace":                "- {",
	}
}

// stampedContainers are those whose lines stand for themselves.
func stampedContainers() []container {
	return slices.DeleteFunc(lineContainers(), func(c container) bool {
		return c.name == "journalctl cat" || c.name == "stamp and text on two lines"
	})
}

// byApp makes a kernel's line a line of another program, if the container can say so.
func byApp(line string) (string, bool) {
	for _, r := range [][2]string{
		{"host kernel: ", "host app[812]: "}, {"host kernel:", "host app[812]:"}, {"kernel: ", "app[812]: "},
		{"host kernel - - ", "host app - - "}, {`"_TRANSPORT":"kernel"`, `"_TRANSPORT":"syslog"`}, {"     0     0 ", "  1234  1240 "}, {"(    0): ", "( 1234): "},
	} {
		if i := strings.Index(line, r[0]); i >= 0 {
			line = line[:i] + r[1] + line[i+len(r[0]):]
			return strings.ReplaceAll(line, `"SYSLOG_IDENTIFIER":"kernel"`, `"SYSLOG_IDENTIFIER":"app"`), true
		}
	}
	if _, ok := parseKmsg(line); ok && line[1] == ',' {
		return "1" + line, true
	}
	return line, false
}

// appPrefix is what a line of another program begins with in a container.
func appPrefix(c container) string {
	if strings.Contains(c.name, "json") || strings.Contains(c.name, "JSON") {
		return ""
	}
	line, ok := byApp(c.render([]source{{5, 6, "TEXT"}}))
	head, _, found := strings.Cut(line, "TEXT")
	if !ok || !found {
		return "app[812]: "
	}
	return head
}

// missing returns the records of want that got lacks or has as another program's.
func missing(want, got []Record) []Record {
	var out []Record
	got = slices.Clone(got)
	for _, w := range want {
		at := slices.IndexFunc(got, func(r Record) bool {
			return strings.TrimLeft(r.Text, " ") == strings.TrimLeft(w.Text, " ") && r.Printk == w.Printk && r.Origin != OriginForeign
		})
		if at < 0 {
			out = append(out, w)
			continue
		}
		got = slices.Delete(got, at, at+1)
	}
	return out
}

// kernelLines is a short kernel log: what stands before a text and what behind.
func kernelLines() (before, after []source) {
	all := reference()
	return []source{all[0], all[2]}, []source{all[6], all[7], all[10], all[12], all[15]}
}

func TestNoTextHidesTheKernelsLinesBehindIt(t *testing.T) {
	for _, c := range stampedContainers() {
		t.Run(c.name, func(t *testing.T) {
			before, after := kernelLines()
			wanted := want(after, c)
			filler := strings.Repeat(c.render([]source{{3, 6, "usb 1-1: new high-speed USB device number 2 using xhci_hcd, and so on"}}), 20)
			tail := c.render(after)
			prefix := appPrefix(c)
			for name, text := range poisons() {
				text = strings.ReplaceAll(text, app, prefix)
				behind := text
				if c.name == "docker without line ends" {
					behind = "" // a part may be the rest of the line before it
				}
				inputs := []string{
					c.render(before) + text + "\n" + filler + tail,
					text + "\n" + tail,
					c.render(before) + text + "\n" + text + "\n" + tail + behind,
				}
				if len(text) > 20_000 {
					inputs = inputs[:1]
				}
				for _, in := range inputs {
					if lost := missing(wanted, records(t, in)); len(lost) > 0 {
						t.Errorf("after %s: lost %d lines of %d, the first is %.90q", name, len(lost), len(wanted), lost[0].Text)
						break
					}
					var events []Record
					for r := newRecords(strings.NewReader(in)); r.Next(); {
						events = append(events, *r.Record())
					}
					if lost := missing(wanted, events); len(lost) > 0 {
						t.Errorf("after %s, read with the filter: lost %d lines of %d, the first is %.90q", name, len(lost), len(wanted), lost[0].Text)
						break
					}
				}
			}
		})
	}
}

// What stands on the same line before a record hides it neither: output that
// ended no line, a block that a loss of power left.
func TestNothingOnTheSameLineHidesARecordBehindIt(t *testing.T) {
	glued := map[string]string{
		"NULs": strings.Repeat("\x00", 70_000), "1 MiB of NULs": strings.Repeat("\x00", 1<<20), "4096 NULs behind text": "half a li" + strings.Repeat("\x00", 4096),
		"long text": strings.Repeat("x", 200<<10), "long text, just over the limit": strings.Repeat("x", maxLine-8), "long words": strings.Repeat("some words ", 20<<10),
		"half an object": `{"a":"` + strings.Repeat("x", 100<<10), "brace and junk": "{" + strings.Repeat("x", 300<<10),
	}
	for _, c := range stampedContainers() {
		switch c.name {
		case "literal, single quotes", "literal, double quotes", "call with a literal", "list of inline code", "table cell",
			"dmesg in colour", "fluentd", "klog", "klog around dmesg -e", "OpenWrt", "dmesg -x", "dmesg -x -T",
			"identifier alone", "journalctl short-unix", "logcat time", "RFC 5424", "RFC 5424 with structured data and mark", "RFC 5424 without values",
			"netconsole extended", "netconsole fragments", "journalctl --no-hostname":
			continue // their beginning is no sign in the middle of a line
		}
		t.Run(c.name, func(t *testing.T) {
			before, after := kernelLines()
			wanted := want(after, c)
			for name, text := range glued {
				in := c.render(before) + text + c.render(after)
				if lost := missing(wanted, records(t, in)); len(lost) > 0 {
					t.Errorf("behind %s: lost %d lines of %d, the first is %.90q", name, len(lost), len(wanted), lost[0].Text)
				}
				var found []Record
				for r := newRecords(strings.NewReader(in)); r.Next(); {
					found = append(found, *r.Record())
				}
				for _, r := range found {
					if r.Text == wanted[0].Text && r.Cut {
						t.Errorf("behind %s: a whole record is called cut", name)
					}
				}
				if lost := missing(wanted, found); len(lost) > 0 {
					t.Errorf("behind %s, read with the filter: lost %d lines of %d, the first is %.90q", name, len(lost), len(wanted), lost[0].Text)
				}
			}
		})
	}
}

// Poisons between all lines, several at a time.
func TestNoMixtureOfTextsHidesKernelLines(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all := poisons()
	var names []string
	for n, text := range all {
		if len(text) < 20_000 {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	containers := stampedContainers()
	for round := range 1500 {
		c := containers[random.IntN(len(containers))]
		_, after := kernelLines()
		var in strings.Builder
		var used []string
		for _, s := range after {
			for range 1 + random.IntN(3) {
				n := names[random.IntN(len(names))]
				if c.name == "docker without line ends" && strings.HasPrefix(n, "docker") {
					continue // the next record may be the rest of the part
				}
				used = append(used, n)
				in.WriteString(strings.ReplaceAll(all[n], app, appPrefix(c)) + "\n")
			}
			in.WriteString(c.render([]source{s}))
		}
		if lost := missing(want(after, c), records(t, in.String())); len(lost) > 0 {
			t.Errorf("round %d, %s with %q: lost %.80q", round, c.name, used, lost[0].Text)
		}
	}
}

// forgeries are texts of other programs that look like the kernel's.
func forgeries() []string {
	const verdict = "tsc: Marking TSC unstable due to clocksource watchdog"
	return []string{
		verdict, "[  600.123456] " + verdict, "x [  600.123456] " + verdict, "<0>[  600.123456] " + verdict, "<p>" + verdict, "x<br>" + verdict, "<pre>" + verdict + "</pre>",
		"foo<br>Mar  5 08:00:00 host kernel: " + verdict, "&lt;p&gt;" + verdict, `{"msg":"x"} ` + verdict, `{"MESSAGE":"` + verdict + `","_TRANSPORT":"kernel"}`,
		`{"log":"` + verdict + `\n","stream":"stdout","time":"2026-03-05T08:00:00Z"}`, `{"dmesg":[{"pri":4,"time":1.5,"msg":"` + verdict + `"}]}`,
		"kernel: " + verdict, "kernel: [  600.123456] " + verdict, "Mar  5 08:00:00 host kernel: " + verdict, "4,1,1,-;" + verdict, "03-05 08:40:10.694     0     0 W " + verdict,
		"2026-03-05T08:00:00.123456+00:00 host kernel: " + verdict, "| [  600.123456] | " + verdict + " |", "`[  600.123456] " + verdict + "`", "> [  600.123456] " + verdict,
		"kern  :warn  : [  600.123456] " + verdict, "I0621 06:29:49.909671    8194 utils.go:240] [  600.123456] " + verdict, "x\r[  600.123456] " + verdict,
		"x\r" + verdict, strings.Repeat("y", 100<<10) + " [  600.123456] " + verdict, strings.Repeat("y ", 50<<10) + "Mar  5 08:00:00 host kernel: " + verdict,
		"cswatch(tsc): [  600.123456] " + verdict, "-- Reboot --", "x | " + verdict + " |", "| x | " + verdict + " |", `"x\n` + verdict + `\n"`,
	}
}

func TestWhatAnotherProgramWritesIsNoEvidence(t *testing.T) {
	for _, c := range stampedContainers() {
		mixed := strings.Contains(c.name, "netconsole frag") || strings.Contains(c.name, "byte array") || c.name == "kmsg with escapes"
		line, ok := byApp(c.render([]source{{5, 6, "TEXT"}}))
		if !ok || mixed {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			object := strings.HasPrefix(strings.TrimLeft(line, "\x1edat: "), "{")
			for _, text := range forgeries() {
				if object {
					text = quote(text)
					text = text[1 : len(text)-1]
				}
				forged := strings.Replace(line, "TEXT", text, 1)
				if object && strings.Contains(text, `\u003cp`) {
					forged += strings.Replace(line, "TEXT", strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text), 1)
				}
				for _, before := range []string{"", "<pre>\n", "{\n", "[   11.123456]\n", "__CURSOR=1\nMESSAGE=x\n", "hello =3D world\nbye=20\n", "Mar  5 08:00:02 host\n"} {
					r := NewReader(strings.NewReader(before+forged), "log")
					for r.Next() {
						t.Errorf("%.100q behind %q is taken for the kernel's: line %d, %s, %.90q", text, before, r.Event().Source.Line, r.Event().Kind, r.Event().Text)
					}
				}
				for _, rec := range records(t, forged) {
					if rec.NewBoot {
						t.Errorf("%.80q begins a boot", text)
					}
				}
			}
		})
	}
}

func ExampleWithFilter() {
	log := "[    1.000000] usb 1-1: new high-speed USB device\n[    2.000000] clocksource: Switched to clocksource tsc\n"
	r := NewRecordReader(strings.NewReader(log), WithFilter(func(line []byte) bool {
		return strings.Contains(string(line), "clocksource")
	}))
	for r.Next() {
		fmt.Println(r.Record().Line, r.Record().Text)
	}
	// Output: 2 clocksource: Switched to clocksource tsc
}
