package loopback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Confidence is that of all intervals.
const Confidence = 0.95

// Limits of a plan.
const (
	maxSources = 16
	maxCPU     = 8191
	MostTime   = time.Hour   // of a test
	MostRound  = time.Minute // of a round, and of its warm-up
)

// Plan says what Run measures. The zero value of each field is useful.
type Plan struct {
	Tests []Test `json:"tests"` // none: all of them
	// Sources are the clocksources to measure under. None: the one that is current, and nothing is selected.
	Sources []string `json:"sources"`
	// Select makes a clocksource the current one before a round, when it is not. An error ends the run.
	Select func(ctx context.Context, name string) error `json:"-"`
	// Pin is where the threads run. nil: the client on the second of the CPUs that
	// the process may use, mostly 1, and the server on the first one.
	Pin    *Placement    `json:"pin"`
	Size   int           `json:"size_bytes"` // of a message; 0: 128 KiB in a stream, and 1 otherwise
	Flows  int           `json:"flows"`      // connections at once; 0: one
	WarmUp time.Duration `json:"warm_up_ns"` // before the window of each round; 0: 200 ms
	Round  time.Duration `json:"round_ns"`   // the window; 0: 1 s
	Most   time.Duration `json:"most_ns"`    // that a test takes, but for its first block; 0: 30 s
	// Width is the half width of an interval, as a share of the value, at which a test is done; 0: 0.025.
	Width float64 `json:"width_ratio"`
}

// withDefaults fills what is left to the package but the CPUs and the size, which depends on the test.
func (p Plan) withDefaults() Plan {
	if len(p.Tests) == 0 {
		p.Tests = Tests()
	}
	if p.Flows == 0 {
		p.Flows = 1
	}
	for _, d := range []struct {
		of        *time.Duration
		otherwise time.Duration
	}{{&p.WarmUp, 200 * time.Millisecond}, {&p.Round, time.Second}, {&p.Most, 30 * time.Second}} {
		if *d.of == 0 {
			*d.of = d.otherwise
		}
	}
	if p.Width == 0 {
		p.Width = 0.025
	}
	return p
}

// size is that of the messages of a test.
func (p Plan) size(t Test) int {
	if p.Size == 0 {
		return t.DefaultSize()
	}
	return p.Size
}

// defaultPlacement is where the threads run if nobody says.
func defaultPlacement(cpus []int) Placement {
	return Placement{Client: cpus[min(1, len(cpus)-1)], Server: cpus[0]}
}

// Validate reports everything that is wrong with the plan, joined.
func (p Plan) Validate() error {
	var wrong []error
	add := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("plan of a loopback benchmark: "+format, args...))
	}
	for i, t := range p.Tests {
		if _, err := (Traffic{Test: t, Size: p.Size, Flows: p.Flows}).filled(); err != nil {
			add("%w", err)
		}
		if slices.Contains(p.Tests[:i], t) {
			add("the test %s is named twice", t)
		}
	}
	if len(p.Tests) == 0 {
		if _, err := (Traffic{Test: Stream, Size: p.Size, Flows: p.Flows}).filled(); err != nil {
			add("%w", err)
		}
	}
	for i, s := range p.Sources {
		if s == "" || slices.Contains(p.Sources[:i], s) {
			add("the clocksource %q is empty or named twice", s)
		}
	}
	if len(p.Sources) > maxSources {
		add("%d clocksources, want at most %d", len(p.Sources), maxSources)
	}
	if len(p.Sources) > 0 && p.Select == nil {
		add("there are clocksources and nothing that selects them")
	}
	if p.Pin != nil {
		for _, cpu := range []int{p.Pin.Client, p.Pin.Server} {
			if cpu < 0 || cpu > maxCPU {
				add("CPU %d, want 0 to %d", cpu, maxCPU)
			}
		}
	}
	for _, d := range []struct {
		what      string
		got, most time.Duration
	}{{"the warm-up", p.WarmUp, MostRound}, {"a round", p.Round, MostRound}, {"a test", p.Most, MostTime}} {
		if d.got < 0 || d.got > d.most {
			add("%v for %s, want at most %v", d.got, d.what, d.most)
		}
	}
	if !(p.Width >= 0 && p.Width < 1) {
		add("intervals within %v of the value, want a share above 0 and below 1", p.Width)
	}
	return errors.Join(wrong...)
}

// block is the order of a block: through the clocksources and back. One alone is measured once.
func block(sources []string) []string {
	if len(sources) < 2 {
		return sources
	}
	back := slices.Clone(sources)
	slices.Reverse(back)
	return append(slices.Clone(sources), back...)
}
