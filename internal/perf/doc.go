// Package perf samples what CPUs do, by perf_event_open, and says how much of it
// is reading clocks.
//
// A [Config] says whose code to sample and how. [Open] opens the first event that the
// machine gives: cycles, bus-cycles, or the timers cpu-clock and task-clock, which
// every virtual machine has; the [Attempt] list says why not a better one. A [Session] is
// then started and stopped, [Take] does all at once. Where nothing may be
// sampled, the error is a [Refused]; [Restrictions] says beforehand what this process may
// not see, and how to allow it.
//
// [Hold] starts a command that does nothing until it is let go, so that a profile has all of it; a program that holds
// commands calls [ChildMain] first.
//
// A [Profile] is a value: samples by process, command, CPU and stack, with names. Its Table
// has the rows that perf report prints, its Clocks answer whether reading clocks is hot, by the list in
// [ClockSymbols], and its folded stacks are for flame graphs. Shares carry the interval that their number of samples
// leaves them. Code without a name has the reason why in its place.
//
// Names come from /proc/kallsyms, the symbol tables of ELF files (of stripped Go programs
// from their own table), and the vDSO. Separate debug files, the maps that compilers just in time leave in /tmp,
// and inlined functions are not read, and names are shown as the linker has them. On processors with two kinds of cores
// the hardware events need both kinds to know them; else a timer is taken.
//
// [CountCalls] counts instead of sampling: how often functions of the kernel are called on each
// CPU, such as those that read the clock ([ClockReadSymbols]). It probes the running kernel,
// whose code the kernel changes for that, and is for when somebody asks for it.
//
// The records of the kernel are read by [ParseRecord], which takes bytes and
// returns values. The package prints nothing, changes no setting of the machine,
// and reads no clock at a sample: times of records are the scheduler's.
package perf
