// Package trial carries out the trials of a campaign and keeps what they brought.
//
// A [Runner] asks the plan (internal/campaign) what comes next, has an [Executor]
// carry it out, several at a time, and puts files and results into the store
// (internal/store). There are two executors: [QEMU] boots real kernels, and goes on
// from saved states with a TSC that was set forward; [Simulated] boots the machines
// of package sim under the era that a kernel has. Both hand over a kernel log, which
// is judged by the same words.
//
// A [Witness] stands beside a machine in QEMU. It makes the kernel's reads slow as a
// model of the campaign says, and tells from the registers that the kernel read what
// its watchdog then measured.
//
// The package decides nothing about what a trial shows, and prints nothing.
package trial
