// Package hw touches the clocks of the machine that it runs on.
//
// [MeasureCost] measures what reading the system clock costs a program, without
// any privilege and in less than 60 ms. The package does not judge what it
// measures and changes nothing on the machine.
package hw
