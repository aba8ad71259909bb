package monitor

import (
	"context"
	"log/slog"
	"time"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/kmsg"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/machine"
)

// Config says how to monitor. The zero value of each duration is its default.
type Config struct {
	Sources Sources
	// Watch says which watchdog runs over the live counters of a machine.
	Watch func(*machine.Snapshot) (WatchPlan, error)
	// State is the file that keeps what is known of this boot, "" for none.
	State string
	Hooks []Hook
	Log   *slog.Logger // nil: nothing is logged
	// Inputs are given to the doctor.
	Inputs doctor.Inputs

	WatchEvery  time.Duration // a burst of the live watch each so often (15 s); below 0: without pauses
	CostEvery   time.Duration // a price each so often (1 min)
	DoctorEvery time.Duration // a diagnosis at least so often (10 min)
	SysfsEvery  time.Duration // a look at the clocksources (10 s)
}

// Sources are what a monitor reads. All of them are needed; [ThisMachine] returns those of this machine.
type Sources struct {
	Boot         func() (id string, err error)
	Tail         func(from uint64) (Tail, error)
	Clocksources func() (current string, available []string, err error)
	Stamps       func() tally.Stamps
	Surroundings func() (doctor.Evidence, error)
	Open         func(context.Context, live.Options) (*live.Session, error)
	Price        func(context.Context) (machine.Cost, error)
}

// Tail delivers the kernel's log, as [kmsg.Tail] does.
type Tail interface {
	Next(ctx context.Context) (*kmsg.Batch, error)
	Close() error
}

// WatchPlan is a watchdog over live counters, and why that one.
type WatchPlan struct {
	Options live.Options
	Release string // upstream release of the era, "" where it is not known
	EraWhy  string
	Kernel  string // uname -r
}

// Hook is told of the entries of the timeline that are worth it.
type Hook interface {
	// Name is what the state knows the hook by.
	Name() string
	// Offer takes an entry and returns at once. The monitor is told by Told when it was dealt with.
	Offer(tally.Entry)
}

// burst is how many ticks of the live watch come in a row: two comparisons of an interval, three of CPUs.
const burst = 3

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		of    *time.Duration
		unset time.Duration
	}{
		{&c.WatchEvery, 15 * time.Second}, {&c.CostEvery, time.Minute}, {&c.DoctorEvery, 10 * time.Minute}, {&c.SysfsEvery, 10 * time.Second},
	} {
		if *d.of == 0 {
			*d.of = d.unset
		}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
