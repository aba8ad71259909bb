// Package journal keeps a file of lines that only grows, so that what was written
// to it outlives the process, a full disk and a failure of the machine.
//
// [Read] hands over the lines that are whole and tells where they end; [Continue]
// takes away what follows them and appends. A line is appended whole or not at
// all: one that a full disk cut short is taken away again. [Lock] keeps a second
// process out, and [SyncFolder] sees to it that a new file is found again.
//
// The package knows nothing of what a line says. Reading needs no lock: who reads
// while another process writes sees a last line that is not whole yet.
package journal
