package burst

import (
	"math"

	"github.com/cswatch/cswatch/stats"
)

// Name names a family of lengths.
type Name string

// The families, simplest first.
const (
	Exponential     Name = "exponential"      // S(k) = exp(-k/tau)
	Pareto          Name = "pareto"           // S(k) = k^-alpha, no episode shorter than one attempt
	Lomax           Name = "lomax"            // S(k) = (1 + xi k/beta)^(-1/xi), the exponential where xi = 0
	LogNormal       Name = "log-normal"       // S(k) = Phi((m - log k)/s)
	TwoExponentials Name = "two-exponentials" // S(k) = w exp(-k/tau1) + (1-w) exp(-k/tau2)
)

// Families lists the families, simplest first.
func Families() []Name { return []Name{Exponential, Pareto, Lomax, LogNormal, TwoExponentials} }

// family is one form of the distribution of lengths. Its shape is a point in a
// box; the coordinate 0 is what the mean length fixes once the others are chosen.
type family struct {
	name Name
	box  []stats.Interval
	// logS is the logarithm of the share of episodes of at least k attempts.
	logS func(shape []float64, k float64) float64
	mean func(shape []float64) float64 // in attempts; +Inf where there is none
	// pin returns coordinate 0 for a mean and the other coordinates, and false where no value has it.
	pin func(mean float64, rest []float64) (float64, bool)
	// within is the shape that makes an exponential of a family that contains it; nil for others.
	within func(logTau float64) []float64
	// parameters names the shape in the units of a reader.
	parameters func(shape []float64) []Parameter
}

// Parameter is a fitted number of a family by the name that its formula has.
type Parameter struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// size is the number of parameters with lambda.
func (f family) size() int { return 1 + len(f.box) }

// Bounds of lengths, in attempts. A mean outside tells that the counts fix none.
const (
	shortest = 0.02
	longest  = 1e6
)

func familyOf(name Name) family {
	length := stats.Interval{Low: math.Log(shortest), High: math.Log(longest)}
	switch name {
	case Exponential:
		return family{
			name: name, box: []stats.Interval{length},
			logS: func(s []float64, k float64) float64 { return -k / math.Exp(s[0]) },
			mean: func(s []float64) float64 { return math.Exp(s[0]) },
			pin:  func(mean float64, _ []float64) (float64, bool) { return math.Log(mean), true },
			parameters: func(s []float64) []Parameter {
				return []Parameter{{"tau", math.Exp(s[0])}}
			},
		}
	case Pareto:
		return family{
			name: name, box: []stats.Interval{{Low: math.Log(1e-5), High: math.Log(200)}},
			logS: func(s []float64, k float64) float64 { return -math.Exp(s[0]) * math.Log(max(k, 1)) },
			mean: func(s []float64) float64 {
				if a := math.Exp(s[0]); a > 1 {
					return a / (a - 1)
				}
				return math.Inf(1)
			},
			pin: func(mean float64, _ []float64) (float64, bool) {
				return math.Log(mean / (mean - 1)), mean > 1
			},
			parameters: func(s []float64) []Parameter {
				return []Parameter{{"alpha", math.Exp(s[0])}}
			},
		}
	case Lomax:
		return family{
			name: name, box: []stats.Interval{length, {Low: 0, High: 5}},
			logS: func(s []float64, k float64) float64 {
				x := k / math.Exp(s[0])
				if xi := s[1]; xi > 1e-9 {
					return -math.Log1p(xi*x) / xi
				}
				return -x
			},
			mean: func(s []float64) float64 {
				if s[1] < 1 {
					return math.Exp(s[0]) / (1 - s[1])
				}
				return math.Inf(1)
			},
			pin: func(mean float64, rest []float64) (float64, bool) {
				return math.Log(mean * (1 - rest[0])), rest[0] < 1
			},
			within: func(logTau float64) []float64 { return []float64{logTau, 0} },
			parameters: func(s []float64) []Parameter {
				return []Parameter{{"beta", math.Exp(s[0])}, {"xi", s[1]}}
			},
		}
	case LogNormal:
		return family{
			name: name, box: []stats.Interval{{Low: -20, High: length.High}, {Low: math.Log(0.1), High: math.Log(6)}},
			logS: func(s []float64, k float64) float64 { return logPhi((s[0] - math.Log(k)) / math.Exp(s[1])) },
			mean: func(s []float64) float64 { return math.Exp(s[0] + math.Exp(2*s[1])/2) },
			pin: func(mean float64, rest []float64) (float64, bool) {
				return math.Log(mean) - math.Exp(2*rest[0])/2, true
			},
			parameters: func(s []float64) []Parameter {
				return []Parameter{{"m", s[0]}, {"s", math.Exp(s[1])}}
			},
		}
	case TwoExponentials:
		// The second is the longer one: its length as a multiple, so that the two cannot change places.
		parts := func(s []float64) (t1, t2, w float64) {
			return math.Exp(s[0]), math.Exp(s[0] + s[1]), 1 / (1 + math.Exp(-s[2]))
		}
		return family{
			name: name, box: []stats.Interval{length, {Low: 0, High: math.Log(1000)}, {Low: -8, High: 8}},
			logS: func(s []float64, k float64) float64 {
				t1, t2, w := parts(s)
				// The longer one dominates far out: factoring it out keeps the logarithm finite.
				return -k/t2 + math.Log(w*math.Exp(k/t2-k/t1)+1-w)
			},
			mean: func(s []float64) float64 {
				t1, t2, w := parts(s)
				return w*t1 + (1-w)*t2
			},
			pin: func(mean float64, rest []float64) (float64, bool) {
				w := 1 / (1 + math.Exp(-rest[1]))
				return math.Log(mean / (w + (1-w)*math.Exp(rest[0]))), true
			},
			within: func(logTau float64) []float64 { return []float64{logTau, 0, 0} },
			parameters: func(s []float64) []Parameter {
				t1, t2, w := parts(s)
				return []Parameter{{"tau1", t1}, {"tau2", t2}, {"w", w}}
			},
		}
	}
	panic("burst: no family " + string(name)) // only for a name that is not in Families
}

// logPhi is the logarithm of the standard normal distribution function, also
// where that is too small for a float64.
func logPhi(x float64) float64 {
	if x > -30 {
		return math.Log(math.Erfc(-x/math.Sqrt2) / 2)
	}
	// Abramowitz and Stegun 26.2.12; the next term is 3/x^4, below 4e-6 here.
	return -x*x/2 - math.Log(-x) - math.Log(2*math.Pi)/2 + math.Log1p(-1/(x*x))
}
