// Package clocksource is the framework of Linux clocksources: counters, their
// arithmetic, and the list that the kernel keeps of them.
//
// A clocksource is a free-running counter with a mask and a conversion factor
// (mult and shift). This package computes what the kernel computes when such a
// counter is registered, turns counter values into nanoseconds the way each
// kernel did (including the ways in which it went wrong), and reads a printed
// registration line backwards to the frequencies that explain it.
//
// [Registry] is the kernel's list: which clock is current, which one the
// watchdog trusts, which ones it watches, what a verdict on one of them leads
// to, and what the files below /sys read and accept. [Rules] is what differs
// between releases. Each operation returns its [Effect]s in the kernel's order.
//
// Everything is written with the kernel's widths: 32 bit multipliers, 64 bit
// products that wrap where the kernel's wrap. Constants and rules name the
// releases that they hold for.
//
// The package reads no counter and reaches no verdict: package watchdog does
// that. It prints no message: the words of each release are in package klog.
package clocksource
