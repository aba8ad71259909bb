// Package host collects a machine snapshot: what /proc, /sys and a few other
// places say about clocks, processors, the hypervisor and time synchronisation.
//
// It reads the running machine, a folder that is the root of another one, a
// tarball of such a folder, a sosreport (unpacked or not) and what
// cswatch collect wrote. [OpenRoot] recognises which of them a path is,
// [Collect] reads the facts and [Write] makes a redacted archive of exactly
// what Collect reads.
//
// Everything that is read may be hostile: only names on an allow-list are read,
// and what links there lead to; a file counts up to 1 MiB, symbolic links do not
// lead out of the root, and a tarball is never unpacked to disk. It reads as the
// folder would that it was made of: once, and again where links or the order of
// its logs need it.
//
// The package judges nothing; a fact that could not be read is reported with
// its reason and with the way to get it. It does not understand kernel logs
// either: it lists them from the oldest to the newest and hands out readers.
package host
