package bench

// vdsoSymbol is what the function is called in the vDSO of arm64.
const vdsoSymbol = "__kernel_clock_gettime"

//go:noescape
func cntvctBatch(n int) (sum uint64)

//go:noescape
func barredBatch(n int) (sum uint64)

//go:noescape
func cntvctValues(out *uint64, n int)

//go:noescape
func barredValues(out *uint64, n int)

// orderedInstruction is the one that kernels and vDSOs use: CNTVCT_EL0 alone may be read before
// what is in front of it has finished.
const orderedInstruction = "isb_cntvct"

// instructions are the ways of reading the processor's counter.
func instructions(bool) []instruction {
	return []instruction{
		{"cntvct", cntvctBatch, cntvctValues},
		{orderedInstruction, barredBatch, barredValues},
	}
}
