package tally

import (
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// Watch is what the watchdog over the live counters saw since the program was started.
type Watch struct {
	Era         watchdog.Era   `json:"era,omitempty"` // "" before it runs
	Retries     int            `json:"retries"`
	Clock       string         `json:"clocksource,omitempty"` // the counter under test
	Reference   string         `json:"reference,omitempty"`
	Independent machine.Answer `json:"independent,omitempty"` // is the reference independent of the counter?
	Why         string         `json:"independent_why,omitempty"`
	Ticks       uint64         `json:"ticks"`
	Suspends    uint64         `json:"suspends"`

	Verdicts  map[watchdog.Kind]uint64 `json:"verdicts"`
	Delays    Histogram                `json:"readback_delays"` // seconds
	Attempts  Histogram                `json:"attempts"`
	Late      map[trace.Cause]uint64   `json:"late_reads"`
	Skew      float64                  `json:"-"` // of the last comparison, by the reference's interval; NaN before the first
	Exchanges map[Outcome]uint64       `json:"exchanges"`
	// Backwards is how many comparisons of two CPUs showed time running backwards, and Most by how many cycles at least.
	Backwards uint64             `json:"backwards"`
	Most      clocksource.Cycles `json:"backwards_cycles"`
}

// Outcome is what came of a comparison of two CPUs. The set is closed.
type Outcome string

// The outcomes.
const (
	Completed Outcome = "completed"
	Late      Outcome = "timed-out"
	Busy      Outcome = "busy"
	Failed    Outcome = "failed"
)

// Outcomes returns all of them.
func Outcomes() []Outcome { return []Outcome{Completed, Late, Busy, Failed} }

// Edges of the histograms. Those of read-back delays, in seconds, include what the eras allow a read: 50 us (5.14 to 5.16, 7.1 and
// later), 100 us (5.17 to 6.2), 125 us (6.3 to 6.11), 500 us (7.0) and 750 us (6.12.0); and the reference alone before a check
// is skipped: 50, 62.5, 250 and 500 us. See docs/eras.md.
func delayEdges() []float64 {
	return []float64{1e-6, 2e-6, 5e-6, 10e-6, 20e-6, 50e-6, 62.5e-6, 100e-6, 125e-6, 250e-6, 500e-6, 750e-6, 1e-3, 10e-3}
}

func attemptEdges() []float64 { return []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10} }

func newWatch() Watch {
	return Watch{
		Verdicts: map[watchdog.Kind]uint64{}, Late: map[trace.Cause]uint64{}, Exchanges: map[Outcome]uint64{},
		Delays: Histogram{Edges: delayEdges()}, Attempts: Histogram{Edges: attemptEdges()}, Skew: math.NaN(),
	}
}

func (w *Watch) clone() Watch {
	c := *w
	c.Verdicts, c.Late, c.Exchanges = maps.Clone(w.Verdicts), maps.Clone(w.Late), maps.Clone(w.Exchanges)
	c.Delays.Counts, c.Attempts.Counts = slices.Clone(w.Delays.Counts), slices.Clone(w.Attempts.Counts)
	return c
}

// Histogram counts values by edges: Counts[i] are those of at most Edges[i] and more than the edge before, with
// a last one for those beyond all edges. The zero value with edges is empty.
type Histogram struct {
	Edges  []float64 `json:"edges"`
	Counts []uint64  `json:"counts"`
	Sum    float64   `json:"sum"`
	Count  uint64    `json:"count"`
}

// Add counts a value.
func (h *Histogram) Add(v float64) {
	if h.Counts == nil {
		h.Counts = make([]uint64, len(h.Edges)+1)
	}
	h.Counts[sort.SearchFloat64s(h.Edges, v)]++
	h.Sum += v
	h.Count++
}

// Cumulative returns for each edge how many values are at most it.
func (h *Histogram) Cumulative() map[float64]uint64 {
	all := make(map[float64]uint64, len(h.Edges))
	sum := uint64(0)
	for i, e := range h.Edges {
		if h.Counts != nil {
			sum += h.Counts[i]
		}
		all[e] = sum
	}
	return all
}

// Watching notes what a watchdog over the live counters that begins stands on.
func (t *Tally) Watching(era watchdog.Era, retries int, clock, reference string, independent machine.Answer, why string) {
	w := &t.watch
	if w.Era != era { // the counts are of an era
		w.Verdicts = map[watchdog.Kind]uint64{}
	}
	w.Era, w.Retries, w.Clock, w.Reference, w.Independent, w.Why = era, retries, clock, reference, independent, why
}

// Check is a tick of the watchdog over the live counters.
type Check struct {
	Verdicts []watchdog.Verdict
	Delays   []clocksource.Nanos // of the read-backs that no preemption made late
	Late     []trace.Cause       // of those that were late
	Resets   int                 // how often the machine slept since the tick before
	// Exchange is what came of a comparison of two CPUs, "" where none was made.
	Exchange  Outcome
	Between   [2]int // the CPUs
	Backwards clocksource.Cycles
}

// Check takes a tick.
func (t *Tally) Check(c *Check, m Moment) {
	w := &t.watch
	w.Ticks++
	if c.Resets > 0 {
		w.Suspends += uint64(c.Resets)
		t.enter(Entry{Kind: Suspended, Moment: m, Summary: "the machine slept"})
	}
	for _, d := range c.Delays {
		w.Delays.Add(float64(d) / 1e9)
		t.history.delay(float64(d))
	}
	for _, l := range c.Late {
		w.Late[l]++
	}
	for i := range c.Verdicts {
		v := &c.Verdicts[i]
		w.Verdicts[v.Kind]++
		if v.Attempts > 0 {
			w.Attempts.Add(float64(v.Attempts))
		}
		if v.Compared && v.Reference.NS > 0 {
			w.Skew = float64(v.Skew) / float64(v.Reference.NS)
			t.history.skew(w.Skew * 1e6)
		}
		if v.Kind == watchdog.CondemnedSkew && w.Verdicts[v.Kind] == 1 && w.Independent == machine.Yes {
			t.enter(Entry{
				Kind: LiveCondemned, Moment: m, Clocksource: w.Clock, Reference: w.Reference,
				Summary: "the watchdog of era " + string(w.Era) + " over the live counters would give up " + w.Clock + " for skew against " + w.Reference,
			})
		}
	}
	if c.Exchange == "" {
		return
	}
	w.Exchanges[c.Exchange]++
	if c.Backwards == 0 {
		return
	}
	w.Backwards++
	if w.Backwards == 1 || c.Backwards > 2*w.Most {
		t.enter(Entry{Kind: Backwards, Moment: m, Clocksource: w.Clock, Summary: backwardsText(c)})
	}
	w.Most = max(w.Most, c.Backwards)
}

// Tick ends a point of the history where a minute has passed since the last one.
func (t *Tally) Tick(at time.Time) { t.history.tick(at) }
