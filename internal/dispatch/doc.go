// Package dispatch runs numbered pieces of work on several goroutines, and keeps
// what is finished, so that a run that was stopped goes on where it was.
//
// [Run] hands the results over in the order of their numbers, whatever the number
// of jobs and whichever piece is done first: who adds them up gets the same to the
// last bit. A run that is cancelled hands over the pieces that are whole and have no gap
// before them. A [Ledger] is a file of finished pieces; a [Meter] tells how much
// time a run still needs.
//
// The package knows nothing of what a piece is, retries nothing, and works on one
// machine only.
package dispatch
