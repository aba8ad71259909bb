package burst

import (
	"math"

	"github.com/cswatch/cswatch/stats"
)

// Bounds of log lambda, and of the logarithm of any expected number of
// condemning episodes: outside, a rate is 0 or 1 in every digit.
const (
	leastLog = -80
	mostLog  = 700
)

// point is a model: log lambda and a shape.
type point struct {
	a     float64
	shape []float64
}

// data is the pooled rows as the likelihood needs them.
type data []cell

type cell struct {
	attempts float64
	k, n     float64 // unstable, boots
}

func dataOf(rows []Pooled) data {
	d := make(data, len(rows))
	for i, r := range rows {
		d[i] = cell{float64(r.Retries + 1), float64(r.Unstable), float64(r.Boots)}
	}
	return d
}

// logLikelihood is that of a cell, without its binomial coefficient, where the
// logarithm of the expected number of condemning episodes is eta: a binomial
// with complementary log-log link.
func (c cell) logLikelihood(eta float64) float64 {
	mu := math.Exp(eta)
	l := -(c.n - c.k) * mu
	if c.n == c.k {
		l = 0 // also where mu is infinite
	}
	if c.k > 0 {
		l += c.k * log1mexp(mu, eta)
	}
	return l
}

// log1mexp is log(1-exp(-mu)) for mu = exp(eta).
func log1mexp(mu, eta float64) float64 {
	if mu < 1e-9 {
		return eta
	}
	if mu > 40 {
		return 0
	}
	return math.Log(-math.Expm1(-mu))
}

// saturated is the likelihood of a cell at its own rate.
func (c cell) saturated() float64 {
	p := c.k / c.n
	l := 0.0
	if c.k > 0 {
		l += c.k * math.Log(p)
	}
	if c.k < c.n {
		l += (c.n - c.k) * math.Log1p(-p)
	}
	return l
}

func (d data) saturated() float64 {
	l := 0.0
	for _, c := range d {
		l += c.saturated()
	}
	return l
}

func (d data) logLikelihood(f family, p point) float64 {
	l := 0.0
	for _, c := range d {
		l += c.logLikelihood(p.a + f.logS(p.shape, c.attempts))
	}
	return l
}

// bestLambda returns the log lambda that is likeliest for a shape, and the
// likelihood there. The likelihood is concave in it, so its slope has one zero:
// Newton steps, kept within a bracket that halves.
func (d data) bestLambda(f family, shape []float64) (a, l float64) {
	var buffer [16]float64
	logS := buffer[:0]
	for _, c := range d {
		logS = append(logS, f.logS(shape, c.attempts))
	}
	slope := func(a float64) (first, second float64) {
		for i, c := range d {
			mu := math.Exp(a + logS[i])
			if c.k > 0 {
				// k mu/(exp(mu)-1), whose limit for small mu is k
				g := 1.0
				if mu > 1e-12 {
					g = mu / math.Expm1(mu)
				}
				if math.IsNaN(g) || mu > 700 {
					g = 0
				}
				first += c.k * g
				if mu > 1e-12 && mu < 700 {
					second += c.k * g * (1 - g*math.Exp(mu))
				}
			}
			if c.k < c.n {
				first -= (c.n - c.k) * mu
				second -= (c.n - c.k) * mu
			}
		}
		return first, second
	}
	low, high := float64(leastLog), float64(mostLog)
	a = start(d, logS)
	for range 200 {
		first, second := slope(a)
		if first > 0 {
			low = a
		} else {
			high = a
		}
		next := a - first/second
		if !(next > low && next < high) {
			next = low + (high-low)/2
		}
		if math.Abs(next-a) < 1e-11*(1+math.Abs(a)) {
			a = next
			break
		}
		a = next
	}
	for i, c := range d {
		l += c.logLikelihood(a + logS[i])
	}
	return a, l
}

// start guesses log lambda from the totals.
func start(d data, logS []float64) float64 {
	k, s := 0.5, 0.0
	top := math.Inf(-1)
	for _, x := range logS {
		top = max(top, x)
	}
	for i, c := range d {
		k += c.k
		s += c.n * math.Exp(logS[i]-top)
	}
	return min(max(math.Log(k/s)-top, leastLog+1), mostLog-1)
}

// fitted is the likeliest model of a family.
type fitted struct {
	family
	d data
	point
	l float64 // the logarithm of its likelihood, without binomial coefficients
}

func fitFamily(name Name, d data) fitted {
	f := familyOf(name)
	objective := func(s []float64) float64 {
		_, l := d.bestLambda(f, s)
		return l
	}
	shape, l := stats.Maximise(objective, f.box, nil)
	if f.within != nil {
		// The larger family is never worse, and is seen not to be where its ridge is flat.
		start := f.within(fitFamily(Exponential, d).shape[0])
		if s, again := stats.Maximise(objective, f.box, start); again > l {
			shape, l = s, again
		}
	}
	a, _ := d.bestLambda(f, shape)
	return fitted{family: f, d: d, point: point{a, shape}, l: l}
}

// eta is the logarithm of the expected number of episodes of at least k attempts.
func (m *fitted) eta(k float64) float64 { return m.a + m.logS(m.shape, k) }

// rate is the share of boots that k attempts condemn.
func (m *fitted) rate(k float64) float64 { return -math.Expm1(-math.Exp(m.eta(k))) }

// deviance is how far the model is from the observed rates. It comes from the
// logarithms, because a rate near 1 has lost the share that stays stable.
func (m *fitted) deviance() float64 {
	dev := 0.0
	for _, c := range m.d {
		dev += max(0, 2*(c.saturated()-c.logLikelihood(m.eta(c.attempts))))
	}
	return dev
}

// along returns the profile of a quantity that lambda is given by: the
// likelihood, maximised over the shape, where log lambda is a(shape, x). Each
// call goes on from where the last one ended, and from the fit.
func (m *fitted) along(a func(shape []float64, x float64) float64) func(x float64) float64 {
	from := m.shape
	return func(x float64) float64 {
		objective := func(s []float64) float64 {
			return m.d.logLikelihood(m.family, point{a(s, x), s})
		}
		if len(m.box) == 1 {
			_, l := stats.MaximiseLine(func(s float64) float64 { return objective([]float64{s}) }, m.box[0].Low, m.box[0].High)
			return l
		}
		// A narrow ridge may hold a climb up, and another start then passes it.
		last, l := stats.Maximise(objective, m.box, from)
		first, again := stats.Maximise(objective, m.box, m.shape)
		if again > l {
			last, l = first, again
		}
		from = last
		return l
	}
}

// endless is a mean length above which the counts set no limit: the mean of a
// power law runs away as its exponent nears the one that has none.
const endless = 1e4

// manyEpisodes is more than a boot has room for: a bound of lambda above it is
// one that the edge of the family's box sets, not the counts.
const manyEpisodes = 1e5

// logLambda is the profile interval of log lambda.
func (m *fitted) logLambda(confidence float64) stats.Bounds {
	profile := m.along(func(_ []float64, x float64) float64 { return x })
	b := stats.ProfileInterval(profile, m.a, leastLog, mostLog, confidence)
	b.OpenHigh = b.OpenHigh || b.High > math.Log(manyEpisodes)
	return b
}

// meanLength is the profile interval of the mean length in attempts.
func (m *fitted) meanLength(confidence float64) stats.Bounds {
	rest := m.box[1:]
	from := m.shape[1:]
	profile := func(logMean float64) float64 {
		objective := func(r []float64) float64 {
			first, ok := m.pin(math.Exp(logMean), r)
			if !ok || first < m.box[0].Low || first > m.box[0].High {
				return math.Inf(-1)
			}
			_, l := m.d.bestLambda(m.family, append([]float64{first}, r...))
			return l
		}
		at, l := stats.Maximise(objective, rest, from)
		if len(rest) > 0 && !math.IsInf(l, -1) {
			from = at
		}
		return l
	}
	at := math.Log(m.mean(m.shape))
	b := stats.Bounds{Interval: stats.Interval{Low: shortest, High: math.Inf(1)}, OpenLow: true, OpenHigh: true}
	if !math.IsInf(at, 0) {
		b = stats.ProfileInterval(profile, at, math.Log(shortest), math.Log(longest), confidence)
		b.Low, b.High = math.Exp(b.Low), math.Exp(b.High)
		// A family that reaches no further than the search does has no end there either.
		b.OpenLow = b.OpenLow || b.Low < 1.01*shortest
		b.OpenHigh = b.OpenHigh || b.High > endless
	}
	return b
}

// rateInterval is the profile interval of the share of boots that k attempts condemn.
func (m *fitted) rateInterval(k, confidence float64) stats.Interval {
	profile := m.along(func(s []float64, eta float64) float64 { return eta - m.logS(s, k) })
	at := m.eta(k)
	low, high := min(-60, at-1), max(5.0, at)
	b := stats.ProfileInterval(profile, at, low, high, confidence)
	toRate := func(eta float64) float64 { return -math.Expm1(-math.Exp(eta)) }
	i := stats.Interval{Low: toRate(b.Low), High: toRate(b.High)}
	if b.OpenLow {
		i.Low = 0
	}
	if b.OpenHigh {
		i.High = 1
	}
	return i
}

// mostAttempts is where the search for attempts ends.
const mostAttempts = 1e6

// MostNeeded is where the search for the retries needed ends: an answer that is
// absent may lie above it.
const MostNeeded = int(mostAttempts) - 1

// attemptsFor is how many attempts bring the rate down to p, as a real number
// of at least one, and false where no number below mostAttempts does.
func (m *fitted) attemptsFor(p float64) (float64, bool) {
	want := math.Log(-math.Log1p(-p))
	if m.eta(1) <= want {
		return 1, true
	}
	if m.eta(mostAttempts) > want {
		return mostAttempts, false
	}
	low, high := 0.0, math.Log(mostAttempts)
	for high-low > 1e-12*(1+high) {
		middle := (low + high) / 2
		if m.eta(math.Exp(middle)) > want {
			low = middle
		} else {
			high = middle
		}
		if middle == low && middle == high {
			break
		}
	}
	return math.Exp(high), true
}

// attemptsInterval is the profile interval of that number. Its low end is
// open where one attempt may do, its high end where no number of attempts is
// certain to be enough.
func (m *fitted) attemptsInterval(p, confidence float64) stats.Bounds {
	at, _ := m.attemptsFor(p)
	want := math.Log(-math.Log1p(-p))
	profile := m.along(func(s []float64, logK float64) float64 { return want - m.logS(s, math.Exp(logK)) })
	if at <= 1 {
		// The constraint "exactly at one attempt" is not where the likelihood is largest,
		// so search from there with the maximum itself as the height.
		inner := profile
		profile = func(x float64) float64 {
			if x <= 0 {
				return m.l
			}
			return inner(x)
		}
	}
	b := stats.ProfileInterval(profile, math.Log(at), 0, math.Log(mostAttempts), confidence)
	b.Low, b.High = math.Exp(b.Low), math.Exp(b.High)
	return b
}
