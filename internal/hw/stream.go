package hw

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// Stream takes read-backs by a plan. One goroutine at a time may use it.
type Stream struct {
	plan   Plan
	source source
	ran    bool
}

// source is where the ticks of a stream come from: this process, or a child.
type source interface {
	reference() Counter
	// run hands out ticks until the plan is done or the context ends.
	run(ctx context.Context, p Plan, each func(*Tick) error) error
	close() error
}

// OpenStream checks the plan and opens its reference. The error is a *NotHere
// where the reference cannot be read; it wraps ErrTooFast where the plan reads faster than a watchdog
// without accepting the loss of the TSC. Close must be called.
//
// For the ACPI PM timer it starts a child, which asks for the port's permission, takes all read-backs of
// the plan on one thread, and ends with the stream. The program must have
// called ChildMain.
func OpenStream(p Plan) (*Stream, error) { return openStream(p, openSource) }

func openStream(p Plan, open func(Plan) (source, error)) (*Stream, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	p = p.withDefaults()
	if len(p.CPUs) == 0 {
		cpus, err := AllowedCPUs()
		if err != nil {
			return nil, err
		}
		p.CPUs = cpus
	}
	s, err := open(p)
	if err != nil {
		return nil, fmt.Errorf("take read-backs of %s: %w", p.Reference, err)
	}
	return &Stream{plan: p, source: s}, nil
}

// Plan returns the plan with everything filled in.
func (s *Stream) Plan() Plan { return s.plan }

// Reference describes what is read back.
func (s *Stream) Reference() Counter { return s.source.reference() }

// Run hands each tick to the function, in the caller's goroutine, until the plan
// is done, the context ends (which is no error) or the function fails. The tick is the
// function's only until it returns. A stream runs once.
func (s *Stream) Run(ctx context.Context, each func(*Tick) error) error {
	if s.ran {
		return errors.New("take read-backs: the stream has run already")
	}
	s.ran = true
	if s.plan.Exchange == 0 {
		return s.source.run(ctx, s.plan, each)
	}
	team := NewTeam()
	defer team.Close()
	return s.source.run(ctx, s.plan, func(t *Tick) error {
		t.Exchange = nil
		control, remote := s.plan.pair(t.Number)
		if control != remote {
			e, err := team.Exchange(control, remote, s.plan.Exchange)
			if err != nil {
				return err
			}
			t.Exchange = &e
		}
		return each(t)
	})
}

// pair returns the CPUs to compare at a tick; twice the same where it is nobody's turn.
func (p Plan) pair(tick int) (control, remote int) {
	cpu := p.CPUs[tick%len(p.CPUs)]
	if p.AlsoBoot {
		return p.BootCPU, cpu
	}
	return cpu, p.CPUs[(tick+1)%len(p.CPUs)]
}

// Close gives the reference back, or ends the child.
func (s *Stream) Close() error { return s.source.close() }

// localSource takes read-backs in this process.
type localSource struct {
	rig   rig
	shut  func() error
	sleep func(ctx context.Context, d time.Duration) error
}

func (l *localSource) reference() Counter { return l.rig.reference }

func (l *localSource) close() error { return l.shut() }

// run has the loop in the caller's goroutine, whose thread is bound only while it reads.
func (l *localSource) run(ctx context.Context, p Plan, each func(*Tick) error) error {
	r := l.rig
	r.wait = func(until clocksource.Nanos) bool {
		if d := time.Duration(until - r.now()); d > 0 {
			return l.sleep(ctx, d) != nil
		}
		return ctx.Err() != nil
	}
	return r.run(p, each)
}

// Pause sleeps, or returns the context's error when that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
