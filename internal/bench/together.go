package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// crew runs work on chosen CPUs; hw.Team is one.
type crew interface {
	Do(ctx context.Context, cpu int, f func()) error
}

// spinCheck is after how many looks at the other side's step the time is looked at, which
// also lets the garbage collector come in.
const spinCheck = 256

// exchange is what two CPUs share that read a clock in turn.
type exchange struct {
	turn   atomic.Uint64
	_      [120]byte // a cache line of its own (two: processors fetch pairs)
	failed atomic.Bool
	_      [124]byte

	w        way
	now      func() time.Duration
	deadline time.Duration
	turns    int
	values   [2][]uint64
}

// side takes the reads of one side: 0 reads first.
func (e *exchange) side(i int) error {
	var one [1]uint64
	own := e.values[i]
	for turn := i; turn < e.turns; turn += 2 {
		for spins := 1; e.turn.Load() != uint64(turn); spins++ {
			if spins%spinCheck == 0 && (e.failed.Load() || e.now() >= e.deadline) {
				e.values[i] = own
				return nil
			}
		}
		if err := e.w.values(one[:]); err != nil {
			return err
		}
		own = append(own, one[0])
		e.turn.Store(uint64(turn) + 1)
	}
	e.values[i] = own
	return nil
}

// cross lets two CPUs read a clock in turn.
func (r *rig) cross(ctx context.Context, team crew, w way, cpus [2]int, p Plan) Crossing {
	c := Crossing{Way: w.Way, CPUs: cpus, Unit: w.unit}
	e := &exchange{w: w, now: r.now, deadline: r.now() + p.TurnTime, turns: p.Turns}
	for i := range e.values {
		e.values[i] = make([]uint64, 0, p.Turns/2+1)
	}
	var failed [2]error
	var both sync.WaitGroup
	for i, cpu := range cpus {
		both.Go(func() {
			// Both sides end by themselves, and must have ended before their values are looked at.
			err := team.Do(context.WithoutCancel(ctx), cpu, func() {
				r.quietly(func() { failed[i] = e.side(i) })
			})
			if err != nil {
				failed[i] = err
			}
			if failed[i] != nil {
				e.failed.Store(true) // the other one need not wait
			}
		})
	}
	both.Wait()
	for i, err := range failed {
		if err != nil {
			c.Why = fmt.Sprintf("read %s on CPU %d: %v", w.Name(), cpus[i], err)
			return c
		}
	}
	c.count(e.values[0], e.values[1])
	c.Complete = c.Turns == p.Turns
	return c
}

// share is what one CPU did in one round.
type share struct {
	batches []Batch
	took    time.Duration // from the beginning of the round until its last read
}

// rate returns reads per second.
func (s share) rate() float64 {
	reads := 0
	for _, b := range s.batches {
		reads += b.Reads
	}
	if s.took <= 0 {
		return 0
	}
	return float64(reads) / s.took.Seconds()
}

// crowd measures a way while so many CPUs read at once, with batches of so many reads.
func (r *rig) crowd(ctx context.Context, team crew, w way, reads int, cpus []int, p Plan) (Crowd, error) {
	c := Crowd{Way: w.Way, CPUs: cpus, PerCPU: []OnCPU{}}
	before := r.current()
	var total, fairness []float64
	batches := make([][]Batch, len(cpus))
	for range p.Rounds {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		if r.current() != before {
			return c, errChanged
		}
		shares, err := r.round(ctx, team, w, reads, cpus, p.RoundTime)
		if err != nil {
			c.Why = err.Error()
			return c, nil
		}
		rates := make([]float64, len(shares))
		sum := 0.0
		for i, s := range shares {
			rates[i] = s.rate()
			sum += rates[i]
			batches[i] = append(batches[i], s.batches...)
		}
		total = append(total, sum)
		if most := slices.Max(rates); most > 0 {
			fairness = append(fairness, slices.Min(rates)/most)
		}
		c.Rounds++
	}
	c.ReadsPerSecond, c.Fairness = EstimateOf(total), EstimateOf(fairness)
	for i, cpu := range cpus {
		c.PerCPU = append(c.PerCPU, OnCPU{CPU: cpu, Cost: CostOf(batches[i])})
	}
	return c, nil
}

// round lets the CPUs read at once, from when all of them are there until the same moment.
// A CPU that others keep from reading has the fewer reads in that time, one batch at least.
func (r *rig) round(ctx context.Context, team crew, w way, reads int, cpus []int, length time.Duration) ([]share, error) {
	shares := make([]share, len(cpus))
	failed := make([]error, len(cpus))
	start := make(chan struct{}) // closed once the two times are set
	var begin, end time.Duration
	var ready, all sync.WaitGroup
	ready.Add(len(cpus))
	for i, cpu := range cpus {
		all.Go(func() {
			there := sync.OnceFunc(ready.Done)
			defer there()
			err := team.Do(context.WithoutCancel(ctx), cpu, func() {
				if _, err := r.timed(w, reads); err != nil { // warms the CPU up
					failed[i] = err
					return
				}
				there()
				<-start
				for last := begin; last < end; {
					b, err := r.timed(w, reads)
					if err != nil {
						failed[i] = err
						return
					}
					last = r.now()
					shares[i].batches = append(shares[i].batches, b)
					shares[i].took = last - begin
				}
			})
			if err != nil {
				failed[i] = err
			}
		})
	}
	ready.Wait()
	begin = r.now()
	end = begin + length
	close(start)
	all.Wait()
	for i, err := range failed {
		if err != nil {
			return nil, fmt.Errorf("on CPU %d: %w", cpus[i], err)
		}
	}
	return shares, nil
}
