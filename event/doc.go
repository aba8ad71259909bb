// Package event is the vocabulary of what a log can say about a clocksource.
//
// An [Event] is one thing that one line of kernel text (or, for a few kinds, of
// a time daemon) says: a clocksource was registered, a read-back was too slow,
// a clock was condemned, the kernel switched clocks. Every number is optional,
// because kernel text leaves out, rounds or cuts numbers, and each event names
// the place that it was read from. [Collect] assembles the lines that one
// decision of the watchdog printed into an [Incident].
//
// The package holds data only. It does not parse (package klog does), does not
// judge (internal/doctor does) and touches neither files nor clocks.
package event
