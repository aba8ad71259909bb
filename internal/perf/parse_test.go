package perf

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// encode writes a record as the kernel does.
func encode(r Record, l Layout) []byte {
	ne := binary.NativeEndian
	var body []byte
	u32 := func(v ...uint32) {
		for _, x := range v {
			body = ne.AppendUint32(body, x)
		}
	}
	u64 := func(v ...uint64) {
		for _, x := range v {
			body = ne.AppendUint64(body, x)
		}
	}
	text := func(s string) {
		body = append(append(body, s...), 0)
		for len(body)%8 != 0 {
			body = append(body, 0)
		}
	}
	var kind uint32
	var misc uint16
	s := r.stamp()
	switch r := r.(type) {
	case Sample:
		kind, misc = recordSample, uint16(r.Mode)
		u64(r.IP)
		u32(uint32(r.PID), uint32(r.TID))
		u64(r.Time)
		u32(r.CPU, 0)
		u64(r.Period)
		if l.Chains {
			u64(uint64(len(r.Chain)))
			u64(r.Chain...)
		}
	case Mapping:
		kind = recordMmap2
		u32(uint32(r.PID), uint32(r.TID))
		u64(r.Start, r.Length, r.Offset)
		u32(uint32(r.Device>>32), uint32(r.Device))
		u64(r.Inode, 0)
		u32(5, 2)
		text(r.Name)
	case Naming:
		kind = recordComm
		if r.Exec {
			misc = miscCommExec
		}
		u32(uint32(r.PID), uint32(r.TID))
		text(r.Name)
	case Birth:
		kind = recordFork
		u32(uint32(r.PID), uint32(r.ParentPID), uint32(r.TID), uint32(r.ParentTID))
		u64(r.Time)
	case Exit:
		kind = recordExit
		u32(uint32(r.PID), 0, uint32(r.TID), 0)
		u64(r.Time)
	case Loss:
		if kind = recordLostSamples; !r.Samples {
			kind = recordLost
			u64(7)
		}
		u64(r.Lost)
	case Throttling:
		if kind = recordThrottle; r.On {
			kind = recordUnthrottle
		}
		u64(r.Time, 7, 7)
	case Other:
		kind = r.Kind
	}
	if kind != recordSample {
		u32(uint32(s.PID), uint32(s.TID))
		u64(s.Time)
		u32(s.CPU, 0)
	}
	head := ne.AppendUint32(nil, kind)
	head = ne.AppendUint16(head, misc)
	head = ne.AppendUint16(head, uint16(headerSize+len(body)))
	return append(head, body...)
}

// everyRecord has one record of each kind, with all that it can say.
func everyRecord(chains bool) []Record {
	at := Stamp{PID: 12, TID: 13, Time: 1_000_000, CPU: 3}
	sample := Sample{Stamp: at, Mode: KernelMode, IP: 0xffffffff81001234, Period: 1_003_009}
	if chains {
		sample.Chain = []uint64{contextKernel, 0xffffffff81001234, contextUser, 0x401000}
	}
	return []Record{
		sample,
		Mapping{at, 0x400000, 0x2000, 0x1000, 0xfe<<32 | 1, 4711, "/usr/bin/a program"},
		Mapping{Stamp: at, Start: 0x7000, Length: 0x1000, Name: "//anon"},
		Naming{at, "client", false},
		Naming{at, "other", true},
		Birth{at, 10, 11},
		Exit{at},
		Loss{at, 99, false},
		Loss{at, 98, true},
		Throttling{at, false},
		Throttling{at, true},
		Other{at, 17},
	}
}

func TestEveryRecordIsReadAsItWasWritten(t *testing.T) {
	for _, chains := range []bool{false, true} {
		l := Layout{Chains: chains}
		var stream []byte
		want := everyRecord(chains)
		for _, r := range want {
			stream = append(stream, encode(r, l)...)
		}
		var got []Record
		for len(stream) > 0 {
			r, size, err := ParseRecord(stream, l)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
			stream = stream[size:]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("chains %v: records (-written +read):\n%s", chains, diff)
		}
	}
}

func TestAnOldMappingRecordAndOneWithABuildIDGiveNoInode(t *testing.T) {
	m := Mapping{Stamp{PID: 1, TID: 1, Time: 5}, 0x1000, 0x1000, 0, 3, 4, "/lib/x"}
	b := encode(m, Layout{})
	binary.NativeEndian.PutUint16(b[4:], miscBuildID)
	r, _, err := ParseRecord(b, Layout{})
	m.Device, m.Inode = 0, 0
	if diff := cmp.Diff(Record(m), r); err != nil || diff != "" {
		t.Errorf("with a build ID: %v\n%s", err, diff)
	}
	// A record of kind MMAP lacks the 32 bytes between offset and name.
	old := append(append([]byte{}, b[:headerSize+32]...), b[headerSize+64:]...)
	binary.NativeEndian.PutUint32(old, recordMmap)
	binary.NativeEndian.PutUint16(old[6:], uint16(len(old)))
	r, _, err = ParseRecord(old, Layout{})
	if diff := cmp.Diff(Record(m), r); err != nil || diff != "" {
		t.Errorf("of the old kind: %v\n%s", err, diff)
	}
}

func TestDamagedRecordsAreErrorsThatSayWhetherTheRestCanBeRead(t *testing.T) {
	sample := encode(everyRecord(true)[0], Layout{Chains: true})
	with := func(change func(b []byte)) []byte {
		b := append([]byte{}, sample...)
		change(b)
		return b
	}
	ne := binary.NativeEndian
	for _, tt := range []struct {
		name string
		data []byte
		size int
		want string
	}{
		{"no header", sample[:7], 0, "7 bytes"},
		{"the end of the data within a record", sample[:40], 0, "40 of its"},
		{"a size of nothing would never end", with(func(b []byte) { ne.PutUint16(b[6:], 0) }), 0, "a size of 0 bytes"},
		{"a size that is no multiple of 8", with(func(b []byte) { ne.PutUint16(b[6:], 12) }), 0, "a size of 12 bytes"},
		{"a sample without room for its fields", with(func(b []byte) { ne.PutUint16(b[6:], 24) }), 24, "within a record"},
		{"a call chain longer than the record", with(func(b []byte) { ne.PutUint64(b[48:], 5) }), len(sample), "a call chain of 5"},
		{"a call chain beyond all memory", with(func(b []byte) { ne.PutUint64(b[48:], 1<<63) }), len(sample), "a call chain of 9223372036854775808"},
		{"a name without room for its trailer", with(func(b []byte) { ne.PutUint32(b, recordComm); ne.PutUint16(b[6:], 24) }), 24, "no room for who"},
		{"a mapping that ends in its offset", with(func(b []byte) { ne.PutUint32(b, recordMmap); ne.PutUint16(b[6:], 48) }), 48, "within a record"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, size, err := ParseRecord(tt.data, Layout{Chains: true})
			if err == nil || !strings.Contains(err.Error(), tt.want) || r != nil || size != tt.size {
				t.Errorf("%v, %d bytes, error %v: want none, %d bytes and an error with %q", r, size, err, tt.size, tt.want)
			}
		})
	}
	if _, _, err := ParseRecord(sample[:40], Layout{}); !errors.Is(err, ErrCut) {
		t.Errorf("error %v, want ErrCut", err)
	}
}

// What is read and written again reads as the same; an error comes without a
// value; and the reader always gets on or stops.
func FuzzParseRecord(f *testing.F) {
	for _, chains := range []bool{false, true} {
		var all []byte
		for _, r := range everyRecord(chains) {
			b := encode(r, Layout{Chains: chains})
			f.Add(b, chains)
			all = append(all, b...)
		}
		f.Add(all, chains)
	}
	f.Fuzz(func(t *testing.T, data []byte, chains bool) {
		l := Layout{Chains: chains}
		for len(data) > 0 {
			r, size, err := ParseRecord(data, l)
			if (r == nil) == (err == nil) || size < 0 || size > len(data) || size%8 != 0 {
				t.Fatalf("record %v, %d of %d bytes, error %v", r, size, len(data), err)
			}
			if size == 0 {
				return
			}
			if err == nil {
				if s, ok := r.(Sample); ok && (len(s.Chain) > MaxChain || len(s.Chain)*8 > size) {
					t.Fatalf("a chain of %d in %d bytes", len(s.Chain), size)
				}
				if o, ok := r.(Other); !ok || o.Kind != recordMmap {
					again, _, err := ParseRecord(encode(r, l), l)
					if diff := cmp.Diff(r, again); err != nil || diff != "" {
						t.Fatalf("written and read again: %v\n%s", err, diff)
					}
				}
			}
			data = data[size:]
		}
	})
}
