package page

import (
	"fmt"
	"path"

	clockcost "github.com/cswatch/cswatch/internal/cost"
	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/internal/report"
)

// models are what a clocksource costs a transfer, by arithmetic.
type models struct {
	all []modelled
}

type modelled struct {
	id, source string
	report.ModelBench
}

func (k *models) amount() (n int, one, many string) {
	return len(k.all), "throughput model", "throughput models"
}

func (k *models) take(d *document) (bool, error) {
	if d.Schema != report.ModelBenchSchema {
		return false, nil
	}
	m := modelled{id: fmt.Sprintf("model-%d", len(k.all)+1), source: d.Source}
	if err := d.decode(&m.ModelBench); err != nil {
		return true, err
	}
	k.all = append(k.all, m)
	return true, nil
}

func (m *modelled) name() string { return name(path.Base(m.source)) }

// valued shows a number with its interval, where it has one.
func valued(v *clockcost.Value, show func(float64) string) string {
	switch {
	case v == nil:
		return ""
	case v.Low == v.Value && v.High == v.Value:
		return show(v.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", show(v.Value), show(v.Low), show(v.High))
}

func gigabits(v float64) string { return report.Digits(v/1e9) + " Gbit/s" }

// sentence is what is implied, or what is predicted.
func (m *modelled) sentence() string {
	var parts []string
	if i := m.Implied; i != nil {
		line := fmt.Sprintf("from %s to %s a segment takes %s longer", valued(&m.Inputs.Fast, gigabits), valued(m.Inputs.Slow, gigabits), valued(&i.ByTimes, took))
		if i.ByShare != nil {
			line += ", of which the share of samples explains " + valued(i.ByShare, took)
		}
		parts = append(parts, line)
	}
	if p := m.Predicted; p != nil {
		parts = append(parts, fmt.Sprintf("under the other clocksource %s is predicted, a loss of %s", valued(&p.OtherThroughput, gigabits), valued(&p.Loss, report.Percent)))
	}
	if m.AsMeasured != nil {
		parts = append(parts, map[bool]string{true: "which is as it was measured", false: "which is not what was measured"}[*m.AsMeasured])
	}
	return or(joined("; ", parts...), "nothing could be computed")
}

func (k *models) verdicts() []Verdict {
	return verdictsOf(k.all, func(m *modelled) Verdict {
		return Verdict{Status: Info, What: m.name(), Text: m.sentence(), Link: m.id}
	})
}

func (k *models) section() *Section {
	if len(k.all) == 0 {
		return nil
	}
	s := &Section{ID: "bench-model", Title: "What a clocksource costs a transfer"}
	for i := range k.all {
		m := &k.all[i]
		s.Blocks = append(s.Blocks, Block{Heading: m.name(), ID: m.id, Text: []string{"By arithmetic: " + m.sentence() + "."}, Facts: m.facts()})
		if f := m.figure(); f != nil {
			s.Blocks = append(s.Blocks, Block{Figure: f})
		}
	}
	return s
}

// facts are what was given, and the steps of the arithmetic.
func (m *modelled) facts() []Fact {
	in := &m.Inputs
	var facts []Fact
	put := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{name, text(value)})
		}
	}
	put("bytes a segment", report.Digits(in.SegmentBytes))
	put("reads a segment", valued(in.Reads, report.Digits))
	put("share of samples", valued(in.Share, report.Percent))
	put("a read", joined("; ", valued(in.Read, took), in.ReadFrom))
	put("a slow read", joined("; ", valued(in.SlowRead, took), in.SlowReadFrom))
	if i := m.Implied; i != nil {
		put("a segment", valued(&i.FastSegment, took)+", then "+valued(&i.SlowSegment, took))
		put("loss", valued(&i.Loss, report.Percent))
		if i.Consistent != nil {
			put("times and share", map[bool]string{true: "agree", false: "do not agree"}[*i.Consistent]+": they differ by "+valued(i.DifferenceRatio, report.Percent))
		}
		put("reads needed", valued(i.NeededReads, report.Digits))
	}
	if p := m.Predicted; p != nil {
		put("reading, of a segment", valued(&p.Share, report.Percent)+", then "+valued(&p.OtherShare, report.Percent))
	}
	return facts
}

// figure is what a read must have cost for each number of reads a segment.
func (m *modelled) figure() *Figure {
	if m.Implied == nil || len(m.Implied.Rows) < 2 {
		return nil
	}
	times, shares := plot.Series{Name: "by the times of a segment", Joined: true}, plot.Series{Name: "by the share of samples", Joined: true}
	chart := &plot.Chart{Title: "What one read must have cost", Height: 340, X: plot.Axis{Label: "reads of the clock a segment", Scale: plot.Log}, Y: plot.Axis{Label: "µs per read", Scale: plot.Log}}
	numbers := &Table{Caption: chart.Title, Columns: []Column{{Name: "reads a segment", Number: true}, {Name: "by the times (ns)", Number: true}, {Name: "by the share (ns)", Number: true}}}
	for i := range m.Implied.Rows {
		r := &m.Implied.Rows[i]
		times.Points = append(times.Points, point(r.Reads.Value, r.ByTimes))
		times.Hints = append(times.Hints, fmt.Sprintf("%s reads: %s each", report.Digits(r.Reads.Value), valued(&r.ByTimes, took)))
		row := []Cell{number(r.Reads.Value), {Text: valued(&r.ByTimes, took), Value: value(r.ByTimes.Value)}, {}}
		if r.ByShare != nil {
			shares.Points = append(shares.Points, point(r.Reads.Value, *r.ByShare))
			row[2] = Cell{Text: valued(r.ByShare, took), Value: value(r.ByShare.Value)}
		}
		numbers.Rows = append(numbers.Rows, row)
	}
	chart.Series = append(chart.Series, times)
	if len(shares.Points) > 0 {
		chart.Series = append(chart.Series, shares)
	}
	chart.Description = "The more often a segment has the clock read, the less a read must have cost for the throughput to fall as it did."
	return &Figure{Chart: chart, Numbers: numbers.trim(mostRows)}
}

// point is a value in ns as one in µs, with its interval where there is one.
func point(x float64, v clockcost.Value) plot.Point {
	p := plot.Point{X: x, Y: v.Value / 1e3}
	if v.Low != v.High {
		p.Low, p.High = v.Low/1e3, v.High/1e3
	}
	return p
}
