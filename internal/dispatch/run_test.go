package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

func upTo(n int) []int {
	all := []int{}
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestResultsComeInOrderWhateverTheNumberOfJobs(t *testing.T) {
	for _, jobs := range []int{1, 2, 3, 16, 1000} {
		for _, pieces := range []int{0, 1, 2, 500} {
			var got []int
			workers := 0
			var mu sync.Mutex
			err := Run(context.Background(), pieces, jobs, func() Work[int] {
				mu.Lock()
				workers++
				mu.Unlock()
				return func(_ context.Context, n int) (int, error) { return 3 * n, nil }
			}, func(n, result int) error {
				if result != 3*n {
					t.Errorf("piece %d: %d", n, result)
				}
				got = append(got, n)
				return nil
			})
			if err != nil || !slices.Equal(got, upTo(pieces)) || workers > min(jobs, pieces) {
				t.Errorf("%d jobs, %d pieces: %v, %d workers, got %v", jobs, pieces, err, workers, got)
			}
		}
	}
}

// Piece 0 ends last, and only when no other job can go on.
func TestAPieceThatTakesLongIsWaitedForWithBoundedMemory(t *testing.T) {
	const jobs, pieces = 4, 1000
	release := make(chan struct{})
	var mu sync.Mutex
	begun := 0
	var got []int
	err := Run(context.Background(), pieces, jobs, func() Work[int] {
		return func(_ context.Context, n int) (int, error) {
			mu.Lock()
			if begun++; begun == jobs*ahead {
				close(release)
			}
			mu.Unlock()
			if n == 0 {
				<-release
				// All tickets are out: the others wait for this piece.
				time.Sleep(10 * time.Millisecond)
				mu.Lock()
				if begun > jobs*ahead {
					t.Errorf("%d pieces were begun before the first was handed over", begun)
				}
				mu.Unlock()
			}
			return n, nil
		}
	}, func(n, _ int) error { got = append(got, n); return nil })
	if err != nil || len(got) != pieces || !slices.IsSorted(got) {
		t.Errorf("%v, %d pieces", err, len(got))
	}
}

func TestTheFirstFailureByItsNumberEndsTheRun(t *testing.T) {
	for _, jobs := range []int{1, 2, 8} {
		delivered := 0
		err := Run(context.Background(), 100, jobs, func() Work[int] {
			return func(_ context.Context, n int) (int, error) {
				if n == 17 || n == 19 {
					return 0, fmt.Errorf("piece %d broke", n)
				}
				return n, nil
			}
		}, func(int, int) error { delivered++; return nil })
		if err == nil || err.Error() != "piece 17 broke" || delivered != 17 {
			t.Errorf("%d jobs: %v after %d", jobs, err, delivered)
		}
	}
}

func TestARefusedResultEndsTheRun(t *testing.T) {
	full := errors.New("disk full")
	delivered := 0
	err := Run(context.Background(), 100, 4, func() Work[int] {
		return func(_ context.Context, n int) (int, error) { return n, nil }
	}, func(n, _ int) error {
		if n == 5 {
			return full
		}
		delivered++
		return nil
	})
	if !errors.Is(err, full) || delivered != 5 {
		t.Errorf("%v after %d", err, delivered)
	}
}

func TestACancelledRunHandsOverWhatIsWholeWithoutAGap(t *testing.T) {
	why := errors.New("enough")
	for _, jobs := range []int{1, 2, 8} {
		ctx, cancel := context.WithCancelCause(context.Background())
		var got []int
		err := Run(ctx, 10_000, jobs, func() Work[int] {
			return func(ctx context.Context, n int) (int, error) { return n, context.Cause(ctx) }
		}, func(n, _ int) error {
			if got = append(got, n); n == 20 {
				cancel(why)
			}
			return nil
		})
		if !errors.Is(err, why) || len(got) < 21 || len(got) > 21+jobs*ahead || !slices.Equal(got, upTo(len(got))) {
			t.Errorf("%d jobs: %v, got %v", jobs, err, got)
		}
	}
}

func TestARunThatWasCancelledBeforeItBeganDoesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := Run(ctx, 10, 2, func() Work[int] {
		return func(ctx context.Context, n int) (int, error) { return n, ctx.Err() }
	}, func(int, int) error { t.Error("a result"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestARunWithoutAJobIsRefused(t *testing.T) {
	if err := Run(context.Background(), 1, 0, func() Work[int] { return nil }, nil); err == nil {
		t.Error("no error")
	}
}

func TestTheMeterTellsTheTimeLeftOfWhatItSawItself(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := NewMeter(1000, 400, start)
	if _, ok := m.Left(start.Add(time.Second)); ok || m.Share() != 0.4 {
		t.Errorf("an estimate from nothing; share %v", m.Share())
	}
	m.Add(200)
	if left, ok := m.Left(start.Add(10 * time.Second)); !ok || left != 20*time.Second {
		t.Errorf("%v left, want 20 s", left)
	}
	m.Add(400)
	if left, ok := m.Left(start.Add(30 * time.Second)); !ok || left != 0 || m.Share() != 1 {
		t.Errorf("%v left at the end, share %v", left, m.Share())
	}
	if (&Meter{}).Share() != 1 {
		t.Error("nothing to do is not done")
	}
}
