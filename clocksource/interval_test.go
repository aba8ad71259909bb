package clocksource

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// both are the two ways to multiply, with the delta rules of their time.
func both() []PrintedInterval {
	return []PrintedInterval{{Delta: DeltaTopBit, Arithmetic: Wrapping}, {Delta: DeltaMaxRaw, Arithmetic: OverflowSafe}}
}

func contains(ranges []FrequencySet, f Hz) bool {
	for _, r := range ranges {
		if f >= r.Lowest && f <= r.Highest {
			return true
		}
	}
	return false
}

func TestAnIntervalTellsTheFrequencyThatItWasMadeWith(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	for range 4000 {
		p := both()[rnd.IntN(2)]
		scale := []Scale{ScaleHz, ScaleKHz}[rnd.IntN(2)]
		p.Mask = []Mask{Mask24, Mask32, Mask56, Mask64}[rnd.IntN(4)]
		freq := uint32(1_000_000) << rnd.UintN(10)
		if scale == ScaleKHz {
			freq = 100_000 + rnd.Uint32N(9_900_000)
		}
		c, err := Register(freq, scale, p.Mask)
		if err != nil {
			t.Fatal(err)
		}
		p.Last = Cycles(rnd.Uint64()) & Cycles(p.Mask)
		p.Now = (p.Last + Cycles(rnd.Uint64()>>(24+rnd.UintN(30)))) & Cycles(p.Mask)
		p.NS = c.Between(p.Last, p.Now, p.Mask, p.Delta, p.Arithmetic)
		ranges, err := p.Frequencies(scale)
		if p.Cycles() == 0 && errors.Is(err, ErrNoCycles) {
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		if !contains(ranges, Hz(freq)*Hz(scale)) {
			t.Fatalf("%d*%d Hz made %+v and is not in %+v", freq, scale, p, ranges)
		}
		for i, r := range ranges {
			for _, hz := range []Hz{r.Lowest, r.Highest} {
				c, err := Register(uint32(hz/Hz(scale)), scale, p.Mask)
				if err != nil || !p.ExplainedBy(c) {
					t.Fatalf("%+v is not made by %d Hz: %v", p, hz, err)
				}
			}
			if i > 0 && r.Lowest <= ranges[i-1].Highest+Hz(scale) {
				t.Fatalf("ranges %+v are not apart and in order", ranges)
			}
		}
	}
}

func TestAnIntervalAgreesWithTryingEveryFrequency(t *testing.T) {
	tests := []struct {
		name   string
		p      PrintedInterval
		from   uint32 // kHz
		to     uint32
		ranges int
	}{
		{"half a second of 2.4 GHz", PrintedInterval{Last: 0x152e8a8da, Now: 0x19ba16f54, Mask: Mask64, NS: 505_204_522}, 2_000_000, 3_000_000, 1},
		{"an hour of 2.4 GHz, product wrapped", PrintedInterval{Now: 8_640_000_000_000, Mask: Mask64, NS: 301_396_288_512}, 2_399_000, 2_401_000, -1},
		{"an hour of 2.4 GHz, product not wrapped", PrintedInterval{Now: 8_640_000_000_000, Mask: Mask64, NS: 3_600_000_000_000, Arithmetic: OverflowSafe}, 2_000_000, 3_000_000, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ranges, err := tt.p.Frequencies(ScaleKHz)
			if err != nil {
				t.Fatal(err)
			}
			matches := 0
			for f := tt.from; f <= tt.to; f++ {
				c, err := Register(f, ScaleKHz, tt.p.Mask)
				if err != nil {
					t.Fatal(err)
				}
				explains := tt.p.ExplainedBy(c)
				if explains {
					matches++
				}
				if explains != contains(ranges, Hz(f)*1000) {
					t.Fatalf("%d kHz explains it: %t, ranges %+v", f, explains, ranges)
				}
			}
			if tt.ranges >= 0 && (len(ranges) != tt.ranges || matches == 0) {
				t.Errorf("%d matches in %+v", matches, ranges)
			}
		})
	}
}

func TestANumberThatWasAlteredHasNoFrequency(t *testing.T) {
	for _, p := range []PrintedInterval{
		{Last: 5, Now: 5, Mask: Mask32, NS: 7070},
		{Last: 6, Now: 5, Mask: Mask64, NS: 7070, Delta: DeltaTopBit},
	} {
		if ranges, err := p.Frequencies(ScaleHz); err != nil || ranges != nil {
			t.Errorf("%+v: %+v, %v", p, ranges, err)
		}
	}
	hpet := PrintedInterval{Last: 0x341e98e, Now: 0x77a45d3, Mask: Mask32, NS: 708025010, Delta: DeltaMaxRaw, Arithmetic: OverflowSafe}
	for _, ns := range []Nanos{708025010, 708025020, 708025000} {
		hpet.NS = ns
		rates, err := hpet.Rates("hpet")
		if known := len(rates) == 1 && rates[0].Hz == 100_000_000; err != nil || known != (ns == 708025010) {
			t.Errorf("%d ns: %+v, %v", ns, rates, err)
		}
	}
}

func TestAnIntervalThatTellsNothingSaysWhy(t *testing.T) {
	still := PrintedInterval{Last: 9, Now: 5, Mask: Mask64, Delta: DeltaTopBit}
	if _, err := still.Frequencies(ScaleKHz); !errors.Is(err, ErrNoCycles) {
		t.Errorf("a counter that went back: %v", err)
	}
	if _, err := still.Rates("hpet"); !errors.Is(err, ErrNoCycles) {
		t.Errorf("a reference that went back: %v", err)
	}
	long := PrintedInterval{Now: 1 << 60, Mask: Mask64, NS: 1}
	if _, err := long.Frequencies(ScaleKHz); !errors.Is(err, ErrWrapsTooOften) {
		t.Errorf("fifteen years: %v", err)
	}
	if _, err := (PrintedInterval{Now: 1, NS: 1}).Frequencies(ScaleKHz); err == nil {
		t.Error("a mask of 0 was accepted")
	}
}

func TestTheReferenceIsExplainedByItsLegalRates(t *testing.T) {
	made := func(c Conversion, cycles Cycles, mask Mask) PrintedInterval {
		return PrintedInterval{Now: cycles, Mask: mask, NS: c.Nanos(cycles, Wrapping), Delta: DeltaTopBit}
	}
	register := func(hz uint32, mask Mask) Conversion {
		c, err := Register(hz, ScaleHz, mask)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	tick := func(name string, hz int) Conversion {
		c, ok := Tick(name, hz)
		if !ok {
			t.Fatalf("no %s at %d", name, hz)
		}
		return c
	}
	tests := []struct {
		name  string
		clock string
		p     PrintedInterval
		want  []Hz
	}{
		{"the 24 MHz HPET as registered, over 10 s", "hpet", made(register(23_999_999, Mask32), 240_000_000, Mask32), []Hz{23_999_999}},
		{"the chipset's HPET, whose two rates differ by 0.07 ppm", "hpet", made(register(14_318_179, Mask32), 143_181_790, Mask32), []Hz{14_318_179}},
		{"the same over half a second", "hpet", PrintedInterval{Last: 0x1b96b0a, Now: 0x22859e0, Mask: Mask32, NS: 507753219}, []Hz{14_318_180}},
		{"the PM timer", "acpi_pm", made(register(3_579_545, Mask24), 1_789_772, Mask24), []Hz{3_579_545}},
		{"kvm-clock counts nanoseconds", "kvm-clock", PrintedInterval{Now: 503967155, Mask: Mask64, NS: 503967155}, []Hz{1_000_000_000}},
		{"jiffies at HZ=250", "jiffies", made(tick("jiffies", 250), 126, Mask32), []Hz{250}},
		{"refined-jiffies at HZ=1000", "refined-jiffies", made(tick("refined-jiffies", 1000), 504, Mask32), []Hz{1000}},
		{"tod of s390", "tod", made(Given(1000, 12, Mask64), 2_048_000_000, Mask64), []Hz{4_096_000_000}},
		{"a PM timer at another rate", "acpi_pm", made(register(3_600_000, Mask24), 1_800_000, Mask24), nil},
		{"a clock without a usual rate", "timebase", PrintedInterval{Now: 1, Mask: Mask64, NS: 1}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rates, err := tt.p.Rates(tt.clock)
			if err != nil {
				t.Fatal(err)
			}
			var got []Hz
			for _, r := range rates {
				got = append(got, r.Hz)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	odd := made(register(33_333_333, Mask32), 333_333_330, Mask32)
	rates, err := odd.Rates("hpet")
	if err != nil || len(rates) != 1 || rates[0].Hz != 33_333_333 {
		t.Errorf("an HPET of 30 ns over 10 s: %+v, %v", rates, err)
	}
	odd = made(register(33_333_333, Mask32), 333_333, Mask32)
	rates, err = odd.Rates("hpet")
	if err != nil || len(rates) != 2 || rates[0].Hz > 33_333_333 || rates[1].Hz < 33_333_333 || rates[1].Hz-rates[0].Hz > 10 {
		t.Errorf("an HPET of 30 ns over 10 ms: %+v, %v", rates, err)
	}
}

func FuzzPrintedInterval(f *testing.F) {
	f.Add(uint64(0x152e8a8da), uint64(0x19ba16f54), uint64(Mask64), int64(505204522), uint8(2), uint8(0), uint32(1000))
	f.Add(uint64(0x341e98e), uint64(0x77a45d3), uint64(Mask32), int64(708025010), uint8(3), uint8(1), uint32(1))
	f.Fuzz(func(t *testing.T, last, now, mask uint64, ns int64, delta, arithmetic uint8, scale uint32) {
		p := PrintedInterval{Cycles(last), Cycles(now), Mask(mask), Nanos(ns), DeltaRule(delta % 4), Arithmetic(arithmetic % 2)}
		ranges, err := p.Frequencies(Scale(scale))
		if err != nil {
			if ranges != nil {
				t.Fatalf("an error with %+v: %v", ranges, err)
			}
			return
		}
		for _, r := range ranges {
			for _, hz := range []Hz{r.Lowest, r.Highest} {
				c, err := Register(uint32(hz/Hz(scale)), Scale(scale), p.Mask)
				if err != nil || !p.ExplainedBy(c) {
					t.Fatalf("%+v is not made by %d Hz: %v", p, hz, err)
				}
			}
		}
		if rates, err := p.Rates("hpet"); err == nil {
			for _, r := range rates {
				if c, err := Register(uint32(r.Hz), ScaleHz, p.Mask); err != nil || !p.ExplainedBy(c) {
					t.Fatalf("%+v is not made by an HPET of %d Hz: %v", p, r.Hz, err)
				}
			}
		}
	})
}
