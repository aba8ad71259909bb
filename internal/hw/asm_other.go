//go:build !amd64 && !arm64

package hw

import "time"

// This architecture has no assembly here, so nothing of it reads a counter.
const (
	processorCounter = "counter"
	counterNeeds     = "an architecture for which there is assembly: x86-64 or arm64"
	hasAssembly      = false
	hasPorts         = false
)

// readCounter answers with the time, so that what compares counters has one
// to compare. No counter is offered under a name.
func readCounter() uint64 { return uint64(time.Now().UnixNano()) }

func counterLoop(n int) (first, last, minDelta uint64) {
	first, minDelta = readCounter(), ^uint64(0)
	last = first
	for range n - 1 {
		now := readCounter()
		minDelta = min(minDelta, now-last)
		last = now
	}
	return first, last, minDelta
}

func readBackRegister(*uint32, *[4]uint64) {}

func readBackPort(uint16, *[4]uint64) {}

// readBackClock answers ENOSYS.
func readBackClock(int64, *[7]int64) (errno int64) { return 38 }

func cpuid(uint32, uint32) (a, b, c, d uint32) { return 0, 0, 0, 0 }

func readCounterOn() (value uint64, cpu int, ok bool) { return readCounter(), 0, false }

func processorHz() uint64 { return 0 }
