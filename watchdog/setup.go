package watchdog

import (
	"errors"
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
)

// MaxWatched bounds how many clocks are watched at once. An x86 kernel watches
// tsc or tsc-early, and at most a few more.
const MaxWatched = 4

// Clock is what the watchdog knows of a clocksource.
type Clock struct {
	Name       string                 `json:"name"`
	Mask       clocksource.Mask       `json:"mask"`
	Conversion clocksource.Conversion `json:"conversion"`
	Margin     clocksource.Nanos      `json:"margin_ns"` // uncertainty, eras with margins
	Continuous bool                   `json:"continuous"`
	HRES       bool                   `json:"valid_for_hres"` // already at the start
	Calibrated bool                   `json:"calibrated"`     // E12
	// VerifyPerCPU asks for the check across CPUs after a verdict (5.14 to 7.0): tsc has it, tsc-early has not.
	VerifyPerCPU bool `json:"verify_per_cpu,omitzero"`
	// TestClock and TestPerCPU are of the kernel's own test of E12: the first
	// keeps the frequency check, the second only the comparison between CPUs.
	TestClock  bool `json:"test_clock,omitzero"`
	TestPerCPU bool `json:"test_per_cpu,omitzero"`
}

// Setup is everything that does not change from tick to tick. It is inert data.
type Setup struct {
	Profile   Profile `json:"profile"`
	Reference Clock   `json:"reference"` // no Name: there is none
	Watched   []Clock `json:"watched"`
	// HZ is the number of timer ticks a second; 0 is 250. The interval is HZ/2 ticks, cut to whole ones.
	HZ int `json:"hz"`
	// Retries is clocksource.max_cswd_read_retries; negative is the era's default.
	Retries int `json:"retries"`
	// CoarseReads is clocksource.max_cswd_coarse_reads of [TipForgive]: after so many
	// slow read-outs in a row comes a warning. 0 is the design's default, negative is never.
	CoarseReads int `json:"coarse_reads,omitzero"`
	// OtherArch takes the delta rule of architectures other than x86.
	OtherArch bool `json:"other_arch"`
	// Current is the name of the current clocksource, "" if there is none.
	Current string `json:"current"`
	// EarlyBoot is when, on the time line of the ticks, the kernel is past its
	// early scheduling state, in which all drivers begin. Before that it says nothing of
	// long intervals, and does not remember them. 0: it is past it from the start.
	EarlyBoot clocksource.Nanos `json:"early_boot_ns,omitzero"`
	// Distance tells how far apart two CPUs' nodes are (E12); nil where there is one node.
	Distance func(a, b int) int `json:"-"`
}

// ErrSetup is wrapped by every fault of a Setup.
var ErrSetup = errors.New("watchdog setup")

// Validate reports all faults of the setup, joined.
func (s *Setup) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: "+format, append([]any{ErrSetup}, args...)...))
	}
	if s.Profile.Era == "" {
		fault("the profile has no era")
	}
	if len(s.Watched) == 0 || len(s.Watched) > MaxWatched {
		fault("%d watched clocks, want 1 to %d", len(s.Watched), MaxWatched)
	}
	if s.Reference.Name == "" && s.Profile.Skew.Shift == 0 {
		fault("no reference: only from 7.1 on a watchdog runs without one")
	}
	if s.HZ < 0 || s.HZ == 1 {
		fault("HZ of %d, want 2 or more", s.HZ)
	}
	clocks := s.Watched
	if s.Reference.Name != "" {
		clocks = append([]Clock{s.Reference}, clocks...)
	}
	for _, c := range clocks {
		if c.Name == "" || !c.Mask.Valid() || c.Conversion.Mult == 0 {
			fault("clock %q with mask %s and mult %d: want a name, a mask of ones and a mult", c.Name, c.Mask, c.Conversion.Mult)
		}
	}
	return errors.Join(faults...)
}
