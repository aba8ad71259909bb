// Package store keeps a campaign of trials in a folder, so that nothing that was
// finished is lost and nothing is counted twice.
//
// [Create] begins a campaign with its plan, [Open] goes on with one, [Read] looks
// at one, also while another process runs it. A trial begins with [Store.Begin]
// and has exactly one outcome: [Store.End] with its files and its result, or
// [Store.Lose] with the reason why there is none. [Verify] checks everything that
// lies in the folder against its sums, and [Rebuild] makes a damaged index anew.
//
// The folder of a trial is its outcome. It appears by a rename when all that is in
// it is on the disk, so it is whole or not there; the index only says in which
// order things went and what each came to, and whatever it lacks Open takes from
// the folders. What was begun and has no outcome is reported as interrupted, and
// is for the caller to give up: the store never lets an id run a second time.
//
// The package knows nothing of what a trial is. It removes no outcome, starts
// nothing, and does not say which trials there should be. What lies in the folder
// is described in docs/campaigns.md.
package store
