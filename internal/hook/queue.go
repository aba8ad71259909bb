package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
)

// DefaultCapacity is how many events wait in a queue at most.
const DefaultCapacity = 256

// QueueConfig says what a queue does.
type QueueConfig struct {
	Hook     Hook // required
	Capacity int  // 0: DefaultCapacity
	// Delivered, if not nil, is called after each final outcome with the number of the event, on the goroutine
	// of Run, and may call Add. Numbers ascend. One that is left out was dropped: the next one stands for it, too.
	Delivered func(number uint64)
	Log       *slog.Logger // nil: nothing is logged
}

// Validate reports everything that is wrong with the configuration.
func (c QueueConfig) Validate() error {
	var all []error
	if c.Hook == nil {
		all = append(all, errors.New("queue events: there is no hook to tell them"))
	}
	if c.Capacity < 0 {
		all = append(all, fmt.Errorf("queue events: a capacity of %d", c.Capacity))
	}
	return errors.Join(all...)
}

// Queue holds the events that a hook has still to be told of, in order. When it is full the oldest one is dropped. All methods
// but Run may be called by several goroutines, and none of them waits for the hook.
type Queue struct {
	hook      Hook
	capacity  int
	delivered func(uint64)
	log       *slog.Logger

	mu      sync.Mutex
	waiting []Event
	last    uint64 // number of the newest that was added
	missing uint64 // dropped since Run last took one

	wake   chan struct{} // holds something when an event was added since Run looked
	runs   map[Outcome]*atomic.Uint64
	length atomic.Int64
}

// NewQueue returns an empty queue. Nothing is told until Run is called.
func NewQueue(c QueueConfig) (*Queue, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	q := &Queue{
		hook: c.Hook, capacity: c.Capacity, delivered: c.Delivered, log: logger(c.Log),
		wake: make(chan struct{}, 1), runs: map[Outcome]*atomic.Uint64{},
	}
	if q.capacity == 0 {
		q.capacity = DefaultCapacity
	}
	for _, o := range Outcomes() {
		q.runs[o] = new(atomic.Uint64)
	}
	return q, nil
}

// Add puts an event at the end of the queue. One whose number is not above that of the last one is passed over: it
// was added already, so that a caller may add what is still to be told again and again.
func (q *Queue) Add(e Event) {
	if q.add(e.bounded()) {
		q.log.Warn("events are dropped: the hook is too slow, or its receiver is down", keyEvent, e.ID())
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// add reports that an event was dropped, the first one since Run took one.
func (q *Queue) add(e Event) (first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.Number <= q.last {
		return false
	}
	q.last = e.Number
	if len(q.waiting) < q.capacity {
		q.waiting = append(q.waiting, e)
		q.length.Add(1)
		return false
	}
	q.waiting = append(q.waiting[1:], e)
	q.runs[Dropped].Add(1)
	q.missing++
	return q.missing == 1
}

// next takes the oldest event, and returns how many were dropped since the one before.
func (q *Queue) next() (e Event, missing uint64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return Event{}, 0, false
	}
	e, missing = q.waiting[0], q.missing
	q.waiting, q.missing = q.waiting[1:], 0
	if len(q.waiting) == 0 {
		q.waiting = nil // what it stood in can go
	}
	return e, missing, true
}

// Run tells the hook of event after event until the context ends, and returns then, as soon as the hook does. An event that is
// being told at that time has no outcome, and neither have those that wait: they are to be added again by the
// next program. It is called once.
func (q *Queue) Run(ctx context.Context) {
	for ctx.Err() == nil {
		e, missing, ok := q.next()
		if !ok {
			select {
			case <-ctx.Done():
			case <-q.wake:
			}
			continue
		}
		if missing > 0 {
			q.log.Warn("events were dropped before this one", keyEvent, e.ID(), keyDropped, missing)
		}
		outcome, err := q.hook.Tell(ctx, e)
		if ctx.Err() != nil && outcome != OK {
			q.log.Info("the program ends before an event was told", keyEvent, e.ID(), keyError, err)
			return
		}
		q.settle(e, outcome, err)
	}
}

// settle counts what became of an event, and says so.
func (q *Queue) settle(e Event, outcome Outcome, err error) {
	runs, known := q.runs[outcome]
	if !known {
		outcome, runs = Failed, q.runs[Failed]
	}
	runs.Add(1)
	q.length.Add(-1)
	if outcome == OK {
		q.log.Info("told of an event", keyEvent, e.ID(), keyKind, string(e.Kind), keyOutcome, string(outcome))
	} else {
		q.log.Warn("could not tell of an event", keyEvent, e.ID(), keyKind, string(e.Kind), keyOutcome, string(outcome), keyError, err)
	}
	if q.delivered != nil {
		q.delivered(e.Number)
	}
}

// Count returns how many events had an outcome.
func (q *Queue) Count(o Outcome) uint64 {
	if n, known := q.runs[o]; known {
		return n.Load()
	}
	return 0
}

// Length returns how many events have no outcome yet: those that wait, and the one that is being told.
func (q *Queue) Length() int { return int(q.length.Load()) }
