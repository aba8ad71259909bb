// Package evidence gathers what internal/doctor judges: it opens logs, reads a
// machine's snapshot from a root folder, an archive or the running machine, and
// measures what a clock read costs. A [LiveRun] watches the machine's counters for a while
// by the rules of an era (package live), and tells read-backs that were late because
// of what happened to the program from those that a kernel would have seen.
//
// It decides nothing. What could not be got is in the evidence as unreadable,
// with the remedy; only an input that the user named and that cannot be opened
// at all is an error.
package evidence
