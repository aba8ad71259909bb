package trace

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/watchdog"
)

// seeds are recordings in both forms.
func seeds(t testing.TB) (binary, lines []byte) {
	h, ticks := example()
	return write(t, Binary, h, ticks, true), write(t, JSONLines, h, ticks, true)
}

// survives holds what a reader accepts against the promises: a tick is valid, and
// both forms keep it.
func survives(t *testing.T, h Header, ticks []*Tick) {
	t.Helper()
	for _, f := range []Form{Binary, JSONLines} {
		_, again, err := readAll(t, bytes.NewReader(write(t, f, h, ticks, true)))
		if err != nil {
			t.Fatalf("%s: written and read again: %v", f, err)
		}
		if len(again) != len(ticks) {
			t.Fatalf("%s: %d ticks of %d came back", f, len(again), len(ticks))
		}
		for i := range ticks {
			if tidy := ticks[i].tidy(); !reflect.DeepEqual(&tidy, again[i]) {
				t.Fatalf("%s: tick %d (-want +got):\n%s", f, i, cmp.Diff(&tidy, again[i]))
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	binary, lines := seeds(f)
	f.Add(binary)
	f.Add(lines)
	f.Add(binary[:len(binary)/2])
	f.Add(lines[:len(lines)-30])
	f.Add([]byte(magic + "\x02\x01{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := NewReader(bytes.NewReader(data))
		if (in == nil) != (err != nil) {
			t.Fatalf("reader %v with error %v", in, err)
		}
		if err != nil {
			return
		}
		h := in.Header()
		if err := h.Validate(); err != nil {
			t.Fatalf("a header was accepted that is not valid: %v", err)
		}
		var ticks []*Tick
		for {
			tick := new(Tick)
			err := in.Read(tick)
			if err != nil {
				if !reflect.DeepEqual(*tick, Tick{}) {
					t.Fatalf("error %v and tick %+v", err, tick)
				}
				var damage *DamageError
				if errors.As(err, &damage) && damage.Offset+damage.Lost != int64(len(data)) {
					t.Fatalf("%+v of %d bytes", damage, len(data))
				} else if damage == nil && err != io.EOF {
					t.Fatal(err)
				}
				break
			}
			if err := tick.Validate(&h); err != nil {
				t.Fatalf("a tick was accepted that is not valid: %v", err)
			}
			ticks = append(ticks, tick)
		}
		if in.Ticks() != uint64(len(ticks)) {
			t.Fatalf("%d ticks counted, %d read", in.Ticks(), len(ticks))
		}
		survives(t, h, ticks)
	})
}

// FuzzTick decodes bodies of ticks behind the checksum, which random bytes do not pass.
func FuzzTick(f *testing.F) {
	h, ticks := example()
	h = h.withDefaults()
	c := newCodec(&h)
	for _, tick := range ticks {
		f.Add(c.appendTick(nil, tick)[1:], []byte{})
	}
	c = newCodec(&h)
	f.Add(c.appendTick(nil, ticks[0])[1:], c.appendTick(nil, ticks[1])[1:])
	f.Fuzz(func(t *testing.T, one, two []byte) {
		c := newCodec(&h)
		var good []*Tick
		for _, body := range [][]byte{one, two} {
			tick := new(Tick)
			if err := c.tick(body, &h, tick); err != nil {
				break
			}
			if tick.Validate(&h) == nil {
				good = append(good, tick)
			}
		}
		survives(t, h, good)
		r := newReplay(t, h, profile(t, watchdog.E9), -1)
		for _, tick := range good {
			for _, res := range step(t, r, tick) {
				if res.Exact != (res.Why == "") {
					t.Fatalf("exact %v, and %q", res.Exact, res.Why)
				}
			}
		}
	})
}

func FuzzCPUSet(f *testing.F) {
	for _, s := range []string{"", "0", "0-7,9", "0-65535", "1-0", "3,1", "0,1", "-1", "0-", "99999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseCPUs(text)
		if err != nil {
			if s != nil {
				t.Fatalf("error %v and set %s", err, s)
			}
			return
		}
		again, err := ParseCPUs(s.String())
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Fatalf("%q read as %s, and that as %s (%v)", text, s, again, err)
		}
		n, cpu := 0, s.First()
		for range min(s.Count(), 100) {
			if !s.Contains(cpu) {
				t.Fatalf("%s: CPU %d is none of it", s, cpu)
			}
			next := s.Next(cpu)
			if s.previous(next) != cpu {
				t.Fatalf("%s: %d follows %d, and %d precedes it", s, next, cpu, s.previous(next))
			}
			cpu = next
			n++
		}
		if n == s.Count() && n > 0 && cpu != s.First() {
			t.Fatalf("%s: %d steps from %d lead to %d", s, n, s.First(), cpu)
		}
	})
}
