package sim

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// Cell is one combination whose boots are counted: a machine, an era with its
// number of retries, and a fault. It is not changed by running; each goroutine
// needs a [Runner] of its own.
type Cell struct {
	model   Model
	profile watchdog.Profile
	retries int
	fault   Fault

	setup    watchdog.Setup
	watch    *watchdog.Watchdog
	mask     clocksource.Mask
	tscHz    clocksource.Hz // true rate
	combines bool           // readers of the HPET share reads
	online   watchdog.CPUs
	quiet    quietness
}

// NewCell prepares a cell. retries is clocksource.max_cswd_read_retries, which
// counts only in eras that have the parameter; negative is the era's default.
func NewCell(m Model, p watchdog.Profile, retries int, f Fault) (*Cell, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if err := f.fits(&m); err != nil {
		return nil, err
	}
	c := &Cell{model: m, profile: p, retries: retries, fault: f, mask: references[m.Reference], tscHz: m.TSC, combines: combines(p.Era), online: watchdog.AllCPUs(m.CPUs)}
	if err := c.prepare(); err != nil {
		return nil, fmt.Errorf("machine %s, era %s: %w", m.Name, p.Era, err)
	}
	return c, nil
}

// fits reports a fault of a CPU or node that the machine does not have.
func (f Fault) fits(m *Model) error {
	n, what := m.CPUs, "CPU"
	if f.Kind == Drift {
		n, what = m.Nodes, "node"
	}
	if f.On >= n {
		return fmt.Errorf("fault %s: machine %s has no %s %d", f, m.Name, what, f.On)
	}
	return nil
}

// combines reports whether waiting readers of the HPET take the value that another
// just read: since 4.9, which lies within E3 (4.1 to about 4.12); E4 has it whole.
func combines(e watchdog.Era) bool {
	switch e {
	case watchdog.E0, watchdog.E1, watchdog.E2, watchdog.E3:
		return false
	}
	return true
}

func (c *Cell) prepare() error {
	m, p := &c.model, &c.profile
	told := m.TSC
	if c.fault.Kind == Calibration {
		// The kernel believes the model's frequency, and the counter has another.
		c.tscHz = clocksource.Hz(float64(told) / (1 + c.fault.PPM/1e6))
	}
	tsc, err := clocksource.Register(uint32(told/1000), clocksource.ScaleKHz, clocksource.Mask64)
	if err != nil {
		return err
	}
	ref := watchdog.Clock{Name: m.Reference, Mask: c.mask, Continuous: true, HRES: true, Calibrated: true}
	if m.Reference == "jiffies" {
		tick, ok := clocksource.Tick("jiffies", m.HZ)
		if !ok {
			return fmt.Errorf("jiffies at HZ=%d", m.HZ)
		}
		ref.Conversion, ref.Continuous, ref.HRES, ref.Calibrated = tick, false, false, false
	} else if ref.Conversion, err = clocksource.Register(uint32(m.Rate), clocksource.ScaleHz, c.mask); err != nil {
		return err
	}
	ref.Margin = p.Margin(m.Reference, uint32(m.Rate), clocksource.ScaleHz)
	c.setup = watchdog.Setup{
		Profile: *p, Reference: ref, HZ: m.HZ, Retries: c.retries, Current: "tsc",
		Watched: []watchdog.Clock{{
			Name: "tsc", Mask: clocksource.Mask64, Conversion: tsc, Continuous: true, HRES: true, Calibrated: m.Calibrated, VerifyPerCPU: true,
			Margin: p.Margin("tsc", uint32(told/1000), clocksource.ScaleKHz),
		}},
	}
	if m.Nodes > 1 {
		c.setup.Distance = m.distance
	}
	if c.watch, err = watchdog.New(c.setup); err != nil {
		return err
	}
	c.quiet = c.quietness()
	return nil
}

// Model returns the machine.
func (c *Cell) Model() Model { return c.model }

// Setup returns what the watchdog of the cell is made of.
func (c *Cell) Setup() watchdog.Setup { return c.setup }

// Outcome is what became of one boot.
type Outcome struct {
	// Verdict is the one that condemned the TSC; its Kind is Undecided if none did.
	Verdict watchdog.Verdict
	At      clocksource.Nanos // when, since the start of the kernel

	Checks   uint64
	Retried  uint64 // read more than once, and accepted
	Skipped  uint64
	TimedOut uint64 // E12, reads of the reference and of other CPUs
	Blind    bool   // a skip suspended the checks until after the window
}

// Unstable reports that the TSC was condemned.
func (o *Outcome) Unstable() bool { return o.Verdict.Kind.Condemns() }

// Runner carries out the boots of a cell, one after the other.
type Runner struct {
	cell    *Cell
	machine machine
	state   watchdog.State
	out     []watchdog.Verdict
	// Plain makes every check, also those that cannot matter. The results are the same.
	Plain bool

	seen func(*watchdog.Verdict, clocksource.Nanos) // is told every verdict, if not nil
}

// NewRunner returns a runner for the cell.
func (c *Cell) NewRunner() *Runner {
	return &Runner{cell: c, machine: newMachine(c)}
}

// Boot simulates one boot. The same seed and number give the same result.
func (r *Runner) Boot(seed, boot uint64) Outcome {
	c, m := r.cell, &r.machine
	m.begin(seed, boot)
	r.state = watchdog.State{}
	c.watch.Start(&r.state, c.model.From, c.online)
	var o Outcome
	for r.state.Expiry < c.model.Window {
		if !r.Plain && c.quiet.can {
			r.skip(&o)
			if r.state.Expiry >= c.model.Window {
				break
			}
		}
		if r.check(&o); o.Unstable() {
			o.At = m.now
			return o
		}
	}
	o.Blind = o.Skipped > 0 && r.state.Expiry >= c.model.Window+clocksource.NanosPerSecond
	return o
}

// check runs the next tick and counts what came of it.
func (r *Runner) check(o *Outcome) {
	m := &r.machine
	m.cpu = r.state.CPU
	m.now = m.due(r.state.Expiry, m.cpu)
	m.tick, m.read = r.state.Ticks, 0
	tick := watchdog.Tick{Now: m.kernelTime(m.now), CPU: m.cpu, Online: r.cell.online}
	r.out = r.cell.watch.Step(&r.state, tick, m, r.out[:0])
	v := &r.out[0]
	if r.seen != nil {
		r.seen(v, m.kernelTime(m.now))
	}
	o.Checks++
	switch v.Kind {
	case watchdog.Skipped:
		o.Skipped++
	case watchdog.TimedOut, watchdog.RemoteTimedOut:
		o.TimedOut++
	default:
		if v.Attempts > 1 && !v.Kind.Condemns() {
			o.Retried++
		}
	}
	if v.Kind.Condemns() {
		o.Verdict = *v
	}
}
