package bench

import (
	"context"
	"runtime"
	"time"

	"github.com/cswatch/cswatch/internal/hw"
	"golang.org/x/sys/unix"
)

// slowRead: a system clock that costs more, in ns, may be one of those that must not be
// loaded. An HPET takes 500 and more, an ACPI PM timer 700 and more.
const slowRead = 400

// here returns the edges of this machine.
func here() (edges, error) {
	base := time.Now()
	now := func() time.Duration { return time.Since(base) }
	return edges{
		rig:     rig{now: now, quietly: quietly, current: hw.CurrentClocksource},
		cpus:    hw.AllowedCPUs,
		threads: runtime.GOMAXPROCS(0),
		on:      hw.On,
		team: func() (crew, func()) {
			t := hw.NewTeam()
			return t, t.Close
		},
		probe: hw.Probe,
		open:  func(p hw.Plan) (stream, error) { return hw.OpenStream(p) },
		ways: func(clocks []string, counter bool) ([]way, string) {
			ways, absent := loopWays(clocks, counter)
			return append(ways, goWays(base)...), absent
		},
		slow: func(ctx context.Context) (bool, error) {
			c, err := hw.MeasureCost(ctx)
			return c.ReadNS >= slowRead, err
		},
	}, nil
}

// quietly runs f with the signals of the thread blocked. Go's handlers look for the goroutine
// that they interrupt where it is not to be found while a vDSO function runs that the
// runtime has not called itself, and SIGPROF and preemption would be measured, too. Signals
// that come meanwhile come afterwards, or to another thread. Those of faults stay, since a blocked one kills.
func quietly(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	for _, s := range []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP} {
		all.Val[0] &^= 1 << (s - 1)
	}
	if unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before) == nil {
		defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	}
	f()
}
