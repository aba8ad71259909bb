package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/stats"
)

// TrialOptions says how the report on a campaign is to be shown.
type TrialOptions struct {
	TextOptions
	Exact bool // the exact intervals of Clopper and Pearson for the rates of cells, not Wilson's
}

// TrialText writes the report for a person: the cells in groups that share all but
// their parameters, and then what follows from them.
func TrialText(w io.Writer, c *Campaign, opt TrialOptions) error {
	p := &page{opt: opt.TextOptions}
	p.trialHead(c, opt)
	p.trialGroups(c, opt)
	p.trialSeries(c)
	p.trialSearches(c)
	p.trialMeasured(c)
	p.trialCondemnations(c)
	p.trialDurations(c)
	p.trialWarnings(c)
	return p.ownTo(w, "trial", "the report on the campaign")
}

// trialHead says what every number below depends on.
func (p *page) trialHead(c *Campaign, opt TrialOptions) {
	by := "Wilson"
	if opt.Exact {
		by = "Clopper and Pearson for cells, by Wilson below"
	}
	name := p.campaignName(c)
	p.para("", fmt.Sprintf("%s: %s, each followed for %s, seed %d; intervals of 95 %% by %s", name, p.executor(c),
		lasting(float64(time.Duration(c.Inputs.Window))), c.Inputs.Seed, by), name, bold)
	p.para("  ", progress(c), "", plain)
}

func (p *page) campaignName(c *Campaign) string {
	if c.Inputs.Name == "" {
		return "Campaign"
	}
	return "Campaign " + p.safe(c.Inputs.Name, maxName)
}

// executor says what was booted, and on what.
func (p *page) executor(c *Campaign) string {
	if c.Inputs.Executor == campaign.Simulated {
		return "simulated boots of the machine " + p.safe(c.Inputs.Machine, maxSource)
	}
	var by []string
	for _, r := range c.results {
		if a := p.safe(r.Accelerator, maxName); a != "" && !slices.Contains(by, a) {
			by = append(by, a)
		}
	}
	if len(by) == 0 {
		return "real kernels in QEMU"
	}
	slices.Sort(by)
	return "real kernels in QEMU (" + strings.Join(by, ", ") + ")"
}

func progress(c *Campaign) string {
	text := plural(c.Over, "trial is over", "trials are over")
	switch {
	case c.Pending > 0:
		text += fmt.Sprintf(", %d of the plan missing", c.Pending)
	default:
		text += ", none of the plan missing"
	}
	if c.Running {
		text += "; it is being carried out just now"
	}
	return text
}

// trialGroups writes the cells of the grids.
func (p *page) trialGroups(c *Campaign, opt TrialOptions) {
	var order []string
	groups := map[string][]*TrialCell{}
	for i := range c.Cells {
		cell := &c.Cells[i]
		if cell.Search {
			continue
		}
		around := surroundings(cell.Cell)
		key := around.Key()
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], cell)
	}
	for _, key := range order {
		group := groups[key]
		p.line("")
		p.para("", p.groupName(c, group), p.safe(group[0].Kernel, maxName), bold)
		for _, cell := range group {
			p.trialCell(cell, opt)
		}
	}
}

// groupName is what the cells of a group share.
func (p *page) groupName(c *Campaign, group []*TrialCell) string {
	cell := &group[0].Cell
	text := p.safe(cell.Kernel, maxName)
	for _, g := range group { // the first that has booted tells
		if told := p.kernelTold(cell.Kernel, g.Release, g.Era); told != "" {
			text += " (" + told + ")"
			break
		}
	}
	conditions := conditions(cell)
	if cell.Delay.None() && c.delayed(*cell) {
		conditions = append(conditions, "no delay")
	}
	return text + ", " + p.safe(strings.Join(conditions, ", "), maxText)
}

func (p *page) kernelTold(name, release, era string) string {
	var parts []string
	if release != "" && release != name {
		parts = append(parts, p.safe(release, maxName))
	}
	if era != "" && era != name {
		parts = append(parts, "era "+p.safe(era, maxName))
	}
	return strings.Join(parts, ", ")
}

// trialCell writes a cell in the form in which such campaigns were first published.
func (p *page) trialCell(c *TrialCell, opt TrialOptions) {
	for _, set := range c.Set {
		name, value, _ := strings.Cut(set, "=")
		p.line("  " + p.safe(name, maxName) + " = " + p.safe(value, maxName))
	}
	if len(c.Set) == 0 {
		text := "defaults"
		if c.Retries != nil {
			text += fmt.Sprintf(" (%s)", plural(*c.Retries, "retry", "retries"))
		}
		p.line("  " + text)
	}
	switch {
	case c.Boots == 0:
		p.line("    none of its trials is over")
		return
	case c.Fault.Restored():
		p.line(fmt.Sprintf("    Restores: %d  noticed: %d", c.Boots, c.Noticed.Noticed))
		p.noticed(c, opt.Exact)
		if c.Fault.Kind == campaign.Restore && c.Unstable > 0 {
			p.outcome("unstable", plural(c.Unstable, "restore", "restores")+", although nothing was wrong")
		}
	default:
		p.line(fmt.Sprintf("    Reboots: %d  TSC unstable: %d", c.Boots, c.Unstable))
		p.outcome("rate", c.rateText(opt.Exact))
		if c.Noticed != nil {
			p.noticed(c, opt.Exact)
		}
	}
	if text := causesText(c.Causes, c.Unstable); text != "" {
		p.outcome("because of", text)
	}
	if text := c.aside(); text != "" {
		p.outcome("aside", text)
	}
	if c.TimedOut > 0 {
		p.outcome("timed out", plural(c.TimedOut, "boot", "boots")+" with reads that timed out: harmless")
	}
}

func (c *TrialCell) rateText(exact bool) string {
	if c.Rate == nil {
		return "none of its boots was decided"
	}
	low, high := *c.RateLow, *c.RateHigh
	if exact {
		low, high = *c.ExactLow, *c.ExactHigh
	}
	text := rated(*c.Rate, low, high)
	if n := c.Stable + c.Unstable; n < c.Boots {
		text += fmt.Sprintf(" of %d that were decided", n)
	}
	return text
}

// noticed tells of a fault. Trials that were condemned for latency tell nothing of it.
func (p *page) noticed(c *TrialCell, exact bool) {
	n := c.Noticed
	interval := stats.Wilson
	if exact {
		interval = stats.ClopperPearson
	}
	count := stats.Count{Events: n.Noticed, Trials: n.Told}
	ends := interval(count, campaign.Confidence)
	rate := rated(count.Rate(), ends.Low, ends.High)
	switch {
	case n.Rate == nil:
		p.outcome("noticed", "no trial told")
		return
	case c.Fault.Restored() && n.Told == c.Boots:
		p.outcome("rate", rate)
	case c.Fault.Restored():
		p.outcome("rate", rate+fmt.Sprintf(" of %d that told", n.Told))
	case n.Noticed == c.Unstable: // the rate says it already
		p.outcome("noticed", fmt.Sprintf("%d of %d that told", n.Noticed, n.Told))
	default:
		p.outcome("noticed", fmt.Sprintf("%d of %d that told, %s", n.Noticed, n.Told, rate))
	}
	p.after(n.Times, n.Noticed)
}

// after says how long faults went unnoticed that so many trials noticed.
func (p *page) after(t *TrialTimes, noticed int) {
	if t == nil {
		return
	}
	text := lasting(float64(t.Median))
	if t.Known > 1 {
		text = fmt.Sprintf("median %s, from %s to %s", text, lasting(float64(t.Least)), lasting(float64(t.Most)))
	}
	if t.Known < noticed {
		text += fmt.Sprintf(", in the %d of which it is known", t.Known)
	}
	p.outcome("after", text)
}

// causesText counts why TSCs were condemned; a cause of all needs no count.
func causesText(causes map[campaign.Cause]int, unstable int) string {
	var parts []string
	for _, cause := range campaign.Causes() {
		switch n := causes[cause]; n {
		case 0:
		case unstable:
			return causeWord(cause)
		default:
			parts = append(parts, fmt.Sprintf("%s %d", causeWord(cause), n))
		}
	}
	return strings.Join(parts, ", ")
}

func causeWord(c campaign.Cause) string {
	switch c {
	case campaign.ReadDelay:
		return "latency"
	case campaign.InterCPU:
		return "CPUs that disagree"
	case campaign.SyncTest:
		return "the test of a CPU that came up"
	case campaign.Option:
		return "an option of the command line"
	case campaign.OtherWhy:
		return "another reason"
	}
	return string(c)
}
