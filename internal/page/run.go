package page

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"path"

	"github.com/cswatch/cswatch/internal/report"
)

// tickSchema is that of the lines of a watch or a replay, of which a file has many.
const tickSchema = report.TickSchema

// Bounds of what is kept of a stream.
const (
	mostColumns = 64  // watchdogs and clocks of one replay
	mostEvents  = 300 // of a column that are out of the ordinary
	mostKinds   = 24  // of verdicts
	mostRuns    = 256
)

// runs are what watchdogs did over live counters (watches) and over recordings
// (replays): both are streams of ticks with a summary at their end, which alone says
// which of the two it was.
type runs struct {
	all []*run
}

// run is one stream, or a summary without one.
type run struct {
	id, source string
	ticks      uint64
	start, end float64 // ns, on the time line of the counters
	columns    []*column
	watch      *report.LiveWatch
	replay     *replayed
	over       bool // its summary was read
}

// column is what one watchdog decided of one clock.
type column struct {
	era, release, clock, reference string
	retries                        int
	ticks                          uint64
	kinds                          map[string]uint64
	delays, skews                  thinned // in ns and in ppm, over seconds
	readLimit, skewLimit           float64 // ns and ppm; 0: none was seen
	buckets                        [64]uint64
	events                         []happening
	eventsLeft                     int
}

// happening is a tick out of the ordinary.
type happening struct {
	seconds     float64
	tick        uint64
	cpu         int
	kind        string
	delay, skew *float64
	exact       bool
}

// tickLine is what is read of a line.
type tickLine struct {
	Era         string          `json:"era"`
	Release     string          `json:"release"`
	Retries     int             `json:"retries"`
	Tick        uint64          `json:"tick"`
	Time        float64         `json:"time_ns"`
	CPU         int             `json:"cpu"`
	Clocksource string          `json:"clocksource"`
	Reference   string          `json:"reference"`
	Kind        string          `json:"kind"`
	Delay       *float64        `json:"readback_delay_ns"`
	ReadLimit   *float64        `json:"read_limit_ns"`
	Interval    *float64        `json:"interval_ns"`
	Skew        *float64        `json:"skew_ns"`
	SkewPPM     *float64        `json:"skew_ppm"`
	Limit       *float64        `json:"limit_ns"`
	Exact       bool            `json:"exact"`
	Summary     json.RawMessage `json:"summary"`
}

func (k *runs) amount() (n int, one, many string) {
	return len(k.all), "run of a watchdog", "runs of watchdogs"
}

func (k *runs) take(d *document) (bool, error) {
	switch d.Schema {
	case tickSchema:
		return true, k.line(d)
	case report.WatchSchema, report.ReplaySchema, report.VerificationSchema:
		r := &run{source: d.Source}
		if err := r.summarise(d); err != nil {
			return true, err
		}
		k.add(r)
		return true, nil
	}
	return false, nil
}

func (k *runs) add(r *run) *run {
	r.id = fmt.Sprintf("run-%d", len(k.all)+1)
	if len(k.all) < mostRuns {
		k.all = append(k.all, r)
	}
	return r
}

// line takes a line of a stream. A line behind a summary begins another stream.
func (k *runs) line(d *document) error {
	var t tickLine
	if err := d.decode(&t); err != nil {
		return err
	}
	var r *run
	if n := len(k.all); n > 0 && k.all[n-1].source == d.Source && !k.all[n-1].over {
		r = k.all[n-1]
	} else {
		r = k.add(&run{source: d.Source})
	}
	if len(t.Summary) == 0 {
		r.add(&t)
		return nil
	}
	r.over = true
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(t.Summary, &head); err != nil || !schemaForm.MatchString(head.Schema) {
		return fmt.Errorf("a summary of ticks that has no schema of ours")
	}
	return r.summarise(&document{Source: d.Source, Schema: head.Schema, Raw: t.Summary})
}

func (r *run) summarise(d *document) error {
	switch d.Schema {
	case report.WatchSchema:
		var w report.LiveWatch
		if err := d.decode(&w); err != nil {
			return err
		}
		r.watch = &w
		return nil
	case report.ReplaySchema, report.VerificationSchema:
		var p replayed
		if err := d.decode(&p); err != nil {
			return err
		}
		r.replay = &p
		return nil
	}
	return fmt.Errorf("a summary of ticks with the schema %s", d.Schema)
}

// add takes a tick.
func (r *run) add(t *tickLine) {
	if r.ticks == 0 {
		r.start = t.Time
	}
	r.ticks++
	r.end = max(r.end, t.Time)
	c := r.column(t)
	if c == nil {
		return
	}
	at := (t.Time - r.start) / 1e9
	c.ticks++
	if _, known := c.kinds[t.Kind]; known || len(c.kinds) < mostKinds {
		c.kinds[t.Kind]++
	}
	if t.Delay != nil && *t.Delay >= 0 {
		c.delays.add(at, *t.Delay)
		if v := *t.Delay; v < 1e18 {
			c.buckets[bits.Len64(uint64(v))]++
		}
	}
	if t.ReadLimit != nil {
		c.readLimit = *t.ReadLimit
	}
	if t.SkewPPM != nil {
		c.skews.add(at, *t.SkewPPM)
	}
	if t.Limit != nil && t.Interval != nil && *t.Interval > 0 {
		c.skewLimit = *t.Limit / *t.Interval * 1e6
	}
	if !ordinary(t.Kind) || t.ReadLimit != nil && t.Delay != nil && *t.Delay > *t.ReadLimit && t.Kind != "already-condemned" {
		if len(c.events) == mostEvents {
			c.eventsLeft++
			return
		}
		c.events = append(c.events, happening{at, t.Tick, t.CPU, t.Kind, t.Delay, t.SkewPPM, t.Exact})
	}
}

// ordinary reports whether nothing is to be seen at a tick of this kind.
func ordinary(kind string) bool {
	return kind == "agreed" || kind == "initialised" || kind == "already-condemned"
}

// column finds the watchdog and the clock of a tick, nil where there are too many.
func (r *run) column(t *tickLine) *column {
	for _, c := range r.columns {
		if c.era == t.Era && c.release == t.Release && c.retries == t.Retries && c.clock == t.Clocksource {
			return c
		}
	}
	if len(r.columns) == mostColumns {
		return nil
	}
	c := &column{era: t.Era, release: t.Release, retries: t.Retries, clock: t.Clocksource, reference: t.Reference, kinds: map[string]uint64{}}
	r.columns = append(r.columns, c)
	return c
}

// watchdogName is what to call a watchdog in a word or three.
func watchdogName(era, release string, retries int) string {
	s := name(era)
	if release != "" {
		s = name(release) + " (" + s + ")"
	}
	return s + ", " + several(retries, "retry", "retries")
}

func (c *column) name() string { return watchdogName(c.era, c.release, c.retries) }

// name is what to call a run.
func (r *run) name() string { return name(path.Base(r.source)) }

func (k *runs) verdicts() []Verdict {
	var all []Verdict
	for _, r := range k.all {
		v := Verdict{Status: Unknown, What: r.name(), Link: r.id, Text: "the stream breaks off before its summary: what was read until then is shown"}
		switch {
		case r.watch != nil:
			v.Status, v.Text = r.watchVerdict()
		case r.replay != nil:
			v.Status, v.Text = r.replay.verdict()
		}
		all = append(all, v)
	}
	return all
}

func (k *runs) section() *Section {
	if len(k.all) == 0 {
		return nil
	}
	s := &Section{ID: "runs", Title: "Watchdogs over live counters and recordings"}
	for _, r := range k.all {
		title := r.name()
		blocks := r.replayBlocks
		switch {
		case r.watch != nil:
			title, blocks = title+": a watch", r.watchBlocks
		case r.replay != nil:
			title += ": a replay"
		}
		s.Blocks = append(s.Blocks, Block{Heading: title, ID: r.id})
		s.Blocks = append(s.Blocks, blocks()...)
	}
	return s
}
