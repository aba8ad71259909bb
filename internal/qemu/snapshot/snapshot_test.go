package snapshot

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

func TestAFieldIsFoundByItsName(t *testing.T) {
	made := small().bytes()
	cases := []struct {
		name     string
		stream   []byte
		section  string
		instance int
		field    string
		value    uint64
	}{
		{"the ticks of a made stream", made, "timer", 0, "cpu_ticks_offset", 0x1000},
		{"the first CPU of it", made, "cpu", 0, "env.tsc_offset", 0},
		{"a CPU with an array before the field and a subsection behind it", made, "cpu", 1, "env.tsc_offset", 2},
		{"the ticks of a real machine", sample(t), "timer", 0, "cpu_ticks_offset", 5051119592},
		{"the clock of a real machine", sample(t), "timer", 0, "cpu_clock_offset", 1942738874},
		{"the CPU 1 of a real machine", sample(t), "cpu", 1, "env.tsc_offset", 0},
		{"its program counter, behind an array and before many fields", sample(t), "cpu", 1, "env.eip", 0xfd09a},
		{"the time of the HPET of a real machine", sample(t), "hpet", 0, "hpet_counter", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := mustRead(t, c.stream).Place(c.section, c.instance, c.field)
			if err != nil || p.Value != c.value {
				t.Errorf("place %+v, error %v; want the value %#x", p, err, c.value)
			}
		})
	}
}

func TestAStepChangesTheTSCAndNothingElse(t *testing.T) {
	const ticks = 5051119592 // in the sample
	cases := []struct {
		name            string
		steps           []Step
		all, cpu0, cpu1 uint64
	}{
		{"none", nil, ticks, 0, 0},
		{"all forward", []Step{{AllCPUs, 2_300_000}}, ticks + 2_300_000, 0, 0},
		{"all back", []Step{{AllCPUs, -2_300_000}}, ticks - 2_300_000, 0, 0},
		{"one forward", []Step{{1, 5}}, ticks, 0, 5},
		{"one back, below zero", []Step{{0, -5}}, ticks, math.MaxUint64 - 4, 0},
		{"several, not in the order of the stream", []Step{{1, 7}, {0, 1}, {AllCPUs, 2}, {1, -3}}, ticks + 2, 1, 4},
		{"there and back", []Step{{AllCPUs, math.MaxInt64}, {AllCPUs, -math.MaxInt64}}, ticks, 0, 0},
	}
	before := sample(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			after := written(t, mustRead(t, before), c.steps...)
			s := mustRead(t, after)
			for _, w := range []struct {
				step Step
				want uint64
			}{{Step{CPU: AllCPUs}, c.all}, {Step{CPU: 0}, c.cpu0}, {Step{CPU: 1}, c.cpu1}} {
				p, err := s.place(w.step)
				if err != nil || p.Value != w.want {
					t.Errorf("%s: %+v, error %v, want %d", w.step, p, err, w.want)
				}
				copy(after[p.Offset:p.Offset+placeBytes], before[p.Offset:])
			}
			if !bytes.Equal(before, after) {
				t.Error("it changed something else")
			}
		})
	}
}

func TestWhatIsWrongWithAStreamIsSaid(t *testing.T) {
	cut := func(n int) []byte { b := small().bytes(); return b[:len(b)-n] }
	change := func(old, new string) []byte {
		b := small().bytes()
		if bytes.Count(b, []byte(old)) != 1 || len(old) != len(new) {
			t.Fatalf("%q is not there once", old)
		}
		return bytes.Replace(b, []byte(old), []byte(new), 1)
	}
	described := func(text string) []byte {
		return withDescription([]byte("QEVM\x00\x00\x00\x03............\x00"), []byte(text))
	}
	cases := []struct {
		name   string
		stream []byte
		want   string
	}{
		{"it is empty", nil, "it has 0 bytes, want 8 at 0x0"},
		{"it is something else", []byte("\x7fELF\x02\x01\x01\x00\x00"), `it begins with "\x7fELF\x02\x01\x01\x00", want "QEVM" and the version 3`},
		{"it has another version", change("QEVM\x00\x00\x00\x03", "QEVM\x00\x00\x00\x02"), "the version 3"},
		{"it is cut", cut(1), "no description of the devices ends it"},
		{"it ends before the description", []byte("QEVM\x00\x00\x00\x03\x00"), "it may be cut, or saved by another version of QEMU"},
		{"the description is no JSON", described(`{"devices": [}`), "its description of 14 bytes at 0x1a: invalid character"},
		{"the description is of another kind", described(`{"devices": 3}`), "cannot unmarshal number"},
		{"the description has too many values", described("{" + strings.Repeat(",", maxValues+1)), "has 1048577 values"},
		{"a name is other than described", change("timer\x00\x00\x00\x00\x00\x00\x00\x01", "Timer\x00\x00\x00\x00\x00\x00\x00\x01"), "of timer 0, the section 1 of 4: this version of QEMU describes"},
		{"a version is other than described", change("\x03cpu\x00\x00\x00\x01\x00\x00\x00\x01", "\x03cpu\x00\x00\x00\x01\x00\x00\x00\x02"), "of cpu 1, the section 3 of 4"},
		{"a foot is missing", change("--\x7e\x00\x00\x00\x00", "--\x00\x00\x00\x00\x00"), "want the foot \"~\\x00\\x00\\x00\\x00\" of timer 0: the section does not have the 10 bytes"},
		{"a foot is another's", change("--\x7e\x00\x00\x00\x00", "--\x7e\x00\x00\x00\x07"), "of timer 0: the section does not have the 10 bytes"},
		{"no end mark stands before the description", change("\x00\x06\x00\x00", "\x01\x06\x00\x00"), "the byte 0x1, want the end mark 0x0"},
		{"more is described than there is", described(`{"devices": [{"fields": [{"size": 20}]}]}`), "sections of 39 bytes and more, but before it stand only"},
		{"a field is longer than all", described(`{"devices": [{"name": "x", "fields": [{"size": 9000000000000000000, "array_len": 9}]}]}`), "its description of x 0: it is longer than the whole stream"},
		{"all fields together are", described(`{"devices": [{"fields": [{"size": 40}, {"size": 90}]}]}`), "longer than the whole stream"},
		{"a subsection is", described(`{"devices": [{"subsections": [{"fields": [{"size": 100}]}]}]}`), "longer than the whole stream"},
		{"a size is negative", described(`{"devices": [{"fields": [{"name": "f", "size": -1}]}]}`), "the field f has 1 elements of -1 bytes"},
		{"a count is negative", described(`{"devices": [{"subsections": [{"fields": [{"name": "f", "size": 1, "array_len": -2}]}]}]}`), "the field f has -2 elements"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := Read(bytes.NewReader(c.stream), int64(len(c.stream)))
			if err == nil || s != nil || !strings.HasPrefix(err.Error(), "read the saved state of a machine: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestAFieldThatIsNotThereIsSaid(t *testing.T) {
	strange := small()
	strange.devices[0]["fields"] = []map[string]any{value("cpu_ticks_offset", "int32", 4), value("unused", "unused_buffer", 6)}
	s, odd := mustRead(t, small().bytes()), mustRead(t, strange.bytes())
	cases := []struct {
		name string
		s    *Snapshot
		step Step
		want string
	}{
		{"a CPU that the machine does not have", s, Step{CPU: 2}, "make the step CPU 2 +0 cycles: find the field env.tsc_offset of the section cpu 2 in the saved state: there are only sections of this name for [0 1]"},
		{"a CPU without a number", s, Step{CPU: -2}, "want one from 0, or -1 for all"},
		{"a field of another size", odd, Step{CPU: AllCPUs, Cycles: 1}, `make the step all CPUs +1 cycles: find the field cpu_ticks_offset of the section timer 0 in the saved state: it is of the type "int32" with 4 bytes, want int64 or uint64 with 8`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := c.s.Check(c.step); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
			if err := c.s.Write(&out, c.step); err == nil || !strings.Contains(err.Error(), c.want) || out.Len() > 0 {
				t.Errorf("%d bytes and error %v, want none and one that says %q", out.Len(), err, c.want)
			}
		})
	}
	if _, err := s.Place("kvmclock", 0, "clock"); err == nil || !strings.Contains(err.Error(), "there is no such section among 4") {
		t.Errorf("a section that is not there: %v", err)
	}
	if _, err := s.Place("timer", 0, "clock"); err == nil || !strings.Contains(err.Error(), "its version 1 of the section has 2 other fields") {
		t.Errorf("a field that is not there: %v", err)
	}
}

// broken fails to read or to write behind its first bytes.
type broken struct {
	r    io.ReaderAt
	left int64
}

var errBroken = errors.New("the disk is gone")

func (b *broken) ReadAt(p []byte, at int64) (int, error) {
	if at < b.left && at+int64(len(p)) > b.left {
		return 0, errBroken
	}
	return b.r.ReadAt(p, at)
}

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestAFileThatFailsIsAnError(t *testing.T) {
	b := small().bytes()
	s := mustRead(t, b)
	p, err := s.Place(timerSection, 0, timerField)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []int64{0, p.Offset, int64(len(b)) - 1} {
		if err := s.Write(&broken{left: left}, Step{CPU: AllCPUs, Cycles: 1}); !errors.Is(err, errBroken) {
			t.Errorf("a disk that is full after %d bytes: %v", left, err)
		}
	}
	if _, err := Read(&broken{r: bytes.NewReader(b), left: 5}, int64(len(b))); !errors.Is(err, errBroken) {
		t.Errorf("a disk that fails: %v", err)
	}
	s.r = bytes.NewReader(b[:len(b)-10])
	if err := s.Write(io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that became shorter: %v", err)
	}
}

func TestATimeBecomesCycles(t *testing.T) {
	cases := []struct {
		by   time.Duration
		hz   int64
		want int64
	}{
		{time.Millisecond, 2_300_000_000, 2_300_000},
		{-time.Millisecond, 2_300_000_000, -2_300_000},
		{time.Nanosecond, 2_400_000_000, 2},
		{time.Nanosecond, 2_600_000_000, 3},
		{24 * time.Hour, 5_000_000_000, 432_000_000_000_000},
		{0, math.MaxInt64, 0},
	}
	for _, c := range cases {
		if got := Cycles(c.by, c.hz); got != c.want {
			t.Errorf("%v at %d Hz are %d cycles, want %d", c.by, c.hz, got, c.want)
		}
	}
}
