package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// The schemas name the format, and its version, in the header of both forms. A
// recording names the oldest version whose readers understand it.
const (
	Schema  = "cswatch.trace/v1"
	Schema2 = "cswatch.trace/v2" // may have Nodes and InterruptsCounted
)

// How many read-backs of one clock and CPU a tick holds: usually, and at most.
// A recording with K of them answers every retry count up to K-1.
const (
	DefaultReadBacks = 8
	MaxReadBacks     = 16
)

// Limits of a header: what is longer is not read and not written.
const (
	maxText   = 256
	maxNote   = 1 << 10
	maxNotes  = 16
	maxHeader = 48 << 10
)

// Source is where read-backs came from.
type Source string

// The sources.
const (
	Live      Source = "live"      // the counters of a machine, read from user space
	Simulated Source = "simulated" // a model of a machine
	QEMU      Source = "qemu"      // the reads of a guest's kernel, taken from outside
)

// Clock describes a recorded clock: what is needed to register it in any era.
type Clock struct {
	Name string           `json:"name"`
	Mask clocksource.Mask `json:"mask"`
	// Frequency times Scale is the rate in Hz, in the parts in which the driver
	// registers it. Eras with margins compute the margin from both. 0 for a clock
	// that brings its conversion.
	Frequency uint32            `json:"frequency,omitzero"`
	Scale     clocksource.Scale `json:"scale_hz,omitzero"`
	// Conversion is what the kernel had; its zero value is computed from the frequency.
	Conversion clocksource.Conversion `json:"conversion,omitzero"`
	// Margin is the uncertainty margin that the driver gives, 0 for the era's default.
	Margin     clocksource.Nanos `json:"margin_ns,omitzero"`
	Continuous bool              `json:"continuous"`
	HRES       bool              `json:"valid_for_hres"` // when the recording began
	Calibrated bool              `json:"calibrated"`
	// VerifyPerCPU, TestClock and TestPerCPU are those of [watchdog.Clock].
	VerifyPerCPU bool `json:"verify_per_cpu,omitzero"`
	TestClock    bool `json:"test_clock,omitzero"`
	TestPerCPU   bool `json:"test_per_cpu,omitzero"`
}

// Simulation is what a simulated recording names of its origin.
type Simulation struct {
	Model string `json:"model"`
	Seed  uint64 `json:"seed"`
}

// Header is what does not change from tick to tick.
type Header struct {
	Schema     string      `json:"schema"` // "" when written: Schema, or Schema2 where it is needed
	Source     Source      `json:"source"`
	Recorder   string      `json:"recorded_by"`         // program and version
	Simulation *Simulation `json:"simulation,omitzero"` // present if and only if Source is simulated
	Machine    string      `json:"machine,omitzero"`    // which one it was
	Kernel     string      `json:"kernel,omitzero"`     // its release and banner
	// TimeLine says what the instants of the ticks count from, such as "CLOCK_MONOTONIC_RAW".
	TimeLine string `json:"time_line,omitzero"`

	Reference Clock   `json:"reference"` // no Name: there was none, and read-backs hold the clock alone
	Watched   []Clock `json:"watched"`   // 1 to watchdog.MaxWatched
	// Pattern is what each read-back holds; "" when written: wd,cs,wd,wd. A kernel
	// that was observed reads as its era does.
	Pattern   watchdog.ReadPattern `json:"read_pattern"`
	ReadBacks int                  `json:"read_backs"` // at most so many of a clock and CPU; 0 when written: DefaultReadBacks

	HZ       int               `json:"hz"`          // timer ticks a second; 0 when written: 250
	Interval clocksource.Nanos `json:"interval_ns"` // from tick to tick; 0 when written: that of HZ
	Online   CPUSet            `json:"online"`      // at the start
	BootCPU  int               `json:"boot_cpu"`    // the CPU of Tick.Boot
	// Nodes are the NUMA nodes that have CPUs; empty where the recorder did not look.
	// They decide how long CPUs may take to compare from 7.1 on.
	Nodes []Node `json:"nodes,omitzero"`
	// InterruptsCounted says that a late read-back whose CPU served interrupts is marked by
	// [Interrupted]; otherwise an [Unexplained] one may be such.
	InterruptsCounted bool `json:"interrupts_counted,omitzero"`
	// Exchanges says that comparisons between CPUs were made as 7.1 and later make
	// them: a tick without one is a tick on which none was due, the boot CPU's own turn among them.
	Exchanges bool   `json:"exchanges"`
	Current   string `json:"current_clocksource,omitzero"`
	OtherArch bool   `json:"other_arch,omitzero"` // not x86
	// Notes are for the reader, and mean nothing to the program.
	Notes []string `json:"notes,omitzero"`
}

// ErrHeader is wrapped by every fault of a header.
var ErrHeader = errors.New("trace header")

// withDefaults fills in what a writer may leave out.
func (h Header) withDefaults() Header {
	if h.Schema == "" {
		h.Schema = Schema
		if h.new() {
			h.Schema = Schema2
		}
	}
	if h.Pattern == "" {
		h.Pattern = watchdog.ReadFour
	}
	if h.ReadBacks == 0 {
		h.ReadBacks = DefaultReadBacks
	}
	if h.HZ == 0 {
		h.HZ = 250
	}
	if h.Interval == 0 && h.HZ > 1 {
		h.Interval = clocksource.Nanos(h.HZ/2) * (clocksource.NanosPerSecond / clocksource.Nanos(h.HZ))
	}
	return h
}

// new reports whether the header has what only version 2 knows.
func (h *Header) new() bool { return len(h.Nodes) > 0 || h.InterruptsCounted }

// Validate reports all faults of a complete header, joined.
func (h *Header) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: "+format, append([]any{ErrHeader}, args...)...))
	}
	if h.Schema != Schema && h.Schema != Schema2 {
		fault("schema %q, want %q or %q", clip(h.Schema), Schema, Schema2)
	}
	if h.Schema == Schema && h.new() {
		fault("schema %q has no nodes and no counted interrupts: want %q", Schema, Schema2)
	}
	switch h.Source {
	case Live, Simulated, QEMU:
	default:
		fault("source %q, want live, simulated or qemu", clip(string(h.Source)))
	}
	if (h.Source == Simulated) != (h.Simulation != nil) || h.Simulation != nil && h.Simulation.Model == "" {
		fault("a simulated recording names its model and seed, and no other does")
	}
	if len(h.Watched) == 0 || len(h.Watched) > watchdog.MaxWatched {
		fault("%d watched clocks, want 1 to %d", len(h.Watched), watchdog.MaxWatched)
	}
	switch h.Pattern {
	case watchdog.ReadClockFirst, watchdog.ReadThree, watchdog.ReadFour:
	default:
		fault("read pattern %q, want %q, %q or %q", clip(string(h.Pattern)), watchdog.ReadClockFirst, watchdog.ReadThree, watchdog.ReadFour)
	}
	if h.ReadBacks < 1 || h.ReadBacks > MaxReadBacks {
		fault("%d read-backs, want 1 to %d", h.ReadBacks, MaxReadBacks)
	}
	if h.HZ < 2 || clocksource.Nanos(h.HZ) > clocksource.NanosPerSecond || h.Interval <= 0 {
		fault("HZ %d and an interval of %d ns, want 2 or more, and a positive one", h.HZ, h.Interval)
	}
	if err := h.Online.validate(); err != nil {
		fault("%v", err)
	} else if len(h.Online) == 0 || h.BootCPU < 0 || h.BootCPU > MaxCPU {
		fault("boot CPU %d and online CPUs %q, want a number up to %d and one CPU or more", h.BootCPU, h.Online, MaxCPU)
	}
	faults = append(faults, h.validateNodes())
	if h.Reference.Name != "" {
		faults = append(faults, h.Reference.validate())
	} else if h.Reference != (Clock{}) {
		fault("a reference without a name has other properties")
	}
	for i := range h.Watched {
		faults = append(faults, h.Watched[i].validate())
	}
	for _, s := range h.texts() {
		if len(s) > maxText || !utf8.ValidString(s) {
			fault("%q is longer than %d bytes or not UTF-8", clip(s), maxText)
		}
	}
	if len(h.Notes) > maxNotes {
		fault("%d notes, want %d or fewer", len(h.Notes), maxNotes)
	}
	for _, s := range h.Notes {
		if len(s) > maxNote || !utf8.ValidString(s) {
			fault("the note %q is longer than %d bytes or not UTF-8", clip(s), maxNote)
		}
	}
	return errors.Join(faults...)
}

func (h *Header) texts() []string {
	all := []string{h.Recorder, h.Machine, h.Kernel, h.TimeLine, h.Reference.Name, h.Current}
	if h.Simulation != nil {
		all = append(all, h.Simulation.Model)
	}
	for i := range h.Watched {
		all = append(all, h.Watched[i].Name)
	}
	return all
}

func (c *Clock) validate() error {
	switch {
	case c.Name == "" || !c.Mask.Valid():
		return fmt.Errorf("%w: clock %q with mask %s: want a name and a mask of ones", ErrHeader, clip(c.Name), c.Mask)
	case c.Conversion.Mult == 0 && c.Frequency == 0:
		return fmt.Errorf("%w: clock %s: want a frequency or a conversion", ErrHeader, clip(c.Name))
	case c.Conversion.Shift > 63:
		return fmt.Errorf("%w: clock %s: shift %d, want 63 or less", ErrHeader, clip(c.Name), c.Conversion.Shift)
	case c.Margin < 0:
		return fmt.Errorf("%w: clock %s: a margin of %d ns", ErrHeader, clip(c.Name), c.Margin)
	}
	if c.Conversion.Mult == 0 {
		if _, err := clocksource.Register(c.Frequency, c.Scale, c.Mask); err != nil {
			return fmt.Errorf("%w: clock %s: %w", ErrHeader, clip(c.Name), err)
		}
	}
	return nil
}

// clone copies what the header points to.
func (h Header) clone() Header {
	if h.Simulation != nil {
		s := *h.Simulation
		h.Simulation = &s
	}
	h.Watched = append([]Clock(nil), h.Watched...)
	h.Online = append(CPUSet(nil), h.Online...)
	h.Notes = append([]string(nil), h.Notes...)
	h.Nodes = append([]Node(nil), h.Nodes...)
	for i := range h.Nodes {
		n := &h.Nodes[i]
		n.CPUs, n.Distances = slices.Clone(n.CPUs), slices.Clone(n.Distances)
	}
	return h
}

// Setup returns the watchdog of an era for the recorded clocks: the margins are
// those of the era, HZ, the distances of the nodes and the current clocksource those of the recording.
// retries is the parameter max_cswd_read_retries, negative for the era's default.
func (h *Header) Setup(p watchdog.Profile, retries int) (watchdog.Setup, error) {
	s := watchdog.Setup{Profile: p, HZ: h.HZ, Retries: retries, OtherArch: h.OtherArch, Current: h.Current, Distance: h.Distance()}
	if h.Reference.Name != "" {
		c, err := h.Reference.in(p)
		if err != nil {
			return watchdog.Setup{}, err
		}
		s.Reference = c
	}
	for i := range h.Watched {
		c, err := h.Watched[i].in(p)
		if err != nil {
			return watchdog.Setup{}, err
		}
		s.Watched = append(s.Watched, c)
	}
	if err := s.Validate(); err != nil {
		return watchdog.Setup{}, fmt.Errorf("era %s over this recording: %w", p.Era, err)
	}
	return s, nil
}

// in returns the clock as an era knows it.
func (c *Clock) in(p watchdog.Profile) (watchdog.Clock, error) {
	conversion := c.Conversion
	if conversion.Mult == 0 {
		var err error
		if conversion, err = clocksource.Register(c.Frequency, c.Scale, c.Mask); err != nil {
			return watchdog.Clock{}, fmt.Errorf("clock %s of the recording: %w", clip(c.Name), err)
		}
	}
	margin := p.Margin(c.Name, c.Frequency, c.Scale)
	if margin != 0 && c.Margin != 0 {
		margin = c.Margin
	}
	return watchdog.Clock{
		Name: c.Name, Mask: c.Mask, Conversion: conversion, Margin: margin,
		Continuous: c.Continuous, HRES: c.HRES, Calibrated: c.Calibrated,
		VerifyPerCPU: c.VerifyPerCPU, TestClock: c.TestClock, TestPerCPU: c.TestPerCPU,
	}, nil
}

// parseHeader reads the JSON of a header, the same in both forms.
func parseHeader(b []byte) (Header, error) {
	var peek struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &peek); err != nil {
		return Header{}, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	if peek.Schema != Schema && peek.Schema != Schema2 && strings.HasPrefix(peek.Schema, "cswatch.trace/") {
		return Header{}, fmt.Errorf("%w: schema %q: this program reads %q and %q, a newer one is needed", ErrHeader, clip(peek.Schema), Schema, Schema2)
	}
	var h Header
	if err := unmarshal(b, &h); err != nil {
		return Header{}, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	if err := h.Validate(); err != nil {
		return Header{}, err
	}
	return h, nil
}
