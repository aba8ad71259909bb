package hw

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// ErrBusy is the error of a CPU whose thread still has an earlier job.
var ErrBusy = errors.New("its thread still has an earlier job")

// On runs f on the CPU, in the calling goroutine, which is bound to it meanwhile.
// It fails, without running f, where the process may not use the CPU.
func On(cpu int, f func()) error {
	var b binding
	defer b.free()
	if err := b.bind(cpu); err != nil {
		return err
	}
	f()
	return nil
}

// Team is threads that are each bound to one CPU, for work that must run there.
// Threads start when their CPU is first asked for. Whoever makes a team closes it.
type Team struct {
	pin func(cpu int) error // binds the calling thread for good
	// here binds the calling goroutine until the returned function is called.
	here func(cpu int) (free func(), err error)

	mu      sync.Mutex
	closed  bool
	members map[int]*member
	wait    sync.WaitGroup
}

// member is the thread of one CPU.
type member struct {
	tasks chan task // holds at most the one task that busy stands for
	busy  atomic.Bool
}

// task is a job and where its outcome goes, once the thread is free for another.
type task struct {
	job  func(bound error) error
	done chan error
}

// NewTeam returns a team without threads. Close must be called.
func NewTeam() *Team {
	return newTeam(Pin, func(cpu int) (func(), error) {
		var b binding
		err := b.bind(cpu)
		return b.free, err
	})
}

func newTeam(pin func(cpu int) error, here func(cpu int) (func(), error)) *Team {
	return &Team{pin: pin, here: here, members: map[int]*member{}}
}

// submit gives a job to the thread of a CPU and returns where its outcome comes.
// The job's argument is nil if the thread runs there. It fails with ErrBusy at once instead of waiting.
func (t *Team) submit(cpu int, job func(bound error) error) (done <-chan error, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, fmt.Errorf("run on CPU %d: the team of threads is closed", cpu)
	}
	m := t.members[cpu]
	if m == nil {
		m = &member{tasks: make(chan task, 1)}
		t.members[cpu] = m
		t.wait.Go(func() { m.serve(cpu, t.pin) })
	}
	if !m.busy.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("run on CPU %d: %w", cpu, ErrBusy)
	}
	outcome := make(chan error, 1)
	m.tasks <- task{job, outcome}
	return outcome, nil
}

// serve runs tasks until the channel is closed. The thread is never unlocked, so
// that it ends with the goroutine and takes its binding along.
func (m *member) serve(cpu int, pin func(int) error) {
	runtime.LockOSThread()
	for t := range m.tasks {
		// Bound anew each time: a CPU that went offline frees its threads, silently.
		err := t.job(pin(cpu))
		m.busy.Store(false) // before anyone is told, who may come with the next at once
		t.done <- err
	}
}

// Do runs f on the CPU and waits for it. It fails where the process may not use
// the CPU, where the CPU's thread is busy (ErrBusy), and where the context ends first;
// in that case f may still run later.
func (t *Team) Do(ctx context.Context, cpu int, f func()) error {
	done, err := t.submit(cpu, func(bound error) error {
		if bound == nil {
			f()
		}
		return bound
	})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("run on CPU %d: %w", cpu, ctx.Err())
	}
}

// remoteTime is how long a CPU may take to read its counter for another.
const remoteTime = time.Second

// ReadRemote reads the processor's counter on the control CPU, on the remote one, and
// on the control CPU again, as kernels from 5.14 to 7.0 do once they have condemned it: a read
// that is smaller than one before it shows that the counters of the two disagree.
// Where the remote CPU does not answer within a second there is the value before, with an error.
func (t *Team) ReadRemote(control, remote int) (before, there, after clocksource.Cycles, err error) {
	if !hasAssembly {
		return 0, 0, 0, &NotHere{What: "the comparison of two CPUs", Reason: "this program cannot read the processor's counter on this architecture"}
	}
	free, err := t.here(control)
	defer free()
	if err != nil {
		return 0, 0, 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), remoteTime)
	defer cancel()
	var read atomic.Uint64 // a CPU that answers too late may still write
	before = clocksource.Cycles(readCounter())
	err = t.Do(ctx, remote, func() { read.Store(readCounter()) })
	after = clocksource.Cycles(readCounter())
	if err != nil {
		return before, before, after, err
	}
	return before, clocksource.Cycles(read.Load()), after, nil
}

// Close ends the threads and waits for the jobs that they have.
func (t *Team) Close() {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		for _, m := range t.members {
			close(m.tasks)
		}
	}
	t.mu.Unlock()
	t.wait.Wait()
}
