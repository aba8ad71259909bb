package sim

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
)

// Dist is a distribution of times. The zero value is always 0.
type Dist struct {
	shape shape
	a, b  float64   // ns, but for what the shape says
	most  float64   // ns: larger draws are cut to it; 0 for none
	upper []float64 // table: cumulated probability at the upper end of each bin
	edges []float64 // table: ns, one more than bins
}

type shape uint8

const (
	always      shape = iota // a
	uniform                  // a to b
	exponential              // mean a
	normal                   // mean a, deviation b; cut at 0
	lognormal                // median a, sigma b (a number)
	pareto                   // least a, exponent b (a number)
	table                    // bins, each uniform within
)

// names of the shapes in text.
var shapeNames = [...]string{always: "const", uniform: "uniform", exponential: "exp", normal: "normal", lognormal: "lognormal", pareto: "pareto", table: "histogram"}

// longest bounds every time that is drawn or read from a text: a week.
const longest = 7 * 24 * 3600 * clocksource.NanosPerSecond

// Draw returns the time at which u of the distribution lies below, 0 < u < 1: the
// more u, the more time.
func (d *Dist) Draw(u float64) clocksource.Nanos {
	var x float64
	switch d.shape {
	case always:
		x = d.a
	case uniform:
		x = d.a + u*(d.b-d.a)
	case exponential:
		x = -d.a * math.Log1p(-u)
	case normal:
		x = max(d.a+d.b*math.Sqrt2*math.Erfinv(2*u-1), 0)
	case lognormal:
		x = d.a * math.Exp(d.b*math.Sqrt2*math.Erfinv(2*u-1))
	case pareto:
		x = d.a * math.Pow(1-u, -1/d.b)
	case table:
		x = d.fromTable(u)
	}
	if d.most > 0 {
		x = min(x, d.most)
	}
	return clocksource.Nanos(min(x, float64(longest)))
}

func (d *Dist) fromTable(u float64) float64 {
	low := 0.0
	for i, up := range d.upper {
		if u <= up || i == len(d.upper)-1 {
			if up == low {
				return d.edges[i+1]
			}
			return d.edges[i] + (u-low)/(up-low)*(d.edges[i+1]-d.edges[i])
		}
		low = up
	}
	return 0
}

// Max returns a bound that no draw exceeds, and false where there is none.
func (d *Dist) Max() (clocksource.Nanos, bool) {
	switch {
	case d.most > 0:
		return clocksource.Nanos(d.most), true
	case d.shape == always:
		return clocksource.Nanos(d.a), true
	case d.shape == uniform:
		return clocksource.Nanos(d.b), true
	case d.shape == table:
		return clocksource.Nanos(d.edges[len(d.edges)-1]), true
	}
	return 0, false
}

// ParseDist reads a distribution:
//
//	const 20ns
//	uniform 1us 1.4us
//	exp 1.5ms
//	normal 60us 1us           mean and standard deviation
//	lognormal 2us 0.5         median, and sigma of the logarithm
//	pareto 100us 1.5          the least, and the exponent
//	histogram 5us 10 3 0 1    width of the bins, the first from 0, and their counts
//	table 0 1us 90 5us 10     edges with the counts between them
//
// Each may end with "max TIME", to which larger draws are cut. A time alone is constant.
func ParseDist(text string) (Dist, error) {
	fields := strings.Fields(text)
	var d Dist
	bad := func(want string) (Dist, error) {
		return Dist{}, fmt.Errorf("distribution %q: want %s", text, want)
	}
	if n := len(fields); n > 2 && fields[n-2] == "max" {
		most, err := parseTime(fields[n-1])
		if err != nil || most <= 0 {
			return bad("a time behind max")
		}
		d.most, fields = float64(most), fields[:n-2]
	}
	if len(fields) == 1 {
		fields = []string{"const", fields[0]}
	}
	if len(fields) == 0 {
		return bad("a shape and its parameters")
	}
	switch fields[0] {
	case "histogram", "table":
		d.shape = table
		if err := d.parseTable(fields[0], fields[1:]); err != nil {
			return Dist{}, fmt.Errorf("distribution %q: %w", text, err)
		}
		return d, nil
	}
	for s, name := range shapeNames[:table] {
		if name == fields[0] {
			d.shape = shape(s)
			return d.parseParameters(text, fields[1:])
		}
	}
	return bad("const, uniform, exp, normal, lognormal, pareto, histogram or table")
}

func (d Dist) parseParameters(text string, fields []string) (Dist, error) {
	fail := func(format string, args ...any) (Dist, error) {
		return Dist{}, fmt.Errorf("distribution %q: "+format, append([]any{text}, args...)...)
	}
	want := 2
	if d.shape == always || d.shape == exponential {
		want = 1
	}
	if len(fields) != want {
		return fail("%s takes %d parameters, here are %d", shapeNames[d.shape], want, len(fields))
	}
	a, err := parseTime(fields[0])
	if err != nil {
		return fail("%w", err)
	}
	d.a = float64(a)
	if want == 1 {
		return d, nil
	}
	if d.shape == lognormal || d.shape == pareto {
		d.b, err = strconv.ParseFloat(fields[1], 64)
		if err != nil || !(d.b > 0 && d.b < 100) {
			return fail("%q: want a number above 0", fields[1])
		}
	} else {
		b, err := parseTime(fields[1])
		if err != nil {
			return fail("%w", err)
		}
		d.b = float64(b)
	}
	if d.shape == uniform && d.b < d.a {
		return fail("the bounds are in the wrong order")
	}
	if d.shape == pareto && d.a == 0 {
		return fail("the least time must be above 0")
	}
	return d, nil
}

func (d *Dist) parseTable(form string, fields []string) error {
	var counts []float64
	total := 0.0
	for i, f := range fields {
		if edge := form == "table" && i%2 == 0 || form == "histogram" && i == 0; edge {
			t, err := parseTime(f)
			if err != nil {
				return err
			}
			d.edges = append(d.edges, float64(t))
			continue
		}
		n, err := strconv.ParseFloat(f, 64)
		if err != nil || !(n >= 0 && n < 1e18) {
			return fmt.Errorf("%q is no count", f)
		}
		counts = append(counts, n)
		total += n
	}
	if form == "histogram" && len(d.edges) == 1 {
		width := d.edges[0]
		d.edges = []float64{0}
		for i := range counts {
			d.edges = append(d.edges, width*float64(i+1))
		}
	}
	if len(counts) == 0 || len(d.edges) != len(counts)+1 || total == 0 {
		return fmt.Errorf("want edges and, between them, counts that are not all 0")
	}
	sum := 0.0
	for i, n := range counts {
		if d.edges[i+1] < d.edges[i] {
			return fmt.Errorf("the edges do not rise")
		}
		sum += n
		d.upper = append(d.upper, sum/total)
	}
	return nil
}

// String writes the distribution as ParseDist reads it, tables with shares
// instead of counts.
func (d *Dist) String() string {
	var b strings.Builder
	b.WriteString(shapeNames[d.shape])
	t := func(ns float64) string { return formatTime(clocksource.Nanos(ns)) }
	switch d.shape {
	case always, exponential:
		b.WriteString(" " + t(d.a))
	case lognormal, pareto:
		fmt.Fprintf(&b, " %s %g", t(d.a), d.b)
	case table:
		b.Reset()
		b.WriteString("table " + t(d.edges[0]))
		low := 0.0
		for i, up := range d.upper {
			fmt.Fprintf(&b, " %.6g %s", up-low, t(d.edges[i+1]))
			low = up
		}
	default:
		fmt.Fprintf(&b, " %s %s", t(d.a), t(d.b))
	}
	if d.most > 0 {
		b.WriteString(" max " + t(d.most))
	}
	return b.String()
}
