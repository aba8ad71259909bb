package perf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Target is whose code is sampled. The zero value is the own process.
type Target struct {
	All  bool  `json:"all"`  // every process, on every CPU
	PIDs []int `json:"pids"` // these processes with their threads, and what they start meanwhile; none for the own
}

// String names the target.
func (t Target) String() string {
	switch {
	case t.All:
		return "all processes"
	case len(t.PIDs) == 0:
		return "the own process"
	case len(t.PIDs) == 1:
		return fmt.Sprintf("process %d", t.PIDs[0])
	}
	var names []string
	for _, pid := range t.PIDs {
		names = append(names, fmt.Sprint(pid))
	}
	return "processes " + strings.Join(names, ", ")
}

// Config is what to sample and how. The zero value samples the own process 997 times a second and CPU.
type Config struct {
	Target Target `json:"target"`
	// Events are tried in this order, and the first that works is sampled. None is all, the best first.
	Events []Event `json:"events"`
	// Frequency is how many samples to take a second and CPU, or Period after how much
	// of the event to take one: one of the two. 0 and 0 is [DefaultFrequency].
	Frequency int    `json:"frequency_hz"`
	Period    uint64 `json:"period"`
	// Chains asks for call chains, which user code built without frame pointers does not give.
	Chains bool `json:"chains"`
	// UserOnly leaves out what the kernel does.
	UserOnly bool `json:"user_only"`
}

// DefaultFrequency is a prime number, so that samples do not keep step with the kernel's tick.
const DefaultFrequency = 997

// maxFrequency is far over what any kernel allows by default (100 000).
const maxFrequency = 1_000_000

// Validate returns what is wrong with the configuration, all of it.
func (c Config) Validate() error {
	var errs []error
	if c.Target.All && len(c.Target.PIDs) > 0 {
		errs = append(errs, fmt.Errorf("all processes and %s: want one of the two", Target{PIDs: c.Target.PIDs}))
	}
	for i, pid := range c.Target.PIDs {
		if pid <= 0 {
			errs = append(errs, fmt.Errorf("process %d: want a process ID from 1 on", pid))
		}
		if slices.Contains(c.Target.PIDs[:i], pid) {
			errs = append(errs, fmt.Errorf("process %d is named twice", pid))
		}
	}
	if c.Frequency < 0 || c.Frequency > maxFrequency {
		errs = append(errs, fmt.Errorf("%d samples a second: want 1 to %d", c.Frequency, maxFrequency))
	}
	if c.Frequency > 0 && c.Period > 0 {
		errs = append(errs, errors.New("a frequency and a period: want one of the two"))
	}
	if c.Period > 1<<62 {
		errs = append(errs, fmt.Errorf("a period of %d: want at most %d", c.Period, uint64(1)<<62))
	}
	for _, e := range c.Events {
		if _, err := ParseEvent(string(e)); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("plan a profile: %w", err)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if len(c.Events) == 0 {
		c.Events = Events()
	}
	if c.Frequency == 0 && c.Period == 0 {
		c.Frequency = DefaultFrequency
	}
	return c
}
