package live

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// arrange gives a read-back of wd,cs,wd,wd the order that an era asks for: cs,wd
// is its middle, and a shared reference was read before.
func arrange(rb watchdog.ReadBack, want watchdog.ReadPattern) watchdog.ReadBack {
	switch want {
	case watchdog.ReadSharedReference:
		return watchdog.ReadBack{Clock: rb.Clock}
	case watchdog.ReadClockFirst:
		return watchdog.ReadBack{Before: rb.After, Clock: rb.Clock}
	}
	return rb
}

// view is the machine as seen from a CPU for the length of a tick.
type view struct {
	w   *Watch
	cpu int
	// next takes a read-back, or hands out one that was taken.
	next func() watchdog.ReadBack
	// shared is the read-back whose first read ReadReference has given away.
	shared    watchdog.ReadBack
	hasShared bool
}

var _ watchdog.Machine = (*view)(nil)

// ReadReference implements [watchdog.Machine]: the clock is read right behind the
// reference, and ReadBack hands it out.
func (v *view) ReadReference() clocksource.Cycles {
	v.shared, v.hasShared = v.next(), true
	return v.shared.Before
}

// ReadBack implements [watchdog.Machine].
func (v *view) ReadBack(_ int, p watchdog.ReadPattern) watchdog.ReadBack {
	if p == watchdog.ReadSharedReference && v.hasShared {
		v.hasShared = false
		return arrange(v.shared, p)
	}
	return arrange(v.next(), p)
}

// Exchange implements [watchdog.Machine].
func (v *view) Exchange(_, cpu int, r watchdog.RemoteRule) watchdog.Exchange {
	return v.w.exchange(v.cpu, cpu, r.Timeout)
}

// exchange compares two CPUs and notes the outcome in the tick. One that could
// not be made is busy to the era.
func (w *Watch) exchange(control, remote int, timeout clocksource.Nanos) watchdog.Exchange {
	e, err := w.world.Exchange(control, remote, timeout)
	if err != nil {
		w.summary.Exchanges.Failed++
		w.summary.Exchanges.Why = err.Error()
		return watchdog.Exchange{Busy: true}
	}
	w.tick.Exchange = &Exchange{
		Control: control, Remote: remote, Completed: e.Completed, TimedOut: e.TimedOut, Busy: e.Busy,
		Waited: e.Waited, Backwards: e.Backwards(),
	}
	stamps, n := e.Stamps()
	return watchdog.Exchange{Stamps: stamps, Count: n, TimedOut: e.TimedOut, Busy: e.Busy}
}

// take takes a read-back on the calling thread, which runs on that CPU.
func (w *Watch) take(cpu int) watchdog.ReadBack {
	if w.usageCPU != cpu {
		w.usage, w.usageCPU = w.world.Usage(cpu), cpu
	}
	var rb hw.ReadBack
	if err := w.reader.ReadBack(&rb); err != nil {
		w.fail(fmt.Errorf("read %s and %s on CPU %d: %w", w.counter.Name, w.clock, cpu, err))
		return watchdog.ReadBack{}
	}
	after := w.world.Usage(cpu)
	s := w.note(cpu, rb)
	if s.Delay > w.late {
		s.Late = causeOf(hw.CauseOf(w.usage, after))
	}
	w.usage = after
	return s.ReadBack
}

// note adds a read-back to the tick.
func (w *Watch) note(cpu int, rb hw.ReadBack) *Sample {
	w.tick.Samples = append(w.tick.Samples, Sample{
		ReadBack: watchdog.ReadBack{Before: rb.Before, Clock: rb.Clock, After: rb.After, Again: rb.Again},
		CPU:      cpu, Delay: w.counter.Delay(rb.Before, rb.After),
	})
	return &w.tick.Samples[len(w.tick.Samples)-1]
}

// fail remembers the first thing that went wrong.
func (w *Watch) fail(err error) {
	if w.broken == nil {
		w.broken = err
	}
}

// readerView returns the machine as seen from a CPU, over a reader: the CPU of
// the tick is read as the era asks, and another, which only a recording wants, in
// one go beforehand. It is nil where nothing can be read there.
func (w *Watch) readerView(cpu int) watchdog.Machine {
	if v, known := w.views[cpu]; known {
		return v.machine()
	}
	v := &view{w: w, cpu: cpu, next: func() watchdog.ReadBack { return w.take(cpu) }}
	if cpu != w.pinned {
		taken := make([]watchdog.ReadBack, 0, w.header.ReadBacks)
		w.usageCPU = nowhere
		err := w.world.On(cpu, func() {
			for range w.header.ReadBacks {
				taken = append(taken, w.take(cpu))
			}
		})
		w.usageCPU = nowhere
		if err != nil {
			v = nil
		} else {
			v.next = fromList(taken)
		}
	}
	w.views[cpu] = v
	return v.machine()
}

// machine keeps a nil view from becoming an interface that is not nil.
func (v *view) machine() watchdog.Machine {
	if v == nil {
		return nil
	}
	return v
}

// fromList hands out read-backs that were taken, the last one again and again at the end.
func fromList(taken []watchdog.ReadBack) func() watchdog.ReadBack {
	n := 0
	return func() watchdog.ReadBack {
		rb := taken[min(n, len(taken)-1)]
		n++
		return rb
	}
}

// streamView returns the machine as seen from a CPU, over a tick of a stream.
func (w *Watch) streamView(cpu int) watchdog.Machine {
	if v, known := w.views[cpu]; known {
		return v.machine()
	}
	var taken []watchdog.ReadBack
	for i := range w.tick.Samples {
		if w.tick.Samples[i].CPU == cpu {
			taken = append(taken, w.tick.Samples[i].ReadBack)
		}
	}
	var v *view
	if len(taken) > 0 {
		v = &view{w: w, cpu: cpu, next: fromList(taken)}
	}
	w.views[cpu] = v
	return v.machine()
}

// addGroups notes the read-backs of a tick of a stream.
func (w *Watch) addGroups(groups []hw.Group) {
	for i := range groups {
		for _, s := range groups[i].Samples {
			n := w.note(groups[i].CPU, s.ReadBack)
			if s.Late && n.Delay > w.late {
				n.Late = causeOf(s.Cause)
			}
		}
	}
}

// complete fills in what a recorder cannot know: the causes of late read-backs and
// how long a comparison took. The recorder has the first read-backs of each CPU, in order.
func (w *Watch) complete(t *trace.Tick) {
	fill := func(cpu int, group [][]trace.ReadBack) {
		if len(group) == 0 {
			return
		}
		n := 0
		for i := range w.tick.Samples {
			if s := &w.tick.Samples[i]; s.CPU == cpu && n < len(group[0]) {
				group[0][n].Late = s.Late
				n++
			}
		}
	}
	fill(t.CPU, t.Reads)
	fill(w.header.BootCPU, t.Boot)
	if len(t.Exchanges) > 0 && w.tick.Exchange != nil {
		t.Exchanges[0].Waited = w.tick.Exchange.Waited
	}
}
