package hw

// The counter of this architecture.
const (
	processorCounter = "arch_sys_counter"
	counterNeeds     = "the register CNTVCT_EL0, which Linux opens to programs or answers for"
	hasAssembly      = true
	hasPorts         = false
)

// readCounter reads the virtual counter with barriers on both sides.
//
//go:noescape
func readCounter() uint64

// counterFrequency reads the rate in Hz that firmware states in CNTFRQ_EL0.
//
//go:noescape
func counterFrequency() uint64

// counterLoop reads the counter n times (at least once) and returns the first
// and the last value and the smallest difference of two neighbours, all ones where there is none.
//
//go:noescape
func counterLoop(n int) (first, last, minDelta uint64)

// readBackRegister reads a mapped 32 bit register, the counter, and the register twice more.
//
//go:noescape
func readBackRegister(register *uint32, out *[4]uint64)

// readBackClock does the same with a POSIX clock, by system calls without the
// scheduler's knowledge, since telling it costs more than the clock.
//
//go:noescape
func readBackClock(id int64, out *[7]int64) (errno int64)

// readBackPort is never called: there are no ports.
func readBackPort(uint16, *[4]uint64) {}

// cpuid answers nothing: there is no such instruction.
func cpuid(uint32, uint32) (a, b, c, d uint32) { return 0, 0, 0, 0 }

func readCounterOn() (value uint64, cpu int, ok bool) { return readCounter(), 0, false }

func processorHz() uint64 { return counterFrequency() }
