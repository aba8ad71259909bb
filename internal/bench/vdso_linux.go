//go:build amd64 || arm64

package bench

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// auxSysinfoEHDR is the entry of the auxiliary vector that says where the vDSO is (AT_SYSINFO_EHDR).
const auxSysinfoEHDR = 33

// firstPage is what is read of the vDSO before its size is known.
const firstPage = 4096

// vdsoClockGettime returns where the vDSO's clock_gettime is. Its error says why
// it cannot be called.
var vdsoClockGettime = sync.OnceValues(func() (uintptr, error) {
	aux, err := unix.Auxv()
	if err != nil {
		return 0, fmt.Errorf("look for the vDSO in the auxiliary vector: %w", err)
	}
	var base uintptr
	for _, entry := range aux {
		if entry[0] == auxSysinfoEHDR {
			base = entry[1]
		}
	}
	if base == 0 {
		return 0, errors.New("the kernel has given this process no vDSO")
	}
	first := vdsoImage{image: unsafe.Slice((*byte)(pointerTo(base)), firstPage)}
	span, _, err := first.segments()
	if err != nil {
		return 0, fmt.Errorf("read the vDSO: %w", err)
	}
	const most = 1 << 20 // a vDSO takes 4 to 16 kB
	if span > most {
		return 0, fmt.Errorf("read the vDSO: it claims %d bytes", span)
	}
	offset, err := vdsoFunction(unsafe.Slice((*byte)(pointerTo(base)), int(span)), vdsoSymbol)
	if err != nil {
		return 0, err
	}
	return base + uintptr(offset), nil
})
