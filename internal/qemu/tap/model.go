package tap

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Model draws how long the processor is held each time.
type Model interface {
	Next() time.Duration // 0: not at all
	String() string      // the model with its parameters, for reports
}

// Sometimes holds with a probability, each time independent of the others, for
// a time that is equally likely anywhere between two bounds.
type Sometimes struct {
	P         float64
	Low, High time.Duration
	seed      uint64
	rng       *rand.Rand
}

// NewSometimes returns the model with that seed. p is 0 to 1, low at most high.
func NewSometimes(p float64, low, high time.Duration, seed uint64) (*Sometimes, error) {
	if !(p >= 0 && p <= 1) || low < 0 || high < low {
		return nil, fmt.Errorf("delay model: probability %v, %v to %v: want 0 to 1, and bounds in order", p, low, high)
	}
	return &Sometimes{P: p, Low: low, High: high, seed: seed, rng: rand.New(rand.NewPCG(seed, 0))}, nil
}

// Next draws the next time.
func (s *Sometimes) Next() time.Duration {
	hold, at := s.rng.Float64() < s.P, s.rng.Float64() // both, so that a draw never depends on p
	if !hold {
		return 0
	}
	return s.Low + time.Duration(at*float64(s.High-s.Low))
}

// String names the model.
func (s *Sometimes) String() string {
	return fmt.Sprintf("with probability %v, %v to %v, seed %d", s.P, s.Low, s.High, s.seed)
}
