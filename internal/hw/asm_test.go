//go:build amd64 || arm64

package hw

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestTheCounterGoesForward(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	last := readCounter()
	moved := 0
	for range 100_000 {
		now := readCounter()
		// On one machine with sane counters, whatever CPU the thread moves to.
		if now < last {
			t.Fatalf("the counter went from %d to %d", last, now)
		}
		if now > last {
			moved++
		}
		last = now
	}
	if moved == 0 {
		t.Error("the counter stands still")
	}
}

func TestTheLoopInOneCallReadsAsOftenAsAsked(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
	}{{"no read is one read", 0}, {"one read has no step", 1}, {"two reads have one step", 2}, {"many reads", 10_000}} {
		t.Run(tt.name, func(t *testing.T) {
			before := readCounter()
			first, last, step := counterLoop(tt.n)
			after := readCounter()
			if before > first || first > last || last > after {
				t.Errorf("reads out of order: %d, first %d, last %d, %d", before, first, last, after)
			}
			if tt.n < 2 {
				if first != last || step != ^uint64(0) {
					t.Errorf("first %d, last %d, step %d: want one read and no step", first, last, step)
				}
				return
			}
			if mean := (last - first) / uint64(tt.n-1); step > mean {
				t.Errorf("smallest step %d is greater than the mean %d", step, mean)
			}
		})
	}
	// The time of a loop grows with the number of reads: a thousand times the reads take at least ten times the time.
	short, long := ^uint64(0), ^uint64(0)
	for range 20 {
		first, last, _ := counterLoop(100)
		short = min(short, last-first)
		first, last, _ = counterLoop(100_000)
		long = min(long, last-first)
	}
	if long < 10*short {
		t.Errorf("100 reads take %d cycles and 100000 reads %d", short, long)
	}
}

func TestARegisterIsReadWith32Bits(t *testing.T) {
	// What lies beside the register must not show.
	memory := [3]uint32{0xaaaaaaaa, 0xfedcba98, 0x55555555}
	v := [4]uint64{1 << 63, 1 << 63, 1 << 63, 1 << 63}
	before := readCounter()
	readBackRegister(&memory[1], &v)
	after := readCounter()
	if v[0] != 0xfedcba98 || v[2] != 0xfedcba98 || v[3] != 0xfedcba98 {
		t.Errorf("register read as %#x, want 0xfedcba98", v)
	}
	if v[1] < before || v[1] > after {
		t.Errorf("the counter was read as %d, not between %d and %d", v[1], before, after)
	}
}

func TestReadingCountersDoesNotAllocate(t *testing.T) {
	var word uint32
	for _, tt := range []struct {
		name string
		f    func()
	}{
		{"one read", func() { readCounter() }},
		{"one read with its CPU", func() { readCounterOn() }},
		{"a loop of reads", func() { counterLoop(10) }},
		{"a read-back of a register", func() {
			var v [4]uint64
			readBackRegister(&word, &v)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if n := testing.AllocsPerRun(100, tt.f); n != 0 {
				t.Errorf("%v allocations, want 0", n)
			}
		})
	}
}

func TestCPUIDNamesAVendor(t *testing.T) {
	highest, b, c, d := cpuid(0, 0)
	if runtime.GOARCH != "amd64" {
		if highest != 0 {
			t.Errorf("CPUID answers %d on %s", highest, runtime.GOARCH)
		}
		return
	}
	var vendor strings.Builder
	for _, word := range []uint32{b, d, c} {
		for shift := 0; shift < 32; shift += 8 {
			vendor.WriteByte(byte(word >> shift))
		}
	}
	if s := vendor.String(); highest == 0 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("CPUID 0 answers %d, %q", highest, s)
	}
}

func TestACounterThatStatesItsRateRunsWithIt(t *testing.T) {
	hz := processorHz()
	if hz == 0 {
		t.Skipf("%s states no rate", ProcessorCounter)
	}
	outer := time.Now()
	first := readCounter()
	inner := time.Now()
	time.Sleep(50 * time.Millisecond)
	least := time.Since(inner)
	last := readCounter()
	most := time.Since(outer)
	// 10 % is far more than any oscillator errs, and less than a wrong unit.
	if got := float64(last-first) / float64(hz); got < 0.9*least.Seconds() || got > 1.1*most.Seconds() {
		t.Errorf("%s states %d Hz and took %.3f s for %v to %v", ProcessorCounter, hz, got, least, most)
	}
}

func BenchmarkReadCounter(b *testing.B) {
	for b.Loop() {
		readCounter()
	}
}
