package hw

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/cswatch/cswatch/clocksource"
	"golang.org/x/sys/unix"
)

const maxFile = 1 << 20 // of any file in /proc and /sys that is read whole

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	return b, errors.Join(err, f.Close())
}

func monotonic() clocksource.Nanos {
	var ts unix.Timespec
	// CLOCK_MONOTONIC is in every kernel: there is no error.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return clocksource.Nanos(ts.Nano())
}

func platformFrequency() frequencySources {
	s := frequencySources{readFile: readFile, cpuid: cpuid, counter: processorHz(), sleep: Pause}
	if tryCounter() == nil {
		s.read = readTriple
	}
	return s
}

// readTriple reads counter, CLOCK_MONOTONIC_RAW, counter.
func readTriple() (triple, error) {
	var ts unix.Timespec
	before := readCounter()
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts)
	after := readCounter()
	return triple{clocksource.Cycles(before), clocksource.Cycles(after), clocksource.Nanos(ts.Nano())}, err
}

// tryCounter tells whether the processor's counter may be read. A process may be
// denied it (prctl(PR_SET_TSC)); reading it would then end the program.
func tryCounter() error {
	if !hasAssembly {
		return &NotHere{What: processorCounter, Reason: "this program has no way to read it on this architecture", Remedy: "use x86-64 or arm64"}
	}
	var mode int32
	err := unix.Prctl(unix.PR_GET_TSC, uintptr(unsafe.Pointer(&mode)), 0, 0, 0)
	if err == nil && mode == unix.PR_TSC_SIGSEGV { // other architectures than x86 answer EINVAL where they have no such switch
		return &NotHere{What: processorCounter, Reason: "this process is denied the counter (PR_TSC_SIGSEGV)", Remedy: "whoever started it may lift that"}
	}
	first := readCounter()
	for range 1000 {
		if readCounter() != first {
			return nil
		}
	}
	return &NotHere{What: processorCounter, Reason: "it stands still"}
}

func platformWorld() world {
	return world{
		readFile: readFile,
		devices:  func(prefix string) ([]string, error) { return devicesIn("/dev", prefix) },
		counter:  tryCounter,
		hz:       processorHz(),
		hpet: func() (Counter, error) {
			r, err := OpenReader(HPET)
			if err != nil {
				return Counter{}, err
			}
			return r.Reference(), r.Close()
		},
		port: tryPort,
		clock: func(name string) error {
			id, ok := posixID(name)
			if !ok {
				return nil // the runtime has read the two clocks of the vDSO long before
			}
			var ts unix.Timespec
			err := unix.ClockGettime(id, &ts)
			if errors.Is(err, unix.EINVAL) {
				return &NotHere{What: name, Reason: "the kernel does not have this clock"}
			}
			return err
		},
		ptp: ptpWays,
		rtc: func(name string) error {
			s, err := platformRTC(name)
			if err != nil {
				return err
			}
			_, err = s.seconds()
			return err
		},
	}
}

// devicesIn lists names such as ptp0, ptp1, in the order of their numbers.
func devicesIn(dir, prefix string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, path := range found {
		if name := filepath.Base(path); isDevice(name, prefix) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return names, nil
}

func platformRTC(name string) (rtcSource, error) {
	if !isDevice(name, "rtc") {
		return rtcSource{}, &NotHere{What: name, Reason: "real-time clocks are called rtc0, rtc1, ..."}
	}
	base := time.Now()
	return rtcSource{
		seconds: func() (int64, error) { return readRTC(name) },
		counter: readCounter,
		now:     func() time.Duration { return time.Since(base) },
		sleep:   Pause,
	}, nil
}

// readRTC reads the seconds since 1970, from sysfs, which everybody may read, or from the device.
func readRTC(name string) (int64, error) {
	b, sysErr := readFile("/sys/class/rtc/" + name + "/since_epoch")
	if sysErr == nil {
		var seconds int64
		if seconds, sysErr = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); sysErr == nil {
			return seconds, nil
		}
	}
	f, err := os.Open("/dev/" + name)
	if err != nil {
		n := &NotHere{What: name, Reason: err.Error() + ", and " + sysErr.Error(), Unsure: !errors.Is(err, fs.ErrNotExist)}
		if errors.Is(err, unix.EBUSY) {
			n.Remedy = "another program has the device open, and it opens only once"
		}
		return 0, n
	}
	t, err := unix.IoctlGetRTCTime(int(f.Fd()))
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, &NotHere{What: name, Reason: err.Error(), Unsure: true}
	}
	// The clock counts in UTC or in local time; for differences that is no matter.
	return time.Date(int(t.Year)+1900, time.Month(t.Mon+1), int(t.Mday), int(t.Hour), int(t.Min), int(t.Sec), 0, time.UTC).Unix(), nil
}

// openSource opens what a plan needs: a child for ports, else a reader here.
func openSource(p Plan) (source, error) {
	if p.Reference == ACPIPM {
		port, from, err := findPMTimer(readFile)
		if err != nil {
			return nil, err
		}
		return startChild(job{Plan: p, Port: port, From: from})
	}
	reader, err := OpenReader(p.Reference)
	if err != nil {
		return nil, err
	}
	return &localSource{rig: newRig(reader), shut: reader.Close, sleep: Pause}, nil
}

// newRig lets the loop of read-backs run on a reader.
func newRig(r *Reader) rig {
	var counts UsageCounter
	var b binding
	return rig{reference: r.Reference(), pin: b.bind, free: b.free, read: r.ReadBack, usage: counts.Usage, now: monotonic}
}

// UsageCounter reads what has happened to a thread and on a CPU. The zero value
// is ready; one goroutine at a time may use it.
type UsageCounter struct {
	buffer []byte
}

// Usage returns the context switches of the calling thread and, if wanted, the
// interrupts that the CPU has served. What cannot be read counts as 0.
func (c *UsageCounter) Usage(cpu int, interrupts bool) Usage {
	var ru unix.Rusage
	var u Usage
	if interrupts {
		u.Interrupts, u.Counted = c.interrupts(cpu)
	}
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &ru); err == nil {
		u.Voluntary, u.Involuntary = int64(ru.Nvcsw), int64(ru.Nivcsw)
	}
	return u
}

// interrupts adds up the column of a CPU in /proc/interrupts. The buffer is kept between calls.
func (c *UsageCounter) interrupts(cpu int) (uint64, bool) {
	if c.buffer == nil {
		c.buffer = make([]byte, maxFile)
	}
	f, err := os.Open("/proc/interrupts")
	if err != nil {
		return 0, false
	}
	n, err := io.ReadFull(f, c.buffer)
	if closeErr := f.Close(); closeErr != nil || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, false
	}
	return interruptsOn(string(c.buffer[:n]), cpu)
}
