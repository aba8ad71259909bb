// Package reenact lets our watchdog come to a verdict that a real kernel came
// to, and holds its words against the kernel's.
//
// [Log] takes the text of a kernel log. It registers the clocks that the log
// registers, starts the watchdog of the kernel's era on a machine that reads the
// counter values of the verdict, and lets the registry go through what follows.
// Every line of the log that tells of clocks being registered, switched or
// condemned must then be one that we print, to the byte behind its stamp.
//
// What happens when, and on which CPU, is taken from the log, and so are the
// frequencies that it prints, the counter values, the numbers of sched_clock and what
// the check across CPUs measured. Everything else is ours: conversions, margins,
// limits, which clock is the reference, which is current, the verdict, the intervals
// and the skew in nanoseconds, the marks, the next clock, and the words of the release.
// From 7.1 on a log has no counter values: ours are then those that make the printed nanoseconds.
//
// Verdicts for latency and for the order of CPUs are not reenacted.
//
// The package opens no files and boots no kernels: package qemu's tests hand it
// the logs of live guests.
package reenact
