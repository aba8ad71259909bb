//go:build !linux

package hw

import (
	"sync/atomic"
	"time"
)

// waitWord sleeps for a while: this system has no futex, and no thread of it is bound to a CPU.
func waitWord(_ *atomic.Uint32, _ uint32, atMost time.Duration) {
	const look = time.Millisecond
	time.Sleep(min(atMost, look))
}

// wakeWord does nothing: whoever waits looks again by itself.
func wakeWord(*atomic.Uint32) {}
