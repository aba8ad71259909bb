package hw

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"github.com/cswatch/cswatch/clocksource"
	"golang.org/x/sys/unix"
)

func openPTPFile(name string) (*os.File, error) {
	if !isDevice(name, "ptp") {
		return nil, fmt.Errorf("open the PTP clock %q: the names are ptp0 and so on", name)
	}
	// Clocks are read through a descriptor that is open for reading; nothing here sets one.
	f, err := os.Open("/dev/" + name)
	if err == nil {
		return f, nil
	}
	n := &NotHere{What: name, Reason: err.Error()}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		n.Reason = "/dev/" + name + " does not exist"
		n.Remedy = "a network card with a PTP clock, its driver, or a hypervisor's virtual one is needed; a container must be given the device"
	case errors.Is(err, fs.ErrPermission):
		n.Unsure = true
		n.Reason = "permission denied for /dev/" + name
		n.Remedy = "run as root, or as a group that may read the device"
	default:
		n.Unsure = true
	}
	return nil, n
}

func openPTP(name string) (*Reader, error) {
	f, err := openPTPFile(name)
	if err != nil {
		return nil, err
	}
	r := &Reader{reference: ptpCounter(name, ptpTitle(os.ReadFile, name)), how: bySyscall, clock: int64(unix.FdToClockID(int(f.Fd()))), file: f}
	if err := r.try(); err != nil {
		return nil, errors.Join(&NotHere{What: name, Reason: err.Error()}, r.Close())
	}
	// The PTP clock of QEMU's e1000e is there and stands still.
	if err := r.advances(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// ComparePTP lets the kernel compare a PTP clock with the system's clock, the
// most exact way that the clock's driver has: both stamped by hardware
// ("precise"), the clock between two stamps of the system ("extended"), or whole
// reads between stamps ("offset").
func ComparePTP(name string) (PTPSample, error) {
	f, err := openPTPFile(name)
	if err != nil {
		return PTPSample{}, err
	}
	s, err := comparePTP(int(f.Fd()))
	if err = errors.Join(err, f.Close()); err != nil {
		return PTPSample{}, fmt.Errorf("compare the PTP clock %s with the system clock: %w", name, err)
	}
	return s, nil
}

func comparePTP(fd int) (PTPSample, error) {
	if p, err := unix.IoctlPtpSysOffsetPrecise(fd); err == nil {
		now := ptpNanos(p.Realtime)
		return PTPSample{Way: "precise", Before: now, Device: ptpNanos(p.Device), After: now, Raw: ptpNanos(p.Monoraw)}, nil
	}
	if x, err := unix.IoctlPtpSysOffsetExtended(fd, 1); err == nil {
		return PTPSample{Way: "extended", Before: ptpNanos(x.Ts[0][0]), Device: ptpNanos(x.Ts[0][1]), After: ptpNanos(x.Ts[0][2])}, nil
	}
	o := unix.PtpSysOffset{Samples: 1}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PTP_SYS_OFFSET, uintptr(unsafe.Pointer(&o))); errno != 0 {
		return PTPSample{}, fmt.Errorf("PTP_SYS_OFFSET: %w", errno)
	}
	return PTPSample{Way: "offset", Before: ptpNanos(o.Ts[0]), Device: ptpNanos(o.Ts[1]), After: ptpNanos(o.Ts[2])}, nil
}

func ptpNanos(t unix.PtpClockTime) clocksource.Nanos {
	return clocksource.Nanos(t.Sec)*clocksource.NanosPerSecond + clocksource.Nanos(t.Nsec)
}

// ptpWays opens a PTP clock and tries what it can do.
func ptpWays(name string) ([]string, error) {
	r, err := openPTP(name)
	if err != nil {
		return nil, err
	}
	fd := int(r.file.Fd())
	var ways []string
	if _, err := unix.IoctlPtpSysOffsetPrecise(fd); err == nil {
		ways = append(ways, "precise")
	}
	if _, err := unix.IoctlPtpSysOffsetExtended(fd, 1); err == nil {
		ways = append(ways, "extended")
	}
	o := unix.PtpSysOffset{Samples: 1}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PTP_SYS_OFFSET, uintptr(unsafe.Pointer(&o))); errno == 0 {
		ways = append(ways, "offset")
	}
	return append(ways, "clock_gettime"), r.Close()
}
