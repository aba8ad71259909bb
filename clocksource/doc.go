// Package clocksource is the arithmetic of Linux clocksources.
//
// A clocksource is a free-running counter with a mask and a conversion factor
// (mult and shift). This package computes what the kernel computes when such a
// counter is registered, turns counter values into nanoseconds the way each
// kernel did (including the ways in which it went wrong), and reads a printed
// registration line backwards to the frequencies that explain it.
//
// Everything is written with the kernel's widths: 32 bit multipliers, 64 bit
// products that wrap where the kernel's wrap. Constants and rules name the
// releases that they hold for.
//
// The package reads no counter, keeps no list of registered clocks and decides
// nothing about them: package watchdog does that.
package clocksource
