package evidence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// LiveRun watches the counters of this machine for a while, by the rules of an era.
type LiveRun struct {
	// Options say what to watch. How many ticks, and what comes after a condemnation, is the run's to decide.
	Options  live.Options
	Duration time.Duration
	Release  string // upstream release of the era, "" where it is not known
	EraWhy   string
	Kernel   string // uname -r of this machine
	// Open opens the counters; nil is [live.Open].
	Open func(context.Context, live.Options) (*live.Session, error)
	// Progress is told before each tick's end how many of them are done; nil for nobody.
	Progress func(done, of int)
}

// Into adds what the counters show to the evidence. Nothing that goes wrong is an
// error: it is evidence that could not be had. The context ends the run early, and
// what was seen until then counts.
func (r LiveRun) Into(ctx context.Context, ev *doctor.Evidence) {
	ev.Inputs.LiveSeconds = r.Duration.Seconds()
	found, err := r.run(ctx)
	if found != nil && found.Ticks > 0 {
		ev.Live = found
	}
	switch {
	case err != nil && ctx.Err() == nil:
		ev.NoLive = noLive(err)
	case ev.Live == nil:
		ev.NoLive = noLive(errors.New("it was interrupted before the first check"))
	}
}

// noLive says why there is no live evidence, or not all of it.
func noLive(err error) *machine.Unreadable {
	u := &machine.Unreadable{What: "live counters", Reason: oneLine(err), HowTo: "sudo cswatch doctor --live 5s    # on the machine itself, outside of a container"}
	if absent := (*hw.NotHere)(nil); errors.As(err, &absent) && absent.Remedy != "" {
		u.HowTo = absent.Remedy
	}
	if errors.Is(err, hw.ErrTooFast) { // this kernel is set to more retries than are harmless
		u.HowTo = "sudo cswatch watch --retries 7 --duration 5s"
	}
	if errors.Is(err, fs.ErrPermission) {
		u.Reason = machine.ReasonPermission + ": " + u.Reason
	}
	return u
}

// run makes the run. What it returns beside an error is what was seen before that.
func (r LiveRun) run(ctx context.Context) (found *doctor.Live, err error) {
	o := r.Options
	o.Ticks = int(r.Duration/hw.Pace) + 1
	o.Interrupts, o.Anew, o.Record = true, true, nil
	open := r.Open
	if open == nil {
		open = live.Open
	}
	s, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("watch live counters: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	// A machine that holds up the ticks does not hold up the answer.
	timed, cancel := context.WithTimeout(ctx, r.Duration+hw.Pace/2)
	defer cancel()
	t := NewLiveTally(s)
	err = s.Run(timed, func(tick *live.Tick) error {
		t.Add(tick)
		if r.Progress != nil {
			r.Progress(int(tick.Number), o.Ticks)
		}
		return nil
	})
	found = t.Result(s)
	found.Asked, found.Release, found.EraWhy, found.Kernel = r.Duration.Seconds(), r.Release, r.EraWhy, r.Kernel
	found.Current, found.Guest = o.Surroundings.Clocksource, o.Surroundings.Guest
	switch {
	case ctx.Err() != nil:
		found.Ended = "signal"
	case err != nil:
		found.Ended = "error"
	default:
		found.Ended = "duration"
	}
	return found, err
}

// LiveTally counts what the judge wants to know of each tick beyond a summary:
// which decisions and comparisons rest on read-backs that came in time.
type LiveTally struct {
	latency   doctor.LiveLatency
	skew      doctor.LiveSkew
	between   string
	most      clocksource.Cycles
	counted   bool // interrupts are
	doubt     clocksource.PPM
	pair      clocksource.Nanos // the delay of the saved read-back
	pairLate  bool
	longest   float64 // ns: half of what the reference counts; a longer interval is ambiguous
	sum, over clocksource.Nanos
}

// NewLiveTally returns the tally of a session that begins.
func NewLiveTally(s *live.Session) *LiveTally {
	return &LiveTally{
		counted: s.Interrupts, doubt: s.Reference.Doubt, pairLate: true,
		longest: float64(s.Setup().Reference.Mask) / 2 / float64(s.Reference.Hz) * 1e9,
	}
}

// Add counts a tick. Of its read-backs the last one is the one that counted.
func (y *LiveTally) Add(t *live.Tick) {
	if e := t.Exchange; e != nil && e.Backwards > y.most {
		y.most, y.between = e.Backwards, fmt.Sprintf("CPU %d and CPU %d", e.Control, e.Remote)
	}
	if len(t.Verdicts) == 0 || len(t.Samples) == 0 {
		return
	}
	v, last := &t.Verdicts[0], &t.Samples[len(t.Samples)-1]
	late := last.Late != trace.NotLate
	if v.Compared {
		y.compare(v, last.Delay, late)
	}
	switch v.Kind {
	case watchdog.CondemnedDelay:
		y.slow(t, &y.latency.Condemned)
	case watchdog.Skipped:
		y.slow(t, &y.latency.Skipped)
	case watchdog.TimedOut:
		y.slow(t, &y.latency.TimedOut)
	default:
		y.pair, y.pairLate = last.Delay, late
	}
}

// slow counts a decision for latency where what happened to the thread explains none of it.
func (y *LiveTally) slow(t *live.Tick, n *uint64) {
	late := t.LateReads()
	if !y.counted || late[trace.Preempted]+late[trace.Interrupted] > 0 {
		n = &y.latency.Disturbed
	}
	*n++
}

// compare counts a comparison. The clock was read somewhere between the two reads of
// the reference, so a skew of up to both delays may be of the reading alone.
func (y *LiveTally) compare(v *watchdog.Verdict, delay clocksource.Nanos, late bool) {
	ppm, ok := v.PPM()
	if !ok || late || y.pairLate || float64(v.Watched.NS) > y.longest {
		y.skew.LeftOut++
		return
	}
	s := &y.skew
	interval := max(v.Watched.NS, v.Reference.NS)
	unsure := y.pair + delay
	if s.Compared == 0 {
		s.Least, s.Greatest = ppm, ppm
	}
	s.Compared++
	s.Least, s.Greatest = min(s.Least, ppm), max(s.Greatest, ppm)
	if v.Skew.Abs() > s.Largest.Abs() {
		s.Largest = v.Skew
	}
	if noise, ok := clocksource.Ratio(unsure, interval); ok {
		s.Noise = max(s.Noise, noise)
	}
	beyond := v.Skew.Abs() - unsure
	if share, ok := clocksource.Ratio(beyond, interval); ok && beyond > 0 && share > max(s.Beyond, -s.Beyond) {
		s.Beyond = share
		if v.Skew < 0 {
			s.Beyond = -share
		}
	}
	rate := clocksource.Nanos(float64(y.doubt) * float64(interval) / 1e6)
	if v.Kind == watchdog.CondemnedSkew && beyond-rate > v.SkewLimit {
		s.Condemned++
	}
	y.sum += v.Skew
	y.over += interval
	if mean, ok := clocksource.Ratio(y.sum, y.over); ok {
		s.Mean = mean
	}
}

// Result puts the counts together with the session's own.
func (y *LiveTally) Result(s *live.Session) *doctor.Live {
	setup, sum, r := s.Setup(), s.Summary(), &s.Reference
	l := &doctor.Live{
		Era: string(setup.Profile.Era), Retries: setup.Profile.Attempts(r.CPUs.Count(), setup.Retries) - 1,
		Counter: r.Counter, CounterHz: r.CounterHz, CounterFrom: r.CounterFrom, Doubt: r.Doubt,
		Reference: r.Name, Independent: r.Independent, IndependentWhy: r.Reason, CPUs: r.CPUs.String(),
		Elapsed: sum.Elapsed, Ticks: sum.Ticks, Checks: sum.Checks, Kinds: map[string]uint64{},
		Latency: y.latency, Skew: y.skew,
		Delays: doctor.LiveDelays{
			Count: sum.Delays.Count, Min: sum.Delays.Min, Median: sum.Delays.Median, P99: sum.Delays.P99, Max: sum.Delays.Max, Limit: sum.Delays.Limit,
			Preempted: sum.LateReads.Preempted, Interrupted: sum.LateReads.Interrupted, Unexplained: sum.LateReads.Unexplained, InterruptsCounted: y.counted,
		},
		Exchanges: doctor.LiveExchanges{
			Made: sum.Exchanges.Made, Completed: sum.Exchanges.Completed, Failed: sum.Exchanges.Failed, Why: sum.Exchanges.Why,
			Backwards: sum.Exchanges.Backwards, Most: sum.Exchanges.Most, Between: y.between,
		},
	}
	for kind, n := range sum.Verdicts {
		l.Kinds[kind.String()] = n
	}
	return l
}
