package loopback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// edges are what Run needs of a machine; tests have their own.
type edges struct {
	now     func() time.Duration
	current func() string // the clocksource, "" if not known
	cpus    func() ([]int, error)
	// measure measures one round; clocksource, block and start are not its to fill.
	measure func(context.Context, Plan, Test) (Round, error)
}

// Run measures what the plan asks for. What was measured comes also with an error: [ErrChanged] where the clocksource
// became another by itself, that of ctx where it was done, that of [Plan.Select], or what went wrong.
func Run(ctx context.Context, p Plan) (Outcome, error) {
	if err := p.Validate(); err != nil {
		return Outcome{}, err
	}
	e, err := here()
	if err != nil {
		return Outcome{}, err
	}
	return e.run(ctx, p)
}

// run is one run of Run.
type run struct {
	edges
	Outcome
	began  time.Duration
	wanted string // the clocksource that must be current
}

func (e edges) run(ctx context.Context, p Plan) (Outcome, error) {
	cpus, err := e.cpus()
	if err != nil {
		return Outcome{}, err
	}
	if len(cpus) == 0 {
		return Outcome{}, errors.New("measure loopback: the process may use no CPU")
	}
	r := &run{edges: e, began: e.now(), wanted: e.current()}
	r.Plan, r.Clocksource = p.withDefaults(), r.wanted
	if r.Plan.Pin == nil {
		pin := defaultPlacement(cpus)
		r.Plan.Pin = &pin
		if len(cpus) == 1 {
			r.warn(WarnOneCPU, "client and server share CPU %d, the only one that the process may use: they take turns, which is slower than side by side", cpus[0])
		}
	}
	if len(r.Plan.Sources) == 0 {
		r.Plan.Sources, r.Plan.Select = []string{r.wanted}, nil
	}
	for _, test := range r.Plan.Tests {
		if err = r.test(ctx, test); err != nil {
			break
		}
	}
	for _, test := range r.Plan.Tests {
		results, verdicts := Summarise(r.Plan, test, r.Rounds)
		r.Results, r.Verdicts = append(r.Results, results...), append(r.Verdicts, verdicts...)
	}
	r.Warnings = append(r.Warnings, doubts(r.Plan, r.Results)...)
	if err != nil {
		r.warn(WarnPartial, "the run ended before everything was measured: %v", err)
	}
	r.ClocksourceAfter = r.current()
	r.Seconds = (r.now() - r.began).Seconds()
	return r.Outcome, err
}

func (r *run) warn(code, format string, args ...any) {
	r.Warnings = append(r.Warnings, Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}

// test measures blocks until the intervals are narrow or the next block would take too long.
func (r *run) test(ctx context.Context, test Test) error {
	began := r.now()
	for n := 0; ; n++ {
		before := r.now()
		for _, source := range block(r.Plan.Sources) {
			if err := r.round(ctx, test, source, n); err != nil {
				return err
			}
		}
		results, _ := Summarise(r.Plan, test, r.Rounds)
		narrow := !slices.ContainsFunc(results, func(r Result) bool { return !r.ReachedWidth })
		now := r.now()
		if narrow || now-began+now-before > r.Plan.Most {
			return nil
		}
	}
}

// round measures one round under a clocksource.
func (r *run) round(ctx context.Context, test Test, source string, block int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.same(); err != nil {
		return err
	}
	if r.wanted != source {
		if err := r.Plan.Select(ctx, source); err != nil {
			return fmt.Errorf("select the clocksource %s: %w", source, err)
		}
		r.wanted = source
		if err := r.same(); err != nil {
			return err
		}
	}
	start := r.now() - r.began
	round, err := r.measure(ctx, r.Plan, test)
	if err == nil {
		err = r.same()
	}
	if err != nil {
		return err // and nobody knows what the round is worth
	}
	round.Clocksource, round.Test, round.Block, round.Start = source, test, block, start.Seconds()
	r.Rounds = append(r.Rounds, round)
	return nil
}

// same fails where the clocksource is not the one that it should be.
func (r *run) same() error {
	if now := r.current(); now != r.wanted {
		return fmt.Errorf("%w: it should be %s and is %s", ErrChanged, r.wanted, now)
	}
	return nil
}
