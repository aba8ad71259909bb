package clocksource

import (
	"math"
	"testing"
)

func TestDeltaRulesAtTheEdgesOfEachWidth(t *testing.T) {
	for _, width := range []int{24, 32, 56, 64} {
		mask := MaskOf(width)
		half := Cycles(1) << uint(width-1)
		seven := Cycles(mask>>1 + mask>>2 + mask>>3)
		signedHalf := half // a signed 64 bit reading only bites at full width
		if width == 64 {
			signedHalf = 0
		}
		tests := []struct {
			name                        string
			last, now                   Cycles
			plain, signed, topBit, want Cycles
		}{
			{"no motion", 5, 5, 0, 0, 0, 0},
			{"one cycle", 5, 6, 1, 1, 1, 1},
			{"wrap exactly once to the same value", 5, (5 + Cycles(mask) + 1) & Cycles(mask), 0, 0, 0, 0},
			{"across the end of the range", Cycles(mask), 2, 3, 3, 3, 3},
			{"one below half", 7, (7 + half - 1) & Cycles(mask), half - 1, half - 1, half - 1, half - 1},
			{"exactly half", 7, (7 + half) & Cycles(mask), half, signedHalf, 0, half},
			{"seven eighths", 7, (7 + seven) & Cycles(mask), seven, ifWide(width, 0, seven), 0, seven},
			{"one above seven eighths", 7, (7 + seven + 1) & Cycles(mask), seven + 1, ifWide(width, 0, seven+1), 0, 0},
			{"one cycle back", 7, 6, Cycles(mask), ifWide(width, 0, Cycles(mask)), 0, 0},
		}
		for _, tt := range tests {
			for _, rule := range []struct {
				r    DeltaRule
				want Cycles
			}{{DeltaPlain, tt.plain}, {DeltaSigned, tt.signed}, {DeltaTopBit, tt.topBit}, {DeltaMaxRaw, tt.want}} {
				got := rule.r.Delta(tt.last, tt.now, mask)
				if got != rule.want {
					t.Errorf("%d bits, %s, rule %s: delta %#x, want %#x", width, tt.name, rule.r, got, rule.want)
				}
				if clamped := rule.r.Clamped(tt.last, tt.now, mask); clamped != (got != tt.plain) {
					t.Errorf("%d bits, %s, rule %s: clamped is %v", width, tt.name, rule.r, clamped)
				}
			}
		}
	}
}

func ifWide(width int, wide, narrow Cycles) Cycles {
	if width == 64 {
		return wide
	}
	return narrow
}

func TestDeltaIgnoresBitsAboveTheMask(t *testing.T) {
	if got := DeltaPlain.Delta(0xab_fffffe, 0x12_000001, Mask24); got != 3 {
		t.Errorf("delta %d, want 3", got)
	}
}

func TestDeltaRuleNamesReadBack(t *testing.T) {
	for r := DeltaPlain; r <= DeltaMaxRaw; r++ {
		b, err := r.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back DeltaRule
		if err := back.UnmarshalText(b); err != nil || back != r {
			t.Errorf("%s reads back as %s, %v", r, back, err)
		}
	}
	if _, err := DeltaRule(9).MarshalText(); err == nil {
		t.Error("an unknown rule was written")
	}
	var r DeltaRule
	if err := r.UnmarshalText([]byte("mod 7")); err == nil {
		t.Error("an unknown name was read")
	}
}

func TestMasks(t *testing.T) {
	for _, tt := range []struct {
		width int
		want  Mask
	}{{-1, 0}, {0, 0}, {1, 1}, {24, Mask24}, {32, Mask32}, {56, Mask56}, {64, Mask64}, {99, Mask64}} {
		m := MaskOf(tt.width)
		if m != tt.want {
			t.Errorf("MaskOf(%d) = %s, want %s", tt.width, m, tt.want)
		}
		if tt.width > 0 && tt.width <= 64 && (m.Width() != tt.width || !m.Valid() || m.TopBit() != 1<<uint(tt.width-1)) {
			t.Errorf("%s: width %d, valid %v, top bit %#x", m, m.Width(), m.Valid(), m.TopBit())
		}
	}
	for _, m := range []Mask{0, 2, 0xfffffe, 0xf0} {
		if m.Valid() {
			t.Errorf("%s counts as a mask", m)
		}
	}
	if Mask(0).TopBit() != 0 {
		t.Error("mask 0 has a top bit")
	}
	if got := Mask24.MaxRawDelta(); got != 0x7fffff+0x3fffff+0x1fffff {
		t.Errorf("max raw delta of 24 bits is %#x", got)
	}
}

func TestWrapPeriod(t *testing.T) {
	tests := []struct {
		name string
		mask Mask
		hz   Hz
		want Nanos
	}{
		{"acpi_pm", Mask24, 3579545, 4686968874},
		{"hpet at 24 MHz", Mask32, 24000000, 178956970666},
		{"hpet of QEMU", Mask32, 100000000, 42949672960},
		{"no frequency", Mask32, 0, math.MaxInt64},
		{"64 bits at 1 GHz do not fit", Mask64, 1000000000, math.MaxInt64},
		{"64 bits at 4 GHz", Mask64, 4000000000, 4611686018427387904},
		{"no counter", 0, 1, 0},
	}
	for _, tt := range tests {
		if got := WrapPeriod(tt.mask, tt.hz); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
