package report

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/campaign"
)

// shownCondemnations is how many a cell shows; JSON has them all.
const shownCondemnations = 3

// trialSeries tells for each series whether the rate falls, and how its ends differ.
func (p *page) trialSeries(c *Campaign) {
	if len(c.Series) == 0 {
		return
	}
	p.heading("Does the rate fall with the parameter?")
	for i := range c.Series {
		s := &c.Series[i]
		values := make([]string, len(s.Values))
		for k, v := range s.Values {
			values[k] = csvNumber(v)
		}
		rest := s.Cells[0].Cell
		rest.Set = otherSettings(rest.Set, s.Parameter)
		p.say("  ", fmt.Sprintf("%s = %s: %s", s.Parameter, strings.Join(values, ", "), cellName(&rest)))
		if s.Trend == nil {
			p.outcome("trend", "none to test: no boot was unstable, or all were, or only one cell has boots that were decided")
		} else {
			text := fmt.Sprintf("z = %.2f; a fall as strong by chance alone: p %s", s.Trend.Z, equals(s.Trend.Falls))
			if s.Trend.ExactFalls != nil {
				text += ", exact p " + equals(*s.Trend.ExactFalls)
			}
			p.outcome("trend", text+" (one-sided)")
		}
		first, last := values[0], values[len(values)-1]
		p.outcome("ends", fmt.Sprintf("%s less %s: %s", first, last, c.Comparisons[i].text()))
	}
}

func otherSettings(set []string, without string) (rest []string) {
	for _, p := range set {
		if settingName(p) != without {
			rest = append(rest, p)
		}
	}
	return rest
}

// equals shows a p value behind its name.
func equals(p float64) string {
	if s := chance(p); s[0] == '<' {
		return "< " + s[1:]
	}
	return "= " + chance(p)
}

// text shows a difference in points of per cent, with its interval and its p.
func (d *TrialDifference) text() string {
	if d.Difference == nil {
		return "not to be compared, a side has no boots that were decided"
	}
	points := func(v float64) string { return signedDigits(100 * v) }
	return fmt.Sprintf("%s points (%s to %s), mid-p %s", points(*d.Difference), points(*d.DifferenceLow), points(*d.DifferenceHigh), equals(*d.MidP))
}

// signedDigits is digits with the sign of what is not 0.
func signedDigits(v float64) string {
	if v > 0 {
		return "+" + digits(v)
	}
	return digits(v)
}

// trialSearches tells between which amounts a step begins to be noticed.
func (p *page) trialSearches(c *Campaign) {
	if len(c.Searches) == 0 {
		return
	}
	p.heading("The smallest step that is noticed")
	for i := range c.Searches {
		s := &c.Searches[i]
		p.say("  ", cellName(&s.Cell)+", "+whereText(s.Where))
		p.outcome("edge", s.edge())
		noticed := 0
		for _, at := range s.Points {
			noticed += at.Noticed
		}
		p.after(s.Times, noticed)
		if len(s.Points) == 0 {
			continue
		}
		lines := [][]string{{"    STEP", "NOTICED", "RATE", "ASIDE"}}
		for _, at := range s.Points {
			noticed, rate, aside := "-", "-", "-"
			if at.Rate != nil {
				noticed, rate = fmt.Sprintf("%d of %d", at.Noticed, at.Told), rated(*at.Rate, *at.Low, *at.High)
			}
			if at.Aside > 0 {
				aside = fmt.Sprint(at.Aside)
			}
			lines = append(lines, []string{"    " + exact(at.ByNS), noticed, rate, aside})
		}
		p.grid(lines, "lrlr")
	}
	p.say("  ", "NOTICED counts condemnations for what the TSC showed, of these and the stable trials; ASIDE are those that told nothing of the step. The edge lies where half of the trials and more begin to notice.")
}

func whereText(where string) string {
	if where == string(campaign.Step) {
		return "the TSC of all CPUs"
	}
	return "the TSC of " + where
}

// edge is what a search found so far.
func (s *TrialSearch) edge() string {
	var text string
	switch {
	case s.NoticedNS > 0 && s.MissedNS > 0:
		text = fmt.Sprintf("noticed from %s on, missed at %s", exact(s.NoticedNS), exact(s.MissedNS))
	case s.NoticedNS > 0:
		text = fmt.Sprintf("noticed from %s on", exact(s.NoticedNS))
	case s.MissedNS > 0:
		text = fmt.Sprintf("missed at %s", exact(s.MissedNS))
	default:
		text = "not known"
	}
	switch {
	case s.Why != "":
		text += ": " + s.Why
	case !s.Over:
		text += "; the search goes on"
	}
	return text
}

// trialMeasured tells what became of programmed delays.
func (p *page) trialMeasured(c *Campaign) {
	if len(c.Measured) == 0 {
		return
	}
	p.heading("Delays that were programmed, and what the watchdog read")
	reference, seen := false, false
	for i := range c.Measured {
		m := &c.Measured[i]
		title := p.safe(cellName(&m.Cell), maxText)
		if m.Control {
			title += ", no delay"
		}
		p.para("  ", title, "", plain)
		reference = reference || m.Delay.On == campaign.OnReference
		if m.Attempts == 0 {
			p.outcome("read", "no checks were seen")
			continue
		}
		seen = true
		p.outcome("read", fmt.Sprintf("%s in %s, %d of %s and more", plural(m.Attempts, "attempt", "attempts"), plural(m.Trials, "trial", "trials"), m.Delayed, lasting(float64(m.AtLeastNS))))
		p.outcome("in", m.In.text(m.Control))
		p.outcome("out", m.Out.text(m.Control))
		if m.Delayed > 0 {
			p.outcome("delays", fmt.Sprintf("median %s, 95th percentile %s, longest %s", lasting(float64(m.MedianNS)), lasting(float64(m.P95NS)), lasting(float64(m.MostNS))))
		}
	}
	if seen {
		p.say("  ", "IN is how often an attempt after a fast one was delayed, OUT how often one after a delayed one was fast again.")
	}
	if reference {
		p.say("  ", "Delays on the reference were asked for each read, of which an attempt has two or three: the shares of attempts are not those of reads.")
	}
}

func (d *TrialDraws) text(control bool) string {
	text := "never drawn"
	if d.Rate != nil {
		text = rated(*d.Rate, *d.Low, *d.High)
		text += fmt.Sprintf(", %d of %d", d.Events, d.Draws)
	}
	if !control {
		text += "; asked " + wanted(d.Asked)
	}
	return text
}

// trialCondemnations shows the first ones of each cell, with the kernel's own words.
func (p *page) trialCondemnations(c *Campaign) {
	first := true
	at := 0
	for i := range c.Cells {
		cell := &c.Cells[i]
		from := at
		at += cell.Unstable // condemnations stand in the order of the cells
		if cell.Search || cell.Unstable == 0 {
			continue
		}
		if first {
			p.heading("Condemnations")
			first = false
		}
		p.say("  ", cellName(&cell.Cell))
		if len(cell.Attempts) > 0 {
			var parts []string
			for _, a := range cell.Attempts {
				parts = append(parts, fmt.Sprintf("%d in %d", a.Attempt, a.Count))
			}
			p.outcome("attempt", strings.Join(parts, ", ")+" of "+plural(cell.Unstable, "condemnation", "condemnations"))
		}
		for _, d := range c.Condemnations[from:min(at, from+shownCondemnations)] {
			p.say("    ", d.text())
			if d.Message != "" {
				p.quote("      ", d.Trial, 0, d.Message)
			}
		}
		if more := cell.Unstable - shownCondemnations; more > 0 {
			p.line(p.paint(fmt.Sprintf("    (%d more: --format json)", more), dim))
		}
	}
}

// text says when and by what numbers a TSC was condemned.
func (d *TrialCondemnation) text() string {
	parts := []string{causeWord(d.Cause)}
	if d.DelayNS != nil {
		parts = append(parts, "delay "+exact(*d.DelayNS))
	}
	switch {
	case d.SkewNS != nil && d.Cause == campaign.Skew:
		parts[0] += " of " + exact(*d.SkewNS)
	case d.SkewNS != nil:
		parts = append(parts, "skew "+exact(*d.SkewNS))
	}
	if d.Attempt != nil {
		parts = append(parts, fmt.Sprintf("attempt %d", *d.Attempt))
	}
	if d.CPU != nil {
		parts = append(parts, fmt.Sprintf("CPU %d", *d.CPU))
	}
	if d.AtNS != nil {
		parts = append(parts, "at "+stamp(*d.AtNS))
	}
	return d.Trial + ": " + strings.Join(parts, ", ")
}

func (p *page) trialDurations(c *Campaign) {
	var parts []string
	for _, d := range []struct {
		TrialDurations
		what string
	}{{c.Boots, "boot"}, {c.Restores, "restore"}} {
		if d.MedianSeconds != nil {
			parts = append(parts, fmt.Sprintf("a %s took %s s (median of %d)", d.what, short(*d.MedianSeconds), d.Trials))
		}
	}
	if len(parts) > 0 {
		p.line("")
		p.para("", "Time: "+strings.Join(parts, ", "), "Time:", bold)
	}
}

func (p *page) trialWarnings(c *Campaign) {
	if len(c.Warnings) == 0 {
		return
	}
	p.heading("Warnings")
	for _, w := range c.Warnings {
		p.para("  ! ", w.Code+": "+p.safe(w.Text, maxText), w.Code, yellow)
	}
}
