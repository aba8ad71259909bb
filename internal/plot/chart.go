package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Scale is how values are laid out along an axis.
type Scale int

const (
	Linear Scale = iota
	Log          // values of 0 or less do not show
	// LogPlusOne is the logarithm of value + 1, for counts that begin with 0.
	LogPlusOne
)

// Axis is one side of a chart.
type Axis struct {
	Label string // with the unit
	Scale Scale
	// Low and High are the range; where both are 0, it is that of the data.
	Low, High float64
	// Ticks are where numbers stand; where there are none, round ones are chosen.
	Ticks []float64
	// Texts stand at Ticks instead of their numbers, such as times of day.
	Texts []string
	// Percent shows shares as per cent.
	Percent bool
	// Names stand at 0, 1, 2, ... instead of numbers, for an axis of things. The range is then theirs.
	Names []string
}

// Point is a value, and where it has an interval, its ends. Low and High both
// 0 mean that there is none.
type Point struct {
	X, Y      float64
	Low, High float64
}

func (p Point) hasInterval() bool { return p.Low != 0 || p.High != 0 }

// Style is how a series is drawn.
type Style int

const (
	Points Style = iota // markers, with whiskers where there are intervals
	Line                // a line, with a band where there are intervals
	Dashed              // a dashed line, with a band where there are intervals
	Bars                // bars from the bottom of the axes, each as wide as its interval of the x values
)

// Series is what one entry of the legend stands for. Its colour and marker
// follow from its place among the series.
type Series struct {
	Name   string
	Style  Style
	Points []Point
	// Joined draws a thin line from point to point besides the markers of Points.
	Joined bool
	// Gaps are the numbers of points before which nothing is known, ascending: the line begins anew there.
	Gaps []int
	// Labels stand beside the points, if there are any; points at the same place share one.
	Labels []string
	// Across are the intervals of the x values, drawn for Points and Bars, if there are any.
	Across [][2]float64
	// Hints tell of each point what a reader sees who points at it, if there are any.
	Hints []string
}

// Mark is a line across the chart at a value of one axis, with a text.
type Mark struct {
	At       float64
	Vertical bool // at a value of the x axis
	Text     string
}

// Chart is a picture as data.
type Chart struct {
	Title    string
	Subtitle string // what the numbers are from
	// Description tells in a sentence what is to be seen, for readers who do not see it.
	Description string
	X, Y        Axis
	Series      []Series
	Marks       []Mark
	Width       int // in CSS pixels; 0 means 760
	Height      int // 0 means 460

	class string // of a chart in a page
}

// Validate reports what keeps a chart from being drawn.
func (c *Chart) Validate() error {
	var errs []error
	if c.Width < 0 || c.Width > 0 && c.Width < 320 || c.Height < 0 || c.Height > 0 && c.Height < 240 {
		errs = append(errs, fmt.Errorf("a chart of %d by %d pixels: want at least 320 by 240", c.Width, c.Height))
	}
	if len(c.X.Names)+len(c.Y.Names) > mostNames {
		errs = append(errs, fmt.Errorf("%d names along the axes: want at most %d", len(c.X.Names)+len(c.Y.Names), mostNames))
	}
	if len(c.Series) > len(palette()) {
		errs = append(errs, fmt.Errorf("%d series: want at most %d, more cannot be told apart", len(c.Series), len(palette())))
	}
	n := 0
	for _, s := range c.Series {
		n += len(s.Points)
		for _, p := range s.Points {
			for _, v := range [...]float64{p.X, p.Y, p.Low, p.High} {
				if !Drawable(v) {
					errs = append(errs, fmt.Errorf("series %q holds a value that is no number, or none that can be drawn", s.Name))
					break
				}
			}
		}
		for _, a := range s.Across {
			if !Drawable(a[0]) || !Drawable(a[1]) {
				errs = append(errs, fmt.Errorf("series %q holds an interval that is none", s.Name))
				break
			}
		}
	}
	for _, m := range c.Marks {
		if !Drawable(m.At) {
			errs = append(errs, fmt.Errorf("a mark at %v", m.At))
		}
	}
	if n == 0 {
		errs = append(errs, errors.New("no points"))
	}
	for _, a := range [...]*Axis{&c.X, &c.Y} {
		if !Drawable(a.Low) || !Drawable(a.High) || a.Low > a.High || a.Scale == Log && (a.Low < 0 || a.High < 0) {
			errs = append(errs, fmt.Errorf("axis %q from %v to %v", a.Label, a.Low, a.High))
		}
	}
	return errors.Join(errs...)
}

// mostNames is how many names an axis can have: more have no room.
const mostNames = 200

// Drawable reports whether a chart takes a value: a number, and none so great that
// nothing can be worked out with it.
func Drawable(v float64) bool { return math.Abs(v) <= 1e300 }

// place lays values of an axis out along a number of pixels.
type place struct {
	axis      *Axis
	low, high float64 // as the scale has them
	from, to  float64 // pixels
}

// scaled is a value as the scale has it, and false where it has none.
func (a *Axis) scaled(v float64) (float64, bool) {
	switch a.Scale {
	case Log:
		return math.Log10(v), v > 0
	case LogPlusOne:
		return math.Log10(v + 1), v > -1
	}
	return v, true
}

// newPlace takes the range of the axis, or that of the values with some room.
func newPlace(a *Axis, values []float64, from, to float64) place {
	p := place{axis: a, low: math.Inf(1), high: math.Inf(-1), from: from, to: to}
	take := func(v float64) {
		if s, ok := a.scaled(v); ok {
			p.low, p.high = min(p.low, s), max(p.high, s)
		}
	}
	if n := len(a.Names); n > 0 {
		p.low, p.high = -0.6, float64(n)-0.4
		return p
	}
	if a.Low != 0 || a.High != 0 {
		take(a.Low)
		take(a.High)
	} else {
		for _, v := range values {
			take(v)
		}
		if room := (p.high - p.low) * 0.04; room > 0 {
			p.low, p.high = p.low-room, p.high+room
		}
	}
	if !(p.low < p.high) { // one value, or none
		if math.IsInf(p.low, 0) {
			p.low, p.high = 0, 1
		}
		p.low, p.high = p.low-0.5, p.high+0.5
	}
	// A range that is too small for its numbers would have no ticks that differ.
	if least := max(math.Abs(p.low), math.Abs(p.high)) * 1e-9; p.high-p.low < least {
		p.low, p.high = p.low-least, p.high+least
	}
	return p
}

// at returns the pixel of a value; what lies outside the range is moved to its end.
func (p *place) at(v float64) float64 {
	s, ok := p.axis.scaled(v)
	if !ok {
		s = p.low
	}
	s = min(max(s, p.low), p.high)
	return p.from + (p.to-p.from)*(s-p.low)/(p.high-p.low)
}

// beyond is at, but not moved to the end of the range: what is drawn there is
// cut off. Values that the scale does not have lie below all others.
func (p *place) beyond(v float64) float64 {
	const far = 3 // times the length of the axis
	s, ok := p.axis.scaled(v)
	if !ok {
		s = math.Inf(-1)
	}
	share := min(max((s-p.low)/(p.high-p.low), -far), far)
	return p.from + (p.to-p.from)*share
}

func (p *place) shows(v float64) bool {
	s, ok := p.axis.scaled(v)
	return ok && s >= p.low-1e-9 && s <= p.high+1e-9
}

// ticks returns where numbers stand: those of the axis, or round ones.
func (p *place) ticks() []float64 {
	var all []float64
	if n := len(p.axis.Names); n > 0 {
		for i := range n {
			all = append(all, float64(i))
		}
	} else if len(p.axis.Ticks) > 0 {
		all = p.axis.Ticks
	} else if p.axis.Scale == Linear {
		all = linearTicks(p.low, p.high)
	} else {
		all = logTicks(p.low, p.high)
		if p.axis.Scale == LogPlusOne { // counts: 0, and no parts of one
			all = append([]float64{0}, slices.DeleteFunc(all, func(v float64) bool { return v < 1 })...)
		}
	}
	var shown []float64
	for _, v := range all {
		if p.shows(v) {
			shown = append(shown, v)
		}
	}
	return shown
}

// minor returns where short lines without numbers stand: the multiples between powers of ten.
func (p *place) minor() []float64 {
	if p.axis.Scale != Log || p.high-p.low > mostDecades {
		return nil
	}
	var all []float64
	for e := math.Floor(p.low); e <= p.high; e++ {
		for f := 2.0; f < 10; f++ {
			if v := f * math.Pow(10, e); p.shows(v) {
				all = append(all, v)
			}
		}
	}
	return all
}

// mostTicks is more than a linear axis ever has.
const mostTicks = 24

// linearTicks are multiples of 1, 2 or 5 times a power of ten.
func linearTicks(low, high float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/5)))
	for _, m := range [...]float64{10, 5, 2} {
		if (high-low)/(m*step) >= 4 {
			step *= m
			break
		}
	}
	var ticks []float64
	first := math.Ceil(low / step)
	for n := range mostTicks {
		i := first + float64(n)
		if !(i*step <= high+step*1e-9) {
			break
		}
		ticks = append(ticks, i*step)
		if i == 0 {
			ticks[len(ticks)-1] = 0 // not -0
		}
	}
	return ticks
}

// mostDecades is over how many powers of ten each gets a number.
const mostDecades = 20

// logTicks are powers of ten, and where these are few, also 2 and 5 times them.
func logTicks(low, high float64) []float64 {
	factors := []float64{1}
	if high-low < 2.5 {
		factors = []float64{1, 2, 5}
	}
	every := max(1, math.Ceil((high-low)/mostDecades))
	var ticks []float64
	for e := math.Floor(low) - 1; e <= math.Ceil(high); e += every {
		for _, f := range factors {
			ticks = append(ticks, f*math.Pow(10, e))
		}
	}
	return ticks
}

// number shows a value of the axis.
func (a *Axis) number(v float64) string {
	if i := slices.Index(a.Ticks, v); i >= 0 && i < len(a.Texts) {
		return a.Texts[i]
	}
	if i := int(v); i >= 0 && i < len(a.Names) {
		return a.Names[i]
	}
	unit := ""
	if a.Percent {
		v, unit = v*100, " %"
	}
	if v = math.Round(v*1e9) / 1e9; v == 0 {
		v = 0 // without a sign
	}
	s := fmt.Sprintf("%.10g", v)
	switch {
	case math.Abs(v) >= 1e15:
		s = fmt.Sprintf("%.3g", v)
	case strings.Contains(s, "e"):
		s = fmt.Sprintf("%.0f", v)
	}
	return s + unit
}
