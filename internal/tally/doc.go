// Package tally keeps count of a machine's clocks: what its kernel logged of them in this boot,
// what a watchdog over the live counters saw, what a read costs, and what the doctor makes of it.
//
// A [Tally] takes events, readings of sysfs, read-backs, prices and diagnoses, each with its
// [Moment], and gives a [View], a copy for whoever shows it. What has to outlive the program
// is its [State], plain data for a file: kernel records are numbered, and a tally that is
// restored goes on behind the last one that it took, so that nothing is counted twice.
//
// Everything is of one boot and bounded, however long the machine runs and whatever it logs: of each kind
// of event the first and the last ones are kept, of the timeline the last of each kind, of the
// history the last hours.
//
// The package is pure: it reads nothing, knows no time but what it is told, and is not for
// several goroutines at once.
package tally
