package hook

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// told is a hook whose outcomes come from a function; what it was told is kept.
type told struct {
	mu      sync.Mutex
	numbers []uint64
	tell    func(ctx context.Context, e Event) (Outcome, error)
}

func (h *told) Tell(ctx context.Context, e Event) (Outcome, error) {
	h.mu.Lock()
	h.numbers = append(h.numbers, e.Number)
	h.mu.Unlock()
	return h.tell(ctx, e)
}

func (h *told) list() []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.numbers)
}

func well(context.Context, Event) (Outcome, error) { return OK, nil }

// held returns a tell that waits for each event until it is let go, or until the context ends.
func held(letGo chan Outcome) func(context.Context, Event) (Outcome, error) {
	return func(ctx context.Context, _ Event) (Outcome, error) {
		select {
		case o := <-letGo:
			return o, nil
		case <-ctx.Done():
			return Failed, ctx.Err()
		}
	}
}

func newQueue(t testing.TB, c QueueConfig) *Queue {
	t.Helper()
	q, err := NewQueue(c)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// counts are those of a queue, by outcome, then its length.
func counts(q *Queue) []uint64 {
	var list []uint64
	for _, o := range Outcomes() {
		list = append(list, q.Count(o))
	}
	return append(list, uint64(q.Length()))
}

func numbers(from, to uint64) []uint64 {
	var list []uint64
	for n := from; n <= to; n++ {
		list = append(list, n)
	}
	return list
}

// running runs a queue until stop is called, which waits for its end.
func running(q *Queue) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var owner sync.WaitGroup
	owner.Go(func() { q.Run(ctx) })
	return func() { cancel(); owner.Wait() }
}

func TestEventsAreToldInOrderAndEachOutcomeIsCountedAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outcomes := map[uint64]Outcome{2: Failed, 3: TimedOut, 5: "nonsense"}
		h := &told{tell: func(_ context.Context, e Event) (Outcome, error) {
			if o, ok := outcomes[e.Number]; ok {
				return o, errors.New("why")
			}
			return OK, nil
		}}
		var delivered []uint64
		log := &records{}
		q := newQueue(t, QueueConfig{Hook: h, Delivered: func(n uint64) { delivered = append(delivered, n) }, Log: slog.New(log)})
		stop := running(q)
		for n := range uint64(6) {
			q.Add(Event{Number: n + 1, BootID: "b", Kind: Switched})
		}
		synctest.Wait()
		stop()
		for _, list := range [][]uint64{h.list(), delivered} {
			if diff := cmp.Diff(numbers(1, 6), list); diff != "" {
				t.Errorf("numbers (-want +got):\n%s", diff)
			}
		}
		if diff := cmp.Diff([]uint64{3, 2, 1, 0, 0}, counts(q)); diff != "" {
			t.Errorf("ok, failed, timed-out, dropped, length (-want +got):\n%s", diff)
		}
		if q.Count("nonsense") != 0 {
			t.Error("an outcome that there is not has a count")
		}
		want := map[string]string{"level": "WARN", "event": "b:2", "kind": "switched", "outcome": "failed", "err": "why"}
		if said := log.said("could not tell of an event"); len(said) != 3 || !cmp.Equal(want, said[0]) {
			t.Errorf("logged %v", said)
		}
	})
}

func TestASlowHookDoesNotHoldUpAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick := &told{tell: well}
		slow := newQueue(t, QueueConfig{Hook: &told{tell: held(nil)}})
		fast := newQueue(t, QueueConfig{Hook: quick})
		stopSlow, stopFast := running(slow), running(fast)
		for n := range uint64(20) {
			slow.Add(Event{Number: n + 1})
			fast.Add(Event{Number: n + 1})
		}
		synctest.Wait()
		if got := quick.list(); len(got) != 20 || slow.Length() != 20 || fast.Length() != 0 {
			t.Errorf("%d were told, %d and %d are waiting", len(got), slow.Length(), fast.Length())
		}
		stopSlow()
		stopFast()
	})
}

func TestAFullQueueDropsTheOldestThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan Outcome)
		h := &told{tell: held(letGo)}
		var delivered []uint64
		log := &records{}
		q := newQueue(t, QueueConfig{Hook: h, Capacity: 3, Delivered: func(n uint64) { delivered = append(delivered, n) }, Log: slog.New(log)})
		stop := running(q)
		q.Add(Event{Number: 1, BootID: "b"})
		synctest.Wait() // it is being told
		for n := uint64(2); n <= 9; n++ {
			q.Add(Event{Number: n, BootID: "b"})
		}
		if diff := cmp.Diff([]uint64{0, 0, 0, 5, 4}, counts(q)); diff != "" {
			t.Errorf("ok, failed, timed-out, dropped, length (-want +got):\n%s", diff)
		}
		for range 4 {
			letGo <- OK
			synctest.Wait()
		}
		stop()
		if diff := cmp.Diff([]uint64{1, 7, 8, 9}, delivered); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]uint64{4, 0, 0, 5, 0}, counts(q)); diff != "" {
			t.Errorf("ok, failed, timed-out, dropped, length (-want +got):\n%s", diff)
		}
		if n := len(log.said("events are dropped: the hook is too slow, or its receiver is down")); n != 1 {
			t.Errorf("the beginning was logged %d times", n)
		}
		if said := log.said("events were dropped before this one"); len(said) != 1 || said[0]["dropped"] != "5" || said[0]["event"] != "b:7" {
			t.Errorf("logged %v", said)
		}
	})
}

func TestWhatWasAddedIsNotAddedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &told{tell: well}
		q := newQueue(t, QueueConfig{Hook: h})
		stop := running(q)
		for range 3 {
			for n := range uint64(5) {
				q.Add(Event{Number: n + 1})
			}
			synctest.Wait()
		}
		stop()
		if diff := cmp.Diff(numbers(1, 5), h.list()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

func TestAFloodStaysBoundedAndWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan Outcome)
		h := &told{tell: held(letGo)}
		q := newQueue(t, QueueConfig{Hook: h})
		stop := running(q)
		line := strings.Repeat("x", 1<<20)
		const flood = 100_000
		q.Add(Event{Number: 1})
		synctest.Wait()
		most, room := 0, 0
		for n := uint64(2); n <= flood; n++ {
			q.Add(Event{Number: n, Line: line, Summary: line})
			most, room = max(most, q.Length()), max(room, cap(q.waiting))
		}
		if most != DefaultCapacity+1 || room > 4*DefaultCapacity {
			t.Errorf("%d events at most, in room for %d", most, room)
		}
		if got, want := q.Count(Dropped), uint64(flood-1-DefaultCapacity); got != want {
			t.Errorf("%d were dropped, want %d", got, want)
		}
		for _, e := range q.waiting {
			if len(e.Line) > maxText || len(e.Summary) > maxText {
				t.Fatalf("a line of %d and a summary of %d bytes are kept", len(e.Line), len(e.Summary))
			}
		}
		for range DefaultCapacity + 1 {
			letGo <- OK
		}
		synctest.Wait()
		stop()
		if diff := cmp.Diff(append([]uint64{1}, numbers(flood-DefaultCapacity+1, flood)...), h.list()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

func TestAnEventThatIsBeingToldAtTheEndHasNoOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delivered []uint64
		h := &told{tell: held(nil)}
		q := newQueue(t, QueueConfig{Hook: h, Delivered: func(n uint64) { delivered = append(delivered, n) }})
		stop := running(q)
		q.Add(Event{Number: 1})
		q.Add(Event{Number: 2})
		synctest.Wait()
		stop()
		if diff := cmp.Diff([]uint64{0, 0, 0, 0, 2}, counts(q)); diff != "" || delivered != nil {
			t.Errorf("delivered %v; ok, failed, timed-out, dropped, length (-want +got):\n%s", delivered, diff)
		}
		if diff := cmp.Diff([]uint64{1}, h.list()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

func TestAnEventThatWasToldAtTheEndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delivered []uint64
		h := &told{tell: func(ctx context.Context, _ Event) (Outcome, error) { <-ctx.Done(); return OK, nil }}
		q := newQueue(t, QueueConfig{Hook: h, Delivered: func(n uint64) { delivered = append(delivered, n) }})
		stop := running(q)
		q.Add(Event{Number: 1})
		synctest.Wait()
		stop()
		if diff := cmp.Diff([]uint64{1}, delivered); diff != "" || q.Count(OK) != 1 {
			t.Errorf("%d told; delivered (-want +got):\n%s", q.Count(OK), diff)
		}
	})
}

func TestTheCountersCanBeReadWhileEventsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, QueueConfig{Hook: &told{tell: well}, Capacity: 4})
		stop := running(q)
		var all sync.WaitGroup
		all.Go(func() {
			for n := range uint64(2000) {
				q.Add(Event{Number: n + 1})
			}
		})
		all.Go(func() {
			for range 2000 {
				if n := q.Length(); n < 0 || n > 5 {
					t.Errorf("a length of %d", n)
				}
				counts(q)
			}
		})
		all.Wait()
		synctest.Wait()
		stop()
		if n := q.Count(OK) + q.Count(Dropped); n != 2000 || q.Length() != 0 {
			t.Errorf("%d of 2000 have an outcome, %d are waiting", n, q.Length())
		}
	})
}

func TestAnEventMayBeAddedWhenAnotherWasDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &told{tell: well}
		var q *Queue
		q = newQueue(t, QueueConfig{Hook: h, Delivered: func(n uint64) {
			if n < 5 {
				q.Add(Event{Number: n + 1})
			}
		}})
		stop := running(q)
		q.Add(Event{Number: 1})
		synctest.Wait()
		stop()
		if diff := cmp.Diff(numbers(1, 5), h.list()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

func TestAQueueNeedsAHook(t *testing.T) {
	if q, err := NewQueue(QueueConfig{Capacity: -1}); err == nil || q != nil || !strings.Contains(err.Error(), "capacity of -1") || !strings.Contains(err.Error(), "no hook") {
		t.Errorf("%v, %v", q, err)
	}
}
