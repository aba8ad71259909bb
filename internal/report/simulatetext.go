package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// mostBlocks is up to how many cells get some lines each; more make a table.
const mostBlocks = 4

// SimulationText writes cells: some lines for each of a few, and a table of many.
func SimulationText(w io.Writer, s *Simulation, opt TextOptions) error {
	p := &page{opt: opt}
	p.simulationHead(s)
	var healthy, faulty []*SimulatedCell
	for i := range s.Cells {
		if c := &s.Cells[i]; c.Detection == nil {
			healthy = append(healthy, c)
		} else {
			faulty = append(faulty, c)
		}
	}
	switch {
	case s.Inputs.Curve:
		p.curve(s)
	case s.Inputs.Smallest != "":
		p.smallest(s)
	default:
		p.cells(s, healthy, (*page).healthyBlock, (*page).healthyTable)
		p.cells(s, faulty, (*page).faultyBlock, (*page).faultyTable)
	}
	if s.Interrupted {
		var boots uint64
		for i := range s.Cells {
			boots += s.Cells[i].Boots
		}
		p.line("")
		p.line(p.paint("Stopped", yellow) + fmt.Sprintf(" after %d boots: cells have fewer than %d, or are missing.", boots, s.Inputs.Boots))
	}
	return p.ownTo(w, "simulate", "the simulation")
}

// simulationHead names what every number below depends on.
func (p *page) simulationHead(s *Simulation) {
	p.line(p.paint("Simulated boots", bold) + fmt.Sprintf(", seed %d; intervals of 95 %%", s.Inputs.Seed))
	for _, m := range s.Machines {
		p.para("  ", fmt.Sprintf("%s: %s; each boot is followed for %s s", p.safe(m.Machine, maxName), p.safe(m.About, maxText), short(m.WindowSeconds)), "", plain)
		p.para("    ", modelSources(&m), "", plain)
	}
	if exempting(s) {
		p.para("  ", "Kernels since 5.16 (5.15.7, 5.10.84) do not watch a TSC that is constant, nonstop and has TSC_ADJUST, on few sockets: what they do here holds for machines on which it is watched.", "", plain)
	}
}

// exempting reports whether one of the kernels may not watch a TSC that it trusts at all.
func exempting(s *Simulation) bool {
	trusted := watchdog.TSCFacts{Arch: "x86_64", Flags: []string{"constant_tsc", "nonstop_tsc", "tsc_adjust"}, Nodes: 1, Packages: 1, CommandLineKnown: true}
	may := func(d *SimulatedDesign) bool {
		answer, _ := watchdog.TSCWatched([]watchdog.Candidate{{Era: d.Era, Release: d.Release}}, trusted)
		return answer != machine.Yes
	}
	return slices.ContainsFunc(s.Cells, func(c SimulatedCell) bool { return may(&c.SimulatedDesign) }) ||
		slices.ContainsFunc(s.Smallest, func(f SmallestFault) bool { return may(&f.SimulatedDesign) })
}

// modelSources says how much of a model is known.
func modelSources(m *SimulatedModel) string {
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{m.Measured, "measured"}, {m.Published, "published"}, {m.Assumed, "assumed"}, {m.Unsaid, "without a word on where they come from"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(parts) == 0 {
		return "its text does not say where its parameters come from"
	}
	return "parameters: " + strings.Join(parts, ", ")
}

func (p *page) cells(s *Simulation, cells []*SimulatedCell, block func(*page, *Simulation, *SimulatedCell), table func(*page, *Simulation, []*SimulatedCell)) {
	switch {
	case len(cells) == 0:
	case len(cells) > mostBlocks:
		table(p, s, cells)
	default:
		for _, c := range cells {
			block(p, s, c)
		}
	}
}

// design names a cell in words.
func (p *page) design(d *SimulatedDesign) string {
	era := string(d.Era)
	if d.Release != "" {
		era = d.Release + " (" + era + ")"
	}
	text := fmt.Sprintf("%s, %s, %s%s, %s", p.safe(d.Machine, maxName), era, plural(int64(d.Retries), "retry", "retries"),
		map[string]string{RetriesDefault: " (the era's own)", RetriesCPUs: " (by the number of CPUs)"}[d.RetriesBy], plural(int64(d.CPUs), "CPU", "CPUs"))
	if d.Fault != "none" {
		text += ", fault " + d.Fault
	}
	return text
}

func (p *page) healthyBlock(_ *Simulation, c *SimulatedCell) {
	p.heading(p.design(&c.SimulatedDesign))
	p.line(fmt.Sprintf("  Reboots: %d  TSC unstable: %d", c.Boots, c.Unstable))
	p.outcome("rate", unstableRate(c))
	p.condemned(c)
	p.outcome("checks", checksOf(c))
}

// outcome writes a line of a block.
func (p *page) outcome(label, text string) {
	p.para(fmt.Sprintf("    %-10s  ", label), p.safe(text, maxText), "", plain)
}

// condemned tells of the unstable boots.
func (p *page) condemned(c *SimulatedCell) {
	if c.First == nil {
		return
	}
	p.outcome("because of", unstableFor(c))
	if c.When != nil {
		p.outcome("when", fmt.Sprintf("median %s s, nine in ten from %s to %s s after the start", short(c.When.Median), short(c.When.P05), short(c.When.P95)))
	}
	p.outcome("first", fmt.Sprintf("boot %d, %s s after the start; --show %d prints its log", c.First.Boot, short(c.First.Seconds), c.First.Boot))
	p.quote("      ", fmt.Sprintf("boot %d", c.First.Boot), 0, c.Message)
}

// unstableRate is the rate with its interval. No event is no proof that there are none.
func unstableRate(c *SimulatedCell) string {
	if c.Unstable == 0 {
		return fmt.Sprintf("0 of %d: below %s with 95 %% confidence", c.Boots, shareText(c.RateHigh))
	}
	return shareText(c.Rate) + ", " + shareSpan(c.RateLow, c.RateHigh)
}

// unstableFor counts why the TSC was condemned.
func unstableFor(c *SimulatedCell) string {
	var parts []string
	for _, r := range []struct {
		n    uint64
		word string
	}{{c.Delay, "latency"}, {c.Skew, "skew"}, {c.Order, "order of CPUs"}} {
		switch {
		case r.n == 0:
		case r.n == c.Unstable:
			return r.word
		default:
			parts = append(parts, fmt.Sprintf("%s %d", r.word, r.n))
		}
	}
	return strings.Join(parts, ", ")
}

// checksOf tells what became of the checks.
func checksOf(c *SimulatedCell) string {
	if c.Checks == 0 {
		return "none"
	}
	part := func(n uint64) string {
		if n == 0 {
			return "none"
		}
		return shareText(float64(n) / float64(c.Checks))
	}
	text := fmt.Sprintf("%s a boot; retried %s, skipped %s, timed out %s",
		short(float64(c.Checks)/float64(c.Boots)), part(c.Retried), part(c.Skipped), part(c.TimedOut))
	if c.Troubled > 0 {
		text += fmt.Sprintf("; one of these in %s of the boots", shareText(float64(c.Troubled)/float64(c.Boots)))
	}
	if c.Blind > 0 {
		text += fmt.Sprintf("; blind to the end in %s of the boots", shareText(float64(c.Blind)/float64(c.Boots)))
	}
	return text
}

func (p *page) faultyBlock(_ *Simulation, c *SimulatedCell) {
	d := c.Detection
	p.heading(p.design(&c.SimulatedDesign))
	p.line(fmt.Sprintf("  Reboots: %d  TSC unstable: %d", c.Boots, c.Unstable))
	p.outcome("detected", detected(d))
	if d.Unvisited != nil {
		p.outcome("", unvisited(d.Unvisited, c.CPUs))
	}
	if away := c.Boots - d.Eligible; away > 0 {
		p.outcome("", fmt.Sprintf("%s do not count: condemned for latency, or before the fault", plural(int64(away), "boot", "boots")))
	}
	if d.After != nil {
		p.outcome("after", fmt.Sprintf("median %s s (%s to %s), 95th percentile %s s (%s to %s), where it was detected", short(d.After.Median), short(d.After.MedianLow), short(d.After.MedianHigh),
			short(d.After.P95), short(d.After.P95Low), short(d.After.P95High)))
	}
	if d.FalseAlarms != nil {
		p.outcome("without it", "unstable "+falseAlarms(d.FalseAlarms))
	}
	p.condemned(c)
	p.outcome("checks", checksOf(c))
}

func detected(d *SimulatedDetection) string {
	return fmt.Sprintf("%d of %d, %s, %s", d.Detected, d.Eligible, shareText(d.Rate), shareSpan(d.RateLow, d.RateHigh))
}

// unvisited says why 0 detected boots tell nothing of the design.
func unvisited(u *SimulatedUnvisited, cpus int) string {
	text := fmt.Sprintf("it could not be: while the fault lasts, no check comes to %s (in the time that a boot is followed, %d of %d CPUs have one)", u.What, u.CPUs, cpus)
	if u.Window == 0 {
		return text + "; this era checks on CPU 0 only"
	}
	return text + fmt.Sprintf(`; write "window %ss" or more into the text of the machine`, short(u.Window))
}

func falseAlarms(r *SimulatedRate) string {
	if r.Unstable == 0 {
		return fmt.Sprintf("0 of %d: below %s", r.Boots, shareText(r.RateHigh))
	}
	return fmt.Sprintf("%d of %d, %s, %s", r.Unstable, r.Boots, shareText(r.Rate), shareSpan(r.RateLow, r.RateHigh))
}

// shareSpan writes an interval of shares.
func shareSpan(low, high float64) string {
	return strings.TrimSuffix(shareText(low), " %") + " to " + shareText(high)
}

// shareText writes a share with the digits that tell it from 0 and from 100 %.
func shareText(share float64) string {
	v := share * 100
	rest := min(v, 100-v)
	digits := 1
	switch {
	case rest <= 0:
		digits = 0
	case rest < 1e-9:
		return strconv.FormatFloat(v, 'g', 2, 64) + " %"
	case v > 99:
		digits = int(math.Ceil(-math.Log10(rest) - 1e-9))
	case rest < 1:
		digits = 1 + int(math.Ceil(-math.Log10(rest)))
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + " %"
}

// short writes a number with three digits, without zeros at the end.
func short(v float64) string {
	digits := 3
	if v != 0 {
		digits = max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	}
	s := strconv.FormatFloat(v, 'f', min(digits, 9), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// SimulatedLogText writes the log of a boot. Each line says that it is ours, so that
// nobody takes it for the log of a kernel.
func SimulatedLogText(w io.Writer, d *SimulatedLog, opt TextOptions) error {
	p := &page{opt: opt}
	p.line(fmt.Sprintf("%s, boot %d of seed %d", p.paint(p.design(&d.SimulatedDesign), bold), d.Boot, d.Seed))
	for _, l := range d.Lines {
		p.quote("", fmt.Sprintf("boot %d", d.Boot), 0, l.stamped)
	}
	if len(d.Lines) == 0 {
		p.line(fmt.Sprintf("  Its kernel logs nothing of the clocks in %s s: the TSC is trusted.", short(d.WindowSeconds)))
	}
	return p.ownTo(w, "simulate", "the simulated log")
}

// MachinesText lists machines.
func MachinesText(w io.Writer, machines []SimulatedModel, opt TextOptions) error {
	p := &page{opt: opt}
	for i := range machines {
		m := &machines[i]
		p.para(fmt.Sprintf("%-16s", p.safe(m.Machine, maxName)), p.safe(m.About, maxText)+"; "+modelSources(m), "", plain)
	}
	return p.ownTo(w, "simulate", "the list of machines")
}
