package stats

import "math"

// golden is the smaller part of a line cut in the golden ratio.
var golden = (3 - math.Sqrt(5)) / 2

// MaximiseLine finds the maximum of f between low and high: the point and the
// value. f is looked at on a grid first, so that a maximum beside a flat stretch
// or on either end is found; around the best point it must have one hump. Values
// of NaN or -Inf are allowed and never chosen.
//
// Source: R. P. Brent, Algorithms for Minimization without Derivatives (1973),
// chapter 5: steps to the top of a parabola through three points, and golden
// section where those do not help.
func MaximiseLine(f func(float64) float64, low, high float64) (at, value float64) {
	const grid = 20
	at, value = low, math.Inf(-1)
	best := 0
	for i := range grid + 1 {
		x := low + (high-low)*float64(i)/grid
		if v := f(x); v > value {
			at, value, best = x, v, i
		}
	}
	a := low + (high-low)*float64(max(best-1, 0))/grid
	b := low + (high-low)*float64(min(best+1, grid))/grid
	return top(f, a, b, at, value)
}

// top climbs from x, between a and b, to the top of a hump.
func top(f func(float64) float64, a, b, x, fx float64) (float64, float64) {
	second, third := x, x // the best points before x
	fSecond, fThird := fx, fx
	step, last := 0.0, 0.0
	for range 100 {
		middle := a + (b-a)/2
		// The square root of the machine precision is where a maximum is lost in rounding.
		tolerance := 1e-9 * (1 + math.Abs(x))
		if math.Abs(x-middle) <= 2*tolerance-(b-a)/2 {
			break
		}
		r := (x - second) * (fx - fThird)
		q := (x - third) * (fx - fSecond)
		p := (x-third)*q - (x-second)*r
		q = 2 * (q - r)
		if q > 0 {
			p = -p
		}
		q = math.Abs(q)
		// The parabola must have its top between a and b, and its steps must shrink.
		if math.Abs(last) > tolerance && math.Abs(p) < math.Abs(q*last/2) && p > q*(a-x) && p < q*(b-x) {
			last, step = step, p/q
			if x+step-a < 2*tolerance || b-x-step < 2*tolerance {
				step = math.Copysign(tolerance, middle-x)
			}
		} else {
			last = b - x
			if x >= middle {
				last = a - x
			}
			step = golden * last
		}
		if math.Abs(step) < tolerance {
			step = math.Copysign(tolerance, step)
		}
		next := min(max(x+step, a), b)
		v := f(next)
		if v >= fx {
			if next >= x {
				a = x
			} else {
				b = x
			}
			third, second, x = second, x, next
			fThird, fSecond, fx = fSecond, fx, v
			continue
		}
		if next < x {
			a = next
		} else {
			b = next
		}
		switch {
		case v >= fSecond || second == x:
			third, second = second, next
			fThird, fSecond = fSecond, v
		case v >= fThird || third == x || third == second:
			third, fThird = next, v
		}
	}
	return x, fx
}

// Maximise finds a maximum of f in a box of any number of dimensions, best few:
// the point and the value. It starts at start, or from a coarse grid over the box
// where start is nil. It needs no derivatives, allows -Inf and NaN, and finds maxima
// on the edges of the box. The answer is a local maximum; for one dimension
// without a start it is that of [MaximiseLine].
//
// Source: pattern search, R. Hooke and T. A. Jeeves, J. ACM 8 (1961) 212-229.
func Maximise(f func([]float64) float64, box []Interval, start []float64) (at []float64, value float64) {
	switch {
	case len(box) == 0:
		return nil, f(nil)
	case start != nil:
		return climb(f, box, start, 0.02)
	case len(box) == 1:
		x, v := MaximiseLine(func(x float64) float64 { return f([]float64{x}) }, box[0].Low, box[0].High)
		return []float64{x}, v
	}
	// Climbing from the best three of a grid costs little and finds what one start misses.
	value = math.Inf(-1)
	for _, s := range bestOfGrid(f, box, 3) {
		if x, v := climb(f, box, s, 0.05); v > value || at == nil {
			at, value = x, v
		}
	}
	return at, value
}

// bestOfGrid returns the n best points of a grid over the box, best first.
func bestOfGrid(f func([]float64) float64, box []Interval, n int) [][]float64 {
	steps := max(4, 24>>len(box)<<1) // 12 in two dimensions, 6 in three
	type point struct {
		x []float64
		v float64
	}
	var best []point
	x := make([]float64, len(box))
	var walk func(d int)
	walk = func(d int) {
		if d < len(box) {
			for i := range steps + 1 {
				x[d] = box[d].Low + box[d].Width()*float64(i)/float64(steps)
				walk(d + 1)
			}
			return
		}
		p := point{append([]float64(nil), x...), f(x)}
		if math.IsNaN(p.v) {
			p.v = math.Inf(-1)
		}
		at := len(best)
		for at > 0 && best[at-1].v < p.v {
			at--
		}
		best = append(best[:at], append([]point{p}, best[at:]...)...)
		best = best[:min(len(best), n)]
	}
	walk(0)
	points := make([][]float64, len(best))
	for i, p := range best {
		points[i] = p.x
	}
	return points
}

// climb searches from a start, with first steps of the given share of the box.
func climb(f func([]float64) float64, box []Interval, start []float64, share float64) ([]float64, float64) {
	clamp := func(x []float64) []float64 {
		for d := range x {
			x[d] = min(max(x[d], box[d].Low), box[d].High)
		}
		return x
	}
	at := clamp(append([]float64(nil), start...))
	value := f(at)
	if math.IsNaN(value) {
		value = math.Inf(-1)
	}
	// explore looks along each axis from x, which it moves.
	explore := func(x []float64, v float64, step float64) float64 {
		for d := range x {
			was := x[d]
			for _, sign := range [...]float64{1, -1} {
				x[d] = min(max(was+sign*step*box[d].Width(), box[d].Low), box[d].High)
				if w := f(x); w > v {
					v, was = w, x[d]
					break
				}
				x[d] = was
			}
			x[d] = was
		}
		return v
	}
	const least = 1e-6 // of the width of the box: what is left changes a likelihood in the sixth digit behind the point
	for step, rounds := share, 0; step > least && rounds < 4000; rounds++ {
		x := append([]float64(nil), at...)
		v := explore(x, value, step)
		if !(v > value) {
			step /= 2
			continue
		}
		// The pattern move: as far again in the direction that helped.
		for rounds < 4000 {
			rounds++
			ahead := make([]float64, len(x))
			for d := range x {
				ahead[d] = 2*x[d] - at[d]
			}
			at, value = x, v
			clamp(ahead)
			w := explore(ahead, f(ahead), step)
			if !(w > value) {
				break
			}
			x, v = ahead, w
		}
	}
	return at, value
}
