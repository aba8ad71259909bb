package watchdog

import (
	"fmt"
	"math/bits"

	"github.com/cswatch/cswatch/clocksource"
)

// ReadPattern is which clocks one attempt reads, in which order.
type ReadPattern string

const (
	ReadSharedReference ReadPattern = "wd once a tick, then each cs"
	ReadClockFirst      ReadPattern = "cs,wd"
	ReadThree           ReadPattern = "wd,cs,wd"
	ReadFour            ReadPattern = "wd,cs,wd,wd"
)

// References returns how often one attempt reads the reference: from 2 on the
// watchdog measures how long the read-back took, from 3 on also how long the
// reference took against itself.
func (p ReadPattern) References() int {
	switch p {
	case ReadFour:
		return 3
	case ReadThree:
		return 2
	}
	return 1
}

// Action is what a watchdog does in answer to a read-back.
type Action string

const (
	ActNothing         Action = ""                   // the era has no such rule
	ActCondemn         Action = "condemn"            // the clock is marked unstable
	ActKeepReference   Action = "keep-reference"     // skip the clock; the old saved pair ages
	ActSuspend         Action = "reset-all+300s"     // forget all saved pairs, stop the walk, check again in five minutes
	ActForgetReference Action = "forget-reference"   // drop the saved pair of this clock; no verdict
	ActCoarse          Action = "coarse-then-forget" // compare once with a coarse limit, then forget
)

// Limit is a bound on a time: a fixed part and multiples of the uncertainty
// margins of both clocks. The zero value is "no limit".
type Limit struct {
	Fixed     clocksource.Nanos `json:"fixed_ns,omitzero"`
	Reference int               `json:"reference_margins,omitzero"` // times the margin of the reference
	Clock     int               `json:"clock_margins,omitzero"`     // times the margin of the watched clock
}

// Set reports whether there is a limit.
func (l Limit) Set() bool { return l != Limit{} }

// At returns the limit in nanoseconds for the margins of both clocks, and false where there is none.
func (l Limit) At(reference, clock clocksource.Nanos) (clocksource.Nanos, bool) {
	return l.Fixed + clocksource.Nanos(l.Reference)*reference + clocksource.Nanos(l.Clock)*clock, l.Set()
}

// SkewRule is how far both intervals may differ.
type SkewRule struct {
	Limit Limit `json:"limit,omitzero"` // eras E0 to E11
	// Inclusive condemns at the limit itself (E0), all later eras above it.
	Inclusive bool `json:"inclusive,omitzero"`
	// CalibratedShift and Shift make the limit a share of the longer interval,
	// 1/2^shift, plus the time that the read-out took (E12).
	CalibratedShift uint `json:"calibrated_shift,omitzero"`
	Shift           uint `json:"shift,omitzero"`
}

// VerifyRule is the cross-CPU check after a verdict on the current clock. It informs only.
type VerifyRule struct {
	CPUs       string `json:"cpus"`                      // none, all or chosen
	Default    int    `json:"default,omitzero"`          // how many are chosen
	AllIfFew   bool   `json:"all_if_few,omitzero"`       // all of them where as many are online as would be chosen, or fewer
	Uniform    bool   `json:"uniform_draw,omitzero"`     // every online CPU is drawn alike, not by a random id
	Info       bool   `json:"info_level,omitzero"`       // the line is of level info, not warning
	Durations  bool   `json:"always_durations,omitzero"` // the durations are printed even if all CPUs agree
	ListsPeers bool   `json:"lists_peers,omitzero"`      // the line names the checked CPUs
}

// RemoteRule is the cross-CPU comparison that E12 makes in every tick.
type RemoteRule struct {
	Reads       int               `json:"reads"`           // on each side
	Timeout     clocksource.Nanos `json:"timeout_ns"`      // where there is one node
	PerDistance clocksource.Nanos `json:"per_distance_ns"` // times the distance of the nodes
	MaxTimeout  clocksource.Nanos `json:"max_timeout_ns"`
}

// TextRule is what an era's messages look like. It tells a reader of logs
// which lines to expect; the formats themselves are in package klog.
type TextRule struct {
	Skew           string `json:"skew"`                     // delta, header, header-cpu or frequency
	Prefix         bool   `json:"prefix,omitzero"`          // messages begin with "clocksource: ", 4.2 and later
	Nanoseconds    bool   `json:"nanoseconds,omitzero"`     // the lines of both clocks carry wd_nsec and cs_nsec
	SkewedLine     bool   `json:"skewed_line,omitzero"`     // "skewed N ns over watchdog"
	UnsignedMS     bool   `json:"unsigned_ms,omitzero"`     // ... whose ms of a negative skew is a huge number
	Delay          string `json:"delay,omitempty"`          // "", attempt or excessive
	RetriedStrict  bool   `json:"retried_strict,omitzero"`  // the retry line needs n > 1 and n >= retries, not one of them
	PrintsConstant bool   `json:"prints_constant,omitzero"` // the printed limit is MaxSkew, not the limit in force
}

// Profile is an era as data.
type Profile struct {
	Era      Era    `json:"era"`
	Releases string `json:"releases"`

	Read             ReadPattern       `json:"read"`
	Retries          int               `json:"retries"`               // default; attempts are one more
	AutoRetries      bool              `json:"auto_retries"`          // by the number of online CPUs instead
	RetriesLog2      bool              `json:"retries_log2,omitzero"` // ... by its whole binary logarithm, a design
	RetriesParameter bool              `json:"retries_parameter"`     // clocksource.max_cswd_read_retries exists
	VerifyParameter  bool              `json:"verify_parameter"`      // clocksource.verify_n_cpus exists
	ReadLimit        Limit             `json:"read_limit,omitzero"`   // accept an attempt whose wd-cs-wd delay is not above
	SkipLimit        Limit             `json:"skip_limit,omitzero"`   // skip where the wd-wd delay is above
	OnSlow           Action            `json:"on_slow,omitempty"`     // all attempts were above ReadLimit
	CoarseReads      int               `json:"coarse_reads,omitzero"` // ActCoarse: a warning after so many slow read-outs in a row
	Adapt            Adaptation        `json:"adapt,omitempty"`       // how a design's limits follow the delays
	OnSkip           Action            `json:"on_skip,omitempty"`     // the reference itself was slow
	Skew             SkewRule          `json:"skew"`                  //
	MaxSkew          clocksource.Nanos `json:"max_skew_ns"`           // S: default margins are twice this; 0 where there are no margins
	Configurable     bool              `json:"configurable"`          // S can be set when the kernel is built, 50 to 1000 us

	// LongInterval is above which interval no check is made; 0 where every one is checked, however late.
	LongInterval clocksource.Nanos `json:"long_interval_ns,omitzero"`
	// LongByMaxIdle takes the max_idle_ns of both clocks instead (E12).
	LongByMaxIdle bool `json:"long_by_max_idle,omitzero"`

	Rotate        bool `json:"rotate"`                   // each check runs on the next CPU
	ExpiryFromNow bool `json:"expiry_from_now,omitzero"` // a late run is not caught up (7.3.4)
	ResetOnce     bool `json:"reset_once,omitzero"`      // resumes between two ticks are one reset (E0, E1), not counted
	HRESAtInit    bool `json:"hres_at_init,omitzero"`    // high resolution is granted before the first comparison (E0)
	RatingAtOnce  bool `json:"rating_at_once,omitzero"`  // the rating drops in the check itself, without a thread (E0)
	TickStable    bool `json:"tick_stable,omitzero"`     // a good check of the current clock calls its tick_stable callback (about 4.13 and later)

	Verify VerifyRule `json:"verify"`
	Remote RemoteRule `json:"remote,omitzero"`

	DeltaX86   clocksource.DeltaRule  `json:"delta_x86"`
	DeltaOther clocksource.DeltaRule  `json:"delta_other"`
	Arithmetic clocksource.Arithmetic `json:"-"`

	Text TextRule `json:"text"`
}

// CheckInterval is the time from check to check in all eras: half a second.
const CheckInterval = clocksource.NanosPerSecond / 2

// SuspendTime is how long E7 and later do not check after a skip.
const SuspendTime = 300 * clocksource.NanosPerSecond

// Attempts returns how often one check reads at most. cpus is the number of
// online CPUs; parameter is the value of max_cswd_read_retries, or negative
// for the default, and counts only where the era has that parameter.
func (p Profile) Attempts(cpus, parameter int) int {
	switch {
	case p.RetriesParameter && parameter >= 0:
		return parameter + 1
	case p.RetriesLog2:
		return bits.Len(uint(max(cpus, 1))) + 1 // ilog2, plus one, plus the first attempt
	case p.AutoRetries:
		return clocksource.AutoRetries(cpus) + 1
	}
	return p.Retries + 1
}

// Margin returns the default uncertainty margin of a clock in this era, for a
// driver that gives none, and 0 where the era has no margins.
func (p Profile) Margin(name string, freq uint32, scale clocksource.Scale) clocksource.Nanos {
	if p.MaxSkew == 0 || !p.usesMargins() {
		return 0
	}
	return clocksource.MarginFor(name, freq, scale, p.MaxSkew)
}

func (p Profile) usesMargins() bool {
	return p.Skew.Limit.Reference > 0 || p.Skew.Limit.Clock > 0
}

// ReadLimitFor returns the read limit for a TSC and an HPET with default
// margins, and false where the era has none.
func (p Profile) ReadLimitFor() (clocksource.Nanos, bool) {
	return p.ReadLimit.At(2*p.MaxSkew, 2*p.MaxSkew)
}

// SkewLimit returns how far two intervals may differ: reference and clock are
// the margins, longer is the longer interval and readout the time that the
// reading took. The last two count only from E12 on.
func (p Profile) SkewLimit(reference, clock, longer, readout clocksource.Nanos, calibrated bool) clocksource.Nanos {
	if p.Skew.Shift > 0 {
		shift := p.Skew.Shift
		if calibrated {
			shift = p.Skew.CalibratedShift
		}
		return longer>>shift + readout
	}
	limit, _ := p.Skew.Limit.At(reference, clock)
	return limit
}

// SkewText says the skew limit in words, for a TSC against an HPET.
func (p Profile) SkewText() string {
	if p.Skew.Shift > 0 {
		return fmt.Sprintf("%d ppm of the interval for calibrated clocks, %d ppm otherwise, plus the read-out time",
			1_000_000>>p.Skew.CalibratedShift, 1_000_000>>p.Skew.Shift)
	}
	limit, _ := p.Skew.Limit.At(2*p.MaxSkew, 2*p.MaxSkew)
	how := "more than"
	if p.Skew.Inclusive {
		how = "at least"
	}
	if p.usesMargins() {
		return fmt.Sprintf("%s %d us, however long the interval", how, limit/clocksource.Microsecond)
	}
	return fmt.Sprintf("%s %.1f ms, however long the interval", how, float64(limit)/float64(clocksource.Millisecond))
}

// LatencyCondemns reports whether reads that are slow, and nothing else, can
// make this era mark a clock unstable: E5 to E11 and their variants.
func (p Profile) LatencyCondemns() bool { return p.OnSlow == ActCondemn }

// SkipsLongIntervals reports whether the era draws no conclusion from a check that came late.
func (p Profile) SkipsLongIntervals() bool { return p.LongInterval > 0 || p.LongByMaxIdle }

// RemoteTimeout returns how long the cross-CPU comparison of E12 waits for a
// CPU on a node at that distance; distance 0 means that there is one node.
func (p Profile) RemoteTimeout(distance int) clocksource.Nanos {
	if distance <= 0 || p.Remote.PerDistance == 0 {
		return p.Remote.Timeout
	}
	// No distance table holds more than 255.
	return min(p.Remote.PerDistance*clocksource.Nanos(min(distance, 255)), p.Remote.MaxTimeout)
}
