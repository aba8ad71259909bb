package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cswatch/cswatch/internal/burst"
	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/plot"
)

// TrialPlot makes the picture of a campaign: the rate of unstable boots against the
// parameter of its longest series, or where most trials are those of searches, the
// share that noticed a step against its amount. A campaign with neither has no points,
// and its chart is not drawn.
func TrialPlot(c *Campaign) *plot.Chart { return c.chart(true) }

// TrialPoints is [TrialPlot] without a fitted curve, which takes seconds, and longer
// for counts that nobody has looked at.
func TrialPoints(c *Campaign) *plot.Chart { return c.chart(false) }

func (c *Campaign) chart(curve bool) *plot.Chart {
	searched, gridded := 0, 0
	for i := range c.Cells {
		if c.Cells[i].Search {
			searched += c.Cells[i].Boots
		} else {
			gridded += c.Cells[i].Boots
		}
	}
	s := c.longest()
	if s == nil || searched > gridded {
		return c.searchChart()
	}
	return c.seriesChart(s, curve)
}

// longest is the series with most cells that were decided, or nil.
func (c *Campaign) longest() *TrialSeries {
	var best *TrialSeries
	most := 0
	for i := range c.Series {
		decided := 0
		for k := range c.Series[i].Cells {
			if _, ok := c.Series[i].Cells[k].point(0); ok {
				decided++
			}
		}
		if decided > most {
			best, most = &c.Series[i], decided
		}
	}
	return best
}

// plotName is how a picture names its campaign.
func (c *Campaign) plotName() string {
	if c.Inputs.Name != "" {
		return shownFile(c.Inputs.Name) + ", "
	}
	return ""
}

func (c *Campaign) plotSource() string {
	if c.Inputs.Executor == campaign.Simulated {
		return "simulated boots of " + shownFile(c.Inputs.Machine)
	}
	return "real kernels in QEMU"
}

// seriesChart draws the rates of a series, its control, and the fitted curve of retries.
func (c *Campaign) seriesChart(s *TrialSeries, curve bool) *plot.Chart {
	retries := s.Parameter == campaign.RetriesParameter
	chart := &plot.Chart{
		Title: "Boots with an unstable TSC against " + Safe(strings.TrimPrefix(s.Parameter, "clocksource.")),
		X:     plot.Axis{Label: Safe(s.Parameter)},
		Y:     plot.Axis{Label: "unstable boots", Percent: true},
	}
	rest := s.Cells[0].Cell
	rest.Set = otherSettings(rest.Set, s.Parameter)
	chart.Subtitle = Safe(fmt.Sprintf("%s%s, %s, seed %d", c.plotName(), cellName(&rest), c.plotSource(), c.Inputs.Seed))
	chart.Description = "The rate of unstable boots for each value of " + s.Parameter + ", with intervals. " + chart.Subtitle + "."
	observed := plot.Series{Name: "observed, 95 % Wilson interval"}
	for i := range s.Cells {
		if p, ok := s.Cells[i].point(s.Values[i]); ok {
			observed.Points = append(observed.Points, p)
			chart.X.Ticks = append(chart.X.Ticks, s.Values[i])
		}
	}
	if s.Values[0] >= 0 {
		chart.X.Scale = plot.LogPlusOne
	}
	chart.Series = append(chart.Series, observed)
	if retries && curve {
		chart.Series = append(chart.Series, s.fitted()...)
	}
	if control := c.control(s); len(control.Points) > 0 {
		if s.Values[0] >= 0 { // beside the observed point of the same value
			both := []plot.Series{observed, control}
			sidestep(both, 1)
			control = both[1]
		}
		chart.Series = append(chart.Series, control)
	}
	spread(chart)
	return chart
}

// point is a cell at a value of the parameter; there is none without decided boots.
func (s *TrialSide) point(x float64) (plot.Point, bool) {
	if s.Rate == nil || s.RateLow == nil || s.RateHigh == nil {
		return plot.Point{}, false
	}
	return plot.Point{X: x, Y: *s.Rate, Low: *s.RateLow, High: *s.RateHigh}, true
}

// fitted is the curve of the burst model over the series, where three numbers of
// retries or more can carry one.
func (s *TrialSeries) fitted() []plot.Series {
	var rows []burst.Row
	for i := range s.Cells {
		if s.Values[i] != math.Trunc(s.Values[i]) {
			return nil
		}
		if side := &s.Cells[i]; side.Boots > 0 {
			rows = append(rows, burst.Row{Retries: int(s.Values[i]), Boots: side.Boots, Unstable: side.Unstable, CPUs: side.CPUs})
		}
	}
	if len(rows) < 3 {
		return nil
	}
	result, err := burst.Examine(rows, burst.Options{})
	if err != nil {
		return nil // a parameter that is no number of retries; the points stand for themselves
	}
	fit := Fit{Result: result}
	m := fit.best()
	if m == nil {
		return nil
	}
	curve := plot.Series{Name: string(m.Family) + " lengths of episodes", Style: plot.Dashed}
	switch {
	case m.Best:
		curve.Name, curve.Style = curve.Name+", 95 % band", plot.Line
	case !m.Fits:
		curve.Name += ", which do not fit"
	}
	last := s.Values[len(s.Values)-1]
	for _, v := range m.Curve {
		if float64(v.Retries) <= last {
			curve.Points = append(curve.Points, plot.Point{X: float64(v.Retries), Y: v.Rate, Low: v.RateLow, High: v.RateHigh})
		}
	}
	if len(curve.Points) == 0 {
		return nil
	}
	return []plot.Series{curve}
}

// control is the cells without delays in the surroundings of a series. One that does
// not set the parameter stands at the kernel's own number of retries, or else at the
// first value of the series.
func (c *Campaign) control(s *TrialSeries) plot.Series {
	control := plot.Series{Name: "control: no delay"}
	around := s.Cells[0].Cell
	if around.Delay.None() {
		return control
	}
	want := withoutDelay(around)
	for i := range c.Cells {
		cell := &c.Cells[i]
		if other := surroundings(cell.Cell); cell.Search || other.Key() != want.Key() {
			continue
		}
		x := s.Values[0]
		value, set := settings(&cell.Cell)[s.Parameter]
		switch {
		case set:
			at := slices.IndexFunc(s.Cells, func(side TrialSide) bool { return settings(&side.Cell)[s.Parameter] == value })
			if at < 0 {
				continue
			}
			x = s.Values[at]
		case s.Parameter == campaign.RetriesParameter && cell.Retries != nil:
			x = float64(*cell.Retries)
		}
		side := TrialSide{Rate: cell.Rate, RateLow: cell.RateLow, RateHigh: cell.RateHigh}
		if p, ok := side.point(x); ok {
			control.Points = append(control.Points, p)
		}
	}
	return control
}

// spread lays the axes out. Rates that differ by more than ten times want a
// logarithm, but a rate of 0 does not show on it.
func spread(chart *plot.Chart) {
	left, right := chart.X.Ticks[0], chart.X.Ticks[len(chart.X.Ticks)-1]
	least, most, below, top := 1.0, 0.0, 1.0, 0.0
	for _, s := range chart.Series {
		if s.Style != plot.Points {
			continue
		}
		for _, p := range s.Points {
			left, right = min(left, p.X), max(right, p.X)
			least, most, top = min(least, p.Y), max(most, p.Y), max(top, p.High)
			if p.Low > 0 {
				below = min(below, p.Low)
			}
		}
	}
	if chart.X.Scale == plot.LogPlusOne {
		chart.X.Low, chart.X.High = max(-0.5, left-0.12*(left+1)), right+0.12*(right+1)
	}
	if least > 0 && least < most/10 {
		chart.Y.Scale, chart.Y.Low, chart.Y.High = plot.Log, below/1.6, min(1, top*1.4)
		return
	}
	chart.Y.Low, chart.Y.High = -0.02*top, min(1.02, top*1.06)
}

// searchChart draws what share of the trials noticed a step, for each search.
func (c *Campaign) searchChart() *plot.Chart {
	chart := &plot.Chart{
		Title: "Steps of the TSC that are noticed",
		X:     plot.Axis{Label: "step (µs)", Scale: plot.Log},
		Y:     plot.Axis{Label: "trials that noticed it", Percent: true, Low: -0.03, High: 1.03, Ticks: []float64{0, 0.25, 0.5, 0.75, 1}},
		Marks: []plot.Mark{{At: 0.5}},
	}
	kernels := map[string]int{}
	for i := range c.Searches {
		kernels[c.Searches[i].Kernel]++
	}
	left := 0
	for i := range c.Searches {
		s := &c.Searches[i]
		series := plot.Series{Name: Safe(s.Kernel), Joined: true}
		if kernels[s.Kernel] > 1 {
			series.Name = Safe(cellName(&s.Cell) + ", " + s.Where)
		}
		for _, at := range s.Points {
			if at.Rate != nil && at.Low != nil && at.High != nil {
				series.Points = append(series.Points, plot.Point{X: float64(at.ByNS) / float64(time.Microsecond), Y: *at.Rate, Low: *at.Low, High: *at.High})
			}
		}
		switch {
		case len(series.Points) == 0:
		case len(chart.Series) == MostCurves:
			left++
		default:
			chart.Series = append(chart.Series, series)
		}
	}
	chart.Subtitle = fmt.Sprintf("%s%s, seed %d. Whiskers are Wilson's intervals of 95 %%.", c.plotName(), c.plotSource(), c.Inputs.Seed)
	if sidestep(chart.Series, 0) {
		chart.Subtitle += " Points of the same step stand side by side."
	}
	if left > 0 {
		chart.Subtitle += " " + plural(left, "more search is", "more searches are") + " not shown."
	}
	chart.Description = "The share of trials that noticed a step of the TSC, against its size."
	return chart
}

// sidestep moves points aside where an earlier series has one at the same value, by
// some pixels on a logarithmic axis of value + plus, so that whiskers do not hide each
// other. It reports whether there were any.
func sidestep(series []plot.Series, plus float64) bool {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range series {
		for _, p := range series[i].Points {
			low, high = min(low, p.X+plus), max(high, p.X+plus)
		}
	}
	step := math.Pow(high/low, 0.013) // of an axis of about 650 pixels
	before := map[float64]int{}       // how many series had the value
	moved := false
	for i := range series {
		points := slices.Clone(series[i].Points)
		own := map[float64]bool{}
		for k := range points {
			x := points[k].X
			own[x] = true
			if n := before[x]; n > 0 {
				points[k].X = (x+plus)*math.Pow(step, float64(n)) - plus
				moved = true
			}
		}
		for x := range own {
			before[x]++
		}
		series[i].Points = points
	}
	return moved
}
