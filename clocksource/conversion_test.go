package clocksource

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// registered holds the values that boot logs print, or that follow from the
// same arithmetic where no log is known.
var registered = []struct {
	name      string
	mask      Mask
	freq      uint32
	scale     Scale
	mult      uint32
	shift     uint32
	maxCycles Cycles
	maxIdle   Nanos
}{
	{"tsc at 2299.998 MHz", Mask64, 2299998, 1000, 7294448, 24, 0x212733415c7, 440795236380},
	{"tsc-early at 2195.990 MHz", Mask64, 2195990, 1000, 7639933, 24, 0x1fa766bc6ba, 440795275714},
	{"tsc at 2195.274 MHz", Mask64, 2195274, 1000, 7642425, 24, 0x1fa4c255513, 440795289702},
	{"tsc at 3000.000 MHz", Mask64, 3000000, 1000, 5592405, 24, 0x2b3e459bf4c, 440795289890},
	{"kvm-clock and wdtest-ktime at 1 GHz", Mask64, 1000000000, 1, 8388608, 23, 0x1cd42e4dffb, 881590591483},
	{"hpet with a period of 41666667 fs", Mask32, 23999999, 1, 2796202783, 26, 0xffffffff, 79635855245},
	{"hpet with a period of 69841279 fs", Mask32, 14318179, 1, 2343484601, 25, 0xffffffff, 133484882848},
	{"hpet at exactly 24 MHz", Mask32, 24000000, 1, 2796202667, 26, 0xffffffff, 79635851949},
	{"hpet at 25 MHz", Mask32, 25000000, 1, 2684354560, 26, 0xffffffff, 76450417870},
	{"hpet at 19.2 MHz", Mask32, 19200000, 1, 3495253333, 26, 0xffffffff, 99544814920},
	{"hpet of QEMU at 100 MHz", Mask32, 100000000, 1, 2684354560, 28, 0xffffffff, 19112604467},
	{"acpi_pm", Mask24, 3579545, 1, 2343484437, 23, 0xffffff, 2085701024},
	{"arch_sys_counter at 24 MHz", Mask56, 24000000, 1, 699050667, 24, 0x588fe9dc0, 440795202592},
	{"arch_sys_counter at 54 MHz", Mask56, 54000000, 1, 310689185, 24, 0xc743ce346, 440795203123},
	{"arch_sys_counter at 100 MHz", Mask56, 100000000, 1, 167772160, 24, 0x171024e7e0, 440795205315},
	{"riscv and Hyper-V at 10 MHz", Mask64, 10000000, 1, 1677721600, 24, 0x24e6a1710, 440795202120},
	{"powerpc timebase at 512 MHz", Mask64, 512000000, 1, 32768000, 24, 0x761537d007, 440795202126},
}

func TestRegisterReproducesKnownRegistrationLines(t *testing.T) {
	for _, tt := range registered {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Register(tt.freq, tt.scale, tt.mask)
			if err != nil {
				t.Fatal(err)
			}
			want := Conversion{tt.mult, tt.shift, uint32(uint64(tt.mult) * 11 / 100), tt.maxCycles, tt.maxIdle}
			if c != want {
				t.Errorf("Register(%d, %d, %s)\n got %+v\nwant %+v", tt.freq, tt.scale, tt.mask, c, want)
			}
		})
	}
}

func TestTickClocksReproduceKnownRegistrationLines(t *testing.T) {
	tests := []struct {
		clock   string
		hz      int
		mult    uint32
		maxIdle Nanos
	}{
		{"jiffies", 100, 2560000000, 19112604462750000},
		{"jiffies", 250, 1024000000, 7645041785100000},
		{"jiffies", 300, 853333248, 6370867519511994},
		{"jiffies", 1000, 256000000, 1911260446275000},
		{"refined-jiffies", 100, 2560000000, 19112604462750000},
		{"refined-jiffies", 250, 1024064000, 7645519600211568},
		{"refined-jiffies", 300, 853277696, 6370452778343963},
		{"refined-jiffies", 1000, 255961088, 1910969940391419},
	}
	for _, tt := range tests {
		c, ok := Tick(tt.clock, tt.hz)
		if !ok || c.Mult != tt.mult || c.Shift != 8 || c.MaxCycles != 0xffffffff || c.MaxIdle != tt.maxIdle {
			t.Errorf("Tick(%s, %d) = %+v, %v, want mult %d and max_idle %d", tt.clock, tt.hz, c, ok, tt.mult, tt.maxIdle)
		}
		if hz, ok := TickRate(tt.clock, tt.maxIdle); !ok || hz != tt.hz {
			t.Errorf("TickRate(%s, %d) = %d, %v, want %d", tt.clock, tt.maxIdle, hz, ok, tt.hz)
		}
	}
	for _, bad := range []struct {
		clock string
		hz    int
	}{{"tsc", 250}, {"jiffies", 0}, {"jiffies", -1}, {"refined-jiffies", 0}, {"refined-jiffies", 3_000_000}} {
		if c, ok := Tick(bad.clock, bad.hz); ok {
			t.Errorf("Tick(%s, %d) = %+v, want none", bad.clock, bad.hz, c)
		}
	}
	if hz, ok := TickRate("jiffies", 7645519600211568); ok {
		t.Errorf("a value of refined-jiffies was taken for jiffies at %d", hz)
	}
}

func TestTimeOfDayClockBringsItsOwnMult(t *testing.T) {
	c := Given(1000, 12, Mask64)
	if c.MaxCycles != 0x3b0a9be803b0a9 || c.MaxIdle != 1805497147909793 || c.Frequency() != 4_096_000_000 {
		t.Errorf("Given(1000, 12) = %+v at %d Hz", c, c.Frequency())
	}
}

func TestRegisterRejectsWhatHasNoConversion(t *testing.T) {
	tests := []struct {
		name  string
		freq  uint32
		scale Scale
		mask  Mask
		want  string
	}{
		{"frequency 0", 0, 1, Mask64, "give mult and shift"},
		{"scale 0", 1, 0, Mask64, "scale 0"},
		{"scale above a second", 1, 1_000_000_001, Mask64, "scale 1000000001"},
		{"mask 0", 1, 1, 0, "mask 0"},
	}
	for _, tt := range tests {
		if c, err := Register(tt.freq, tt.scale, tt.mask); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %+v, %v, want an error with %q", tt.name, c, err, tt.want)
		}
	}
}

func TestRegistrationKeepsItsInvariants(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		freq := uint32(1) << rnd.UintN(32)
		freq |= rnd.Uint32() & (freq - 1)
		scale := []Scale{1, 1000}[rnd.IntN(2)]
		mask := []Mask{Mask24, Mask32, MaskOf(40), MaskOf(48), Mask56, Mask64}[rnd.IntN(6)]
		checkInvariants(t, freq, scale, mask)
	}
}

func checkInvariants(t *testing.T, freq uint32, scale Scale, mask Mask) {
	t.Helper()
	c, err := Register(freq, scale, mask)
	if err != nil {
		t.Fatal(err)
	}
	if c.MightOverflow() || uint64(c.Mult)+uint64(c.MaxAdj) > math.MaxUint32 {
		t.Errorf("%d*%d Hz, %s: mult %d and 11 %% of it do not fit 32 bits", freq, scale, mask, c.Mult)
	}
	if c.Shift > 32 || c.MaxCycles > Cycles(mask) {
		t.Errorf("%d*%d Hz, %s: shift %d, max_cycles %#x out of range", freq, scale, mask, c.Shift, c.MaxCycles)
	}
	if c.Mult == 0 {
		return
	}
	// The greatest number of cycles converts alike with and without overflow handling, even 11 % up.
	up := c
	up.Mult += up.MaxAdj
	wide := up
	wide.MaxCycles = 0 // always multiply in 96 bits
	if a, b := up.Nanos(c.MaxCycles, Wrapping), wide.Nanos(c.MaxCycles, OverflowSafe); a != b {
		t.Errorf("%d*%d Hz, %s: max_cycles overflows: %d, without overflow %d", freq, scale, mask, a, b)
	}
	if f := float64(freq) * float64(scale); c.Mult > 1<<20 && math.Abs(float64(c.Frequency())-f)/f > 2e-6+1/f {
		t.Errorf("%g Hz, %s: mult %d and shift %d stand for %d Hz", f, mask, c.Mult, c.Shift, c.Frequency())
	}
}

func TestConversionIsMonotoneUpToMaxCycles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, tt := range registered {
		c, err := Register(tt.freq, tt.scale, tt.mask)
		if err != nil {
			t.Fatal(err)
		}
		for range 2000 {
			a := Cycles(rnd.Uint64N(uint64(c.MaxCycles)))
			b := a + Cycles(rnd.Uint64N(uint64(c.MaxCycles-a)+1))
			for _, ar := range []Arithmetic{Wrapping, OverflowSafe} {
				if x, y := c.Nanos(a, ar), c.Nanos(b, ar); x > y || x < 0 {
					t.Fatalf("%s, %s: %d cycles are %d ns, %d cycles are %d ns", tt.name, ar, a, x, b, y)
				}
			}
		}
	}
}

func TestConversionBeyondMaxCyclesWrapsOnlyWhereTheKernelDid(t *testing.T) {
	c, err := Register(2299998, ScaleKHz, Mask64)
	if err != nil {
		t.Fatal(err)
	}
	hour := Cycles(2299998 * 1000 * 3600)
	if got, want := c.Nanos(hour, OverflowSafe), 3600*NanosPerSecond; (got - want).Abs() > Millisecond {
		t.Errorf("an hour is %d ns with wide multiplication, want about %d", got, want)
	}
	// The product needs more than 64 bits: 2^64/2^24 ns, 1100 s, are lost three times.
	if got, want := c.Nanos(hour, Wrapping), 3600*NanosPerSecond-3*(1<<40); (got - want).Abs() > Millisecond {
		t.Errorf("an hour is %d ns with wrapping multiplication, want about %d", got, want)
	}
	if c.Nanos(c.MaxCycles-1, Wrapping) != c.Nanos(c.MaxCycles-1, OverflowSafe) {
		t.Error("the two ways differ below max_cycles")
	}
	zero := Given(1, 0, Mask64)
	if got := zero.Nanos(math.MaxUint64, OverflowSafe); got != -1 {
		t.Errorf("2^64-1 ns are %d, want -1 (the top bit is the sign)", got)
	}
}

func TestIdleLimitBefore41(t *testing.T) {
	// 2343484437+11 % has 32 bits, so 2^31 cycles; the 24 bit mask is the limit.
	cycles, idle := IdleBefore41(2343484437, 23, 257783288, Mask24)
	ns := Nanos(uint64(0xffffff) * uint64(2343484437-257783288) >> 23)
	if cycles != 0xffffff || idle != ns-ns/8 {
		t.Errorf("acpi_pm: %#x cycles and %d ns, want the mask and seven eighths of %d", cycles, idle, ns)
	}
	// 7294448+11 % has 23 bits: 1 << (63-23).
	if cycles, _ := IdleBefore41(7294448, 24, 802389, Mask64); cycles != 1<<40 {
		t.Errorf("tsc: %#x cycles, want 2^40", cycles)
	}
	if cycles, idle := IdleBefore41(0, 8, 0, Mask32); cycles != 0 || idle != 0 {
		t.Errorf("mult 0: %d cycles and %d ns, want none", cycles, idle)
	}
}

func FuzzRegister(f *testing.F) {
	for _, tt := range registered {
		f.Add(tt.freq, uint32(tt.scale), uint64(tt.mask))
	}
	f.Fuzz(func(t *testing.T, freq, scale uint32, mask uint64) {
		c, err := Register(freq, Scale(scale), Mask(mask))
		if err != nil {
			if (c != Conversion{}) {
				t.Fatalf("error %v with %+v", err, c)
			}
			return
		}
		if c.MightOverflow() {
			t.Fatalf("mult %d overflows with 11 %% added", c.Mult)
		}
		if c.Nanos(c.MaxCycles, Wrapping) != c.Nanos(c.MaxCycles, OverflowSafe) {
			t.Fatal("max_cycles overflows")
		}
	})
}
