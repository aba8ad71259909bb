package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/watchdog"
)

// TickSchema is the schema id of the lines that tell tick by tick what a
// watchdog decided, over live counters and over a recording alike.
const TickSchema = "cswatch.tick/v1"

// Watch says whose verdicts are shown: which watchdog it was and over which
// clocks. The clocks are in the order of [watchdog.Setup].
type Watch struct {
	Era     watchdog.Era `json:"era"`
	Release string       `json:"release,omitzero"` // "" where the era was named by its id
	// Retries is how many attempts may follow the first one, at the start: of
	// eras in which that depends on the number of online CPUs it can change.
	Retries   int      `json:"retries"`
	Reference string   `json:"-"` // "" where there is none
	Clocks    []string `json:"-"`
}

// Tick is one line: what one watchdog decided at one tick about one clock.
// Numbers to which the decision did not come are absent, never 0.
type Tick struct {
	Schema string `json:"schema"`
	Watch
	Tick        uint64            `json:"tick"`    // of the recording, or of the live watchdog
	Check       uint64            `json:"check"`   // which of the watchdog's checks it was, from 1
	Time        clocksource.Nanos `json:"time_ns"` // on the time line of the counters' source
	CPU         int               `json:"cpu"`
	Clocksource string            `json:"clocksource"`
	Reference   string            `json:"reference,omitzero"`
	Kind        watchdog.Kind     `json:"kind"`
	Attempts    int               `json:"attempts"`
	Allowed     int               `json:"allowed_attempts"`

	Delay     event.Opt[clocksource.Nanos] `json:"readback_delay_ns,omitzero"` // of the last attempt
	ReadLimit event.Opt[clocksource.Nanos] `json:"read_limit_ns,omitzero"`
	Sequence  event.Opt[clocksource.Nanos] `json:"watchdog_delay_ns,omitzero"` // two reads of the reference in a row
	SkipLimit event.Opt[clocksource.Nanos] `json:"skip_limit_ns,omitzero"`

	Interval event.Opt[clocksource.Nanos] `json:"interval_ns,omitzero"` // by the reference
	Own      event.Opt[clocksource.Nanos] `json:"clocksource_interval_ns,omitzero"`
	Skew     event.Opt[clocksource.Nanos] `json:"skew_ns,omitzero"` // clocksource minus reference
	SkewPPM  event.Opt[clocksource.PPM]   `json:"skew_ppm,omitzero"`
	Limit    event.Opt[clocksource.Nanos] `json:"limit_ns,omitzero"` // of the skew

	// The CPUs that read the clock out of order, and the stamp of each.
	EarlyCPU event.Opt[int]       `json:"earlier_cpu,omitzero"`
	LateCPU  event.Opt[int]       `json:"later_cpu,omitzero"`
	Earlier  event.Opt[event.Hex] `json:"earlier_cycles,omitzero"`
	Later    event.Opt[event.Hex] `json:"later_cycles,omitzero"`

	Exact  bool     `json:"exact"`           // false only where the data of a recording do not suffice
	Doubts []string `json:"doubts,omitzero"` // why not, by stable names
	Why    string   `json:"why,omitzero"`    // and in a sentence
}

// Of makes the line of a verdict: an exact one, as those over live counters
// are. Tick is the watchdog's own count until the caller says otherwise.
func (w *Watch) Of(v *watchdog.Verdict) Tick {
	t := Tick{
		Schema: TickSchema, Watch: *w, Tick: v.Tick, Check: v.Tick, Time: v.Time, CPU: v.CPU,
		Clocksource: w.clock(v.Clock), Reference: w.Reference,
		Kind: v.Kind, Attempts: v.Attempts, Allowed: v.Allowed, Exact: true,
	}
	if v.Attempts > 0 && v.ReadLimit > 0 { // without a limit the era does not look at the delay
		t.Delay, t.ReadLimit = event.Some(v.Delay), event.Some(v.ReadLimit)
		if v.SkipLimit > 0 && v.Delay > v.ReadLimit { // only then the reference is put to the test
			t.Sequence, t.SkipLimit = event.Some(v.Sequence), event.Some(v.SkipLimit)
		}
	}
	if v.Compared {
		t.Interval, t.Own, t.Skew = event.Some(v.Reference.NS), event.Some(v.Watched.NS), event.Some(v.Skew)
		if ppm, ok := v.PPM(); ok {
			t.SkewPPM = event.Some(ppm)
		}
		if v.SkewLimit > 0 {
			t.Limit = event.Some(v.SkewLimit)
		}
	}
	if v.Kind == watchdog.CondemnedCPUs {
		t.EarlyCPU, t.LateCPU = event.Some(v.EarlyCPU), event.Some(v.LateCPU)
		t.Earlier, t.Later = event.Some(event.Hex(v.Earlier)), event.Some(event.Hex(v.Later))
	}
	return t
}

// clock names a watched clock.
func (w *Watch) clock(i int) string {
	if i < 0 || i >= len(w.Clocks) {
		return ""
	}
	return w.Clocks[i]
}

// TickWriter writes JSON Lines: a line for each tick and clock, and a last one
// with the summary.
type TickWriter struct {
	w    io.Writer
	b    bytes.Buffer
	enc  *json.Encoder
	tick object // whose memory is used again
}

// NewTickWriter returns a writer that makes one Write of each line.
func NewTickWriter(w io.Writer) *TickWriter {
	t := &TickWriter{w: w}
	t.enc = json.NewEncoder(&t.b)
	t.enc.SetEscapeHTML(false)
	return t
}

// Tick writes a line.
func (w *TickWriter) Tick(t *Tick) error { return w.object(func(o *object) { o.tick(t) }) }

// Summary writes the last line. The summary is the document that the command
// writes as JSON, with its own schema.
func (w *TickWriter) Summary(document any) error {
	return w.line(struct {
		Schema  string `json:"schema"`
		Summary any    `json:"summary"`
	}{TickSchema, document})
}

func (w *TickWriter) line(v any) error {
	w.b.Reset()
	if err := w.enc.Encode(v); err != nil {
		return fmt.Errorf("encode a tick as JSON: %w", err)
	}
	if _, err := w.w.Write(escapeHidden(w.b.Bytes())); err != nil {
		return fmt.Errorf("write a tick: %w", err)
	}
	return nil
}
