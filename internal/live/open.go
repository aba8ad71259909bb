package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// Auto lets [Open] choose the reference as a kernel would.
const Auto = "auto"

// Options say what to watch on this machine. The zero value of each field but
// Profile is useful; a Retries of 0 asks for none.
type Options struct {
	Profile   watchdog.Profile
	Retries   int    // max_cswd_read_retries, which counts in eras that have it; negative: the era's default
	Reference string // a counter of package hw; "" is Auto
	// Instead takes the best other reference where the one that is named is known and cannot be read.
	Instead bool
	Ticks   int // 0: until the context ends
	// Rhythm and From are those of [Config].
	Rhythm hw.Rhythm
	From   Place
	// Record is where a recording goes, in the binary form; nil for none. Each tick is one Write.
	Record     io.Writer
	RecordedBy string // program and version
	Machine    string // names for the recording
	Kernel     string
	// Surroundings decide what a reference is worth.
	Surroundings hw.Surroundings
	// Known says that the rate of the TSC was told to the kernel, which then refines
	// nothing: 7.1 and later allow such a clock eight times the skew.
	Known bool
	// Interrupts counts the interrupts around each read-back, to find the causes of
	// late ones: some 20 us on a small machine, a millisecond on a great one.
	Interrupts bool
	// NoExchange leaves out the comparison of two CPUs in eras that make none.
	NoExchange bool
	// Anew and AcceptLosingTSC are those of [Config].
	Anew            bool
	AcceptLosingTSC bool
}

// Reference is what the counter is compared with, and what that is worth.
type Reference struct {
	Name        string            `json:"name"`
	Hz          clocksource.Hz    `json:"frequency_hz"`
	From        string            `json:"source"`
	Independent machine.Answer    `json:"independent"`
	Reason      string            `json:"reason"`
	Passed      []Passed          `json:"passed_over"`
	Counter     string            `json:"clocksource"` // the counter under test
	CounterHz   clocksource.Hz    `json:"clocksource_frequency_hz"`
	CounterFrom string            `json:"clocksource_frequency_source"`
	Error       clocksource.PPM   `json:"clocksource_frequency_error_ppm"`
	Doubt       clocksource.PPM   `json:"-"` // how far CounterHz may be from the kernel's idea of it
	CPUs        trace.CPUSet      `json:"cpus"`
	Interval    clocksource.Nanos `json:"interval_ns"`
	TimerHZ     int               `json:"timer_hz"` // CONFIG_HZ, in whose ticks the era counts its interval
	TimerHZFrom string            `json:"timer_hz_source"`
}

// Passed is a better reference that cannot be used.
type Passed struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Remedy string `json:"remedy,omitempty"`
}

// ReadCloser is a [Reader] that is closed.
type ReadCloser interface {
	Reader
	io.Closer
}

// StreamCloser is a [Stream] that is closed.
type StreamCloser interface {
	Stream
	io.Closer
}

// Hardware is where Open finds its counters; tests have their own.
type Hardware struct {
	Counter   string // the counter under test
	Probe     func() []hw.Availability
	Frequency func(context.Context) (hw.Frequency, error)
	Reader    func(reference string) (ReadCloser, error)
	Stream    func(hw.Plan) (StreamCloser, error)
	World     World
	Basis     Basis
	Close     func() error
}

// Session is a watch on this machine and what it stands on.
type Session struct {
	*Watch
	Reference Reference
	// Interrupts says that late read-backs are told by interrupts: it was asked for and they can be counted.
	Interrupts bool
	// Loads says that the watch may read the reference faster than a watchdog; see [Config.Loads].
	Loads bool
	shut  []func() error
}

// Open opens the counters of this machine for a watch. The error is a
// *hw.NotHere where one that was named cannot be read. Close must be called.
func Open(ctx context.Context, o Options) (*Session, error) {
	h, err := thisMachine(o.Interrupts)
	if err != nil {
		return nil, err
	}
	return OpenOn(ctx, o, h)
}

// OpenOn is Open on other hardware, which it closes.
func OpenOn(ctx context.Context, o Options, h Hardware) (*Session, error) {
	s := &Session{shut: []func() error{h.Close}}
	if err := s.open(ctx, o, h); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Session) open(ctx context.Context, o Options, h Hardware) error {
	found := h.Probe()
	if err := readable(found, h.Counter); err != nil {
		return err
	}
	choice, err := choose(found, o, h.Counter)
	if err != nil {
		return err
	}
	cpus, err := h.World.CPUs()
	if err != nil {
		return err
	}
	f, err := h.Frequency(ctx)
	if err != nil {
		return fmt.Errorf("find the rate of %s: %w", h.Counter, err)
	}
	s.Reference = describe(choice, f, h.Counter, cpus)
	s.Interrupts = o.Interrupts && len(cpus) > 0 && h.World.Usage(cpus[0]).Counted
	c := Config{Profile: o.Profile, Retries: o.Retries, Ticks: o.Ticks, Rhythm: o.Rhythm, From: o.From, NoExchange: o.NoExchange || len(cpus) < 2, Anew: o.Anew, AcceptLosingTSC: o.AcceptLosingTSC}
	c.Header = header(o, choice, f, h.Counter, cpus)
	c.Header.Nodes, c.Header.InterruptsCounted = h.Basis.Nodes, s.Interrupts
	if h.Basis.HZ > 0 {
		c.Header.HZ, s.Reference.TimerHZ, s.Reference.TimerHZFrom = h.Basis.HZ, h.Basis.HZ, h.Basis.HZFrom
	}
	c.Header.Notes = append(c.Header.Notes, fmt.Sprintf("timer ticks: %d Hz, %s", s.Reference.TimerHZ, s.Reference.TimerHZFrom))
	if o.Record != nil {
		if attempts := c.Profile.Attempts(len(cpus), c.Retries); choice.Name == hw.ACPIPM && attempts > c.Header.ReadBacks {
			return fmt.Errorf("record %d attempts a tick: a recording of %s keeps %d: ask for %d retries or fewer, or do not record",
				attempts, hw.ACPIPM, c.Header.ReadBacks, c.Header.ReadBacks-1)
		}
		if c.Record, err = trace.NewWriter(o.Record, trace.Binary, c.Header); err != nil {
			return err
		}
	}
	if err := c.Validate(); err != nil { // before anything is opened
		return err
	}
	s.Loads = c.Loads()
	if choice.Name == hw.ACPIPM {
		p := c.Plan()
		p.Interrupts = o.Interrupts
		stream, err := h.Stream(p)
		if err != nil {
			return err
		}
		s.shut = append(s.shut, stream.Close)
		s.Watch, err = NewOnStream(c, stream, h.World)
		return err
	}
	reader, err := h.Reader(choice.Name)
	if err != nil {
		return err
	}
	s.shut = append(s.shut, reader.Close)
	s.Watch, err = New(c, reader, h.World)
	return err
}

// Close gives the counters back.
func (s *Session) Close() error {
	var wrong []error
	for _, shut := range slices.Backward(s.shut) {
		wrong = append(wrong, shut())
	}
	s.shut = nil
	return errors.Join(wrong...)
}

// readable fails where the counter under test cannot be read.
func readable(found []hw.Availability, counter string) error {
	for _, a := range found {
		if a.Name == counter {
			return a.Err()
		}
	}
	return &hw.NotHere{What: counter, Reason: "nothing is known of it"}
}

// choose picks the reference, or takes the one that was named.
func choose(found []hw.Availability, o Options, counter string) (hw.Choice, error) {
	if o.Reference == "" || o.Reference == Auto {
		return hw.Choose(found, o.Surroundings)
	}
	var names []string
	for _, a := range found {
		if !a.Slow && a.Needs != "" && a.Can == machine.Yes && a.Name != counter {
			names = append(names, a.Name)
		}
		if a.Name != o.Reference || a.Name == counter {
			continue
		}
		if a.Slow {
			return hw.Choice{}, &hw.NotHere{What: a.Name, Reason: "it ticks in seconds, which is too slow for read-backs"}
		}
		if err := a.Err(); err != nil {
			return instead(found, o, a, err)
		}
		around := o.Surroundings
		around.PTPName = a.Title
		return hw.Choice{Availability: a, Independence: hw.Independent(a.Name, around)}, nil
	}
	missing := &hw.NotHere{What: o.Reference, Reason: "there is no such counter on this machine", Remedy: "name one that can be read, or auto: " + strings.Join(names, ", ")}
	if o.Reference == counter {
		missing.Reason = "it is the counter that is watched, and would be compared with itself"
	}
	return hw.Choice{}, missing
}

// instead chooses for a named reference that cannot be read, if that is wanted. The named one goes
// first among those that were passed over.
func instead(found []hw.Availability, o Options, named hw.Availability, missing error) (hw.Choice, error) {
	if !o.Instead {
		return hw.Choice{}, missing
	}
	c, err := hw.Choose(found, o.Surroundings)
	if err != nil {
		return c, missing // it says more than that there is nothing else either
	}
	c.Passed = slices.DeleteFunc(c.Passed, func(a hw.Availability) bool { return a.Name == named.Name })
	c.Passed = append([]hw.Availability{named}, c.Passed...)
	return c, nil
}

func describe(c hw.Choice, f hw.Frequency, counter string, cpus []int) Reference {
	r := Reference{
		Name: c.Name, Hz: c.Hz, From: c.From, Independent: c.Independent, Reason: c.Reason, Passed: []Passed{},
		Counter: counter, CounterHz: f.Hz, CounterFrom: f.From, Error: f.Error, Doubt: f.Doubt(),
		CPUs: trace.CPUs(cpus...), Interval: clocksource.Nanos(hw.Pace),
		TimerHZ: assumedHZ, TimerHZFrom: "assumed: no configuration of this kernel can be read",
	}
	for _, p := range c.Passed {
		r.Passed = append(r.Passed, Passed{p.Name, p.Why, p.Remedy})
	}
	return r
}

// roughAbove is the doubt about a measured rate above which it is not trusted:
// a fifth of what 7.1 and later let a clock deviate whose rate they trust.
const roughAbove clocksource.PPM = 100

// rough reports a rate that is known too roughly for the narrow limit of 7.1 and
// later: one that was measured badly, or by a clock that itself runs at the kernel's
// first estimate (tsc-early). Those kernels do not take tsc-early for calibrated either.
func rough(f hw.Frequency, current string) bool {
	return f.Error > roughAbove || f.Error > 0 && current == "tsc-early"
}

// header describes the clocks as a kernel registers them.
func header(o Options, c hw.Choice, f hw.Frequency, counter string, cpus []int) trace.Header {
	online := trace.CPUs(cpus...)
	h := trace.Header{
		Schema: trace.Schema2, Source: trace.Live, Recorder: o.RecordedBy, Machine: o.Machine, Kernel: o.Kernel, TimeLine: "CLOCK_MONOTONIC",
		Reference: trace.Clock{
			Name: c.Name, Mask: c.Mask, Frequency: uint32(c.Hz), Scale: clocksource.ScaleHz,
			Continuous: true, HRES: true, Calibrated: true,
		},
		Watched: []trace.Clock{{
			Name: counter, Mask: maskOf(counter), Frequency: uint32((f.Hz + 500) / 1000), Scale: clocksource.ScaleKHz,
			Continuous: true, HRES: true, Calibrated: !o.Known && !rough(f, o.Surroundings.Clocksource), VerifyPerCPU: counter == "tsc",
		}},
		Pattern: watchdog.ReadFour, ReadBacks: trace.DefaultReadBacks,
		HZ: assumedHZ, Interval: clocksource.Nanos(hw.Pace), Online: online, BootCPU: online.First(),
		Exchanges: len(cpus) > 1, Current: o.Surroundings.Clocksource, OtherArch: runtime.GOARCH != "amd64",
		Notes: []string{
			"read in user space with interrupts on",
			fmt.Sprintf("is %s independent of %s? %s: %s", c.Name, counter, c.Independent, c.Reason),
			fmt.Sprintf("rate of %s: %d Hz, %s", counter, f.Hz, f.Exact),
		},
	}
	if o.Record != nil && !gentle(c.Name) {
		h.ReadBacks = trace.MaxReadBacks // nobody minds, and the replay answers more retries
	} else if !gentle(c.Name) {
		h.ReadBacks = min(max(h.ReadBacks, o.Profile.Attempts(len(cpus), o.Retries)), trace.MaxReadBacks)
	}
	return h
}

func maskOf(counter string) clocksource.Mask {
	if counter == "arch_sys_counter" {
		return clocksource.Mask56
	}
	return clocksource.Mask64
}
