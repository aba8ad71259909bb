package report

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// fillAny sets everything that a value holds to something, by chance.
func fillAny(r *rand.Rand, v reflect.Value) {
	texts := []string{"", "tsc", "E12", "hpet<&>", "\u00e9\u2028", "a\"b\\c\n\x00", "\xff", "\u202e", "\x7f"}
	switch v.Interface().(type) {
	case trace.Cause:
		v.SetUint(r.Uint64N(4))
		return
	case watchdog.Kind:
		v.SetUint(r.Uint64N(20))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, r.Int64(), -r.Int64(), math.MinInt64}[r.IntN(6)])
	case reflect.Uint64:
		v.SetUint([]uint64{0, 1, r.Uint64(), math.MaxUint64}[r.IntN(4)])
	case reflect.Float64:
		v.SetFloat([]float64{0, math.Copysign(0, -1), 1, -0.06, 1e-7, 9.9e-7, 1e-6, 1e20, 1e21, -3e22, r.NormFloat64() * 1e3, r.NormFloat64() * 1e-6}[r.IntN(12)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fillAny(r, v.Field(i))
			}
		}
	case reflect.Slice:
		if n := r.IntN(4); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n-1))
			for i := range n - 1 {
				fillAny(r, v.Index(i))
			}
		}
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillAny(r, v.Elem())
		}
	}
}

func TestLinesAreThoseOfEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var got, want bytes.Buffer
	fast, slow := NewTickWriter(&got), NewTickWriter(&want)
	compare := func(name string, v any, err, wrong error) {
		t.Helper()
		if err != nil || wrong != nil || got.String() != want.String() {
			t.Fatalf("%s %+v:\ngot  %s (%v)\nwant %s (%v)", name, v, got.String(), err, want.String(), wrong)
		}
		got.Reset()
		want.Reset()
	}
	for range 5_000 {
		var tick LiveTick
		fillAny(r, reflect.ValueOf(&tick).Elem())
		compare("live tick", tick, fast.LiveTick(&tick), slow.line(&tick))
		compare("tick", tick.Tick, fast.Tick(&tick.Tick), slow.line(&tick.Tick))
	}
}

func TestANumberThatJSONCannotHoldIsAnError(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(-1)} {
		tick := Tick{SkewPPM: event.Some(clocksource.PPM(f))}
		var out bytes.Buffer
		if err := NewTickWriter(&out).Tick(&tick); err == nil || out.Len() > 0 {
			t.Errorf("%v: error %v and %q", f, err, out.String())
		}
	}
}

// ordinary is a tick as most of a watch are.
func ordinary() *LiveTick {
	d := watched()
	v := watchdog.Verdict{Kind: watchdog.Agreed, Tick: 9, Attempts: 1, Allowed: 3, Delay: 351, ReadLimit: 50_000, Compared: true,
		Watched: watchdog.Interval{NS: 500_000_120}, Reference: watchdog.Interval{NS: 500_000_000}, Skew: 120, SkewLimit: 200_000}
	return &d.LiveTicks(&live.Tick{Number: 9, Verdicts: []watchdog.Verdict{v}, Exchange: &live.Exchange{Remote: 1, Completed: true, Waited: 900}})[0]
}

func TestAnOrdinaryLineIsWrittenAtOnceAndAllocatesNothing(t *testing.T) {
	w := &countedWrites{}
	tw, tick := NewTickWriter(w), ordinary()
	if n := testing.AllocsPerRun(100, func() { _ = tw.LiveTick(tick) }); n != 0 {
		t.Errorf("%v allocations a line, want none", n)
	}
	if w.n != 101 { // once to warm up
		t.Errorf("%d writes of 101 lines", w.n)
	}
}

type countedWrites struct{ n int }

func (w *countedWrites) Write(p []byte) (int, error) { w.n++; return len(p), nil }

func BenchmarkTickLine(b *testing.B) {
	tick := ordinary()
	for name, write := range map[string]func(*TickWriter) error{
		"append":        func(w *TickWriter) error { return w.LiveTick(tick) },
		"encoding-json": func(w *TickWriter) error { return w.line(tick) },
	} {
		b.Run(name, func(b *testing.B) {
			w := NewTickWriter(io.Discard)
			b.ReportAllocs()
			for b.Loop() {
				if err := write(w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
