package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/load"
)

func ptr[T any](v T) *T { return &v }

func someRecords() []Record {
	clock := Clocksource{Current: "tsc", Available: []string{"tsc", "hpet", "acpi_pm"}}
	return []Record{
		{Type: TypeHello, UptimeNS: 1, Hello: &Hello{Schema: Schema, Release: "5.10.0-32-amd64", Version: "#1 SMP", CommandLine: `a="b c"`, CPUs: 2, Clocksource: clock}},
		{Type: TypeKmsg, UptimeNS: 2, Kmsg: "6,339,5140900,-;NET: Registered\n SUBSYSTEM=net"},
		{Type: TypeSymbols, UptimeNS: 2, Symbols: []Symbol{{Name: "read_tsc", Address: 0xffffffff81035160}}},
		{Type: TypeClocksource, UptimeNS: 3, Clocksource: &Clocksource{Current: "hpet", Available: []string{"hpet"}}},
		{Type: TypeOutput, UptimeNS: 4, Output: &Output{Stream: "stdout", Text: ""}},
		{Type: TypeLoad, UptimeNS: 5, Load: &load.Work{Kind: load.Both, DrivenNS: 4, LoopingCPUs: 1, ReadingCPUs: 1, Loops: 640, Reads: 64}},
		{Type: TypeFile, UptimeNS: 5, File: &FilePart{Path: "/proc/version", Data: []byte("Linux\x00\xff\n")}},
		{Type: TypeFile, UptimeNS: 5, File: &FilePart{Path: "/proc/version", Offset: 8, Data: []byte{}, Last: true, Cut: true}},
		{Type: TypeTrouble, UptimeNS: 5, Trouble: "read the clocksource: no such file"},
		{Type: TypeEnd, UptimeNS: 6, End: &End{Reason: EndProgram, DweltNS: 5, LostKmsg: 2, Clocksource: clock, Exit: ptr(0)}},
	}
}

func stream(t testing.TB, records []Record) []byte {
	t.Helper()
	var b []byte
	for _, r := range records {
		var err error
		if b, err = AppendRecord(b, r); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func decode(r io.Reader) ([]Record, *Decoder) {
	d := NewDecoder(r)
	var got []Record
	for {
		rec, ok := d.Next()
		if !ok {
			return got, d
		}
		got = append(got, rec)
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	want := someRecords()
	b := stream(t, want)
	if lines := bytes.Count(b, []byte("\n")); lines != len(want) {
		t.Errorf("%d records take %d lines", len(want), lines)
	}
	got, d := decode(iotest.OneByteReader(bytes.NewReader(b)))
	if diff := cmp.Diff(want, got); diff != "" || d.Err() != nil || d.Damaged() != 0 {
		t.Errorf("error %v, %d damaged, records (-want +got):\n%s", d.Err(), d.Damaged(), diff)
	}
}

func TestDamagedLinesAreCountedAndPassedOver(t *testing.T) {
	whole := someRecords()
	b := stream(t, whole)
	second := bytes.IndexByte(b, '\n') + 1
	cases := []struct {
		name    string
		in      string
		records int
		damaged int
	}{
		{"nothing", "", 0, 0},
		{"cut within the last record", string(b[:len(b)-10]), 9, 1},
		{"a whole last record without its newline", string(b[:len(b)-1]), 10, 0},
		{"noise of the firmware before the first", "\x1b[2J SeaBIOS\r\n" + string(b), 10, 1},
		{"an empty line", "\n" + string(b), 10, 1},
		{"a line beyond the limit", string(b[:second]) + strings.Repeat("x", 2*MaxLine) + "\n" + string(b[second:]), 10, 1},
		{"a line beyond the limit that never ends", string(b[:second]) + strings.Repeat("x", MaxLine+1), 1, 1},
		{"a type that does not exist", `{"type":"goodbye","uptime_ns":1}` + "\n" + string(b), 10, 1},
		{"a record without its content", `{"type":"end","uptime_ns":1}` + "\n" + string(b), 10, 1},
		{"another schema", `{"type":"hello","hello":{"schema":"cswatch.guest/v2"}}` + "\n", 0, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, d := decode(strings.NewReader(c.in))
			if len(got) != c.records || d.Damaged() != c.damaged || d.Err() != nil {
				t.Errorf("%d records, %d damaged, error %v; want %d and %d", len(got), d.Damaged(), d.Err(), c.records, c.damaged)
			}
		})
	}
}

// The stream of a restored machine goes on where that of the saved one was cut.
func TestAStreamMayBeginWithinALine(t *testing.T) {
	b := stream(t, someRecords())
	second := bytes.IndexByte(b, '\n') + 1
	cases := []struct {
		name    string
		in      string
		records int
		damaged int
	}{
		{"at the end of a line", string(b[second:]), 9, 0},
		{"within a line", string(b[second/2:]), 9, 0},
		{"before the last byte of a line", string(b[second-1:]), 9, 0},
		{"within a line, and it ends within the next", string(b[second/2 : second+10]), 0, 1},
		{"within a line, and one behind is damaged", string(b[second/2:second]) + "noise\n" + string(b[second:]), 9, 1},
		{"within a line beyond the limit", strings.Repeat("x", 2*MaxLine) + "\n" + string(b), 10, 0},
		{"and holds nothing", "", 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := NewDecoder(strings.NewReader(c.in))
			d.Midway()
			n := 0
			for _, ok := d.Next(); ok; _, ok = d.Next() {
				n++
			}
			if n != c.records || d.Damaged() != c.damaged || d.Err() != nil {
				t.Errorf("%d records, %d damaged, error %v; want %d and %d", n, d.Damaged(), d.Err(), c.records, c.damaged)
			}
		})
	}
}

func TestAReadErrorEndsTheStream(t *testing.T) {
	broken := errors.New("broken")
	got, d := decode(io.MultiReader(bytes.NewReader(stream(t, someRecords())), iotest.ErrReader(broken)))
	if len(got) != 10 || !errors.Is(d.Err(), broken) {
		t.Errorf("%d records, error %v", len(got), d.Err())
	}
}

func TestRecordsWithoutTheirContentAreNotWritten(t *testing.T) {
	for _, r := range []Record{{}, {Type: TypeHello}, {Type: TypeKmsg}, {Type: TypeClocksource}, {Type: TypeOutput}, {Type: TypeLoad}, {Type: TypeFile}, {Type: TypeTrouble}, {Type: TypeEnd}} {
		if b, err := AppendRecord(nil, r); err == nil || b != nil {
			t.Errorf("%q was written as %q", r.Type, b)
		}
	}
}

func TestPartsOfFilesAndLoadsThatCannotBeAreNoRecords(t *testing.T) {
	cases := []struct {
		name   string
		record Record
		want   string
	}{
		{"a path that is not absolute", Record{Type: TypeFile, File: &FilePart{Path: "a", Last: true}}, "no absolute path"},
		{"a path with a detour", Record{Type: TypeFile, File: &FilePart{Path: "/a/../b", Last: true}}, "without detours"},
		{"a path that is too long", Record{Type: TypeFile, File: &FilePart{Path: "/" + strings.Repeat("x", 4095)}}, "no absolute path"},
		{"a part of too many bytes", Record{Type: TypeFile, File: &FilePart{Path: "/a", Data: make([]byte, FileChunk+1)}}, "want 65536 at most"},
		{"a part before the file", Record{Type: TypeFile, File: &FilePart{Path: "/a", Offset: -1}}, "begins at byte -1"},
		{"a part that begins beyond the bound", Record{Type: TypeFile, File: &FilePart{Path: "/a", Offset: math.MaxInt64, Data: []byte{1}}}, "want the first 16777216"},
		{"a part that ends beyond the bound", Record{Type: TypeFile, File: &FilePart{Path: "/a", Offset: MaxFile, Data: []byte{1}}}, "want the first 16777216"},
		{"a part that cuts and is not the last", Record{Type: TypeFile, File: &FilePart{Path: "/a", Cut: true}}, "is not the last"},
		{"a load of no kind", Record{Type: TypeLoad, Load: &load.Work{Loops: 1}}, "kind of load"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if b, err := AppendRecord(nil, c.record); err == nil || b != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("written as %q, error %v", b, err)
			}
			line, err := json.Marshal(c.record)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := ParseRecord(line); err == nil || !strings.Contains(err.Error(), c.want) || cmp.Diff(Record{}, r) != "" {
				t.Errorf("read as %+v, error %v", r, err)
			}
		})
	}
}

// The longest parts and the longest lines of output are still lines of the stream.
func TestTheLongestRecordsAreBelowTheLimitOfALine(t *testing.T) {
	for _, r := range []Record{
		{Type: TypeFile, UptimeNS: math.MaxInt64, File: &FilePart{Path: "/" + strings.Repeat("\x01", 4094), Offset: MaxFile - FileChunk, Data: bytes.Repeat([]byte{0xff}, FileChunk), Last: true, Cut: true}},
		{Type: TypeOutput, UptimeNS: math.MaxInt64, Output: &Output{Stream: "stdout", Text: strings.Repeat("\x01", 64<<10)}},
	} {
		b := stream(t, []Record{r})
		got, d := decode(bytes.NewReader(b))
		if len(b) > MaxLine || len(got) != 1 || d.Damaged() != 0 {
			t.Errorf("a %s record of %d bytes came back as %d records and %d damaged lines", r.Type, len(b), len(got), d.Damaged())
		}
	}
}

// A line is a record or an error, never both, and a record comes back as it was.
func FuzzParseRecord(f *testing.F) {
	for line := range bytes.Lines(stream(f, someRecords())) {
		f.Add(line)
	}
	f.Add([]byte(`{"type":"file","file":{"path":"/a","offset":65536,"data":null,"last":true}}`))
	f.Add([]byte(`{"type":"file","file":{"path":"/a","data":"AA==\r\n","cut":true}}`))
	f.Add([]byte(`{"type":"load","load":{"kind":"net","bytes":18446744073709551615}}`))
	f.Add([]byte(`{"type":"end","end":{"exit":null,"clocksource":{"available":[]}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseRecord(line)
		if err != nil {
			if diff := cmp.Diff(Record{}, r); diff != "" {
				t.Fatalf("an error came with a record:\n%s", diff)
			}
			return
		}
		out, err := AppendRecord(nil, r)
		if err != nil {
			t.Fatalf("it cannot be written again: %v", err)
		}
		if bytes.IndexByte(out, '\n') != len(out)-1 {
			t.Fatalf("it takes more than one line: %q", out)
		}
		back, err := ParseRecord(out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, back); diff != "" {
			t.Errorf("it came back changed (-want +got):\n%s", diff)
		}
	})
}
