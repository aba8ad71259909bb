package clocksource

import "fmt"

// The periods that kernels accept of an HPET, in femtoseconds.
const (
	HPETMinPeriod = 100_000
	HPETMaxPeriod = 100_000_000
)

// HPETFrequency returns the frequency that the kernel works out from the period
// register: 10^15 divided by the femtoseconds, cut to whole Hz. That is why the
// usual 24 MHz HPET is registered with 23 999 999 Hz. It fails for a period
// outside of what kernels accept.
func HPETFrequency(periodFs uint64) (Hz, error) {
	if periodFs < HPETMinPeriod || periodFs > HPETMaxPeriod {
		return 0, fmt.Errorf("HPET period of %d fs: want %d to %d", periodFs, HPETMinPeriod, HPETMaxPeriod)
	}
	return Hz(1_000_000_000_000_000 / periodFs), nil
}

// Rate is a frequency that a clock is known to have.
type Rate struct {
	Clock string `json:"clock"`
	Hz    Hz     `json:"frequency_hz"`
	Mask  Mask   `json:"-"`
	Name  string `json:"name"`   // what has this rate
	From  string `json:"source"` // why it is believed
}

// Wrap returns the time after which such a counter returns to the same value.
func (r Rate) Wrap() Nanos { return WrapPeriod(r.Mask, r.Hz) }

// KnownRates returns the rates of reference clocks that logs are known to
// carry, the most common ones of each clock first.
func KnownRates() []Rate {
	return []Rate{
		{"acpi_pm", 3_579_545, Mask24, "ACPI PM timer", "fixed by the ACPI specification"},
		{"hpet", 14_318_180, Mask32, "PC chipset HPET, period 69 841 278 fs", "four times the rate of the PM timer; registration lines"},
		{"hpet", 14_318_179, Mask32, "PC chipset HPET, period 69 841 279 fs", "registration lines"},
		{"hpet", 24_000_000, Mask32, "Intel HPET since Skylake, nominal", "chipset crystal"},
		{"hpet", 23_999_999, Mask32, "Intel HPET since Skylake as registered, period 41 666 667 fs", "registration lines"},
		{"hpet", 19_200_000, Mask32, "Intel HPET with a 19.2 MHz crystal", "registration lines"},
		{"hpet", 25_000_000, Mask32, "HPET with a 25 MHz crystal, period 40 ns", "registration lines"},
		{"hpet", 100_000_000, Mask32, "emulated HPET of QEMU, period 10 ns", "registration lines"},
		{"hpet", 16_777_216, Mask32, "emulated HPET of hyperkit", "from memory"},
		{"kvm-clock", 1_000_000_000, Mask64, "paravirtual clock, counts nanoseconds", "registration lines"},
		{"hyperv_clocksource_tsc_page", 10_000_000, Mask64, "Hyper-V reference time, 100 ns", "registration lines"},
		{"hyperv_clocksource_msr", 10_000_000, Mask64, "Hyper-V reference time, 100 ns", "registration lines"},
		{"tod", 4_096_000_000, Mask64, "s390 time-of-day clock, mult 1000 and shift 12", "registration lines"},
	}
}

// RatesOf returns the known rates of the named clock, and none for a clock
// whose rate differs between machines.
func RatesOf(clock string) []Rate {
	var found []Rate
	for _, r := range KnownRates() {
		if r.Clock == clock {
			found = append(found, r)
		}
	}
	return found
}
