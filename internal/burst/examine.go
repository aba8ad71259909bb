package burst

import (
	"fmt"
	"math"
	"slices"

	"github.com/cswatch/cswatch/stats"
)

// Examine fits the families to counts and says what follows. Its errors are
// about what was asked; counts that carry no conclusion are a result with
// problems. Rows are added up by retries: which CPUs they are from is the
// caller's to sort out.
func Examine(rows []Row, opt Options) (*Result, error) {
	if opt.Rate == 0 {
		opt.Rate = DefaultRate
	}
	switch {
	case !(opt.Rate > 0 && opt.Rate < 1):
		return nil, fmt.Errorf("a wanted rate of %v: want a share between 0 and 1, such as 0.001", opt.Rate)
	case opt.Width < 0 || opt.Width > MaxRetries:
		return nil, fmt.Errorf("a width of %d retries: want 1 to %d", opt.Width, MaxRetries)
	case opt.CPUs < 0 || opt.CPUs > maxCPUs:
		return nil, fmt.Errorf("%d CPUs: want 1 to %d", opt.CPUs, maxCPUs)
	case opt.Delay < 0:
		return nil, fmt.Errorf("a read-back delay of %d ns: want more than 0", opt.Delay)
	}
	for _, r := range rows {
		if err := r.Validate(); err != nil {
			return nil, err
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no row of counts: want retries, boots and unstable ones")
	}
	if cpus := CPUs(rows); opt.CPUs == 0 && len(cpus) == 1 {
		opt.CPUs = cpus[0]
	}
	pooled := Pool(rows)
	if len(pooled) > maxNumbers {
		return nil, fmt.Errorf("%d different numbers of retries: want at most %d", len(pooled), maxNumbers)
	}
	res := &Result{Models: []Model{}, Warnings: []Warning{}, DoesNotTell: doesNotTell()}
	for _, p := range pooled {
		res.Rows = append(res.Rows, observed(p))
		if p.Agreement < 0.01 {
			res.warn("rows-disagree", "the %d rows with %d retries do not share one rate (p = %.2g): something else than the number of retries differed between them",
				p.Rows, p.Retries, p.Agreement)
		}
	}
	if len(pooled) > maxMore {
		res.warn("small-families-only", "of %d different numbers of retries only the families of two parameters are fitted: the larger ones are fitted to at most %d", len(pooled), maxMore)
	}
	fits := res.fit(pooled, opt)
	res.conclude(pooled, fits, opt)
	return res, nil
}

func (r *Result) warn(code, format string, args ...any) {
	r.Warnings = append(r.Warnings, Warning{code, fmt.Sprintf(format, args...)})
}

func observed(p Pooled) RowResult {
	w, e := stats.Wilson(p.Count(), Confidence), stats.ClopperPearson(p.Count(), Confidence)
	return RowResult{Pooled: p, Rate: p.Count().Rate(), RateLow: w.Low, RateHigh: w.High, ExactLow: e.Low, ExactHigh: e.High}
}

// carried reports whether so many different numbers of retries carry a family:
// there must be no more parameters than rows, and of the larger families fewer,
// or nothing would test them. Of very many rows these would take minutes.
func carried(f family, rows int) bool {
	if f.size() > 2 {
		return rows > f.size() && rows <= maxMore
	}
	return rows >= f.size()
}

// Bounds of the work, which grows with the square of the different numbers of
// retries. Campaigns have four or ten.
const (
	maxNumbers     = 60
	maxMore        = 20 // above, only the families of two parameters are fitted
	maxLeftOut     = 30 // above, no row is predicted from the others
	maxLeftOutMore = 10 // above, none by families of more than two parameters
)

// rejected is the p value below which a family does not fit.
const rejected = 0.05

// fit fits what the rows carry, and marks the best.
func (r *Result) fit(pooled []Pooled, opt Options) []*fitted {
	var fits []*fitted
	if hopeless(pooled) != nil {
		return nil
	}
	d := dataOf(pooled)
	for _, name := range Families() {
		if !carried(familyOf(name), len(pooled)) {
			continue
		}
		m := fitFamily(name, d)
		fits = append(fits, &m)
		r.Models = append(r.Models, m.describe(pooled, opt))
	}
	best := -1
	for i, m := range r.Models {
		if m.Fits && (best < 0 || m.AIC < r.Models[best].AIC-1e-9) {
			best = i
		}
	}
	if best >= 0 {
		r.Models[best].Best = true
	}
	for i := range r.Models {
		r.Models[i].Curve = fits[i].curve(pooled, i == best, r.Models[max(best, 0)].Needed)
	}
	return fits
}

// describe makes a model's numbers.
func (m *fitted) describe(pooled []Pooled, opt Options) Model {
	out := Model{
		Family: m.name, Formula: formula(m.name), Parameters: m.parameters(m.shape),
		EpisodesPerBoot: math.Exp(m.a), LogLikelihood: m.l + coefficients(pooled),
		Deviance: m.deviance(), DF: len(pooled) - m.size(), Fits: true,
		Rows: []FittedRow{}, LeftOut: []LeftOut{},
	}
	out.AIC = 2*float64(m.size()) - 2*out.LogLikelihood
	if out.DF > 0 {
		p := stats.ChiSquaredTail(out.Deviance, out.DF)
		out.GoodnessP, out.Fits = &p, p >= rejected
	}
	lambda := m.logLambda(Confidence)
	out.EpisodesPerBootLow = bound(math.Exp(lambda.Low), lambda.OpenLow)
	out.EpisodesPerBootHigh = bound(math.Exp(lambda.High), lambda.OpenHigh)
	mean, length := m.mean(m.shape), m.meanLength(Confidence)
	out.MeanLength = bound(mean, mean > longest/1.01)
	out.MeanLengthLow = bound(length.Low, length.OpenLow)
	out.MeanLengthHigh = bound(length.High, length.OpenHigh)
	predict := len(pooled) <= maxLeftOutMore || m.size() == 2 && len(pooled) <= maxLeftOut
	for i, p := range pooled {
		f := m.at(p.Retries)
		out.Rows = append(out.Rows, FittedRow{f, f.Rate * float64(p.Boots)})
		if !predict {
			continue
		}
		if left, ok := m.leaveOut(pooled, i); ok {
			out.LeftOut = append(out.LeftOut, left)
		}
	}
	out.Needed = m.needed(opt.Rate)
	return out
}

// at is the fitted rate for a number of retries.
func (m *fitted) at(retries int) Fitted {
	k := float64(retries + 1)
	i := m.rateInterval(k, Confidence)
	return Fitted{retries, m.rate(k), i.Low, i.High}
}

// curve is the fitted rate from no retry to somewhat beyond the rows and, if
// that is not much farther, the number needed; with intervals where they are asked for.
func (m *fitted) curve(pooled []Pooled, intervals bool, need Needed) []Fitted {
	const points = 48
	last := float64(pooled[len(pooled)-1].Retries)
	top := 1.5*last + 2
	if need.Retries != nil {
		top = max(top, min(1.3*float64(*need.Retries), 5*last+10))
	}
	var curve []Fitted
	at := -1
	for i := range points + 1 {
		// Even steps of the logarithm of attempts, as a plot has them.
		retries := int(math.Round(math.Exp(math.Log(top+1)*float64(i)/points))) - 1
		if retries <= at {
			continue
		}
		at = retries
		if intervals {
			curve = append(curve, m.at(retries))
		} else {
			curve = append(curve, Fitted{Retries: retries, Rate: m.rate(float64(retries + 1))})
		}
	}
	return curve
}

// needed is how many retries bring the rate down to p.
func (m *fitted) needed(p float64) Needed {
	var n Needed
	if at, ok := m.attemptsFor(p); ok {
		n.Retries = retriesOf(at)
	}
	b := m.attemptsInterval(p, Confidence)
	n.Low = retriesOf(b.Low)
	if !b.OpenHigh {
		n.High = retriesOf(b.High)
	}
	return n
}

// retriesOf is how many retries make at least so many attempts.
func retriesOf(attempts float64) *int {
	n := max(0, int(math.Ceil(attempts-1e-6))-1)
	return &n
}

func bound(x float64, open bool) *float64 {
	if open || math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// coefficients is the part of the likelihood that no parameter changes.
func coefficients(pooled []Pooled) float64 {
	sum := 0.0
	for _, p := range pooled {
		sum += stats.BinomialLogLikelihood(p.Count(), p.Count().Rate())
	}
	return sum - dataOf(pooled).saturated()
}

func formula(n Name) string {
	switch n {
	case Exponential:
		return "S(k) = exp(-k/tau)"
	case Pareto:
		return "S(k) = k^-alpha"
	case Lomax:
		return "S(k) = (1 + xi k/beta)^(-1/xi)"
	case LogNormal:
		return "S(k) = Phi((m - log k)/s)"
	}
	return "S(k) = w exp(-k/tau1) + (1-w) exp(-k/tau2)"
}

// leaveOut predicts row i from all others, and holds what was observed against
// it. The prediction's interval is by likelihood ratio: a count is in it if row
// and others together are not significantly worse off than apart.
//
// Source: J. F. Lawless and M. Fredette, Frequentist prediction intervals and
// predictive distributions, Biometrika 92 (2005) 529-542, section 1, for the idea;
// W. Nelson, Weibull prediction of a future number of failures, Quality and
// Reliability Engineering International 16 (2000) 23-26, for the likelihood ratio.
func (m *fitted) leaveOut(pooled []Pooled, i int) (LeftOut, bool) {
	others := slices.Delete(slices.Clone(pooled), i, i+1)
	if len(others) < m.size() || len(mixed(others)) < 2 {
		return LeftOut{}, false
	}
	rest := fitFamily(m.name, dataOf(others))
	row := pooled[i]
	f := rest.at(row.Retries)
	k := float64(row.Retries + 1)
	out := LeftOut{Row: row.Row, Rate: f.Rate, RateLow: f.RateLow, RateHigh: f.RateHigh, Expected: f.Rate * float64(row.Boots)}
	ratio := func(unstable int) float64 {
		c := cell{k, float64(unstable), float64(row.Boots)}
		together := append(slices.Clone(rest.d), c)
		return max(0, 2*(rest.l+c.saturated()-rest.again(together)))
	}
	limit := stats.ChiSquaredQuantile(Confidence)
	middle := int(math.Round(out.Expected))
	out.CountLow = lastWithin(middle, 0, func(y int) bool { return ratio(y) <= limit })
	out.CountHigh = lastWithin(middle, row.Boots, func(y int) bool { return ratio(y) <= limit })
	out.PredictionP = stats.ChiSquaredTail(ratio(row.Unstable), 1)
	out.TailProbability = stats.BinomialTwoSided(row.Count(), out.Rate)
	return out, true
}

// again returns the largest likelihood for other counts of the same family, from where this one is.
func (m *fitted) again(d data) float64 {
	var start []float64
	if len(m.box) > 1 {
		start = m.shape
	}
	_, l := stats.Maximise(func(s []float64) float64 {
		_, l := d.bestLambda(m.family, s)
		return l
	}, m.box, start)
	return l
}

// lastWithin walks from a number that is within towards an end, by halving, and returns the last one that is.
func lastWithin(from, end int, within func(int) bool) int {
	if within(end) {
		return end
	}
	in, out := from, end
	for in-out > 1 || out-in > 1 {
		if middle := in + (out-in)/2; within(middle) {
			in = middle
		} else {
			out = middle
		}
	}
	return in
}
