package hw

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// Exchange is two CPUs' alternating reads of the processor's counter. A read
// that is smaller than the other side's read before it shows that the counters of
// the two CPUs disagree. Each side's first read waits for nothing.
type Exchange struct {
	ControlCPU int                  `json:"control_cpu"`
	RemoteCPU  int                  `json:"remote_cpu"`
	Control    []clocksource.Cycles `json:"control"` // in the order of reading, at most five
	Remote     []clocksource.Cycles `json:"remote"`
	Completed  bool                 `json:"completed"`
	TimedOut   bool                 `json:"timed_out"` // one side waited longer than allowed for the other
	// Busy: the remote thread did not come at all, or still has an earlier exchange:
	// its CPU is taken. Kernels interrupt that CPU instead.
	Busy   bool              `json:"busy"`
	Waited clocksource.Nanos `json:"waited_ns"` // from when both were there to the control side's end
	Met    clocksource.Nanos `json:"met_ns"`    // from the call until both were there
}

const (
	// exchangeReads is how many reads both sides take together (7.1 and later).
	exchangeReads = 10
	sideReads     = exchangeReads / 2
)

// Stamps returns the reads in the order in which they were taken, the control
// side's first, then in turn, and how many there are.
func (e *Exchange) Stamps() (stamps [exchangeReads]clocksource.Cycles, n int) {
	for i := range sideReads {
		if i < len(e.Control) {
			stamps[n] = e.Control[i]
			n++
		}
		if i >= len(e.Remote) {
			break
		}
		if i < len(e.Control) {
			stamps[n] = e.Remote[i]
			n++
		}
	}
	return stamps, n
}

// Backwards returns by how many cycles the clocks of the two CPUs disagree at
// least: the greatest amount by which a read is smaller than one of the other
// side's that was taken before; 0 where time never ran backwards.
func (e *Exchange) Backwards() clocksource.Cycles {
	var worst clocksource.Cycles
	check := func(earlier, later []clocksource.Cycles, i, j int) {
		if i < len(earlier) && j < len(later) && int64(later[j]-earlier[i]) < 0 {
			worst = max(worst, earlier[i]-later[j])
		}
	}
	for i := range sideReads {
		check(e.Remote, e.Control, i, i+1) // the control side's next read follows the remote side's
		if i > 0 {
			check(e.Control, e.Remote, i, i) // the two first reads follow nothing
		}
	}
	return worst
}

// pingPong is what the two sides share. Each exchange has its own, so that a
// thread that comes too late disturbs nothing.
type pingPong struct {
	meeting meeting
	seq     padded
	failed  padded
	stamps  [2]struct {
		reads  [sideReads]uint64
		n      int
		waited time.Duration
		_      [72]byte
	}
	absent  atomic.Pointer[error] // why a side cannot come
	base    time.Time
	timeout time.Duration
}

// now is the time since the exchange began.
func (p *pingPong) now() time.Duration { return time.Since(p.base) }

// await is the remote side's part of the meeting and meet the control side's: they
// say that they are there and wait until the other is, so that both start at once.
func (p *pingPong) await() bool { return p.meeting.meet(1, p.now) }

func (p *pingPong) meet() bool { return p.meeting.meet(0, p.now) }

// side takes the reads of one side: 0 is the control side, 1 the remote one.
// The counter is read between fences, so it is read after the other side's step
// was seen and before the own one is made. Garbage collection may preempt the
// loop, which shows as a time-out.
func (p *pingPong) side(i uint32) {
	own := &p.stamps[i]
	start := p.now()
	own.reads[0] = readCounter()
	own.n = 1
	p.seq.Add(1)
	for turn := i + 2; turn < exchangeReads; turn += 2 {
		for spins := 1; p.seq.Load() < turn; spins++ {
			if spins%spinCheck != 0 {
				continue
			}
			if p.failed.Load() != 0 {
				own.waited = p.now() - start
				return
			}
			if p.now()-start >= p.timeout {
				p.failed.Store(1)
				own.waited = p.now() - start
				return
			}
		}
		own.reads[own.n] = readCounter()
		own.n++
		p.seq.Add(1)
	}
	own.waited = p.now() - start
}

// Exchange lets two CPUs read the processor's counter in turn, five times each,
// as kernels from 7.1 on do. A side that waits longer than timeout ends it;
// 0 is DefaultTimeout. Kernels allow 50 us, and 5 us for each unit of distance between NUMA nodes.
//
// It fails where there is nothing to compare (one CPU, or one thread that may
// run Go code, see GOMAXPROCS) and where the process may not use one of the CPUs.
func (t *Team) Exchange(control, remote int, timeout clocksource.Nanos) (Exchange, error) {
	e := Exchange{ControlCPU: control, RemoteCPU: remote}
	const what = "the comparison of two CPUs"
	switch {
	case !hasAssembly:
		return e, &NotHere{What: what, Reason: "this program cannot read the processor's counter on this architecture"}
	case control == remote:
		return e, &NotHere{What: what, Reason: fmt.Sprintf("there is only CPU %d to compare", control), Remedy: "let the process use more than one CPU: see taskset -p"}
	case runtime.GOMAXPROCS(0) < 2:
		return e, &NotHere{What: what, Reason: "only one thread of this program may run at a time", Remedy: "set GOMAXPROCS to 2 or more"}
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	p := &pingPong{base: time.Now(), timeout: time.Duration(timeout)}
	done, err := t.submit(remote, func(bound error) error {
		if bound != nil {
			p.absent.Store(&bound)
			p.meeting.cancel() // the other side need not wait
			return bound
		}
		if !p.await() {
			return errNotMet
		}
		p.side(1)
		return nil
	})
	if err != nil {
		return e.busyOr(err)
	}
	took, err := t.control(p, control)
	if why := p.absent.Load(); errors.Is(err, errNotMet) && why != nil {
		return e, *why
	}
	if err != nil {
		return e.busyOr(err)
	}
	if err := p.outcome(done); err != nil {
		return e, err
	}
	e.take(p, took)
	return e, nil
}

// outcome returns what the remote side came to. Unless its CPU was taken away it
// is at its end, too: looking for it costs less than to sleep and be woken.
func (p *pingPong) outcome(done <-chan error) error {
	start := p.now()
	for spins := 1; spins%spinCheck != 0 || p.now()-start < spinTime; spins++ {
		select {
		case err := <-done:
			return err
		default:
		}
	}
	return <-done
}

// control runs the control side in the calling goroutine, which spares a wake-up,
// and returns how long the two sides took to meet.
func (t *Team) control(p *pingPong, cpu int) (time.Duration, error) {
	free, err := t.here(cpu)
	defer free()
	if err != nil {
		p.meeting.cancel()
		return 0, err
	}
	if !p.meet() {
		return 0, errNotMet
	}
	took := p.now()
	p.side(0)
	return took, nil
}

// busyOr makes a thread that is taken a result; another error stays one.
func (e Exchange) busyOr(err error) (Exchange, error) {
	if errors.Is(err, ErrBusy) || errors.Is(err, errNotMet) {
		e.Busy = true
		return e, nil
	}
	return e, err
}

var errNotMet = errors.New("the other thread did not come")

// take copies the outcome out of what both sides shared.
func (e *Exchange) take(p *pingPong, met time.Duration) {
	copyReads := func(i int) []clocksource.Cycles {
		reads := make([]clocksource.Cycles, p.stamps[i].n)
		for k := range reads {
			reads[k] = clocksource.Cycles(p.stamps[i].reads[k])
		}
		return reads
	}
	e.Control, e.Remote = copyReads(0), copyReads(1)
	e.TimedOut = p.failed.Load() != 0
	e.Completed = len(e.Control) == sideReads && len(e.Remote) == sideReads
	e.Waited, e.Met = clocksource.Nanos(p.stamps[0].waited), clocksource.Nanos(met)
}
