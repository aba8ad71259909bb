package clocksource

// EffectKind names one thing that an operation on a [Registry] did. Operations
// return their effects in the order in which a kernel does them.
type EffectKind string

// What a kernel's log shows.
const (
	EffectRegistered       EffectKind = "registered"           // Clock with its Mask, MaxCycles and MaxIdle; Again after a change of frequency
	EffectOverflowDanger   EffectKind = "overflow-danger"      // an 11 % adjustment of the mult of Clock might overflow
	EffectMarginTooSmall   EffectKind = "margin-too-small"     // the Margin of Clock is below twice the skew limit; once per boot
	EffectSwitched         EffectKind = "switched"             // Clock is current now, and Other was before
	EffectOverrideRefused  EffectKind = "override-refused"     // the wish for Clock was refused and forgotten
	EffectOverrideDeferred EffectKind = "override-deferred"    // the wish for Clock is kept until it can be granted
	EffectTSCMarked        EffectKind = "tsc-marked"           // the TSC's driver says that it is unstable, due to Reason
	EffectSchedStable      EffectKind = "sched-clock-stable"   // sched_clock is declared stable, at the end of the boot
	EffectSchedUnstable    EffectKind = "sched-clock-unstable" // two lines: "TSC found unstable after boot", and the four numbers of sched_clock
	EffectTSCOption        EffectKind = "tsc-option"           // two words of tsc= contradict each other: Reason says which counts
	EffectTSCDiffers       EffectKind = "tsc-differs"          // a timer measured another frequency than the processor says
	EffectTSCPrevious      EffectKind = "tsc-previous"         // the Frequency that the processor says
	EffectTSCRecalibrated  EffectKind = "tsc-recalibrated"     // the Frequency that the timer Clock measured
	EffectVerifyNeeded     EffectKind = "verify-needed"        // the CPUs of Clock are to be compared now, which prints what it finds
)

// What only timers, work items and later operations see.
const (
	EffectUnregistered     EffectKind = "unregistered"       // Clock is gone
	EffectWatched          EffectKind = "watched"            // Clock joined the watched ones
	EffectUnwatched        EffectKind = "unwatched"          // Clock left them
	EffectReferenceChanged EffectKind = "reference-changed"  // Clock is the reference now, and Other was before; all saved pairs are void
	EffectTimerStarted     EffectKind = "timer-started"      // the watchdog's timer is armed, half a second ahead
	EffectTimerStopped     EffectKind = "timer-stopped"      // nothing is left to watch
	EffectHRESGranted      EffectKind = "hres-granted"       // Clock is fit for oneshot mode now
	EffectTickNotified     EffectKind = "tick-notified"      // the tick layer is told to look whether oneshot mode is possible
	EffectMarkedUnstable   EffectKind = "marked-unstable"    // Clock is condemned, due to Reason
	EffectSchedNeeded      EffectKind = "sched-clock-needed" // a work item is queued: call RunSchedClock
	EffectThreadNeeded     EffectKind = "thread-needed"      // a thread is woken: call RunThread
	EffectRatingChanged    EffectKind = "rating-changed"     // Clock has Rating now, and had OldRating
)

// EffectKinds returns every kind, those that a log shows first.
func EffectKinds() []EffectKind {
	return []EffectKind{
		EffectRegistered, EffectOverflowDanger, EffectMarginTooSmall, EffectSwitched, EffectOverrideRefused,
		EffectOverrideDeferred, EffectTSCMarked, EffectSchedStable, EffectSchedUnstable,
		EffectTSCOption, EffectTSCDiffers, EffectTSCPrevious, EffectTSCRecalibrated, EffectVerifyNeeded,
		EffectUnregistered, EffectWatched, EffectUnwatched, EffectReferenceChanged, EffectTimerStarted,
		EffectTimerStopped, EffectHRESGranted, EffectTickNotified, EffectMarkedUnstable, EffectSchedNeeded,
		EffectThreadNeeded, EffectRatingChanged,
	}
}

// Visible reports whether some kernel prints something for an effect of this
// kind. Registrations are printed from 4.1 on only: see [Rules.RegisterText].
func (k EffectKind) Visible() bool {
	switch k {
	case EffectRegistered, EffectOverflowDanger, EffectMarginTooSmall, EffectSwitched, EffectOverrideRefused,
		EffectOverrideDeferred, EffectTSCMarked, EffectSchedStable, EffectSchedUnstable,
		EffectTSCOption, EffectTSCDiffers, EffectTSCPrevious, EffectTSCRecalibrated, EffectVerifyNeeded:
		return true
	}
	return false
}

// Effect is one thing that an operation did. It carries what a log line or a
// timer needs; which words a release prints for it is [Rules] and package klog's.
type Effect struct {
	Kind   EffectKind `json:"kind"`
	Clock  string     `json:"clock,omitempty"`
	Other  string     `json:"other,omitempty"`  // the clock before, "" where there was none
	Reason string     `json:"reason,omitempty"` // [ReasonWatchdog], or what was given

	Mask      Mask   `json:"mask,omitzero"`
	MaxCycles Cycles `json:"max_cycles,omitzero"`
	MaxIdle   Nanos  `json:"max_idle_ns,omitzero"`
	Again     bool   `json:"again,omitzero"`
	Margin    Nanos  `json:"margin_ns,omitzero"`
	Rating    int    `json:"rating,omitzero"`
	OldRating int    `json:"old_rating,omitzero"`
	Frequency Hz     `json:"frequency_hz,omitzero"`
}

// ReasonWatchdog is the reason that kernels print for a TSC that the watchdog condemned.
const ReasonWatchdog = "clocksource watchdog"

// Visible returns the effects that a log shows, in their order.
func Visible(effects []Effect) []Effect {
	var seen []Effect
	for _, e := range effects {
		if e.Kind.Visible() {
			seen = append(seen, e)
		}
	}
	return seen
}
