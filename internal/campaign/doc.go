// Package campaign is the pure part of boot campaigns: what to boot, how often,
// in which order, what each boot came to, and what the counts say.
//
// A [Plan] is a readable file: grids of kernels, parameters, CPUs, loads, read
// delays and faults, and searches for the smallest fault that is noticed. Each
// combination is a [Cell], each boot of it a [Trial], whose id and seed follow
// from the plan alone. [Plan.Next] says which trials are to be carried out next,
// given the results of those that were: in random order within blocks, and under
// the rules by which a cell may stop early.
//
// What was seen of a trial is [Evidence]; [Judge] makes an outcome of it, and
// [Count] a [Tally] for each cell. A boot that came to no verdict, hung or was lost
// is a count of its own, never a stable one.
//
// The package boots nothing and writes no files: internal/trial carries trials
// out, in QEMU or simulated, and internal/store keeps them.
package campaign
