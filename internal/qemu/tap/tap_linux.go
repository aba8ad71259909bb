package tap

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
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
	held   int
	small  bool      // the pipe takes one page
	reads  int       // of the counter since the last pause
	last   time.Time // of them
	cut    []byte    // a line that is not complete
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
func (t *Tap) Close() (held int, err error) {
	t.closed.Store(true)
	<-t.done
	return t.held, errors.Join(t.err, t.release())
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
	page := make([]byte, 1<<16)
	for {
		closed := t.closed.Load() // what QEMU wrote before is read below
		wait := t.rest
		switch armed := t.hold != nil && t.armed.Load(); {
		case armed:
			wait = t.await
		case t.small:
			t.small = false
			if t.err = t.resize(roomy); t.err != nil {
				return
			}
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
	if !t.small && (t.hold.Attempt == 0 || t.reads%t.hold.Attempt == 0) {
		t.small = t.resize(pageSize) == nil // it fails as long as there is more in the pipe
	}
	fds := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, waitMS); err != nil && !errors.Is(err, unix.EINTR) {
		return false, fmt.Errorf("wait for QEMU's log: %w", err)
	} else if n <= 0 {
		return false, nil
	}
	if t.small {
		if err := t.maybeHold(page); err != nil {
			return false, err
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
		if !whole {
			t.cut = append(t.cut, b...)
			return
		}
		if len(t.cut) > 0 {
			line = append(t.cut, line...)
			t.cut = t.cut[:0]
		}
		if r, ok := parseRead(line); ok {
			t.reads, t.last = t.reads+1, time.Now()
			t.emit(r)
		}
		b = rest
	}
}

// maybeHold looks at what waits in the pipe. If a function begins in it, the
// model is asked, and the pipe is left full for as long as it says: from when the
// processor cannot write on.
func (t *Tap) maybeHold(room []byte) error {
	n, err := unix.Tee(t.fd, t.copy[1], pageSize, unix.SPLICE_F_NONBLOCK)
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("look into QEMU's log: %w", err)
	}
	if n <= 0 {
		return nil
	}
	got, err := unix.Read(t.copy[0], room[:n])
	if err != nil {
		return fmt.Errorf("look into QEMU's log: %w", err)
	}
	if !hasDump(room[:got]) {
		return nil
	}
	if d := t.hold.Model.Next(); d > 0 {
		t.held++
		t.awaitFull()
		spin(d)
	}
	if t.hold.Attempt > 0 {
		return t.finish(room)
	}
	return nil
}

// finish lets the rest of an attempt go on as if there were no tap: whatever QEMU
// writes is read at once, until all reads of the attempt are done.
func (t *Tap) finish(page []byte) error {
	done := (t.reads/t.hold.Attempt + 1) * t.hold.Attempt
	for until := time.Now().Add(finishTime); t.reads < done && time.Now().Before(until); {
		if _, err := t.read(page); err != nil {
			return err
		}
	}
	return nil
}

// finishTime bounds that, where a read does not come.
const finishTime = 20 * time.Millisecond

func hasDump(b []byte) bool {
	return bytes.HasPrefix(b, dumpMark) || bytes.Contains(b, nextDump)
}

// awaitFull waits until the page takes no further line of a dump: the processor
// stands then. A dump that is the last for now never fills it.
func (t *Tap) awaitFull() {
	const longestLine = 120
	for until := time.Now().Add(time.Millisecond); time.Now().Before(until); {
		if n, err := unix.IoctlGetInt(t.fd, unix.TIOCINQ); err != nil || n > pageSize-longestLine {
			return
		}
	}
}

// spin waits without giving up the processor: sleeping is too coarse for tens of microseconds.
func spin(d time.Duration) {
	for until := time.Now().Add(d); time.Now().Before(until); {
	}
}
