package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/internal/report"
)

// replayed is the summary of a replay, or of a look at what a recording holds.
type replayed struct {
	Inputs struct {
		File string `json:"file"`
	} `json:"inputs"`
	File      string `json:"file"`
	Recording struct {
		Header struct {
			Machine string `json:"machine"`
			Kernel  string `json:"kernel"`
			Source  string `json:"source"`
		} `json:"header"`
		Ticks  uint64  `json:"ticks"`
		First  float64 `json:"first_ns"`
		Last   float64 `json:"last_ns"`
		Damage string  `json:"damage"`
		Lost   int64   `json:"lost_bytes"`
	} `json:"recording"`
	Columns []replayColumn `json:"columns"`
	Eras    []replayColumn `json:"eras"` // of trace verify
}

type replayColumn struct {
	Era        string        `json:"era"`
	Release    string        `json:"release"`
	Retries    int           `json:"retries"`
	Checks     uint64        `json:"checks"`
	PassedOver uint64        `json:"passed_over"`
	Clocks     []replayClock `json:"clocks"`
}

type replayClock struct {
	Clocksource string            `json:"clocksource"`
	Answers     uint64            `json:"answers"`
	Exact       uint64            `json:"exact"`
	Kinds       map[string]uint64 `json:"kinds"`
	Doubts      []struct {
		Doubt   string `json:"doubt"`
		Answers uint64 `json:"answers"`
		Why     string `json:"why"`
	} `json:"doubts"`
	Condemned *report.Tick `json:"condemned"`
}

// columns are the watchdogs, whichever key has them, at most as many as are shown.
func (p *replayed) columns() []replayColumn {
	all, _ := bounded(p.Columns, mostColumns)
	if len(all) == 0 {
		all, _ = bounded(p.Eras, mostColumns)
	}
	return all
}

// clocks are the names of the watched clocks, in order.
func (p *replayed) clocks() []string {
	var all []string
	for _, c := range p.columns() {
		for _, k := range c.Clocks {
			if !slices.Contains(all, k.Clocksource) && len(all) < 8 {
				all = append(all, k.Clocksource)
			}
		}
	}
	return all
}

// verdict counts the watchdogs that gave a clock up.
func (p *replayed) verdict() (Status, string) {
	var parts []string
	status := OK
	for _, clock := range p.clocks() {
		asked := 0
		var gave []string
		for _, c := range p.columns() {
			for i := range c.Clocks {
				if c.Clocks[i].Clocksource != clock {
					continue
				}
				asked++
				if t := c.Clocks[i].Condemned; t != nil {
					reason, _, _ := report.Condemnation(t)
					gave = append(gave, name(or(c.Release, c.Era))+" for "+reason)
				}
			}
		}
		line := fmt.Sprintf("none of %s gives %s up", several(asked, "watchdog", "watchdogs"), name(clock))
		if len(gave) > 0 {
			status = Warning
			line = fmt.Sprintf("%s is given up by %d of %s", name(clock), len(gave), several(asked, "watchdog", "watchdogs"))
			shown, left := bounded(gave, 6)
			line += ": " + strings.Join(shown, ", ")
			if left > 0 {
				line += fmt.Sprintf(" and %d more", left)
			}
		}
		parts = append(parts, line)
	}
	if p.Recording.Damage != "" {
		status = Warning
		parts = append(parts, "the recording is damaged: "+text(p.Recording.Damage))
	}
	if len(parts) == 0 {
		return Unknown, "no watchdog was asked"
	}
	return status, strings.Join(parts, "; ")
}

// replayBlocks show a replay, or a stream of which nothing is known but its ticks.
func (r *run) replayBlocks() []Block {
	var blocks []Block
	if p := r.replay; p != nil {
		status, sentence := p.verdict()
		blocks = append(blocks, Block{List: []Item{{Status: status, Text: sentence}}}, Block{Facts: p.facts()})
		for i, clock := range p.clocks() {
			if f := r.timeline(clock); f != nil {
				f.ID = fmt.Sprintf("%s-eras-%d", r.id, i+1)
				blocks = append(blocks, Block{Figure: f})
			}
			blocks = append(blocks, Block{Table: p.sideBySide(clock)})
		}
		if items := p.doubts(); len(items) > 0 {
			blocks = append(blocks, Block{Text: []string{"Why answers are approximate:"}, List: items})
		}
	} else {
		blocks = append(blocks, Block{List: []Item{{Status: Unknown, Text: fmt.Sprintf("The stream has no summary; %s were read.", several(int(min(r.ticks, math.MaxInt32)), "line", "lines"))}}})
	}
	c := r.longest()
	if c == nil {
		return blocks
	}
	for _, f := range [...]*Figure{r.delayFigure(c), r.skewFigure(c), c.delayHistogram()} {
		if f != nil {
			blocks = append(blocks, Block{Figure: f})
		}
	}
	if t := r.happenings(); t != nil {
		blocks = append(blocks, Block{Details: &Details{Summary: "Ticks out of the ordinary", Blocks: []Block{{Table: t}}}})
	}
	return blocks
}

func (p *replayed) facts() []Fact {
	h := &p.Recording.Header
	facts := []Fact{
		{"recording", text(or(p.Inputs.File, p.File))},
		{"of", text(joined(", ", h.Machine, h.Kernel, h.Source))},
		{"length", fmt.Sprintf("%d ticks in %s", p.Recording.Ticks, report.Lasting(max(p.Recording.Last-p.Recording.First, 0)))},
	}
	if p.Recording.Damage != "" {
		facts = append(facts, Fact{"damage", text(fmt.Sprintf("%s; %d bytes are lost", p.Recording.Damage, p.Recording.Lost))})
	}
	return facts
}

func (c *column) delayHistogram() *Figure {
	var bins []bin
	for i, n := range c.buckets {
		if n > 0 {
			from := 0.0
			if i > 0 {
				from = math.Exp2(float64(i - 1))
			}
			bins = append(bins, bin{from, math.Exp2(float64(i)), float64(n)})
		}
	}
	var marks []plot.Mark
	if c.readLimit > 0 && plot.Drawable(c.readLimit) {
		marks = append(marks, plot.Mark{At: c.readLimit / 1e3, Vertical: true, Text: "limit " + took(c.readLimit)})
	}
	return histogram("How long reading took", "the last attempt of each tick, under "+c.name(), bins, marks...)
}

// timeline draws how long each watchdog kept a clock.
func (r *run) timeline(clock string) *Figure {
	p := r.replay
	length := (p.Recording.Last - p.Recording.First) / 1e9
	if !(length > 0) || !plot.Drawable(length) {
		return nil
	}
	kept := plot.Series{Name: "kept the clock to the end"}
	gave := plot.Series{Name: "gave it up"}
	other := plot.Series{Name: "skipped or timed out"}
	chart := &plot.Chart{Title: "How long each watchdog kept " + name(clock), X: plot.Axis{Label: "time in the recording (s)", Low: -0.01 * length, High: 1.04 * length}}
	columns := p.columns()
	numbers := &Table{Caption: chart.Title, Columns: []Column{{Name: "watchdog"}, {Name: "kept (s)", Number: true}, {Name: "given up"}}}
	place := 0
	for _, c := range slices.Backward(columns) { // the first stands on top
		i := slices.IndexFunc(c.Clocks, func(k replayClock) bool { return k.Clocksource == clock })
		if i < 0 {
			continue
		}
		label := watchdogName(c.Era, c.Release, c.Retries)
		end, what, s := length, "kept to the end", &kept
		if t := c.Clocks[i].Condemned; t != nil {
			reason, measured, limit := report.Condemnation(t)
			end = (float64(t.Time) - p.Recording.First) / 1e9
			what, s = "for "+reason+": "+joined(", limit ", measured, limit), &gave
			if !t.Exact {
				what += " (approximate)"
			}
		}
		if !plot.Drawable(end) {
			continue
		}
		end = min(max(end, 0), length)
		s.Points = append(s.Points, plot.Point{X: end, Y: float64(place)})
		s.Across = append(s.Across, [2]float64{0, end})
		s.Hints = append(s.Hints, fmt.Sprintf("%s: %s s, %s", label, report.Digits(end), what))
		for _, c2 := range r.columns {
			if c2.era != c.Era || c2.release != c.Release || c2.retries != c.Retries || c2.clock != clock {
				continue
			}
			for _, h := range c2.events {
				if !strings.HasPrefix(h.kind, "condemned") && !ordinary(h.kind) && len(other.Points) < mostEvents && plot.Drawable(h.seconds) {
					other.Points = append(other.Points, plot.Point{X: h.seconds, Y: float64(place)})
					other.Hints = append(other.Hints, h.words())
				}
			}
		}
		chart.Y.Names = append(chart.Y.Names, label)
		numbers.Rows = append(numbers.Rows, []Cell{plain(label), {Text: report.Digits(end), Value: value(end)}, plain(what)})
		place++
	}
	slices.Reverse(numbers.Rows)
	for _, s := range [...]plot.Series{kept, gave, other} {
		if len(s.Points) > 0 {
			chart.Series = append(chart.Series, s)
		}
	}
	chart.Height = max(150+22*place, leastHeight)
	chart.Subtitle = "one recording, shown to each of them"
	chart.Description = fmt.Sprintf("%d watchdogs, a line for each, as long as it kept the clock; %d gave it up.", place, len(gave.Points))
	return &Figure{Chart: chart, Numbers: numbers}
}

// sideBySide is the table of the watchdogs of a clock, a row each.
func (p *replayed) sideBySide(clock string) *Table {
	t := &Table{Caption: "Watchdogs side by side: " + name(clock), Sort: true, Columns: []Column{
		{Name: "Era"}, {Name: "Release"}, {Name: "Retries", Number: true}, {Name: "Checked", Number: true}, {Name: "Agreed", Number: true}, {Name: "Skipped, timed out", Number: true},
		{Name: "Given up"}, {Name: "At tick", Number: true}, {Name: "After", Number: true}, {Name: "For"}, {Name: "Measured"}, {Name: "Limit"}, {Name: "Exact", Number: true},
	}}
	for _, c := range p.columns() {
		for i := range c.Clocks {
			k := &c.Clocks[i]
			if k.Clocksource != clock {
				continue
			}
			row := []Cell{plain(c.Era), plain(c.Release), count(c.Retries), count(c.Checks), count(k.Kinds["agreed"]), count(k.Kinds["skipped"] + k.Kinds["timed-out"] + k.Kinds["remote-timed-out"])}
			if d := k.Condemned; d != nil {
				reason, measured, limit := report.Condemnation(d)
				answer := "yes"
				if !d.Exact {
					answer = "probably"
				}
				row = append(row, plain(answer), count(d.Tick), lasting(float64(d.Time)-p.Recording.First), plain(reason), plain(measured), plain(limit))
			} else {
				row = append(row, plain("no"), Cell{}, Cell{}, Cell{}, Cell{}, Cell{})
			}
			exact := Cell{}
			if k.Answers > 0 {
				exact = share(float64(k.Exact) / float64(k.Answers))
			}
			t.Rows = append(t.Rows, append(row, exact))
		}
	}
	return t.compact().trim(mostRows)
}

// doubts are the reasons why answers are approximate, each once.
func (p *replayed) doubts() []Item {
	var items []Item
	at := map[string]int{}
	n := map[string]uint64{}
	for _, c := range p.columns() {
		for _, k := range c.Clocks {
			for _, d := range k.Doubts {
				if n[d.Doubt] += d.Answers; at[d.Doubt] == 0 && len(items) < mostItems {
					items = append(items, Item{Lead: name(d.Doubt), Text: text(d.Why)})
					at[d.Doubt] = len(items)
				}
			}
		}
	}
	for doubt, i := range at {
		if i > 0 {
			items[i-1].Text = fmt.Sprintf("%d answers of all watchdogs; first: %s", n[doubt], items[i-1].Text)
		}
	}
	return items
}
