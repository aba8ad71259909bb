package monitor

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cswatch/cswatch/internal/evidence"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/kmsg"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/internal/tally"
)

const (
	sysfsClocks = "/sys/devices/system/clocksource/clocksource0/"
	bootID      = "/proc/sys/kernel/random/boot_id"
)

// ThisMachine returns the sources of this machine.
func ThisMachine() Sources {
	return Sources{
		Boot: func() (string, error) { return oneLine(bootID) },
		Tail: func(from uint64) (Tail, error) {
			t, err := kmsg.Config{}.Tail(from)
			if err != nil {
				return nil, err // not a nil *kmsg.Tail in an interface that is not nil
			}
			return t, nil
		},
		Clocksources: func() (string, []string, error) {
			current, err := oneLine(sysfsClocks + "current_clocksource")
			if err != nil {
				return "", nil, fmt.Errorf("read the clocksources: %w", err)
			}
			available, err := oneLine(sysfsClocks + "available_clocksource")
			if err != nil {
				return "", nil, fmt.Errorf("read the clocksources: %w", err)
			}
			return current, strings.Fields(available), nil
		},
		Stamps:       stamps,
		Surroundings: evidence.Machine{}.Surroundings,
		Open:         live.Open,
		Price:        hw.SampleCost,
	}
}

func oneLine(name string) (string, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	line := strings.TrimSpace(string(b))
	if line == "" || strings.Contains(line, "\n") {
		return "", fmt.Errorf("%s holds %q, want one line", name, line)
	}
	return line, nil
}

// stamps reads the clocks by which the kernel's stamps become times.
func stamps() tally.Stamps {
	read := func(id int32) time.Duration {
		var ts unix.Timespec
		_ = unix.ClockGettime(id, &ts) // these are in every kernel that Go runs on
		return time.Duration(ts.Nano())
	}
	now, monotonic, boot := time.Now(), read(unix.CLOCK_MONOTONIC), read(unix.CLOCK_BOOTTIME)
	return tally.Stamps{Now: now.Round(0), Monotonic: monotonic, Slept: max(boot-monotonic, 0)}
}
