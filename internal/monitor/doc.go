// Package monitor keeps a tally of this machine's clocks for as long as it runs.
//
// [New] takes [Sources], which are the machine's own or a test's, and goes on with the state that an earlier run
// of the same boot left. [Monitor.Run] then looks back over what the boot has logged and follows the kernel's log,
// looks at sysfs, runs a watchdog over the live counters in short bursts, samples what a read of the clock costs, lets
// the doctor judge all of it whenever something changes, keeps the state, and offers what is worth telling to [Hook]s.
// [Monitor.View] is a copy of everything, for metrics and pages.
//
// Nothing that goes wrong ends it: what cannot be read is said in the log once, is a failed collector in
// the view, and is tried again with growing pauses.
//
// The package serves nothing over a network, and changes nothing on the machine but its own state file.
package monitor
