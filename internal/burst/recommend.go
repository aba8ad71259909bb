package burst

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// conclude fills in the recommendation, or the problems that forbid one.
func (r *Result) conclude(pooled []Pooled, fits []*fitted, opt Options) {
	rec := &r.Recommendation
	rec.Rate, rec.Problems, rec.Automatic = opt.Rate, []Problem{}, []Auto{}
	r.Tells = []string{}
	if p := hopeless(pooled); p != nil {
		if p.Code == "no-event" {
			p.enough(pooled[0], opt.Rate)
		}
		rec.Problems = append(rec.Problems, *p)
	} else {
		rec.Problems = append(rec.Problems, doubtful(pooled, r.Models, fits)...)
	}
	rec.Concluded = len(rec.Problems) == 0
	if !rec.Concluded {
		rec.Designs = designs(nil, opt)
		rec.BetterCure = betterCure(rec.Designs, opt.Delay)
		return
	}
	at := slices.IndexFunc(r.Models, func(m Model) bool { return m.Best })
	best, m := r.Models[at], fits[at]
	rec.Family, rec.Retries, rec.Low, rec.High = best.Family, best.Needed.Retries, best.Needed.Low, best.Needed.High
	rec.span(r.Models)
	rec.Automatic = automatic(m, opt.CPUs)
	rec.Designs = designs(m, opt)
	rec.BetterCure = betterCure(rec.Designs, opt.Delay)
	rec.MoreBoots = moreBoots(pooled, r.Models, fits, opt)
	r.Tells = tells(pooled, r.Models, m)
	r.doubts(pooled, best)
}

// span is the union of the intervals of all families that fit.
func (rec *Recommendation) span(models []Model) {
	open := false
	for _, m := range models {
		if !m.Fits {
			continue
		}
		if n := m.Needed; n.Low != nil && (rec.FamiliesLow == nil || *n.Low < *rec.FamiliesLow) {
			rec.FamiliesLow = n.Low
		}
		if n := m.Needed; n.High == nil {
			open = true
		} else if rec.FamiliesHigh == nil || *n.High > *rec.FamiliesHigh {
			rec.FamiliesHigh = n.High
		}
	}
	if open {
		rec.FamiliesHigh = nil
	}
}

// automatic is the rule of 6.9 and later at the same read limit: for one
// number of CPUs, or for all up to 1024.
func automatic(m *fitted, cpus int) []Auto {
	if cpus > 0 {
		return []Auto{{cpus, cpus, m.at(clocksource.AutoRetries(cpus))}}
	}
	var all []Auto
	for from := 1; from <= 1024; {
		retries := clocksource.AutoRetries(from)
		to := from
		for clocksource.AutoRetries(to+1) == retries {
			to = 1<<bits.Len(uint(to+1)) - 1 // the rule changes at powers of two only
		}
		all = append(all, Auto{from, to, m.at(retries)})
		from = to + 1
	}
	return all
}

// designs lists the watchdogs that read again, with what the model says of each.
func designs(m *fitted, opt Options) []Design {
	list := []Design{}
	for _, e := range [...]watchdog.Era{watchdog.E5, watchdog.E6, watchdog.E7, watchdog.E9, watchdog.E10, watchdog.E11, watchdog.E12} {
		p, ok := watchdog.ProfileOf(e)
		if !ok {
			continue
		}
		d := Design{Era: e, Releases: p.Releases, Condemns: p.LatencyCondemns(), Automatic: p.AutoRetries, Accepts: "unknown"}
		d.ReadLimit, _ = p.ReadLimitFor()
		if !p.AutoRetries || opt.CPUs > 0 {
			n := p.Attempts(max(opt.CPUs, 1), -1) - 1
			d.Retries = &n
		}
		switch {
		case opt.Delay == 0:
		case opt.Delay <= d.ReadLimit:
			d.Accepts = "yes"
		default:
			d.Accepts = "no"
		}
		switch {
		case m == nil:
		case !d.Condemns:
			zero := 0.0
			d.Rate, d.RateLow, d.RateHigh = &zero, &zero, &zero
		case d.Retries != nil:
			f := m.at(*d.Retries)
			d.Rate, d.RateLow, d.RateHigh = &f.Rate, &f.RateLow, &f.RateHigh
		}
		list = append(list, d)
	}
	return list
}

// betterCure says what cures slow reads other than by reading again.
func betterCure(list []Design, delay clocksource.Nanos) string {
	var never, accept []string
	widest := Design{}
	for _, d := range list {
		switch {
		case !d.Condemns:
			never = append(never, fmt.Sprintf("%s (%s)", d.Era, d.Releases))
		case d.Accepts == "yes":
			accept = append(accept, string(d.Era))
		}
		if d.Condemns && d.ReadLimit > widest.ReadLimit {
			widest = d
		}
	}
	text := fmt.Sprintf("More retries make such verdicts rarer and leave their cause. In %s latency condemns no clock, however few the retries: that is the cure where it can be had. ",
		join(never))
	switch {
	case delay == 0:
		return text + fmt.Sprintf("Else a higher limit is one, if reads stay below it: it is highest in %s (%s), with %d µs.",
			widest.Era, widest.Releases, widest.ReadLimit/clocksource.Microsecond)
	case len(accept) == 0:
		return text + fmt.Sprintf("No limit of the others lies above reads of %s.", micros(delay))
	}
	return text + fmt.Sprintf("Else a higher limit is one: reads of %s are not slow in %s; it is highest in %s (%s), with %d µs.",
		micros(delay), join(accept), widest.Era, widest.Releases, widest.ReadLimit/clocksource.Microsecond)
}

func micros(d clocksource.Nanos) string {
	return fmt.Sprintf("%.4g µs", float64(d)/float64(clocksource.Microsecond))
}

func join(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return strings.Join(words, "")
}

// Bounds of the search for boots.
const (
	fewestBoots = 8
	mostBoots   = 10_000_000
)

// moreBoots finds how many further boots, all with the same number of retries,
// narrow the interval of the retries needed to the wanted width. It adds to the
// counts exactly what the fitted model expects of the further boots and takes the
// profile interval of the sum, which stands for the typical outcome; no random
// numbers are needed. It uses the best of the families with two parameters:
// larger ones have intervals that a few more boots at one point hardly narrow.
//
// Source: the representative data set of G. Cowan et al., Asymptotic formulae
// for likelihood-based tests of new physics, Eur. Phys. J. C 71 (2011) 1554.
func moreBoots(pooled []Pooled, models []Model, fits []*fitted, opt Options) *MoreBoots {
	at := -1
	for i, m := range models {
		if fits[i].size() == 2 && m.Fits && (at < 0 || m.AIC < models[at].AIC) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	m, need := fits[at], models[at].Needed
	if need.Retries == nil || need.High == nil {
		return nil
	}
	more := &MoreBoots{Family: m.name, Now: *need.High - *need.Low, Width: opt.Width, Options: []Plan{}}
	if more.Width == 0 {
		more.Width = max(1, more.Now/2)
	}
	if more.Now <= more.Width {
		return more
	}
	for _, retries := range candidates(pooled, *need.Retries) {
		if boots, ok := m.bootsFor(retries, more.Width, opt.Rate); ok {
			more.Options = append(more.Options, Plan{retries, boots})
		}
	}
	slices.SortStableFunc(more.Options, func(a, b Plan) int { return cmp.Compare(a.Boots, b.Boots) })
	if len(more.Options) > 0 {
		more.Best = &more.Options[0]
	}
	return more
}

// candidates are the retries at which boots may help: those tried, those needed, and steps between.
func candidates(pooled []Pooled, needed int) []int {
	list := []int{needed, needed / 2, needed / 3}
	for i := range min(len(pooled), 6) {
		list = append(list, pooled[i*(len(pooled)-1)/max(1, min(len(pooled), 6)-1)].Retries)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// bootsFor is how many boots with so many retries give the width, rounded up to two digits.
func (m *fitted) bootsFor(retries, width int, rate float64) (int, bool) {
	k := float64(retries + 1)
	wide := func(boots float64) bool {
		with := *m
		with.d = append(slices.Clone(m.d), cell{k, boots * m.rate(k), boots})
		// The added counts are what the model expects, so its maximum moves little; it is found again all the same.
		with.shape, with.l = refit(&with)
		with.a, _ = with.d.bestLambda(with.family, with.shape)
		b := with.attemptsInterval(rate, Confidence)
		return b.OpenHigh || b.High-b.Low > float64(width)
	}
	low, high := 0.0, float64(fewestBoots)
	for wide(high) {
		low, high = high, 2*high
		if high > mostBoots {
			return 0, false
		}
	}
	for high-low > 0.02*high {
		if middle := (low + high) / 2; wide(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	step := math.Pow(10, max(0, math.Floor(math.Log10(high))-1))
	return int(math.Ceil(high/step) * step), true
}

func refit(m *fitted) ([]float64, float64) {
	again := fitFamily(m.name, m.d)
	return again.shape, again.l
}

// doubts adds what a reader must know of a conclusion.
func (r *Result) doubts(pooled []Pooled, best Model) {
	rec := r.Recommendation
	last := pooled[len(pooled)-1].Retries
	if rec.Retries == nil || rec.High == nil || *rec.High > 3*(last+1) {
		r.warn("far-extrapolation", "the answer lies far beyond the %d retries that were tried at most, where the form of the lengths decides and the counts do not", last)
	} else if *rec.Retries > last {
		r.warn("extrapolation", "the answer lies beyond the %d retries that were tried at most, where the families differ", last)
	}
	if best.DF == 0 {
		r.warn("untested", "there are as many parameters as numbers of retries: the fit is perfect whatever the truth is. One more number of retries would test it")
	}
	few := 0
	for _, f := range best.Rows {
		if f.Expected < 5 {
			few++
		}
	}
	if few > 0 && best.DF > 0 {
		r.warn("few-events", "in %d of %d rows fewer than 5 unstable boots are expected: the goodness of fit is only roughly chi-squared", few, len(best.Rows))
	}
	if rec.Retries != nil && rec.Low != nil && *rec.Retries == 0 && *rec.Low == 0 {
		r.warn("none-needed", "the wanted rate is reached without any retry")
	}
}

func tells(pooled []Pooled, models []Model, m *fitted) []string {
	first := pooled[0].Retries + 1
	seen := m.at(pooled[0].Retries)
	said := []string{
		fmt.Sprintf("how many episodes a check meets per boot, as far as they are long enough to be seen: %s of at least %d attempts (%s to %s)",
			short(-math.Log1p(-seen.Rate)), first, short(-math.Log1p(-seen.RateLow)), short(-math.Log1p(-seen.RateHigh))),
		"how long they last, in attempts, counted from where the check meets them",
	}
	low, high := math.Inf(1), 0.0
	for _, model := range models {
		if model.Fits {
			low, high = min(low, model.EpisodesPerBoot), max(high, model.EpisodesPerBoot)
		}
	}
	if high > 1.05*low {
		said = append(said, fmt.Sprintf("the number with all shorter ones, lambda, only by way of the family: %s to %s among those that fit", short(low), short(high)))
	}
	// Reads that are slow each by its own chance q make N checks fail at a rate of 1-exp(-N q^(R+1)):
	// an exponential with lambda = N and tau = -1/log q.
	if e := models[0]; e.EpisodesPerBootHigh != nil && *e.EpisodesPerBootHigh < 1 {
		said = append(said, fmt.Sprintf("that slow reads come in episodes: reads that are slow each by its own chance would look exponential too, with lambda the number of checks in a boot, and at most %s is less than one",
			short(*e.EpisodesPerBootHigh)))
	}
	return said
}

func doesNotTell() []string {
	return []string{
		"how often episodes happen: a check comes every 0.5 s, so an episode of 1.5 ms meets one with probability 0.003, and all others leave no trace here",
		"how many checks a boot has, nor when in the boot the episodes come",
		"how long an episode lasts in time, nor how slow its reads are: an attempt takes as long as its two or three slow reads, whose delay only the kernel log tells",
		"the length of a whole episode: a check may meet it in its middle, and what counts is what is left of it",
	}
}

func short(x float64) string { return fmt.Sprintf("%.3g", x) }
