//go:build amd64 || arm64

package bench

import "unsafe"

// vdsoBatch calls the vDSO function n times (at least once). Signals must be
// blocked: see quietly. errno is that of a call that failed, which ends the batch, 0 for none.
//
//go:noescape
func vdsoBatch(fn uintptr, id int64, n int) (errno int64)

// vdsoValues also keeps what was read, in ns.
//
//go:noescape
func vdsoValues(fn uintptr, id int64, out *uint64, n int) (errno int64)

// syscallBatch makes the system call n times (at least once), without the
// scheduler's knowledge, since telling it costs more than the clock.
//
//go:noescape
func syscallBatch(id int64, n int) (errno int64)

// syscallValues also keeps what was read, in ns.
//
//go:noescape
func syscallValues(id int64, out *uint64, n int) (errno int64)

// pointerTo returns an address outside Go's memory as a pointer.
//
//go:noescape
func pointerTo(address uintptr) unsafe.Pointer
