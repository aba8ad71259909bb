package live

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
)

func TestQuantilesAreAtMostASixteenthTooGreat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 99, 100, 101, 5000} {
		var h Histogram
		var all []clocksource.Nanos
		for range n {
			d := clocksource.Nanos(math.Exp(r.Float64() * 30))
			h.Add(d)
			all = append(all, d)
		}
		slices.Sort(all)
		for _, share := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1} {
			rank := min(max(int(math.Ceil(share*float64(n))), 1), n)
			want, got := all[rank-1], h.Quantile(share)
			if got < want || float64(got) > float64(want)*(1+1.0/16)+1 {
				t.Errorf("%d delays, share %v: %d, want %d or up to 1/16 more", n, share, got, want)
			}
		}
		if h.Min() != all[0] || h.Max() != all[n-1] || h.Count() != uint64(n) {
			t.Errorf("%d delays: min %d, max %d, count %d", n, h.Min(), h.Max(), h.Count())
		}
		var sum uint64
		for _, b := range h.Buckets() {
			sum += b.Count
			in := 0
			for _, d := range all {
				if d >= b.From && (d < 2*b.From || b.From == 0 && d < 2) {
					in++
				}
			}
			if uint64(in) != b.Count {
				t.Errorf("bucket from %d: %d, want %d", b.From, b.Count, in)
			}
		}
		if sum != uint64(n) {
			t.Errorf("the buckets hold %d of %d", sum, n)
		}
	}
}

func TestEveryDelayHasAStepOfTheHistogram(t *testing.T) {
	for _, d := range []uint64{0, 1, 15, 16, 17, 31, 32, 33, 1<<20 - 1, 1 << 20, math.MaxInt64} {
		i := index(d)
		if last(i) < d || i > 0 && last(i-1) >= d {
			t.Errorf("delay %d is in step %d, which ends at %d", d, i, last(i))
		}
	}
	var h Histogram
	if h.Quantile(0.5) != 0 || len(h.Buckets()) != 0 {
		t.Error("an empty histogram has a median or buckets")
	}
	h.Add(-5)
	if h.Quantile(1) != 0 || h.Count() != 1 {
		t.Error("a delay below 0 does not count as 0")
	}
}
