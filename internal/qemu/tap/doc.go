// Package tap hears from outside what a kernel in QEMU reads, and holds its
// processor where that is wanted.
//
// QEMU writes a line for every read of a device's register, with the value that
// the guest gets, and a dump of the registers whenever one of the named functions
// begins. A [Tap] is the pipe that QEMU writes this into. The reads of the HPET's
// counter come out as [Read] values, in order; nothing in the guest knows of it,
// and no part of the guest is changed.
//
// The pipe takes one page. A processor that begins the function stops in the
// dump as soon as the page is full, and goes on when the page is read: so the
// tap makes a read of the HPET slow by not reading for a while, for a time that a
// [Model] draws. What the guest measures is longer than that by what it takes to
// wake up on both sides; the values in the reads tell how long it was in truth.
//
// Both are features of QEMU with TCG. A kernel with an unknown layout needs one
// boot to find the function's address (guest.Plan.Symbols, with nokaslr).
package tap
