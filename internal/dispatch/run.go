package dispatch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// ahead is how many pieces for each job may be finished or under way beyond the
// one whose turn it is to be handed over: it bounds what waits in memory.
const ahead = 8

// Work does piece number n. It may return early with the error of the context.
type Work[T any] func(ctx context.Context, n int) (T, error)

type outcome[T any] struct {
	n      int
	result T
	err    error
}

// Run does the pieces 0 to pieces-1 on so many jobs. Each job calls worker once for
// a function of its own, so that it may keep what only one goroutine can use.
// deliver gets the results in order, all on the goroutine of the caller.
//
// When the context ends no piece is begun any more; those that are whole are
// handed over as far as there is no gap before them, and the cause is returned.
// The first piece by its number that fails, or that deliver refuses, ends the run
// likewise.
func Run[T any](ctx context.Context, pieces, jobs int, worker func() Work[T], deliver func(n int, result T) error) error {
	if jobs < 1 {
		return fmt.Errorf("run %d pieces on %d jobs: want at least one job", pieces, jobs)
	}
	jobs = min(jobs, pieces)
	inner, stop := context.WithCancel(ctx)
	defer stop()
	tickets := make(chan struct{}, jobs*ahead)
	// As large as the tickets, so that no job ever waits to be rid of a result.
	results := make(chan outcome[T], jobs*ahead)
	var next atomic.Int64
	var working sync.WaitGroup
	for range jobs {
		working.Go(func() {
			work := worker()
			for {
				select {
				case <-inner.Done():
					return
				case tickets <- struct{}{}:
				}
				n := int(next.Add(1)) - 1
				if n >= pieces || inner.Err() != nil {
					return
				}
				result, err := work(inner, n)
				results <- outcome[T]{n, result, err}
			}
		})
	}
	go func() {
		working.Wait()
		close(results)
	}()
	return inOrder(ctx, stop, results, tickets, pieces, deliver)
}

// inOrder hands results over as their turn comes, and waits for all jobs.
func inOrder[T any](ctx context.Context, stop func(), results <-chan outcome[T], tickets <-chan struct{}, pieces int, deliver func(int, T) error) error {
	waiting := map[int]outcome[T]{}
	turn := 0
	var failed error
	for o := range results {
		waiting[o.n] = o
		for failed == nil {
			o, here := waiting[turn]
			if !here {
				break
			}
			delete(waiting, turn)
			err := o.err
			if err == nil {
				err = deliver(turn, o.result)
			}
			if err != nil {
				failed = err
				stop()
				break
			}
			turn++
			<-tickets
		}
	}
	switch {
	case turn == pieces:
		return nil // whole, also where the context ended meanwhile
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return failed
}
