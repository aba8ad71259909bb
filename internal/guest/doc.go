// Package guest is the program that runs as process 1 inside a virtual machine,
// and the two vocabularies in which it and its host talk.
//
// A [Plan] travels inwards as words of the kernel command line. [Record] values
// travel outwards as JSON Lines on the second serial port: a hello, every record
// of the kernel log, every change of the clocksource, the output of a program if
// the plan runs one, what its load did (internal/load), the files that it fetches
// in parts, and an end. Both are plain values that any platform can read and write;
// only [Main] needs Linux.
//
// The package does not start virtual machines (internal/qemu does) and does not
// judge what it sees: it ends a trial early when klog recognises one of the
// events that the plan names, and for no other reason.
package guest
