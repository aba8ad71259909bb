package hw

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func platform() sources {
	base := time.Now()
	return sources{
		now:     func() time.Duration { return time.Since(base) },
		runtime: func(n int) { readRuntime(base, n) },
		syscall: readSyscall,
		current: CurrentClocksource,
	}
}

// readRuntime reads the runtime's monotonic clock n times. Kept out of line so
// that each batch runs the same code.
//
//go:noinline
func readRuntime(base time.Time, n int) time.Duration {
	var d time.Duration
	for range n {
		d = time.Since(base)
	}
	return d
}

// readSyscall enters the kernel n times. RawSyscall does not tell the scheduler,
// which would cost more than the clock.
//
//go:noinline
func readSyscall(n int) error {
	var ts unix.Timespec
	for range n {
		_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&ts)), 0)
		if errno != 0 {
			return fmt.Errorf("clock_gettime: %w", errno)
		}
	}
	return nil
}
