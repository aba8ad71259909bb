package page

import (
	"fmt"
	"math"
	"slices"

	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/internal/report"
)

// dot is a value with its interval beside a name.
type dot struct {
	name             string
	group            string // the entry of the legend
	value, low, high float64
	hint             string
}

// leastHeight is that of a chart of a few rows.
const leastHeight = 240

// mostDots is how many rows a chart of dots has; a table has the rest.
const mostDots = 40

// dots draws a row for each name: a marker and the whisker of its interval. The first
// stands on top. The same name may come several times, once for each group.
func dots(title, subtitle string, x plot.Axis, all []dot) *plot.Chart {
	chart := &plot.Chart{Title: title, X: x}
	var names []string
	for _, d := range all {
		if !slices.Contains(names, d.name) && len(names) < mostDots {
			names = append(names, d.name)
		}
	}
	slices.Reverse(names)
	chart.Y.Names = names
	least, most := math.Inf(1), math.Inf(-1)
	var groups []string
	for _, d := range all {
		if !slices.Contains(groups, d.group) && len(groups) < report.MostCurves {
			groups = append(groups, d.group)
		}
	}
	for g, group := range groups {
		s := plot.Series{Name: group}
		for _, d := range all {
			place := slices.Index(names, d.name)
			if d.group != group || place < 0 || !plot.Drawable(d.value) || !plot.Drawable(d.low) || !plot.Drawable(d.high) || d.low > d.high {
				continue
			}
			// Groups stand one below the other within a row.
			aside := 0.0
			if n := len(groups); n > 1 {
				aside = 0.3 - 0.6*float64(g)/float64(n-1)
			}
			s.Points = append(s.Points, plot.Point{X: d.value, Y: float64(place) + aside})
			s.Across = append(s.Across, [2]float64{d.low, d.high})
			s.Hints = append(s.Hints, or(d.hint, fmt.Sprintf("%s: %s (%s to %s)", d.name, report.Digits(d.value), report.Digits(d.low), report.Digits(d.high))))
			for _, v := range [...]float64{d.value, d.low, d.high} {
				if v > 0 || x.Scale != plot.Log {
					least, most = min(least, v), max(most, v)
				}
			}
		}
		if len(s.Points) > 0 {
			chart.Series = append(chart.Series, s)
		}
	}
	if x.Low == 0 && x.High == 0 && least <= most {
		if x.Scale == plot.Log {
			chart.X.Low, chart.X.High = least/1.25, most*1.25
		} else {
			room := (most - least) * 0.06
			chart.X.Low, chart.X.High = least-room, most+room
		}
	}
	row := 26
	if len(groups) > 2 {
		row = 12 * len(groups)
	}
	chart.Height = max(130+row*len(names), leastHeight)
	chart.Subtitle = subtitle
	chart.Description = fmt.Sprintf("%s of %d things, each with its interval of 95 %%.", title, len(names))
	return chart
}

// rateAxis is an axis of shares from 0 to a little above the greatest.
func rateAxis(label string, most float64) plot.Axis {
	most = min(max(most, 0.01), 1)
	return plot.Axis{Label: label, Percent: true, Low: -0.015 * most, High: most * 1.06}
}
