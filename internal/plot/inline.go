package plot

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Inline writes the chart as a part of an HTML page: without a style of its own,
// which [StyleSheet] gives to all charts of the page, and without title and subtitle,
// which the page shows. Every id begins with id, which must differ from chart to
// chart, and class is added to the class "plot".
func (c *Chart) Inline(w io.Writer, id, class string) error {
	for _, r := range id + class {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) {
			return fmt.Errorf("draw the chart %q as %q of class %q: want lower case letters, digits and dashes", c.Title, id, class)
		}
	}
	if id == "" {
		return fmt.Errorf("draw the chart %q into a page: it has no id", c.Title)
	}
	part := *c
	part.class = class
	return part.draw(w, id+"-")
}

// opening is the head of a chart in a page.
func (d *drawing) opening() {
	d.printf("<svg class=\"plot %s\" viewBox=\"0 0 %s %s\" role=\"img\" aria-labelledby=\"%stitle %sdesc\">\n", d.c.class, px(d.w), px(d.h), d.id, d.id)
	d.printf("<title id=\"%stitle\">%s</title>\n<desc id=\"%sdesc\">%s</desc>\n", d.id, escape(d.c.Title), d.id, escape(d.c.Description))
}

// Variables are the declarations of the colours that [StyleSheet] takes, for light
// or for dark ground: --ground, --ink, --soft, --grid, and --c0 and so on for the series.
func Variables(dark bool) string {
	var b strings.Builder
	at := 0
	if dark {
		at = 1
	}
	for _, v := range [...][3]string{{"ground", "#ffffff", "#16181c"}, {"ink", "#1b1b1b", "#ececec"}, {"soft", "#5f5f5f", "#a9adb3"}, {"grid", "#e3e3e3", "#33373d"}} {
		fmt.Fprintf(&b, "--%s: %s; ", v[0], v[1+at])
	}
	for i, p := range palette() {
		fmt.Fprintf(&b, "--c%d: %s; ", i, p[at])
	}
	return strings.TrimSuffix(b.String(), " ")
}

// StyleSheet is the style of all charts in a page.
func StyleSheet() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".plot text { font: %dpx system-ui, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif; fill: var(--ink); }\n", fontSize)
	b.WriteString(".plot text.soft { fill: var(--soft); }\n.plot .grid { stroke: var(--grid); stroke-width: 1; }\n" +
		".plot .axis { stroke: var(--soft); stroke-width: 1; fill: none; }\n.plot .mark { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 3; }\n")
	for i := range palette() {
		fmt.Fprintf(&b, ".plot .s%d { stroke: var(--c%d); fill: none; stroke-width: 2; }\n.plot .f%d, .plot text.f%d { fill: var(--c%d); stroke: none; }\n", i, i, i, i, i)
	}
	b.WriteString(".plot .band { fill-opacity: 0.16; }\n.plot .bar { fill-opacity: 0.8; }\n.plot .dashed { stroke-dasharray: 7 4; }\n.plot .whisker { stroke-width: 1.5; }\n" +
		".plot .halo { paint-order: stroke; stroke-width: 4; stroke: var(--ground); }\n.plot .spot { fill: transparent; stroke: none; }\n")
	return b.String()
}

// hint opens a group with the text that is shown to whoever points at a point, and
// a spot that is easier to hit than the marker. The function that it returns closes it.
func (d *drawing) hint(s Series, n int, x, y float64) (done func()) {
	if n >= len(s.Hints) || s.Hints[n] == "" {
		return func() {}
	}
	d.printf("<g class=\"hint\"><title>%s</title>\n<circle class=\"spot\" cx=\"%s\" cy=\"%s\" r=\"9\"%s/>\n", escape(s.Hints[n]), px(x), px(y), d.unseen())
	return func() { d.b.WriteString("</g>\n") }
}

// unseen keeps a spot invisible in a document whose style does not know it.
func (d *drawing) unseen() string {
	if d.id == "" {
		return " fill=\"none\" pointer-events=\"all\""
	}
	return ""
}

// spots are the hints of a line, which has no markers.
func (d *drawing) spots(s Series) {
	if s.Style != Line && s.Style != Dashed {
		return
	}
	for n, p := range s.Points {
		if d.x.shows(p.X) && d.y.shows(p.Y) {
			d.hint(s, n, d.x.at(p.X), d.y.at(p.Y))()
		}
	}
}

// bars draws a histogram: each bar from the bottom of the axes to its value.
func (d *drawing) bars(i int, s Series) {
	if s.Style != Bars {
		return
	}
	for n, p := range s.Points {
		low, high := p.X, p.X
		if n < len(s.Across) {
			low, high = s.Across[n][0], s.Across[n][1]
		}
		from, to := d.x.beyond(low), d.x.beyond(high)
		top := d.y.at(p.Y)
		if _, ok := d.y.axis.scaled(p.Y); !ok || to < d.x.from || from > d.x.to {
			continue
		}
		done := d.hint(s, n, (from+to)/2, top)
		width := max(to-from-1, 1.5) // neighbours stay apart, and a bar stays to be seen
		height := max(d.y.from-top, 1)
		d.printf("<rect class=\"f%d bar\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", i, px(from), px(d.y.from-height), px(width), px(height))
		done()
	}
}

// mostName is how many characters a name beside the y axis may have: it gets two fifths
// of the width, or nearly half of that of a telephone.
func (d *drawing) mostName() int {
	if d.w < 400 {
		return int(0.47 * d.w / charWidth)
	}
	return int(0.4 * d.w / charWidth)
}

func shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:max(most-1, 1)]) + "…"
}
