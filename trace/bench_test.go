package trace

import (
	"bytes"
	"io"
	"testing"

	"github.com/cswatch/cswatch/watchdog"
)

// benched are ticks of an idle machine with 8 CPUs.
func benched(kmax int) (*world, []*Tick) {
	w := &world{seed: 9, cpus: 8, clocks: 1}
	ticks := make([]*Tick, 1024)
	for k := range ticks {
		ticks[k] = w.tick(k, kmax)
	}
	return w, ticks
}

func eachSize(b *testing.B, run func(b *testing.B, w *world, kmax int, ticks []*Tick)) {
	for name, kmax := range map[string]int{"2 read-backs": 2, "8 read-backs": 8} {
		w, ticks := benched(kmax)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			run(b, w, kmax, ticks)
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	eachSize(b, func(b *testing.B, w *world, kmax int, ticks []*Tick) {
		size := len(write(b, Binary, w.header(kmax), ticks, false)) - len(write(b, Binary, w.header(kmax), nil, false))
		out, err := NewWriter(io.Discard, Binary, w.header(kmax))
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for b.Loop() {
			if err := out.Write(ticks[n%len(ticks)]); err != nil {
				b.Fatal(err)
			}
			n++
		}
		b.ReportMetric(float64(size)/float64(len(ticks)), "bytes/tick")
	})
}

func BenchmarkRead(b *testing.B) { benchmarkRead(b, Binary) }

func BenchmarkReadJSONLines(b *testing.B) { benchmarkRead(b, JSONLines) }

func benchmarkRead(b *testing.B, form Form) {
	eachSize(b, func(b *testing.B, w *world, kmax int, ticks []*Tick) {
		data := write(b, form, w.header(kmax), ticks, false)
		var in *Reader
		var tick Tick
		n := 0
		for b.Loop() {
			if n%len(ticks) == 0 {
				var err error
				if in, err = NewReader(bytes.NewReader(data)); err != nil {
					b.Fatal(err)
				}
			}
			if err := in.Read(&tick); err != nil {
				b.Fatal(err)
			}
			n++
		}
		b.ReportMetric(float64(len(data))/float64(len(ticks)), "bytes/tick")
	})
}

func BenchmarkReplay(b *testing.B) {
	for _, e := range []watchdog.Era{watchdog.E5, watchdog.E12} {
		b.Run(string(e), func(b *testing.B) {
			s := quiet(8, 1024)
			b.ReportAllocs()
			var r *Replay
			n := 0
			for b.Loop() {
				if n%1024 == 0 {
					r = newReplay(b, s.h, profile(b, e), -1)
				}
				if _, err := r.Step(s.ticks[n%1024]); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}

func TestWritingAndReadingATickAllocatesNothing(t *testing.T) {
	w := &world{seed: 9, cpus: 1, clocks: 1}
	ticks := []*Tick{w.tick(0, 4), w.tick(1, 4)}
	out, err := NewWriter(io.Discard, Binary, w.header(4))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if got := testing.AllocsPerRun(100, func() {
		n++
		_ = out.Write(ticks[n%2])
	}); got != 0 {
		t.Errorf("writing a tick makes %v allocations", got)
	}
	var many []*Tick
	for k := range 300 {
		many = append(many, ticks[k%2])
	}
	in, err := NewReader(bytes.NewReader(write(t, Binary, w.header(4), many, false)))
	if err != nil {
		t.Fatal(err)
	}
	var tick Tick
	if err := in.Read(&tick); err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(100, func() { err = in.Read(&tick) }); got != 0 || err != nil {
		t.Errorf("reading a tick makes %v allocations, error %v", got, err)
	}
}
