// Package qemu boots a Linux kernel in QEMU with one program inside, and brings
// back the kernel's log and what the program saw.
//
// A [Spec] is what to boot: plain data that can be stored and compared. A
// [Config] is where things are on this machine: QEMU, the guest program, the
// cache. [Config.Boot] puts the two together and returns a [Result], whose
// [Outcome] tells a trial that was carried out from a kernel that panicked, hung
// or never came up; an error means that nothing could be booted at all, and an
// [*UnavailableError] in it that something is not installed here. [Config.Start]
// does the same while the caller talks to the machine over QMP.
//
// A distribution's compressed kernel is unpacked first, once, into the cache: an
// emulated processor spends more time on that than on the rest of the boot. The
// console comes back from the first serial port, records of internal/guest from
// the second, with what the plan's load did and the files that it fetches. Every
// boot has a time limit, and what QEMU started is killed with it.
//
// [Machine.Save] writes the state of a machine to a file, and a Spec with that file
// in From goes on from it as often as wanted: one boot for hundreds of trials. Steps
// make its TSC wrong by a known amount (internal/qemu/snapshot). The guest does not
// notice: it goes on with the plan and the window that it had, and its records
// begin in the middle.
//
// The package interprets nothing: klog reads the log, and the boot campaign
// decides what a trial shows. It downloads nothing either: scripts/fetch-kernels
// fills the cache.
package qemu
