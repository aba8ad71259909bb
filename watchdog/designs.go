package watchdog

import "github.com/cswatch/cswatch/clocksource"

// Designs that were proposed and never merged. Simulations compare them with
// what was. Each is an era's profile with a few fields changed; where the
// proposals leave something open, the choice is stated here.
const (
	// TipForgive forgives latency (2021, against 5.14): where all attempts are
	// slow, both intervals are compared once with 62.5 ms, and the pair is
	// forgotten. Chosen: no pair is taken from a slow read-out, so that a clock
	// without one waits for a fast read-out; every 100th slow read-out in a row of
	// a clock is announced ([Setup.CoarseReads]).
	TipForgive Era = "tip-forgive"
	// PropDynamicSkew raises the limit of the reading to twice the delay that
	// was seen between two reads of the reference (2021, on top of 5.17's skip
	// rule). Chosen: a skip raises it at once, so that a reference which is no
	// slower passes in the next check; half of it is the new skip limit; it never
	// falls; the skew limit stays that of the margins.
	PropDynamicSkew Era = "prop-dynamic-skew"
	// PropRatio accepts an attempt whose delay is at most 8/7 of that of two
	// reads of the reference behind it, or exceeds that by at most 20 us (2021 or
	// 2022, on top of 5.17's second read). Chosen: there is no other limit of the
	// reading and no skip; where no attempt is accepted, the clock is condemned;
	// the accepted delay is that check's skew limit where it exceeds the margins,
	// because a limit of the delay alone would condemn every sound crystal.
	PropRatio Era = "prop-ratio"
	// PropRetriesLog2 scales the retries by the whole binary logarithm of the
	// number of online CPUs, plus one, unless max_cswd_read_retries is set (the
	// first two versions, of 2024, of what 6.9 has with half of it). Chosen: the rest is 6.8.
	PropRetriesLog2 Era = "prop-retries-log2"
	// PropMaxDelay derives the limits from the largest delay between two reads
	// of the reference that was seen so far (2025, against 6.12). Chosen: that
	// delay takes the place of the reference's margin where it is larger, in all
	// three limits of 6.12; an attempt is judged by what was seen before it; it
	// never falls.
	PropMaxDelay Era = "prop-max-delay"
)

// Designs returns the designs that no released kernel has. [ParseEra],
// [Resolve] and [ProfileOf] know them as they know the eras of [Eras].
func Designs() []Era {
	return []Era{TipForgive, PropDynamicSkew, PropRatio, PropRetriesLog2, PropMaxDelay}
}

// Adaptation is how the limits of a design follow the delays that are seen.
type Adaptation string

const (
	AdaptNone    Adaptation = ""              // the limits stay
	AdaptSkip    Adaptation = "skip"          // a skip raises the read limit to twice the delay between two reads of the reference
	AdaptRatio   Adaptation = "ratio"         // each attempt is measured by the two reads of the reference behind it
	AdaptLargest Adaptation = "largest-delay" // the largest delay so far is the least margin of the reference
)

// coarseReads is how many slow read-outs in a row the forgiving design lets
// pass without a warning.
const coarseReads = 100

func design(e Era) (Profile, bool) {
	var p Profile
	switch e {
	case TipForgive:
		p = likeE(E5)
		p.OnSlow, p.CoarseReads = ActCoarse, coarseReads
	case PropDynamicSkew:
		p = likeE(E6)
		p.Adapt = AdaptSkip
	case PropRatio:
		p = likeE(E6)
		p.Adapt = AdaptRatio
		p.ReadLimit, p.SkipLimit, p.OnSkip = Limit{}, Limit{}, ActNothing
	case PropRetriesLog2:
		p = likeE(E8)
		p.AutoRetries, p.RetriesLog2, p.Retries = true, true, 1
	case PropMaxDelay:
		p = likeE(E10)
		p.Adapt = AdaptLargest
	default:
		return Profile{}, false
	}
	p.Era, p.Releases = e, "never released"
	return p, true
}

// CoarseWarning returns after how many slow read-outs in a row the forgiving
// design warns, and false where it does not.
func (s *Setup) CoarseWarning() (int, bool) {
	n := s.CoarseReads
	if n == 0 {
		n = s.Profile.CoarseReads
	}
	return n, n > 0
}

// adapt sets the limits of an attempt whose delay is known, and learns from it.
func (w *Watchdog) adapt(s *State, i int, v *Verdict, rb ReadBack) {
	l := &w.limits[i]
	switch w.profile.Adapt {
	case AdaptSkip:
		v.ReadLimit, v.SkipLimit = max(l.read, s.MaxSkew), max(l.skip, s.MaxSkew/2)
	case AdaptRatio:
		v.Sequence = w.between(&w.setup.Reference, rb.After, rb.Again)
		v.ReadLimit = max(v.Sequence*8/7, v.Sequence+20*us)
	case AdaptLargest:
		p, margin := &w.profile, max(w.setup.Reference.Margin, s.LargestDelay)
		v.ReadLimit, _ = p.ReadLimit.At(margin, w.setup.Watched[i].Margin)
		v.SkipLimit, _ = p.SkipLimit.At(margin, w.setup.Watched[i].Margin)
		v.Sequence = w.between(&w.setup.Reference, rb.After, rb.Again)
		s.LargestDelay = max(s.LargestDelay, v.Sequence)
	}
}

// adaptedSkew is the skew limit of a check whose read-out was accepted.
func (w *Watchdog) adaptedSkew(s *State, i int, v *Verdict) clocksource.Nanos {
	switch w.profile.Adapt {
	case AdaptRatio:
		return max(w.limits[i].skew, v.Delay)
	case AdaptLargest:
		limit, _ := w.profile.Skew.Limit.At(max(w.setup.Reference.Margin, s.LargestDelay), w.setup.Watched[i].Margin)
		return limit
	}
	return w.limits[i].skew
}

// coarseLimit is what the forgiving design compares with after slow reads.
const coarseLimit = 62_500 * clocksource.Microsecond

// forgive is the answer of the forgiving design to a read-out that was slow in
// all attempts: compare coarsely, then start anew.
func (w *Watchdog) forgive(cs *ClockState, c *Clock, v *Verdict, rb ReadBack, reset int) {
	cs.Coarse++
	v.CoarseReads, v.Kind = cs.Coarse, Coarse
	ready := cs.Initialised && reset == 0
	cs.Initialised = false
	if !ready {
		return // no pair is taken from a slow read-out
	}
	w.compare(v, c, *cs, rb.Clock, rb.Before)
	v.SkewLimit = coarseLimit
	if v.Skew.Abs() > coarseLimit {
		condemn(cs, v, CondemnedSkew)
	}
}
