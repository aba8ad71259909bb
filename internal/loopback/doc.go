// Package loopback makes TCP traffic over the loopback interface and measures it,
// under one clocksource or several in turn.
//
// [Start] makes traffic: a [Stream], requests and answers over one connection ([RR]) or with a connection
// each ([CRR]), as netperf's tests of these names. Each side of a flow is a thread that is bound to a CPU, has a
// name ([ClientThread], [ServerThread]) by which profiles tell it, waits in the kernel and
// reads no clock: it counts, and [Running.Sample] reads the counts and the time at the ends of a window.
//
// On amd64 a thread makes its system calls from a loop in assembly, which is one long call for Go's runtime: it neither
// tells the runtime of each, nor keeps the runtime's monitor awake, which would read the clock some thousand times a second.
//
// [Run] carries a [Plan] out: rounds, each with connections of its own and a warm-up, in blocks that
// go through the clocksources and back (A B C C B A), so that a drift cancels; until every interval is as narrow as wanted or
// the time is up. A [Result] has the median over rounds, and the ratio to the best clocksource from the ratios
// within blocks. A [Verdict] finds a difference only where the two differ by more than two rounds of one clocksource do.
//
// The package switches no clocksource: its caller hands it a function that does, and knows what
// that may cost. It reads no kernel log, and does not know why one clocksource is slower than another.
package loopback
