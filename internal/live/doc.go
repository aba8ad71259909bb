// Package live runs the watchdog of any era over the counters of this machine.
//
// [Open] looks which reference this process can read, finds the rate of the
// processor's counter, and makes a [Watch]. [Watch.Run] lets the era's timer expire
// every half second, on the CPUs in turn or on the boot CPU as the era says, and
// hands out a [Tick] each time: the verdict, the read-backs with the causes of late
// ones, a comparison of two CPUs' counters, and the era's check across CPUs after a verdict. [Watch.Summary] counts them and keeps
// the distribution of read-back delays. A [trace.Writer] makes a recording, which
// package trace replays through other eras.
//
// What the verdicts are worth. A kernel reads with interrupts off, this package in
// user space with interrupts on: its read-backs can be late because the thread was
// interrupted or lost its CPU, so a verdict about latency here is one about user
// space. A late read-back whose thread is known to have been preempted is counted
// apart and is no part of the distribution; the era gets it all the same. The rate
// that the verdicts rest on is that of [hw.TSCFrequency]; the kernel's own may differ by
// some parts per million. [Reference] says whether the reference is independent of the
// counter under test: where it is not, only latency and the comparison between CPUs mean something.
//
// The CPUs that this process may use are the online ones to the era. The reference is
// never read faster than a kernel's watchdog reads it: ticks are half a second apart, late ones
// are not caught up in a burst, and at most [hw.DefaultReadBacks] read-backs of HPET or ACPI
// PM timer are taken a tick and CPU, unless [Config.AcceptLosingTSC] allows an era more attempts.
//
// A watch ends when its era condemns the counter, as a kernel's does, and rests where the era
// does. With Anew it goes on at the next tick, so that one late read-back does not end a short watch.
//
// The package reads no kernel log, changes no clocksource, prints nothing, and
// does not know whether the kernel's own watchdog agrees with it.
package live
