package hw

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
	"unsafe"

	"github.com/cswatch/cswatch/clocksource"
	"golang.org/x/sys/unix"
)

// how says which way a Reader reads its reference.
type how uint8

const (
	byRegister how = iota + 1
	byPort
	bySyscall
	byRuntime     // CLOCK_MONOTONIC
	byRuntimeWall // CLOCK_REALTIME
)

// Reader takes read-backs of one reference and the processor's counter. The
// methods but Close may be called from several threads at once.
type Reader struct {
	reference Counter
	how       how
	register  *uint32
	mapping   []byte // what register points into
	port      uint16
	clock     int64 // clock id
	file      *os.File
	base      time.Time
}

// OpenReader opens the reference of that name for read-backs in this process.
// The error is a *NotHere where it cannot be had. The ACPI PM timer is read by a
// child alone and real-time clocks are too slow for read-backs: see Stream and WatchRTC.
func OpenReader(reference string) (*Reader, error) {
	if !hasAssembly {
		return nil, &NotHere{What: processorCounter, Reason: "this program cannot read the processor's counter on this architecture"}
	}
	switch {
	case reference == HPET:
		return openHPET()
	case reference == ACPIPM:
		return nil, &NotHere{What: ACPIPM, Reason: "its port is opened in a child process only", Remedy: "take its read-backs from a stream"}
	case strings.HasPrefix(reference, "rtc"):
		return nil, &NotHere{What: reference, Reason: "it ticks in seconds, which is too slow for read-backs", Remedy: "use it as a witness over minutes"}
	case strings.HasPrefix(reference, "ptp"):
		return openPTP(reference)
	}
	r := &Reader{reference: posixCounter(reference), how: bySyscall, base: time.Now()}
	switch reference {
	case MonotonicVDSO:
		r.how = byRuntime
		return r, nil
	case RealTimeVDSO:
		r.how = byRuntimeWall
		return r, nil
	}
	id, ok := posixID(reference)
	if !ok {
		return nil, fmt.Errorf("open the reference %q: there is no such counter; known are hpet, acpi_pm, ptpN, rtcN and the POSIX clocks monotonic, monotonic_raw, boottime, realtime, tai, monotonic_vdso, realtime_vdso", reference)
	}
	r.clock = int64(id)
	return r, r.try()
}

// posixID returns the clock id of the POSIX clock of that name.
func posixID(name string) (id int32, ok bool) {
	switch name {
	case Monotonic:
		return unix.CLOCK_MONOTONIC, true
	case MonotonicRaw:
		return unix.CLOCK_MONOTONIC_RAW, true
	case BootTime:
		return unix.CLOCK_BOOTTIME, true
	case RealTime:
		return unix.CLOCK_REALTIME, true
	case TAI:
		return unix.CLOCK_TAI, true
	}
	return 0, false
}

// try takes one read-back, so that a clock that does not work is found when it is opened.
func (r *Reader) try() error {
	var rb ReadBack
	if err := r.ReadBack(&rb); err != nil {
		return fmt.Errorf("open the reference %s: %w", r.reference.Name, err)
	}
	return nil
}

// Reference describes what is read back.
func (r *Reader) Reference() Counter { return r.reference }

// ReadBack reads reference, counter, reference, reference. It allocates nothing
// and does not tell the scheduler of its system calls. Values of POSIX and PTP clocks are ns.
func (r *Reader) ReadBack(rb *ReadBack) error {
	switch r.how {
	case byRegister, byPort:
		var v [4]uint64
		if r.how == byRegister {
			readBackRegister(r.register, &v)
		} else {
			readBackPort(r.port, &v)
		}
		m := uint64(r.reference.Mask)
		rb.Before, rb.Clock = clocksource.Cycles(v[0]&m), clocksource.Cycles(v[1])
		rb.After, rb.Again = clocksource.Cycles(v[2]&m), clocksource.Cycles(v[3]&m)
	case bySyscall:
		var v [7]int64
		if errno := readBackClock(r.clock, &v); errno != 0 {
			return fmt.Errorf("clock_gettime(%d): %w", r.clock, unix.Errno(errno))
		}
		rb.Before, rb.Clock = nanos(v[0], v[1]), clocksource.Cycles(v[2])
		rb.After, rb.Again = nanos(v[3], v[4]), nanos(v[5], v[6])
	case byRuntime:
		before := time.Since(r.base)
		clock := readCounter()
		after := time.Since(r.base)
		again := time.Since(r.base)
		rb.Before, rb.Clock = clocksource.Cycles(before), clocksource.Cycles(clock)
		rb.After, rb.Again = clocksource.Cycles(after), clocksource.Cycles(again)
	case byRuntimeWall:
		before := time.Now()
		clock := readCounter()
		after := time.Now()
		again := time.Now()
		rb.Before, rb.Clock = clocksource.Cycles(before.UnixNano()), clocksource.Cycles(clock)
		rb.After, rb.Again = clocksource.Cycles(after.UnixNano()), clocksource.Cycles(again.UnixNano())
	default:
		return errors.New("the reader is closed")
	}
	return nil
}

func nanos(sec, nsec int64) clocksource.Cycles {
	return clocksource.Cycles(sec*int64(clocksource.NanosPerSecond) + nsec)
}

// Close gives the reference back. No read-back may be under way or follow.
func (r *Reader) Close() error {
	var wrong []error
	if r.mapping != nil {
		r.register = nil
		wrong = append(wrong, unix.Munmap(r.mapping))
		r.mapping = nil
	}
	if r.file != nil {
		wrong = append(wrong, r.file.Close())
		r.file = nil
	}
	r.how = 0
	return errors.Join(wrong...)
}

// openHPET maps the registers of the HPET, read-only.
func openHPET() (*Reader, error) {
	registers, mapping, err := mapHPET()
	if err != nil {
		return nil, err
	}
	counter, absent := registers.check()
	if absent != nil {
		return nil, errors.Join(absent, unix.Munmap(mapping))
	}
	r := &Reader{reference: counter, how: byRegister, mapping: mapping, register: register(mapping, hpetCounter)}
	if err := r.advances(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// register returns the 32 bit register at that offset of a mapping.
func register(mapping []byte, offset int) *uint32 { return (*uint32)(unsafe.Pointer(&mapping[offset])) }

// mapHPET maps the registers and reads those that say what the device is. The
// file is closed at once: the mapping stays, and an open one keeps a comparator from others.
func mapHPET() (HPETRegisters, []byte, error) {
	f, err := os.Open(hpetPath)
	if err != nil {
		return HPETRegisters{}, nil, hpetOpenError(err)
	}
	size := max(os.Getpagesize(), hpetSpan)
	mapping, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	err = errors.Join(err, f.Close())
	if err != nil {
		return HPETRegisters{}, nil, hpetMapError(err)
	}
	// Each is read with one 32 bit load, which is what every HPET can answer.
	var v [4]uint64
	load := func(offset int) uint32 {
		readBackRegister(register(mapping, offset), &v)
		return uint32(v[0])
	}
	return HPETRegisters{Capabilities: load(hpetCapabilities), PeriodFs: load(hpetPeriod), Config: load(hpetConfig)}, mapping, nil
}

// advances fails where the reference stands still for 1 ms.
func (r *Reader) advances() error {
	var first, last ReadBack
	if err := r.ReadBack(&first); err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	if err := r.ReadBack(&last); err != nil {
		return err
	}
	if first.Before == last.Before && first.Again == last.Again {
		return &NotHere{What: r.reference.Name, Reason: fmt.Sprintf("its counter stands still at %#x", uint64(first.Before))}
	}
	return nil
}

func hpetOpenError(err error) *NotHere {
	n := &NotHere{What: HPET, Reason: "open " + hpetPath + ": " + err.Error()}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		n.Reason = hpetPath + " does not exist"
		n.Remedy = "the machine has no HPET, the kernel was booted with hpet=disable or built without CONFIG_HPET, or a container was not given the device"
	case errors.Is(err, fs.ErrPermission):
		n.Unsure = true
		n.Reason = "permission denied for " + hpetPath
		n.Remedy = "run as root, or give the container the device"
	case errors.Is(err, unix.EBUSY):
		n.Reason = "every comparator of the HPET is in use, and " + hpetPath + " opens only with a free one"
	default:
		n.Unsure = true
	}
	return n
}

func hpetMapError(err error) *NotHere {
	n := &NotHere{What: HPET, Reason: "map " + hpetPath + " read-only: " + err.Error(), Unsure: true}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		n.Unsure = false
		n.Remedy = "boot with hpet_mmap=1; the kernel needs CONFIG_HPET_MMAP"
	}
	return n
}
