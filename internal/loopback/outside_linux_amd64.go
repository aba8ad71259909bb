package loopback

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a step does with the result of its system call. An error, but for EINTR, ends the
// program; so does the end of a connection where bytes were to move.
const (
	plain    = iota // nothing
	opens           // it is the connection that later steps use
	whole           // so many bytes have moved: the call is repeated until all have
	counts          // so many bytes count
	anything        // nothing, and it may be an error
)

// opened stands for the connection of the step that opens.
const opened = ^uintptr(0)

// step is a system call. The layout is known to interpret.
type step struct {
	number, a0, a1, a2, a3 uintptr
	kind                   uintptr
}

// program is system calls that a thread makes again and again. The layout is known to interpret.
type program struct {
	steps   *step
	n       uintptr
	socket  uintptr // that a step has opened
	counter *uint64
	turn    uintptr // is counted after all steps
	end     *uint32
	at      uintptr // the step that failed, n where end was set
	result  int     // of the system call that failed, 0 where the connection has ended
}

// interpret carries a program out until it fails or its end is set.
//
//go:noescape
func interpret(p *program)

//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// outside interprets the program as one long system call, as far as Go's runtime knows. A thread that tells it of every
// single call keeps the runtime's monitor awake, which then looks at it some thousand times a second, and reads the clock for that:
// a tenth of a CPU, and more where the clock is slow.
//
//go:nosplit
//go:norace
func outside(p *program) {
	entersyscallblock()
	interpret(p)
	exitsyscall()
}

// repeat carries the steps out again and again until the worker ends or one of them fails.
func (w *worker) repeat(turn uintptr, socket uintptr, steps ...step) *program {
	p := &program{
		steps: unsafe.SliceData(steps), n: uintptr(len(steps)), socket: socket, turn: turn,
		counter: (*uint64)(unsafe.Pointer(&w.done.n)), end: (*uint32)(unsafe.Pointer(w.end)),
	}
	outside(p)
	runtime.KeepAlive(steps)
	return p
}

// fault is why a program has ended, nil if it was to. The steps of a number move bytes to the other side.
func (p *program) fault(steps []step) error {
	if p.at == p.n {
		return nil
	}
	var err error = errEOF
	if p.result < 0 {
		err = syscall.Errno(-p.result)
	}
	what := "receive over loopback"
	switch steps[p.at].number {
	case unix.SYS_SENDTO:
		what = "send over loopback"
	case unix.SYS_SOCKET, unix.SYS_CONNECT:
		what = "connect over loopback"
	case unix.SYS_ACCEPT4:
		what = "accept a connection on 127.0.0.1"
	}
	return fmt.Errorf("%s: %w", what, err)
}

func bytesOf(b []byte) (at, n uintptr) {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b))
}

// move makes the step of a receive or a send.
func move(number, socket uintptr, b []byte, kind uintptr) step {
	at, n := bytesOf(b)
	s := step{number: number, a0: socket, a1: at, a2: n, kind: kind}
	if number == unix.SYS_SENDTO {
		s.a3 = unix.MSG_NOSIGNAL
	}
	return s
}

// endless carries steps on the worker's own socket out.
func (w *worker) endless(turn uintptr, message []byte, steps ...step) error {
	p := w.repeat(turn, 0, steps...)
	runtime.KeepAlive(message)
	return p.fault(steps)
}

// send writes without a pause.
func (w *worker) send(message []byte) error {
	return w.endless(0, message, move(unix.SYS_SENDTO, uintptr(w.socket), message, counts))
}

// receive reads without a pause.
func (w *worker) receive(buffer []byte) error {
	return w.endless(0, buffer, move(unix.SYS_RECVFROM, uintptr(w.socket), buffer, counts))
}

// ask sends a request and waits for the answer, again and again.
func (w *worker) ask(message []byte) error {
	return w.endless(1, message, move(unix.SYS_SENDTO, uintptr(w.socket), message, whole), move(unix.SYS_RECVFROM, uintptr(w.socket), message, whole))
}

// answer waits for requests and answers them.
func (w *worker) answer(message []byte) error {
	return w.endless(1, message, move(unix.SYS_RECVFROM, uintptr(w.socket), message, whole), move(unix.SYS_SENDTO, uintptr(w.socket), message, whole))
}

// askAnew makes a connection for each request.
func (w *worker) askAnew(to *unix.SockaddrInet4, message []byte) error {
	address := &unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: to.Addr}
	port := (*[2]byte)(unsafe.Pointer(&address.Port))
	port[0], port[1] = byte(to.Port>>8), byte(to.Port)
	steps := []step{
		{number: unix.SYS_SOCKET, a0: unix.AF_INET, a1: unix.SOCK_STREAM | unix.SOCK_CLOEXEC, kind: opens},
		{number: unix.SYS_CONNECT, a0: opened, a1: uintptr(unsafe.Pointer(address)), a2: unix.SizeofSockaddrInet4},
		move(unix.SYS_SENDTO, opened, message, whole),
		move(unix.SYS_RECVFROM, opened, message, whole),
		{number: unix.SYS_CLOSE, a0: opened},
	}
	p := w.repeat(1, opened, steps...)
	runtime.KeepAlive(address)
	runtime.KeepAlive(message)
	if p.at > 0 && p.at < p.n {
		_ = unix.Close(int(p.socket))
	}
	return p.fault(steps)
}

// answerEach answers one request of each connection, and waits until the client has closed it.
func (w *worker) answerEach(message []byte) error {
	more := make([]byte, 1)
	steps := []step{
		{number: unix.SYS_ACCEPT4, a0: uintptr(w.socket), a3: unix.SOCK_CLOEXEC, kind: opens},
		move(unix.SYS_RECVFROM, opened, message, whole),
		move(unix.SYS_SENDTO, opened, message, whole),
		move(unix.SYS_RECVFROM, opened, more, anything), // until its end
		{number: unix.SYS_CLOSE, a0: opened},
	}
	for {
		p := w.repeat(1, opened, steps...)
		runtime.KeepAlive(message)
		runtime.KeepAlive(more)
		switch {
		case p.at == 0 && (p.result == -int(unix.EAGAIN) || p.result == -int(unix.ECONNABORTED)):
		case p.at == 0 || p.at == p.n:
			return p.fault(steps)
		default:
			_ = unix.Close(int(p.socket)) // a stranger's
		}
	}
}
