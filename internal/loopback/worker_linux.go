package loopback

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cswatch/cswatch/internal/hw"
)

// tally counts what a thread did. Each has a cache line, and the one that is fetched
// along with it, to itself: another thread's counting costs it nothing.
type tally struct {
	_ [128]byte
	n atomic.Uint64
	_ [120]byte
}

// worker is one thread of a flow. It counts bytes in a stream and transactions otherwise.
type worker struct {
	name   string
	socket int          // the connection, or where to connect to or accept from
	tid    atomic.Int64 // 0 until it runs, -1 when it has ended
	done   tally
	end    *atomic.Uint32 // set before the sockets are shut down
}

// run does the work on a thread of its own, that ends with it. begun gets an error, or nil when it is in its place.
func (w *worker) run(pin int, begun chan<- error, work func() error) error {
	runtime.LockOSThread() // and never unlocked
	var err error
	if pin >= 0 {
		err = hw.Pin(pin)
	}
	if err == nil {
		err = nameThread(w.name)
	}
	w.tid.Store(int64(unix.Gettid()))
	begun <- err
	if err == nil {
		err = work()
	}
	w.tid.Store(-1)
	if w.end.Load() != 0 {
		return nil // its sockets were shut down to end it
	}
	return err
}

// nameThread names the calling thread.
func nameThread(name string) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	err = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(p)), 0, 0, 0)
	runtime.KeepAlive(p)
	if err != nil {
		return fmt.Errorf("name a thread %s: %w", name, err)
	}
	return nil
}

// errEOF is the end of a connection that nobody has asked for.
var errEOF = errors.New("the other side closed the connection")
