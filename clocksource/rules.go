package clocksource

import "fmt"

// OverrideRule is what becomes of a wish for a clock that is not fit for oneshot mode.
type OverrideRule string

const (
	// OverrideAlways grants every wish. Up to 2.6.30 (from memory).
	OverrideAlways OverrideRule = "always"
	// OverrideOnce refuses with one message for all cases and forgets the wish.
	// Read in a release between 2.6.31 and 2.6.35 and in 4.4.
	OverrideOnce OverrideRule = "once"
	// OverrideTwoWay refuses and forgets the wish for a condemned clock, and keeps
	// the wish for one that may become fit. Read in 4.15 and later; the border
	// between 4.4 and 4.15 is not known.
	OverrideTwoWay OverrideRule = "two-way"
)

// SwitchText is how a kernel words a change of the current clock.
type SwitchText string

const (
	// SwitchInstalled: "Time: %s clocksource has been installed." Up to 2.6.30 (from memory).
	SwitchInstalled SwitchText = "installed"
	// SwitchSwitching: "Switching to clocksource %s". 2.6.31 to 3.9.
	SwitchSwitching SwitchText = "switching"
	// SwitchSwitched: "Switched to clocksource %s". 3.10 and later (from memory; read in 4.4).
	SwitchSwitched SwitchText = "switched"
)

// OverrideText is how a kernel words the refusal of a wish.
type OverrideText string

const (
	// OverrideTextNone: nothing is ever refused, up to 2.6.30.
	OverrideTextNone OverrideText = "none"
	// OverrideTextSentence: "... is not HRT compatible. Cannot switch ...", 2.6.31 to 4.1.
	OverrideTextSentence OverrideText = "sentence"
	// OverrideTextDash: "... is not HRT compatible - cannot switch ...", 4.2 to 4.14.
	OverrideTextDash OverrideText = "dash"
	// OverrideTextTwoWay: "... is unstable and not HRT compatible - cannot switch ..."
	// and "... is not currently HRT compatible - deferring", 4.15 and later.
	OverrideTextTwoWay OverrideText = "two-way"
)

// RegisterText is how a kernel words the registration of a clock.
type RegisterText string

const (
	RegisterTextNone  RegisterText = "none"  // no line, up to 4.0
	RegisterTextBare  RegisterText = "bare"  // "clocksource %s: mask: ...", 4.1 (from memory)
	RegisterTextColon RegisterText = "colon" // "clocksource: %s: mask: ...", 4.2 and later
)

// Rules is what differs between releases in the framework around the
// watchdog. It is data: compare it, store it, change a field to try out what
// it does. The watchdog's own numbers are in package watchdog.
type Rules struct {
	Release string `json:"release"` // which release these are the rules of

	FilterHRES           bool         `json:"filter_hres"`            // in oneshot mode only clocks that are fit for it are selected; 3.11 and later (about)
	Override             OverrideRule `json:"override"`               //
	ContinuousReference  bool         `json:"continuous_reference"`   // a reference must be continuous; 7.1 and later
	RunsWithoutReference bool         `json:"runs_without_reference"` // the watchdog's timer starts without a reference; 7.1 and later
	RatingAtOnce         bool         `json:"rating_at_once"`         // a verdict drops the rating itself, without a thread; up to 2.6.30
	UnregisteredDemoted  bool         `json:"unregistered_demoted"`   // a verdict on a clock that is not registered sets its rating to 0; about 4.18 and later
	TSCCallback          bool         `json:"tsc_callback"`           // the TSC's driver is told of a verdict; about 4.13 and later
	SchedClock           bool         `json:"sched_clock"`            // sched_clock follows, and says so; about 4.13 and later
	HasTSCEarly          bool         `json:"has_tsc_early"`          // tsc-early exists; 4.16 and later
	TSCValidForHRES      bool         `json:"tsc_valid_for_hres"`     // tsc is registered as fit for oneshot mode; 4.16 to 7.0
	TSCInheritsHRES      bool         `json:"tsc_inherits_hres"`      // tsc takes that from tsc-early; 7.1 and later
	TSCNoWatchdog        bool         `json:"tsc_nowatchdog"`         // tsc=nowatchdog exists; 5.4 and later
	TSCWatchesTimers     bool         `json:"tsc_watches_timers"`     // tsc=watchdog lets the TSC watch HPET and PM timer; 6.3 to 7.0
	TSCForced            bool         `json:"tsc_forced"`             // tsc=watchdog has any TSC watched; 7.1 and later
	TSCRecalibrate       bool         `json:"tsc_recalibrate"`        // tsc=recalibrate exists; 6.3 and later
	ReselectOnGrant      bool         `json:"reselect_on_grant"`      // becoming fit for oneshot mode leads to a selection; 3.11 and later (read in 4.4)
	VerifyPerCPU         bool         `json:"verify_per_cpu"`         // the thread compares the CPUs of a condemned current clock; 5.14 to 7.0, 5.10.50
	CalibratedFlag       bool         `json:"calibrated_flag"`        // drivers say which frequencies are trusted; 7.1 and later
	TestFlag             bool         `json:"test_flag"`              // clocks of the kernel's own test are marked as such; 7.1 and later
	IdleBefore41         bool         `json:"idle_before_4_1"`        // limits of a conversion by the old rule, see [IdleBefore41]
	NoMaxAdj             bool         `json:"no_max_adj"`             // conversions know no 11 % adjustment; before 3.2 (from memory)

	// MaxSkew is half of the least uncertainty margin, and 0 where the release
	// has no margins: before 5.14 (5.10.94) and from 7.1 on. From 5.18 on it can
	// be chosen when the kernel is built.
	MaxSkew Nanos `json:"max_skew_ns"`

	UnbindFile      bool `json:"unbind_file"`      // unbind_clocksource exists; 3.11 and later (from memory)
	AvailableFilter bool `json:"available_filter"` // available_clocksource leaves out what is not fit for oneshot mode; 2.6.31 and later
	CurrentBlank    bool `json:"current_blank"`    // current_clocksource ends with a blank before its newline; 2.6.24

	SwitchText    SwitchText   `json:"switch_text"`
	OverrideText  OverrideText `json:"override_text"`
	RegisterText  RegisterText `json:"register_text"`
	MessagePrefix bool         `json:"message_prefix"` // messages of the framework begin with "clocksource: "; 4.2 and later
}

// RulesAt returns the rules of an upstream or stable release. For the 2.6 line
// the patch number is the third one: RulesAt(2, 6, 24). Where the release that
// brought a change is not known exactly, the rules follow the same likeliest
// border as package watchdog.
func RulesAt(major, minor, patch int) Rules {
	v := version{major, minor, patch}
	r := Rules{
		Release:              fmt.Sprintf("%d.%d.%d", major, minor, patch),
		FilterHRES:           v.from(3, 11),
		ContinuousReference:  v.from(7, 1),
		RunsWithoutReference: v.from(7, 1),
		RatingAtOnce:         !v.from(2, 6, 31),
		UnregisteredDemoted:  v.from(4, 18),
		TSCCallback:          v.from(4, 13),
		SchedClock:           v.from(4, 13),
		HasTSCEarly:          v.from(4, 16),
		TSCValidForHRES:      v.from(4, 16) && !v.from(7, 1),
		TSCInheritsHRES:      v.from(7, 1),
		TSCNoWatchdog:        v.from(5, 4),
		TSCWatchesTimers:     v.from(6, 3) && !v.from(7, 1),
		TSCForced:            v.from(7, 1),
		TSCRecalibrate:       v.from(6, 3),
		ReselectOnGrant:      v.from(3, 11),
		VerifyPerCPU:         v.from(5, 14) && !v.from(7, 1) || v.series(5, 10, 50),
		CalibratedFlag:       v.from(7, 1),
		TestFlag:             v.from(7, 1),
		IdleBefore41:         !v.from(4, 1),
		NoMaxAdj:             !v.from(3, 2),
		MaxSkew:              v.maxSkew(),
		UnbindFile:           v.from(3, 11),
		AvailableFilter:      v.from(2, 6, 31),
		CurrentBlank:         !v.from(2, 6, 31),
		MessagePrefix:        v.from(4, 2),
	}
	v.texts(&r)
	return r
}

func (v version) texts(r *Rules) {
	r.SwitchText, r.RegisterText = SwitchInstalled, RegisterTextNone
	r.Override, r.OverrideText = OverrideAlways, OverrideTextNone
	switch {
	case v.from(3, 10):
		r.SwitchText = SwitchSwitched
	case v.from(2, 6, 31):
		r.SwitchText = SwitchSwitching
	}
	switch {
	case v.from(4, 15):
		r.Override, r.OverrideText = OverrideTwoWay, OverrideTextTwoWay
	case v.from(4, 2):
		r.Override, r.OverrideText = OverrideOnce, OverrideTextDash
	case v.from(2, 6, 31):
		r.Override, r.OverrideText = OverrideOnce, OverrideTextSentence
	}
	switch {
	case v.from(4, 2):
		r.RegisterText = RegisterTextColon
	case v.from(4, 1):
		r.RegisterText = RegisterTextBare
	}
}

func (v version) maxSkew() Nanos {
	switch {
	case v.from(7, 1):
		return 0
	case v.from(6, 3):
		return 125 * Microsecond
	case v.from(5, 17), v.series(5, 15, 17), v.series(5, 10, 94):
		return 100 * Microsecond // also 6.1.y, which never got 125
	case v.from(5, 14):
		return 50 * Microsecond
	}
	return 0
}

// margins reports whether clocks have an uncertainty margin.
func (r Rules) margins() bool { return r.MaxSkew > 0 }

// version is a release by its numbers.
type version [3]int

// from reports whether the release is not older than the given one.
func (v version) from(numbers ...int) bool {
	for i, n := range numbers {
		if v[i] != n {
			return v[i] > n
		}
	}
	return true
}

// series reports whether the release is a stable one of that series, not older than patch.
func (v version) series(major, minor, patch int) bool {
	return v[0] == major && v[1] == minor && v[2] >= patch
}
