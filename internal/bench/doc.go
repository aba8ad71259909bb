// Package bench measures what reading a clock costs on this machine.
//
// [Run] carries a [Plan] out and returns a [Result]: what one read takes by each [Way]
// ([CostOf] batches of reads), which [Route] the kernel really offers, how the clocks go from one read to
// the next ([Steps]: resolution, a histogram of single reads, steps back), whether they go
// backwards from one CPU to another ([Crossing]), and what a read takes while 1, 2, 4 ... all CPUs
// read at once ([Crowd]). Counters that a watchdog may be reading (HPET, ACPI PM timer) and PTP
// clocks are read by package hw at a watchdog's pace, unless the plan accepts the loss of the TSC; the
// same holds for the system clock where the kernel reads it through one of them.
//
// # How the vDSO is called
//
// Go programs get the time from the vDSO through the runtime, which saves its state and
// changes to another stack around each call: time.Since takes 5 ns more than a C program's
// clock_gettime, a third of the whole. That price is measured as what it is, under the
// names time.Now and time.Since. For the path vdso the function is looked up in the image that
// the kernel has mapped and called from a loop in assembly. Two things make that safe:
//
//   - C needs more stack than a goroutine has. The loop's frame is 64 KiB, which the check at its
//     beginning lets the stack grow to, and C runs inside that frame. Nothing moves the stack meanwhile, because
//     Go stops a goroutine only where it finds Go code.
//   - Go's signal handlers must not find C code that the runtime has not called (on arm64 they
//     could not find the goroutine). So the thread's signals are blocked during a batch, which also keeps
//     preemption and profiling out of the measurement.
//
// The processor's counter and the system call are read in such loops, too, which is how
// the figures agree with those of a C program: BenchmarkAgainstC compares them in pairs.
//
// The package switches no clocksource, reads no kernel log, loads no network, and does not know which
// kernels condemn a TSC for latency: its caller does.
package bench
