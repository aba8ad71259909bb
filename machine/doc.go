// Package machine holds the types of a machine snapshot: what /sys, /proc and
// the kernel's command line say about clocks, CPUs, the hypervisor and time
// synchronisation, each fact with its source and with "could not tell, because"
// where it could not be read.
//
// Data only: internal/host collects a snapshot, internal/doctor judges it.
package machine
