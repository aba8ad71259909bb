package cost

import (
	"errors"
	"fmt"
	"math"
)

// ReadsByCount returns the reads per segment of a transfer of so many bytes during
// which the clock was read so often, on the CPU that is asked about. It is exact for that
// transfer; the error is of one without bytes.
func ReadsByCount(reads, bytes uint64, segmentBytes float64) (Value, error) {
	if err := Exact(segmentBytes).check("bytes per segment", true); err != nil {
		return Value{}, fmt.Errorf("find the reads per segment: %w", err)
	}
	if bytes == 0 {
		return Value{}, errors.New("find the reads per segment: no byte was transferred meanwhile")
	}
	return Exact(float64(reads) / (float64(bytes) / segmentBytes)), nil
}

// ReadsByShare returns the reads per segment by a profile: the share of a CPU's busy
// time in the read, times the ns that it is busy with a segment, over the ns of a read.
// Under a clocksource that is read fast the share is too small to tell; profile under the slow one.
func ReadsByShare(share, busyNS, readNS Value) (Value, error) {
	err := errors.Join(share.check("share of the reads", false), busyNS.check("ns per segment", true), readNS.check("ns per read", true))
	if err == nil && share.High > 1 {
		err = fmt.Errorf("share of the reads: %v: want at most 1", share.High)
	}
	if err != nil {
		return Value{}, fmt.Errorf("find the reads per segment: %w", err)
	}
	return corners(func(x []float64) float64 { return x[0] * x[1] / x[2] }, share, busyNS, readNS), nil
}

// KernelRead returns the ns of one read inside the kernel under a clocksource that is
// slow, by system calls: what clock_gettime by system call costs under it, less what it costs
// under the fast clocksource, plus what the fast clocksource's instruction takes. The way into the kernel
// and back is the same in both and falls out, which a price measured in user space alone cannot tell from the read.
// The lower end is not below the instruction's. The error is of a system call that is not slower.
func KernelRead(slowCallNS, fastCallNS, instructionNS Value) (Value, error) {
	err := errors.Join(slowCallNS.check("ns per system call under the slow clocksource", true),
		fastCallNS.check("ns per system call under the fast clocksource", true), instructionNS.check("ns per instruction", true))
	if err == nil && slowCallNS.Value <= fastCallNS.Value {
		err = fmt.Errorf("a system call of %.4g ns under the slow clocksource and of %.4g ns under the fast one: want the slow one to be dearer", slowCallNS.Value, fastCallNS.Value)
	}
	if err != nil {
		return Value{}, fmt.Errorf("find what a read costs inside the kernel: %w", err)
	}
	v := corners(func(x []float64) float64 { return x[0] - x[1] + x[2] }, slowCallNS, fastCallNS, instructionNS)
	v.Low = math.Max(v.Low, instructionNS.Low)
	return v, nil
}
