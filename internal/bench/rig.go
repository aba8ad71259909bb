package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// way is a Way that can be read. Functions of ways are called on the thread that they
// measure, with its signals blocked.
type way struct {
	Way
	unit  string // of the values
	batch func(n int) error
	// values reads a row, and keeps it.
	values func(out []uint64) error
}

// rig is what the measuring runs on; tests have their own.
type rig struct {
	now     func() time.Duration // monotonic: the timer of the batches
	quietly func(f func())       // runs f with the thread's signals blocked
	current func() string        // clocksource, "" if unknown
}

const (
	// timerShare: a batch is so much longer than one reading of its timer.
	timerShare = 1000
	// maxBatchTime bounds that for slow timers: the share is then larger.
	maxBatchTime = 20 * time.Millisecond
	// restrainedBatch is how long a batch takes where reading the timer loads a counter:
	// two readings each make less than a watchdog's own.
	restrainedBatch = 100 * time.Millisecond
	restrainedReads = 1 << 20
	minReads        = 16
	sizeTries       = 3
	maxReads        = 1 << 28
	// checkEach is after how many rounds the clocksource is looked at.
	checkEach = 64
)

// errChanged ends a run whose clocksource has changed.
var errChanged = errors.New("the clocksource changed under the run")

// timer returns what one reading of the timer takes: the least of several rows.
func (r *rig) timer(rows int) time.Duration {
	const n = 16
	best := time.Duration(0)
	for i := range rows {
		start := r.now()
		for range n - 1 {
			r.now()
		}
		took := (r.now() - start) / n
		if i == 0 || took < best {
			best = took
		}
	}
	return best
}

// batchTime returns how long a batch is to take.
func batchTime(wanted, timer time.Duration, restrained bool) time.Duration {
	if restrained {
		return max(wanted, restrainedBatch)
	}
	return max(wanted, min(timerShare*timer, maxBatchTime))
}

// timed returns a batch of n reads.
func (r *rig) timed(w way, n int) (b Batch, err error) {
	r.quietly(func() {
		start := r.now()
		err = w.batch(n)
		b = Batch{Reads: n, Took: r.now() - start}
	})
	if err != nil {
		return b, fmt.Errorf("read %s: %w", w.Name(), err)
	}
	return b, nil
}

// reads finds how many reads take about a time. The first ones also bring code and data into the caches.
func (r *rig) reads(ctx context.Context, w way, target time.Duration) (int, error) {
	n := minReads
	if target >= restrainedBatch {
		n = restrainedReads // each try reads the timer, and few are wanted
	}
	for ; ; n *= 2 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		took := time.Duration(math.MaxInt64)
		for range sizeTries { // the fastest: in the others something else ran, too
			b, err := r.timed(w, n)
			if err != nil {
				return 0, err
			}
			if took = min(took, b.Took); took < target/4 {
				break
			}
		}
		if took >= target/4 && took > 0 {
			return min(max(int(float64(n)*float64(target)/float64(took)), minReads), maxReads), nil
		}
		if n >= maxReads {
			return 0, fmt.Errorf("read %s: the timer did not advance by %v over %d reads", w.Name(), target/4, n)
		}
	}
}

// costs measures the ways in turn, a batch each a round, so that what changes
// meanwhile (the processor's frequency, its neighbours) is the same for all of them. Every other
// round goes backwards.
func (r *rig) costs(ctx context.Context, ways []way, p Plan, target time.Duration) ([]WayCost, error) {
	before := r.current()
	sizes := make([]int, len(ways))
	batches := make([][]Batch, len(ways))
	for i, w := range ways {
		var err error
		if sizes[i], err = r.reads(ctx, w, target); err != nil {
			return nil, err
		}
		batches[i] = make([]Batch, 0, p.Batches)
	}
	round := func(n int, keep bool) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n%checkEach == 0 && r.current() != before {
			return errChanged
		}
		for k := range ways {
			i := k
			if n%2 == 1 {
				i = len(ways) - 1 - k
			}
			b, err := r.timed(ways[i], sizes[i])
			if err != nil {
				return err
			}
			if keep {
				batches[i] = append(batches[i], b)
			}
		}
		return nil
	}
	var failed error
	start := r.now()
	for n := 0; failed == nil && r.now()-start < p.WarmUp; n++ {
		failed = round(n, false)
	}
	for n := 0; failed == nil && n < p.Batches; n++ {
		failed = round(n, true)
	}
	out := make([]WayCost, len(ways))
	for i, w := range ways {
		out[i] = WayCost{Way: w.Way, BatchReads: sizes[i], Cost: CostOf(batches[i])}
	}
	return out, failed
}

// rowLength is how many single reads are taken in one go: what fits into a level 1 cache beside other things.
const rowLength = 2048

// steps reads each way in rows and counts the steps within rows.
func (r *rig) steps(ctx context.Context, ways []way, p Plan) ([]WaySteps, error) {
	row := make([]uint64, rowLength)
	var out []WaySteps
	for _, w := range ways {
		var c Counter
		for done := 0; done < p.Singles; done += rowLength {
			if err := ctx.Err(); err != nil {
				return out, err
			}
			some := row[:min(rowLength, max(p.Singles-done, 2))]
			var err error
			r.quietly(func() { err = w.values(some) })
			if err != nil {
				return out, fmt.Errorf("read %s: %w", w.Name(), err)
			}
			c.AddAll(some)
		}
		out = append(out, WaySteps{Way: w.Way, Steps: c.Steps(w.unit, float64(p.CounterHz))})
	}
	return out, nil
}

// working returns the ways that work, and why the others do not.
func (r *rig) working(ways []way) (good []way, bad []Skipped) {
	for _, w := range ways {
		if _, err := r.timed(w, 1); err != nil {
			bad = append(bad, Skipped{Way: w.Way, Why: errors.Unwrap(err).Error()})
			continue
		}
		good = append(good, w)
	}
	return good, bad
}

// choose returns the ways that are among the named ones.
func choose(ways []way, want ...Way) []way {
	return slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return !slices.Contains(want, w.Way) })
}
