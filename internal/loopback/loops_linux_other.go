//go:build !amd64

package loopback

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// send writes without a pause.
func (w *worker) send(message []byte) error {
	for w.end.Load() == 0 {
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
	for w.end.Load() == 0 {
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

// askAnew makes a connection for each request.
func (w *worker) askAnew(to *unix.SockaddrInet4, message []byte) error {
	for w.end.Load() == 0 {
		fd, err := dial(to)
		if err != nil {
			return err
		}
		if err = writeAll(fd, message); err == nil {
			err = readAll(fd, message)
		}
		if err = errors.Join(err, unix.Close(fd)); err != nil {
			return err
		}
		w.done.n.Add(1)
	}
	return nil
}

// answerEach answers one request of each connection, and waits until the client has closed it.
func (w *worker) answerEach(message []byte) error {
	var more [1]byte
	for w.end.Load() == 0 {
		fd, _, err := unix.Accept4(w.socket, unix.SOCK_CLOEXEC)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN || err == unix.ECONNABORTED:
			continue
		case err != nil:
			return fmt.Errorf("accept a connection on 127.0.0.1: %w", err)
		}
		served := readAll(fd, message) == nil && writeAll(fd, message) == nil
		if served {
			w.done.n.Add(1)
			_ = readAll(fd, more[:]) // until its end
		}
		_ = unix.Close(fd) // a stranger's, too
	}
	return nil
}
