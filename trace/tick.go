package trace

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// Tick is one expiry of the recorder's timer: what was read, whatever came of it.
type Tick struct {
	Seq uint64 `json:"tick"`
	// Scheduled is when the timer was due and At when it ran, in nanoseconds of the source's own time line.
	Scheduled clocksource.Nanos `json:"scheduled_ns"`
	At        clocksource.Nanos `json:"at_ns"`
	CPU       int               `json:"cpu"` // the CPU in turn, of Reads
	// Resets is how often since the tick before the machine woke from sleep or
	// somebody touched the watchdog; each asks for one tick that takes new pairs.
	Resets int `json:"resets,omitzero"`
	// Online is which CPUs are online, if not those of the header.
	Online CPUSet `json:"online,omitzero"`
	// Reads are the read-backs on the CPU in turn in the order in which they were
	// taken, for each watched clock of the header.
	Reads [][]ReadBack `json:"reads"`
	// Boot are those of the boot CPU, taken behind Reads. It is empty where the
	// boot CPU is in turn, and where nobody read there.
	Boot [][]ReadBack `json:"boot,omitzero"`
	// Exchanges compare CPUs, at most once for each watched clock.
	Exchanges []Exchange `json:"exchanges,omitzero"`
}

// ReadBack is one attempt, as raw values of the counters, and why it was late.
type ReadBack struct {
	watchdog.ReadBack
	Late Cause `json:"late,omitzero"`
}

// Cause is why a read-back was late, as far as the recorder could tell.
type Cause uint8

// The causes.
const (
	NotLate     Cause = iota // it was not, or nobody looked
	Preempted                // the reading thread lost its CPU
	Interrupted              // it did not, and the CPU served interrupts
	Unexplained              // neither: the bus, the firmware, a hypervisor
)

// Causes returns all causes of a late read-back.
func Causes() []Cause { return []Cause{Preempted, Interrupted, Unexplained} }

// String returns the cause in a word, "" for none.
func (c Cause) String() string {
	switch c {
	case NotLate:
		return ""
	case Preempted:
		return "preempted"
	case Interrupted:
		return "interrupted"
	case Unexplained:
		return "unexplained"
	}
	return fmt.Sprintf("Cause(%d)", uint8(c))
}

// MarshalText writes the word.
func (c Cause) MarshalText() ([]byte, error) {
	if c > Unexplained {
		return nil, fmt.Errorf("late-read cause %d: want 0 to %d", uint8(c), Unexplained)
	}
	return []byte(c.String()), nil
}

// UnmarshalText reads the word.
func (c *Cause) UnmarshalText(b []byte) error {
	for k := NotLate; k <= Unexplained; k++ {
		if string(b) == k.String() {
			*c = k
			return nil
		}
	}
	return fmt.Errorf("late-read cause %q: want preempted, interrupted or unexplained", clip(string(b)))
}

// maxStamps is how many stamps an exchange holds.
const maxStamps = len(watchdog.Exchange{}.Stamps)

// Exchange is one comparison of a clock between two CPUs, and how it was made.
type Exchange struct {
	watchdog.Exchange
	Clock int `json:"clock"` // index into Header.Watched
	CPU   int `json:"cpu"`   // the control side, of the first stamp
	Peer  int `json:"peer_cpu"`
	// Waited is how long it took, 0 where nobody measured it.
	Waited clocksource.Nanos `json:"waited_ns,omitzero"`
	// Limit is the time-out that the recorder kept to, 0 for none.
	Limit clocksource.Nanos `json:"limit_ns,omitzero"`
}

// maxInstant bounds instants, so that sums of them do not overflow: 73 years.
const maxInstant = 1 << 61

// maxResets bounds Tick.Resets.
const maxResets = 255

// Validate reports the first fault of a tick of a recording with that header.
func (t *Tick) Validate(h *Header) error {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("tick %d of a recording: "+format, append([]any{t.Seq}, args...)...)
	}
	for _, at := range [...]clocksource.Nanos{t.Scheduled, t.At} {
		if at < -maxInstant || at > maxInstant {
			return fault("instant %d ns, want %d or less", at, int64(maxInstant))
		}
	}
	if t.CPU < 0 || t.CPU > MaxCPU || t.Resets < 0 || t.Resets > maxResets {
		return fault("CPU %d with %d resets, want 0 to %d with 0 to %d", t.CPU, t.Resets, MaxCPU, maxResets)
	}
	if err := t.Online.validate(); err != nil {
		return fault("%w", err)
	}
	if len(t.Reads) != len(h.Watched) || len(t.Boot) != 0 && len(t.Boot) != len(h.Watched) {
		return fault("read-backs of %d clocks, and of %d on the boot CPU, want %d", len(t.Reads), len(t.Boot), len(h.Watched))
	}
	for _, group := range [...][][]ReadBack{t.Reads, t.Boot} {
		for i, series := range group {
			if len(series) > h.ReadBacks {
				return fault("%d read-backs of clock %d, want %d or fewer", len(series), i, h.ReadBacks)
			}
			for _, rb := range series {
				if rb.Late > Unexplained {
					return fault("late-read cause %d, want 0 to %d", rb.Late, Unexplained)
				}
			}
		}
	}
	if len(t.Exchanges) > len(h.Watched) {
		return fault("%d exchanges, want one for each of %d clocks or fewer", len(t.Exchanges), len(h.Watched))
	}
	for i := range t.Exchanges {
		if err := t.Exchanges[i].validate(h); err != nil {
			return fault("%w", err)
		}
	}
	return nil
}

func (x *Exchange) validate(h *Header) error {
	if x.Clock < 0 || x.Clock >= len(h.Watched) || x.CPU < 0 || x.CPU > MaxCPU || x.Peer < 0 || x.Peer > MaxCPU {
		return fmt.Errorf("exchange of clock %d between CPU %d and CPU %d: want a watched clock and CPUs up to %d", x.Clock, x.CPU, x.Peer, MaxCPU)
	}
	if x.Count < 0 || x.Count > maxStamps || x.Waited < 0 || x.Limit < 0 {
		return fmt.Errorf("exchange of %d stamps that took %d ns of %d: want %d stamps or fewer and no negative time", x.Count, x.Waited, x.Limit, maxStamps)
	}
	for _, s := range x.Stamps[x.Count:] {
		if s != 0 {
			return fmt.Errorf("exchange of %d stamps: a stamp behind the last one is not 0", x.Count)
		}
	}
	return nil
}

// online returns the CPUs that are online at a tick.
func (t *Tick) online(h *Header) *CPUSet {
	if len(t.Online) > 0 {
		return &t.Online
	}
	return &h.Online
}

// exchange returns the comparison of a clock, nil if there is none.
func (t *Tick) exchange(clock int) *Exchange {
	for i := range t.Exchanges {
		if t.Exchanges[i].Clock == clock {
			return &t.Exchanges[i]
		}
	}
	return nil
}
