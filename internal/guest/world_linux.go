package guest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// system is the running kernel as a world.
type system struct {
	kmsg int // /dev/kmsg, not blocking; negative if it could not be opened
	err  error
	room []byte
}

// The kernel hands over one record a read and refuses smaller buffers: a record
// and its dictionary take at most 8 KiB (CONSOLE_EXT_LOG_MAX of 4.x to 5.x,
// PRINTK_MESSAGE_MAX of 6.x and later, are below).
const kmsgRoom = 16 << 10

// maxBatch bounds what one call reads, so that a kernel that never stops
// talking cannot keep process 1 from the end of its window.
const maxBatch = 1000

func newSystem() *system {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		fd, err = -1, fmt.Errorf("open /dev/kmsg: %w", err)
	}
	return &system{kmsg: fd, err: err, room: make([]byte, kmsgRoom)}
}

func (s *system) uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // this clock is there on every kernel that Go runs on
	}
	return time.Duration(t.Nano())
}

func (s *system) kernelLog(wait time.Duration) ([]string, error) {
	if s.err != nil {
		time.Sleep(wait)
		return nil, s.err
	}
	records, err := s.readAll()
	if err != nil || len(records) > 0 {
		return records, err
	}
	// Rounded up: a wait of 0 ms, again and again until the end, would be a load.
	ms := int((wait + time.Millisecond - 1) / time.Millisecond)
	fds := []unix.PollFd{{Fd: int32(s.kmsg), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, ms); err != nil && !errors.Is(err, unix.EINTR) {
		return nil, fmt.Errorf("wait for /dev/kmsg: %w", err)
	}
	return s.readAll()
}

// readAll reads the records that are there.
func (s *system) readAll() ([]string, error) {
	var records []string
	for len(records) < maxBatch {
		n, err := unix.Read(s.kmsg, s.room)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return records, nil
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR):
			// EPIPE: the ring buffer overtook us. The sequence numbers tell by how much.
			continue
		case err != nil:
			return records, fmt.Errorf("read /dev/kmsg: %w", err)
		case n == 0:
			return records, nil
		}
		records = append(records, string(bytes.TrimRight(s.room[:n], "\n")))
	}
	return records, nil
}

const clocksourceFolder = "/sys/devices/system/clocksource/clocksource0/"

func (s *system) clocksource() (Clocksource, error) {
	current, err := os.ReadFile(clocksourceFolder + "current_clocksource")
	if err != nil {
		return Clocksource{}, err
	}
	available, err := os.ReadFile(clocksourceFolder + "available_clocksource")
	if err != nil {
		return Clocksource{}, err
	}
	return Clocksource{Current: strings.TrimSpace(string(current)), Available: strings.Fields(string(available))}, nil
}
