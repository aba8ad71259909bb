package clocksource

import (
	"fmt"
	"strconv"
	"strings"
)

// Flags are the properties that a driver gives a clocksource, and the state
// that the framework and the watchdog keep of it. The values are the kernel's.
type Flags uint32

// Flags that drivers set.
const (
	// IsContinuous: the counter runs freely. High resolution timers need it.
	IsContinuous Flags = 0x01
	// MustVerify: the clock is watched, and is never a reference itself.
	MustVerify Flags = 0x02
	// Calibrated: the frequency is trusted, so that 7.1 and later hold it to 488 ppm, not to 3906.
	Calibrated Flags = 0x04
	// SuspendNonstop: the counter keeps counting while the machine sleeps.
	SuspendNonstop Flags = 0x80
	// VerifyPerCPU: after a verdict on the current clock its CPUs are compared,
	// 5.14 to 7.0 and 5.10.50. From 7.1 on the bit means that the clock can be
	// read in line, which is not modelled.
	VerifyPerCPU Flags = 0x200
	// CoupledClockEvent: the clock drives a timer of the same counter, 7.1 and later.
	CoupledClockEvent Flags = 0x400
	// WDTest: a clock of the kernel's own watchdog test, 7.1 and later. It is never selected.
	WDTest Flags = 0x800
	// WDTestPerCPU: that test compares CPUs, 7.1 and later.
	WDTestPerCPU Flags = 0x1000
)

// Flags that the framework and the watchdog set and clear.
const (
	// Watchdog: the saved pair of the last check is valid.
	Watchdog Flags = 0x10
	// ValidForHRES: the clock may be used in oneshot mode (high resolution or nohz).
	ValidForHRES Flags = 0x20
	// Unstable: condemned. The bit exists from 2.6.31 on; registries of older
	// releases keep it all the same, so that a verdict can be asked for.
	Unstable Flags = 0x40
	// Reselect: the thread is to select again, 3.11 and later.
	Reselect Flags = 0x100
)

// flagNames lists the names in the order of the bits.
func flagNames() []struct {
	bit  Flags
	name string
} {
	return []struct {
		bit  Flags
		name string
	}{
		{IsContinuous, "IS_CONTINUOUS"}, {MustVerify, "MUST_VERIFY"}, {Calibrated, "CALIBRATED"},
		{Watchdog, "WATCHDOG"}, {ValidForHRES, "VALID_FOR_HRES"}, {Unstable, "UNSTABLE"},
		{SuspendNonstop, "SUSPEND_NONSTOP"}, {Reselect, "RESELECT"}, {VerifyPerCPU, "VERIFY_PERCPU"},
		{CoupledClockEvent, "HAS_COUPLED_CLOCK_EVENT"}, {WDTest, "WDTEST"}, {WDTestPerCPU, "WDTEST_PERCPU"},
	}
}

// Has reports whether all of the given flags are set.
func (f Flags) Has(want Flags) bool { return f&want == want }

// String returns the names joined by "|", with bits that have none as one
// hexadecimal number, and "0" for no flag.
func (f Flags) String() string {
	if f == 0 {
		return "0"
	}
	var names []string
	for _, n := range flagNames() {
		if f.Has(n.bit) {
			names = append(names, n.name)
			f &^= n.bit
		}
	}
	if f != 0 {
		names = append(names, fmt.Sprintf("%#x", uint32(f)))
	}
	return strings.Join(names, "|")
}

// ParseFlags reads what [Flags.String] writes.
func ParseFlags(s string) (Flags, error) {
	var f Flags
	for _, word := range strings.Split(s, "|") {
		bit, err := parseFlag(word)
		if err != nil {
			return 0, fmt.Errorf("clocksource flags %q: %w", s, err)
		}
		f |= bit
	}
	return f, nil
}

func parseFlag(word string) (Flags, error) {
	for _, n := range flagNames() {
		if word == n.name {
			return n.bit, nil
		}
	}
	bits, err := strconv.ParseUint(word, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no flag: want names such as MUST_VERIFY joined by |, or a number", word)
	}
	return Flags(bits), nil
}

// MarshalText writes the names.
func (f Flags) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads the names.
func (f *Flags) UnmarshalText(b []byte) error {
	parsed, err := ParseFlags(string(b))
	if err == nil {
		*f = parsed
	}
	return err
}
