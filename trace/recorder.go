package trace

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// Recorder stands between a running watchdog and its machine and keeps what a
// recording needs: all read-backs of a tick, also those behind a good one, on
// the CPU in turn and on the boot CPU, and a comparison with another CPU. For
// each tick call Begin, let the watchdog step with the Recorder as its machine,
// and write what End returns.
type Recorder struct {
	header Header
	rotate bool
	on     func(cpu int) watchdog.Machine
	// shadow is a watchdog of E12 that asks for the comparisons between CPUs where
	// the running one is of another era; nil where there is nothing to ask for.
	shadow *watchdog.Watchdog
	state  watchdog.State // of shadow

	tick   Tick
	seq    uint64
	turn   int // the CPU in turn, of an era that does not rotate
	begun  bool
	online CPUSet
	live   watchdog.Machine // on the watchdog's CPU
	cpu    int
	reads  [][]ReadBack // the series that the watchdog itself reads: of tick.Reads or tick.Boot
	served [watchdog.MaxWatched]int
	out    []watchdog.Verdict // of shadow, which nobody reads
}

var _ watchdog.Machine = (*Recorder)(nil)

// NewRecorder makes the recorder of a watchdog of the given era. on returns the
// machine as seen from a CPU, or nil where nothing can be read there; a machine
// that does not know CPUs may always return the same. The header's read pattern
// must be wd,cs,wd,wd, which holds what every era reads. A watchdog that stays on
// the boot CPU leaves the turns over the CPUs to the recorder. If the header says
// that there are exchanges and the era makes none, the recorder makes those that
// 7.1 and later would make.
func NewRecorder(h Header, p watchdog.Profile, on func(cpu int) watchdog.Machine) (*Recorder, error) {
	h = h.withDefaults().clone()
	if err := h.Validate(); err != nil {
		return nil, fmt.Errorf("record read-backs: %w", err)
	}
	if h.Pattern != watchdog.ReadFour {
		return nil, fmt.Errorf("record read-backs: read pattern %q, want %q", h.Pattern, watchdog.ReadFour)
	}
	r := &Recorder{header: h, rotate: p.Rotate, on: on}
	if h.Exchanges && p.Remote.Reads == 0 {
		e12, _ := watchdog.ProfileOf(watchdog.E12)
		setup, err := h.Setup(e12, -1)
		if err != nil {
			return nil, fmt.Errorf("record read-backs: %w", err)
		}
		if r.shadow, err = watchdog.New(setup); err != nil {
			return nil, fmt.Errorf("record read-backs: %w", err)
		}
	}
	return r, nil
}

// Begin starts a tick: t is what the watchdog is told, scheduled when the tick
// was due, resets how often the machine slept since the tick before.
func (r *Recorder) Begin(t watchdog.Tick, scheduled clocksource.Nanos, resets int) {
	r.seq++
	r.online = SetOf(t.Online)
	n := len(r.header.Watched)
	r.tick = Tick{Seq: r.seq, Scheduled: scheduled, At: t.Now, CPU: t.CPU, Resets: resets, Reads: make([][]ReadBack, n)}
	if r.online.String() != r.header.Online.String() {
		r.tick.Online = r.online
	}
	if !r.rotate {
		if r.turn = r.online.Next(r.turn); !r.begun {
			r.turn = r.online.First()
		}
		r.tick.CPU = r.turn
	}
	r.begun = true
	r.served = [watchdog.MaxWatched]int{}
	r.live, r.cpu = r.on(t.CPU), t.CPU
	r.reads = r.tick.Reads
	if t.CPU != r.tick.CPU {
		r.tick.Boot = make([][]ReadBack, n)
		r.reads = r.tick.Boot
	}
}

// take fills the series of a clock.
func (r *Recorder) take(m watchdog.Machine, group [][]ReadBack, clock int) {
	for m != nil && len(group[clock]) < r.header.ReadBacks {
		group[clock] = append(group[clock], ReadBack{ReadBack: m.ReadBack(clock, watchdog.ReadFour)})
	}
}

// ReadBack implements [watchdog.Machine]. The first call for a clock takes all
// its read-backs in a row, so that a second attempt is what it would have been.
// Attempts beyond those are made and not recorded.
func (r *Recorder) ReadBack(clock int, p watchdog.ReadPattern) watchdog.ReadBack {
	if r.served[clock] == 0 {
		r.take(r.live, r.reads, clock)
	}
	n := r.served[clock]
	r.served[clock]++
	if n >= len(r.reads[clock]) {
		if r.live == nil {
			return watchdog.ReadBack{}
		}
		return r.live.ReadBack(clock, p)
	}
	return rearrange(r.reads[clock][n].ReadBack, watchdog.ReadFour, p)
}

// ReadReference implements [watchdog.Machine]: the first read of the first clock's series.
func (r *Recorder) ReadReference() clocksource.Cycles {
	r.take(r.live, r.reads, 0)
	if len(r.reads[0]) == 0 {
		return 0
	}
	return r.reads[0][0].Before
}

// Exchange implements [watchdog.Machine].
func (r *Recorder) Exchange(clock, cpu int, rule watchdog.RemoteRule) watchdog.Exchange {
	if r.live == nil {
		return watchdog.Exchange{Busy: true}
	}
	return r.compare(r.live, r.cpu, clock, cpu, rule)
}

func (r *Recorder) compare(m watchdog.Machine, control, clock, peer int, rule watchdog.RemoteRule) watchdog.Exchange {
	x := m.Exchange(clock, peer, rule)
	x.Count = min(max(x.Count, 0), maxStamps)
	clear(x.Stamps[x.Count:])
	r.tick.Exchanges = append(r.tick.Exchanges, Exchange{Exchange: x, Clock: clock, CPU: control, Peer: peer, Limit: rule.Timeout})
	return x
}

// End takes what the watchdog did not ask for and returns the tick.
func (r *Recorder) End() *Tick {
	t, boot := &r.tick, r.header.BootCPU
	read := r.header.Reference.Name != ""
	for i := range r.header.Watched {
		if read {
			r.take(r.live, r.reads, i)
		}
	}
	if t.CPU != boot && read {
		if t.Boot == nil {
			t.Boot = make([][]ReadBack, len(t.Reads))
		}
		for i := range r.header.Watched {
			r.take(r.on(boot), t.Boot, i)
			r.take(r.on(t.CPU), t.Reads, i)
		}
	}
	r.ask()
	return t
}

// ask lets the shadow step over the read-backs of the boot CPU.
func (r *Recorder) ask() {
	boot := r.on(r.header.BootCPU)
	if r.shadow == nil || boot == nil {
		return
	}
	t := &r.tick
	series := t.Reads
	if t.CPU != r.header.BootCPU {
		series = t.Boot
	}
	for i := range series {
		if len(series[i]) == 0 && !r.state.Clocks[i].Unstable {
			return
		}
	}
	r.state.ResetPending += t.Resets
	now := watchdog.Tick{Now: t.At, CPU: r.header.BootCPU, Online: r.online}
	r.out = r.shadow.Step(&r.state, now, &asker{rec: r, boot: boot, series: series}, r.out[:0])
}

// asker is the machine behind the shadow: recorded read-backs, live exchanges.
type asker struct {
	rec    *Recorder
	boot   watchdog.Machine
	series [][]ReadBack
	served [watchdog.MaxWatched]int
}

// ReadBack implements [watchdog.Machine].
func (a *asker) ReadBack(clock int, p watchdog.ReadPattern) watchdog.ReadBack {
	series := a.series[clock]
	n := min(a.served[clock], len(series)-1)
	a.served[clock]++
	return rearrange(series[n].ReadBack, watchdog.ReadFour, p)
}

// ReadReference implements [watchdog.Machine]; E12 does not call it.
func (a *asker) ReadReference() clocksource.Cycles { return a.boot.ReadReference() }

// Exchange implements [watchdog.Machine].
func (a *asker) Exchange(clock, cpu int, rule watchdog.RemoteRule) watchdog.Exchange {
	return a.rec.compare(a.boot, a.rec.header.BootCPU, clock, cpu, rule)
}
