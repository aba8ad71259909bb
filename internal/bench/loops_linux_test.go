//go:build amd64 || arm64

package bench

import (
	"encoding/binary"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/cswatch/cswatch/internal/hw"
	"golang.org/x/sys/unix"
)

// strange is a function that does with the stack what C may do, and worse: it writes 24 KiB
// below its caller and makes the system call then. It stands in for the vDSOs that there are not here.
func strange(t *testing.T) uintptr {
	t.Helper()
	var code []byte
	switch runtime.GOARCH {
	case "amd64":
		code = []byte{
			0x48, 0x81, 0xec, 0x00, 0x60, 0x00, 0x00, // sub rsp, 0x6000
			0x48, 0xc7, 0x04, 0x24, 0x00, 0x00, 0x00, 0x00, // mov qword [rsp], 0
			0xb8, 228, 0x00, 0x00, 0x00, // mov eax, 228
			0x0f, 0x05, // syscall
			0x48, 0x81, 0xc4, 0x00, 0x60, 0x00, 0x00, // add rsp, 0x6000
			0xc3, // ret
		}
	case "arm64":
		for _, word := range []uint32{
			0xd1401bff, // sub sp, sp, #6, lsl #12
			0xf90003ff, // str xzr, [sp]
			0xd2800e28, // mov x8, #113
			0xd4000001, // svc #0
			0x91401bff, // add sp, sp, #6, lsl #12
			0xd65f03c0, // ret
		} {
			code = binary.LittleEndian.AppendUint32(code, word)
		}
	}
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(page) })
	copy(page, code)
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		t.Skipf("this system lets no program make code: %v", err)
	}
	return uintptr(unsafe.Pointer(&page[0]))
}

func TestAllWaysOfAClockTellTheSameTime(t *testing.T) {
	ways, absent := loopWays([]string{hw.Monotonic, hw.RealTime, hw.BootTime, hw.MonotonicRaw, hw.TAI}, true)
	if absent != "" {
		t.Log(absent)
	}
	before := map[string]uint64{}
	for range 3 {
		for _, w := range ways {
			var out [3]uint64
			var err error
			quietly(func() { err = w.values(out[:]) })
			if err != nil {
				t.Logf("%s: %v", w.Name(), err)
				continue
			}
			name := w.Clock + w.unit
			// Each read is later than all reads before it of the same clock, by whatever way, unless the
			// wall clock is set meanwhile, by less than a second.
			if out[2] < out[0] || before[name] > out[0]+1e9 || out[0] == 0 {
				t.Errorf("%s: %d, %d after %d", w.Name(), out[0], out[2], before[name])
			}
			before[name] = out[2]
		}
	}
	wall := uint64(time.Now().UnixNano())
	if d := int64(wall - before[hw.RealTime+Nanoseconds]); d < -1e9 || d > 60e9 {
		t.Errorf("realtime is %d ns from what Go says", d)
	}
}

func TestAClockThatTheKernelDoesNotKnowIsAnError(t *testing.T) {
	if errno := syscallBatch(99, 10); errno != int64(syscall.EINVAL) {
		t.Errorf("system call: error %d, want %d", errno, syscall.EINVAL)
	}
	fn, err := vdsoClockGettime()
	if err != nil {
		t.Skip(err)
	}
	quietly(func() {
		if errno := vdsoBatch(fn, 99, 10); errno != int64(syscall.EINVAL) {
			t.Errorf("vDSO: error %d, want %d", errno, syscall.EINVAL)
		}
		var out [2]uint64
		if errno := vdsoValues(fn, 99, &out[0], 2); errno != int64(syscall.EINVAL) || out[0] != 0 {
			t.Errorf("vDSO: error %d, values %v", errno, out)
		}
	})
}

// TestTheVDSOIsCalledWhileTheRuntimeIsBusy is what calling C on a goroutine's stack has to
// stand: the garbage collector, growing stacks, preemption, signals.
func TestTheVDSOIsCalledWhileTheRuntimeIsBusy(t *testing.T) {
	functions := []uintptr{strange(t)}
	if fn, err := vdsoClockGettime(); err == nil {
		functions = append(functions, fn)
	} else {
		t.Log(err)
	}
	signals := make(chan os.Signal, 100)
	signal.Notify(signals, syscall.SIGUSR1)
	defer signal.Stop(signals)
	ended := make(chan struct{})
	for i := range 8 {
		fn := functions[i%len(functions)]
		go func() { // each on its own small stack
			defer func() { ended <- struct{}{} }()
			for range 50 {
				quietly(func() {
					row := make([]uint64, 64)
					if vdsoBatch(fn, 1, 2000) != 0 || vdsoValues(fn, 1, &row[0], len(row)) != 0 || row[63] < row[0] {
						t.Error("the call failed")
					}
				})
				runtime.Gosched()
			}
		}()
	}
	for running := 8; running > 0; {
		select {
		case <-ended:
			running--
		default:
			runtime.GC()
			_ = syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		}
	}
}

func TestReadingInLoopsDoesNotAllocate(t *testing.T) {
	ways, _ := loopWays([]string{hw.Monotonic}, true)
	row := make([]uint64, 16)
	for _, w := range append(ways, goWays(time.Now())...) {
		if n := testing.AllocsPerRun(100, func() { _ = w.batch(10); _ = w.values(row) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", w.Name(), n)
		}
	}
}
