package trace

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// TestARecordingThatWasCutAtAnyByte reads every beginning of a recording.
func TestARecordingThatWasCutAtAnyByte(t *testing.T) {
	w := &world{seed: 5, cpus: 3, clocks: 1, rough: 20}
	h := w.header(2)
	var want []*Tick
	for k := range 6 {
		want = append(want, w.tick(k, 2))
	}
	for _, f := range []Form{Binary, JSONLines} {
		whole := write(t, f, h, want, true)
		// ends[n] is how long a recording with n ticks is.
		ends := make([]int, len(want)+1)
		for n := range ends {
			ends[n] = len(write(t, f, h, want[:n], false))
		}
		for cut := range len(whole) + 1 {
			in, got, err := readAll(t, bytes.NewReader(whole[:cut]))
			good := -1
			for n, end := range ends {
				if cut >= end || f == JSONLines && cut == end-1 { // an end of line may be missing
					good = n
				}
			}
			var damage *DamageError
			switch {
			case cut == len(whole) || f == JSONLines && cut == len(whole)-1:
				if err != nil || !in.Ended() {
					t.Fatalf("%s: the whole recording: %v", f, err)
				}
			case good >= 0 && (cut == ends[good] || cut == ends[good]-1):
				if err != nil || in.Ended() {
					t.Fatalf("%s cut at %d, between two parts: %v", f, cut, err)
				}
			default:
				if !errors.As(err, &damage) || !errors.Is(err, ErrDamaged) {
					t.Fatalf("%s cut at %d: %v, want a damage", f, cut, err)
				}
				if !damage.Cut || damage.Offset+damage.Lost != int64(cut) || int(damage.Ticks) != max(good, 0) {
					t.Fatalf("%s cut at %d: %+v, want a cut behind %d ticks", f, cut, damage, good)
				}
				if good >= 0 && damage.Offset != int64(ends[good]) {
					t.Fatalf("%s cut at %d: lost from %d on, want %d", f, cut, damage.Offset, ends[good])
				}
			}
			if len(got) != max(good, 0) {
				t.Fatalf("%s cut at %d: %d ticks, want %d", f, cut, len(got), good)
			}
			for i := range got {
				if !reflect.DeepEqual(want[i], got[i]) {
					t.Fatalf("%s cut at %d (-want +got):\n%s", f, cut, cmp.Diff(want[i], got[i]))
				}
			}
			var out bytes.Buffer
			report, again := Convert(&out, Binary, bytes.NewReader(whole[:cut]))
			if (again == nil) != (err == nil) || report.Ticks != uint64(len(got)) {
				t.Fatalf("%s cut at %d: converted with %v and %d ticks", f, cut, again, report.Ticks)
			}
		}
	}
}

func TestEveryDamagedByteIsNoticed(t *testing.T) {
	w := &world{seed: 5, cpus: 3, clocks: 1}
	h := w.header(2)
	var want []*Tick
	for k := range 5 {
		want = append(want, w.tick(k, 2))
	}
	whole := write(t, Binary, h, want, true)
	for at := range whole {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			data := bytes.Clone(whole)
			data[at] ^= flip
			_, got, err := readAll(t, bytes.NewReader(data))
			if err == nil {
				t.Fatalf("byte %d changed by %#x: nothing was noticed", at, flip)
			}
			var damage *DamageError
			if errors.As(err, &damage) {
				if damage.Offset+damage.Lost != int64(len(data)) || damage.Offset > int64(at) || damage.Ticks != uint64(len(got)) {
					t.Fatalf("byte %d changed: %+v of %d bytes", at, damage, len(data))
				}
			} else if !errors.Is(err, ErrFormat) {
				t.Fatalf("byte %d changed: %v", at, err)
			}
			for i := range got {
				if !reflect.DeepEqual(want[i], got[i]) {
					t.Fatalf("byte %d changed: a tick before the damage differs:\n%s", at, cmp.Diff(want[i], got[i]))
				}
			}
		}
	}
	data := append(bytes.Clone(whole), "more"...)
	var damage *DamageError
	if _, got, err := readAll(t, bytes.NewReader(data)); len(got) != 5 || !errors.As(err, &damage) || damage.Lost != 4 || damage.Cut {
		t.Errorf("bytes behind the end: %v", err)
	}
	// A frame left out breaks the count of the end, if nothing else.
	short := append(write(t, Binary, h, nil, false), whole[len(write(t, Binary, h, want, false)):]...)
	if _, _, err := readAll(t, bytes.NewReader(short)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "mark of 5 ticks, and has 0") {
		t.Errorf("a recording without its ticks: %v", err)
	}
}

func TestWhatIsNoRecordingIsToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want error
		text string
	}{
		"nothing":            {"", ErrDamaged, "the recording is empty"},
		"another file":       {"\x7fELF....", ErrFormat, "not a recording"},
		"text":               {"hello", ErrFormat, "not a recording"},
		"other JSON":         {`{"a":1}` + "\n", ErrHeader, `unknown field "a"`},
		"a newer version":    {`{"schema":"cswatch.trace/v3","new":1}` + "\n", ErrHeader, "a newer one is needed"},
		"a document of ours": {`{"schema":"cswatch.doctor/v1"}` + "\n", ErrHeader, "want \"cswatch.trace/v1\""},
		"half a line":        {`{"schema":"cswat`, ErrDamaged, "16 bytes are lost"},
		"a header of frames": {magic + "\x01\x02\xff\xff\xff\xff", ErrDamaged, "checksum"},
	} {
		_, err := NewReader(strings.NewReader(c.data))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.text)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := NewReader(iotest.ErrReader(broken)); !errors.Is(err, broken) || errors.Is(err, ErrDamaged) {
		t.Errorf("an error of the reader: %v", err)
	}
}

// endless repeats a text for a number of bytes.
type endless struct {
	text string
	left int
}

func (e *endless) Read(b []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(b) && n < e.left {
		n += copy(b[n:], e.text)
	}
	n = min(n, e.left)
	e.left -= n
	return n, nil
}

func TestMemoryIsBounded(t *testing.T) {
	head := string(write(t, Binary, (&world{cpus: 1, clocks: 1}).header(1), nil, false))
	lines := string(write(t, JSONLines, (&world{cpus: 1, clocks: 1}).header(1), nil, false))
	const size = 64 << 20
	for name, start := range map[string]string{
		"an endless line":             lines + `{"tick":`,
		"an endless header":           `{"schema":`,
		"a frame of 4 GiB":            head + "\xff\xff\xff\xff\x0f",
		"a length without end":        head + "\xff\xff\xff\xff\xff\xff",
		"frames of one byte":          head,
		"an array of endless members": lines + `{"reads":[[`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := readAll(t, io.MultiReader(strings.NewReader(start), &endless{"\x01{},", size}))
		runtime.ReadMemStats(&after)
		var damage *DamageError
		if !errors.As(err, &damage) || damage.Lost < size-10 {
			t.Errorf("%s: %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
	}
}
