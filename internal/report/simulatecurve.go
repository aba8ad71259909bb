package report

import (
	"fmt"
	"io"

	"github.com/cswatch/cswatch/internal/plot"
)

// MostCurves is how many designs a plot can tell apart.
const MostCurves = 6

// SimulationCurve returns what draws false positives against detection: a series for
// each design, a point for each number of retries.
func SimulationCurve(s *Simulation) func(io.Writer) error {
	return func(w io.Writer) error {
		c := plot.Chart{Height: 520, X: plot.Axis{Label: "detected: faulty TSC given up (share of boots)", Percent: true, Low: -0.04, High: 1.08, Ticks: []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
			Y: plot.Axis{Label: "false positives: good TSC given up (share of boots)", Percent: true}}
		at := map[string]int{}
		for i := range s.Cells {
			cell := &s.Cells[i]
			d := cell.Detection
			if d == nil || d.FalseAlarms == nil {
				continue
			}
			name := string(cell.Era)
			if cell.Release != "" {
				name += " (" + cell.Release + ")"
			}
			n, known := at[name]
			if !known {
				n = len(c.Series)
				at[name] = n
				c.Series = append(c.Series, plot.Series{Name: name, Joined: true})
			}
			series := &c.Series[n]
			series.Points = append(series.Points, plot.Point{X: d.Rate, Y: d.FalseAlarms.Rate, Low: d.FalseAlarms.RateLow, High: d.FalseAlarms.RateHigh})
			series.Labels = append(series.Labels, fmt.Sprint(cell.Retries))
			series.Across = append(series.Across, [2]float64{d.RateLow, d.RateHigh})
			c.Title = "What retries cost, and what they find"
			// What is as long as it happens to be stands last: no line ends between 95 and %.
			c.Subtitle = fmt.Sprintf("Whiskers are intervals of 95 %%, numbers beside points are retries. %s, %d CPUs, fault %s, %d simulated boots a point, seed %d.", cell.Machine, cell.CPUs, cell.Fault, s.Inputs.Boots, s.Inputs.Seed)
			c.Description = "The share of boots in which a good TSC is given up, against the share in which the fault is detected, for each design of the watchdog."
		}
		return c.SVG(w)
	}
}
