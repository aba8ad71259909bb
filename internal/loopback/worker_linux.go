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
	end    *atomic.Bool // set before the sockets are shut down
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
	if w.end.Load() {
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

// send writes without a pause.
func (w *worker) send(message []byte) error {
	for !w.end.Load() {
		n, err := unix.Write(w.socket, message)
		if n > 0 {
			w.done.n.Add(uint64(n))
		}
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("send over loopback: %w", err)
		}
	}
	return nil
}

// receive reads without a pause.
func (w *worker) receive(buffer []byte) error {
	for {
		n, err := unix.Read(w.socket, buffer)
		if n > 0 {
			w.done.n.Add(uint64(n))
			continue
		}
		if err == unix.EINTR {
			continue
		}
		if err == nil {
			err = errEOF
		}
		return fmt.Errorf("receive over loopback: %w", err)
	}
}

// ask sends a request and waits for the answer, again and again.
func (w *worker) ask(message []byte) error {
	for !w.end.Load() {
		if err := writeAll(w.socket, message); err != nil {
			return err
		}
		if err := readAll(w.socket, message); err != nil {
			return err
		}
		w.done.n.Add(1)
	}
	return nil
}

// answer waits for requests and answers them.
func (w *worker) answer(message []byte) error {
	for {
		if err := readAll(w.socket, message); err != nil {
			return err
		}
		if err := writeAll(w.socket, message); err != nil {
			return err
		}
		w.done.n.Add(1)
	}
}

func writeAll(fd int, message []byte) error {
	for len(message) > 0 {
		n, err := unix.Write(fd, message)
		if n > 0 {
			message = message[n:]
		}
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("send over loopback: %w", err)
		}
	}
	return nil
}

func readAll(fd int, buffer []byte) error {
	for len(buffer) > 0 {
		n, err := unix.Read(fd, buffer)
		switch {
		case n > 0:
			buffer = buffer[n:]
		case err == unix.EINTR:
		case err == nil:
			return fmt.Errorf("receive over loopback: %w", errEOF)
		default:
			return fmt.Errorf("receive over loopback: %w", err)
		}
	}
	return nil
}
