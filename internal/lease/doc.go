// Package lease borrows the kernel's clocksource: it makes another one current for a
// while and gives the old one back, whatever becomes of the program.
//
// [Take] gets the only lease of a machine, [Lease.Switch] makes a clocksource current and
// reads back whether the kernel did so, and [Lease.Close] gives the first one back. From
// Take to Close a guardian watches, this program started once more in a session of its own: when the
// borrower ends without Close, by a panic, a signal or the death of its whole process group, the guardian
// gives the clocksource back. A record in /run says what was borrowed; where the guardian
// was killed, too, [Recover] finds it at the next start.
//
// A program that calls Take must call [GuardianMain] first thing in main.
//
// Giving back is promised only for a clocksource that the kernel still accepts: the
// name of one that it has condemned is written without an error and changes nothing, which is
// an [IgnoredError]. The package does not judge whether switching could bring that about, and
// does not follow the kernel's log: its callers do.
//
// After Close the kernel remembers the name as its user's choice, as after any write to
// current_clocksource: it does not leave it for a better rated one that is registered later.
package lease
