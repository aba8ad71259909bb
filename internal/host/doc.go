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
// a file counts up to 1 MiB, symbolic links do not lead out of the root, and a
// tarball is read in one pass and never unpacked to disk.
//
// The package judges nothing; a fact that could not be read is reported with
// its reason and with the way to get it. It does not read kernel logs either:
// it lists them and hands out readers.
package host
