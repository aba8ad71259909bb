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
// the second. Every boot has a time limit, and what QEMU started is killed with it.
//
// The package interprets nothing: klog reads the log, and the boot campaign
// decides what a trial shows. It downloads nothing either: scripts/fetch-kernels
// fills the cache.
package qemu
