package snapshot

import (
	"bytes"
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
