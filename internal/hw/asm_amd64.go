package hw

import (
	"runtime"
	"sync"
)

// The counter of this architecture.
const (
	processorCounter = "tsc"
	counterNeeds     = "the instruction RDTSC, which a process may be denied by prctl(PR_SET_TSC)"
	hasAssembly      = true
	hasPorts         = true
)

// readCounter reads the TSC with fences on both sides.
//
//go:noescape
func readCounter() uint64

// readTSCP reads the TSC and the CPU that it belongs to, in one instruction.
// The processor must have RDTSCP: see hasRDTSCP.
//
//go:noescape
func readTSCP() (tsc uint64, aux uint32)

// counterLoop reads the TSC n times (at least once) and returns the first and
// the last value and the smallest difference of two neighbours, all ones where there is none.
//
//go:noescape
func counterLoop(n int) (first, last, minDelta uint64)

// readBackRegister reads a mapped 32 bit register, the TSC, and the register twice more.
//
//go:noescape
func readBackRegister(register *uint32, out *[4]uint64)

// readBackPort does the same with the 32 bit input port.
//
//go:noescape
func readBackPort(port uint16, out *[4]uint64)

// readBackClock does the same with a POSIX clock, by system calls without the
// scheduler's knowledge, since telling it costs more than the clock.
//
//go:noescape
func readBackClock(id int64, out *[7]int64) (errno int64)

//go:noescape
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// hasRDTSCP tells whether the processor has RDTSCP: CPUID 0x80000001, EDX bit
// 27. It is asked once, because in a guest CPUID takes tens of microseconds.
var hasRDTSCP = sync.OnceValue(func() bool {
	if highest, _, _, _ := cpuid(0x80000000, 0); highest < 0x80000001 {
		return false
	}
	_, _, _, d := cpuid(0x80000001, 0)
	return d>>27&1 == 1
})

// readCounterOn returns the counter and the CPU on which it was read, false
// where the processor cannot tell both in one instruction, or the system is not
// Linux, which stores the number of the CPU there.
func readCounterOn() (value uint64, cpu int, ok bool) {
	if runtime.GOOS != "linux" || !hasRDTSCP() {
		return readCounter(), 0, false
	}
	tsc, aux := readTSCP()
	return tsc, int(aux & 0xfff), true
}

// processorHz is the frequency that the counter itself states, 0 for the TSC,
// which states none in a register that programs may read.
func processorHz() uint64 { return 0 }
