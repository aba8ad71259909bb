package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/cswatch/cswatch/internal/burst"
)

// grid writes cells in columns: l stands at the left, r at the right, and s at
// the left and is shortened where the page is too narrow.
func (p *page) grid(lines [][]string, sides string) {
	var widths []int
	for _, cells := range lines {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			c = p.safe(c, maxText)
			cells[i] = c
			widths[i] = max(widths[i], columns(c))
		}
	}
	spare := 0
	if p.opt.Width > 0 {
		spare = p.opt.Width - 2*(len(widths)-1)
		for _, w := range widths {
			spare -= w
		}
	}
	for row, cells := range lines {
		var parts []string
		for i, c := range cells {
			if sides[i] == 's' && spare < 0 {
				c = shorten(c, max(widths[i]+spare, leastText/2), p.ellipsis())
			}
			blank := strings.Repeat(" ", max(0, widths[i]-columns(c)))
			if row == 0 {
				c = p.paint(c, bold)
			}
			if sides[i] == 'r' {
				parts = append(parts, blank+c)
			} else {
				parts = append(parts, c+blank)
			}
		}
		p.line(strings.Join(parts, "  "))
	}
}

// percent shows a rate as per cent, with two or three digits.
func percent(x float64) string { return digits(100*x) + " %" }

// wanted shows a rate as it was asked for.
func wanted(x float64) string { return fmt.Sprintf("%.4g %%", 100*x) }

// rated is a rate with its interval: 10.5 % (7.9 to 13.9).
func rated(x, low, high float64) string {
	return fmt.Sprintf("%s (%s to %s)", percent(x), digits(100*low), digits(100*high))
}

// digits shows a number with one decimal from 1 on and two significant digits below.
func digits(x float64) string {
	switch a := math.Abs(x); {
	case x == 0:
		return "0"
	case a < 1e-4:
		return fmt.Sprintf("%.0e", x)
	case a < 0.995:
		return fmt.Sprintf("%.2g", x)
	case a < 99.95:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// spanned is a number with bounds that may be open.
func spanned(x, low, high *float64) string {
	if x == nil {
		return "infinite"
	}
	n := func(v float64) string { return fmt.Sprintf("%.3g", v) }
	switch {
	case low == nil && high == nil:
		return n(*x) + " (no bounds)"
	case low == nil:
		return fmt.Sprintf("%s (up to %s)", n(*x), n(*high))
	case high == nil:
		return fmt.Sprintf("%s (from %s)", n(*x), n(*low))
	}
	return fmt.Sprintf("%s (%s to %s)", n(*x), n(*low), n(*high))
}

// counted is a number of retries with bounds, the upper of which may be open.
func counted(x, low, high *int) string {
	if x == nil {
		return fmt.Sprintf("none up to %d", burst.MostNeeded)
	}
	if low == nil {
		return fmt.Sprint(*x)
	}
	return fmt.Sprintf("%d (%s)", *x, between(low, high))
}

func between(low, high *int) string {
	if high == nil {
		return fmt.Sprintf("%d and more", *low)
	}
	return fmt.Sprintf("%d to %d", *low, *high)
}

// lasting shows a time as a person says it.
func lasting(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g s", ns/1e9)
}

// chance shows a p value.
func chance(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.2g", p)
}
