// Package kmsg opens kernel logs: files, standard input, and the log of the
// running machine.
//
// [Config.OpenLog] opens a file that may be compressed. [ReadBuffer] reads what the
// kernel's ring buffer holds now, from /dev/kmsg or, where that is not allowed,
// from the journal. Both deliver text for package klog and say where it comes
// from and whether it is whole. [Config.Follow] tells what the kernel logs from then on, to
// who asks now and then, and [Config.Tail] delivers it from a record's number on, with what was
// lost in between, to who waits for it.
//
// The package does not interpret records.
package kmsg
