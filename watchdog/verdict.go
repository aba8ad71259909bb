package watchdog

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
)

// Kind is what the watchdog decided at one tick about one clock.
type Kind uint8

const (
	Undecided        Kind = iota // not yet: no verdict has it
	Initialised                  // the saved pair was taken; nothing was compared
	Agreed                       // compared, and within the limit
	Skipped                      // the reference itself was slow; nothing was compared
	TooLong                      // the interval was too long to compare
	TimedOut                     // E12: no read-out was fast enough; no verdict
	RemoteTimedOut               // E12: the other CPU did not answer in time; no verdict
	NoReference                  // E12: there is no clock to compare with
	Coarse                       // the forgiving design: slow reads, compared with a coarse limit, pair forgotten
	CondemnedDelay               // reading took too long
	CondemnedSkew                // the intervals differ
	CondemnedCPUs                // E12: two CPUs read the clock out of order
	AlreadyCondemned             // nothing is checked until the clock is unlinked
)

var kindNames = [...]string{"undecided", "initialised", "agreed", "skipped", "too-long", "timed-out", "remote-timed-out", "no-reference",
	"coarse", "condemned-delay", "condemned-skew", "condemned-cpus", "already-condemned"}

// Kinds returns everything that a verdict can be.
func Kinds() []Kind {
	kinds := make([]Kind, 0, len(kindNames)-1)
	for k := Initialised; k <= AlreadyCondemned; k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// String returns the name of the kind, such as condemned-delay.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MarshalText writes the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the name of a kind.
func (k *Kind) UnmarshalText(b []byte) error {
	for i, name := range kindNames {
		if string(b) == name {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("verdict kind %q: want one of %v", b, kindNames)
}

// Condemns reports whether the kernel marks the clock unstable for it.
func (k Kind) Condemns() bool {
	return k == CondemnedDelay || k == CondemnedSkew || k == CondemnedCPUs
}

// Interval is what one clock did between two accepted read-outs.
type Interval struct {
	NS   clocksource.Nanos  `json:"ns"`
	Last clocksource.Cycles `json:"last"`
	Now  clocksource.Cycles `json:"now"`
}

// Verdict is what the watchdog decided at one tick for one clock, with its
// complete evidence. Numbers that the decision did not come to are zero:
// Attempts tells whether anything was read, Compared whether intervals were.
type Verdict struct {
	Era  Era               `json:"era"`
	Tick uint64            `json:"tick"`
	Time clocksource.Nanos `json:"time_ns"` // when the tick ran, on the machine's own time line
	CPU  int               `json:"cpu"`
	Kind Kind              `json:"kind"`

	Clock    int `json:"clock"` // index into Setup.Watched
	Attempts int `json:"attempts"`
	Allowed  int `json:"allowed_attempts"`

	Delay     clocksource.Nanos `json:"readback_delay_ns"` // reference, clock, reference: of the last attempt
	Sequence  clocksource.Nanos `json:"watchdog_delay_ns"` // reference, reference: where the era reads it
	ReadLimit clocksource.Nanos `json:"read_limit_ns"`
	SkipLimit clocksource.Nanos `json:"skip_limit_ns"`

	// CoarseReads counts the slow read-outs in a row that the forgiving design
	// let pass, this one included; MaxSkew is the read limit that a skip was raised to.
	CoarseReads int               `json:"coarse_reads,omitzero"`
	MaxSkew     clocksource.Nanos `json:"max_skew_ns,omitzero"`

	Compared  bool              `json:"compared"`
	Watched   Interval          `json:"watched"`
	Reference Interval          `json:"reference"`
	Skew      clocksource.Nanos `json:"skew_ns"` // watched minus reference
	SkewLimit clocksource.Nanos `json:"skew_limit_ns"`

	// PeerCPU and the two stamps are of E12's comparison between CPUs, the smaller stamp's CPU first.
	PeerCPU  int                `json:"peer_cpu"`
	Earlier  clocksource.Cycles `json:"earlier_cycles"`
	Later    clocksource.Cycles `json:"later_cycles"`
	EarlyCPU int                `json:"earlier_cpu"`
	LateCPU  int                `json:"later_cpu"`

	GrantsHRES bool `json:"grants_hres"` // the clock becomes valid for high resolution
	TickStable bool `json:"tick_stable"` // the current clock passed: its tick_stable callback runs
}

// PPM is the skew relative to the longer interval; false where nothing was compared.
func (v *Verdict) PPM() (clocksource.PPM, bool) {
	if !v.Compared {
		return 0, false
	}
	return clocksource.Ratio(v.Skew, max(v.Watched.NS, v.Reference.NS))
}
