// Package doctor turns evidence into findings and findings into advice.
//
// Evidence is what a machine says of itself (package machine), what its kernel
// log says (package event) and what was measured: the price of a clock read, and
// what a watchdog over the live counters saw ([Live]). [Examine] answers: does the
// kernel still trust the TSC, was the kernel right, what does that cost, what is
// the cure, and what is missing to decide. The rules work on the arithmetic of
// the logged values (wrap periods, parts per million, backward reads), not on
// the wording of the accusation, and no advice is given that could harm under
// the evidence at hand.
//
// The package is pure: it reads no files and measures nothing.
package doctor
