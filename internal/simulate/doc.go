// Package simulate runs cells of package sim in numbers: grids of machines, eras,
// retries, CPUs and faults, and searches for the smallest fault that is found.
//
// A [Spec] is one cell. [Runner.Cells] cuts the boots of all cells into pieces of a
// size that depends on nothing but the number of boots, has package dispatch do them,
// and adds them up: the same seed gives the same result for any number of jobs, and
// after any interruption. [DetectionOf] and [QuantileOf] make estimates with
// intervals of a tally.
//
// What a boot is and how it is counted is in package sim; how results are shown, in
// internal/report. The package reads no flags and writes no text.
package simulate
