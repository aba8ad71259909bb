package loopback

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// patience is how long the server of a crr waits for a peer: a stranger who connects and
// says nothing must not stop it for good.
const patience = 3 // seconds

// listener is a socket that accepts connections over loopback.
type listener struct {
	fd   int
	addr unix.SockaddrInet4
}

func listen() (l listener, err error) {
	if l.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return l, fmt.Errorf("open a TCP socket: %w: the kernel needs CONFIG_INET", err)
	}
	fail := func(what string, err error) (listener, error) {
		return listener{}, errors.Join(fmt.Errorf("%s: %w", what, err), unix.Close(l.fd))
	}
	if err := unix.Bind(l.fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return fail("bind a socket to 127.0.0.1", err)
	}
	if err := unix.Listen(l.fd, MaxFlows); err != nil {
		return fail("listen on 127.0.0.1", err)
	}
	name, err := unix.Getsockname(l.fd)
	if err != nil {
		return fail("ask for the address of a socket", err)
	}
	l.addr = *name.(*unix.SockaddrInet4)
	return l, nil
}

// pair makes a connection and returns both ends.
func (l *listener) pair() (client, server int, err error) {
	if client, err = dial(&l.addr); err != nil {
		return 0, 0, err
	}
	own, err := unix.Getsockname(client)
	if err != nil {
		return 0, 0, errors.Join(fmt.Errorf("ask for the address of a socket: %w", err), unix.Close(client))
	}
	for {
		fd, peer, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC)
		switch {
		case err == unix.EINTR || err == unix.ECONNABORTED:
			continue
		case err != nil:
			return 0, 0, errors.Join(fmt.Errorf("accept a connection on 127.0.0.1: %w", err), unix.Close(client))
		}
		// Others of this machine may knock, too.
		if from, ok := peer.(*unix.SockaddrInet4); ok && from.Port == own.(*unix.SockaddrInet4).Port && from.Addr == own.(*unix.SockaddrInet4).Addr {
			return client, fd, errors.Join(promptly(client), promptly(fd))
		}
		_ = unix.Close(fd)
	}
}

// promptly has messages sent at once, which only matters for those that do not fit one segment.
func promptly(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fmt.Errorf("set TCP_NODELAY: %w", err)
	}
	return nil
}

// dial connects to the address.
func dial(to unix.Sockaddr) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, fmt.Errorf("open a TCP socket: %w", err)
	}
	if err := unix.Connect(fd, to); err != nil {
		return 0, errors.Join(fmt.Errorf("connect over loopback: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// forget has the server's end of a connection reset it when it is closed, after the client
// has closed its own: no end is left waiting for a minute. Some ten thousand a second would fill the table
// of those, which the kernel logs, and each new connection would take longer to find a free port.
// Connections that are accepted take this over from the socket that accepts them, and the patience, too.
func (l *listener) forget() error {
	if err := unix.SetsockoptLinger(l.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
		return fmt.Errorf("set SO_LINGER: %w", err)
	}
	if err := unix.SetsockoptTimeval(l.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: patience}); err != nil {
		return fmt.Errorf("set SO_RCVTIMEO: %w", err)
	}
	return promptly(l.fd)
}
