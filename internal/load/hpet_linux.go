package load

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mainCounter is the offset of the main counter (IA-PC HPET specification 1.0a, 2.3.7).
const mainCounter = 0xf0

// mapCounter maps the device read-only and returns the lower half of its main
// counter. It lies there until unmap is called.
func mapCounter(path string) (counter *uint32, unmap func(), err error) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil, fmt.Errorf("%w: boot a kernel with CONFIG_HPET on a machine with an HPET, without hpet=disable, and give a container the device", err)
	case errors.Is(err, os.ErrPermission):
		return nil, nil, fmt.Errorf("%w: run as root, or give the container the device", err)
	case errors.Is(err, unix.EBUSY):
		return nil, nil, fmt.Errorf("%w: the device opens only with a free comparator of the HPET, and all are in use, or there are none with hpet=disable", err)
	case err != nil:
		return nil, nil, err
	}
	defer f.Close() // the mapping outlives it
	mapping, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map %s: %w: boot with hpet_mmap=1 a kernel with CONFIG_HPET_MMAP", path, err)
	}
	return (*uint32)(unsafe.Pointer(&mapping[mainCounter])), func() { _ = unix.Munmap(mapping) }, nil
}
