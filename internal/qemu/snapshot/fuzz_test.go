package snapshot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// A stream is refused, or steps can be made in it and undone: only the places
// that they name change, and by no more than the steps.
func FuzzRead(f *testing.F) {
	add := func(b []byte, cpu int, cycles int64) {
		i := bytes.LastIndex(b, []byte{markEOF, markDesc}) + 1
		f.Add(b[:i], b[i+descHead:], cpu, cycles)
		f.Add(b, []byte(nil), cpu, cycles)
	}
	add(small().bytes(), 1, 2_300_000)
	add(small().bytes(), AllCPUs, -1)
	add(sample(f), AllCPUs, 1<<62)
	f.Add([]byte("QEVM\x00\x00\x00\x03\x00"), []byte(`{"devices": [{"subsections": [{"subsections": []}]}]}`), 0, int64(0))
	f.Fuzz(func(t *testing.T, b, text []byte, cpu int, cycles int64) {
		if len(text) > 0 { // else no change of it would ever fit its length
			b = withDescription(b, text)
		}
		s, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if s != nil {
				t.Fatal("an error came with a value")
			}
			return
		}
		if got := written(t, s); !bytes.Equal(got, b) {
			t.Fatal("a copy without a step differs")
		}
		step := Step{cpu, cycles}
		p, err := s.place(step)
		if err != nil {
			var out bytes.Buffer
			if s.Write(&out, step) == nil || out.Len() > 0 {
				t.Fatalf("the step has no place (%v), but was made", err)
			}
			return
		}
		stepped := written(t, s, step)
		if len(stepped) != len(b) || !bytes.Equal(stepped[:p.Offset], b[:p.Offset]) || !bytes.Equal(stepped[p.Offset+placeBytes:], b[p.Offset+placeBytes:]) {
			t.Fatal("the step changed more than its place")
		}
		again, err := Read(bytes.NewReader(stepped), int64(len(stepped)))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if q, err := again.place(step); err != nil || q.Offset != p.Offset || q.Value != p.Value+uint64(cycles) {
			t.Fatalf("%+v became %+v by %d, error %v", p, q, cycles, err)
		}
		if back := written(t, again, Step{cpu, -cycles}); !bytes.Equal(back, b) {
			t.Fatal("the step back does not undo it")
		}
	})
}

// A stream that is made by the rules is read, and every field of 64 bits in it is
// found where it was put.
func FuzzMade(f *testing.F) {
	f.Add([]byte("\x01\x02\x11\x00\x13\x01"))
	f.Add([]byte("\x03\x00\x21\x01\x24\x02\x20\x03\x04\x00\x11\x01\x18\x02\x10\x01\x02\x13"))
	f.Fuzz(func(t *testing.T, plan []byte) {
		next := func(below int) int {
			if len(plan) == 0 {
				return 0
			}
			n := int(plan[0]) % below
			plan = plan[1:]
			return n
		}
		type wish struct {
			device int
			field  string
			value  uint64
		}
		var m maker
		var wishes []wish
		fill := byte(0)
		fields := func(data []byte, wanted func(name string, value uint64)) ([]byte, []map[string]any) {
			list := []map[string]any{}
			for i := range next(6) {
				kind, size, count := next(3), next(10), 1
				v := value(fmt.Sprintf("field %d", i), "buffer", size)
				switch kind {
				case 1: // one of those that can be wanted
					v["type"], v["size"], size = "uint64", placeBytes, placeBytes
				case 2:
					count = next(4)
					v["array_len"] = count
				}
				begin := len(data)
				for range size * count {
					fill = fill*5 + 3
					data = append(data, fill)
				}
				if kind == 1 && wanted != nil {
					wanted(v["name"].(string), binary.BigEndian.Uint64(data[begin:]))
				}
				list = append(list, v)
			}
			return data, list
		}
		for d := range next(8) {
			data, list := fields(nil, func(name string, value uint64) {
				wishes = append(wishes, wish{d, name, value})
			})
			var subsections []map[string]any
			for range next(3) {
				name := strings.Repeat("s", next(20))
				data = append(append(data, 5, byte(len(name))), name+"\x00\x00\x00\x01"...)
				var inner []map[string]any
				data, inner = fields(data, nil)
				subsections = append(subsections, map[string]any{"vmsd_name": name, "version": 1, "fields": inner})
			}
			m.add(strings.Repeat("d", 1+d%3), d, data, list...)
			m.devices[d]["subsections"] = subsections
		}
		b := m.bytes()
		s, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("%v\n%q", err, b)
		}
		for _, w := range wishes {
			p, err := s.Place(strings.Repeat("d", 1+w.device%3), w.device, w.field)
			if err != nil || p.Value != w.value || binary.BigEndian.Uint64(b[p.Offset:]) != w.value {
				t.Errorf("%s of device %d: %+v, error %v, want %#x", w.field, w.device, p, err, w.value)
			}
		}
	})
}
