package clocksource

import "testing"

func TestDefaultMarginPerEra(t *testing.T) {
	skews := [...]Nanos{50 * Microsecond, 100 * Microsecond, 125 * Microsecond}
	tests := []struct {
		name  string
		freq  uint32
		scale Scale
		want  [3]Nanos
	}{
		{"tsc at 2299.998 MHz", 2299998, 1000, [3]Nanos{100000, 200000, 250000}},
		{"hpet at 24 MHz", 24000000, 1, [3]Nanos{100000, 200000, 250000}},
		{"acpi_pm", 3579545, 1, [3]Nanos{100000, 200000, 250000}},
		{"a clock of 32768 Hz", 32768, 1, [3]Nanos{100000, 200000, 250000}},
		{"a clock of 1000 Hz has a period above twice the skew", 1000, 1, [3]Nanos{1000000, 1000000, 1000000}},
		{"tsc at 4294.968 MHz, where the product wraps", 4294968, 1000, [3]Nanos{1420454, 1420454, 1420454}},
		{"tsc at 5000 MHz", 5000000, 1000, [3]Nanos{100000, 200000, 250000}},
		{"no frequency", 0, 0, [3]Nanos{31250000, 31250000, 31250000}},
		{"a product that wraps to 0", 1 << 29, 1000, [3]Nanos{100000, 200000, 250000}},
	}
	for _, tt := range tests {
		for i, s := range skews {
			if got := DefaultMargin(tt.freq, tt.scale, s); got != tt.want[i] {
				t.Errorf("%s, skew %d: margin %d, want %d", tt.name, s, got, tt.want[i])
			}
		}
	}
}

func TestDriversThatBringTheirOwnMargin(t *testing.T) {
	for name, want := range map[string]Nanos{
		"tsc-early": 32_000_000, "jiffies": 32_000_000, "refined-jiffies": 32_000_000, "tsc": 250_000, "hpet": 250_000,
	} {
		if got := MarginFor(name, 2299998, ScaleKHz, 125*Microsecond); got != want {
			t.Errorf("margin of %s is %d, want %d", name, got, want)
		}
	}
}

func TestAutoRetries(t *testing.T) {
	for cpus, want := range map[int]int{
		-1: 1, 0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 8: 2, 15: 2, 16: 3, 63: 3, 64: 4, 255: 4, 256: 5,
		896: 5, 1023: 5, 1024: 6, 1920: 6, 4095: 6, 4096: 7, 16383: 7,
	} {
		if got := AutoRetries(cpus); got != want {
			t.Errorf("%d CPUs: %d retries, want %d", cpus, got, want)
		}
	}
}

func TestHPETFrequencyIsCutToWholeHz(t *testing.T) {
	for period, want := range map[uint64]Hz{41666667: 23999999, 69841279: 14318179, 69841278: 14318180, 10_000_000: 100_000_000, 40_000_000: 25_000_000} {
		if got, err := HPETFrequency(period); err != nil || got != want {
			t.Errorf("period %d fs: %d Hz, %v, want %d", period, got, err, want)
		}
	}
	for _, period := range []uint64{0, 99_999, 100_000_001} {
		if got, err := HPETFrequency(period); err == nil {
			t.Errorf("period %d fs was accepted as %d Hz", period, got)
		}
	}
}

func TestUnits(t *testing.T) {
	if got := Cycles(16777216).At(3579545); got != 4686968874 {
		t.Errorf("2^24 cycles of the PM timer take %d ns", got)
	}
	if got := Cycles(1 << 63).At(1); got != 1<<63-1 {
		t.Errorf("a span that does not fit is %d, want the greatest", got)
	}
	if got := Hz(24_000_000).CyclesIn(500 * Millisecond); got != 12_000_000 {
		t.Errorf("half a second has %d cycles", got)
	}
	if got := Hz(24_000_000).CyclesIn(-1); got != 0 {
		t.Errorf("a negative span has %d cycles", got)
	}
	if got := Hz(1 << 63).CyclesIn(1 << 62); got != 1<<64-1 {
		t.Errorf("cycles that do not fit are %d", got)
	}
	if p, ok := Ratio(667612, 14524115132); !ok || p < 45.9 || p > 46.0 {
		t.Errorf("ratio %v ppm, %v", p, ok)
	}
	if _, ok := Ratio(1, 0); ok {
		t.Error("a rate was told from no interval")
	}
	if p, ok := Deviation(1_000_500, 1_000_000); !ok || p != 500 {
		t.Errorf("deviation %v ppm, %v", p, ok)
	}
	if _, ok := Deviation(1, 0); ok {
		t.Error("a deviation from 0 Hz was told")
	}
	if got := Nanos(-1 << 63).Abs(); got != 1<<63-1 {
		t.Errorf("magnitude of the most negative value is %d", got)
	}
}
