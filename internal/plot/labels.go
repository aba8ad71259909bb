package plot

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// label is what stands beside a point, or several that lie at one place.
type label struct {
	x, y  float64
	texts []string
}

// labels writes the labels of all points beside the markers, in the colour of the
// series. One for which there is no room near its marker is left out: farther
// away it would seem to be of another point.
func (d *drawing) labels() {
	var taken [][4]float64
	for _, s := range d.c.Series {
		for _, p := range s.Points {
			if x, y := d.x.at(p.X), d.y.at(p.Y); d.x.shows(p.X) && d.y.shows(p.Y) {
				taken = append(taken, [4]float64{x - 5, y - 5, x + 5, y + 5})
			}
		}
	}
	for i, s := range d.c.Series {
		for _, l := range d.gather(s) {
			text := strings.Join(l.texts, ", ")
			if last := len(l.texts) - 1; last > 2 {
				text = l.texts[0] + " to " + l.texts[last]
			}
			width := float64(utf8.RuneCountInString(text)) * charWidth
			for _, y := range []float64{-6, 5, fontSize + 4, -6 - fontSize, 2*fontSize + 4} {
				right := [4]float64{l.x + 8, l.y + y - fontSize + 2, l.x + 8 + width, l.y + y}
				left := [4]float64{l.x - 8 - width, right[1], l.x - 8, right[3]}
				if d.free(right, taken) {
					taken = append(taken, right)
					d.text(right[0], right[3], fmt.Sprintf("f%d halo", i), "start", text)
				} else if d.free(left, taken) {
					taken = append(taken, left)
					d.text(left[2], left[3], fmt.Sprintf("f%d halo", i), "end", text)
				} else {
					continue
				}
				break
			}
		}
	}
}

// near is how close points lie, in pixels, that share a label.
const near = 6

// gather joins the labels of points of a series that lie at one place.
func (d *drawing) gather(s Series) []label {
	var all []label
	for n, text := range s.Labels {
		if n >= len(s.Points) || text == "" || !d.x.shows(s.Points[n].X) || !d.y.shows(s.Points[n].Y) {
			continue
		}
		x, y := d.x.at(s.Points[n].X), d.y.at(s.Points[n].Y)
		if last := len(all) - 1; last >= 0 && math.Hypot(all[last].x-x, all[last].y-y) < near {
			all[last].texts = append(all[last].texts, text)
			continue
		}
		all = append(all, label{x, y, []string{text}})
	}
	return all
}

// free reports whether a box lies within the axes and touches no other.
func (d *drawing) free(box [4]float64, taken [][4]float64) bool {
	if box[0] < d.x.from || box[2] > d.x.to || box[1] < d.y.to || box[3] > d.y.from {
		return false
	}
	for _, o := range taken {
		if box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3] {
			return false
		}
	}
	return true
}
