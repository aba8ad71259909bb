package exporter

import (
	"fmt"
	"math"
	"time"

	"github.com/cswatch/cswatch/internal/page"
	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/watchdog"
)

// hours are the plots of the last hours.
func hours(v tally.View, a About, c calendar) []page.Block {
	points := within(v.History, c)
	x := axisOf(points, c)
	var blocks []page.Block
	for _, f := range [...]*page.Figure{delayFigure(v, points, x, a.Flags.WatchEvery, c), costFigure(v, points, x, a.Flags.CostEvery, c)} {
		if f != nil {
			blocks = append(blocks, page.Block{Figure: f})
		}
	}
	if len(blocks) == 0 {
		blocks = []page.Block{{Text: []string{"Nothing was measured yet. The first points come within a minute or two after the monitor was started."}}}
	}
	return blocks
}

const (
	shortest = 10 * time.Minute // is what an axis of time shows at least
	longest  = 7 * time.Hour    // is what it shows at most: a clock that is set at boot leaves points that are years old
	missed   = 3 * time.Minute  // without a point, or three times without a measurement, is a gap
)

// within are the points of the last hours in their order, without those that are later than now because the clock was set back.
func within(history []tally.Point, c calendar) []tally.Point {
	var points []tally.Point
	for _, p := range history {
		if ago := c.now.Sub(p.At); ago < 0 || ago > longest {
			continue
		}
		for len(points) > 0 && p.At.Before(points[len(points)-1].At) {
			points = points[:len(points)-1] // the time came twice
		}
		points = append(points, p)
	}
	return points
}

// axisOf is the axis of time of both plots, in seconds before now.
func axisOf(points []tally.Point, c calendar) plot.Axis {
	from := c.now.Add(-shortest)
	if len(points) > 0 && points[0].At.Before(from) {
		from = points[0].At
	}
	x := plot.Axis{Label: "time of day, " + c.zone(), Low: -c.now.Sub(from).Seconds(), High: 0}
	step := tickStep(c.now.Sub(from))
	// Round times of the day are round in the zone of the reader, whatever its distance to UTC.
	_, offset := c.now.Zone()
	east := time.Duration(offset) * time.Second
	for at := from.Add(east).Truncate(step).Add(-east); !at.After(c.now); at = at.Add(step) {
		if !at.Before(from) {
			x.Ticks = append(x.Ticks, -c.now.Sub(at).Seconds())
			x.Texts = append(x.Texts, at.In(c.now.Location()).Format("15:04"))
		}
	}
	return x
}

// tickStep is the least round step with at most seven ticks.
func tickStep(d time.Duration) time.Duration {
	for _, step := range [...]time.Duration{2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour} {
		if d/step < 8 {
			return step
		}
	}
	return 6 * time.Hour // more than there is
}

// lineOf is a number of the history, which is measured each so often, with its gaps.
func lineOf(called string, points []tally.Point, every time.Duration, c calendar, of func(*tally.Point) (float64, bool)) plot.Series {
	s := plot.Series{Name: called, Style: plot.Line}
	var last time.Time
	for i := range points {
		p := &points[i]
		y, ok := of(p)
		if !ok || !plot.Drawable(y) {
			continue
		}
		if len(s.Points) > 0 && p.At.Sub(last) >= max(missed, 3*every) {
			s.Gaps = append(s.Gaps, len(s.Points))
		}
		last = p.At
		s.Points = append(s.Points, plot.Point{X: -c.now.Sub(p.At).Seconds(), Y: y})
	}
	return s
}

// spanOf is the least and the greatest value of series, and whether there is one.
func spanOf(series ...plot.Series) (least, most float64, ok bool) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for _, p := range s.Points {
			least, most = min(least, p.Y), max(most, p.Y)
		}
	}
	return least, most, least <= most
}

// delayFigure is how long reading both clocks takes.
func delayFigure(v tally.View, points []tally.Point, x plot.Axis, every time.Duration, c calendar) *page.Figure {
	micros := func(ns float64) float64 { return max(ns, 1) / 1e3 } // a logarithm has no 0
	median := lineOf("median of the minute", points, every, c, func(p *tally.Point) (float64, bool) { return micros(p.DelayNS), p.ReadBacks > 0 })
	slowest := lineOf("slowest of the minute", points, every, c, func(p *tally.Point) (float64, bool) { return micros(p.MaxNS), p.ReadBacks > 0 })
	least, most, ok := spanOf(median, slowest)
	if !ok {
		return nil
	}
	chart := &plot.Chart{
		Title: "How long a check's reading took", Height: 300, X: x, Y: plot.Axis{Label: "read-back delay (µs)", Scale: plot.Log},
		Subtitle:    fmt.Sprintf("of %s against %s, by the minute; programs can be interrupted while they read, kernels are not", or(name(v.Watch.Clock), "the counter"), or(name(v.Watch.Reference), "the reference")),
		Description: fmt.Sprintf("Read-back delays by the minute, from %s to %s.", report.Lasting(least*1e3), report.Lasting(most*1e3)),
		Series:      []plot.Series{median, slowest},
	}
	if limit, ok := readLimit(v); ok {
		chart.Marks = append(chart.Marks, plot.Mark{At: limit / 1e3, Text: fmt.Sprintf("era %s: late above %s", v.Watch.Era, report.Lasting(limit))})
		chart.Description += fmt.Sprintf(" A read is late above %s.", report.Lasting(limit))
		most = max(most, limit/1e3)
	}
	chart.Y.Low, chart.Y.High = least/1.6, most*1.8
	chart.Marks = append(chart.Marks, switches(v, x, c)...)
	numbers := &page.Table{Caption: "How long a check's reading took, by the half hour", Columns: []page.Column{
		{Name: "Until"}, {Name: "Read-backs", Number: true}, {Name: "Least median, µs", Number: true}, {Name: "Greatest median, µs", Number: true}, {Name: "Slowest, µs", Number: true},
	}}
	for _, s := range spans(points) {
		if s.readBacks > 0 {
			numbers.Rows = append(numbers.Rows, []page.Cell{{Text: c.clock(s.until)}, {Text: page.Grouped(s.readBacks)}, {Text: report.Digits(micros(s.delay.least))}, {Text: report.Digits(micros(s.delay.most))}, {Text: report.Digits(micros(s.slowest))}})
		}
	}
	return &page.Figure{Chart: chart, Numbers: numbers}
}

// readLimit is above what the era of the live watch calls a read late, in ns.
func readLimit(v tally.View) (float64, bool) {
	p, ok := watchdog.ProfileOf(v.Watch.Era)
	if !ok {
		return 0, false
	}
	limit, ok := p.ReadLimitFor()
	return float64(limit), ok && limit > 0
}

// costFigure is what a read of the clock costs.
func costFigure(v tally.View, points []tally.Point, x plot.Axis, every time.Duration, c calendar) *page.Figure {
	line := lineOf("a read, as a program makes it", points, every, c, func(p *tally.Point) (float64, bool) { return p.ReadNS, p.Prices > 0 && priced(p.ReadNS) })
	least, most, ok := spanOf(line)
	if !ok {
		return nil
	}
	chart := &plot.Chart{
		Title: "What reading the clock costs a program", Subtitle: "clock_gettime(CLOCK_MONOTONIC), the median of a sample each minute", Height: 280,
		X: x, Y: plot.Axis{Label: "a read (ns)", High: most * 1.25}, Series: []plot.Series{line}, Marks: switches(v, x, c),
		Description: fmt.Sprintf("What a read of the clock cost by the minute, from %s to %s.", price(least), price(most)),
	}
	if most > 8*least { // both ends are to be seen
		chart.Y.Scale, chart.Y.Low, chart.Y.High = plot.Log, least/1.6, most*1.8
	}
	numbers := &page.Table{Caption: "What reading the clock costs, by the half hour", Columns: []page.Column{{Name: "Until"}, {Name: "Samples", Number: true}, {Name: "Least, ns", Number: true}, {Name: "Greatest, ns", Number: true}}}
	for _, s := range spans(points) {
		if s.prices > 0 {
			numbers.Rows = append(numbers.Rows, []page.Cell{{Text: c.clock(s.until)}, {Text: page.Grouped(s.prices)}, {Text: report.Digits(s.price.least)}, {Text: report.Digits(s.price.most)}})
		}
	}
	return &page.Figure{Chart: chart, Numbers: numbers}
}

// switches marks when the kernel took another clock, the latest few.
func switches(v tally.View, x plot.Axis, c calendar) []plot.Mark {
	const most = 4
	apart := (x.High - x.Low) / 5 // from text to text
	var marks []plot.Mark
	next := math.Inf(1)
	for i := len(v.Timeline) - 1; i >= 0 && len(marks) < most; i-- {
		e := &v.Timeline[i]
		at := -c.now.Sub(e.At).Seconds()
		if e.Kind != tally.Switched || at < x.Low || at > x.High {
			continue
		}
		m := plot.Mark{At: at, Vertical: true}
		if next-at > apart {
			m.Text, next = "to "+name(e.To), at
		}
		marks = append(marks, m)
	}
	return marks
}

// extremes are the least and the greatest of some numbers.
type extremes struct{ least, most float64 }

func (e *extremes) add(v float64) { e.least, e.most = min(e.least, v), max(e.most, v) }

// spanOfHours is some minutes of the history in one.
type spanOfHours struct {
	until             time.Time
	readBacks, prices uint64
	delay, price      extremes
	slowest           float64
}

// spans puts points into half hours.
func spans(points []tally.Point) []spanOfHours {
	const long = 30 * time.Minute
	none := extremes{math.Inf(1), math.Inf(-1)}
	var all []spanOfHours
	for i := range points {
		p := &points[i]
		until := p.At.Add(long - 1).Truncate(long)
		if len(all) == 0 || !all[len(all)-1].until.Equal(until) {
			all = append(all, spanOfHours{until: until, delay: none, price: none})
		}
		s := &all[len(all)-1]
		if p.ReadBacks > 0 && plot.Drawable(p.DelayNS) && plot.Drawable(p.MaxNS) {
			s.readBacks += uint64(p.ReadBacks)
			s.delay.add(p.DelayNS)
			s.slowest = max(s.slowest, p.MaxNS)
		}
		if p.Prices > 0 && priced(p.ReadNS) {
			s.prices += uint64(p.Prices)
			s.price.add(p.ReadNS)
		}
	}
	return all
}

// clock is a time of the day, and now where it is still to come.
func (c calendar) clock(t time.Time) string {
	if t.After(c.now) {
		t = c.now
	}
	return t.In(c.now.Location()).Format("15:04")
}

// or is the first of two texts that is not empty.
func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
