package clocksource

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryRegistrationLineHasALegalFrequency reads lines of real boot logs.
func TestEveryRegistrationLineHasALegalFrequency(t *testing.T) {
	f, err := os.Open("testdata/registration.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		var (
			name              string
			mask, cycles      uint64
			idle              int64
			text              = sc.Text()
			_, scanErr        = fmt.Sscanf(text, "%s 0x%x 0x%x %d", &name, &mask, &cycles, &idle)
			explained, detail = false, ""
		)
		if scanErr != nil {
			t.Fatalf("%q: %v", text, scanErr)
		}
		lines++
		switch name {
		case "jiffies", "refined-jiffies":
			var hz int
			hz, explained = TickRate(name, Nanos(idle))
			detail = fmt.Sprintf("HZ=%d", hz)
		case "tod":
			c := Given(1000, 12, Mask(mask))
			explained = c.MaxCycles == Cycles(cycles) && c.MaxIdle == Nanos(idle)
			detail = "mult 1000, shift 12"
		default:
			set, err := Frequencies(Cycles(cycles), Nanos(idle), Mask(mask), ScaleFor(name))
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			explained = set.Count > 0
			detail = fmt.Sprintf("%d to %d Hz, %d candidates, %.3f ppm wide", set.Lowest, set.Highest, set.Count, set.Width())
			for _, hz := range []Hz{set.Lowest, set.Highest} {
				c, err := Register(uint32(hz/Hz(ScaleFor(name))), ScaleFor(name), Mask(mask))
				if err != nil || c.MaxCycles != Cycles(cycles) || c.MaxIdle != Nanos(idle) {
					t.Errorf("%s: %d Hz does not print that line: %+v, %v", text, hz, c, err)
				}
			}
			if set.Width() > 0.5 {
				t.Errorf("%s: the set is %.3f ppm wide, want at most 0.5", text, set.Width())
			}
		}
		t.Logf("%-28s %s", name, detail)
		if !explained {
			t.Errorf("no frequency explains %q", text)
		}
	}
	if lines < 30 {
		t.Errorf("read %d registration lines, want at least 30", lines)
	}
}

func TestFrequenciesFindTheRegisteredOne(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		freq := uint32(1) << (10 + rnd.UintN(22))
		freq |= rnd.Uint32() & (freq - 1)
		scale := []Scale{1, 1000}[rnd.IntN(2)]
		if scale == ScaleKHz {
			freq = freq%8_000_000 + 1000
		}
		mask := []Mask{Mask24, Mask32, MaskOf(40), Mask56, Mask64}[rnd.IntN(5)]
		c, err := Register(freq, scale, mask)
		if err != nil {
			t.Fatal(err)
		}
		set, err := Frequencies(c.MaxCycles, c.MaxIdle, mask, scale)
		if err != nil {
			t.Fatal(err)
		}
		if hz := Hz(freq) * Hz(scale); set.Count == 0 || hz < set.Lowest || hz > set.Highest {
			t.Fatalf("%d*%d Hz, mask %s, %+v: not in %+v", freq, scale, mask, c, set)
		}
	}
}

func TestFrequenciesAgreeWithTryingEveryOne(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		mask := []Mask{Mask24, Mask32, MaskOf(33), MaskOf(40), Mask56, Mask64}[rnd.IntN(6)]
		freq := uint32(500) << rnd.UintN(20)
		freq += rnd.Uint32N(freq)
		c, err := Register(freq, ScaleHz, mask)
		if err != nil {
			t.Fatal(err)
		}
		lo, hi, ok := window(c.MaxCycles, c.MaxIdle, ScaleHz)
		if !ok {
			t.Fatalf("no window for %d Hz", freq)
		}
		hi = min(hi, lo+1_000_000)
		if freq < lo || freq > hi {
			lo, hi = freq-300_000, freq+300_000
		}
		var want FrequencySet
		for f := lo; f <= hi; f++ {
			if g, err := Register(f, ScaleHz, mask); err == nil && g.MaxCycles == c.MaxCycles && g.MaxIdle == c.MaxIdle {
				if want.Count == 0 {
					want.Lowest = Hz(f)
				}
				want.Highest = Hz(f)
				want.Count++
			}
		}
		got, err := Frequencies(c.MaxCycles, c.MaxIdle, mask, ScaleHz)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d Hz, mask %s (-every one, +search):\n%s", freq, mask, d)
		}
	}
}

func TestAlteredOrForeignLinesHaveNoFrequency(t *testing.T) {
	tests := []struct {
		name   string
		cycles Cycles
		idle   Nanos
		mask   Mask
		scale  Scale
	}{
		{"a tsc line with the last digit of max_idle changed", 0x212733415c7, 440795236381, Mask64, ScaleKHz},
		{"a tsc line with max_cycles changed", 0x212733415c8, 440795236380, Mask64, ScaleKHz},
		{"refined-jiffies at HZ=250", 0xffffffff, 7645519600211568, Mask32, ScaleHz},
		{"tod of s390", 0x3b0a9be803b0a9, 1805497147909793, Mask64, ScaleHz},
	}
	for _, tt := range tests {
		if set, err := Frequencies(tt.cycles, tt.idle, tt.mask, tt.scale); err != nil || set.Count != 0 {
			t.Errorf("%s: %+v, %v, want none", tt.name, set, err)
		}
	}
	for _, bad := range []struct {
		cycles Cycles
		idle   Nanos
		mask   Mask
		scale  Scale
	}{{0, 1, Mask64, 1}, {1, 0, Mask64, 1}, {1, -1, Mask64, 1}, {1, 1, 0, 1}, {1, 1, Mask64, 0}, {0x1000000, 1, Mask24, 1}} {
		if set, err := Frequencies(bad.cycles, bad.idle, bad.mask, bad.scale); err == nil {
			t.Errorf("%+v gave %+v, want an error", bad, set)
		}
	}
}

func FuzzFrequencies(f *testing.F) {
	f.Add(uint64(0x212733415c7), int64(440795236380), uint64(Mask64), uint32(1000))
	f.Add(uint64(0xffffffff), int64(79635855245), uint64(Mask32), uint32(1))
	f.Fuzz(func(t *testing.T, cycles uint64, idle int64, mask uint64, scale uint32) {
		set, err := Frequencies(Cycles(cycles), Nanos(idle), Mask(mask), Scale(scale))
		if err != nil || set.Count == 0 {
			return
		}
		for _, hz := range []Hz{set.Lowest, set.Highest} {
			c, err := Register(uint32(hz/Hz(scale)), Scale(scale), Mask(mask))
			if err != nil || c.MaxCycles != Cycles(cycles) || c.MaxIdle != Nanos(idle) {
				t.Fatalf("%d Hz prints %+v, %v", hz, c, err)
			}
		}
	})
}

func TestKnownRatesAreUsable(t *testing.T) {
	for _, r := range KnownRates() {
		if r.Hz == 0 || !r.Mask.Valid() || r.Name == "" || r.From == "" || r.Wrap() <= 0 {
			t.Errorf("incomplete rate %+v", r)
		}
	}
	if got := RatesOf("hpet"); len(got) < 6 || got[0].Hz != 14318180 {
		t.Errorf("rates of the HPET: %+v", got)
	}
	if got := RatesOf("tsc"); got != nil {
		t.Errorf("the TSC has no common rate, got %+v", got)
	}
}

func TestLinePrintsWhatABootLogHolds(t *testing.T) {
	c, err := Register(3579545, ScaleHz, Mask24)
	if err != nil {
		t.Fatal(err)
	}
	const want = "clocksource: acpi_pm: mask: 0xffffff max_cycles: 0xffffff, max_idle_ns: 2085701024 ns"
	if got := c.Line("acpi_pm", Mask24); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
