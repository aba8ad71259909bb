package report

import (
	"fmt"
	"io"

	"github.com/cswatch/cswatch/internal/campaign"
)

// TrialStatusSchema names the document about how far a campaign is.
const TrialStatusSchema = "cswatch.trial-status/v1"

// shownLast is how many of the last trials a status shows.
const shownLast = 5

// TrialStatus is how far a campaign is.
type TrialStatus struct {
	Schema   string                   `json:"schema"`
	Inputs   *campaign.Plan           `json:"inputs"`
	Name     string                   `json:"name"`
	Over     int                      `json:"over"`
	Pending  int                      `json:"pending"` // known to be missing; a search may want more
	Running  bool                     `json:"running"`
	Outcomes map[campaign.Outcome]int `json:"outcomes"` // all of them, with 0 too
	Last     []TrialLast              `json:"last"`     // those that ended last, the last one first
}

// TrialLast is one of the last trials.
type TrialLast struct {
	Trial string `json:"trial"`
	campaign.Cell
	Repetition int `json:"repetition"`
	campaign.Verdict
	Why         string  `json:"why"`
	WallSeconds float64 `json:"wall_seconds"`
}

// StatusOf tells how far a campaign is.
func StatusOf(c *Campaign) *TrialStatus {
	s := &TrialStatus{Schema: TrialStatusSchema, Inputs: c.Inputs, Name: c.Inputs.Name, Over: c.Over, Pending: c.Pending, Running: c.Running, Outcomes: map[campaign.Outcome]int{}, Last: []TrialLast{}}
	for _, o := range campaign.Outcomes() {
		s.Outcomes[o] = c.count(o)
	}
	for i := len(c.results) - 1; i >= 0 && len(s.Last) < shownLast; i-- {
		r := c.results[i]
		last := TrialLast{Trial: r.Trial.ID, Cell: r.Trial.Cell, Repetition: r.Trial.Repetition, Verdict: r.Verdict(), Why: r.Why, WallSeconds: float64(r.WallNS) / 1e9}
		last.Set = list(last.Set)
		s.Last = append(s.Last, last)
	}
	return s
}

// StatusJSON writes the document.
func StatusJSON(w io.Writer, c *Campaign) error {
	return writeJSON(w, StatusOf(c), "the status of the campaign")
}

// StatusText writes how far a campaign is, in a few lines.
func StatusText(w io.Writer, c *Campaign, opt TextOptions) error {
	p := &page{opt: opt}
	s := StatusOf(c)
	name := p.campaignName(c)
	p.para("", name+": "+progress(c), name, bold)
	for _, o := range campaign.Outcomes() {
		if n := s.Outcomes[o]; n > 0 {
			p.line(fmt.Sprintf("  %6d  %s", n, outcomeWord(o)))
		}
	}
	if len(s.Last) > 0 {
		p.heading("The last trials, the last one first")
	}
	for _, t := range s.Last {
		text := outcomeWord(t.Outcome)
		if t.Cause != "" {
			text += " (" + causeWord(t.Cause) + ")"
		}
		p.say("  ", fmt.Sprintf("%s: %s after %s s: %s", t.Trial, text, short(t.WallSeconds), cellName(&t.Cell)))
		if !t.Outcome.Decided() && t.Why != "" {
			p.say("      ", t.Why)
		}
	}
	return p.ownTo(w, "trial", "the status of the campaign")
}
