package perf

import (
	"context"
	"fmt"
	"strings"
)

// Refused is the error of a profile for which no event could be opened.
type Refused struct {
	Target       Target
	Attempts     []Attempt
	Restrictions []Restriction // what is known to be in the way
}

// Error says what was tried, why it could not be had and how to allow it.
func (e *Refused) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "profile %s: %s", e.Target, Got(e.Attempts))
	for _, r := range e.Restrictions {
		fmt.Fprintf(&b, "\n%s: %s; to allow it, %s", r.ID, r.Why, r.HowToAllow)
	}
	return b.String()
}

// Take takes a profile until ctx ends, or the processes that are profiled do. A
// cancelled context is no error: it is how a profile ends.
func Take(ctx context.Context, c Config, cache *Cache) (*Profile, error) {
	s, err := Open(c, cache)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.Start(); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
	case <-s.Ended():
	}
	return s.Stop()
}
