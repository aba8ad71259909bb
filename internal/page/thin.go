package page

import (
	"math"

	"github.com/cswatch/cswatch/internal/plot"
)

// mostBuckets is how many columns of pixels a thinned series has at most.
const mostBuckets = 600

// thinned keeps a series of any length in bounded memory: of each run of points the
// least and the greatest value. No extreme is ever lost, and a line through what is
// kept covers the same pixels as one through all points.
type thinned struct {
	all     int // points that were added
	size    int // points in a full bucket
	buckets []bucket
}

// bucket is a run of points in a row.
type bucket struct {
	n           int
	least, most xy
}

type xy struct{ x, y float64 }

// add adds a point behind all others. What cannot be drawn is left out.
func (t *thinned) add(x, y float64) {
	if !plot.Drawable(x) || !plot.Drawable(y) {
		return
	}
	if t.size == 0 {
		t.size = 1
	}
	t.all++
	p := xy{x, y}
	if last := len(t.buckets) - 1; last >= 0 && t.buckets[last].n < t.size {
		t.buckets[last].join(bucket{1, p, p})
		return
	}
	if len(t.buckets) == mostBuckets {
		for i := range mostBuckets / 2 {
			b := t.buckets[2*i]
			b.join(t.buckets[2*i+1])
			t.buckets[i] = b
		}
		t.buckets, t.size = t.buckets[:mostBuckets/2], 2*t.size
	}
	t.buckets = append(t.buckets, bucket{1, p, p})
}

func (b *bucket) join(o bucket) {
	b.n += o.n
	if o.least.y < b.least.y {
		b.least = o.least
	}
	if o.most.y > b.most.y {
		b.most = o.most
	}
}

// points are what is kept, in the order of time, without points that tell nothing new.
func (t *thinned) points() []xy {
	var all []xy
	put := func(p xy) {
		if n := len(all); n == 0 || all[n-1] != p {
			all = append(all, p)
		}
	}
	for i := range t.buckets {
		b := &t.buckets[i]
		early, late := b.least, b.most
		if late.x < early.x {
			early, late = late, early
		}
		put(early)
		put(late)
	}
	return all
}

// span is the least and the greatest value, false if there is none.
func (t *thinned) span() (least, most float64, ok bool) {
	least, most = math.Inf(1), math.Inf(-1)
	for i := range t.buckets {
		least, most = min(least, t.buckets[i].least.y), max(most, t.buckets[i].most.y)
	}
	return least, most, len(t.buckets) > 0
}
