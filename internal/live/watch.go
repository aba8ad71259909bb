package live

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

const (
	// nowhere is no CPU.
	nowhere = -1
	// refreshTicks is after how many ticks the list of CPUs is read anew: 10 s.
	refreshTicks = 20
	// sleepNoise is by how much the two clocks that tell of a suspend may differ without one.
	sleepNoise = 10 * 1000 * clocksource.Microsecond
)

// Watch is one era's watchdog over the counters of a machine. It is for one goroutine.
type Watch struct {
	config  Config
	header  trace.Header
	dog     *watchdog.Watchdog
	state   watchdog.State
	reader  Reader // or
	stream  Stream
	counter hw.Counter // the reference
	clock   string     // the counter under test
	world   World

	interval clocksource.Nanos
	late     clocksource.Nanos // above which a read-back is late
	online   trace.CPUSet
	turn     int // the CPU in turn of an era that rotates
	peer     int // that was compared last, in an era that compares none
	asleep   clocksource.Nanos
	ran      bool
	broken   error

	recorder *trace.Recorder
	viewOf   func(cpu int) watchdog.Machine
	views    map[int]*view // of the tick
	pinned   int           // the CPU on which the thread is, or nowhere
	usage    hw.Usage
	usageCPU int

	tick    Tick
	first   clocksource.Nanos
	burst   clocksource.Nanos // when the first tick of this burst was due
	delays  Histogram
	summary Summary
}

// New makes a watch over a reader.
func New(c Config, r Reader, w World) (*Watch, error) {
	watch, err := newWatch(c, w)
	if err != nil {
		return nil, err
	}
	watch.reader, watch.counter = r, r.Reference()
	watch.viewOf = watch.readerView
	return watch, nil
}

// NewOnStream makes a watch over a stream, which has to be of the plan that [Config.Plan] returns.
func NewOnStream(c Config, s Stream, w World) (*Watch, error) {
	watch, err := newWatch(c, w)
	if err != nil {
		return nil, err
	}
	watch.stream, watch.counter = s, s.Reference()
	watch.viewOf = watch.streamView
	return watch, nil
}

func newWatch(c Config, world World) (*Watch, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	setup, err := c.Header.Setup(c.Profile, c.Retries)
	if err != nil {
		return nil, fmt.Errorf("watch live counters: %w", err)
	}
	w := &Watch{
		config: c, header: c.Header, clock: c.Header.Watched[0].Name, world: world,
		interval: c.Header.Interval, late: c.lateAbove(), online: c.Header.Online,
		turn: c.Header.Online.First(), peer: max(c.From.Peer, c.Header.Online.First()), pinned: nowhere, usageCPU: nowhere,
		views: map[int]*view{}, summary: Summary{Verdicts: map[watchdog.Kind]uint64{}},
	}
	if w.online.Contains(c.From.Turn) {
		w.turn = c.From.Turn
	}
	if w.dog, err = watchdog.New(setup); err != nil {
		return nil, fmt.Errorf("watch live counters: %w", err)
	}
	if c.Record != nil {
		if w.recorder, err = trace.NewRecorder(c.Header, c.Profile, func(cpu int) watchdog.Machine { return w.viewOf(cpu) }); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// lateAbove is the delay above which a read-back counts as late: the era's limit, or that of 5.14.
func (c *Config) lateAbove() clocksource.Nanos {
	setup, err := c.Header.Setup(c.Profile, c.Retries)
	if err != nil || !c.Profile.ReadLimit.Set() {
		return hw.DefaultLimit
	}
	limit, _ := c.Profile.ReadLimit.At(setup.Reference.Margin, setup.Watched[0].Margin)
	return limit
}

// Plan returns what a stream has to read for the watch: as many read-backs as
// the era asks for, each on the CPU in turn or on the boot CPU, and all of a
// recording's where there is one.
func (c *Config) Plan() hw.Plan {
	p := hw.Plan{
		Reference: c.Header.Reference.Name, Ticks: c.Ticks, Rhythm: c.Rhythm, BootCPU: c.Header.BootCPU,
		ReadBacks: c.Profile.Attempts(c.Header.Online.Count(), c.Retries), UntilGood: true,
		// A stream and a watchdog round differently: never end with one that the watchdog finds late.
		Limit: max(c.lateAbove()-20, 1), AcceptLosingTSC: c.AcceptLosingTSC,
	}
	switch {
	case c.Record != nil:
		p.ReadBacks, p.UntilGood, p.AlsoBoot = c.Header.ReadBacks, false, true
	case !c.Profile.Rotate:
		p.CPUs = []int{c.Header.BootCPU}
		return p
	}
	cpu := c.Header.Online.First()
	for range c.Header.Online.Count() {
		p.CPUs = append(p.CPUs, cpu)
		cpu = c.Header.Online.Next(cpu)
	}
	return p
}

// Setup returns the watchdog's setup, which a printer of kernel lines needs.
func (w *Watch) Setup() watchdog.Setup { return w.dog.Setup() }

// Run watches until the number of ticks is done, the context ends (which is no
// error), the function fails, or the era has condemned the clock: a kernel then
// checks no more, and neither does a watch that is not to begin anew. A recording goes on behind that, and Run marks it as complete
// unless a read or the recording itself fails. The tick is the function's only until it returns. A watch runs once.
func (w *Watch) Run(ctx context.Context, each func(*Tick) error) error {
	if w.ran {
		return errors.New("watch live counters: the watch has run already")
	}
	w.ran = true
	w.first = w.world.Now()
	w.asleep = w.world.Slept()
	run := w.runReader
	if w.stream != nil {
		run = w.runStream
	}
	err := run(ctx, each)
	if errors.Is(err, errDone) {
		err = nil
	}
	if w.config.Record != nil && w.broken == nil {
		err = errors.Join(err, w.config.Record.Close())
	}
	return err
}

// errDone ends a stream early.
var errDone = errors.New("nothing is left to watch")

// runReader is the loop over a reader, whose timer is the era's own.
func (w *Watch) runReader(ctx context.Context, each func(*Tick) error) error {
	due := w.first
	w.start(due)
	for {
		if w.world.Sleep(ctx, due) != nil {
			return nil
		}
		at := w.world.Now()
		cpu := w.inTurn()
		w.begin(due, at, cpu)
		t := watchdog.Tick{Now: at, CPU: cpu, Online: w.online}
		err := w.world.On(cpu, func() {
			w.pinned, w.usageCPU = cpu, nowhere
			w.expire(t, due, "")
		})
		w.pinned = nowhere
		if err != nil {
			w.views[cpu] = nil
			w.expire(t, due, err.Error())
		}
		if err := w.end(each, err != nil); err != nil {
			return err
		}
		due = w.next(due, at)
	}
}

// runStream is the loop over a stream, whose ticks come when they come.
func (w *Watch) runStream(ctx context.Context, each func(*Tick) error) error {
	due := clocksource.Nanos(-1)
	return w.stream.Run(ctx, func(s *hw.Tick) error {
		if due < 0 {
			due, w.first = s.At, s.At
			w.start(due)
		}
		cpu := w.inTurn()
		if w.config.Profile.Rotate && len(s.Groups) > 0 {
			cpu = s.Groups[0].CPU
		}
		idle := ""
		for i := range s.Groups {
			if s.Groups[i].CPU == cpu {
				idle = s.Groups[i].Skipped
			}
		}
		w.begin(due, s.At, cpu)
		w.addGroups(s.Groups)
		w.expire(watchdog.Tick{Now: s.At, CPU: cpu, Online: w.online}, due, idle)
		if err := w.end(each, idle != ""); err != nil {
			return err
		}
		due = w.next(due, s.At)
		return nil
	})
}

// start arms the era's timer, due at once.
func (w *Watch) start(due clocksource.Nanos) {
	w.burst = due
	w.dog.Start(&w.state, due-w.interval, w.online)
}

// inTurn is the CPU of the next tick.
func (w *Watch) inTurn() int {
	if w.config.Profile.Rotate {
		return w.turn
	}
	return w.online.First()
}

// begin clears the tick.
func (w *Watch) begin(due, at clocksource.Nanos, cpu int) {
	clear(w.views)
	w.tick = Tick{
		Number: w.summary.Ticks + 1, Due: due, At: at, CPU: cpu,
		Verdicts: w.tick.Verdicts[:0], Samples: w.tick.Samples[:0],
	}
	if slept := w.world.Slept(); slept-w.asleep > sleepNoise {
		w.tick.Resets = 1
		w.asleep = slept
	}
}

// expire runs a tick: the era's check where one is due, what the recording wants, and a
// comparison of two CPUs. absent says why nothing can be read on the CPU of the tick.
func (w *Watch) expire(t watchdog.Tick, due clocksource.Nanos, absent string) {
	w.state.ResetPending += w.tick.Resets
	var m watchdog.Machine
	if w.recorder != nil {
		w.recorder.Begin(t, due, w.tick.Resets)
		m = w.recorder
	} else {
		m = w.viewOf(t.CPU)
	}
	switch {
	case absent != "":
		w.tick.Idle = absent
	case w.viewOf(t.CPU) == nil:
		w.tick.Idle = fmt.Sprintf("no read-back was taken on CPU %d", t.CPU)
	case t.Now < w.state.Expiry-w.interval/2:
		w.tick.Idle = "the era pauses after a skip"
	default:
		w.tick.Verdicts = w.dog.Step(&w.state, t, m, w.tick.Verdicts)
		w.verify(t.CPU)
	}
	if w.recorder != nil {
		rec := w.recorder.End()
		w.complete(rec)
		if w.broken == nil {
			if err := w.config.Record.Write(rec); err != nil {
				w.fail(fmt.Errorf("record a tick: %w", err))
			}
		}
	} else if !w.config.NoExchange && w.config.Profile.Remote.Reads == 0 {
		w.compare()
	}
}

// compare lets the boot CPU and the next of the others compare their counters, as
// 7.1 and later do in each tick; every so often it is the boot CPU's own turn.
func (w *Watch) compare() {
	control := w.online.First()
	if w.peer = w.online.Next(w.peer); w.peer != control {
		w.exchange(control, w.peer, hw.DefaultTimeout)
	}
}

// end counts the tick, hands it out and decides whether there is another.
func (w *Watch) end(each func(*Tick) error, moved bool) error {
	if w.broken != nil {
		return w.broken
	}
	w.summary.add(&w.tick, &w.delays, w.interval)
	w.summary.Elapsed = w.tick.At - w.first
	if err := each(&w.tick); err != nil {
		return err
	}
	if w.config.Anew {
		w.anew()
	} else if w.recorder == nil && w.state.Clocks[0].Unstable {
		return errDone
	}
	cpu := w.tick.CPU
	if w.config.Ticks > 0 && w.summary.Ticks >= uint64(w.config.Ticks) {
		w.turn = w.online.Next(cpu)
		return errDone
	}
	if moved || w.tick.Number%refreshTicks == 0 {
		if err := w.refresh(); err != nil {
			return err
		}
	}
	w.turn = w.online.Next(cpu)
	return nil
}

// anew forgets a condemnation and a pause: the next tick is the first one after a boot.
func (w *Watch) anew() {
	if w.state.Clocks[0].Unstable || w.state.Expiry-w.tick.At > w.interval*3/2 {
		w.state.Clocks[0] = watchdog.ClockState{} // and not the CPU that comes next in the comparison
		w.dog.Start(&w.state, w.tick.At, w.online)
	}
}

// refresh reads anew which CPUs there are.
func (w *Watch) refresh() error {
	cpus, err := w.world.CPUs()
	if err != nil {
		return err
	}
	if len(cpus) == 0 {
		return errors.New("watch live counters: the process may use no CPU")
	}
	w.online = trace.CPUs(cpus...)
	return nil
}

// next returns when the next tick is due: when the era's timer is, unless that
// pauses. A tick that came late does not bring the next ones closer together.
func (w *Watch) next(due, at clocksource.Nanos) clocksource.Nanos {
	next := due + w.interval
	if e := w.state.Expiry; e > at && e-at <= w.interval*3/2 {
		next = e
	}
	if paced := hw.NextDue(due, at, w.interval); paced != due+w.interval {
		next = paced
	}
	if r := w.config.Rhythm; r.Ends(int(w.tick.Number)) {
		next = r.NextBurst(w.burst, next)
		w.state.Clocks[0] = watchdog.ClockState{}
		w.start(next)
	}
	w.state.Expiry = max(w.state.Expiry, next)
	return next
}

// Place returns how far the watch went around the CPUs, for another one that goes on there.
func (w *Watch) Place() Place { return Place{Turn: w.turn, Peer: w.peer} }

// Summary returns what was counted so far.
func (w *Watch) Summary() Summary {
	s := w.summary
	s.Verdicts = maps.Clone(s.Verdicts)
	h := &w.delays
	s.Delays = Delays{
		Count: h.Count(), Min: h.Min(), Median: h.Quantile(0.5), P99: h.Quantile(0.99), Max: h.Max(),
		Limit: w.late, Buckets: h.Buckets(),
	}
	return s
}
