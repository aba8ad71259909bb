package clocksource

// Tick clocks count timer interrupts. They are registered without a frequency,
// with a shift of 8 and a mask of 32 bits.
const (
	TickShift uint32 = 8
	TickMask  Mask   = Mask32
	// PITHz is the rate of the legacy timer that refined-jiffies is derived from.
	PITHz Hz = 1_193_182
)

// TickRates are the HZ values that kernels are built with, the usual ones first.
func TickRates() []int {
	return []int{250, 1000, 100, 300, 1024, 128, 256, 512, 200, 500, 1200, 24, 32, 48, 64, 50}
}

// JiffiesMult returns the multiplier of the clock "jiffies"; 0 where hz is not positive.
func JiffiesMult(hz int) uint32 {
	if hz <= 0 {
		return 0
	}
	h := uint64(hz)
	return uint32((uint64(NanosPerSecond) + h/2) / h << TickShift)
}

// RefinedJiffiesMult returns the multiplier of the clock "refined-jiffies",
// whose tick is a whole number of cycles of the timer at pit Hz; 0 where the
// tick would be shorter than a cycle.
func RefinedJiffiesMult(hz int, pit Hz) uint32 {
	if hz <= 0 {
		return 0
	}
	h, p := uint64(hz), uint64(pit)
	perTick := (p + h/2) / h
	if perTick == 0 {
		return 0
	}
	shifted := (p<<8 + perTick/2) / perTick
	if shifted == 0 {
		return 0
	}
	ns := (uint64(NanosPerSecond)<<8 + shifted/2) / shifted
	return uint32(ns) << TickShift
}

// Tick returns the conversion of the clock "jiffies" or "refined-jiffies" at
// hz ticks a second; false for another name or a rate without one.
func Tick(name string, hz int) (Conversion, bool) {
	var mult uint32
	switch name {
	case "jiffies":
		mult = JiffiesMult(hz)
	case "refined-jiffies":
		mult = RefinedJiffiesMult(hz, PITHz)
	}
	if mult == 0 {
		return Conversion{}, false
	}
	return Given(mult, TickShift, TickMask), true
}

// TickRate returns the HZ of the kernel that printed this max_idle_ns for
// "jiffies" or "refined-jiffies", and false where no usual HZ gives that value.
func TickRate(name string, maxIdle Nanos) (int, bool) {
	for _, hz := range TickRates() {
		if c, ok := Tick(name, hz); ok && c.MaxIdle == maxIdle {
			return hz, true
		}
	}
	return 0, false
}
