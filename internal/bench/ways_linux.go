//go:build amd64 || arm64

package bench

import (
	"slices"

	"github.com/cswatch/cswatch/internal/hw"
	"golang.org/x/sys/unix"
)

// instruction is a way of reading the processor's counter.
type instruction struct {
	name   string
	batch  func(n int) (sum uint64)
	values func(out *uint64, n int)
}

// loopWays returns the ways that are loops in assembly: the POSIX clocks by both
// paths, and the processor's counter if it may be read. absent says why the vDSO cannot be called.
func loopWays(clocks []string, counter bool) (ways []way, absent string) {
	fn, err := vdsoClockGettime()
	if err != nil {
		absent = err.Error()
	}
	for _, name := range clocks {
		id := posixClocks()[name]
		if absent == "" {
			ways = append(ways, vdsoWay(name, id, fn))
		}
		ways = append(ways, way{
			Way: Way{Path: PathSyscall, Clock: name}, unit: Nanoseconds,
			batch:  func(n int) error { return errnoOf(syscallBatch(id, n)) },
			values: func(out []uint64) error { return errnoOf(syscallValues(id, &out[0], len(out))) },
		})
	}
	if !counter {
		return ways, absent
	}
	_, _, hasRDTSCP := hw.ReadCounterOn()
	for _, i := range instructions(hasRDTSCP) {
		ways = append(ways, way{
			Way: Way{Path: PathInstruction, Instruction: i.name}, unit: CyclesUnit,
			batch:  func(n int) error { i.batch(n); return nil },
			values: func(out []uint64) error { i.values(&out[0], len(out)); return nil },
		})
	}
	return slices.Clip(ways), absent
}

func vdsoWay(name string, id int64, fn uintptr) way {
	return way{
		Way: Way{Path: PathVDSO, Clock: name}, unit: Nanoseconds,
		batch:  func(n int) error { return errnoOf(vdsoBatch(fn, id, n)) },
		values: func(out []uint64) error { return errnoOf(vdsoValues(fn, id, &out[0], len(out))) },
	}
}

// errnoOf returns the error of that number, nil for 0.
func errnoOf(errno int64) error {
	if errno == 0 {
		return nil
	}
	return unix.Errno(errno)
}
