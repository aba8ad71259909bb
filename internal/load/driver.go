package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Driver drives a load. The zero value drives none.
type Driver struct {
	Kind Kind
	// AcceptLosingTSC allows a load that reads the HPET, although its latency can
	// cost this machine its TSC until it is booted anew.
	AcceptLosingTSC bool

	hpet string // the device, "" for /dev/hpet: tests have a file of their own
	cpus []int  // nil for all that the process may use
}

// ErrLosesTSC is the error of a load that can cost the machine its TSC and was
// not allowed to.
var ErrLosesTSC = errors.New("reading the HPET without a pause can cost this machine its TSC until it is booted anew: choose another load, or accept the loss")

// Running is a load that is being driven.
type Running struct {
	began   time.Time
	workers sync.WaitGroup
	done    chan struct{} // closed when work and err are there

	mu   sync.Mutex
	work Work
	errs []error
}

// Start starts the load and returns when all of it is under way. The load ends
// when ctx does; [Running.Wait] must then be called. On an error nothing runs.
func (d Driver) Start(ctx context.Context) (*Running, error) {
	if d.Kind == "" {
		d.Kind = None
	}
	fail := func(err error) (*Running, error) {
		return nil, fmt.Errorf("drive the load %s: %w", d.Kind, err)
	}
	if _, err := Parse(string(d.Kind)); err != nil {
		return fail(err)
	}
	if d.Kind.ReadsHPET() && !d.AcceptLosingTSC {
		return fail(ErrLosesTSC)
	}
	r := &Running{began: time.Now(), done: make(chan struct{}), work: Work{Kind: d.Kind}}
	ctx, abort := context.WithCancel(ctx)
	end := func() {}
	if !d.Kind.Quiet() {
		var err error
		if end, err = d.drive(ctx, r); err != nil {
			abort()
			r.workers.Wait()
			end()
			return fail(err)
		}
	}
	go func() {
		<-ctx.Done()
		abort()
		r.workers.Wait()
		r.work.DrivenNS = int64(time.Since(r.began))
		end()
		close(r.done)
	}()
	return r, nil
}

// Wait waits until the load has ended, and returns what it did and what went
// wrong on the way. It does not end the load: the context of Start does.
func (r *Running) Wait() (Work, error) {
	<-r.done
	if err := errors.Join(r.errs...); err != nil {
		return r.work, fmt.Errorf("drive the load %s: %w", r.work.Kind, err)
	}
	return r.work, nil
}

// Run drives the load until ctx ends.
func (d Driver) Run(ctx context.Context) (Work, error) {
	r, err := d.Start(ctx)
	if err != nil {
		return Work{}, err
	}
	return r.Wait()
}

// add takes in what one worker did.
func (r *Running) add(w Work, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.work.Loops += w.Loops
	r.work.Reads += w.Reads
	r.work.Bytes += w.Bytes
	if err != nil {
		r.errs = append(r.errs, err)
	}
}
