package hw

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Places that name the port of the ACPI PM timer.
const (
	fadtPath    = "/sys/firmware/acpi/tables/FACP"
	ioportsPath = "/proc/ioports"
)

// Offsets in the table FADT, signature FACP (ACPI specification 6.5, 5.2.9).
const (
	fadtPMTimerBlock   = 76  // 32 bit port
	fadtPMTimerLength  = 91  // 4 where there is a timer
	fadtFlags          = 112 // bit 20: hardware-reduced ACPI
	fadtExtPMTimer     = 208 // generic address: space, width, offset, size, 64 bit address
	fadtExtPMTimerAddr = 212
	fadtEnd            = 220
	hardwareReduced    = 1 << 20
	spaceMemory        = 0
	spacePort          = 1
)

// pmTimerPort returns the port of the PM timer that the FADT names. It returns
// a *NotHere where the table says that there is none, another error where it is no such table.
func pmTimerPort(table []byte) (uint16, error) {
	if len(table) < fadtPMTimerLength+1 || string(table[:4]) != "FACP" {
		return 0, fmt.Errorf("read the port of the PM timer from %s: not a FADT: %d bytes", fadtPath, len(table))
	}
	le := binary.LittleEndian
	if len(table) >= fadtFlags+4 && le.Uint32(table[fadtFlags:])&hardwareReduced != 0 {
		return 0, &NotHere{What: ACPIPM, Reason: "the firmware declares hardware-reduced ACPI, which has no PM timer (" + fadtPath + ", flag 20)"}
	}
	port := uint64(le.Uint32(table[fadtPMTimerBlock:]))
	if table[fadtPMTimerLength] != 4 {
		port = 0
	}
	// The 64 bit address, where there is one, comes first: ACPI 2.0 and later.
	if len(table) >= fadtEnd {
		if address := le.Uint64(table[fadtExtPMTimerAddr:]); address != 0 {
			switch table[fadtExtPMTimer] {
			case spacePort:
				port = address
			case spaceMemory:
				return 0, &NotHere{What: ACPIPM, Reason: "the firmware puts the PM timer into memory, where no program can map it read-only"}
			}
		}
	}
	switch {
	case port == 0:
		return 0, &NotHere{What: ACPIPM, Reason: "the firmware names no PM timer (" + fadtPath + ")"}
	case port > 0xfffc:
		return 0, fmt.Errorf("read the port of the PM timer from %s: %#x is no I/O port", fadtPath, port)
	}
	return uint16(port), nil
}

// pmTimerIOPorts finds the PM timer in the text of /proc/ioports, false where it is not named.
// Without privilege every address in it is 0.
func pmTimerIOPorts(text string) (port uint16, ok bool) {
	for line := range strings.Lines(text) {
		ports, name, found := strings.Cut(strings.TrimSpace(line), " : ")
		if !found || name != "ACPI PM_TMR" {
			continue
		}
		first, _, _ := strings.Cut(ports, "-")
		n, err := strconv.ParseUint(first, 16, 16)
		if err == nil && n != 0 && n <= 0xfffc {
			return uint16(n), true
		}
	}
	return 0, false
}
