package watchdog

import "github.com/cswatch/cswatch/clocksource"

// State is everything that changes from tick to tick: a plain value that can be
// copied, compared and stored. The zero value is a watchdog that has not started.
type State struct {
	Ticks        uint64             `json:"ticks"`
	Expiry       clocksource.Nanos  `json:"expiry_ns"` // when the next tick is due
	CPU          int                `json:"cpu"`       // and on which CPU
	ResetPending int                `json:"reset_pending"`
	LastRemote   int                `json:"last_remote"`      // E12: the CPU that was compared last
	Shared       clocksource.Cycles `json:"shared_reference"` // E0 and E1: the reference at the last tick
	// MaxSkew and LargestDelay are of designs that were never merged: the raised
	// read limit, and the largest delay between two reads of the reference.
	MaxSkew      clocksource.Nanos      `json:"max_skew_ns,omitzero"`
	LargestDelay clocksource.Nanos      `json:"largest_watchdog_delay_ns,omitzero"`
	Started      bool                   `json:"started"`
	Clocks       [MaxWatched]ClockState `json:"clocks"`
}

// ClockState is what is kept of one watched clock.
type ClockState struct {
	Initialised bool               `json:"initialised"` // the saved pair is valid (the kernel's WATCHDOG flag)
	Unstable    bool               `json:"unstable"`
	Coarse      int                `json:"coarse_reads,omitzero"` // slow read-outs in a row that were forgiven, of the forgiving design
	HRES        bool               `json:"valid_for_hres"`
	Clock       clocksource.Cycles `json:"clock"` // raw values at the last accepted read-out
	Reference   clocksource.Cycles `json:"reference"`
}

// Resume notes that the machine slept, or that somebody touched the watchdog
// (a debugger): the next complete tick takes new pairs instead of comparing.
// Each resume before that tick costs one such tick, but in E0 and E1, where
// they are one.
func (s *State) Resume() { s.ResetPending++ }

// ForgetReference drops all saved pairs, as a change of the reference does.
func (s *State) ForgetReference() {
	for i := range s.Clocks {
		s.Clocks[i].Initialised = false
	}
}
