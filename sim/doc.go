// Package sim is a machine with clocks and disturbances, on which the watchdog
// of package watchdog runs unchanged: what it decides changes what happens next.
//
// A [Model] says what the machine is: its CPUs, the reference and what reading it
// costs, and the processes that disturb it, such as episodes of slow reads or
// interrupts of the firmware. Models are text ([Parse]); some come with the
// package ([Builtin]). A [Cell] is a model under one era, with a number of retries and,
// where a detection is asked for, a [Fault] of the TSC. A [Runner] carries out boots
// of a cell, and a [Tally] counts them.
//
// Time is in whole nanoseconds. Random numbers are a function of the seed, the
// number of the boot, the process that uses them and their index, so that a boot is the same
// in whatever order boots are simulated, under every era, and however many
// of its checks are passed over because nothing can come of them: [Runner.Plain]
// makes them all and gives the same results.
//
// The package makes no plans, draws no curves and knows no intervals: those stand
// on top of it. What the model leaves out is in docs/simulation.md.
package sim
