package hw

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
)

const hpetPath = "/dev/hpet"

// Registers of an HPET, by offset in bytes (IA-PC HPET specification 1.0a, 2.3).
const (
	hpetCapabilities = 0x00
	hpetPeriod       = 0x04 // femtoseconds
	hpetConfig       = 0x10 // bit 0: the counter runs
	hpetCounter      = 0xf0
	hpetSpan         = 0x400 // the block of registers
)

// HPETRegisters are the registers of an HPET that say what it is.
type HPETRegisters struct {
	Capabilities uint32 `json:"capabilities"`
	PeriodFs     uint32 `json:"period_fs"` // femtoseconds per cycle
	Config       uint32 `json:"config"`
}

// Revision returns the revision of the device; 0 is none.
func (r HPETRegisters) Revision() int { return int(r.Capabilities & 0xff) }

// Comparators returns how many comparators there are.
func (r HPETRegisters) Comparators() int { return int(r.Capabilities>>8&0x1f) + 1 }

// Wide reports a counter of 64 bits. Linux and this package use the lower 32 of it.
func (r HPETRegisters) Wide() bool { return r.Capabilities>>13&1 == 1 }

// Enabled reports that the counter is switched on.
func (r HPETRegisters) Enabled() bool { return r.Config&1 == 1 }

// check returns the counter that the registers describe, or why it is of no use.
func (r HPETRegisters) check() (Counter, *NotHere) {
	hz, err := clocksource.HPETFrequency(uint64(r.PeriodFs))
	switch {
	case r.Capabilities == 0xffffffff || r.Revision() == 0:
		return Counter{}, &NotHere{What: HPET, Reason: fmt.Sprintf("the registers behind %s are not those of an HPET: capabilities %#x", hpetPath, r.Capabilities)}
	case err != nil:
		return Counter{}, &NotHere{What: HPET, Reason: "its period register is not believable: " + err.Error()}
	case !r.Enabled():
		return Counter{}, &NotHere{What: HPET, Reason: fmt.Sprintf("its counter is switched off: configuration register %#x", r.Config),
			Remedy: "it is switched on by a kernel that uses it: boot without hpet=disable"}
	}
	width := 32
	if r.Wide() {
		width = 64
	}
	return Counter{
		Name: HPET, Hz: hz, Mask: clocksource.Mask32,
		From: fmt.Sprintf("%s, mapped read-only: %d comparators, counter of %d bits, period %d fs", hpetPath, r.Comparators(), width, r.PeriodFs),
	}, nil
}
