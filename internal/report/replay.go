package report

import (
	"io"
	"slices"

	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// Schemas of the documents about recordings.
const (
	ReplaySchema       = "cswatch.replay/v1"
	VerificationSchema = "cswatch.trace-verify/v1"
)

// Replay is what several watchdogs made of one recording.
type Replay struct {
	Schema    string          `json:"schema"`
	Inputs    ReplayInputs    `json:"inputs"`
	Recording trace.Report    `json:"recording"`
	Columns   []*ReplayColumn `json:"columns"`
}

// ReplayInputs is what was asked for.
type ReplayInputs struct {
	File string `json:"file"` // - is standard input
	// Eras are as they were given, and empty for E0 to E12.
	Eras []string `json:"eras"`
	// Retries are as they were given, and empty for those of each era.
	Retries []int `json:"retries"`
}

// Where the retries of a column come from.
const (
	RetriesGiven   = "parameter" // of the kernel, as the user gave it
	RetriesDefault = "default"   // of the era
	RetriesCPUs    = "cpus"      // the era works them out from the number of online CPUs
)

// ReplayColumn counts what one watchdog decided. Make it with [NewReplayColumn].
type ReplayColumn struct {
	Watch
	RetriesBy  string `json:"retries_by"`
	Checks     uint64 `json:"checks"`      // recorded ticks at which the watchdog ran
	PassedOver uint64 `json:"passed_over"` // those at which it would not have, or could not
	// FirstPassed is the first of these, and WhyPassed says why in a sentence.
	FirstPassed uint64         `json:"passed_over_first,omitzero"`
	WhyPassed   string         `json:"passed_over_why,omitzero"`
	Clocks      []*ReplayClock `json:"clocks"`
}

// ReplayClock counts what was decided about one clock.
type ReplayClock struct {
	Clocksource string `json:"clocksource"`
	// Answers are the verdicts that needed a decision: all but already-condemned.
	Answers uint64            `json:"answers"`
	Exact   uint64            `json:"exact"` // of Answers
	Kinds   map[string]uint64 `json:"kinds"` // all verdicts by kind
	Doubts  []*ReplayDoubt    `json:"doubts"`
	// Condemned is the verdict that condemned the clock.
	Condemned *Tick `json:"condemned,omitzero"`
}

// ReplayDoubt counts the answers that are approximate for one reason.
type ReplayDoubt struct {
	Doubt     string `json:"doubt"` // its stable name
	Answers   uint64 `json:"answers"`
	FirstTick uint64 `json:"first_tick"` // of the recording
	Why       string `json:"why"`        // in a sentence, for that tick
}

// NewReplayColumn returns a column in which nothing is counted yet.
func NewReplayColumn(w Watch, retriesBy string) *ReplayColumn {
	c := &ReplayColumn{Watch: w, RetriesBy: retriesBy, Clocks: []*ReplayClock{}}
	for _, name := range w.Clocks {
		c.Clocks = append(c.Clocks, &ReplayClock{Clocksource: name, Kinds: map[string]uint64{}, Doubts: []*ReplayDoubt{}})
	}
	return c
}

// Of makes the line of a replayed verdict.
func (c *ReplayColumn) Of(r *trace.Result) Tick {
	t := c.Watch.Of(&r.Verdict)
	t.Tick, t.Exact, t.Doubts, t.Why = r.Seq, r.Exact, r.Doubts.Names(), r.Why
	return t
}

// Add counts the results of a recorded tick. Without results the tick was
// passed over, and idle says why, as [trace.Replay.Idle] does.
func (c *ReplayColumn) Add(seq uint64, results []trace.Result, idle string) {
	if len(results) == 0 {
		if c.PassedOver++; c.PassedOver == 1 {
			c.FirstPassed, c.WhyPassed = seq, idle
		}
		return
	}
	c.Checks++
	for i := range results {
		if clock := results[i].Clock; clock >= 0 && clock < len(c.Clocks) {
			c.Clocks[clock].add(c, &results[i])
		}
	}
}

func (k *ReplayClock) add(c *ReplayColumn, r *trace.Result) {
	k.Kinds[r.Kind.String()]++
	if r.Kind == watchdog.AlreadyCondemned {
		return
	}
	k.Answers++
	if r.Exact {
		k.Exact++
	}
	if r.Kind.Condemns() && k.Condemned == nil {
		t := c.Of(r)
		k.Condemned = &t
	}
	for _, name := range r.Doubts.Names() {
		at := slices.IndexFunc(k.Doubts, func(d *ReplayDoubt) bool { return d.Doubt == name })
		if at < 0 {
			at = len(k.Doubts)
			k.Doubts = append(k.Doubts, &ReplayDoubt{Doubt: name, FirstTick: r.Seq, Why: r.Why})
		}
		k.Doubts[at].Answers++
	}
}

// ReplayJSON writes the document. Lists are [] where they are empty, never null.
func ReplayJSON(w io.Writer, r *Replay) error {
	return writeJSON(w, r.complete(), "the replay")
}

// ReplaySummary writes the document as the last line of a stream.
func ReplaySummary(w *TickWriter, r *Replay) error { return w.Summary(r.complete()) }

func (r *Replay) complete() *Replay {
	c := *r
	c.Schema = ReplaySchema
	c.Inputs.Eras, c.Inputs.Retries, c.Columns = list(r.Inputs.Eras), list(r.Inputs.Retries), list(r.Columns)
	return &c
}

// Verification is what a recording holds and which eras it answers.
type Verification struct {
	Schema    string       `json:"schema"`
	File      string       `json:"file"`
	Whole     bool         `json:"whole"` // it is not damaged
	Recording trace.Report `json:"recording"`
	// Eras are replays of the recording through every era with the retries of the era.
	Eras []*ReplayColumn `json:"eras"`
}

// VerificationJSON writes the document.
func VerificationJSON(w io.Writer, v *Verification) error {
	c := *v
	c.Schema, c.Eras = VerificationSchema, list(v.Eras)
	return writeJSON(w, &c, "the verification")
}
