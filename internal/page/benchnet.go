package page

import (
	"fmt"
	"path"
	"slices"
	"strings"

	clockcost "github.com/cswatch/cswatch/internal/cost"
	"github.com/cswatch/cswatch/internal/loopback"
	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/internal/report"
)

// nets are benchmarks of TCP over loopback.
type nets struct {
	all []netBench
}

type netBench struct {
	id, source string
	report.NetBench
}

func (k *nets) amount() (n int, one, many string) {
	return len(k.all), "network benchmark", "network benchmarks"
}

func (k *nets) take(d *document) (bool, error) {
	if d.Schema != report.NetBenchSchema {
		return false, nil
	}
	b := netBench{id: fmt.Sprintf("net-%d", len(k.all)+1), source: d.Source}
	if err := d.decode(&b.NetBench); err != nil {
		return true, err
	}
	k.all = append(k.all, b)
	return true, nil
}

func (b *netBench) name() string { return name(path.Base(b.source)) }

func (k *nets) verdicts() []Verdict {
	return verdictsOf(k.all, func(b *netBench) Verdict {
		status, sentence := b.sentence()
		return Verdict{Status: status, What: b.name(), Text: sentence, Link: b.id}
	})
}

// sentence tells what differs between clocksources, or what one came to.
func (b *netBench) sentence() (Status, string) {
	var parts []string
	status := Info
	verdicts, _ := bounded(b.Verdicts, 6)
	for i := range verdicts {
		v := &verdicts[i]
		if v.Verdict == loopback.Slower {
			status = Warning
		}
		parts = append(parts, differs(v))
	}
	if len(parts) == 0 {
		results, _ := bounded(b.Results, 6)
		for i := range results {
			r := &results[i]
			parts = append(parts, fmt.Sprintf("%s under %s %s", name(string(r.Test)), name(or(r.Clocksource, "a clocksource that is not known")), throughput(r)))
		}
	}
	status, ended := endedAs(b.Ended, b.Switching, status)
	parts = append(parts, ended...)
	if len(b.Warnings) > 0 {
		parts = append(parts, several(len(b.Warnings), "warning", "warnings"))
	}
	if len(parts) == 0 {
		return Unknown, "it has no figures"
	}
	return status, strings.Join(parts, "; ")
}

// endedAs says what is wrong with how a benchmark ended, or left the machine.
func endedAs(ended string, s *report.Switching, status Status) (Status, []string) {
	var parts []string
	if ended != report.BenchDone {
		status, parts = Warning, append(parts, "it did not end as planned: "+name(or(ended, "not known")))
	}
	if s != nil && s.Condemned != "" {
		status, parts = Critical, append(parts, "the kernel gave up its TSC meanwhile: "+text(s.Condemned))
	}
	if s != nil && !s.GivenBack {
		status, parts = Critical, append(parts, "the clocksource was not given back: "+name(or(s.After, "not known"))+" is current")
	}
	return status, parts
}

// differs is a verdict on two clocksources in words.
func differs(v *loopback.Verdict) string {
	of := fmt.Sprintf("%s under %s: %s of that under %s (%s to %s)", name(string(v.Test)), name(v.Clocksource), report.Percent(v.Ratio), name(v.Best), report.Digits(100*v.Low), report.Digits(100*v.High))
	switch v.Verdict {
	case loopback.Slower:
		return of + ", slower"
	case loopback.NoDifference:
		return of + ", no difference found"
	case loopback.TooFewBlocks:
		return of + ", too few blocks to tell"
	}
	return of + ", " + name(v.Verdict)
}

// throughput shows a value with its interval.
func throughput(r *loopback.Result) string {
	unit, by := name(r.Unit), 1.0
	switch r.Unit {
	case "bit_per_second":
		unit, by = "Gbit/s", 1e9
	case "transactions_per_second", "transaction_per_second":
		unit = "transactions/s"
	}
	return fmt.Sprintf("%s %s (%s to %s)", report.Digits(r.Value/by), unit, report.Digits(r.Low/by), report.Digits(r.High/by))
}

func (k *nets) section() *Section {
	if len(k.all) == 0 {
		return nil
	}
	s := &Section{ID: "bench-net", Title: "TCP over loopback"}
	for i := range k.all {
		b := &k.all[i]
		status, sentence := b.sentence()
		s.Blocks = append(s.Blocks, Block{Heading: b.name(), ID: b.id, List: []Item{{Status: status, Text: sentence}}}, Block{Facts: b.facts()})
		if items := b.doubts(); len(items) > 0 {
			s.Blocks = append(s.Blocks, Block{List: items})
		}
		for _, f := range b.figures() {
			s.Blocks = append(s.Blocks, Block{Figure: f})
		}
		if len(b.Results) > 0 {
			s.Blocks = append(s.Blocks, Block{Table: b.table()}, Block{Text: []string{"A to A is how far two rounds of the same clocksource in a block are apart: what differs no more than that is no difference."}})
		}
		s.Blocks = append(s.Blocks, b.beside()...)
	}
	return s
}

// beside are the profiles and the model that a benchmark was asked for.
func (b *netBench) beside() []Block {
	var blocks []Block
	profiles, _ := bounded(b.Profiles, mostSources)
	for _, p := range profiles {
		if p.Profile != nil {
			blocks = append(blocks, Block{Details: &Details{Summary: fmt.Sprintf("What the CPUs did in the test %s under %s", name(string(p.Test)), name(or(p.Clocksource, "a clocksource that is not known"))), Blocks: profileBlocks(p.Profile, false)}})
		}
	}
	m := b.Model
	if m == nil {
		return blocks
	}
	t := &Table{Caption: "What a stream should come to, by ns per read times reads per segment", Columns: []Column{{Name: "Clocksource"}, {Name: "Side"}, {Name: "A read", Number: true}, {Name: "Reads a segment", Number: true}, {Name: "Predicted", Number: true}, {Name: "Loss", Number: true}, {Name: "Why not"}}}
	for _, p := range slices.Concat(m.Predictions, m.WhatIf) {
		row := []Cell{plain(or(p.Clocksource, "a dearer read")), plain(p.Side), {}, {}, {}, {}, plain(p.Why)}
		if p.Model != nil && p.Model.Predicted != nil {
			in, predicted := &p.Model.Inputs, p.Model.Predicted
			row[2], row[3] = measured(in.SlowRead, took), measured(in.Reads, report.Digits)
			row[4], row[5] = measured(&predicted.OtherThroughput, gigabits), measured(&predicted.Loss, report.Percent)
		}
		t.Rows = append(t.Rows, row)
	}
	prices := &Table{Caption: "What a read takes inside the kernel", Columns: []Column{{Name: "Clocksource"}, {Name: "A read", Number: true}, {Name: "From"}}}
	for _, r := range m.Prices {
		prices.Rows = append(prices.Rows, []Cell{plain(r.Clocksource), measured(r.Read, took), plain(r.From)})
	}
	reads := &Table{Caption: "How often the clock is read", Columns: []Column{{Name: "Side"}, {Name: "CPU", Number: true}, {Name: "Clocksource"}, {Name: "Reads a segment", Number: true}, {Name: "Why"}}}
	for _, r := range m.Reads {
		reads.Rows = append(reads.Rows, []Cell{plain(r.Side), count(r.CPU), plain(r.Clocksource), measured(r.Reads, report.Digits), plain(r.Why)})
	}
	inside := []Block{{Text: []string{"By arithmetic, not by measuring."}}}
	for _, t := range [...]*Table{t.trim(mostItems), prices.trim(mostItems), reads.trim(mostItems)} {
		if len(t.Rows) > 0 {
			inside = append(inside, Block{Table: t})
		}
	}
	return append(blocks, Block{Details: &Details{Summary: "What the model makes of it", Blocks: inside}})
}

// measured is a cell with a number and its interval, empty where there is none.
func measured(v *clockcost.Value, show func(float64) string) Cell {
	if v == nil {
		return Cell{}
	}
	return Cell{Text: valued(v, show), Value: value(v.Value)}
}

func (b *netBench) facts() []Fact {
	facts := []Fact{{"file", name(b.source)}, {"processor", or(name(b.CPUModel), "not known")}, {"kernel", or(name(b.Kernel), "not known")}, {"clocksource", name(or(b.Clocksource, "not known"))}}
	if p := b.Plan.Pin; p != nil {
		facts = append(facts, Fact{"placement", fmt.Sprintf("client on CPU %d, server on CPU %d", p.Client, p.Server)})
	}
	return append(facts, Fact{"rounds", fmt.Sprint(len(b.Rounds))}, Fact{"ended", name(b.Ended)})
}

func (b *netBench) doubts() []Item {
	return doubtsOf(b.Warnings, func(w loopback.Warning) (code, said string) { return w.Code, w.Text })
}

// figures are one for each test: a row for each clocksource.
func (b *netBench) figures() []*Figure {
	var all []*Figure
	done := map[loopback.Test]bool{}
	for i := range b.Results {
		test := b.Results[i].Test
		if done[test] || len(done) == 8 {
			continue
		}
		done[test] = true
		var rows []dot
		numbers := &Table{Columns: []Column{{Name: "clocksource"}, {Name: "value", Number: true}, {Name: "low", Number: true}, {Name: "high", Number: true}}}
		most, by, label := 0.0, 1.0, name(b.Results[i].Unit)
		if b.Results[i].Unit == "bit_per_second" {
			by, label = 1e9, "Gbit/s"
		} else {
			label = strings.ReplaceAll(label, "_", " ")
		}
		for k := range b.Results {
			r := &b.Results[k]
			if r.Test != test {
				continue
			}
			called := name(or(r.Clocksource, "not known"))
			rows = append(rows, dot{called, "median over rounds", r.Value / by, r.Low / by, r.High / by, called + ": " + throughput(r)})
			most = max(most, r.High/by)
			numbers.Rows = append(numbers.Rows, []Cell{plain(called), number(r.Value), number(r.Low), number(r.High)})
		}
		chart := dots("Test "+name(string(test)), "whiskers are intervals of 95 %", plot.Axis{Label: label, Low: -0.015 * most, High: most * 1.06}, rows)
		numbers.Caption = chart.Title + ", in " + name(b.Results[i].Unit)
		all = append(all, &Figure{Chart: chart, Numbers: numbers.trim(mostRows)})
	}
	return all
}

func (b *netBench) table() *Table {
	t := &Table{Caption: "Results", Sort: true, Columns: []Column{{Name: "Test"}, {Name: "Clocksource"}, {Name: "Value", Number: true}, {Name: "To the best", Number: true}, {Name: "Rounds", Number: true}, {Name: "A to A", Number: true}, {Name: "Segments/s", Number: true}, {Name: "Bytes a segment", Number: true}, {Name: "Client CPU busy", Number: true}, {Name: "Server CPU busy", Number: true}}}
	for i := range b.Results {
		r := &b.Results[i]
		t.Rows = append(t.Rows, []Cell{plain(string(r.Test)), plain(r.Clocksource), {Text: throughput(r), Value: value(r.Value)}, {Text: report.Rated(r.RatioToBest, r.RatioLow, r.RatioHigh), Value: value(r.RatioToBest)},
			count(r.Rounds), number(r.RepeatRatio), number(r.SegmentsPerSecond), number(r.BytesPerSegment), share(r.Client.Busy), share(r.Server.Busy)})
	}
	return t.trim(mostRows)
}
