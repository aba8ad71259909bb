package bench

// vdsoSymbol is what the function is called in the vDSO of x86-64.
const vdsoSymbol = "__vdso_clock_gettime"

//go:noescape
func rdtscBatch(n int) (sum uint64)

//go:noescape
func fencedBatch(n int) (sum uint64)

//go:noescape
func rdtscpBatch(n int) (sum uint64)

//go:noescape
func rdtscValues(out *uint64, n int)

//go:noescape
func fencedValues(out *uint64, n int)

//go:noescape
func rdtscpValues(out *uint64, n int)

// orderedInstruction is the one that kernels and vDSOs use: RDTSC alone may run before what
// is in front of it has finished.
const orderedInstruction = "lfence_rdtsc"

// instructions are the ways of reading the processor's counter. Hypervisors can hide RDTSCP.
func instructions(hasRDTSCP bool) []instruction {
	ways := []instruction{
		{"rdtsc", rdtscBatch, rdtscValues},
		{orderedInstruction, fencedBatch, fencedValues},
	}
	if hasRDTSCP {
		ways = append(ways, instruction{"rdtscp", rdtscpBatch, rdtscpValues})
	}
	return ways
}
