package clocksource

import (
	"errors"
	"fmt"
	"slices"
)

// DefaultClock is the clock that timekeeping runs on before any is selected.
const DefaultClock = "jiffies"

// Errors of operations that the kernel refuses.
var (
	ErrInvalid    = errors.New("invalid argument")               // EINVAL
	ErrNotThere   = errors.New("no such clocksource")            // ENODEV
	ErrBusy       = errors.New("clocksource cannot be replaced") // EBUSY
	ErrNoFile     = errors.New("no such file")                   // ENOENT: the release has no such file
	ErrRegistered = errors.New("clocksource is registered already")
)

// Role is what a clock is needed for.
type Role string

const (
	RoleReference Role = "reference of the watchdog"
	RoleCurrent   Role = "current clocksource"
)

// BusyError says for what a clock is needed and not replaceable. It is an [ErrBusy].
type BusyError struct {
	Clock string
	Role  Role
}

// Error says which clock could not be taken away, and why.
func (e *BusyError) Error() string {
	return fmt.Sprintf("removing clocksource %s: it is the %s and no other clock can take its place: register another one first", e.Clock, e.Role)
}

// Unwrap returns [ErrBusy].
func (e *BusyError) Unwrap() error { return ErrBusy }

// SchedSource is what sched_clock is read from. The zero value is [SchedTSC].
type SchedSource string

const (
	// SchedTSC: the TSC itself. A verdict on it makes sched_clock unstable.
	SchedTSC SchedSource = ""
	// SchedParavirtual: a clock of the hypervisor. Verdicts on the TSC do not concern it.
	SchedParavirtual SchedSource = "paravirtual"
	// SchedNone: the architecture has no sched_clock that could be unstable. Nothing is printed.
	SchedNone SchedSource = "none"
)

// SchedClock is the state of sched_clock, as far as verdicts change it.
type SchedClock struct {
	Source   SchedSource `json:"source,omitempty"`
	Unstable bool        `json:"unstable,omitzero"`  // no longer stable, or not to be declared stable
	LateInit bool        `json:"late_init,omitzero"` // late_initcall was reached: from then on changes are announced
	Pending  bool        `json:"pending,omitzero"`   // the work item that announces them is queued
}

// Registry is the kernel's list of clocksources and everything that hangs on
// it. The zero value with Rules set is the state at power-on; [NewRegistry]
// makes one.
//
// It is a plain value. Read its fields freely and change it through its
// methods only. Methods never write into a slice that is already there: they
// replace it. So a copy made by assignment, or by [Registry.Clone], is
// independent of the original; it is not made for use by several goroutines at once.
type Registry struct {
	Rules Rules `json:"rules"`

	Sources   []Source `json:"sources,omitempty"`   // by falling rating; of equal ones the older one first
	Watched   []string `json:"watched,omitempty"`   // in the order in which a tick walks them: the latest first
	Reference string   `json:"reference,omitempty"` // the clock that the watchdog trusts; "" for none
	Current   string   `json:"current,omitempty"`   // the clock in use; "" until the boot is done
	Override  string   `json:"override,omitempty"`  // the wish: clocksource= or the last name written

	Booted  bool `json:"booted,omitzero"`  // selection is open: fs_initcall was reached
	Oneshot bool `json:"oneshot,omitzero"` // the tick layer is in oneshot mode
	Running bool `json:"running,omitzero"` // the watchdog's timer is armed

	TSCMarked     bool       `json:"tsc_marked,omitzero"`     // the TSC's driver was told, or said itself, that it is unstable
	ThreadPending bool       `json:"thread_pending,omitzero"` // the thread was woken and has not run
	MarginWarned  bool       `json:"margin_warned,omitzero"`  // the warning of too small a margin was printed, once per boot
	Sched         SchedClock `json:"sched_clock,omitzero"`
	Condemned     []string   `json:"condemned,omitempty"` // clocks that were condemned while they were not registered
}

// NewRegistry returns a registry of a kernel that has just started.
func NewRegistry(r Rules) Registry { return Registry{Rules: r} }

// Clone returns a copy that shares nothing with the original.
func (r Registry) Clone() Registry {
	r.Sources = slices.Clone(r.Sources)
	r.Watched = slices.Clone(r.Watched)
	r.Condemned = slices.Clone(r.Condemned)
	return r
}

// Source returns the registered clock of that name.
func (r *Registry) Source(name string) (Source, bool) {
	if i := r.index(name); i >= 0 {
		return r.Sources[i], true
	}
	return Source{}, false
}

// index returns where the named clock stands in the list, or -1.
func (r *Registry) index(name string) int {
	for i := range r.Sources {
		if r.Sources[i].Name == name {
			return i
		}
	}
	return -1
}

// flags returns the flags of the named clock, 0 where it is not registered.
func (r *Registry) flags(name string) Flags {
	if i := r.index(name); i >= 0 {
		return r.Sources[i].Flags
	}
	return 0
}

// setFlags changes flags of a registered clock and reports whether that made a difference.
func (r *Registry) setFlags(i int, set, clear Flags) bool {
	now := r.Sources[i].Flags&^clear | set
	if now == r.Sources[i].Flags {
		return false
	}
	r.Sources = slices.Clone(r.Sources)
	r.Sources[i].Flags = now
	return true
}

// Register adds a clock: it computes conversion and margin, puts the clock
// into its place, and looks for a better current clock and a better reference.
// A clock that was condemned before it was registered comes in condemned.
func (r *Registry) Register(s Source) ([]Effect, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if r.index(s.Name) >= 0 {
		return nil, fmt.Errorf("registering clocksource %s: %w: unregister it first", s.Name, ErrRegistered)
	}
	s.convert(r.Rules)
	effects := r.announce(s, false)
	if i := slices.Index(r.Condemned, s.Name); i >= 0 {
		r.Condemned = without(r.Condemned, s.Name)
		s.Flags = s.Flags&^(ValidForHRES|Watchdog) | Unstable
		if r.Rules.UnregisteredDemoted || isTSC(s.Name) {
			s.Rating = 0
		}
	}
	if s.Flags.Has(MustVerify) {
		s.Flags &^= Watchdog
	} else if s.Flags.Has(IsContinuous) {
		s.Flags |= ValidForHRES
	}
	r.insert(s)
	if s.Flags.Has(MustVerify) {
		effects = append(effects, r.watch(s.Name))
	}
	effects = append(effects, r.selectBest(false)...)
	return append(effects, r.chooseReference(false)...), nil
}

// announce returns the registration line and the warnings that go with it.
func (r *Registry) announce(s Source, again bool) []Effect {
	var effects []Effect
	if r.Rules.margins() && s.Margin < 2*r.Rules.MaxSkew && !r.MarginWarned {
		r.MarginWarned = true
		effects = append(effects, Effect{Kind: EffectMarginTooSmall, Clock: s.Name, Margin: s.Margin})
	}
	if s.Conversion.MaxAdj > 0 && s.Conversion.MightOverflow() {
		effects = append(effects, Effect{Kind: EffectOverflowDanger, Clock: s.Name})
	}
	return append(effects, Effect{
		Kind: EffectRegistered, Clock: s.Name, Mask: s.Mask, Again: again,
		MaxCycles: s.Conversion.MaxCycles, MaxIdle: s.Conversion.MaxIdle, Margin: s.Margin,
	})
}

// insert puts the source behind those of the same or a higher rating.
func (r *Registry) insert(s Source) {
	at := 0
	for i := range r.Sources {
		if r.Sources[i].Rating < s.Rating {
			break
		}
		at = i + 1
	}
	list := make([]Source, 0, len(r.Sources)+1)
	list = append(list, r.Sources[:at]...)
	list = append(list, s)
	r.Sources = append(list, r.Sources[at:]...)
}

// remove takes the source at i out of the list.
func (r *Registry) remove(i int) Source {
	s := r.Sources[i]
	r.Sources = slices.Concat(r.Sources[:i], r.Sources[i+1:])
	return s
}

// watch puts a clock at the head of the watched ones.
func (r *Registry) watch(name string) Effect {
	r.Watched = append([]string{name}, r.Watched...)
	return Effect{Kind: EffectWatched, Clock: name}
}

// unwatch takes a clock from the watched ones, if it is one.
func (r *Registry) unwatch(name string) []Effect {
	if !slices.Contains(r.Watched, name) {
		return nil
	}
	r.Watched = without(r.Watched, name)
	return []Effect{{Kind: EffectUnwatched, Clock: name}}
}

// startTimer arms the timer where it is needed and not armed.
func (r *Registry) startTimer() []Effect {
	if r.Running || len(r.Watched) == 0 || r.Reference == "" && !r.Rules.RunsWithoutReference {
		return nil
	}
	r.Running = true
	return []Effect{{Kind: EffectTimerStarted}}
}

// stopTimer stops the timer where nothing is left for it to do.
func (r *Registry) stopTimer() []Effect {
	needed := len(r.Watched) > 0 && (r.Reference != "" || r.Rules.RunsWithoutReference)
	if !r.Running || needed {
		return nil
	}
	r.Running = false
	return []Effect{{Kind: EffectTimerStopped}}
}

// UpdateFrequency gives a registered clock another frequency, freq*scale Hz.
// The registration line is printed again; rating, place and margin stay.
func (r *Registry) UpdateFrequency(name string, freq uint32, scale Scale) ([]Effect, error) {
	i := r.index(name)
	if i < 0 {
		return nil, fmt.Errorf("changing the frequency of clocksource %s: %w: register it first", name, ErrNotThere)
	}
	s := r.Sources[i]
	if err := registrable(freq, scale, s.Mask); err != nil {
		return nil, fmt.Errorf("changing the frequency of clocksource %s: %w", name, err)
	}
	s.Freq, s.Scale = freq, scale
	s.convert(r.Rules)
	r.Sources = slices.Clone(r.Sources)
	r.Sources[i] = s
	return r.announce(s, true), nil
}

// ChangeRating gives a registered clock another rating, as a driver may, and
// looks for a better current clock and a better reference.
func (r *Registry) ChangeRating(name string, rating int) ([]Effect, error) {
	i := r.index(name)
	if i < 0 {
		return nil, fmt.Errorf("changing the rating of clocksource %s: %w: register it first", name, ErrNotThere)
	}
	effects := r.rate(i, rating)
	effects = append(effects, r.selectBest(false)...)
	return append(effects, r.chooseReference(false)...), nil
}

// rate gives the source at i another rating and its new place.
func (r *Registry) rate(i, rating int) []Effect {
	s := r.remove(i)
	old := s.Rating
	s.Rating = rating
	r.insert(s)
	return []Effect{{Kind: EffectRatingChanged, Clock: s.Name, Rating: rating, OldRating: old}}
}

// Unregister removes a clock and returns it as it was at the end, so that it
// can be registered again with the flags it had or, as the kernel's own test
// does, with fresh ones. It fails with a [BusyError] where the clock is the
// reference or current and nothing can take its place; what was replaced
// until then stays replaced, as the effects tell. A clock that is not registered is no
// error, as in the kernel: the returned source is empty.
func (r *Registry) Unregister(name string) (Source, []Effect, error) {
	if r.index(name) < 0 {
		return Source{}, nil, nil
	}
	var effects []Effect
	if r.Reference == name {
		effects = append(effects, r.chooseReference(true)...)
		if r.Reference == name {
			return Source{}, effects, &BusyError{Clock: name, Role: RoleReference}
		}
	}
	if r.Current == name {
		effects = append(effects, r.selectBest(true)...)
		if r.Current == name {
			return Source{}, effects, &BusyError{Clock: name, Role: RoleCurrent}
		}
	}
	s := r.remove(r.index(name))
	effects = append(effects, r.unwatch(name)...)
	effects = append(effects, r.stopTimer()...)
	return s, append(effects, Effect{Kind: EffectUnregistered, Clock: name}), nil
}

// ReplaceTSC does what the TSC's driver does once the frequency is final: it
// registers tsc, unless the TSC was marked unstable meanwhile, and unregisters
// tsc-early in either case. Give it what [Rules.TSC] returns.
func (r *Registry) ReplaceTSC(tsc Source) ([]Effect, error) {
	var effects []Effect
	if !r.TSCMarked {
		if r.Rules.TSCInheritsHRES && r.flags("tsc-early").Has(ValidForHRES) {
			tsc.Flags |= ValidForHRES
		}
		registered, err := r.Register(tsc)
		if err != nil {
			return nil, fmt.Errorf("replacing tsc-early: %w", err)
		}
		effects = registered
	}
	_, more, err := r.Unregister("tsc-early")
	return append(effects, more...), err
}

// without returns a copy of the list that lacks the name; nil where nothing is left.
func without(list []string, name string) []string {
	var rest []string
	for _, s := range list {
		if s != name {
			rest = append(rest, s)
		}
	}
	return rest
}

// isTSC reports whether the TSC's driver owns the clock.
func isTSC(name string) bool { return name == "tsc" || name == "tsc-early" }
