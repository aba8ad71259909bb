package report

import (
	"fmt"
	"io"
	"math"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/stats"
)

// TrialSchema names the document about a campaign. The result of a single trial
// has a schema of its own.
const TrialSchema = "cswatch.trial-report/v1"

// Campaign is what the trials of a campaign came to so far.
type Campaign struct {
	Schema  string         `json:"schema"`
	Inputs  *campaign.Plan `json:"inputs"`
	Over    int            `json:"over"`    // trials that have a result
	Pending int            `json:"pending"` // trials that are known to be missing; a search may want more
	Running bool           `json:"running"` // somebody carries it out just now

	Cells         []TrialCell         `json:"cells"`
	Series        []TrialSeries       `json:"series"`
	Comparisons   []TrialComparison   `json:"comparisons"` // the first cell of each series with its last
	Searches      []TrialSearch       `json:"searches"`
	Measured      []TrialMeasured     `json:"measured"`
	Condemnations []TrialCondemnation `json:"condemnations"`
	Boots         TrialDurations      `json:"boots"`
	Restores      TrialDurations      `json:"restores"`
	Warnings      []TrialWarning      `json:"warnings"`

	grid    []campaign.Tally // the cells that are not points of searches, in order
	results []*campaign.Result
	// Surroundings, by the key of their cell without delay, in which reads are
	// delayed, and in which they are not.
	delays, controls map[string]bool
}

// TrialCell is a combination and what its trials came to. What there is no value
// for, such as the rate of a cell without a decided trial, is absent.
type TrialCell struct {
	CellID string `json:"cell"` // with which the ids of its trials begin
	campaign.Cell
	Release string `json:"release"` // as its kernel names itself; "" where no trial told
	Era     string `json:"era"`     // "" where it is not certain
	Search  bool   `json:"search"`  // it is a point of a search, and of no grid

	// Retries are those of the kernel, whether the cell sets them or not.
	Retries   *int   `json:"retries,omitempty"`
	RetriesBy string `json:"retries_by,omitempty"`

	Boots     int      `json:"boots"` // trials that are over, whatever they came to
	Stable    int      `json:"stable"`
	Unstable  int      `json:"unstable"`
	Rate      *float64 `json:"rate,omitempty"` // unstable / (stable + unstable)
	RateLow   *float64 `json:"rate_low,omitempty"`
	RateHigh  *float64 `json:"rate_high,omitempty"`
	ExactLow  *float64 `json:"exact_low,omitempty"`
	ExactHigh *float64 `json:"exact_high,omitempty"`

	Causes      map[campaign.Cause]int `json:"causes"`
	Attempts    []TrialAttempts        `json:"attempts"` // with which the kernel condemned the TSC
	Blind       int                    `json:"blind"`
	NoVerdict   int                    `json:"no_verdict"`
	Panicked    int                    `json:"panicked"`
	Hung        int                    `json:"hung"`
	NeverBooted int                    `json:"never_booted"`
	Lost        int                    `json:"lost"`
	TimedOut    int                    `json:"timed_out"` // trials with reads that timed out, 7.1 and later: harmless

	Noticed           *TrialNoticed `json:"noticed,omitempty"` // where there is a fault
	MedianWallSeconds *float64      `json:"median_wall_seconds,omitempty"`

	tally *campaign.Tally
}

// TrialAttempts is how often the kernel gave up at an attempt.
type TrialAttempts struct {
	Attempt int64 `json:"attempt"`
	Count   int   `json:"count"`
}

// TrialNoticed is how often a fault was noticed: the TSC was condemned for what it
// showed, not for latency.
type TrialNoticed struct {
	Noticed int      `json:"noticed"`
	Told    int      `json:"told"` // trials that told: noticed or stable
	Rate    *float64 `json:"rate,omitempty"`
	Low     *float64 `json:"rate_low,omitempty"`
	High    *float64 `json:"rate_high,omitempty"`
	// Times are from the fault on, where they are known.
	Times *TrialTimes `json:"after_ns,omitempty"`
}

// TrialTimes are times in ns.
type TrialTimes struct {
	Known  int   `json:"known"` // trials
	Least  int64 `json:"least"`
	Median int64 `json:"median"`
	Most   int64 `json:"most"`
}

// TrialDurations is how long trials took on the machine that carried them out.
type TrialDurations struct {
	Trials        int      `json:"trials"`
	MedianSeconds *float64 `json:"median_wall_seconds,omitempty"`
}

// TrialWarning is why a number may not carry the conclusion that it suggests.
type TrialWarning struct {
	Code  string   `json:"code"`
	Text  string   `json:"text"`
	Cells []string `json:"cells"` // that it is about, by id; none for the whole campaign
}

// CampaignOf describes a campaign: its plan, the results of all trials that are over
// in the order in which they ended, what its searches found, whether somebody carries
// it out now, and how many trials are known to be missing.
func CampaignOf(plan *campaign.Plan, results []*campaign.Result, edges []campaign.Edge, running bool, pending int) (*Campaign, error) {
	planned, err := plan.Cells()
	if err != nil {
		return nil, fmt.Errorf("report on a campaign: %w", err)
	}
	inputs := *plan
	inputs.Grids = list(inputs.Grids) // [] in every document
	c := &Campaign{Schema: TrialSchema, Inputs: &inputs, Over: len(results), Pending: pending, Running: running, results: results, delays: map[string]bool{}, controls: map[string]bool{}}
	var cells []campaign.Cell
	searched := map[string]bool{}
	for i := range planned {
		cells = append(cells, planned[i].Cell)
	}
	for i := range edges {
		for _, point := range edges[i].Points {
			cell := edges[i].CellAt(point.By)
			cells = append(cells, cell)
			searched[cell.ID()] = true
		}
	}
	for i := range planned {
		delete(searched, planned[i].ID()) // the grid shows it anyway
	}
	all := campaign.Count(cells, results)
	for i := range all {
		cell := trialCell(&all[i])
		cell.Search = searched[cell.CellID]
		c.Cells = append(c.Cells, cell)
		if !cell.Search {
			c.grid = append(c.grid, all[i])
			around := withoutDelay(cell.Cell)
			if cell.Delay.None() {
				c.controls[around.Key()] = true
			} else {
				c.delays[around.Key()] = true
			}
		}
		c.Condemnations = append(c.Condemnations, condemnations(&all[i])...)
	}
	c.series()
	for i := range edges {
		c.Searches = append(c.Searches, trialSearch(&edges[i], all))
	}
	c.measure()
	c.Boots, c.Restores = durations(results, false), durations(results, true)
	c.warn()
	return c, nil
}

// TrialJSON writes the document. Lists are [] where they are empty, never null.
func TrialJSON(w io.Writer, c *Campaign) error {
	d := *c
	d.Cells, d.Series, d.Comparisons, d.Searches = list(d.Cells), list(d.Series), list(d.Comparisons), list(d.Searches)
	d.Measured, d.Condemnations, d.Warnings = list(d.Measured), list(d.Condemnations), list(d.Warnings)
	return writeJSON(w, &d, "the report on the campaign")
}

// finite is a number that JSON has, or nil.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// rates returns a rate with its Wilson interval, all nil where there are no trials.
func rates(n stats.Count) (rate, low, high *float64) {
	interval := stats.Wilson(n, campaign.Confidence)
	return finite(n.Rate()), finite(interval.Low), finite(interval.High)
}
