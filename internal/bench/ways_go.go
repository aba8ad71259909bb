package bench

import (
	"errors"
	"time"
)

// goWays are Go's own ways of reading the time.
func goWays(base time.Time) []way {
	return []way{
		{
			Way: Way{Path: PathTimeNow}, unit: Nanoseconds,
			batch: func(n int) error {
				if nowBatch(n).Before(base) {
					return errBeforeStart
				}
				return nil
			},
			values: func(out []uint64) error {
				for i := range out {
					t := time.Now() // both clocks, of which Sub takes the monotonic one
					out[i] = uint64(t.Sub(base))
				}
				return nil
			},
		},
		{
			Way: Way{Path: PathTimeSince}, unit: Nanoseconds,
			batch: func(n int) error {
				if sinceBatch(base, n) < 0 {
					return errBeforeStart
				}
				return nil
			},
			values: func(out []uint64) error {
				for i := range out {
					out[i] = uint64(time.Since(base))
				}
				return nil
			},
		},
	}
}

var errBeforeStart = errors.New("the clock is behind where it was when the program measured first")

// nowBatch is kept out of line so that each batch runs the same code.
//
//go:noinline
func nowBatch(n int) (last time.Time) {
	for range n {
		last = time.Now()
	}
	return last
}

//go:noinline
func sinceBatch(base time.Time, n int) (last time.Duration) {
	for range n {
		last = time.Since(base)
	}
	return last
}
