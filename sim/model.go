package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cswatch/cswatch/clocksource"
)

// Model is a machine: its counters, what reading them costs, and what disturbs it.
type Model struct {
	Name  string
	About string // one line

	CPUs   int
	Nodes  int // the CPUs lie on so many nodes, in equal blocks
	Remote int // distance of two nodes, as the firmware tells it; 10 is a node's own

	HZ     int               // of the kernel
	From   clocksource.Nanos // when the reference is there: the watchdog starts
	Window clocksource.Nanos // how long a boot is followed

	TSC        clocksource.Hz
	Calibrated bool // the TSC's frequency was refined against the reference

	Reference string // hpet, acpi_pm, jiffies or kvm-clock
	Rate      clocksource.Hz
	Read      Dist              // one read of the reference, from when it is asked for until it is there
	First     *Dist             // the read that ends the first attempt of a check, nil for one like the others: caches are cold
	Shows     float64           // which part of that is over when the counter is looked at, 0 to 1
	TSCRead   clocksource.Nanos // one read of the TSC
	Hop       clocksource.Nanos // a cache line from one CPU to another of the same node
	RemoteHop clocksource.Nanos // ... of another node
	Call      clocksource.Nanos // from asking another CPU to run something until it does

	Phases    []Phase
	Processes []Process

	// Sources say where each parameter comes from, by its key as in the text:
	// "measured", "published" or "assumed", and more words.
	Sources map[string]string
}

// Phase is a part of the boot. The last one need not end.
type Phase struct {
	Name  string
	Until clocksource.Nanos // since the start of the kernel; 0 for no end
}

// Kind is what a disturbance does.
type Kind string

// The kinds.
const (
	// SlowReads are episodes in which every read of the reference takes longer.
	SlowReads Kind = "slow-reads"
	// SlowClock are episodes in which every read of the TSC does, while the reference
	// is as quick as ever against itself.
	SlowClock Kind = "slow-clock"
	// Freeze stops CPUs while the counters go on: SMIs (all CPUs), a hypervisor
	// that takes a virtual CPU away (one).
	Freeze Kind = "freeze"
	// LateTimers are spans in which expired timers wait: the tick of the watchdog
	// runs at their end.
	LateTimers Kind = "late-timers"
	// Stall stops all CPUs and loses timer ticks: jiffies do not go on.
	Stall Kind = "stall"
	// Pause stops CPUs and counters alike, as a hypervisor does with a guest.
	Pause Kind = "pause"
	// Readers are other CPUs that read the HPET for its time in a loop.
	Readers Kind = "readers"
	// MappedReaders read it through a mapping of /dev/hpet.
	MappedReaders Kind = "mapped-readers"
	// HeldReads are programmed delays of read-backs, as internal/qemu/tap puts them
	// into a real kernel: an attempt is held between its read of the TSC and the
	// reference's that follows, or not, by a chain of two states that takes a step with each.
	HeldReads Kind = "held-reads"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{SlowReads, SlowClock, Freeze, LateTimers, Stall, Pause, Readers, MappedReaders, HeldReads}
}

// Scope is which CPUs an event of a process meets.
type Scope string

// The scopes.
const (
	WholeMachine Scope = "machine"
	OneCPU       Scope = "cpu"  // each event has one, drawn anew
	OneNode      Scope = "node" // likewise
)

// Process is a source of disturbances: events that come at random, one after
// the other, each with a length. Those of held-reads come by the attempt instead.
type Process struct {
	Name   string
	Kind   Kind
	Scope  Scope
	Rates  []float64 // events a second in each phase of the model, while none is under way
	Length Dist
	Extra  Dist // slow-reads, slow-clock: added to each read; held-reads: to each attempt that is held
	Count  int  // readers, mapped-readers: how many CPUs

	// held-reads: an attempt behind one that was not held is held with probability
	// Enter, one behind one that was with 1-Leave. Attempts before From are not.
	Enter, Leave float64
	From         clocksource.Nanos // since the start of the kernel, in true time
}

// Limits of a model.
const (
	maxCPUs      = 1 << 16
	maxProcesses = 16
	maxPhases    = 16
	maxWindow    = 24 * 3600 * clocksource.NanosPerSecond
)

// Validate reports everything that is wrong with the model.
func (m *Model) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("machine %s: "+format, append([]any{m.Name}, args...)...))
	}
	if m.CPUs < 1 || m.CPUs > maxCPUs {
		bad("%d CPUs: want 1 to %d", m.CPUs, maxCPUs)
	}
	if m.Nodes < 1 || m.Nodes > max(m.CPUs, 1) {
		bad("%d nodes: want 1 to the number of CPUs", m.Nodes)
	}
	if m.Remote < 10 || m.Remote > 255 {
		bad("distance %d: want 10 to 255", m.Remote)
	}
	if m.HZ < 24 || m.HZ > 10_000 {
		bad("HZ=%d: want 24 to 10000", m.HZ)
	}
	if m.From < 0 || m.Window <= m.From || m.Window > maxWindow {
		bad("watched from %s to %s: want an order, and a day at most", formatTime(m.From), formatTime(m.Window))
	}
	if m.TSC < 1_000_000 || m.TSC > 100_000_000_000 || m.TSC%1000 != 0 {
		bad("a TSC of %d Hz: want 1 MHz to 100 GHz in whole kHz", m.TSC)
	}
	if _, ok := references[m.Reference]; !ok {
		bad("reference %q: want hpet, acpi_pm, jiffies or kvm-clock", m.Reference)
	}
	if m.Rate < 10 || m.Rate > 1_000_000_000 {
		bad("a reference of %d Hz: want 10 Hz to 1 GHz", m.Rate)
	}
	if !(m.Shows >= 0 && m.Shows <= 1) {
		bad("a read shows the counter after %v of its time: want 0 to 1", m.Shows)
	}
	for _, t := range []struct {
		what string
		time clocksource.Nanos
	}{{"tsc-read", m.TSCRead}, {"hop", m.Hop}, {"remote-hop", m.RemoteHop}, {"call", m.Call}} {
		if t.time < 0 || t.time > clocksource.NanosPerSecond {
			bad("%s of %s: want a second at most", t.what, formatTime(t.time))
		}
	}
	for i, p := range m.Phases {
		if last := i == len(m.Phases)-1; !last && (p.Until <= 0 || i > 0 && p.Until <= m.Phases[i-1].Until) || last && p.Until != 0 {
			bad("phase %s: phases follow each other, and the last one has no end", p.Name)
		}
	}
	if len(m.Phases) == 0 || len(m.Phases) > maxPhases || len(m.Processes) > maxProcesses {
		bad("%d phases, %d processes: want 1 to %d, and %d at most", len(m.Phases), len(m.Processes), maxPhases, maxProcesses)
	}
	for i := range m.Processes {
		if err := m.Processes[i].validate(m); err != nil {
			bad("process %s: %w", m.Processes[i].Name, err)
		}
	}
	return errors.Join(errs...)
}

func (p *Process) validate(m *Model) error {
	if !slices.Contains(Kinds(), p.Kind) {
		return fmt.Errorf("%q is no kind of disturbance", p.Kind)
	}
	if p.Scope != WholeMachine && p.Scope != OneCPU && p.Scope != OneNode {
		return fmt.Errorf("scope %q: want machine, cpu or node", p.Scope)
	}
	if len(p.Rates) != len(m.Phases) {
		return fmt.Errorf("%d rates for %d phases", len(p.Rates), len(m.Phases))
	}
	for _, r := range p.Rates {
		if !(r >= 0 && r <= 1e6) {
			return fmt.Errorf("%v events a second: want 0 to a million", r)
		}
	}
	if p.Scope != WholeMachine && (p.Kind == Stall || p.Kind == Pause) {
		return fmt.Errorf("a %s is of the whole machine", p.Kind)
	}
	if p.Count < 0 || p.Count > maxCPUs {
		return fmt.Errorf("%d readers: want %d at most", p.Count, maxCPUs)
	}
	if (p.Kind == Readers || p.Kind == MappedReaders) != (p.Count > 0) {
		return fmt.Errorf("%d readers in a process of kind %s", p.Count, p.Kind)
	}
	return p.validateHeld()
}

// references are the reference clocks that exist here, with their masks.
var references = map[string]clocksource.Mask{
	"hpet": clocksource.Mask32, "acpi_pm": clocksource.Mask24, "jiffies": clocksource.Mask32, "kvm-clock": clocksource.Mask64,
}

// node returns the node of a CPU.
func (m *Model) node(cpu int) int { return cpu * m.Nodes / m.CPUs }

// distance of two CPUs' nodes, as the firmware tells it.
func (m *Model) distance(a, b int) int {
	if m.node(a) == m.node(b) {
		return localDistance
	}
	return m.Remote
}

const localDistance = 10

// WithCPUs returns the model with another number of CPUs, spread over as many
// nodes as before where that goes.
func (m Model) WithCPUs(n int) Model {
	m.CPUs = n
	m.Nodes = max(min(m.Nodes, n), 1)
	return m
}
