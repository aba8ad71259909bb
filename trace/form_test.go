package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
)

// arbitrary returns ticks whose values are anything that is valid.
func arbitrary(r *rand.Rand, h *Header, n int) []*Tick {
	// Numbers of every size, and the ends of all.
	number := func() uint64 {
		switch r.IntN(8) {
		case 0:
			return ^uint64(0) - uint64(r.IntN(3))
		case 1:
			return 0
		}
		return r.Uint64() >> r.IntN(64)
	}
	nanos := func() clocksource.Nanos { return clocksource.Nanos(number()%(2*maxInstant+1)) - maxInstant }
	group := func() [][]ReadBack {
		g := make([][]ReadBack, len(h.Watched))
		for i := range g {
			g[i] = make([]ReadBack, r.IntN(h.ReadBacks+1))
			for k := range g[i] {
				rb := &g[i][k]
				rb.Before, rb.Clock = clocksource.Cycles(number()), clocksource.Cycles(number())
				rb.After, rb.Again = clocksource.Cycles(number()), clocksource.Cycles(number())
				rb.Late = Cause(r.IntN(4) * r.IntN(2))
			}
		}
		return g
	}
	ticks := make([]*Tick, n)
	var seq uint64
	for i := range ticks {
		seq++
		if r.IntN(4) == 0 {
			seq = number()
		}
		t := &Tick{Seq: seq, Scheduled: nanos(), At: nanos(), CPU: r.IntN(MaxCPU + 1), Resets: r.IntN(2) * r.IntN(maxResets+1), Reads: group()}
		if r.IntN(2) == 0 {
			t.Boot = group()
		}
		switch {
		case r.IntN(3) == 0:
			t.Online = CPUs(r.Perm(70)[:1+r.IntN(60)]...)
		case i > 0 && r.IntN(2) == 0:
			t.Online = ticks[i-1].Online
		}
		for range r.IntN(len(h.Watched) + 1) {
			x := Exchange{Clock: r.IntN(len(h.Watched)), CPU: r.IntN(MaxCPU + 1), Peer: r.IntN(MaxCPU + 1), Waited: clocksource.Nanos(number() >> 1), Limit: clocksource.Nanos(number() >> 1)}
			x.Count, x.TimedOut, x.Busy = r.IntN(maxStamps+1), r.IntN(3) == 0, r.IntN(3) == 0
			for k := range x.Count {
				x.Stamps[k] = clocksource.Cycles(number())
			}
			t.Exchanges = append(t.Exchanges, x)
		}
		ticks[i] = t
	}
	return ticks
}

func write(t testing.TB, f Form, h Header, ticks []*Tick, end bool) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, f, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, tick := range ticks {
		if err := w.Write(tick); err != nil {
			t.Fatal(err)
		}
	}
	if end {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// readAll reads ticks until an error, which is nil for a good end.
func readAll(t testing.TB, r io.Reader) (*Reader, []*Tick, error) {
	t.Helper()
	in, err := NewReader(r)
	if err != nil {
		return nil, nil, err
	}
	var all []*Tick
	for {
		tick := new(Tick)
		err := in.Read(tick)
		if err == io.EOF {
			return in, all, nil
		}
		if err != nil {
			return in, all, err
		}
		all = append(all, tick)
	}
}

func TestBothFormsKeepEverything(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := &world{seed: seed, cpus: 1 + r.IntN(9), clocks: 1 + r.IntN(2)}
		h := w.header(1 + r.IntN(MaxReadBacks))
		h.Notes = []string{"a note", "ä \u2028 <&>"}
		want := arbitrary(r, &h, 30)
		binary := write(t, Binary, h, want, true)
		lines := write(t, JSONLines, h, want, true)
		for name, data := range map[Form][]byte{Binary: binary, JSONLines: lines} {
			in, got, err := readAll(t, iotest.OneByteReader(bytes.NewReader(data)))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if in.Form() != name || !in.Ended() || in.Offset() != int64(len(data)) || in.Ticks() != 30 {
				t.Errorf("%s: read as %s, ended %v, %d of %d bytes, %d ticks", name, in.Form(), in.Ended(), in.Offset(), len(data), in.Ticks())
			}
			if diff := cmp.Diff(h, in.Header()); diff != "" {
				t.Errorf("%s header (-want +got):\n%s", name, diff)
			}
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("%s (-want +got):\n%s", name, cmp.Diff(want, got))
			}
		}
		// Converting there and back gives the same bytes.
		for from, to := range map[*[]byte]*[]byte{&binary: &lines, &lines: &binary} {
			var out bytes.Buffer
			form := Binary
			if to == &lines {
				form = JSONLines
			}
			if _, err := Convert(&out, form, bytes.NewReader(*from)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Bytes(), *to) {
				t.Errorf("converted to %s: %d bytes differ from those that were written at once (%d)", form, out.Len(), len(*to))
			}
		}
	}
}

func TestReadUsesMemoryAgainAndLeavesNothingInIt(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	h := (&world{cpus: 2, clocks: 2}).header(4)
	want := arbitrary(r, &h, 200)
	for _, f := range []Form{Binary, JSONLines} {
		in, err := NewReader(bytes.NewReader(write(t, f, h, want, true)))
		if err != nil {
			t.Fatal(err)
		}
		var tick Tick
		for i := range want {
			if err := in.Read(&tick); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[i], &tick); diff != "" {
				t.Fatalf("%s, tick %d (-want +got):\n%s", f, i, diff)
			}
		}
		if err := in.Read(&tick); err != io.EOF || cmp.Diff(Tick{}, tick) != "" {
			t.Errorf("%s: %v at the end, with a tick of %+v", f, err, tick)
		}
	}
}

// failing is a writer that breaks at a call.
type failing struct {
	calls, from int
	short       bool
}

func (f *failing) Write(b []byte) (int, error) {
	f.calls++
	if f.calls < f.from {
		return len(b), nil
	}
	if f.short {
		return len(b) / 2, nil
	}
	return 0, errors.New("the disk is full")
}

func TestEachTickIsOneWriteAndAnErrorIsFinal(t *testing.T) {
	w := &world{cpus: 2, clocks: 1}
	for _, f := range []Form{Binary, JSONLines} {
		for _, short := range []bool{false, true} {
			out := &failing{from: 4, short: short} // header, two ticks, then
			rec, err := NewWriter(out, f, w.header(2))
			if err != nil {
				t.Fatal(err)
			}
			if err := rec.Write(&Tick{}); err == nil || out.calls != 1 {
				t.Errorf("%s: a tick that is not valid: %v", f, err)
			}
			for k := range 2 {
				if err := rec.Write(w.tick(k, 2)); err != nil || out.calls != k+2 {
					t.Fatalf("%s: tick %d: %v in %d calls", f, k, err, out.calls)
				}
			}
			for range 2 {
				if err := rec.Write(w.tick(2, 2)); err == nil || out.calls != 4 || rec.Ticks() != 2 {
					t.Errorf("%s: %v in %d calls with %d ticks, want an error that stays", f, err, out.calls, rec.Ticks())
				}
			}
			if err := rec.Close(); err == nil || out.calls != 4 {
				t.Errorf("%s: closed after an error: %v", f, err)
			}
		}
		var buf bytes.Buffer
		rec, err := NewWriter(&buf, f, w.header(2))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(rec.Close(), rec.Close()); err != nil {
			t.Errorf("%s: closed twice: %v", f, err)
		}
		if err := rec.Write(w.tick(0, 2)); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: a tick behind the end: %v", f, err)
		}
	}
	if _, err := NewWriter(io.Discard, "xml", w.header(2)); err == nil {
		t.Error("a form that is unknown was accepted")
	}
}

func TestATypicalTickIsSmall(t *testing.T) {
	w := &world{seed: 9, cpus: 8, clocks: 1}
	for name, c := range map[string]struct {
		kmax     int
		exchange bool
		most     float64
	}{
		"one read-back each":                  {1, false, 32},
		"two read-backs each":                 {2, false, 46},
		"two read-backs each and an exchange": {2, true, 80},
		"eight read-backs each and exchange":  {8, true, 160},
	} {
		size := func(n int) int {
			var ticks []*Tick
			for k := range n {
				tick := w.tick(k, c.kmax)
				if !c.exchange {
					tick.Exchanges = nil
				}
				ticks = append(ticks, tick)
			}
			return len(write(t, Binary, w.header(c.kmax), ticks, false))
		}
		each := float64(size(1016)-size(16)) / 1000
		t.Logf("%-36s %5.1f bytes a tick", name, each)
		if each > c.most {
			t.Errorf("%s: %.1f bytes a tick, want %.0f or fewer", name, each, c.most)
		}
	}
}

func TestVerifyCounts(t *testing.T) {
	w := &world{seed: 5, cpus: 2, clocks: 1, rough: 100}
	ticks := []*Tick{w.tick(0, 3), w.tick(1, 3), w.tick(3, 3)}
	late := uint64(0)
	for _, tick := range ticks {
		for _, g := range [][][]ReadBack{tick.Reads, tick.Boot} {
			for _, series := range g {
				for _, rb := range series {
					if rb.Late == Unexplained {
						late++
					}
				}
			}
		}
	}
	data := write(t, Binary, w.header(3), ticks, true)
	got, err := Verify(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	// Ticks of CPU 1 have two series, and the second and fourth tick an exchange with it.
	want := Report{Header: w.header(3), Form: Binary, Ticks: 3, Bytes: int64(len(data)), First: begin, Last: begin + 3*interval,
		ReadBacks: 15, Exchanges: 2, Gaps: 1, Ended: true, Late: [4]uint64{15 - late, 0, 0, late}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = Verify(bytes.NewReader(data[:len(data)-9]))
	if !errors.Is(err, ErrDamaged) || got.Ended || got.Lost == 0 || got.Damage != err.Error() {
		t.Errorf("cut: %v, %+v", err, got)
	}
	if fmt.Sprint(Doubt(0x7f)) != "attempts,pattern,timer,gap,cpu,exchange,earlier" {
		t.Errorf("the doubts are called %s", Doubt(0x7f))
	}
}
