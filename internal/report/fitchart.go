package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/cswatch/cswatch/internal/burst"
	"github.com/cswatch/cswatch/internal/plot"
)

// FitChart makes the picture of the rates against the number of retries.
func FitChart(f *Fit) *plot.Chart {
	rec := &f.Recommendation
	c := &plot.Chart{
		Title: "Boots with an unstable TSC against the number of retries",
		X:     plot.Axis{Label: "retries (max_cswd_read_retries)", Scale: plot.LogPlusOne},
		Y:     plot.Axis{Label: "unstable boots", Scale: plot.Log, Percent: true},
	}
	observed := plot.Series{Name: "observed, 95 % Wilson interval"}
	least, most := rec.Rate, rec.Rate
	farthest := 0.0
	for _, r := range f.Rows {
		observed.Points = append(observed.Points, plot.Point{X: float64(r.Retries), Y: r.Rate, Low: r.RateLow, High: r.RateHigh})
		most = max(most, r.RateHigh)
		if r.RateLow > 0 {
			least = min(least, r.RateLow)
		}
		farthest = max(farthest, float64(r.Retries))
	}
	c.Series = append(c.Series, observed)
	for i := range f.Models {
		m := &f.Models[i]
		if !m.Best && m.Family != burst.Pareto && m.Family != burst.Exponential {
			continue // the larger families lie between these two, or on one of them
		}
		s := plot.Series{Name: string(m.Family) + " lengths", Style: plot.Dashed}
		if m.Best {
			s.Name, s.Style = s.Name+", 95 % band", plot.Line
		}
		for _, v := range m.Curve {
			s.Points = append(s.Points, plot.Point{X: float64(v.Retries), Y: v.Rate, Low: v.RateLow, High: v.RateHigh})
			most, farthest = max(most, v.Rate), max(farthest, float64(v.Retries))
		}
		c.Series = append(c.Series, s)
	}
	c.X.High, c.X.Ticks = farthest*1.05+0.1, retryTicks(f.Rows)
	c.Y.Low, c.Y.High = least/1.6, min(1, most*1.4)
	c.Marks = append(c.Marks, plot.Mark{At: rec.Rate, Text: "wanted: " + wanted(rec.Rate)})
	c.Subtitle = fmt.Sprintf("%s: no conclusion", shownFile(f.Inputs.File))
	if rec.Concluded && rec.Retries != nil {
		c.Marks = append(c.Marks, plot.Mark{At: float64(*rec.Retries), Vertical: true, Text: plural(*rec.Retries, "retry", "retries")})
		c.Subtitle = fmt.Sprintf("%s: %s retries for %s with %s lengths", shownFile(f.Inputs.File), counted(rec.Retries, rec.Low, rec.High), wanted(rec.Rate), rec.Family)
	}
	c.Description = "The rate of unstable boots for each number of retries, with intervals, and fitted curves. " + c.Subtitle + "."
	return c
}

// retryTicks are the numbers that were tried, and round ones that do not crowd them.
func retryTicks(rows []burst.RowResult) []float64 {
	var ticks []float64
	for _, r := range rows {
		ticks = append(ticks, float64(r.Retries))
	}
	tried := len(ticks)
	for _, round := range [...]float64{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000} {
		if !slices.ContainsFunc(ticks[:tried], func(t float64) bool { return math.Abs(math.Log((t+1)/(round+1))) < 0.2 }) {
			ticks = append(ticks, round)
		}
	}
	slices.Sort(ticks)
	return ticks
}

func shownFile(name string) string {
	if name == "-" {
		return "standard input"
	}
	head, _ := cut(name, 60)
	return Safe(head)
}
