package hw

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Pin binds the calling thread to one CPU; it runs there when Pin returns. The
// goroutine must have locked its thread (runtime.LockOSThread), and is best left
// to end without unlocking it, so that the thread ends, too.
func Pin(cpu int) error {
	if cpu < 0 || cpu >= maxCPUs {
		return fmt.Errorf("bind the thread to CPU %d: want 0 to %d", cpu, maxCPUs-1)
	}
	set := unix.NewCPUSet(max(cpu+1, 64))
	set.Set(cpu)
	err := unix.SchedSetaffinityDynamic(0, set)
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("bind the thread to CPU %d: it is offline, or the process may not use it (see taskset -p and the control group's cpuset): %w", cpu, err)
	}
	if err != nil {
		return fmt.Errorf("bind the thread to CPU %d: %w", cpu, err)
	}
	return nil
}

// AllowedCPUs returns the CPUs that the calling thread may use, ascending: the
// online ones of its affinity mask. Of a thread that Pin has bound that is one.
func AllowedCPUs() ([]int, error) {
	set := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(0, set); err != nil {
		return nil, fmt.Errorf("read which CPUs the process may use: %w", err)
	}
	var cpus []int
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// binding binds the calling goroutine to one CPU for a while. Binding the thread
// that runs anyway costs two system calls; handing work to a thread that is
// bound for good costs several wake-ups.
type binding struct {
	before unix.CPUSetDynamic
	bound  bool
}

// bind locks the thread, remembers which CPUs it may use, and binds it. A bound
// goroutine may be bound to another CPU.
func (b *binding) bind(cpu int) error {
	if !b.bound {
		if b.before == nil {
			b.before = unix.NewCPUSet(maxCPUs)
		}
		runtime.LockOSThread()
		if err := unix.SchedGetaffinityDynamic(0, b.before); err != nil {
			runtime.UnlockOSThread()
			return fmt.Errorf("read which CPUs the thread may use: %w", err)
		}
		b.bound = true
	}
	return Pin(cpu)
}

// free undoes bind. Where that is not possible the thread stays locked, so that
// it ends with the goroutine and nothing else ever runs on it.
func (b *binding) free() {
	if !b.bound {
		return
	}
	b.bound = false
	if err := unix.SchedSetaffinityDynamic(0, b.before); err == nil {
		runtime.UnlockOSThread()
	}
}
