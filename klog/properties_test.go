package klog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/event"
	"github.com/google/go-cmp/cmp"
)

// patchwork makes an input of pieces of all containers, poisons, forgeries and
// damaged lines.
func patchwork(random *rand.Rand, pieces int) string {
	var containers = append(lineContainers(), wholeContainers()...)
	all := poisons()
	var names []string
	for n, text := range all {
		if len(text) < 10_000 {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	texts := reference()
	dull := source{us: 1, level: 6, text: "usb 1-1: new high-speed USB device number 2 using xhci_hcd, and so on for some time"}
	forged := forgeries()
	var b strings.Builder
	c := containers[random.IntN(len(containers))]
	for range pieces {
		switch random.IntN(12) {
		case 0:
			c = containers[random.IntN(len(containers))]
		case 1:
			b.WriteString(strings.ReplaceAll(all[names[random.IntN(len(names))]], app, appPrefix(c)) + "\n")
		case 2:
			line, _ := byApp(c.render([]source{dull}))
			text := forged[random.IntN(len(forged))]
			if len(text) < 10_000 {
				b.WriteString(strings.Replace(line, dull.text, text, 1))
			}
		case 3:
			line := []byte(c.render([]source{texts[random.IntN(len(texts))]}))
			line[random.IntN(len(line))] = "\n\r\x00={}[]<>&\"\\ \x1b"[random.IntN(15)]
			b.Write(line)
		case 4:
			line := c.render([]source{texts[random.IntN(len(texts))]})
			n := min(60+random.IntN(25), len(line))
			b.WriteString(line[:n] + "\n" + line[n:])
		case 5, 6, 7:
			b.WriteString(c.render([]source{texts[random.IntN(len(texts))]}))
		default:
			b.WriteString(c.render([]source{dull, dull}))
		}
	}
	return b.String()
}

// known keeps the records that the filter wants, with what may not depend on it.
func known(in string, options ...RecordOption) []string {
	r := NewRecordReader(strings.NewReader(in), options...)
	var out []string
	for r.Next() {
		if rec := r.Record(); knownAnchors.match([]byte(rec.Text)) {
			level, _ := rec.Level.Get()
			printk, _ := rec.Printk.Get()
			out = append(out, fmt.Sprintf("%d %s %d %d %v %v %q", rec.Line, rec.Origin, level, printk, rec.Ident, rec.Bare, rec.Text))
		}
	}
	return out
}

func TestFilteredReadingFindsTheSameRecords(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 1500 {
		in := patchwork(random, 4+random.IntN(30))
		whole, filtered := known(in), known(in, WithFilter(knownAnchors.match))
		if diff := cmp.Diff(whole, filtered); diff != "" {
			t.Fatalf("round %d: records differ (-unfiltered +filtered):\n%s\ninput:\n%q", round, diff, in)
		}
	}
}

func TestReadingDoesNotDependOnThePiecesThatTheInputComesIn(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 300 {
		in := patchwork(random, 4+random.IntN(30)) + strings.Repeat("x", random.IntN(2)*70_000) + "\n" + patchwork(random, 5)
		whole := records(t, in)
		r := NewRecordReader(&bySize{text: in, random: random})
		var parts []Record
		for r.Next() {
			parts = append(parts, *r.Record())
		}
		if diff := cmp.Diff(whole, parts); diff != "" {
			t.Fatalf("round %d: records differ (-whole +in parts):\n%s", round, diff)
		}
	}
}

// bySize delivers a text in parts of random sizes.
type bySize struct {
	text   string
	random *rand.Rand
}

func (b *bySize) Read(p []byte) (int, error) {
	n := copy(p[:min(len(p), 1+b.random.IntN(3000))], b.text)
	b.text = b.text[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func TestManyRecordsOnOneLineAreAllRead(t *testing.T) {
	const n = 300
	var line, objects strings.Builder
	for i := range n {
		fmt.Fprintf(&line, "[%5d.000000] usb 1-1: device %d ", i, i)
		fmt.Fprintf(&objects, `{"_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"usb 1-1: device %d"}`, i)
	}
	for name, in := range map[string]string{"stamps": line.String(), "objects": objects.String()} {
		got := records(t, in)
		if len(got) != n || got[n-1].Text != "usb 1-1: device 299" {
			t.Errorf("%s: %d records, want %d", name, len(got), n)
		}
	}
	// In a log whose line breaks were lost a program's line does not end the kernel's.
	log := strings.Replace(line.String(), "usb 1-1: device 7 ", "systemd[1]: Starting... ", 1)
	foreign := 0
	got := records(t, log)
	for _, r := range got {
		if r.Origin == OriginForeign {
			foreign++
		}
	}
	if foreign != 1 || len(got) != n {
		t.Errorf("%d foreign records of %d on a line that is a whole log, want 1 of %d", foreign, len(got), n)
	}
	// In a single line it does.
	for _, in := range []string{"[    2.811820] systemd[1]: saw [    3.000000] tsc: Marking TSC", "[    1.000000] a [    2.811820] systemd[1]: saw [    3.000000] tsc: Marking TSC"} {
		for _, r := range records(t, in) {
			if strings.Contains(r.Text, "Marking") && r.Origin != OriginForeign {
				t.Errorf("%q of %q is taken for the kernel's", r.Text, in)
			}
		}
	}
}

// binaryField writes a binary field of an export.
func binaryField(name string, size int, data string) string {
	return name + "\n" + string(binary.LittleEndian.AppendUint64(nil, uint64(size))) + data + "\n"
}

func TestBinaryFieldsOfAnExport(t *testing.T) {
	const verdict = "tsc: Marking TSC unstable due to clocksource watchdog"
	kernel := "__CURSOR=s=2\n__REALTIME_TIMESTAMP=2\n_TRANSPORT=kernel\nSYSLOG_IDENTIFIER=kernel\nMESSAGE=" + verdict + "\n\n"
	head := "__CURSOR=s=1\n_TRANSPORT=journal\nSYSLOG_IDENTIFIER=app\n"
	forged := strings.Repeat("\n"+kernel, 3)
	pad := func(n int) string { return strings.Repeat("core dump ", n/10+1)[:n] }
	for _, c := range []struct {
		name, in string
		kernel   int // records of the kernel
		damaged  bool
	}{
		{"a field that holds an entry", head + binaryField("COREDUMP", len(forged), forged) + "MESSAGE=x\n\n" + kernel, 1, false},
		{"a field larger than the buffer", head + binaryField("COREDUMP", 1<<20, pad(1<<20)) + "MESSAGE=x\n\n" + kernel, 1, false},
		{"a field larger than the buffer that holds an entry", head + binaryField("COREDUMP", 1<<20+len(forged), pad(1<<20)+forged) + "MESSAGE=x\n\n" + kernel, 1, false},
		{"the last field of the entry", head + binaryField("COREDUMP", 1<<20, pad(1<<20)) + "\n" + kernel, 1, false},
		{"a length that is too large", head + binaryField("COREDUMP", 5000, pad(10)) + "\n" + kernel + kernel, 2, false},
		{"a length far too large", head + binaryField("COREDUMP", 16<<20, pad(10)) + "\n" + kernel + kernel, 2, true},
		{"a length that ends within the input", head + binaryField("COREDUMP", 300<<10, pad(10)) + "\n" + strings.Repeat(kernel, 4000), 4000, true},
		{"a length beyond all bounds", head + binaryField("COREDUMP", 1<<40, pad(10)) + "\n" + kernel, 1, false},
		{"the largest length there is", head + binaryField("COREDUMP", maxBinary, pad(10)) + "\n" + kernel, 1, true},
		{"a length beyond that", head + binaryField("COREDUMP", maxBinary+1, pad(10)) + "\n" + kernel, 1, false},
		{"a length that is too small", head + binaryField("COREDUMP", 5, pad(10)) + "\n" + kernel, 1, false},
		{"names without data", head + "FOO\nBAR\n" + kernel, 1, false},
		{"a field that is cut off by the end", kernel + head + "COREDUMP\n" + string(binary.LittleEndian.AppendUint64(nil, 1<<20)) + pad(1000), 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewRecordReader(strings.NewReader(c.in))
			n := 0
			for r.Next() {
				if rec := r.Record(); rec.Origin == OriginKernel {
					if n++; rec.Text != verdict {
						t.Errorf("line %d: text %.80q", rec.Line, rec.Text)
					}
				}
			}
			if n != c.kernel {
				t.Errorf("%d records of the kernel, want %d", n, c.kernel)
			}
			if damaged := r.Stats().Cut > 0; damaged != c.damaged {
				t.Errorf("damage counted: %v, want %v", damaged, c.damaged)
			}
		})
	}
}

func TestFieldsOfAnEntryAreBounded(t *testing.T) {
	var in strings.Builder
	in.WriteString("__CURSOR=1\n")
	for range 40 {
		in.WriteString("MESSAGE=" + strings.Repeat("x", 16<<10) + "\n")
	}
	r := NewRecordReader(strings.NewReader(in.String()))
	n := 0
	for r.Next() {
		n += len(r.Record().Text)
	}
	if n == 0 || n > 4*maxField {
		t.Errorf("%d bytes of one entry were kept, the limit is %d", n, 4*maxField)
	}
}

func TestUnfinishedMessagesAreBoundedAndDelivered(t *testing.T) {
	var in strings.Builder
	const n = 50
	for i := range n {
		fmt.Fprintf(&in, "6,%d,%d,-,ncfrag=0/900;part %d\n[    1.000000] line %d\n", i, i, i, i)
	}
	r := NewRecordReader(strings.NewReader(in.String()))
	got := map[string]bool{}
	for r.Next() {
		got[r.Record().Text] = true
		if len(r.parts) > 16 {
			t.Fatalf("%d messages are held, the limit is 16", len(r.parts))
		}
	}
	if len(got) != 2*n {
		t.Errorf("%d parts and lines were delivered, want %d", len(got), 2*n)
	}
}

func TestMixedWideAndPlainText(t *testing.T) {
	const first, second, third = "[    1.000000] clocksource: Switched to clocksource tsc\r\n", "[    2.000000] tsc: Marking TSC unstable due to clocksource watchdog\n", "[    3.000000] clocksource: Switched to clocksource hpet\n"
	wide := func(s string) string { return utf16Text(s, false, false) }
	big := func(s string) string { return utf16Text(s, true, false) }
	for name, in := range map[string]string{
		"plain behind wide":            "\xff\xfe" + wide(first) + second + third,
		"plain between wide":           "\xff\xfe" + wide(first) + second + wide(third),
		"plain behind wide, no mark":   wide(first) + second + third,
		"plain behind wide, big":       "\xfe\xff" + big(first) + second + third,
		"wide behind plain":            first + wide(second) + wide(third),
		"wide behind plain, with mark": first + "\xff\xfe" + wide(second) + wide(third),
		"big behind plain":             first + big(second) + big(third),
		"a byte too many":              "\xff\xfe" + wide(first) + "x\n" + wide(second) + wide(third),
		"a byte too few":               "\xff\xfe" + wide(first) + wide(second)[:len(wide(second))-1] + wide(third),
		"a mark before plain text":     "\xff\xfe" + first + second + third,
	} {
		for _, options := range [][]RecordOption{nil, {WithFilter(knownAnchors.match)}} {
			var stamps []int64
			for _, r := range records(t, in, options...) {
				if ns, ok := r.Printk.Get(); ok && (strings.Contains(r.Text, "Switched to clocksource") || strings.Contains(r.Text, "TSC unstable due to clocksource watchdog")) {
					stamps = append(stamps, ns/1e9)
				}
			}
			if !slices.Equal(stamps, []int64{1, 2, 3}) {
				t.Errorf("%s, filter %v: records of the seconds %v, want 1, 2, 3", name, options != nil, stamps)
			}
		}
	}
}

func TestWritersOfJournalRecords(t *testing.T) {
	for _, c := range []struct {
		fields string
		want   Origin
	}{
		{`"_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel"`, OriginKernel},
		{`"_TRANSPORT":"kernel"`, OriginKernel},
		{`"_TRANSPORT":"kernel","SYSLOG_FACILITY":"0","SYSLOG_IDENTIFIER":"x"`, OriginKernel},
		{`"_TRANSPORT":"kernel","SYSLOG_FACILITY":"3","SYSLOG_IDENTIFIER":"systemd"`, OriginForeign},
		{`"_TRANSPORT":"syslog","SYSLOG_FACILITY":"0","SYSLOG_IDENTIFIER":"evil"`, OriginForeign},
		{`"_TRANSPORT":"syslog","SYSLOG_FACILITY":"0","SYSLOG_IDENTIFIER":"kernel"`, OriginForeign},
		{`"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"kernel"`, OriginForeign},
		{`"SYSLOG_FACILITY":"0","SYSLOG_IDENTIFIER":"kernel"`, OriginKernel},
		{`"SYSLOG_FACILITY":"0"`, OriginKernel},
		{`"SYSLOG_IDENTIFIER":"kernel"`, OriginKernel},
		{`"SYSLOG_FACILITY":"0","SYSLOG_IDENTIFIER":"evil"`, OriginForeign},
		{`"SYSLOG_FACILITY":"3","SYSLOG_IDENTIFIER":"kernel"`, OriginForeign},
		{`"PRIORITY":"4"`, OriginUnsaid},
	} {
		for _, in := range []string{`{` + c.fields + `,"MESSAGE":"x"}`, `{"MESSAGE":"x",` + c.fields + `}`, `{"_source":{"MESSAGE":"x",` + c.fields + `}}`} {
			got := records(t, in)
			if len(got) != 1 || got[0].Origin != c.want && !(strings.Contains(in, "_source") && got[0].Origin == OriginForeign && c.want != OriginUnsaid) {
				t.Errorf("%s: %+v, want origin %s", in, got, c.want)
			}
		}
	}
}

// Objects over several lines end where they end, and what was no record comes back.
func TestLinesOfObjectsThatAreNoRecordsComeBack(t *testing.T) {
	for _, in := range []string{
		"{\n  \"a\": 1,\n  \"b\": [\n    true\n  ]\n}", "{\n  \"a\": \"x\n}", "{\n  \"a\" 1\n}", "{\n  \"a\": 01x\n}", "{\n", "{\n  \"a\": {\n", "[{\n  \"a\": 1\n},\n", "{\n  \"a\": nil\n}",
	} {
		var text []string
		for _, r := range records(t, in) {
			text = append(text, r.Text)
		}
		if got, want := strings.Join(text, "\n"), strings.TrimRight(in, "\n"); got != want && strings.Join(text, "") != strings.ReplaceAll(strings.TrimPrefix(want, "["), "\n", "") {
			t.Errorf("%q came back as %q", in, got)
		}
	}
	for in, want := range map[string]string{
		"{\n  \"MESSAGE\": \"x\",\n  \"_TRANSPORT\": \"kernel\"\n}\n":               "x",
		"{\n  \"MESSAGE\": \"x\",\n  \"n\": -1.5e3, \"l\": [], \"o\": {},\n}\n":     "x",
		"{\n  \"MESSAGE\": \"x\",\n  \"_TRANSPORT\": \"kernel\"\n[    1.000000] y":  "x\ny",
		"{\"msg\":\"x\",\"a\":\n{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"y\"}\n}\n": "x\ny\n}",
		"{\n  \"MESSAGE\": \"a \\\" } b\"\n}\n":                                     `a " } b`,
	} {
		var text []string
		for _, r := range records(t, in) {
			text = append(text, r.Text)
		}
		if got := strings.Join(text, "\n"); got != want {
			t.Errorf("%q was read as %q, want %q", in, got, want)
		}
	}
}

func TestWrappedLinesReachTheReader(t *testing.T) {
	const prefix = "Mar  5 08:00:02 host kernel: [  600.123456] "
	dull := strings.Repeat("Mar  5 08:00:01 host kernel: [  599.123456] usb 1-1: new high-speed USB device number 2\n", 10)
	for _, text := range []string{
		"tsc: Marking TSC unstable due to clocksource watchdog", "Measured 3483092704 cycles TSC warp between CPUs, turning off TSC clock.",
		"Clocksource tsc unstable (delta = -8589964877 ns)", "Switching to clocksource hpet",
	} {
		line := prefix + text
		for cut := len(prefix) + 1; cut < len(line); cut++ {
			rest := strings.TrimLeft(line[cut:], " ")
			for _, quote := range []string{"", "> "} {
				in := dull + quote + line[:cut] + "\n" + quote + rest + "\n" + dull
				r := newRecords(strings.NewReader(in))
				var got []string
				for r.Next() {
					got = append(got, r.Record().Text)
				}
				if !slices.Contains(got, strings.TrimRight(text[:cut-len(prefix)], " ")) || !slices.Contains(got, rest) {
					t.Errorf("%q broken before %q: the reader gets %q", text, rest, got)
				}
			}
		}
	}
}

func TestSpecialBytesAreFound(t *testing.T) {
	for c := range 256 {
		want := c < ' ' || c >= 0x7f || strings.IndexByte("&<=\\{", byte(c)) >= 0
		for size := 1; size < 20; size++ {
			for at := range size {
				line := bytes.Repeat([]byte{'a'}, size)
				line[at] = byte(c)
				if got := special(line); got != want {
					t.Fatalf("byte %#x at %d of %d: %v, want %v", c, at, size, got, want)
				}
			}
		}
	}
}

func TestPartsThatLostTheirEndAreDelivered(t *testing.T) {
	got := records(t, "2026-03-05T08:00:00.1Z stdout P [    1.000000] half\n2026-03-05T08:00:00.2Z stdout F [    2.000000] whole\n")
	want := []Record{{Text: "half", Printk: event.Some[int64](1e9)}, {Text: "whole", Printk: event.Some[int64](2e9)}}
	for i := range got {
		got[i] = Record{Text: got[i].Text, Printk: got[i].Printk}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records differ (-want +got):\n%s", diff)
	}
}

// FuzzHiding: whatever stands before, the kernel's lines behind it come through,
// with the filter and without.
func FuzzHiding(f *testing.F) {
	for _, text := range poisons() {
		if len(text) < 5000 {
			f.Add([]byte(text))
		}
	}
	for _, c := range append(lineContainers(), wholeContainers()...) {
		f.Add([]byte(c.render(reference()[5:9])))
	}
	var tails []string
	var wanted [][]Record
	for _, c := range stampedContainers() {
		switch c.name {
		case "dmesg", "dmesg iso", "rsyslog RFC 3339", "syslog", "journalctl json", "kmsg with caller", "logcat threadtime", "CRI", "docker":
			_, after := kernelLines()
			tails, wanted = append(tails, c.render(after)), append(wanted, want(after, c))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if order, _ := utf16Order(in); order != 0 {
			return // recoded: the end of it may take the beginning of a line along
		}
		for i, tail := range tails {
			in := string(in) + "\n" + tail
			if lost := missing(wanted[i], records(t, in)); len(lost) > 0 {
				t.Errorf("lost %q", lost[0].Text)
			}
		}
		if diff := cmp.Diff(known(string(in)), known(string(in), WithFilter(knownAnchors.match))); diff != "" {
			t.Errorf("records differ (-unfiltered +filtered):\n%s", diff)
		}
	})
}

func TestFieldsWithinFieldsTakeNoMoreMemory(t *testing.T) {
	in := strings.Repeat("__CURSOR=1\nA\n"+string(binary.LittleEndian.AppendUint64(nil, 512<<20)), 200)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	records(t, in)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 8<<20 {
		t.Errorf("%d MiB were allocated for an input of %d bytes", taken>>20, len(in))
	}
}

func TestARecordEndsTheLinesThatMayFollowAnother(t *testing.T) {
	in := "[    1.000000] tsc: Fast TSC calibration\nusing PIT\n[    2.000000] usb 1-1: new high-speed\nUSB device\n"
	var got []string
	for _, r := range records(t, in, WithFilter(interesting)) {
		got = append(got, r.Text)
	}
	if want := []string{"tsc: Fast TSC calibration", "using PIT"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestARecordAcrossPiecesOfALongLineIsWhole(t *testing.T) {
	text := "Kernel command line: " + strings.Repeat("option=value ", 200) + "tsc=unstable"
	for before := maxLine - 4000; before < maxLine+400; before += 97 {
		found := false
		for _, r := range records(t, strings.Repeat("x", before)+"[    1.000000] "+text+"\n") {
			found = found || r.Text == text && !r.Cut
		}
		if !found {
			t.Errorf("behind %d bytes the record is not whole", before)
		}
	}
}
