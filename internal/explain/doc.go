// Package explain says in words what cswatch's ids, the kernel's clock
// parameters and the kernel's clock messages mean.
//
// Its entries are texts for people: what a finding is and how it is
// recognised, what an advice does and what it risks, which release has which
// parameter with which default, and whether a line in a log is harmless.
//
// The package judges no machine and reads no log: internal/doctor decides
// which findings apply, package klog recognises the lines.
package explain
