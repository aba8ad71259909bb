package report

import (
	"fmt"
	"slices"
	"strings"
)

// cellColumn is a column of a table of cells.
type cellColumn[T any] struct {
	title string
	left  bool // words stand at the left, numbers at the right
	cell  func(T) string
	// same leaves the column out where it says the same of every cell: what was not
	// varied is said above the table.
	same bool
}

// machineTables writes a table for each machine, its name above it. The columns
// of all are the same, so that rows can be compared from table to table.
func machineTables[T any](p *page, cols []cellColumn[T], cells []T, of func(T) *SimulatedDesign) {
	shown, texts, shared := tableTexts(cols, cells)
	for from := 0; from < len(cells); {
		name := of(cells[from]).Machine
		to := from
		for to < len(cells) && of(cells[to]).Machine == name {
			to++
		}
		p.heading(strings.Join(append([]string{p.safe(name, maxName)}, shared...), ", "))
		tableRows(p, shown, texts, append([]int{0}, numbers(from+1, to)...))
		from = to
	}
}

func numbers(from, to int) (all []int) {
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

// tableTexts returns what stands in each column that is shown, its title first, and
// in words what all cells share in a column marked same.
func tableTexts[T any](cols []cellColumn[T], cells []T) (shown []cellColumn[T], texts [][]string, shared []string) {
	for _, c := range cols {
		text := []string{c.title}
		for _, cell := range cells {
			text = append(text, c.cell(cell))
		}
		if rest := text[2:]; c.same && !slices.ContainsFunc(rest, func(s string) bool { return s != text[1] }) {
			if text[1] != "" && text[1] != "-" {
				shared = append(shared, strings.Replace(strings.ToLower(c.title), "cpus", "CPUs", 1)+" "+text[1])
			}
			continue
		}
		shown, texts = append(shown, c), append(texts, text)
	}
	return shown, texts, shared
}

func tableRows[T any](p *page, shown []cellColumn[T], texts [][]string, rows []int) {
	for _, row := range rows {
		var parts []string
		for i, c := range shown {
			width := 0
			for _, s := range texts[i] {
				width = max(width, columns(s))
			}
			s := texts[i][row]
			blank := strings.Repeat(" ", width-columns(s))
			if row == 0 {
				s = p.paint(s, bold)
			}
			if c.left {
				parts = append(parts, s+blank)
			} else {
				parts = append(parts, blank+s)
			}
		}
		p.line("  " + strings.Join(parts, "  "))
	}
}

// designColumns name the cell in each row.
func designColumns[T any](of func(T) *SimulatedDesign) []cellColumn[T] {
	return []cellColumn[T]{
		{title: "CPUS", same: true, cell: func(c T) string { return fmt.Sprint(of(c).CPUs) }},
		{title: "FAULT", left: true, same: true, cell: func(c T) string { return strings.TrimPrefix(of(c).Fault, "none") }},
		{title: "ERA", left: true, cell: func(c T) string {
			if d := of(c); d.Release != "" {
				return d.Release + " " + string(d.Era)
			}
			return string(of(c).Era)
		}},
		{title: "RETRIES", cell: func(c T) string {
			d := of(c)
			return map[string]string{RetriesDefault: "own ", RetriesCPUs: "auto "}[d.RetriesBy] + fmt.Sprint(d.Retries)
		}},
	}
}

func (p *page) healthyTable(_ *Simulation, cells []*SimulatedCell) {
	dash := func(n uint64, of uint64) string {
		if n == 0 {
			return "-"
		}
		return shareText(float64(n) / float64(of))
	}
	cols := append(designColumns(func(c *SimulatedCell) *SimulatedDesign { return &c.SimulatedDesign }), []cellColumn[*SimulatedCell]{
		{title: "REBOOTS", cell: func(c *SimulatedCell) string { return fmt.Sprint(c.Boots) }},
		{title: "UNSTABLE", cell: func(c *SimulatedCell) string { return fmt.Sprint(c.Unstable) }},
		{title: "RATE", cell: func(c *SimulatedCell) string { return shareText(c.Rate) }},
		{title: "95 %", left: true, cell: func(c *SimulatedCell) string {
			if c.Unstable == 0 {
				return "below " + shareText(c.RateHigh)
			}
			return shareSpan(c.RateLow, c.RateHigh)
		}},
		{title: "MEDIAN", cell: func(c *SimulatedCell) string {
			if c.When == nil {
				return "-"
			}
			return short(c.When.Median) + " s"
		}},
		{title: "BECAUSE OF", left: true, same: true, cell: func(c *SimulatedCell) string { return or(unstableFor(c), "-") }},
		{title: "RETRIED", same: true, cell: func(c *SimulatedCell) string { return dash(c.Retried, c.Checks) }},
		{title: "SKIPPED", same: true, cell: func(c *SimulatedCell) string { return dash(c.Skipped, c.Checks) }},
		{title: "TIMED OUT", same: true, cell: func(c *SimulatedCell) string { return dash(c.TimedOut, c.Checks) }},
		{title: "BLIND", same: true, cell: func(c *SimulatedCell) string { return dash(c.Blind, c.Boots) }},
	}...)
	machineTables(p, cols, cells, func(c *SimulatedCell) *SimulatedDesign { return &c.SimulatedDesign })
	p.line("")
	p.tableNotes(cells)
}

// tableNotes explain what a reader may take wrongly.
func (p *page) tableNotes(cells []*SimulatedCell) {
	var zero, checks, blind bool
	for _, c := range cells {
		checks, blind = checks || c.Retried+c.Skipped+c.TimedOut > 0, blind || c.Blind > 0
		if c.Unstable == 0 && !zero {
			zero = true
			p.para("  ", fmt.Sprintf("0 of %d: below %s with 95 %% confidence; that is not never. More --boots narrow it.", c.Boots, shareText(c.RateHigh)), "", plain)
		}
	}
	retriesNote(p, cells, func(c *SimulatedCell) *SimulatedDesign { return &c.SimulatedDesign })
	if checks {
		p.para("  ", "RETRIED (read more than once, and not condemned), SKIPPED and TIMED OUT are shares of checks.", "", plain)
	}
	if blind {
		p.para("  ", "BLIND: boots in which checks stood suspended at the end, and nothing was found before.", "", plain)
	}
}

// retriesNote explains the words beside numbers of retries.
func retriesNote[T any](p *page, cells []T, of func(T) *SimulatedDesign) {
	var own, auto bool
	for _, c := range cells {
		own, auto = own || of(c).RetriesBy == RetriesDefault, auto || of(c).RetriesBy == RetriesCPUs
	}
	switch {
	case own && auto:
		p.para("  ", "RETRIES own: the era's own number; auto: the era takes it from the number of CPUs.", "", plain)
	case own:
		p.para("  ", "RETRIES own: the era's own number.", "", plain)
	case auto:
		p.para("  ", "RETRIES auto: the era takes it from the number of CPUs.", "", plain)
	}
}

func (p *page) faultyTable(_ *Simulation, cells []*SimulatedCell) {
	cols := append(designColumns(func(c *SimulatedCell) *SimulatedDesign { return &c.SimulatedDesign }), []cellColumn[*SimulatedCell]{
		{title: "DETECTED", cell: func(c *SimulatedCell) string {
			if c.Detection.Unvisited != nil {
				return "not visited"
			}
			return fmt.Sprintf("%d of %d", c.Detection.Detected, c.Detection.Eligible)
		}},
		{title: "RATE", cell: func(c *SimulatedCell) string {
			if c.Detection.Unvisited != nil {
				return "-"
			}
			return shareText(c.Detection.Rate)
		}},
		{title: "95 %", left: true, cell: func(c *SimulatedCell) string {
			if c.Detection.Unvisited != nil {
				return "-"
			}
			return shareSpan(c.Detection.RateLow, c.Detection.RateHigh)
		}},
		{title: "MEDIAN", left: true, cell: func(c *SimulatedCell) string {
			if a := c.Detection.After; a != nil {
				return fmt.Sprintf("%s s (%s to %s)", short(a.Median), short(a.MedianLow), short(a.MedianHigh))
			}
			return "-"
		}},
		{title: "95TH PERCENTILE", left: true, cell: func(c *SimulatedCell) string {
			if a := c.Detection.After; a != nil {
				return fmt.Sprintf("%s s (%s to %s)", short(a.P95), short(a.P95Low), short(a.P95High))
			}
			return "-"
		}},
		{title: "FALSE POSITIVES", left: true, cell: falseCell},
	}...)
	machineTables(p, cols, cells, func(c *SimulatedCell) *SimulatedDesign { return &c.SimulatedDesign })
	p.line("")
	unvisitedNotes(p, cells, func(c *SimulatedCell) (*SimulatedDesign, *SimulatedDetection) { return &c.SimulatedDesign, c.Detection })
	p.para("  ", "DETECTED: condemned for what the clock showed, since the fault began, of the boots that were not condemned before it or for latency. "+
		"MEDIAN and 95TH PERCENTILE: from the fault until then, where it was detected. FALSE POSITIVES: unstable in the same boots without the fault.", "", plain)
	retriesNote(p, cells, func(c *SimulatedCell) *SimulatedDesign { return &c.SimulatedDesign })
}

// unvisitedNotes say of which machines a fault could not be detected at all.
func unvisitedNotes[T any](p *page, cells []T, of func(T) (*SimulatedDesign, *SimulatedDetection)) {
	said := map[string]bool{}
	for _, c := range cells {
		design, d := of(c)
		if d.Unvisited == nil {
			continue
		}
		// The amount makes no difference, nor do eras that go the same way.
		text := fmt.Sprintf("NOT VISITED, %s", p.safe(design.Machine, maxName))
		if d.Unvisited.Window == 0 {
			text += ", " + string(design.Era)
		}
		if text += ": " + unvisited(d.Unvisited, design.CPUs) + "."; !said[text] {
			said[text] = true
			p.para("  ", text, "", plain)
		}
	}
}

func falseCell(c *SimulatedCell) string {
	f := c.Detection.FalseAlarms
	switch {
	case f == nil:
		return "-"
	case f.Unstable == 0:
		return "0 %, below " + shareText(f.RateHigh)
	}
	return shareText(f.Rate) + ", " + shareSpan(f.RateLow, f.RateHigh)
}

// curve writes the points of false positives against detection, design by design.
func (p *page) curve(s *Simulation) {
	var cells []*SimulatedCell
	for i := range s.Cells {
		if s.Cells[i].Detection != nil {
			cells = append(cells, &s.Cells[i])
		}
	}
	if len(cells) == 0 {
		return
	}
	p.faultyTable(s, cells)
}

// smallest writes the smallest faults that are found.
func (p *page) smallest(s *Simulation) {
	if len(s.Smallest) == 0 {
		return
	}
	cols := append(designColumns(func(f *SmallestFault) *SimulatedDesign { return &f.SimulatedDesign }), []cellColumn[*SmallestFault]{
		{title: "DETECTED", left: true, cell: func(f *SmallestFault) string {
			if !f.Reached {
				if f.Detection.Unvisited != nil {
					return "not visited"
				}
				if f.Detection.Detected == 0 {
					return "never"
				}
				return fmt.Sprintf("at most %s, %s, at %s", shareText(f.Detection.Rate), shareSpan(f.Detection.RateLow, f.Detection.RateHigh), amountOf(f.Fault))
			}
			return shareText(f.Detection.Rate) + ", " + shareSpan(f.Detection.RateLow, f.Detection.RateHigh)
		}},
		{title: "NEXT SMALLER", left: true, cell: func(f *SmallestFault) string {
			if f.SmallerAt == nil {
				return "-"
			}
			return fmt.Sprintf("%s: %s", amountOf(f.Smaller), shareText(f.SmallerAt.Rate))
		}},
	}...)
	cols[1] = cellColumn[*SmallestFault]{title: "SMALLEST", left: true, cell: func(f *SmallestFault) string {
		if !f.Reached {
			if f.Detection.Unvisited != nil {
				return "-"
			}
			return "none"
		}
		return amountOf(f.Fault)
	}}
	cols[1], cols[2], cols[3] = cols[2], cols[3], cols[1] // behind the era
	var rows []*SmallestFault
	for i := range s.Smallest {
		rows = append(rows, &s.Smallest[i])
	}
	machineTables(p, cols, rows, func(f *SmallestFault) *SimulatedDesign { return &f.SimulatedDesign })
	p.line("")
	unvisitedNotes(p, rows, func(f *SmallestFault) (*SimulatedDesign, *SimulatedDetection) {
		return &f.SimulatedDesign, &f.Detection
	})
	p.para("  ", fmt.Sprintf("SMALLEST: of the faults %s with amounts of two digits, the smallest that is detected in %s of %d boots, leaving out those that are condemned "+
		"before it or for latency. Whether the true share is above that, the interval behind DETECTED says.", faultForm(s.Smallest[0].Fault), short(s.Smallest[0].Wanted*100)+" %", s.Inputs.Boots), "", plain)
	retriesNote(p, rows, func(f *SmallestFault) *SimulatedDesign { return &f.SimulatedDesign })
}

// amountOf is the amount in the text of a fault.
func amountOf(fault string) string {
	text, _, _ := strings.Cut(fault, "@")
	return strings.TrimPrefix(text[strings.LastIndex(text, ":")+1:], "+")
}

// faultForm is the text of a fault with dots for its amount.
func faultForm(fault string) string { return strings.Replace(fault, amountOf(fault), "...", 1) }
