package sim

import (
	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// poweredOn is how long the counters have run when the kernel starts.
const poweredOn = 5 * clocksource.NanosPerSecond

// machine is a model in one boot, behind the watchdog: it has the time, and
// what the reads of the present tick have cost of it.
type machine struct {
	cell   *Cell
	events []events // of all processes, in their order
	draws  stream

	// The same, by what they do.
	stops, delays, pauses, stalls, slow, slowClock, readers []*events
	held                                                    []held // one for each process; those have no events

	now  clocksource.Nanos // true time since the start of the kernel
	cpu  int               // that runs the tick
	tick uint64
	read uint64 // of the reference within the tick
}

// Streams of random numbers that are of no process.
const (
	streamReads = -1
	streamLog   = -2
)

// newMachine is the cell's model.
func newMachine(c *Cell) machine {
	m := machine{cell: c, events: make([]events, len(c.model.Processes))}
	for i := range m.events {
		e := &m.events[i]
		e.process, e.model = &c.model.Processes[i], &c.model
		switch k := e.process.Kind; k {
		case LateTimers:
			m.delays = append(m.delays, e)
		case Freeze, Stall, Pause:
			m.stops, m.delays = append(m.stops, e), append(m.delays, e)
			switch k {
			case Stall:
				m.stalls = append(m.stalls, e)
			case Pause:
				m.pauses = append(m.pauses, e)
			}
		case SlowReads:
			m.slow = append(m.slow, e)
		case SlowClock:
			m.slowClock = append(m.slowClock, e)
		case Readers, MappedReaders:
			m.readers = append(m.readers, e)
		case HeldReads:
			m.held = append(m.held, held{process: e.process, index: i})
		}
	}
	return m
}

func (m *machine) begin(seed, boot uint64) {
	m.draws = newStream(seed, boot, streamReads)
	for i := range m.events {
		m.events[i].begin(seed, boot, i)
	}
	for i := range m.held {
		m.held[i].begin(seed, boot)
	}
	m.now, m.cpu, m.tick, m.read = 0, 0, 0, 0
}

// readsPerTick bounds the reads of the reference in a tick, so that each has
// random numbers of its own.
const readsPerTick = 1 << 12

// draw returns the index of the random number for the present read.
func (m *machine) draw() uint64 { return m.tick*readsPerTick + m.read%readsPerTick }

// spend lets the CPU of the tick work for so long, and adds what it is stopped meanwhile.
func (m *machine) spend(work clocksource.Nanos) { m.now = m.after(m.now, work, m.cpu) }

// after returns when a CPU has done so much work that it begins at t.
func (m *machine) after(t, work clocksource.Nanos, cpu int) clocksource.Nanos {
	for {
		var next *events
		for _, e := range m.stops {
			e.seek(t)
			for !e.meets(cpu) && e.end <= t+work {
				e.seek(e.end) // over before this CPU is done
			}
			if e.meets(cpu) && e.start < t+work && (next == nil || e.start < next.start) {
				next = e
			}
		}
		if next == nil {
			return t + work
		}
		work -= max(next.start-t, 0)
		t = next.end
	}
}

// truly returns when the kernel's clock shows a time that is still to come.
func (m *machine) truly(expiry clocksource.Nanos) clocksource.Nanos {
	if len(m.pauses) == 0 {
		return expiry
	}
	t := expiry + m.paused(m.now)
	for {
		// Pauses that begin until then put it off.
		later := expiry + m.paused(t)
		for _, e := range m.pauses {
			if e.start <= later {
				later = max(later, e.end)
			}
		}
		if later <= t {
			return t
		}
		t = later
	}
}

// due returns when a tick that is due at a time of the kernel's clock runs on a CPU.
func (m *machine) due(expiry clocksource.Nanos, cpu int) clocksource.Nanos {
	t := max(m.truly(expiry), m.now)
	for again := true; again; {
		again = false
		for _, e := range m.delays {
			if e.active(t, cpu) {
				t, again = e.end, true
			}
		}
	}
	return t
}

// paused is how long counters stood still, all told, until t.
func (m *machine) paused(t clocksource.Nanos) clocksource.Nanos {
	var sum clocksource.Nanos
	for _, e := range m.pauses {
		e.seek(t)
		sum += e.passed
	}
	return sum
}

// kernelTime is the time that the counters show.
func (m *machine) kernelTime(t clocksource.Nanos) clocksource.Nanos { return t - m.paused(t) }

// tsc returns the TSC of a CPU at t.
func (m *machine) tsc(t clocksource.Nanos, cpu int) clocksource.Cycles {
	t = m.kernelTime(t)
	hz := m.cell.tscHz
	cycles := hz.CyclesIn(t + poweredOn)
	if f := &m.cell.fault; f.Kind != "" {
		if ahead := f.ahead(t, cpu, m.cell.model.node(cpu)); ahead < 0 {
			cycles -= hz.CyclesIn(-ahead)
		} else {
			cycles += hz.CyclesIn(ahead)
		}
	}
	return cycles
}

// reference returns the reference at t.
func (m *machine) reference(t clocksource.Nanos) clocksource.Cycles {
	return m.referenceAt(m.kernelTime(t))
}

// referenceAt returns the reference at a time of the kernel's clock.
func (m *machine) referenceAt(t clocksource.Nanos) clocksource.Cycles {
	if m.cell.model.Reference == "jiffies" {
		for _, e := range m.stalls {
			e.seek(m.now)
			t -= e.ticks
		}
	}
	return m.cell.model.Rate.CyclesIn(t+poweredOn) & clocksource.Cycles(m.cell.mask)
}

// readReference reads the reference and spends the time.
func (m *machine) readReference() clocksource.Cycles {
	model := &m.cell.model
	at := m.draw()
	price := &model.Read
	if m.read == 1 && model.First != nil {
		price = model.First
	}
	cost := price.Draw(m.draws.unit(at))
	for _, e := range m.slow {
		if e.active(m.now, m.cpu) {
			cost += e.process.Extra.Draw(e.draws.unit(drawExtra + at))
		}
	}
	var busy *events
	for _, e := range m.readers {
		if e.active(m.now, m.cpu) {
			busy = e
		}
	}
	m.read++
	if busy != nil {
		return m.contended(busy, cost, at)
	}
	return m.fetch(0, cost)
}

// fetch waits, then reads the reference over the bus: the counter is looked at on the way.
func (m *machine) fetch(wait, cost clocksource.Nanos) clocksource.Cycles {
	to := clocksource.Nanos(m.cell.model.Shows * float64(cost))
	m.spend(wait + to)
	v := m.reference(m.now)
	m.spend(cost - to)
	return v
}

// contended reads the reference while other CPUs do. Since Linux 4.9 a reader that
// finds the HPET being read waits for that read, of which some part is over,
// and takes its value. Before that, and through a mapping, all reads go over the bus one
// after the other.
func (m *machine) contended(e *events, cost clocksource.Nanos, at uint64) clocksource.Cycles {
	rest := clocksource.Nanos(e.draws.unit(drawExtra+at) * float64(cost))
	if e.process.Kind == MappedReaders || !m.cell.combines {
		others := min(e.process.Count, m.cell.model.CPUs-1)
		return m.fetch(rest+clocksource.Nanos(max(others-1, 0))*cost, cost)
	}
	// The counter is looked at when only so much of the read is left.
	left := cost - clocksource.Nanos(m.cell.model.Shows*float64(cost))
	if rest > left {
		m.spend(rest - left)
		v := m.reference(m.now)
		m.spend(left)
		return v
	}
	v := m.referenceAt(m.kernelTime(m.now) - (left - rest)) // it was, before this reader came
	m.spend(rest)
	return v
}

func (m *machine) readTSC() clocksource.Cycles {
	cost := m.cell.model.TSCRead
	for _, e := range m.slowClock {
		if e.active(m.now, m.cpu) {
			cost += e.process.Extra.Draw(e.draws.unit(drawExtra + m.draw()))
		}
	}
	m.spend(cost)
	return m.tsc(m.now, m.cpu)
}

// hold spends what an attempt waits for, if it is held.
func (m *machine) hold(wait clocksource.Nanos) {
	if wait > 0 {
		m.spend(wait)
	}
}

// holdNext draws how long the attempt that begins now is held.
func (m *machine) holdNext() (wait clocksource.Nanos) {
	for i := range m.held {
		wait += m.held[i].next(m.now)
	}
	return wait
}

// ReadReference implements [watchdog.Machine].
func (m *machine) ReadReference() clocksource.Cycles { return m.readReference() }

// ReadBack implements [watchdog.Machine].
func (m *machine) ReadBack(_ int, p watchdog.ReadPattern) watchdog.ReadBack {
	var rb watchdog.ReadBack
	wait := m.holdNext()
	switch p {
	case watchdog.ReadSharedReference:
		m.hold(wait) // the reference was read before
		rb.Clock = m.readTSC()
	case watchdog.ReadClockFirst:
		rb.Clock = m.readTSC()
		m.hold(wait)
		rb.Before = m.readReference()
	default:
		rb.Before = m.readReference()
		rb.Clock = m.readTSC()
		m.hold(wait)
		rb.After = m.readReference()
		if p == watchdog.ReadFour {
			rb.Again = m.readReference()
		}
	}
	return rb
}

// Exchange implements [watchdog.Machine]: both CPUs stamp in turn, each as soon as
// it sees the other's stamp. A side that waits too long gives up.
func (m *machine) Exchange(_, remote int, r watchdog.RemoteRule) watchdog.Exchange {
	model := &m.cell.model
	hop := model.Hop
	if model.node(remote) != model.node(m.cpu) {
		hop = model.RemoteHop
	}
	sides := [2]int{m.cpu, remote}
	var x watchdog.Exchange
	// The first stamp is taken before anything that the other CPU waits for.
	x.Stamps[0], x.Count = m.tsc(m.now, m.cpu), 1
	began := [2]clocksource.Nanos{m.now, m.after(m.now, model.Call, remote)}
	t := began[1]
	for ; x.Count < 2*r.Reads; x.Count++ {
		side := x.Count % 2
		if x.Count > 1 {
			t = m.after(t, hop, sides[side])
		}
		if t-began[side] > r.Timeout || t-began[0] > r.Timeout && x.Count == 1 {
			x.TimedOut = true
			break
		}
		x.Stamps[x.Count] = m.tsc(t, sides[side])
	}
	m.now = max(m.now, t)
	return x
}
