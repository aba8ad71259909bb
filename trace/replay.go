package trace

import (
	"fmt"
	"slices"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// Result is what an era decided at a recorded tick about one clock.
type Result struct {
	watchdog.Verdict
	Seq    uint64 // the tick of the recording; Verdict.Tick counts those that the era ran
	Exact  bool   // Doubts is 0
	Doubts Doubt
	Why    string // a sentence about the doubts, "" if exact
}

// Replay runs one watchdog over a recording, tick by tick. What it decides
// changes nothing in the recording: see the package comment for which of its
// answers are exact. Same recording and setup, same results.
type Replay struct {
	header   Header
	w        *watchdog.Watchdog
	setup    watchdog.Setup
	interval clocksource.Nanos
	jiffy    clocksource.Nanos
	state    watchdog.State
	player   player
	phase    bool // where the rotation over the other CPUs stands is settled
	spreads  bool // what is decided about one clock touches the others
	doubts   [watchdog.MaxWatched]earlier
	verdicts []watchdog.Verdict
	results  []Result
	idle     string
}

// earlier is the first approximate answer about a clock.
type earlier struct {
	set   bool
	heals bool // ends with the next pair that is taken in time
	seq   uint64
	why   string
}

// NewReplay checks that a watchdog fits a recording: the same clocks in the same
// order. [Header.Setup] makes such a setup.
func NewReplay(h Header, setup watchdog.Setup) (*Replay, error) {
	h = h.withDefaults().clone()
	if err := h.Validate(); err != nil {
		return nil, fmt.Errorf("replay a recording: %w", err)
	}
	w, err := watchdog.New(setup)
	if err != nil {
		return nil, fmt.Errorf("replay a recording: %w", err)
	}
	setup = w.Setup()
	if len(setup.Watched) != len(h.Watched) {
		return nil, fmt.Errorf("replay a recording of %d clocks through a watchdog of %d: give it the same clocks", len(h.Watched), len(setup.Watched))
	}
	same := func(a Clock, b watchdog.Clock) error {
		if a.Name != b.Name || a.Mask != b.Mask && a.Name != "" {
			return fmt.Errorf("replay a recording of clock %q with mask %s through a watchdog of %q with mask %s: give it the same clocks", a.Name, a.Mask, b.Name, b.Mask)
		}
		return nil
	}
	if err := same(h.Reference, setup.Reference); err != nil {
		return nil, err
	}
	for i := range h.Watched {
		if err := same(h.Watched[i], setup.Watched[i]); err != nil {
			return nil, err
		}
	}
	var probe watchdog.State
	w.Start(&probe, 0, h.Online)
	p := setup.Profile
	r := &Replay{
		header: h, w: w, setup: setup, interval: probe.Expiry,
		jiffy:   clocksource.NanosPerSecond / clocksource.Nanos(setup.HZ),
		spreads: p.OnSkip == watchdog.ActSuspend || p.LongInterval > 0 || p.Skew.Shift > 0 || p.Adapt == watchdog.AdaptSkip || p.Adapt == watchdog.AdaptLargest,
	}
	r.player = player{header: &r.header, setup: &r.setup}
	return r, nil
}

// Setup returns the watchdog's setup.
func (r *Replay) Setup() watchdog.Setup { return r.setup }

// State returns a copy of the watchdog's state.
func (r *Replay) State() watchdog.State { return r.state }

// Idle returns why the last Step gave no result, "" if it gave some.
func (r *Replay) Idle() string { return r.idle }

// Step takes the next tick and returns a result for each clock that the era came
// to, valid until the next call. There is none where the era's timer would not
// have run at that tick or the tick lacks the read-backs; [Replay.Idle] then
// tells which. The error is that of an invalid tick, which changes nothing.
func (r *Replay) Step(t *Tick) ([]Result, error) {
	if err := t.Validate(&r.header); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	r.idle, r.results, r.verdicts = "", r.results[:0], r.verdicts[:0]
	online := t.online(&r.header)
	s := &r.state
	if !s.Started {
		r.start(t, online)
	}
	s.ResetPending += t.Resets
	var common reasons
	shift, runs := r.due(t, online, &common)
	if !runs {
		return nil, nil
	}
	cpu, series, found := r.choose(t, &common)
	if !found {
		r.idle = fmt.Sprintf("the read-backs of a clock on CPU %d are missing", s.CPU)
		common.add(DoubtGap, "tick %d lacks the read-backs of a clock", t.Seq)
		r.miss(1, online)
		r.taintAll(t.Seq, common.why)
		return nil, nil
	}
	r.settle(t, online)
	r.player.begin(t, series)
	r.verdicts = r.w.Step(s, watchdog.Tick{Now: t.At + shift, CPU: s.CPU, Online: online}, &r.player, r.verdicts)
	for i := range r.verdicts {
		v := &r.verdicts[i]
		v.Time, v.CPU = t.At, cpu
		switch v.Kind {
		case watchdog.Agreed, watchdog.RemoteTimedOut, watchdog.CondemnedCPUs:
			r.phase = true // E12 turned to the next CPU, were it its own
		}
	}
	r.judge(t.Seq, common)
	return r.results, nil
}

// start arms the timer so that it is due at the first recorded tick, and there.
func (r *Replay) start(t *Tick, online *CPUSet) {
	r.w.Start(&r.state, t.Scheduled-r.interval, online)
	r.state.CPU = r.header.BootCPU
	if r.setup.Profile.Rotate {
		r.state.CPU = t.CPU
	}
}

// due compares the era's timer with the recorded tick. It returns how much later
// the era would have run, and whether this tick stands for its run.
func (r *Replay) due(t *Tick, online *CPUSet, common *reasons) (shift clocksource.Nanos, runs bool) {
	s := &r.state
	shift = s.Expiry - t.Scheduled
	if shift > min(r.interval, r.header.Interval)/2 { // the next recorded tick is nearer
		r.idle = fmt.Sprintf("the next check is due at %d ns, %d ns behind this tick", s.Expiry, shift)
		return shift, false
	}
	if shift < -r.interval/2 {
		n := (r.interval/2 - shift) / r.interval
		common.add(DoubtGap, "%d checks before this tick were not recorded", n)
		r.miss(n, online)
		r.phase = false
		shift = s.Expiry - t.Scheduled
	}
	if shift.Abs() < r.jiffy {
		// Timers count in ticks of 1/HZ: within one it is the same expiry.
		s.Expiry = t.Scheduled
		return 0, true
	}
	when := "later"
	if shift < 0 {
		when = "earlier"
	}
	common.add(DoubtTimer, "the timer would have run %d ns %s", shift.Abs(), when)
	return shift, true
}

// miss lets the timer pass n checks of which nothing is known.
func (r *Replay) miss(n clocksource.Nanos, online *CPUSet) {
	s := &r.state
	s.Expiry += n * r.interval
	s.Ticks += uint64(n)
	if r.setup.Profile.Rotate {
		for range n % clocksource.Nanos(max(online.Count(), 1)) {
			s.CPU = online.Next(s.CPU)
		}
	}
}

// choose returns the series of the CPU on which the era reads, or the nearest
// thing. It reports false where a clock that the era would read has none.
func (r *Replay) choose(t *Tick, common *reasons) (cpu int, series [][]ReadBack, found bool) {
	want := r.state.CPU
	groups := [...]struct {
		cpu    int
		series [][]ReadBack
	}{{t.CPU, t.Reads}, {r.header.BootCPU, t.Boot}}
	for _, g := range groups {
		if g.cpu == want && r.complete(g.series) {
			return g.cpu, g.series, true
		}
	}
	for _, g := range groups {
		if r.complete(g.series) {
			common.add(DoubtCPU, "the check would have run on CPU %d, and the read-backs are of CPU %d", want, g.cpu)
			return g.cpu, g.series, true
		}
	}
	return 0, nil, false
}

// complete reports whether there is a read-back of each clock that may be read.
func (r *Replay) complete(series [][]ReadBack) bool {
	if len(series) == 0 {
		return false
	}
	for i := range r.setup.Watched {
		c := &r.setup.Watched[i]
		unread := r.state.Clocks[i].Unstable || r.setup.Reference.Name == "" || c.TestClock && c.TestPerCPU
		if !unread && len(series[i]) == 0 {
			return false
		}
	}
	return true
}

// settle lets the rotation over the other CPUs (E12) begin where the recorder's
// was: a kernel's may stand anywhere when a recording begins.
func (r *Replay) settle(t *Tick, online *CPUSet) {
	if r.phase || !r.header.Exchanges {
		return
	}
	peer := r.header.BootCPU
	for i := range r.setup.Watched {
		if r.state.Clocks[i].Unstable {
			continue
		}
		if x := t.exchange(i); x != nil {
			peer = x.Peer
		}
		break
	}
	r.state.LastRemote = online.previous(peer)
}

// judge makes the results of the verdicts and keeps what later ones have to know.
func (r *Replay) judge(seq uint64, common reasons) {
	for i := range r.verdicts {
		v := &r.verdicts[i]
		before := r.doubts[v.Clock]
		res := Result{Verdict: *v, Seq: seq}
		var own reasons
		if v.Kind != watchdog.AlreadyCondemned { // which needs no data
			own = common
			own.join(r.player.doubts[v.Clock])
			r.missingThird(v, &own)
			r.unmarked(v, &own)
		}
		res.Doubts, res.Why = own.doubt, own.why
		if before.set {
			res.Doubts |= DoubtEarlier
			if own.doubt == 0 {
				res.Why = fmt.Sprintf("follows the approximate answer of tick %d: %s", before.seq, before.why)
			}
		}
		res.Exact = res.Doubts == 0
		r.results = append(r.results, res)
		switch {
		case own.doubt == 0:
			if before.heals && (v.Kind == watchdog.Agreed || v.Kind == watchdog.Initialised) {
				r.doubts[v.Clock] = earlier{}
			}
		case heals(v.Kind, &own):
			if !before.set {
				r.doubts[v.Clock] = earlier{true, true, seq, own.why}
			}
		default:
			if r.spreads {
				r.taintAll(seq, own.why)
			}
			r.taint(v.Clock, seq, own.why)
		}
	}
}

// missingThird notes that a slow attempt of a pattern with a third read of the
// reference was judged without that.
func (r *Replay) missingThird(v *watchdog.Verdict, own *reasons) {
	p := &r.setup.Profile
	// Some designs look at it in every attempt.
	always := p.Adapt == watchdog.AdaptRatio || p.Adapt == watchdog.AdaptLargest
	if p.Read == watchdog.ReadFour && r.header.Pattern == watchdog.ReadThree && v.Attempts > 0 && (always || v.Attempts > 1 || v.Delay > v.ReadLimit) {
		own.add(DoubtPattern, "only %s was recorded: whether the reference itself was slow cannot be told", r.header.Pattern)
	}
}

// taint notes the first approximate answer about a clock.
func (r *Replay) taint(clock int, seq uint64, why string) {
	if d := &r.doubts[clock]; !d.set || d.heals {
		*d = earlier{true, false, seq, why}
	}
}

// taintAll notes it for all clocks but those that are condemned beyond doubt.
func (r *Replay) taintAll(seq uint64, why string) {
	for i := range r.setup.Watched {
		if r.state.Clocks[i].Unstable && !r.verdictPending(i) {
			continue
		}
		r.taint(i, seq, why)
	}
}

// verdictPending reports whether the clock was condemned only in this tick and
// its result is not made yet: then it shares the doubt.
func (r *Replay) verdictPending(clock int) bool {
	return len(r.results) < len(r.verdicts) && slices.ContainsFunc(r.verdicts[len(r.results):], func(v watchdog.Verdict) bool {
		return v.Clock == clock && v.Kind.Condemns()
	})
}
