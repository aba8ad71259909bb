// Package fidelity holds the watchdog of package watchdog against what real
// kernels did, check by check.
//
// A [Boot] is what was seen of one kernel from outside: every value that its
// watchdog read from the HPET ([Check] by [Check], attempt by attempt) and the
// lines of its log. [Frame] makes the checks out of single reads. [Compare] feeds
// our era of that release with the same values and reports where it would have
// read once more or once less, on another CPU, decided otherwise, or printed
// another text. A boot reads and writes as text ([Boot.Append], [ParseBoot]), so
// that the boots of a campaign become the fixtures of a test.
//
// The TSC is not seen. It does not matter for what is compared: how often a check
// reads, whether it accepts, skips, condemns or gives up for the time that
// reading took. Skews are compared elsewhere, from the numbers in the log.
package fidelity
