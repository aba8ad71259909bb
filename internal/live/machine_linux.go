package live

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
)

// thisMachine is the hardware that this process runs on.
func thisMachine(interrupts bool) (Hardware, error) {
	team := hw.NewTeam()
	return Hardware{
		Counter: hw.ProcessorCounter, Probe: hw.Probe, Frequency: hw.TSCFrequency,
		Reader: func(reference string) (ReadCloser, error) {
			r, err := hw.OpenReader(reference)
			if err != nil {
				return nil, err // not a nil *hw.Reader in an interface that is not nil
			}
			return r, nil
		},
		Stream: func(p hw.Plan) (StreamCloser, error) {
			s, err := hw.OpenStream(p)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		World: &kernel{team: team, interrupts: interrupts},
		Basis: readBasis(os.DirFS("/")),
		Close: func() error { team.Close(); return nil },
	}, nil
}

// kernel is the World of this machine.
type kernel struct {
	team       *hw.Team
	counts     hw.UsageCounter
	interrupts bool
}

func clockNow(id int32) clocksource.Nanos {
	var ts unix.Timespec
	// Both clocks are in every kernel that Go runs on: there is no error.
	_ = unix.ClockGettime(id, &ts)
	return clocksource.Nanos(ts.Nano())
}

// Now implements [World].
func (*kernel) Now() clocksource.Nanos { return clockNow(unix.CLOCK_MONOTONIC) }

// Slept implements [World]: CLOCK_BOOTTIME goes on while the machine is suspended.
func (*kernel) Slept() clocksource.Nanos {
	// Whatever comes between the two reads makes the difference too small: the greater one is nearer.
	once := func() clocksource.Nanos { return clockNow(unix.CLOCK_BOOTTIME) - clockNow(unix.CLOCK_MONOTONIC) }
	return max(once(), once())
}

// Sleep implements [World]. A sleep in a system call would cost more than a timer: the
// runtime's monitor looks after a thread that is in one some sixty times.
func (k *kernel) Sleep(ctx context.Context, until clocksource.Nanos) error {
	return hw.Pause(ctx, time.Duration(until-k.Now()))
}

// CPUs implements [World].
func (*kernel) CPUs() ([]int, error) { return hw.AllowedCPUs() }

// On implements [World].
func (*kernel) On(cpu int, f func()) error { return hw.On(cpu, f) }

// Usage implements [World].
func (k *kernel) Usage(cpu int) hw.Usage { return k.counts.Usage(cpu, k.interrupts) }

// Exchange implements [World].
func (k *kernel) Exchange(control, remote int, timeout clocksource.Nanos) (hw.Exchange, error) {
	return k.team.Exchange(control, remote, timeout)
}

// ReadRemote implements [World].
func (k *kernel) ReadRemote(control, remote int) (before, there, after clocksource.Cycles, err error) {
	return k.team.ReadRemote(control, remote)
}
