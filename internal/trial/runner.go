package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/dispatch"
	"github.com/cswatch/cswatch/internal/store"
)

// Runner carries out a campaign.
type Runner struct {
	Plan     *campaign.Plan
	Store    *store.Store
	Executor Executor
	// Slots is how many idle guests run side by side; a busy one takes several.
	Slots int
	// Most bounds the trials of this run, 0 for no bound.
	Most int
	// Tell is told of every trial that is over, if not nil, from one goroutine at a time.
	Tell func(Progress)

	ready    bool
	mu       sync.Mutex
	verdicts map[string]campaign.Verdict
	results  []*campaign.Result
	done     int
	pending  int
}

// Progress is how far a run is.
type Progress struct {
	Result  *campaign.Result
	Done    int // trials that are over, also of earlier runs
	Pending int // trials that are known to follow; rules and searches may add or spare some
}

// ErrMost says that a run ended because of its bound.
var ErrMost = errors.New("the number of trials that was asked for is reached")

// Run carries out what is missing. When ctx ends no trial is begun any more, and
// those that run are brought to their end; when hard ends, they are given up, and
// the next run counts them as lost.
func (r *Runner) Run(ctx, hard context.Context) error {
	if err := r.recall(); err != nil {
		return err
	}
	if err := r.Ready(ctx); err != nil {
		return err
	}
	slots := semaphore.NewWeighted(int64(r.Slots))
	// After a failure, such as a full disk, no trial is begun that would be lost, too.
	begin, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for carried := 0; ; {
		next, err := r.Plan.Next(r.known)
		if err != nil || len(next) == 0 {
			return err
		}
		r.pending = len(next)
		bounded := r.Most > 0 && carried+len(next) > r.Most
		if bounded {
			next = next[:r.Most-carried]
		}
		work := func() dispatch.Work[struct{}] {
			return func(_ context.Context, n int) (struct{}, error) {
				t := &next[n]
				cost := int64(max(min(r.Executor.Cost(t, r.Slots), r.Slots), 1))
				if err := slots.Acquire(begin, cost); err != nil {
					return struct{}{}, context.Cause(begin)
				}
				defer slots.Release(cost)
				if begin.Err() != nil { // a free slot is given out all the same
					return struct{}{}, context.Cause(begin)
				}
				err := r.carry(hard, t)
				if err != nil {
					stop(err)
				}
				return struct{}{}, err
			}
		}
		if err := dispatch.Run(ctx, len(next), r.Slots, work, func(int, struct{}) error { return nil }); err != nil {
			return err
		}
		if carried += len(next); bounded {
			return ErrMost
		}
	}
}

// Ready finds out whether the campaign can be carried out. It needs no store, so that
// a folder is made only for what can be; Run calls it where nobody has.
func (r *Runner) Ready(ctx context.Context) error {
	if r.ready {
		return nil
	}
	cells, err := r.cells()
	if err == nil {
		err = r.Executor.Ready(ctx, cells, r.results)
	}
	r.ready = err == nil
	return err
}

// cells are all that trials may be of, as far as it is known now.
func (r *Runner) cells() ([]campaign.Cell, error) {
	planned, err := r.Plan.Cells()
	if err != nil {
		return nil, err
	}
	var cells []campaign.Cell
	for i := range planned {
		cells = append(cells, planned[i].Cell)
	}
	for _, e := range r.Plan.Edges(func(string) (campaign.Verdict, bool) { return campaign.Verdict{}, false }) {
		c := e.Cell
		c.Fault = campaign.Fault{Kind: campaign.Step, CPU: campaign.AllCPUs, By: time.Millisecond}
		cells = append(cells, c)
	}
	return cells, nil
}

// recall takes in what the store has.
func (r *Runner) recall() error {
	var err error
	r.results, err = Results(r.Store)
	r.verdicts = map[string]campaign.Verdict{}
	for _, result := range r.results {
		r.verdicts[result.Trial.ID] = result.Verdict()
	}
	r.done = len(r.results)
	return err
}

// Results returns the results of all trials that are over, those that were lost included.
func Results(s *store.Store) ([]*campaign.Result, error) {
	var all []*campaign.Result
	for _, e := range s.Entries() {
		if e.State == store.Started {
			continue
		}
		result := new(campaign.Result)
		if e.State == store.Lost {
			if err := json.Unmarshal(e.Summary, result); err != nil {
				return nil, fmt.Errorf("read what is known of trial %s, which was lost: %w", e.Trial, err)
			}
		} else if err := s.Result(e.Trial, result); err != nil {
			return nil, err
		}
		all = append(all, result)
	}
	return all, nil
}

func (r *Runner) known(id string) (campaign.Verdict, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, over := r.verdicts[id]
	return v, over
}

// carry carries out one trial and keeps it.
func (r *Runner) carry(ctx context.Context, t *campaign.Trial) error {
	if err := r.Store.Begin(t.ID); err != nil {
		return err
	}
	c, err := r.Executor.Carry(ctx, t)
	if err != nil {
		return err
	}
	if err := r.Store.End(t.ID, c.Files, &c.Result, c.Result.Verdict()); err != nil {
		return err
	}
	r.over(&c.Result)
	return nil
}

func (r *Runner) over(result *campaign.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verdicts[result.Trial.ID] = result.Verdict()
	r.done++
	r.pending--
	if r.Tell != nil {
		r.Tell(Progress{Result: result, Done: r.done, Pending: r.pending})
	}
}

// Lose gives up the trials that a run left without an outcome: each is lost, and
// counted as that.
func Lose(plan *campaign.Plan, s *store.Store, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	results, err := Results(s)
	if err != nil {
		return err
	}
	known := campaign.KnownOf(results)
	for _, id := range ids {
		t, ok := plan.Find(id, known)
		if !ok {
			t = campaign.Trial{ID: id}
		}
		const why = "the program that ran it ended in the middle"
		result := campaign.Result{Trial: t, Judgement: campaign.Judgement{Outcome: campaign.Lost, Why: why}, Executor: plan.Executor, End: campaign.EndDied, EndWhy: why}
		if err := s.Lose(id, why, &result); err != nil {
			return fmt.Errorf("give up trial %s: %w", id, err)
		}
	}
	return nil
}
