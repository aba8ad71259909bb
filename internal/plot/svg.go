package plot

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// palette is the colours of Okabe and Ito that show on light and on dark
// ground: the light and the dark variant of each.
func palette() [][2]string {
	return [][2]string{
		{"#0072b2", "#56b4e9"}, // blue
		{"#d55e00", "#ff8f3f"}, // vermilion
		{"#007a5a", "#2fc9a0"}, // bluish green
		{"#a8558a", "#e08fc0"}, // reddish purple
		{"#8a6d00", "#f0c62e"}, // yellow, darkened for light ground
		{"#4a4a4a", "#c8c8c8"}, // grey
	}
}

// Sizes in CSS pixels.
const (
	fontSize  = 13
	titleSize = 16
	charWidth = 7.0 // generous for most of a sans-serif font at fontSize
	margin    = 14
)

// drawing gathers a document.
type drawing struct {
	b    bytes.Buffer
	c    *Chart
	x, y place
	w, h float64
	// id begins the ids of a drawing that is a part of a page, "" for a document of its own.
	id string
}

// SVG writes the chart as one document.
func (c *Chart) SVG(w io.Writer) error { return c.draw(w, "") }

// draw writes a document, or with an id a part of a page.
func (c *Chart) draw(w io.Writer, id string) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("draw the chart %q: %w", c.Title, err)
	}
	d := &drawing{c: c, w: 760, h: 460, id: id}
	if c.Width > 0 {
		d.w = float64(c.Width)
	}
	if c.Height > 0 {
		d.h = float64(c.Height)
	}
	d.layout()
	if id == "" {
		d.head()
	} else {
		d.opening()
	}
	d.axes()
	for _, m := range c.Marks {
		d.mark(m)
	}
	// Bands lie below, points on top. Bands and lines may leave the axes and are cut off there.
	d.printf("<clipPath id=\"%sinside\"><rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/></clipPath>\n<g clip-path=\"url(#%sinside)\">\n",
		d.id, px(d.x.from), px(d.y.to), px(d.x.to-d.x.from), px(d.y.from-d.y.to), d.id)
	for i, s := range c.Series {
		d.bars(i, s)
		d.band(i, s)
	}
	for i, s := range c.Series {
		d.line(i, s)
	}
	d.b.WriteString("</g>\n")
	for i, s := range c.Series {
		d.points(i, s)
		d.spots(s)
	}
	d.labels()
	d.drawLegend()
	d.b.WriteString("</svg>\n")
	if _, err := w.Write(d.b.Bytes()); err != nil {
		return fmt.Errorf("write the chart %q: %w", c.Title, err)
	}
	return nil
}

// layout decides where the axes stand.
func (d *drawing) layout() {
	c := d.c
	var xs, ys []float64
	for _, s := range c.Series {
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
			if p.hasInterval() {
				ys = append(ys, p.Low, p.High)
			}
		}
	}
	top := float64(margin)
	if d.id == "" { // the page shows them
		if c.Title != "" {
			top += titleSize + 6
		}
		for range d.wrapped(c.Subtitle) {
			top += fontSize + 5
		}
	}
	top += d.legendHeight() + 18
	bottom := d.h - margin - 2*fontSize - 22
	d.y = newPlace(&c.Y, ys, bottom, top)
	widest := 0
	for _, t := range d.y.ticks() {
		widest = max(widest, utf8.RuneCountInString(c.Y.number(t)))
	}
	widest = min(widest, d.mostName())
	left := margin + fontSize + 12 + float64(widest)*charWidth + 8
	d.x = newPlace(&c.X, xs, left, d.w-margin-10)
}

// wrapped breaks a text into lines of the width of the chart.
func (d *drawing) wrapped(text string) []string {
	room := int((d.w - 2*margin) / (charWidth * 0.95))
	var lines []string
	line := ""
	for _, word := range strings.Fields(strings.ReplaceAll(text, " %", "\x00%")) { // a number and its per cent stay together
		word = strings.ReplaceAll(word, "\x00", " ")
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > room {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

// px writes a coordinate with one decimal, which no eye can tell from more.
func px(v float64) string {
	s := strconv.FormatFloat(math.Round(v*10)/10, 'f', 1, 64)
	s = strings.TrimSuffix(s, ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

func (d *drawing) head() {
	c := d.c
	d.printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\" width=\"%s\" height=\"%s\" role=\"img\" aria-labelledby=\"title desc\">\n",
		px(d.w), px(d.h), px(d.w), px(d.h))
	d.printf("<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", escape(c.Title), escape(c.Description))
	d.b.WriteString("<style>\n")
	d.printf("svg { --ground: #ffffff; --ink: #1b1b1b; --soft: #5f5f5f; --grid: #e3e3e3;")
	for i, p := range palette() {
		d.printf(" --c%d: %s;", i, p[0])
	}
	d.printf(" }\n@media (prefers-color-scheme: dark) {\n  svg { --ground: #16181c; --ink: #ececec; --soft: #a9adb3; --grid: #33373d;")
	for i, p := range palette() {
		d.printf(" --c%d: %s;", i, p[1])
	}
	d.printf(" }\n}\n")
	// Programs that know no CSS variables take the plain value before each.
	pair := func(property, plain, name string) string {
		return fmt.Sprintf("%s: %s; %s: var(--%s);", property, plain, property, name)
	}
	d.printf("text { font: %dpx system-ui, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif; %s }\n", fontSize, pair("fill", "#1b1b1b", "ink"))
	d.printf(".title { font-size: %dpx; font-weight: 600; }\n.soft { %s }\n", titleSize, pair("fill", "#5f5f5f", "soft"))
	d.printf(".ground { %s }\n.grid { %s stroke-width: 1; }\n.axis { %s stroke-width: 1; fill: none; }\n", pair("fill", "#ffffff", "ground"), pair("stroke", "#e3e3e3", "grid"), pair("stroke", "#5f5f5f", "soft"))
	d.printf(".mark { %s stroke-width: 1; stroke-dasharray: 2 3; }\n", pair("stroke", "#5f5f5f", "soft"))
	for i := range c.Series {
		plain := palette()[i][0]
		name := fmt.Sprintf("c%d", i)
		d.printf(".s%d { %s fill: none; stroke-width: 2; }\n", i, pair("stroke", plain, name))
		d.printf(".f%d { %s stroke: none; }\n", i, pair("fill", plain, name))
	}
	d.printf(".band { fill-opacity: 0.16; }\n.dashed { stroke-dasharray: 7 4; }\n.whisker { stroke-width: 1.5; }\n.halo { paint-order: stroke; stroke-width: 4; %s }\n</style>\n", pair("stroke", "#ffffff", "ground"))
	d.printf("<rect class=\"ground\" width=\"%s\" height=\"%s\"/>\n", px(d.w), px(d.h))
	at := float64(margin)
	if c.Title != "" {
		at += titleSize
		d.text(margin, at, "title", "start", c.Title)
		at += 6
	}
	for _, line := range d.wrapped(c.Subtitle) {
		at += fontSize
		d.text(margin, at, "soft", "start", line)
		at += 5
	}
}

func (d *drawing) text(x, y float64, class, anchor, text string) {
	d.printf("<text x=\"%s\" y=\"%s\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", px(x), px(y), class, anchor, escape(text))
}

func (d *drawing) axes() {
	c := d.c
	left, right, top, bottom := d.x.from, d.x.to, d.y.to, d.y.from
	for _, t := range d.y.ticks() {
		y := d.y.at(t)
		d.printf("<path class=\"grid\" d=\"M%s %sH%s\"/>\n", px(left), px(y), px(right))
		d.text(left-8, y+fontSize*0.35, "soft", "end", shorten(c.Y.number(t), d.mostName()))
	}
	for _, t := range d.y.minor() {
		d.printf("<path class=\"axis\" d=\"M%s %sh-4\"/>\n", px(left), px(d.y.at(t)))
	}
	end := math.Inf(-1)
	for _, t := range d.x.ticks() {
		x := d.x.at(t)
		label := c.X.number(t)
		half := float64(utf8.RuneCountInString(label)) * charWidth / 2
		d.printf("<path class=\"axis\" d=\"M%s %sv5\"/>\n", px(x), px(bottom))
		if x-half < end {
			continue // would touch its neighbour
		}
		end = x + half + 6
		d.text(x, bottom+fontSize+8, "soft", "middle", label)
	}
	d.printf("<path class=\"axis\" d=\"M%s %sV%sH%s\"/>\n", px(left), px(top), px(bottom), px(right))
	d.text((left+right)/2, d.h-margin, "axis-label", "middle", c.X.Label)
	d.printf("<text transform=\"translate(%s %s) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
		px(margin+fontSize-2), px((top+bottom)/2), escape(c.Y.Label))
}

func (d *drawing) mark(m Mark) {
	if m.Vertical {
		if !d.x.shows(m.At) {
			return
		}
		x := d.x.at(m.At)
		d.printf("<path class=\"mark\" d=\"M%s %sV%s\"/>\n", px(x), px(d.y.to), px(d.y.from))
		anchor, at := "start", x+5
		if width := float64(utf8.RuneCountInString(m.Text)) * charWidth; at+width > d.x.to {
			anchor, at = "end", x-5
		}
		d.text(at, d.y.to+fontSize, "soft halo", anchor, m.Text)
		return
	}
	if !d.y.shows(m.At) {
		return
	}
	y := d.y.at(m.At)
	d.printf("<path class=\"mark\" d=\"M%s %sH%s\"/>\n", px(d.x.from), px(y), px(d.x.to))
	d.text(d.x.from+6, y-5, "soft halo", "start", m.Text)
}

// band draws the intervals of a line.
func (d *drawing) band(i int, s Series) {
	if s.Style == Points || s.Style == Bars {
		return
	}
	var up, down []string
	for _, p := range s.Points {
		if !p.hasInterval() {
			continue
		}
		x := px(d.x.beyond(p.X))
		up = append(up, x+" "+px(d.y.beyond(p.High)))
		down = append([]string{x + " " + px(d.y.beyond(p.Low))}, down...)
	}
	if len(up) > 1 {
		d.printf("<path class=\"f%d band\" d=\"M%sL%sZ\"/>\n", i, strings.Join(up, "L"), strings.Join(down, "L"))
	}
}

func (d *drawing) line(i int, s Series) {
	if s.Style == Bars || s.Style == Points && !s.Joined {
		return
	}
	var path strings.Builder
	for _, run := range s.runs() {
		switch {
		case len(run) > 1:
			to := byte('M')
			for _, p := range run {
				path.WriteByte(to)
				path.WriteString(px(d.x.beyond(p.X)))
				path.WriteByte(' ')
				path.WriteString(px(d.y.beyond(p.Y)))
				to = 'L'
			}
		case len(s.Points) > 1 && s.Style != Points: // a point by itself, which has no marker, is a dot
			fmt.Fprintf(&path, "M%s %sh2", px(d.x.beyond(run[0].X)-1), px(d.y.beyond(run[0].Y)))
		}
	}
	if path.Len() > 0 {
		d.printf("<path class=\"%s\" d=\"%s\"/>\n", lineClass(i, s.Style), path.String())
	}
}

// runs are the points from gap to gap.
func (s *Series) runs() [][]Point {
	var all [][]Point
	from := 0
	for _, gap := range s.Gaps {
		if gap > from && gap < len(s.Points) {
			all = append(all, s.Points[from:gap])
			from = gap
		}
	}
	return append(all, s.Points[from:])
}

func lineClass(i int, s Style) string {
	class := fmt.Sprintf("s%d", i)
	if s == Points {
		class += " whisker"
	}
	if s == Dashed {
		class += " dashed"
	}
	return class
}

func (d *drawing) points(i int, s Series) {
	if s.Style != Points {
		return
	}
	for n, p := range s.Points {
		if !d.x.shows(p.X) {
			continue
		}
		x := d.x.at(p.X)
		done := d.hint(s, n, x, d.y.at(p.Y))
		if n < len(s.Across) && d.y.shows(p.Y) {
			low, high := d.x.at(s.Across[n][0]), d.x.at(s.Across[n][1])
			d.printf("<path class=\"s%d whisker\" d=\"M%s %sH%s\"/>\n", i, px(low), px(d.y.at(p.Y)), px(high))
		}
		if p.hasInterval() {
			low, high := d.y.at(p.Low), d.y.at(p.High)
			foot := ""
			if d.y.shows(p.Low) { // an end below the axis has no foot
				foot = fmt.Sprintf("M%s %sh8", px(x-4), px(low))
			}
			d.printf("<path class=\"s%d whisker\" d=\"M%s %sV%s%sM%s %sh8\"/>\n", i, px(x), px(low), px(high), foot, px(x-4), px(high))
		}
		if d.y.shows(p.Y) {
			d.marker(i, x, d.y.at(p.Y))
		} else if _, ok := d.c.Y.scaled(p.Y); !ok { // an arrow to what a logarithm does not reach, such as no event at all
			d.printf("<path class=\"s%d whisker\" d=\"M%s %sl5 8l5 -8\"/>\n", i, px(x-5), px(d.y.from-9))
		}
		done()
	}
}

// marker draws the shape of a series: circle, square, triangle, diamond, and again.
func (d *drawing) marker(i int, x, y float64) {
	const r = 4.5
	switch i % 4 {
	case 0:
		d.printf("<circle class=\"f%d\" cx=\"%s\" cy=\"%s\" r=\"%s\"/>\n", i, px(x), px(y), px(r))
	case 1:
		d.printf("<path class=\"f%d\" d=\"M%s %sh%sv%sh-%sz\"/>\n", i, px(x-4), px(y-4), px(8), px(8), px(8))
	case 2:
		d.printf("<path class=\"f%d\" d=\"M%s %sl5 9h-10z\"/>\n", i, px(x), px(y-5))
	case 3:
		d.printf("<path class=\"f%d\" d=\"M%s %sl5.5 5.5l-5.5 5.5l-5.5 -5.5z\"/>\n", i, px(x), px(y-5.5))
	}
}

// escape makes text fit for XML. What is invisible or turns text around is left out.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError || !unicode.IsPrint(r):
			b.WriteRune('\ufffd')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
