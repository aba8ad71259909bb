// Package snapshot finds the TSC in a saved state of a virtual machine and sets it
// forward or back: a clock that is really wrong, by a known amount.
//
// QEMU writes a machine's state as one stream: the memory, a section for each
// device, and at the end a description of the sections in JSON. [Read] takes the
// description and holds every section against it, so that a field is found by
// its name and not by what one version of QEMU does; [Snapshot.Place] tells where.
// A [Step] adds cycles to the TSC of all CPUs, or of one alone, and
// [Snapshot.Write] writes the stream with the steps made, without a copy of the
// memory. Nothing is changed in place.
//
// A machine that is emulated (TCG) computes its TSC from the two fields that are
// changed here. With KVM it comes from the processor, and a step has no effect.
//
// The package reads and writes bytes. internal/qemu saves and restores machines.
package snapshot
