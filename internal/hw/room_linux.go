package hw

import (
	"runtime"
	"sync"
)

var procs sync.Mutex

// MakeRoom gives the Go scheduler room for n goroutines that never pause, so
// that the rest of the program still shares the CPUs by the kernel's rules and
// not in the scheduler's slices of 10 ms. The returned function takes it back.
func MakeRoom(n int) (back func()) {
	change := func(by int) {
		procs.Lock()
		defer procs.Unlock()
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + by)
	}
	change(n)
	return func() { change(-n) }
}
