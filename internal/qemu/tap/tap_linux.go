package tap

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Hold says where and how long to hold the processor.
type Hold struct {
	Address uint64 // of the function, which reads the counter once
	Model   Model
	// Attempt is how many reads belong together, as those of one attempt of a
	// watchdog. The model is asked once for each such group, and the processor is
	// held before its second read and nowhere else. 0 asks for every read.
	Attempt int
	// CPUs are those of this machine on which the tap runs, nil for all. QEMU must run
	// on others: the kernel likes to put who is woken where who woke it runs, and
	// the tap would hold a processor by taking its CPU, for milliseconds.
	CPUs []int
}

// Counts is what a tap did.
type Counts struct {
	Held int // how often the processor was held
	// Missed counts attempts that were to be held, and went by before the tap knew of them.
	Missed int
}

// Tap is the pipe into which QEMU writes.
type Tap struct {
	path string
	fd   int // of the pipe, read and write: it never ends by itself
	copy [2]int
	hold *Hold
	emit func(Read)

	armed  atomic.Bool
	closed atomic.Bool
	done   chan struct{}
	err    error
	counts Counts
	small  bool      // the pipe takes one page
	reads  int       // of the counter since the last pause
	last   time.Time // of them
	begun  bool      // a function has begun, and not read the counter yet
	taken  int       // bytes that were taken in since it has begun
	cut    []byte    // a line that is not complete

	// Draws for the attempt that comes next, or is under way, and the one behind it:
	// an attempt that is not held meets a pipe that never makes it wait.
	drawing     bool
	next, ahead time.Duration
}

// New makes a pipe in the folder dir and begins to read it. emit is called with
// every read of the counter, from one goroutine, and the guest waits while it works.
func New(dir string, hold *Hold, emit func(Read)) (*Tap, error) {
	t := &Tap{path: filepath.Join(dir, "tap"), hold: hold, emit: emit, done: make(chan struct{})}
	if err := unix.Mkfifo(t.path, 0o600); err != nil {
		return nil, fmt.Errorf("make the pipe %s: %w", t.path, err)
	}
	fail := func(what string, err error) (*Tap, error) {
		return nil, errors.Join(fmt.Errorf("%s %s: %w", what, t.path, err), t.release())
	}
	var err error
	if t.fd, err = unix.Open(t.path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		t.fd = -1
		return fail("open the pipe", err)
	}
	if err := unix.Pipe2(t.copy[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		return fail("make a pipe beside", err)
	}
	if err := t.resize(roomy); err != nil {
		return fail("set the size of the pipe", err)
	}
	go t.run()
	return t, nil
}

// Sizes of the pipe, in bytes.
const (
	pageSize = 4096    // the smallest: QEMU stands when it is full
	roomy    = 1 << 20 // QEMU never waits
)

func (t *Tap) resize(size int) error {
	_, err := unix.FcntlInt(uintptr(t.fd), unix.F_SETPIPE_SZ, size)
	return err
}

// Args are QEMU's arguments.
func (t *Tap) Args() []string {
	args := []string{"-msg", "timestamp=on", "-trace", "memory_region_ops_read", "-D", t.path}
	if t.hold != nil {
		args = append(args, "-d", "exec,cpu,fpu", "-dfilter", fmt.Sprintf("%#x+1", t.hold.Address))
	}
	return args
}

// Arm lets the holding begin. The boot up to then is not slowed down.
func (t *Tap) Arm() { t.armed.Store(true) }

// Disarm ends the holding.
func (t *Tap) Disarm() { t.armed.Store(false) }

// Close ends the reading, after all that QEMU has written, and returns how
// often the processor was held. QEMU must have ended.
func (t *Tap) Close() (Counts, error) {
	t.closed.Store(true)
	<-t.done
	return t.counts, errors.Join(t.err, t.release())
}

func (t *Tap) release() error {
	for _, fd := range []int{t.fd, t.copy[0], t.copy[1]} {
		if fd > 0 {
			_ = unix.Close(fd)
		}
	}
	return unix.Unlink(t.path)
}

// How long the tap waits for QEMU to write.
const (
	// waitMS bounds the wait for a function to begin, after which the tap looks
	// whether it was closed.
	waitMS = 50
	// lookPause is the pause between two looks at a pipe that nothing is held by. The
	// tap does not wait for the pipe there: QEMU would have to wake it with every
	// line, between two reads of the guest, and that makes them slow.
	lookPause = 10 * time.Millisecond
)

func (t *Tap) run() {
	defer close(t.done)
	if t.hold != nil && len(t.hold.CPUs) > 0 {
		// The thread is not given back: it ends with the goroutine.
		runtime.LockOSThread()
		var set unix.CPUSet
		for _, cpu := range t.hold.CPUs {
			set.Set(cpu)
		}
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			t.err = fmt.Errorf("run the tap on CPUs %v: %w", t.hold.CPUs, err)
			return
		}
	}
	page := make([]byte, 1<<16)
	for {
		closed := t.closed.Load() // what QEMU wrote before is read below
		wait := t.rest
		if t.holds() {
			wait = t.await
		} else if t.err = t.widen(); t.err != nil {
			return
		}
		there, err := wait(page, closed)
		if err != nil {
			t.err = err
			return
		}
		if !there && closed {
			return
		}
	}
}

// holds reports whether the processor is to be held, now or in the next attempt.
func (t *Tap) holds() bool {
	if t.hold == nil || !t.armed.Load() {
		return false
	}
	if t.hold.Attempt == 0 {
		return true
	}
	if !t.drawing {
		t.drawing = true
		t.next, t.ahead = t.hold.Model.Next(), t.hold.Model.Next()
	}
	return t.next > 0
}

// widen lets QEMU write without waiting.
func (t *Tap) widen() error {
	if !t.small {
		return nil
	}
	t.small = false
	return t.resize(roomy)
}

// rest reads what is there, and pauses if that is nothing.
func (t *Tap) rest(page []byte, closed bool) (bool, error) {
	there, err := t.read(page)
	if !there && !closed && err == nil {
		time.Sleep(lookPause)
	}
	return there, err
}

// pause is what separates reads that belong together from the next ones.
const pause = 100 * time.Millisecond

// await waits until something is there, holds the processor if it is to be
// held, and reads.
func (t *Tap) await(page []byte, _ bool) (bool, error) {
	if time.Since(t.last) > pause {
		t.reads = 0
	}
	first := t.hold.Attempt == 0 || t.reads%t.hold.Attempt == 0
	if !t.small && first {
		t.small = t.resize(pageSize) == nil // it fails as long as there is more in the pipe
	}
	fds := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, waitMS); err != nil && !errors.Is(err, unix.EINTR) {
		return false, fmt.Errorf("wait for QEMU's log: %w", err)
	} else if n <= 0 {
		return false, nil
	}
	if t.small && first {
		held, err := t.maybeHold(page)
		if err != nil || held {
			return true, err
		}
	}
	return t.read(page)
}

// read takes in what is there, and reports whether that was anything.
func (t *Tap) read(page []byte) (bool, error) {
	got, err := unix.Read(t.fd, page)
	if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
		return false, fmt.Errorf("read QEMU's log: %w", err)
	}
	t.take(page[:max(got, 0)])
	return got > 0, nil
}

// take cuts what was read into lines.
func (t *Tap) take(b []byte) {
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		t.begun = t.begun || len(t.cut) == 0 && bytes.HasPrefix(line, dumpMark)
		if t.begun {
			t.taken += len(b) - len(rest)
		}
		if !whole {
			t.cut = append(t.cut, b...)
			return
		}
		if len(t.cut) > 0 {
			line = append(t.cut, line...)
			t.cut = t.cut[:0]
		}
		if r, ok := parseRead(line); ok {
			t.counted(time.Now())
			t.emit(r)
		}
		b = rest
	}
}

// counted counts a read, and the attempt that it ends.
func (t *Tap) counted(now time.Time) {
	if now.Sub(t.last) > pause {
		t.reads = 0
	}
	t.reads, t.last = t.reads+1, now
	t.begun, t.taken = false, 0
	if !t.drawing || t.reads%t.hold.Attempt != 0 {
		return
	}
	if t.next > 0 && t.armed.Load() {
		t.counts.Missed++
	}
	t.next, t.ahead = t.ahead, t.hold.Model.Next()
}

// maybeHold looks at what waits in the pipe. If a function has begun, the model is
// asked, and the pipe is left full for as long as it says: from when the processor
// cannot write on. It reports whether a function has begun.
func (t *Tap) maybeHold(room []byte) (bool, error) {
	n, err := unix.Tee(t.fd, t.copy[1], pageSize, unix.SPLICE_F_NONBLOCK)
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		return false, fmt.Errorf("look into QEMU's log: %w", err)
	}
	if n <= 0 {
		return false, nil
	}
	got, err := unix.Read(t.copy[0], room[:n])
	if err != nil {
		return false, fmt.Errorf("look into QEMU's log: %w", err)
	}
	if !t.begun && !hasDump(room[:got]) {
		return false, nil
	}
	if t.hold.Attempt == 0 {
		t.holdFor(t.hold.Model.Next())
		_, err = t.read(room)
		return true, err
	}
	t.pad()
	t.holdFor(t.next)
	t.next = 0
	// What is left of the attempt must not wait: the reference would seem slow, too.
	if err := t.widen(); err != nil {
		return true, err
	}
	return true, t.finish(room)
}

func (t *Tap) holdFor(d time.Duration) {
	if d > 0 {
		t.counts.Held++
		t.awaitFull()
		spin(d)
	}
}

// pad makes up for what was taken in of a dump that is not over: where the page is
// full must not depend on it. That it does not fit is as good.
func (t *Tap) pad() {
	if t.begun {
		_, _ = unix.Write(t.fd, bytes.Repeat([]byte("\n"), min(t.taken, pageSize)))
	}
}

// finish reads what QEMU writes until all reads of the attempt are done. If the next
// one is to be held, the pipe takes one page again before it comes that far.
func (t *Tap) finish(page []byte) error {
	done := (t.reads/t.hold.Attempt + 1) * t.hold.Attempt
	for until := time.Now().Add(finishTime); time.Now().Before(until); {
		if _, err := t.read(page); err != nil {
			return err
		}
		if t.reads < done {
			continue
		}
		if t.next > 0 {
			t.small = t.resize(pageSize) == nil
		}
		if t.next == 0 || t.small {
			return nil
		}
	}
	return nil
}

// finishTime bounds that, where a read does not come.
const finishTime = 20 * time.Millisecond

func hasDump(b []byte) bool {
	return bytes.HasPrefix(b, dumpMark) || bytes.Contains(b, nextDump)
}

// awaitFull waits until nothing more comes into the page: the processor stands then,
// for what it writes next does not fit. How much that is differs: several lines of a
// dump may come as one write.
func (t *Tap) awaitFull() {
	const still = 15 * time.Microsecond // lines of a dump follow each other within one or two
	last, since := -1, time.Now()
	for until := since.Add(time.Millisecond); ; {
		n, err := unix.IoctlGetInt(t.fd, unix.TIOCINQ)
		now := time.Now()
		if n != last {
			last, since = n, now
		}
		if err != nil || now.Sub(since) > still || now.After(until) {
			return
		}
	}
}

// spin waits without giving up the processor: sleeping is too coarse for tens of microseconds.
func spin(d time.Duration) {
	for until := time.Now().Add(d); time.Now().Before(until); {
	}
}
