package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/trace"
)

// reasonGroup is one reason for what a recording does not tell, and whom it concerns.
type reasonGroup struct {
	label, why string
	counts     []reasonCount
}

// reasonCount is how many answers of which watchdogs share a reason.
type reasonCount struct {
	n       uint64
	clock   string // "" where there is but one
	columns []int
}

// reasons are groups in the order in which they are met.
type reasons []*reasonGroup

func (r *reasons) add(label, why string, n uint64, clock string, column int) {
	g := slices.IndexFunc(*r, func(g *reasonGroup) bool { return g.label == label && g.why == why })
	if g < 0 {
		g = len(*r)
		*r = append(*r, &reasonGroup{label: label, why: why})
	}
	group := (*r)[g]
	c := slices.IndexFunc(group.counts, func(c reasonCount) bool { return c.n == n && c.clock == clock })
	if c < 0 {
		c = len(group.counts)
		group.counts = append(group.counts, reasonCount{n: n, clock: clock})
	}
	group.counts[c].columns = append(group.counts[c].columns, column)
}

// write writes each reason once, and which watchdogs it concerns.
func (r reasons) write(p *page, title, one, many string, names []string) {
	if len(r) == 0 {
		return
	}
	p.heading(title)
	for _, g := range r {
		var whose []string
		for i, c := range g.counts {
			earlier := func(o reasonCount) bool { return o.n == c.n && slices.Equal(o.columns, c.columns) }
			if slices.ContainsFunc(g.counts[:i], earlier) {
				continue // told with the clock before
			}
			text := fmt.Sprint(c.n)
			if len(whose) == 0 {
				text = plural(int64(c.n), one, many)
			}
			text += " of " + runs(names, c.columns)
			var clocks []string
			for _, o := range g.counts[i:] {
				if earlier(o) && o.clock != "" {
					clocks = append(clocks, o.clock)
				}
			}
			switch {
			case len(clocks) > 1:
				text += " about each of " + listed(clocks)
			case len(clocks) == 1:
				text += " about " + clocks[0]
			}
			whose = append(whose, text)
		}
		p.fact(g.label, p.safe(strings.Join(whose, "; ")+": "+g.why, maxText))
	}
}

// unexact says why answers are approximate, and why ticks were passed over.
func (p *page) unexact(columns []*ReplayColumn, h *trace.Header) {
	var doubts, idle reasons
	var names []string
	for i, c := range columns {
		names = append(names, columnName(c, columns))
		for _, k := range c.Clocks {
			clock := ""
			if len(h.Watched) > 1 {
				clock = k.Clocksource
			}
			for _, d := range k.Doubts {
				why := fmt.Sprintf("first at tick %d: %s", d.FirstTick, d.Why)
				if cause, ok := strings.CutPrefix(d.Why, "follows "); ok {
					why = fmt.Sprintf("first at tick %d, whose answer follows %s", d.FirstTick, cause)
				} else if d.Doubt == trace.DoubtEarlier.String() {
					why = "follow an approximate answer, from which the saved pair, a condemnation or the timer may come"
				}
				doubts.add(d.Doubt, why, d.Answers, clock, i)
			}
		}
		if c.PassedOver > 0 {
			idle.add("", fmt.Sprintf("first at tick %d: %s", c.FirstPassed, c.WhyPassed), c.PassedOver, "", i)
		}
	}
	doubts.write(p, "Why answers are approximate", "answer", "answers", names)
	idle.write(p, "Why ticks were passed over", "tick", "ticks", names)
}

// columnName names a watchdog as briefly as the others of the table allow.
func columnName(c *ReplayColumn, all []*ReplayColumn) string {
	name := string(c.Era)
	if c.Release != "" {
		name = c.Release + " (" + name + ")"
	}
	for _, o := range all {
		if o != c && o.Era == c.Era && o.Release == c.Release {
			return fmt.Sprintf("%s with %s", name, plural(c.Retries, "retry", "retries"))
		}
	}
	return name
}

// runs joins the names at ascending places as "a to d, f and g". Only names of
// eras make a run, and those of long-term variants one of their own.
func runs(names []string, at []int) string {
	follows := func(a, b int) bool {
		return b == a+1 && !strings.Contains(names[a]+names[b], " ") &&
			strings.HasPrefix(names[a], "LTS-") == strings.HasPrefix(names[b], "LTS-")
	}
	var parts []string
	for i := 0; i < len(at); {
		end := i
		for end+1 < len(at) && follows(at[end], at[end+1]) {
			end++
		}
		if end-i < 2 {
			parts = append(parts, names[at[i]])
			i++
			continue
		}
		parts = append(parts, names[at[i]]+" to "+names[at[end]])
		i = end + 1
	}
	return listed(parts)
}

// listed joins words as "a, b and c".
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
