// Package load drives a load on this machine until it is told to end, and says
// how much of it there was.
//
// A [Kind] is what the load does: loops on the CPUs, reads of the HPET, both, or a
// stream over loopback. Kinds are words that any platform can read and write, for
// plans and command lines; driving them needs Linux. [Driver.Start] returns once the load
// is under way, or with an error that says what could not be driven and what to
// do. The [Work] that comes back at the end counts loops, reads and bytes:
// [Work.Idle] names what did nothing, so that a result without its load is noticed.
//
// Reading the HPET from every CPU creates the latency for which some kernels condemn their
// TSC, until they are booted anew. A driver therefore refuses such a load unless AcceptLosingTSC
// is set; whether the loss is likely, and whose machine it is, the caller must know.
//
// The package measures nothing, judges nothing, and follows no kernel log.
package load
