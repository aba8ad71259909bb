package plot

import (
	"slices"
	"unicode/utf8"
)

// The legend stands above the axes, in rows as wide as the chart.
const (
	swatch    = 28
	legendRow = fontSize + 7
)

// legendPlaces returns where each entry begins, relative to the first row.
func (d *drawing) legendPlaces() (places [][2]float64, height float64) {
	x, y := 0.0, 0.0
	for _, s := range d.c.Series {
		width := swatch + 8 + float64(utf8.RuneCountInString(s.Name))*charWidth + 18
		if x > 0 && x+width > d.w-2*margin {
			x, y = 0, y+legendRow
		}
		places = append(places, [2]float64{x, y})
		x += width
	}
	return places, y + legendRow
}

func (d *drawing) legendHeight() float64 {
	_, h := d.legendPlaces()
	return h
}

func (d *drawing) drawLegend() {
	places, height := d.legendPlaces()
	top := d.y.to - 12 - height
	for i, s := range d.c.Series {
		x, y := margin+places[i][0], top+places[i][1]+legendRow/2
		switch s.Style {
		case Bars:
			d.printf("<rect class=\"f%d bar\" x=\"%s\" y=\"%s\" width=\"12\" height=\"12\"/>\n", i, px(x+swatch/2-6), px(y-6))
		case Points:
			switch {
			case d.id == "" || slices.ContainsFunc(s.Points, Point.hasInterval):
				d.printf("<path class=\"s%d whisker\" d=\"M%s %sv12m-4 0h8m-8 -12h8\"/>\n", i, px(x+swatch/2), px(y-6))
			case len(s.Across) > 0:
				d.printf("<path class=\"s%d whisker\" d=\"M%s %sh%d\"/>\n", i, px(x), px(y), swatch)
			}
			d.marker(i, x+swatch/2, y)
		default:
			if len(s.Points) > 0 && s.Points[0].hasInterval() {
				d.printf("<rect class=\"f%d band\" x=\"%s\" y=\"%s\" width=\"%d\" height=\"12\"/>\n", i, px(x), px(y-6), swatch)
			}
			d.printf("<path class=\"%s\" d=\"M%s %sh%d\"/>\n", lineClass(i, s.Style), px(x), px(y), swatch)
		}
		d.text(x+swatch+8, y+fontSize*0.35, "legend", "start", s.Name)
	}
}
