package hw

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// oscillator is a machine whose counter runs with hz and whose reads take 100 ns.
type oscillator struct {
	now    float64 // ns
	hz     float64
	broken func(triple) triple
}

func (o *oscillator) counter() clocksource.Cycles {
	return clocksource.Cycles(1e12 + o.now*o.hz/1e9)
}

func (o *oscillator) read() (triple, error) {
	var t triple
	t.before = o.counter()
	o.now += 50
	t.raw = clocksource.Nanos(o.now)
	o.now += 50
	t.after = o.counter()
	if o.broken != nil {
		t = o.broken(t)
	}
	return t, nil
}

func (o *oscillator) sources(f files, leaves map[uint32][4]uint32) frequencySources {
	return frequencySources{
		readFile: f.read,
		cpuid: func(leaf, _ uint32) (a, b, c, d uint32) {
			l := leaves[leaf]
			return l[0], l[1], l[2], l[3]
		},
		read:  o.read,
		sleep: func(_ context.Context, d time.Duration) error { o.now += float64(d); return nil },
	}
}

func TestRateIsTakenFromTheBestSourceThatTheMeasurementBears(t *testing.T) {
	const guest = 1 << 31 // of leaf 1, ECX
	leaf15 := [4]uint32{2, 216, 24_000_000, 0}
	for _, tt := range []struct {
		name   string
		hz     float64
		files  files
		leaves map[uint32][4]uint32
		want   clocksource.Hz
		from   string
		doubts int
	}{
		{"sysfs comes first", 2.592e9, files{tscKHzPath: []byte("2591998\n")}, map[uint32][4]uint32{0: {0x16}, 0x15: leaf15}, 2_591_998_000, tscKHzPath, 0},
		{"CPUID 0x15 with a crystal", 2.5921e9, nil, map[uint32][4]uint32{0: {0x16}, 0x15: leaf15}, 2_592_000_000, "CPUID 0x15", 0},
		{"CPUID 0x15 without a crystal leaves 0x16", 2.5999e9, nil, map[uint32][4]uint32{0: {0x16}, 0x15: {2, 216}, 0x16: {2600}}, 2_600_000_000, "CPUID 0x16", 0},
		{"a hypervisor's leaf comes before CPUID's", 2.2e9, nil,
			map[uint32][4]uint32{0: {0x16}, 1: {0, 0, guest}, 0x15: leaf15, 0x40000000: {0x40000010}, 0x40000010: {2_200_000}}, 2_200_000_000, "CPUID 0x40000010", 0},
		{"a hypervisor without the leaf is not asked for it", 2.2e9, nil,
			map[uint32][4]uint32{0: {0x24}, 1: {0, 0, guest}, 0x40000000: {0x40000001}, 0x40000010: {2_200_000}}, 2_200_000_000, "measured", 0},
		{"without a hypervisor its leaf is not asked", 2.2e9, nil,
			map[uint32][4]uint32{0: {0x24}, 0x40000000: {0x40000010}, 0x40000010: {2_200_000}}, 2_200_000_000, "measured", 0},
		{"CPUID that speaks of the host's rate is not believed", 2.0e9, nil, map[uint32][4]uint32{0: {0x16}, 0x15: leaf15, 0x16: {2600}}, 2_000_000_000, "measured", 2},
		{"a file that is no number is passed over", 1e9, files{tscKHzPath: []byte("unknown")}, nil, 1_000_000_000, "measured", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &oscillator{hz: tt.hz}
			f, err := findFrequency(t.Context(), o.sources(tt.files, tt.leaves))
			if err != nil {
				t.Fatal(err)
			}
			off, _ := clocksource.Deviation(f.Hz, tt.want)
			if f.From != tt.from || len(f.Doubts) != tt.doubts || f.Exact == "" || math.Abs(float64(off)) > 0.1 {
				t.Errorf("got %+v, want %d Hz from %s with %d doubts", f, tt.want, tt.from, tt.doubts)
			}
			if (f.From == "measured") != (f.Error > 0) {
				t.Errorf("error %v of a rate from %s", f.Error, f.From)
			}
			if f.Error > 1.1 { // 100 ns at either end of 100 ms
				t.Errorf("error %v ppm, want 1", f.Error)
			}
		})
	}
}

func TestRateIsNotMadeUp(t *testing.T) {
	denied := errors.New("denied")
	for _, tt := range []struct {
		name   string
		broken func(triple) triple
		read   bool
		sleep  error
		want   string
	}{
		{"a counter that goes backwards", func(t triple) triple { t.before, t.after = t.after+5, t.before; return t }, true, nil, "went backwards"},
		{"a counter that stands still", func(t triple) triple { t.before, t.after = 7, 7; return t }, true, nil, "did not advance"},
		{"a clock that stands still", func(t triple) triple { t.raw = 5; return t }, true, nil, "did not advance"},
		{"no counter at all", nil, false, nil, "cannot be used here"},
		{"interrupted", nil, true, denied, "denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &oscillator{hz: 1e9, broken: tt.broken}
			s := o.sources(nil, nil)
			if !tt.read {
				s.read = nil
			}
			if tt.sleep != nil {
				s.sleep = func(context.Context, time.Duration) error { return tt.sleep }
			}
			if f, err := findFrequency(t.Context(), s); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %+v, error %v; want one with %q", f, err, tt.want)
			}
		})
	}
}

func TestNarrowestTripleCounts(t *testing.T) {
	// One read in three is interrupted for 40 us between counter and clock.
	o := &oscillator{hz: 3e9}
	n := 0
	s := o.sources(nil, nil)
	s.read = func() (triple, error) {
		t, err := o.read()
		if n++; n%3 != 0 {
			o.now += 40_000
			t.after = o.counter()
		}
		return t, err
	}
	f, err := findFrequency(t.Context(), s)
	if err != nil || math.Abs(float64(f.Hz)-3e9) > 3e3 || f.Error > 1.1 {
		t.Errorf("got %+v, %v; want 3 GHz within 1 ppm", f, err)
	}
}

func TestAStatedRateIsInDoubtByWhatTheMeasurementLetPass(t *testing.T) {
	for from, want := range map[string]clocksource.PPM{tscKHzPath: 0, "measured": 1.5, "CPUID 0x15": claimTolerance, counterFreqName: claimTolerance} {
		if got := (Frequency{Hz: 1, From: from, Error: 1.5}).Doubt(); got != want {
			t.Errorf("%s: doubt of %v ppm, want %v", from, got, want)
		}
	}
}
