package hw

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Operations of futex(2), on memory of this process alone.
const (
	futexWait = 0 | 128
	futexWake = 1 | 128
)

// waitWord sleeps while the word has the value that was seen, until wakeWord, for
// that long at most, which has to be above 0. It may return without a reason. The word must not be on a stack.
//
// The thread sleeps in one system call and is woken by one: a goroutine that is bound
// to its thread, as those that compare CPUs are, would be handed from thread to thread by a
// timer or a channel. In return the runtime's monitor looks after the thread some sixty
// times in 10 ms, so longer sleeps are better left to those.
func waitWord(w *atomic.Uint32, seen uint32, atMost time.Duration) {
	limit := unix.NsecToTimespec(int64(atMost))
	// Every error means to look at the word again: it has changed, the time is over, a signal came.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWait, uintptr(seen), uintptr(unsafe.Pointer(&limit)), 0, 0)
}

// wakeWord wakes who sleeps in waitWord on that word. It does not block.
func wakeWord(w *atomic.Uint32) {
	const everybody = 1<<31 - 1
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWake, everybody, 0, 0, 0)
}
