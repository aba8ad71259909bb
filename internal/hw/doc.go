// Package hw touches the clocks of the machine that it runs on.
//
// [MeasureCost] measures what reading the system clock costs a program, without
// any privilege and in less than 60 ms.
//
// [Probe] says of each counter (the processor's, HPET, ACPI PM timer, POSIX
// clocks, PTP hardware clocks, real-time clocks) whether this process can read it: yes, no because,
// or could not tell because. [Choose] picks a reference among them and
// [Independent] says what a reference is worth: a clock that the kernel computes from the TSC
// agrees with the TSC whatever it does. [TSCFrequency] finds the rate of the processor's counter.
//
// An open [Reader] takes read-backs, and an open [Stream] takes them by a [Plan]: so many
// each half second, on the CPUs in turn, with the causes of late ones. A [Team] runs work on
// chosen CPUs and lets two of them compare their counters. [WatchRTC] catches the second of a real-time
// clock, a slow witness over minutes.
//
// The HPET is mapped read-only, and no plan reads it faster than a watchdog does
// unless the plan accepts that this can cost the machine its TSC. The port of the ACPI PM timer is opened
// by a child process alone, which is this program again: main has to
// call [ChildMain] first. The package never uses /dev/mem or iopl, sets no clock and
// no timer, judges nothing that it reads, and knows no kernel's limits: package watchdog does.
//
// Everything is read in user space with interrupts on, so a read-back can be
// late for reasons that a kernel's watchdog, which switches them off, does not have.
package hw
