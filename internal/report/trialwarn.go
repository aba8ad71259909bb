package report

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/stats"
	"github.com/cswatch/cswatch/watchdog"
)

// From where on a number is doubted.
const (
	fewDecided  = 10   // decided boots of a cell
	wideRate    = 0.3  // width of an interval of 95 %
	manyAside   = 0.1  // share of a cell's trials that do not count
	manyLost    = 0.05 // share of all trials
	namedAtMost = 3    // cells in a sentence
)

// warn gathers what keeps the numbers from carrying a conclusion.
func (c *Campaign) warn() {
	if c.Pending > 0 {
		text := plural(c.Pending, "trial of the plan is", "trials of the plan are") + " missing: every number may still change"
		if len(c.Inputs.Searches) > 0 {
			text += ", and searches may want more"
		}
		c.warning("incomplete", text)
	}
	if lost := c.count(campaign.Lost); float64(lost) > manyLost*float64(c.Over) {
		c.warning("many-lost", fmt.Sprintf("%d of %s were lost: if that has to do with what they would have come to, the rates are wrong", lost, plural(c.Over, "trial", "trials")))
	}
	c.warnCells("few-decided", fmt.Sprintf("fewer than %d trials were decided", fewDecided), func(t *campaign.Tally) bool {
		return t.Boots > 0 && decidedOf(t).Trials < fewDecided
	})
	c.warnCells("wide-interval", fmt.Sprintf("the interval of the rate is wider than %.0f points of per cent", 100*wideRate), func(t *campaign.Tally) bool {
		n := decidedOf(t)
		return n.Trials >= fewDecided && stats.Wilson(n, campaign.Confidence).Width() > wideRate
	})
	c.warnCells("many-aside", "more than a tenth of the trials do not count, and they may differ from those that do", func(t *campaign.Tally) bool {
		return float64(t.Boots-decidedOf(t).Trials) > manyAside*float64(t.Boots)
	})
	c.warnCells("no-control", "reads are delayed, and no cell of the same kernel, CPUs and load tells what happens without", func(t *campaign.Tally) bool {
		return !t.Cell.Delay.None() && !c.controlled(&t.Cell)
	})
	c.warnCells("control-condemned", "nothing was delayed, and still the TSC was condemned for latency: this machine adds delays of its own to all cells", func(t *campaign.Tally) bool {
		return t.Cell.Delay.None() && t.Cell.Fault.None() && c.delayed(t.Cell) && t.Causes[campaign.ReadDelay] > 0
	})
	c.warnCells("restore-condemned", "nothing was wrong, and still the TSC was condemned in a machine that went on from a saved state", func(t *campaign.Tally) bool {
		return t.Cell.Fault.Kind == campaign.Restore && t.By[campaign.Unstable] > 0
	})
	c.warnCells("no-such-parameter", "the kernel is of an era without "+campaign.RetriesParameter+": setting it changes nothing", func(t *campaign.Tally) bool {
		profile, known := watchdog.ProfileOf(watchdog.Era(t.Kernel.Era))
		_, set := t.Cell.Retries()
		return set && known && !profile.RetriesParameter
	})
}

func (c *Campaign) warning(code, text string, cells ...string) {
	c.Warnings = append(c.Warnings, TrialWarning{Code: code, Text: text, Cells: list(cells)})
}

// warnCells warns of the cells of grids that something is true of, in one sentence.
// Points of searches have few trials by design.
func (c *Campaign) warnCells(code, text string, of func(*campaign.Tally) bool) {
	var ids, names []string
	for i := range c.grid {
		if t := &c.grid[i]; of(t) {
			ids = append(ids, t.Cell.ID())
			names = append(names, cellName(&t.Cell))
		}
	}
	if len(ids) == 0 {
		return
	}
	if more := len(names) - namedAtMost; more > 1 {
		names = append(names[:namedAtMost], fmt.Sprintf("%d more", more))
	}
	c.warning(code, text+", in "+plural(len(ids), "cell", "cells")+": "+strings.Join(names, "; "), ids...)
}

// decidedOf is what the rate of a cell is made of: condemnations, or steps that were noticed.
func decidedOf(t *campaign.Tally) stats.Count {
	if t.Cell.Fault.None() {
		return t.Count()
	}
	return t.Noticed()
}

func (c *Campaign) controlled(cell *campaign.Cell) bool {
	around := withoutDelay(*cell)
	return c.controls[around.Key()]
}

// count is how many trials came to an outcome.
func (c *Campaign) count(o campaign.Outcome) (n int) {
	for _, r := range c.results {
		if r.Outcome == o {
			n++
		}
	}
	return n
}
