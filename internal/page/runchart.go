package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/internal/report"
)

// longest is the column with most delays, or nil: of the same recording all see much the same.
func (r *run) longest() *column {
	var best *column
	for _, c := range r.columns {
		if best == nil || c.delays.all+c.skews.all > best.delays.all+best.skews.all {
			best = c
		}
	}
	return best
}

// thinNote says that not all of a series is there.
func thinNote(t *thinned, shown int) string {
	if shown >= t.all {
		return ""
	}
	return fmt.Sprintf("thinned: %d of %d points, of each run of %d the least and the greatest", shown, t.all, t.size)
}

// overTimeForm says how a quantity is drawn and written.
type overTimeForm struct {
	height       func(y float64) float64 // where a point stands
	number, hint func(y float64) string  // in the table, and at the point
}

// overTime returns a quantity as a series over time, and adds its numbers to the table. Few points
// are drawn each, and say what they are.
func overTime(called string, points []xy, numbers *Table, form overTimeForm) plot.Series {
	const few = 120
	line := plot.Series{Name: called, Style: plot.Line}
	if len(points) <= few {
		line.Style, line.Joined = plot.Points, true
	}
	for _, p := range points {
		line.Points = append(line.Points, plot.Point{X: p.x, Y: form.height(p.y)})
		numbers.Rows = append(numbers.Rows, []Cell{{Text: fmt.Sprintf("%.3f", p.x), Value: value(p.x)}, {Text: form.number(p.y), Value: value(p.y)}})
		if line.Joined {
			line.Hints = append(line.Hints, fmt.Sprintf("%.3f s: %s", p.x, form.hint(p.y)))
		}
	}
	return line
}

// delayFigure is the read-back delay over time, with the limits of the eras.
func (r *run) delayFigure(c *column) *Figure {
	points := c.delays.points()
	if len(points) == 0 {
		return nil
	}
	chart := &plot.Chart{
		Title: "Read-back delay over time", Height: 340,
		X: plot.Axis{Label: "time (s)"}, Y: plot.Axis{Label: "read-back delay (µs)", Scale: plot.Log},
	}
	numbers := &Table{Caption: "Read-back delay over time: " + c.name(), Columns: []Column{{Name: "time (s)", Number: true}, {Name: "read-back delay (ns)", Number: true}}, Note: thinNote(&c.delays, len(points))}
	least, most := math.Inf(1), 0.0
	line := overTime("delay of the last attempt", points, numbers, overTimeForm{
		height: func(y float64) float64 {
			y = max(y, 1) // a read takes more than 0 ns, whatever a clock shows
			least, most = min(least, y), max(most, y)
			return y / 1e3
		},
		number: func(y float64) string { return grouped(fmt.Sprintf("%.0f", y)) },
		hint:   took,
	})
	chart.Series = append(chart.Series, line)
	chart.Series = append(chart.Series, c.outOfLine(func(h happening) (float64, bool) {
		if h.delay == nil {
			return 0, false
		}
		return max(*h.delay, 1) / 1e3, true
	})...)
	for limit, eras := range r.limits() {
		most = max(most, limit)
		chart.Marks = append(chart.Marks, plot.Mark{At: limit / 1e3, Text: "limit " + took(limit) + eras})
	}
	slices.SortFunc(chart.Marks, func(a, b plot.Mark) int { return cmp.Compare(a.At, b.At) })
	chart.Y.Low, chart.Y.High = least/1e3/1.6, most/1e3*1.8
	chart.Subtitle = joined("; ", "as read under "+c.name(), "of "+name(c.clock)+" against "+name(or(c.reference, "nothing")))
	chart.Description = fmt.Sprintf("How long reading took at each of %d ticks, from %s to %s, with the limits above which a read is late.", c.delays.all, took(least), took(most))
	return &Figure{Chart: chart, Numbers: numbers.trim(mostRows)}
}

// limits are the different read limits of the watchdogs, with their eras, at most five.
func (r *run) limits() map[float64]string {
	of := map[float64][]string{}
	for _, c := range r.columns {
		if c.readLimit <= 0 || !plot.Drawable(c.readLimit) || len(of) == 5 && of[c.readLimit] == nil {
			continue
		}
		if era := name(c.era); !slices.Contains(of[c.readLimit], era) {
			of[c.readLimit] = append(of[c.readLimit], era)
		}
	}
	named := map[float64]string{}
	for limit, eras := range of {
		named[limit] = ""
		if len(of) > 1 {
			if eras, left := bounded(eras, 3); left > 0 {
				named[limit] = fmt.Sprintf(" (%s and %d more)", strings.Join(eras, ", "), left)
			} else {
				named[limit] = " (" + strings.Join(eras, ", ") + ")"
			}
		}
	}
	return named
}

// outOfLine are series of what is out of the ordinary: condemnations, and the rest.
func (c *column) outOfLine(at func(happening) (float64, bool)) []plot.Series {
	condemned := plot.Series{Name: "gave the clock up"}
	late := plot.Series{Name: "late, skipped or timed out"}
	for _, h := range c.events {
		y, ok := at(h)
		if !ok || !plot.Drawable(y) || !plot.Drawable(h.seconds) {
			continue
		}
		s := &late
		if strings.HasPrefix(h.kind, "condemned") {
			s = &condemned
		}
		s.Points = append(s.Points, plot.Point{X: h.seconds, Y: y})
		s.Hints = append(s.Hints, h.words())
	}
	var all []plot.Series
	for _, s := range [...]plot.Series{condemned, late} {
		if len(s.Points) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// words tell what happened.
func (h *happening) words() string {
	s := fmt.Sprintf("%.3f s, tick %d, CPU %d: %s", h.seconds, h.tick, h.cpu, kindName(h.kind))
	if h.delay != nil {
		s += ", read in " + took(*h.delay)
	}
	if h.skew != nil {
		s += ", skew " + signed(*h.skew) + " ppm"
	}
	if !h.exact {
		s += " (approximate)"
	}
	return s
}

// kindName is the name of a kind of verdict for people.
func kindName(kind string) string { return strings.ReplaceAll(name(kind), "-", " ") }

// skewFigure is the skew over time.
func (r *run) skewFigure(c *column) *Figure {
	points := c.skews.points()
	if len(points) == 0 {
		return nil
	}
	chart := &plot.Chart{
		Title: "Skew over time", Height: 340,
		X: plot.Axis{Label: "time (s)"}, Y: plot.Axis{Label: "skew (ppm)"},
		Subtitle: fmt.Sprintf("%s minus %s, relative to the interval; %s", name(c.clock), name(or(c.reference, "reference")), c.name()),
	}
	numbers := &Table{Caption: "Skew over time: " + c.name(), Columns: []Column{{Name: "time (s)", Number: true}, {Name: "skew (ppm)", Number: true}}, Note: thinNote(&c.skews, len(points))}
	line := overTime("skew", points, numbers, overTimeForm{
		height: func(y float64) float64 { return y },
		number: signed,
		hint:   func(y float64) string { return signed(y) + " ppm" },
	})
	chart.Series = append(chart.Series, line)
	chart.Series = append(chart.Series, c.outOfLine(func(h happening) (float64, bool) {
		if h.skew == nil {
			return 0, false
		}
		return *h.skew, true
	})...)
	least, most, _ := c.skews.span()
	size := max(math.Abs(least), math.Abs(most))
	chart.Description = fmt.Sprintf("The skew at each of %d comparisons, from %s to %s ppm.", c.skews.all, signed(least), signed(most))
	switch limit := c.skewLimit; {
	case limit <= 0 || !plot.Drawable(limit):
	case limit < 4*size:
		chart.Marks = append(chart.Marks, plot.Mark{At: limit, Text: "limit"}, plot.Mark{At: -limit, Text: "limit"})
		high := 1.15 * max(limit, size)
		chart.Y.Low, chart.Y.High = -high, high
	default:
		chart.Subtitle += fmt.Sprintf("; the limit is far outside, ±%s ppm", report.Digits(limit))
		chart.Description += fmt.Sprintf(" The limit is %s ppm.", report.Digits(limit))
	}
	return &Figure{Chart: chart, Numbers: numbers.trim(mostRows)}
}

// bin is a bar of a histogram.
type bin struct{ from, below, count float64 }

// histogram draws bins of ns, the first of which may begin at 0.
func histogram(title, subtitle string, bins []bin, marks ...plot.Mark) *Figure {
	bars := plot.Series{Name: "read-backs", Style: plot.Bars}
	numbers := &Table{Caption: title, Columns: []Column{{Name: "from (ns)", Number: true}, {Name: "below (ns)", Number: true}, {Name: "count", Number: true}}}
	total := 0.0
	for _, b := range bins {
		if b.count <= 0 || b.below <= b.from || !plot.Drawable(b.below) || !plot.Drawable(b.count) || b.from < 0 {
			continue
		}
		from := max(b.from, min(b.below/2, 1))
		bars.Points = append(bars.Points, plot.Point{X: math.Sqrt(from*b.below) / 1e3, Y: b.count})
		bars.Across = append(bars.Across, [2]float64{from / 1e3, b.below / 1e3})
		bars.Hints = append(bars.Hints, fmt.Sprintf("%s to %s: %.0f", took(b.from), took(b.below), b.count))
		numbers.Rows = append(numbers.Rows, []Cell{{Text: grouped(fmt.Sprintf("%.0f", b.from)), Value: value(b.from)}, {Text: grouped(fmt.Sprintf("%.0f", b.below)), Value: value(b.below)}, {Text: grouped(fmt.Sprintf("%.0f", b.count)), Value: value(b.count)}})
		total += b.count
	}
	if len(bars.Points) == 0 {
		return nil
	}
	most := 0.0
	for _, p := range bars.Points {
		most = max(most, p.Y)
	}
	low, high := bars.Across[0][0], bars.Across[len(bars.Across)-1][1]
	for _, m := range marks {
		high = max(high, m.At*1.3)
	}
	chart := &plot.Chart{
		Title: title, Subtitle: subtitle, Height: 320,
		X: plot.Axis{Label: "read-back delay (µs)", Scale: plot.Log, Low: low / 1.3, High: high * 1.3},
		// Half a read-back is the floor, so that a single one is seen.
		Y:           plot.Axis{Label: "read-backs", Scale: plot.Log, Low: 0.5, High: max(2, most*1.5)},
		Description: fmt.Sprintf("How many of %.0f read-backs took how long, in bins of powers of two.", total),
		Series:      []plot.Series{bars}, Marks: marks,
	}
	return &Figure{Chart: chart, Numbers: numbers}
}
