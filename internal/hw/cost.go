package hw

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cswatch/cswatch/machine"
)

// Limits of one measurement.
const (
	costBudget  = 20 * time.Millisecond // for each of the two ways
	slowBudget  = 4 * time.Millisecond  // for a way that turns out to be slow
	slowRead    = 400 * time.Nanosecond // from here on a read is slow
	batchTarget = 20 * time.Microsecond // long against one read of the timer that times it
	minBatch    = 16                    // reads
	maxBatch    = 2048
	maxBatches  = 2000
	minBatches  = 20
)

// vdsoShare: below this share of the system call's price, the read cannot have
// entered the kernel. A vDSO read of a counter costs 15 to 40 ns and a system
// call 60 to 1000 ns; a vDSO that falls back into the kernel costs more than the call alone.
const vdsoShare = 0.6

// MeasureCost measures the price of clock_gettime(CLOCK_MONOTONIC): as programs
// call it, through the vDSO, and by a raw system call. It needs no privilege and
// takes about 40 ms, less than 60; with a slow clock (400 ns a read and more,
// such as HPET and ACPI PM timer) it takes about 8 ms, in order not to load the
// counter that a watchdog may be reading at the same time.
//
// The first price is that of time.Since, which is one call of the runtime's
// monotonic clock, which is one call of the vDSO: Go has no more direct way.
// This adds the runtime's switch to its system stack, 1 to 5 ns. Medians and
// percentiles are of batches of 16 to 2048 reads, so that timing them does not
// count, which also means that a single slow read is averaged with its batch.
//
// It fails where the context ends first, where the clock does not advance, and
// where the kernel changed its clocksource meanwhile.
func MeasureCost(ctx context.Context) (machine.Cost, error) {
	return measureCost(ctx, platform(), budget{costBudget, slowBudget})
}

// SampleCost is MeasureCost for a program that does so again and again: it takes 4 ms, with a
// slow clock 2 ms; where 16 reads take longer than that, those 16, a few times.
func SampleCost(ctx context.Context) (machine.Cost, error) {
	return measureCost(ctx, platform(), sampleBudget)
}

var sampleBudget = budget{2 * time.Millisecond, time.Millisecond}

// budget is the time for one way of reading, and for one that turns out to be slow.
type budget struct{ full, slow time.Duration }

// sources are what a measurement runs on; tests have their own.
type sources struct {
	now     func() time.Duration // monotonic
	runtime func(n int)          // reads the clock n times as a program does
	syscall func(n int) error    // reads it n times by system call
	current func() string        // clocksource, "" if unknown
}

func measureCost(ctx context.Context, s sources, b budget) (machine.Cost, error) {
	start, before := s.now(), s.current()
	read, err := timeReads(ctx, s.now, b, func(n int) error { s.runtime(n); return nil })
	if err != nil {
		return machine.Cost{}, fmt.Errorf("measure the cost of reading the clock: %w", err)
	}
	call, err := timeReads(ctx, s.now, b, s.syscall)
	if err != nil {
		return machine.Cost{}, fmt.Errorf("measure the cost of the system call clock_gettime: %w", err)
	}
	if after := s.current(); after != before {
		return machine.Cost{}, fmt.Errorf("measure the cost of reading the clock: the clocksource changed from %q to %q meanwhile, measure again", before, after)
	}
	c := machine.Cost{
		ReadNS: read.median, ReadP99NS: read.p99, SyscallNS: call.median,
		Path: "syscall", Reads: read.reads + call.reads, Clocksource: before,
	}
	if read.median < vdsoShare*call.median {
		c.Path = "vdso"
	}
	c.Seconds = (s.now() - start).Seconds()
	return c, nil
}

// cost is the price of one read in ns, over batches.
type cost struct {
	median, p99 float64
	reads       int
}

// timeReads times batches of reads until its budget is spent.
func timeReads(ctx context.Context, now func() time.Duration, b budget, batch func(n int) error) (cost, error) {
	n, err := batchSize(ctx, now, batch)
	if err != nil {
		return cost{}, err
	}
	var c cost
	prices := make([]float64, 0, maxBatches)
	limit := b.full
	start := now()
	for len(prices) < maxBatches {
		if err := ctx.Err(); err != nil {
			return cost{}, err
		}
		t := now()
		if err := batch(n); err != nil {
			return cost{}, err
		}
		end := now()
		price := float64(end-t) / float64(n)
		prices = append(prices, price)
		c.reads += n
		if price >= float64(slowRead) {
			limit = b.slow
		}
		if end-start >= limit && len(prices) >= minBatches || end-start >= b.full {
			break
		}
	}
	slices.Sort(prices)
	c.median = percentile(prices, 50)
	c.p99 = percentile(prices, 99)
	if c.median <= 0 {
		return cost{}, fmt.Errorf("the clock did not advance over %d reads", c.reads)
	}
	return c, nil
}

// batchSize finds how many reads take about the target time. The first batch
// also brings code and data into the caches.
func batchSize(ctx context.Context, now func() time.Duration, batch func(n int) error) (int, error) {
	n := minBatch
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		t := now()
		if err := batch(n); err != nil {
			return 0, err
		}
		if now()-t >= batchTarget || n >= maxBatch {
			return n, nil
		}
		n *= 2
	}
}

// percentile returns the value of rank p (nearest rank) of sorted values.
func percentile(sorted []float64, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := (len(sorted)*p + 99) / 100
	return sorted[max(i-1, 0)]
}

// CurrentClocksource returns the clocksource that the kernel uses, "" where that cannot be
// read: outside of Linux, and without sysfs, as in some containers.
func CurrentClocksource() string {
	b, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
