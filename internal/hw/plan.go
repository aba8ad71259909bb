package hw

import (
	"errors"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// Limits of a plan.
const (
	// Pace is the watchdog's own: half a second (every kernel). Reading the HPET
	// faster makes the latency for which some kernels condemn a TSC.
	Pace = 500 * time.Millisecond
	// DefaultReadBacks is how many read-backs a recording keeps of a tick and CPU.
	DefaultReadBacks = 8
	// MaxReadBacks bounds the read-backs of a tick and CPU.
	MaxReadBacks = 256
	maxCPUs      = 8192
	minInterval  = time.Millisecond
	// DefaultLimit is the read limit of Linux 5.14 to 5.16 and of 7.1 and later.
	DefaultLimit = 50 * clocksource.Microsecond
	// DefaultTimeout is how long Linux 7.1 and later let a CPU of the same NUMA node answer.
	DefaultTimeout = 50 * clocksource.Microsecond
)

// ErrTooFast is the error of a plan that loads a counter which the kernel may be watching a clock with.
var ErrTooFast = errors.New("reads the reference faster than a watchdog does")

// Plan says what a Stream reads, when and where. The zero value of each field but
// Reference is useful.
type Plan struct {
	Reference string        `json:"reference"`
	Interval  time.Duration `json:"interval_ns"` // between ticks; 0: Pace
	Ticks     int           `json:"ticks"`       // how many; 0: until the context ends
	Rhythm
	// CPUs are visited in turn, one a tick. None: the CPUs that the process may use.
	CPUs []int `json:"cpus,omitempty"`
	// BootCPU is read at each tick, too, if AlsoBoot is set and it is not the CPU in turn.
	BootCPU  int  `json:"boot_cpu,omitempty"`
	AlsoBoot bool `json:"also_boot,omitempty"`
	// ReadBacks is how many are taken at a tick and CPU; 0: DefaultReadBacks.
	ReadBacks int `json:"read_backs"`
	// Limit is the reference's own delay (Before to After) from which a read-back
	// counts as late; 0: DefaultLimit. Late ones are told with their cause.
	Limit clocksource.Nanos `json:"limit_ns"`
	// UntilGood ends the read-backs of a CPU with the first that is not late, as
	// kernels from 5.14 on do.
	UntilGood bool `json:"until_good,omitempty"`
	// Interrupts counts the interrupts of the CPU around each read-back, from
	// /proc/interrupts: some 20 us on a small machine, a millisecond on a great one.
	Interrupts bool `json:"interrupts,omitempty"`
	// Exchange also compares the counter of BootCPU with that of the CPU in turn or,
	// without AlsoBoot, that of the CPU in turn with the one behind it, with this time-out; 0: not.
	Exchange clocksource.Nanos `json:"exchange_timeout_ns,omitempty"`
	// AcceptLosingTSC allows HPET and ACPI PM timer to be read faster than a watchdog does.
	AcceptLosingTSC bool `json:"accept_losing_tsc,omitempty"`
}

// withDefaults fills what is left to the package.
func (p Plan) withDefaults() Plan {
	if p.Interval == 0 {
		p.Interval = Pace
	}
	if p.ReadBacks == 0 {
		p.ReadBacks = DefaultReadBacks
	}
	if p.Limit == 0 {
		p.Limit = DefaultLimit
	}
	return p
}

// Validate reports everything that is wrong with the plan, joined.
func (p Plan) Validate() error {
	var wrong []error
	add := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("plan of read-backs: "+format, args...))
	}
	if p.Reference == "" {
		add("no reference is named")
	}
	if p.Interval != 0 && p.Interval < minInterval {
		add("an interval of %v is below %v", p.Interval, minInterval)
	}
	if p.Ticks < 0 {
		add("%d ticks", p.Ticks)
	}
	if p.ReadBacks < 0 || p.ReadBacks > MaxReadBacks {
		add("%d read-backs a tick, want 1 to %d", p.ReadBacks, MaxReadBacks)
	}
	if err := p.Rhythm.Validate(p.withDefaults().Interval); err != nil {
		add("%w", err)
	}
	if p.Limit < 0 || p.Exchange < 0 {
		add("a time below 0")
	}
	if len(p.CPUs) > maxCPUs {
		add("%d CPUs, at most %d are possible", len(p.CPUs), maxCPUs)
	}
	for _, cpu := range append([]int{p.BootCPU}, p.CPUs...) {
		if cpu < 0 || cpu >= maxCPUs {
			add("CPU %d, want 0 to %d", cpu, maxCPUs-1)
			break
		}
	}
	if err := p.tooFast(); err != nil {
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

// tooFast applies the rule for counters that the kernel may be using as its
// reference: at most DefaultReadBacks a CPU each half second. More while they are late
// would load it just when it is slow already.
func (p Plan) tooFast() error {
	if p.AcceptLosingTSC || p.Reference != HPET && p.Reference != ACPIPM {
		return nil
	}
	q := p.withDefaults()
	if q.Interval < Pace || q.ReadBacks > DefaultReadBacks {
		return fmt.Errorf("plan of read-backs: %d read-backs of %s every %v: %w, and that can cost the machine its TSC until it is booted anew: take %d every %v, or accept the loss",
			q.ReadBacks, q.Reference, q.Interval, ErrTooFast, DefaultReadBacks, Pace)
	}
	return nil
}

// Tick is what a Stream delivers at a time.
type Tick struct {
	Number int               `json:"tick"`
	At     clocksource.Nanos `json:"at_ns"` // CLOCK_MONOTONIC when it began
	// Groups are the read-backs of the CPU in turn and, where planned, of the boot CPU.
	Groups   []Group   `json:"groups"`
	Exchange *Exchange `json:"exchange,omitempty"`
}

// Group is the read-backs of one tick on one CPU, one right after the other.
type Group struct {
	CPU     int      `json:"cpu"`
	Samples []Sample `json:"samples,omitempty"`
	Skipped string   `json:"skipped,omitempty"` // why there are none, such as a CPU that went offline
}

// rig is what the loop of read-backs runs on; tests have their own.
type rig struct {
	reference Counter
	pin       func(cpu int) error // binds the thread of the loop
	free      func()              // frees it again, after each tick
	read      func(*ReadBack) error
	usage     func(cpu int, interrupts bool) Usage
	now       func() clocksource.Nanos
	// wait sleeps until that time of now and reports whether to stop instead.
	wait func(until clocksource.Nanos) (stop bool)
}

// run takes read-backs by the plan and hands each tick out. The tick is reused.
func (r *rig) run(p Plan, emit func(*Tick) error) error {
	p = p.withDefaults()
	if len(p.CPUs) == 0 {
		return errors.New("take read-backs: the plan names no CPU")
	}
	var t Tick
	due := r.now()
	first := due
	for n := 0; p.Ticks == 0 || n < p.Ticks; n++ {
		if r.wait(due) {
			return nil
		}
		t.Number, t.At = n, r.now()
		if err := r.groups(p, &t); err != nil {
			return err
		}
		if err := emit(&t); err != nil {
			return err
		}
		due = NextDue(due, t.At, clocksource.Nanos(p.Interval))
		if p.Ends(n + 1) {
			due = p.NextBurst(first, due)
			first = due
		}
	}
	return nil
}

// NextDue returns when the tick behind one is due that was due and began at the given
// times. One that comes late does not bring the next ones closer together: over a
// short interval a single step of the reference looks like a large skew.
func NextDue(due, began, interval clocksource.Nanos) clocksource.Nanos {
	if began-due > interval/4 {
		return began + interval
	}
	return due + interval
}

// groups takes the read-backs of a tick.
func (r *rig) groups(p Plan, t *Tick) error {
	defer r.free()
	t.Groups = t.Groups[:0]
	cpu := p.CPUs[t.Number%len(p.CPUs)]
	if err := r.group(p, cpu, t); err != nil {
		return err
	}
	if p.AlsoBoot && p.BootCPU != cpu {
		return r.group(p, p.BootCPU, t)
	}
	return nil
}

// group appends the read-backs of one CPU to the tick.
func (r *rig) group(p Plan, cpu int, t *Tick) error {
	i := len(t.Groups)
	if i < cap(t.Groups) {
		t.Groups = t.Groups[:i+1]
	} else {
		t.Groups = append(t.Groups, Group{Samples: make([]Sample, 0, p.ReadBacks)})
	}
	g := &t.Groups[i]
	g.CPU, g.Samples, g.Skipped = cpu, g.Samples[:0], ""
	if err := r.pin(cpu); err != nil {
		g.Skipped = err.Error()
		return nil
	}
	before := r.usage(cpu, p.Interrupts)
	for range p.ReadBacks {
		g.Samples = append(g.Samples, Sample{})
		s := &g.Samples[len(g.Samples)-1]
		if err := r.read(&s.ReadBack); err != nil {
			return fmt.Errorf("read %s and %s on CPU %d: %w", r.reference.Name, processorCounter, cpu, err)
		}
		after := r.usage(cpu, p.Interrupts)
		if r.reference.Delay(s.Before, s.After) > p.Limit {
			s.Late, s.Cause = true, CauseOf(before, after)
		} else if p.UntilGood {
			return nil
		}
		before = after
	}
	return nil
}
