package campaign

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Where a delay falls.
const (
	// OnClock lengthens the time between the two reads of the reference around that
	// of the TSC, once for each attempt: what the watchdog takes for a slow read-back.
	OnClock = "clock"
	// OnReference comes before every read of the reference, so that it is seen to be
	// slow against itself, too.
	OnReference = "reference"
)

// Delay is a model of programmed read delays: a chain of two states. Out of an
// episode, each draw enters one with probability In; within one, each draw leaves
// with probability Out. What is drawn within an episode is delayed, by a time that
// is equally likely anywhere from Low to High. The zero value is no delay.
type Delay struct {
	In, Out   float64
	Low, High time.Duration
	On        string // OnClock or OnReference; "" for no delay
}

// None reports that nothing is delayed.
func (d Delay) None() bool { return d == Delay{} }

// noneText stands for no delay and no fault.
const noneText = "none"

// ParseDelay reads a model:
//
//	none
//	always 400us                            every draw
//	iid p=0.25 120us..300us                 each with the same probability
//	burst in=0.003 out=0.15 120us..300us    episodes
//
// A range may be a single time. "on reference" behind it delays every read of the
// reference instead of the read-back of the TSC.
func ParseDelay(text string) (Delay, error) {
	d, err := parseDelay(strings.Fields(text))
	if err != nil {
		return Delay{}, fmt.Errorf("delay %q: %w", text, err)
	}
	return d, nil
}

func parseDelay(words []string) (Delay, error) {
	if len(words) == 0 || len(words) == 1 && words[0] == noneText {
		return Delay{}, nil
	}
	d := Delay{On: OnClock}
	if n := len(words); n >= 2 && words[n-2] == "on" {
		d.On, words = words[n-1], words[:n-2]
		if d.On != OnClock && d.On != OnReference {
			return Delay{}, fmt.Errorf("on %q: want on %s or on %s", d.On, OnClock, OnReference)
		}
	}
	if len(words) == 0 {
		return Delay{}, errDelayForm
	}
	kind, words := words[0], words[1:]
	var names []string
	switch kind {
	case "always":
	case "iid":
		names = []string{"p"}
	case "burst":
		names = []string{"in", "out"}
	default:
		return Delay{}, errDelayForm
	}
	if len(words) != len(names)+1 {
		return Delay{}, errDelayForm
	}
	p := []float64{1, 0}
	for i, name := range names {
		digits, ok := strings.CutPrefix(words[i], name+"=")
		v, err := strconv.ParseFloat(digits, 64)
		if !ok || err != nil || !(v >= 0 && v <= 1) {
			return Delay{}, fmt.Errorf("%q: want %s=, from 0 to 1", words[i], name)
		}
		p[i] = v
	}
	if kind == "iid" {
		p[1] = 1 - p[0]
	}
	d.In, d.Out = p[0], p[1]
	var err error
	d.Low, d.High, err = parseRange(words[len(names)])
	return d, err
}

var errDelayForm = fmt.Errorf("want %s, always TIME, iid p=P TIME..TIME, or burst in=P out=P TIME..TIME", noneText)

// longestDelay bounds a delay: the kernel's soft lockup detector wakes up after 20 s.
const longestDelay = time.Second

func parseRange(text string) (low, high time.Duration, err error) {
	first, second, isRange := strings.Cut(text, "..")
	if !isRange {
		second = first
	}
	if low, err = time.ParseDuration(first); err == nil {
		high, err = time.ParseDuration(second)
	}
	if err != nil || low < 0 || high < low || high == 0 || high > longestDelay {
		return 0, 0, fmt.Errorf("%q: want a time up to %v, or a range such as 120us..300us", text, longestDelay)
	}
	return low, high, nil
}

// String writes the model as ParseDelay reads it.
func (d Delay) String() string {
	if d.None() {
		return noneText
	}
	p := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	var b strings.Builder
	switch {
	case d.In == 1 && d.Out == 0:
		b.WriteString("always ")
	case d.Out == 1-d.In:
		b.WriteString("iid p=" + p(d.In) + " ")
	default:
		b.WriteString("burst in=" + p(d.In) + " out=" + p(d.Out) + " ")
	}
	b.WriteString(shortTime(d.Low))
	if d.High != d.Low {
		b.WriteString(".." + shortTime(d.High))
	}
	if d.On == OnReference {
		b.WriteString(" on " + OnReference)
	}
	return b.String()
}

// shortTime writes a time with a plain u for micro, so that a file needs no Greek.
func shortTime(t time.Duration) string { return strings.ReplaceAll(t.String(), "µ", "u") }

// UnmarshalText reads a model; see ParseDelay.
func (d *Delay) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDelay(string(b))
	return err
}

// MarshalText writes it.
func (d Delay) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Chain draws delays, one after the other.
type Chain struct {
	d    Delay
	seed uint64
	rng  *rand.Rand
	in   bool
}

// Chain returns a chain that is not in an episode. The same seed draws the same.
func (d Delay) Chain(seed uint64) *Chain {
	return &Chain{d: d, seed: seed, rng: rand.New(rand.NewPCG(seed, 0))}
}

// Next draws the next delay, 0 for none.
func (c *Chain) Next() time.Duration {
	move, at := c.rng.Float64(), c.rng.Float64() // both, so that a draw never depends on the state
	if c.in {
		c.in = move >= c.d.Out
	} else {
		c.in = move < c.d.In
	}
	if !c.in {
		return 0
	}
	return c.d.Low + time.Duration(at*float64(c.d.High-c.d.Low))
}

// String names the model and the seed, for reports.
func (c *Chain) String() string { return fmt.Sprintf("%s, seed %d", c.d, c.seed) }
