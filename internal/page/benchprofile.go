package page

import (
	"fmt"
	"path"
	"strings"

	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// profiles are what CPUs were seen to do.
type profiles struct {
	all []profiled
}

type profiled struct {
	id, source string
	report.ProfileBench
}

func (k *profiles) amount() (n int, one, many string) { return len(k.all), "profile", "profiles" }

func (k *profiles) take(d *document) (bool, error) {
	if d.Schema != report.ProfileBenchSchema {
		return false, nil
	}
	p := profiled{id: fmt.Sprintf("profile-%d", len(k.all)+1), source: d.Source}
	if err := d.decode(&p.ProfileBench); err != nil {
		return true, err
	}
	k.all = append(k.all, p)
	return true, nil
}

// name is the command that was profiled, or the file.
func (p *profiled) name() string {
	if len(p.Inputs.Command) > 0 {
		return name(strings.Join(p.Inputs.Command, " "))
	}
	return name(path.Base(p.source))
}

// profileVerdict is whether reading clocks is hot. A clock that is read a lot is no
// fault; it is where a slow clock would hurt.
func profileVerdict(p *report.ProfileBench) (Status, string) {
	status := Unknown
	switch p.Reading.Hot {
	case machine.Yes:
		status = Warning
	case machine.No:
		status = OK
	}
	return status, joined(" ", "Is reading clocks hot?", text(p.Reading.Sentence))
}

func (k *profiles) verdicts() []Verdict {
	return verdictsOf(k.all, func(p *profiled) Verdict {
		status, sentence := profileVerdict(&p.ProfileBench)
		return Verdict{Status: status, What: p.name(), Text: sentence, Link: p.id}
	})
}

func (k *profiles) section() *Section {
	if len(k.all) == 0 {
		return nil
	}
	s := &Section{ID: "bench-profile", Title: "What the CPUs do"}
	for i := range k.all {
		p := &k.all[i]
		s.Blocks = append(s.Blocks, Block{Heading: p.name(), ID: p.id}, Block{Facts: []Fact{{"file", name(p.source)}}})
		s.Blocks = append(s.Blocks, profileBlocks(&p.ProfileBench, true)...)
	}
	return s
}

// profileBlocks show a profile, also one beside another benchmark, which has so many that only their tables are shown.
func profileBlocks(p *report.ProfileBench, drawn bool) []Block {
	status, sentence := profileVerdict(p)
	blocks := []Block{{List: []Item{{Status: status, Text: sentence}}}, {Facts: []Fact{
		{"sampled", text(fmt.Sprintf("%s on %s for %s s, %d samples, %d idle, %d lost", p.Event, several(p.CPUs, "CPU", "CPUs"), report.Digits(p.Seconds), p.Samples, p.Idle, p.Lost))},
		{"event", text(or(p.Got, "not known"))}, {"clocksource", name(or(p.Clocksource, "not known"))}, {"kernel", name(or(p.Kernel, "not known"))},
	}}}
	if p.Why != "" {
		blocks = append(blocks, Block{Text: []string{text(p.Why)}})
	}
	if f := profileFigure(p.Rows); f != nil && drawn {
		blocks = append(blocks, Block{Figure: f})
	}
	if t := profileTable(p); len(t.Rows) > 0 {
		blocks = append(blocks, Block{Table: t})
	}
	readers := &Table{Caption: "Processes that read clocks", Sort: true, Columns: []Column{{Name: "Process"}, {Name: "PID", Number: true}, {Name: "Samples", Number: true}, {Name: "Reading clocks", Number: true}, {Name: "The counter itself", Number: true}, {Name: "Of all samples", Number: true}}}
	for i := range p.Reading.Processes {
		r := &p.Reading.Processes[i]
		readers.Rows = append(readers.Rows, []Cell{plain(or(r.Command, "not known")), {Text: fmt.Sprint(r.PID), Value: fmt.Sprint(r.PID)}, count(r.Samples), sampled(r.Whole), sampled(r.Counter), sampled(r.OfAll)})
	}
	functions := &Table{Caption: "Functions that count as reading clocks", Sort: true, Columns: []Column{{Name: "Function"}, {Name: "Object"}, {Name: "Share", Number: true}, {Name: "Why"}}}
	for i := range p.Reading.Functions {
		f := &p.Reading.Functions[i]
		functions.Rows = append(functions.Rows, []Cell{plain(f.Symbol), plain(f.Object), sampled(f.Share), plain(f.Why)})
	}
	for _, t := range [...]*Table{readers.trim(2 * mostItems), functions.trim(2 * mostItems)} {
		if len(t.Rows) > 0 {
			blocks = append(blocks, Block{Table: t})
		}
	}
	var items []Item
	for _, r := range p.Restrictions {
		items = append(items, Item{Lead: name(r.ID), Text: joined("; ", text(r.Why), text(r.HowToAllow))})
	}
	for _, n := range p.Notes {
		items = append(items, Item{Lead: name(n.ID), Text: text(n.Text)})
	}
	items, left := bounded(items, mostItems)
	if items = more(items, left); len(items) > 0 {
		blocks = append(blocks, Block{Text: []string{"What it may not have seen:"}, List: items})
	}
	return blocks
}

// sampled is a cell with a share and its interval.
func sampled(s perf.Share) Cell {
	return Cell{Text: report.Rated(s.Ratio, s.Within.Low, s.Within.High), Value: value(s.Ratio)}
}

// profileFigure draws the hottest functions.
func profileFigure(all []perf.Row) *Figure {
	var rows []dot
	most := 0.0
	hottest, _ := bounded(all, 15)
	for i := range hottest {
		r := &hottest[i]
		called := name(r.Symbol)
		if r.Command != "" {
			called += ", " + name(r.Command)
		}
		if r.CPU >= 0 {
			called += fmt.Sprintf(", CPU %d", r.CPU)
		}
		rows = append(rows, dot{called, "share of samples", r.Ratio, r.Within.Low, r.Within.High, called + ": " + report.Rated(r.Ratio, r.Within.Low, r.Within.High)})
		most = max(most, r.Within.High)
	}
	if len(rows) == 0 {
		return nil
	}
	return &Figure{Chart: dots("The hottest functions", "whiskers are intervals of 95 %", plot.Axis{Label: "share of samples", Percent: true, Low: -0.015 * most, High: most * 1.06}, rows), Numbers: dotTable("The hottest functions", rows)}
}

// profileTable is the table that perf report would print.
func profileTable(p *report.ProfileBench) *Table {
	t := &Table{Caption: "Functions", Sort: true, Columns: []Column{{Name: "Function"}, {Name: "Share", Number: true}, {Name: "Samples", Number: true}, {Name: "Command"}, {Name: "Object"}, {Name: "CPU", Number: true}}}
	for i := range p.Rows {
		r := &p.Rows[i]
		cpu := Cell{}
		if r.CPU >= 0 {
			cpu = count(r.CPU)
		}
		t.Rows = append(t.Rows, []Cell{plain(r.Symbol), sampled(r.Share), count(r.Samples), plain(r.Command), plain(r.Object), cpu})
	}
	if p.RowsLeftOut > 0 {
		t.Note = fmt.Sprintf("%d more are not in the document", p.RowsLeftOut)
	}
	return t.compact().trim(mostRows)
}
