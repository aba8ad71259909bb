package hw

import (
	"testing"
	"time"
)

func TestThisMachineIsMeasuredInTime(t *testing.T) {
	best := time.Hour
	for range 5 { // others use this machine, too
		start := time.Now()
		c, err := MeasureCost(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(start))
		if c.ReadNS < 1 || c.ReadNS > 1e6 || c.SyscallNS < 1 || c.ReadP99NS < c.ReadNS || c.Reads < 2*minBatch {
			t.Errorf("not a plausible cost: %+v", c)
		}
		if best < 60*time.Millisecond {
			return
		}
	}
	t.Errorf("the fastest of five measurements took %v, want less than 60 ms", best)
}

func TestReadingDoesNotAllocate(t *testing.T) {
	base := time.Now()
	if n := testing.AllocsPerRun(10, func() { readRuntime(base, 10) }); n != 0 {
		t.Errorf("10 reads by the runtime allocate %v times, want 0", n)
	}
	if n := testing.AllocsPerRun(10, func() { _ = readSyscall(10) }); n != 0 {
		t.Errorf("10 system calls allocate %v times, want 0", n)
	}
}

func BenchmarkReadRuntime(b *testing.B) {
	base := time.Now()
	for b.Loop() {
		readRuntime(base, 1)
	}
}

func BenchmarkReadSyscall(b *testing.B) {
	for b.Loop() {
		_ = readSyscall(1)
	}
}
