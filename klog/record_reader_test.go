package klog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cswatch/cswatch/event"
	"github.com/google/go-cmp/cmp"
)

func records(t testing.TB, in string, options ...RecordOption) []Record {
	t.Helper()
	r := NewRecordReader(strings.NewReader(in), options...)
	var out []Record
	for r.Next() {
		out = append(out, *r.Record())
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return out
}

// summary writes the facts of a record that differ from a bare line in short.
func summary(r Record) string {
	s := fmt.Sprintf("%d %s", r.Line, r.Format)
	if v, ok := r.Printk.Get(); ok {
		s += fmt.Sprintf(" printk=%d", v)
	}
	if r.Wall != "" {
		s += " wall=" + strings.ReplaceAll(r.Wall, " ", "_")
	}
	if v, ok := r.Level.Get(); ok {
		s += fmt.Sprintf(" level=%d", v)
	}
	if r.Origin != OriginUnsaid {
		s += " " + r.Origin.String()
	}
	if r.Ident != "" {
		s += " ident=" + r.Ident
	}
	if r.BootID != "" {
		s += " boot=" + r.BootID
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{r.Bare, " bare"}, {r.NewBoot, " newboot"}, {r.Cut, " cut"}, {r.Doubt != "", " doubt"}} {
		if f.on {
			s += f.name
		}
	}
	return s + " | " + r.Text
}

func TestRecordsOfOddForms(t *testing.T) {
	const verdict = "clocksource: Switched to clocksource hpet"
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"blank lines", "\n \n\r\n\n", nil},
		{"a program in dmesg", "[    2.800000] systemd[1]: Starting Journal Service...",
			[]string{"1 dmesg printk=2800000000 foreign ident=systemd | Starting Journal Service..."}},
		{"prefixes of the kernel are no identifiers", "[    2.8] x\n[    2.800000] iwlwifi 0000:02:00.0: Q 30 is active\n[    2.800000] kvm-clock: cpu 3",
			[]string{"1 plain bare | [    2.8] x", "2 dmesg printk=2800000000 | iwlwifi 0000:02:00.0: Q 30 is active", "3 dmesg printk=2800000000 | kvm-clock: cpu 3"}},
		{"another program in syslog", "Mar  5 08:00:01 host myapp[12]: " + verdict,
			[]string{"1 syslog wall=Mar__5_08:00:01 foreign ident=myapp | " + verdict}},
		{"a program without pid in syslog", "Mar  5 08:00:01 host root: " + verdict,
			[]string{"1 syslog wall=Mar__5_08:00:01 foreign ident=root | " + verdict}},
		{"a program that quotes the kernel", "Mar  5 08:00:01 host myapp[12]: saw [    1.000000] " + verdict,
			[]string{"1 syslog wall=Mar__5_08:00:01 foreign ident=myapp | saw [    1.000000] " + verdict}},
		{"a guest's console in the host's log", "Mar  5 08:00:01 host qemu[12]: [    1.000000] " + verdict,
			[]string{"1 syslog printk=1000000000 wall=Mar__5_08:00:01 foreign ident=qemu | " + verdict}},
		{"another facility", "<30>Mar  5 08:00:01 host kernel: " + verdict,
			[]string{"1 syslog wall=Mar__5_08:00:01 level=6 foreign ident=kernel | " + verdict}},
		{"another facility in kmsg", "30,5,1000,-;" + verdict,
			[]string{"1 kmsg printk=1000000 level=6 foreign | " + verdict}},
		{"another facility in columns", "daemon:info  : [    1.000000] " + verdict,
			[]string{"1 dmesg printk=1000000000 level=6 foreign | " + verdict}},
		{"a daemon in OpenWrt", "Tue Feb 11 10:13:12 2025 daemon.warn chronyd[3181]: Frequency -600043.5 ppm exceeds allowed maximum",
			[]string{"1 syslog wall=Tue_Feb_11_10:13:12_2025 level=4 foreign ident=chronyd | Frequency -600043.5 ppm exceeds allowed maximum"}},
		{"a logger that calls itself kernel", `{"_TRANSPORT":"syslog","SYSLOG_FACILITY":"1","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"` + verdict + `"}`,
			[]string{"1 journal-json foreign ident=kernel | " + verdict}},
		{"a service that prints to its output", `{"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"myapp","PRIORITY":"6","MESSAGE":"` + verdict + `"}`,
			[]string{"1 journal-json level=6 foreign ident=myapp | " + verdict}},
		{"lines of cswatch itself", "cswatch(tsc): " + verdict + "\n[    1.000000] cswatch(hpet): x",
			[]string{"1 plain foreign ident=cswatch | cswatch(tsc): " + verdict, "2 dmesg printk=1000000000 foreign ident=cswatch | cswatch(hpet): x"}},
		{"stamp without a host before a message", "Mar  5 08:00:01 clocksource: x\nMar  5 08:00:01 myapp: y",
			[]string{"1 syslog wall=Mar__5_08:00:01 | clocksource: x", "2 syslog wall=Mar__5_08:00:01 foreign ident=myapp | y"}},
		{"prompt of a console", "login: [  672.553156] watchdog: x",
			[]string{"1 plain | login:", "1 dmesg printk=672553156000 | watchdog: x"}},
		{"two records on one line", "[    1.000000] foo: ba[    1.500000] " + verdict,
			[]string{"1 dmesg printk=1000000000 | foo: ba", "1 dmesg printk=1500000000 | " + verdict}},
		{"a JSON line broken by the console", `{"uart":1,"value":"ab[   12.300000] ` + verdict + "\n" + `c","n":2}`,
			[]string{`1 plain bare | {"uart":1,"value":"ab`, "1 dmesg printk=12300000000 | " + verdict, `2 plain bare | c","n":2}`}},
		{"one line with an escape is no mail", "x =3D y\nfoo=\nbar", []string{"1 plain bare | x = y", "2 plain bare | foo=", "3 plain bare | bar"}},
		{"a ruler in mail", "Content-Transfer-Encoding: quoted-printable\n\n" + strings.Repeat("=", 76) + "\nreport",
			[]string{"3 plain bare | " + strings.Repeat("=", 76), "4 plain bare | report"}},
		{"a title of a terminal without an end", "\x1b]0;" + strings.Repeat("x ", 100) + "\a[    1.000000] " + verdict,
			[]string{"1 plain bare | 0;" + strings.Repeat("x ", 99) + "x", "1 dmesg printk=1000000000 | " + verdict}},
		{"more cells than a table has", strings.Repeat("|x", 100) + "|", []string{"1 plain bare | " + strings.Repeat("|x", 100) + "|"}},
		{"a JSON line broken outside its strings", `{"msg":"ab",[   12.300000] ` + verdict,
			[]string{`1 plain bare | {"msg":"ab",`, "1 dmesg printk=12300000000 | " + verdict}},
		{"a host's name that ends no line", "Mar  5 08:00:02 db1\n" + verdict,
			[]string{"1 syslog wall=Mar__5_08:00:02 | db1", "2 plain bare | " + verdict}},
		{"a stamp and a host, then the rest", "Mar  5 08:00:02 db1\nkernel: " + verdict,
			[]string{"1 syslog wall=Mar__5_08:00:02 kernel ident=kernel | " + verdict}},
		{"logcat long of a program", "[ 03-05 08:40:10.694  1234: 1240 W/clocksource ]\nSwitched to clocksource hpet\n",
			[]string{"1 logcat wall=03-05_08:40:10.694 level=4 foreign | clocksource: Switched to clocksource hpet"}},
		{"boots of journalctl", "-- Boot 11 --\nMar 05 08:00:00 host kernel: a\n-- Boot 22 --\nMar 05 09:00:00 host kernel: b",
			[]string{"2 syslog wall=Mar_05_08:00:00 kernel ident=kernel boot=11 | a", "4 syslog wall=Mar_05_09:00:00 kernel ident=kernel boot=22 newboot | b"}},
		{"boots of an old journalctl", "-- Logs begin at Mon 2026-03-02. --\nMar 05 08:00:00 host kernel: a\n-- Reboot --\nMar 05 09:00:00 host kernel: b",
			[]string{"2 syslog wall=Mar_05_08:00:00 kernel ident=kernel | a", "4 syslog wall=Mar_05_09:00:00 kernel ident=kernel newboot | b"}},
		{"boot ids in JSON", `{"_BOOT_ID":"a","MESSAGE":"x"}` + "\n" + `{"_BOOT_ID":"a","MESSAGE":"y"}` + "\n" + `{"_BOOT_ID":"b","MESSAGE":"z"}`,
			[]string{"1 journal-json boot=a | x", "2 journal-json boot=a | y", "3 journal-json boot=b newboot | z"}},
		{"empty and repeated messages", `{"_BOOT_ID":"a","MESSAGE":null}` + "\n" + `{"_BOOT_ID":"a","MESSAGE":["x","y"]}` + "\n" + `{"_BOOT_ID":"a","MESSAGE":[[120],[121]]}`,
			[]string{"2 journal-json boot=a | x", "2 journal-json boot=a | y", "3 journal-json boot=a | x", "3 journal-json boot=a | y"}},
		{"several lines in one message", `{"_BOOT_ID":"a","MESSAGE":"x\n  y"}`, []string{"1 journal-json boot=a | x", "1 journal-json boot=a |   y"}},
		{"JSON cut at the end", `{"_BOOT_ID":"a","MESSAGE":"x","_PID":"1`, []string{"1 journal-json boot=a | x"}},
		{"an object of something else", `{"a":1,"b":[2]}`, []string{`1 plain bare | {"a":1,"b":[2]}`}},
		{"a brace of something else", "{\nint x;\n}", []string{"1 plain bare | {", "2 plain bare | int x;", "3 plain bare | }"}},
		{"kernel text with a brace", "[    1.000000] {1}[Hardware Error]: x", []string{"1 dmesg printk=1000000000 | {1}[Hardware Error]: x"}},
		{"a binary field with a line break", "__CURSOR=a\nMESSAGE\n" + string(binary.LittleEndian.AppendUint64(nil, 3)) + "a\nb\n_TRANSPORT=kernel\n\n__CURSOR=b\nMESSAGE=c\n\n",
			[]string{"1 journal-export kernel | a", "1 journal-export kernel | b", "7 journal-export | c"}},
		{"a binary field of ten bytes", "__CURSOR=a\nMESSAGE\n" + string(binary.LittleEndian.AppendUint64(nil, 10)) + "0123456789\nPRIORITY=3\n\n",
			[]string{"1 journal-export level=3 | 0123456789"}},
		{"text after an export", "__CURSOR=a\nMESSAGE=c\n[    1.000000] x", []string{"1 journal-export | c", "3 dmesg printk=1000000000 | x"}},
		{"arrival stamps are doubtful", "__MONOTONIC_TIMESTAMP=5\nMESSAGE=c\n", []string{"1 journal-export printk=5000 doubt | c"}},
		{"lost fragments", "6,1,5,-,ncfrag=0/9;abc\n6,2,6,-,ncfrag=0/6;def\n6,2,6,-,ncfrag=3/6;ghi\n",
			[]string{"2 netconsole printk=6000 level=6 kernel | defghi", "1 netconsole printk=5000 level=6 kernel cut | abc"}},
		{"good text is not quoted-printable", "Use 'tsc=unstable'.\nx=20y a=3D4\n" + strings.Repeat("x", 30) + "=\ny",
			[]string{"1 plain bare | Use 'tsc=unstable'.", "2 plain bare | x=20y a=3D4", "3 plain bare | " + strings.Repeat("x", 30) + "=", "4 plain bare | y"}},
		{"a lone escape of quoted-printable", "Use 'tsc=3Dunstable'.=20", []string{"1 plain bare | Use 'tsc=unstable'."}},
		{"a header turns it on", "Content-Transfer-Encoding: quoted-printable\n\na=3D=\nb", []string{"3 plain bare | a=b"}},
		{"wrapped lines stay bare", "> [   28.760620] clocksource: timekeeping watchdog on CPU0: Marking \n> clocksource 'tsc' as unstable",
			[]string{"1 dmesg printk=28760620000 | clocksource: timekeeping watchdog on CPU0: Marking", "2 plain bare | clocksource 'tsc' as unstable"}},
		{"a dash can begin the rest of a wrapped line", "x is not HRT compatible\n- cannot switch while in HRT/NOHZ mode\n- clocksource: y",
			[]string{"1 plain bare | x is not HRT compatible", "2 plain bare | - cannot switch while in HRT/NOHZ mode", "3 plain bare | clocksource: y"}},
		{"names in quotes are no literals", "'kvm-clock' (not 'tsc') is current clocksource.\n'tsc' (not 'hpet')\n\"echo 0 > /x\" disables this message.",
			[]string{"1 plain bare | 'kvm-clock' (not 'tsc') is current clocksource.", "2 plain bare | 'tsc' (not 'hpet')", `3 plain bare | "echo 0 > /x" disables this message.`}},
		{"names in angle brackets are no tags", "force <NULL> <redacted> to 0", []string{"1 plain bare | force <NULL> <redacted> to 0"}},
		{"buffers of logcat", "--------- beginning of main\n03-05 08:40:10.694     0     0 W a\n--------- switch to kernel\n03-05 08:40:10.694     0     0 I tsc     : b",
			[]string{"2 logcat wall=03-05_08:40:10.694 level=4 kernel | a", "4 logcat wall=03-05_08:40:10.694 level=6 kernel | tsc: b"}},
		{"logcat with user and year", "2026-03-05 08:40:10.694 root     0     0 W a\n03-05 08:40:10.694  1000   512   512 W b",
			[]string{"1 logcat wall=2026-03-05_08:40:10.694 level=4 kernel | a", "2 logcat wall=03-05_08:40:10.694 level=4 foreign | b"}},
		{"pstore, then syslog", "Oops#2 Part1\n<4>[    1.000000] a\nMar  5 08:00:01 host kernel: b\n[    1.000000] c",
			[]string{"2 pstore printk=1000000000 level=4 kernel | a", "3 syslog wall=Mar__5_08:00:01 kernel ident=kernel | b", "4 dmesg printk=1000000000 | c"}},
		{"a stamp whose text does not come", "[    1.000000]\n[    2.000000] x\n[    3.000000] \n", []string{"2 dmesg printk=2000000000 | x"}},
		{"binary between lines", "\x00\x01\xff\x02\n[    1.000000] a\x00b\n", []string{"1 plain bare | \ufffd", "2 dmesg printk=1000000000 | ab"}},
		{"no-break spaces and quotes of a word processor", "[\u00a0\u00a0\u00a0 1.000000] \u2018tsc\u2019", []string{"1 dmesg printk=1000000000 | 'tsc'"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, r := range records(t, c.in) {
				got = append(got, summary(r))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("records differ (-want +got):\n%s", diff)
			}
		})
	}
}

// interesting is the filter of the tests: what it turns away is not wanted.
func interesting(line []byte) bool {
	return bytes.Contains(line, []byte("clocksource")) || bytes.Contains(line, []byte("tsc")) || bytes.Contains(line, []byte("TSC"))
}

func TestFilterKeepsWhatIsWantedInEveryContainer(t *testing.T) {
	noise := source{us: 1, level: 6, text: "usb 1-1: new high-speed USB device number 2 using xhci_hcd, and so on for some time"}
	for _, c := range append(lineContainers(), wholeContainers()...) {
		t.Run(c.name, func(t *testing.T) {
			var all, wanted []source
			for _, s := range reference() {
				all = append(all, s, noise, noise, noise, noise, noise, noise, noise)
				if interesting([]byte(s.text)) {
					wanted = append(wanted, s)
				}
			}
			var got []Record
			for _, r := range records(t, c.render(all), WithFilter(interesting)) {
				if interesting([]byte(r.Text)) {
					got = append(got, Record{Text: r.Text, Printk: r.Printk, Origin: r.Origin})
				}
			}
			expect := want(wanted, c)
			for i := range expect {
				expect[i].Level = event.Opt[int64]{}
			}
			if diff := cmp.Diff(expect, got); diff != "" {
				t.Errorf("records differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilterCountsAndKeepsLineNumbersAndBoots(t *testing.T) {
	dull := "Mar 05 08:00:00 host kernel: nothing that anybody would want to read about\n"
	in := strings.Repeat(dull, 10) + "-- Boot 22 --\n" + strings.Repeat(dull, 10) +
		"Mar 05 09:00:00 host kernel: tsc: Fast TSC calibration\nusing PIT\n" + strings.Repeat(dull, 3)
	r := NewRecordReader(strings.NewReader(in), WithFilter(interesting))
	var got []string
	for r.Next() {
		got = append(got, summary(*r.Record()))
	}
	want := []string{"22 syslog wall=Mar_05_09:00:00 kernel ident=kernel boot=22 newboot | tsc: Fast TSC calibration", "23 plain bare | using PIT"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records differ (-want +got):\n%s", diff)
	}
	s := r.Stats()
	if s.Lines != 26 || s.Records != 2 || s.Rejected != 23 || s.Bytes != int64(len(in)) {
		t.Errorf("stats %+v", s)
	}
}

func TestBootIDOfRejectedJSONLines(t *testing.T) {
	line := func(id, text string) string {
		return fmt.Sprintf(`{"__CURSOR":"s=0","_BOOT_ID":"%s","_TRANSPORT":"kernel","MESSAGE":"%s"}`+"\n", id, text)
	}
	got := records(t, line("a", "dull")+line("b", "dull")+line("b", "tsc: x"), WithFilter(interesting))
	if len(got) != 1 || !got[0].NewBoot || got[0].BootID != "b" || got[0].Line != 3 {
		t.Errorf("got %+v", got)
	}
}

// endless yields n bytes of one repeated text.
type endless struct {
	text   string
	n      int64
	before string // delivered once
	at     int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.before != "" {
		n := copy(p, e.before)
		e.before = e.before[n:]
		return n, nil
	}
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && int64(n) < e.n {
		k := copy(p[n:], e.text[e.at:])
		e.at = (e.at + k) % len(e.text)
		n += k
	}
	e.n -= int64(n)
	return n, nil
}

func TestMemoryStaysBounded(t *testing.T) {
	block := strings.Repeat("x", 8192)
	for name, e := range map[string]*endless{
		"objects of one line":       {text: `{"pri":6,"msg":"x"},`, n: 24 << 20, before: `{"dmesg":[`},
		"html of one line":          {text: "[    1.000000] x<br>", n: 12 << 20, before: "<pre>"},
		"one line":                  {text: block, n: 200 << 20},
		"one line of JSON":          {text: `{"dmesg":[{"pri":6,"msg":"` + block, n: 24 << 20},
		"one object without end":    {text: "{\"a\":1,\n", n: 24 << 20},
		"one list without end":      {text: "1,\n", n: 24 << 20, before: "{\"a\":[\n"},
		"objects in objects":        {text: "{\"a\":\n", n: 12 << 20},
		"nested objects":            {text: "{\"a\":{\n", n: 12 << 20},
		"one export field":          {text: "__CURSOR=x\nMESSAGE\n\x00\x00\x00\x00\x10\x00\x00\x00" + block, n: 24 << 20},
		"export without end":        {text: "__REALTIME_TIMESTAMP=1\nMESSAGE=" + block + "\n", n: 12 << 20},
		"verbose without end":       {text: "Thu 2026-03-05 08:00:02 UTC [s=0]\n    MESSAGE=" + block + "\n      more\n", n: 12 << 20},
		"partial lines":             {text: "2026-03-05T08:00:00.000Z stdout P " + block + "\n", n: 24 << 20},
		"fragments":                 {text: "6,1,1,-,ncfrag=0/900000;" + block + "\n", n: 12 << 20},
		"docker without line ends":  {text: `{"log":"` + block + `","stream":"a"}` + "\n", n: 12 << 20},
		"soft breaks":               {text: strings.Repeat("x", 75) + "=\n", n: 12 << 20},
		"carriage returns":          {text: "abc\r", n: 8 << 20},
		"tags":                      {text: "<pre><p>", n: 8 << 20},
		"stamps on a line":          {text: "[    1.000000] [    1.000000] x", n: 4 << 20},
		"quotes and literals":       {text: `> '" - [ ` + "`", n: 4 << 20},
		"many boots":                {text: "-- Boot " + strings.Repeat("a", 40) + " --\n", n: 8 << 20},
		"lines of their own format": {text: "[    1.000000] x\n", n: 12 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			r := NewRecordReader(e)
			for i := 0; r.Next(); i++ {
				if len(r.Record().Text) > maxLine || strings.ContainsAny(r.Record().Text, "\n") {
					t.Fatalf("text of %d bytes", len(r.Record().Text))
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
			runtime.KeepAlive(r)
		})
	}
}

func TestLongLinesKeepTheirBeginning(t *testing.T) {
	in := "[    1.000000] " + strings.Repeat("y", 3*maxLine) + "\n[    2.000000] tsc: x\n"
	r := NewRecordReader(iotest.OneByteReader(strings.NewReader(in)))
	if !r.Next() || !r.Record().Cut || r.Record().Printk.IsZero() {
		t.Fatalf("first record: %d bytes, cut %v", len(r.Record().Text), r.Record().Cut)
	}
	kept := len(r.Record().Text)
	for r.Next() && r.Record().Line == 1 {
		if !r.Record().Cut || !r.Record().Bare {
			t.Fatalf("the rest of the line: cut %v, bare %v", r.Record().Cut, r.Record().Bare)
		}
		kept += len(r.Record().Text)
	}
	if kept != 3*maxLine {
		t.Errorf("%d bytes of the line were delivered, want %d", kept, 3*maxLine)
	}
	if r.Record().Text != "tsc: x" || r.Record().Line != 2 || r.Record().Cut {
		t.Fatalf("the line after it: %+v", r.Record())
	}
	if s := r.Stats(); s.Cut != 1 || s.Lines != 2 {
		t.Errorf("stats %+v", s)
	}
	all := make([]source, 3000)
	for i := range all {
		all[i] = source{int64(i), 6, "clocksource: a message of the usual length, more or less"}
	}
	for _, c := range wholeContainers() {
		if c.name == "dmesg --json, compact" || c.name == "array of journal objects" || c.name == "html with br and spans" {
			got := records(t, c.render(all))
			if len(got) != len(all) || got[len(got)-1].Text != all[0].text {
				t.Errorf("%s on one line: %d records of %d", c.name, len(got), len(all))
			}
		}
	}
}

func TestReadErrorComesAfterTheRecords(t *testing.T) {
	broken := errors.New("input/output error")
	r := NewRecordReader(io.MultiReader(strings.NewReader("[    1.000000] a\n[    2.000000] b"), iotest.ErrReader(broken)))
	n := 0
	for r.Next() {
		n++
	}
	if n != 2 || !errors.Is(r.Err(), broken) {
		t.Errorf("%d records, error %v", n, r.Err())
	}
}

func samples(t testing.TB) map[string]string {
	t.Helper()
	names, err := filepath.Glob("testdata/containers/*.txt")
	if err != nil || len(names) < 10 {
		t.Fatalf("samples: %d files, error %v", len(names), err)
	}
	out := make(map[string]string)
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(n), ".txt")] = string(b)
	}
	return out
}

func TestSamplesAreReadInTheirContainers(t *testing.T) {
	for name, in := range samples(t) {
		t.Run(name, func(t *testing.T) {
			format, rest, _ := strings.Cut(name, "~")
			got := records(t, in)
			if len(got) == 0 {
				t.Fatal("no record")
			}
			for _, r := range got {
				if r.Format != format && !r.Bare {
					t.Errorf("line %d: format %q, want %q", r.Line, r.Format, format)
				}
				if r.Origin == OriginForeign || strings.ContainsAny(r.Text, "\x00\x1b") || strings.HasSuffix(r.Text, "=") {
					t.Errorf("line %d (%s): origin %v, text %q", r.Line, rest, r.Origin, r.Text)
				}
			}
		})
	}
}

func TestSamplesCutAnywhereDoNotPanic(t *testing.T) {
	for name, in := range samples(t) {
		t.Run(name, func(t *testing.T) {
			in = in[:min(len(in), 2500)]
			for cut := range len(in) {
				line := 0
				for _, r := range records(t, in[:cut]) {
					if r.Line < 1 || r.Line > strings.Count(in, "\n")+1 {
						t.Fatalf("cut at %d: line %d after %d", cut, r.Line, line)
					}
					line = r.Line
				}
			}
		})
	}
}

func FuzzRecords(f *testing.F) {
	for _, s := range samples(f) {
		f.Add([]byte(s[:min(len(s), 2000)]))
	}
	for _, c := range append(lineContainers(), wholeContainers()...) {
		f.Add([]byte(c.render(reference()[5:9])))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewRecordReader(bytes.NewReader(in))
		n := int64(0)
		for r.Next() {
			rec := r.Record()
			n++
			if strings.ContainsAny(rec.Text, "\n") || len(rec.Text) > maxLine+8 || rec.Text == "" {
				t.Fatalf("text %q", rec.Text)
			}
			if rec.Line < 1 || rec.Format == "" || rec.Bare && (rec.Ident != "" && rec.Origin == OriginUnsaid && rec.Format == FormatPlain) {
				t.Fatalf("record %+v", rec)
			}
			if l, ok := rec.Level.Get(); ok && (l < 0 || l > 7) {
				t.Fatalf("level %d", l)
			}
		}
		if s := r.Stats(); s.Records != n || r.Err() != nil {
			t.Fatalf("stats %+v after %d records, error %v", s, n, r.Err())
		}
		filtered := NewRecordReader(bytes.NewReader(in), WithFilter(func([]byte) bool { return false }))
		for filtered.Next() {
			t.Fatalf("a filter that wants nothing let %q through", filtered.Record().Text)
		}
	})
}

func benchmark(b *testing.B, line string, filter bool) {
	data := []byte(strings.Repeat(line, 200000))
	options := []RecordOption{}
	if filter {
		options = append(options, WithFilter(func(l []byte) bool { return bytes.Contains(l, []byte("clocksource")) }))
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewRecordReader(bytes.NewReader(data), options...)
		for r.Next() {
		}
	}
}

const (
	dullDmesg  = "[   12.345678] usb 1-1: new high-speed USB device number 2 using xhci_hcd\n"
	dullSyslog = "Mar  5 08:00:02 host kernel: [   12.345678] usb 1-1: new high-speed USB device number 2 using xhci_hcd\n"
	dullJSON   = `{"__CURSOR":"s=0","__REALTIME_TIMESTAMP":"1772697600000000","_BOOT_ID":"bb","_TRANSPORT":"kernel","PRIORITY":"6","MESSAGE":"usb 1-1: new high-speed USB device number 2"}` + "\n"
)

func BenchmarkFilteredDmesg(b *testing.B)  { benchmark(b, dullDmesg, true) }
func BenchmarkFilteredSyslog(b *testing.B) { benchmark(b, dullSyslog, true) }
func BenchmarkFilteredJSON(b *testing.B)   { benchmark(b, dullJSON, true) }
func BenchmarkDmesg(b *testing.B)          { benchmark(b, dullDmesg, false) }
func BenchmarkSyslog(b *testing.B)         { benchmark(b, dullSyslog, false) }
func BenchmarkJournalJSON(b *testing.B)    { benchmark(b, dullJSON, false) }

func ExampleRecordReader() {
	in := strings.NewReader("Mar  5 08:00:02 host kernel: [    0.087803] clocksource: Switched to clocksource tsc\n" +
		"Mar  5 08:00:03 host cron[12]: clocksource: not from the kernel\n")
	r := NewRecordReader(in)
	for r.Next() {
		rec := r.Record()
		fmt.Printf("line %d, %s, %s: %s\n", rec.Line, rec.Format, rec.Origin, rec.Text)
	}
	// Output:
	// line 1, syslog, kernel: clocksource: Switched to clocksource tsc
	// line 2, syslog, foreign: clocksource: not from the kernel
}
