package load

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/cswatch/cswatch/internal/hw"
)

// drive starts the workers of the load. The returned function, never nil, is to
// be called when all of them have ended.
func (d Driver) drive(ctx context.Context, r *Running) (end func(), err error) {
	if d.Kind == Net {
		return func() {}, stream(ctx, r)
	}
	cpus := d.cpus
	if cpus == nil {
		if cpus, err = hw.AllowedCPUs(); err != nil {
			return func() {}, err
		}
	}
	looping, reading := d.Kind.shares(cpus)
	r.work.LoopingCPUs, r.work.ReadingCPUs = len(looping), len(reading)
	if len(looping)+len(reading) == 0 {
		return func() {}, errors.New("the process may use no CPU")
	}
	unmap := func() {}
	var counter *uint32
	if len(reading) > 0 {
		path := d.hpet
		if path == "" {
			path = "/dev/hpet"
		}
		if counter, unmap, err = mapCounter(path); err != nil {
			return func() {}, err
		}
	}
	lower := hw.MakeRoom(len(looping) + len(reading))
	end = func() {
		lower()
		unmap()
	}
	var stop atomic.Bool
	context.AfterFunc(ctx, func() { stop.Store(true) })
	ready := make(chan error)
	for _, cpu := range looping {
		r.worker(cpu, ready, func() Work { return Work{Loops: spin(&stop)} })
	}
	for _, cpu := range reading {
		r.worker(cpu, ready, func() Work { return Work{Reads: readOn(counter, &stop)} })
	}
	var errs []error
	for range len(looping) + len(reading) {
		errs = append(errs, <-ready)
	}
	return end, errors.Join(errs...)
}

// worker runs f on a thread of its own that is bound to the CPU.
func (r *Running) worker(cpu int, ready chan<- error, f func() Work) {
	r.workers.Go(func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := hw.Pin(cpu)
		ready <- err
		if err == nil {
			r.add(f(), nil)
		}
	})
}

// batch is how many turns a worker makes between two looks at the flag that ends
// it: few enough for an HPET that takes 100 us a read.
const batch = 64

// sink keeps the compiler from taking a loop without a result for no loop.
var sink atomic.Uint64

// spin loops until it is stopped, and returns how often.
func spin(stop *atomic.Bool) (loops uint64) {
	x := uint64(1)
	for {
		for range batch {
			x = x*6364136223846793005 + 1442695040888963407
		}
		loops += batch
		if stop.Load() {
			sink.Store(x)
			return loops
		}
	}
}

// readOn reads the counter until it is stopped, and returns how often.
func readOn(counter *uint32, stop *atomic.Bool) (reads uint64) {
	for {
		for range batch {
			atomic.LoadUint32(counter) // an atomic read is not left out
		}
		reads += batch
		if stop.Load() {
			return reads
		}
	}
}
