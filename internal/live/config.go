package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// MaxRetries bounds the retries of a watch: a tick holds at most hw.MaxReadBacks read-backs.
const MaxRetries = hw.MaxReadBacks - 1

// Reader takes read-backs on the calling thread, as [hw.Reader] does.
type Reader interface {
	ReadBack(rb *hw.ReadBack) error
	Reference() hw.Counter
}

// Stream takes the read-backs of a plan at a pace of its own, as [hw.Stream] does.
// The ACPI PM timer is read by a child process alone, which sends them.
type Stream interface {
	Run(ctx context.Context, each func(*hw.Tick) error) error
	Reference() hw.Counter
}

// World is what a watch needs of the machine beside its reference.
type World interface {
	// Now is the time of CLOCK_MONOTONIC and Slept how long the machine was suspended since it was booted.
	Now() clocksource.Nanos
	Slept() clocksource.Nanos
	// Sleep waits until that time of Now, and fails where the context ends first.
	Sleep(ctx context.Context, until clocksource.Nanos) error
	// CPUs are those that the process may use, ascending, and On runs f on one of them.
	CPUs() ([]int, error)
	On(cpu int, f func()) error
	// Usage is what has happened to the calling thread and on that CPU so far.
	Usage(cpu int) hw.Usage
	// Exchange compares the counters of two CPUs.
	Exchange(control, remote int, timeout clocksource.Nanos) (hw.Exchange, error)
	// ReadRemote reads the counter on one CPU, on the other, and on the first again. With an
	// error the remote value is the first one.
	ReadRemote(control, remote int) (before, there, after clocksource.Cycles, err error)
}

// Config is what a watch does. The header tells the clocks, the CPUs and the
// timer, as in a recording; its one watched clock is the processor's counter.
type Config struct {
	Profile watchdog.Profile
	Retries int // max_cswd_read_retries, which counts in eras that have it; negative for the era's default
	Header  trace.Header
	Ticks   int // how many; 0: until the context ends
	// Rhythm is of the ticks. The first of a burst is as the first one after a boot.
	Rhythm hw.Rhythm
	// From is where another watch ended.
	From Place
	// Record takes the recording; nil for none. Its header has to be Header.
	Record *trace.Writer
	// NoExchange leaves out the comparison of two CPUs in eras that make none.
	NoExchange bool
	// Anew goes on where a kernel would not: a clock that was condemned, or is left alone
	// for minutes after a skip, is watched from the next tick on as after a boot.
	Anew bool
	// AcceptLosingTSC allows more attempts over HPET and ACPI PM timer than hw.DefaultReadBacks.
	AcceptLosingTSC bool
}

// Place is how far a watch went around the CPUs. The zero value is the first CPU.
type Place struct {
	Turn int // the CPU of the next tick, in eras that rotate
	Peer int // the CPU that was compared last, where the era compares none itself
}

// Loads reports whether the watch may read a reference that the kernel may be using faster than
// a watchdog does: with more attempts in a row than hw.DefaultReadBacks, just when it is slow.
func (c *Config) Loads() bool {
	return gentle(c.Header.Reference.Name) && c.Profile.Attempts(c.Header.Online.Count(), c.Retries) > hw.DefaultReadBacks
}

// Validate reports everything that is wrong with the configuration, joined.
func (c *Config) Validate() error {
	var wrong []error
	add := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("watch live counters: "+format, args...))
	}
	if err := c.Header.Validate(); err != nil {
		wrong = append(wrong, err)
	}
	if len(c.Header.Watched) != 1 {
		add("%d watched clocks, want one: the processor's counter", len(c.Header.Watched))
	}
	if c.Header.Reference.Name == "" {
		add("no reference")
	}
	if c.Retries > MaxRetries {
		add("%d retries, at most %d are possible", c.Retries, MaxRetries)
	}
	if c.Ticks < 0 {
		add("%d ticks", c.Ticks)
	}
	if err := c.Rhythm.Validate(time.Duration(c.Header.Interval)); err != nil {
		add("%w", err)
	}
	if c.Rhythm.Burst > 0 && c.Record != nil {
		add("a recording has no pauses")
	}
	if gentle(c.Header.Reference.Name) {
		if c.Header.Interval < clocksource.Nanos(hw.Pace) {
			add("an interval of %d ns: %s is not read faster than every %v", c.Header.Interval, c.Header.Reference.Name, hw.Pace)
		}
		if c.Loads() && !c.AcceptLosingTSC {
			wrong = append(wrong, fmt.Errorf("watch live counters: %d attempts in a row over %s, whenever it is slow: this %w, and the latency that it makes can cost a kernel its TSC until the next boot: ask for %d retries or fewer",
				c.Profile.Attempts(c.Header.Online.Count(), c.Retries), c.Header.Reference.Name, hw.ErrTooFast, hw.DefaultReadBacks-1))
		}
		if c.Record != nil && c.Header.ReadBacks > hw.DefaultReadBacks {
			add("%d read-backs a tick: a recording keeps at most %d of %s", c.Header.ReadBacks, hw.DefaultReadBacks, c.Header.Reference.Name)
		}
	}
	return errors.Join(wrong...)
}

// gentle reports a reference that the kernel may be watching a clock with:
// reading it fast makes the latency for which some kernels condemn a TSC.
func gentle(reference string) bool { return reference == hw.HPET || reference == hw.ACPIPM }
