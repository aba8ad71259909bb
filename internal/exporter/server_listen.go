package exporter

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"
)

// listen opens the sockets; all or none.
func listen(addresses []string, systemd bool) ([]net.Listener, error) {
	if systemd {
		return inherited()
	}
	if len(addresses) == 0 {
		addresses = []string{DefaultAddress}
	}
	var open []net.Listener
	for _, address := range addresses {
		l, err := listenOn(address)
		if err != nil {
			closeAll(open)
			return nil, err
		}
		open = append(open, l)
	}
	return open, nil
}

func listenOn(address string) (net.Listener, error) {
	if strings.HasPrefix(address, "vsock://") {
		return nil, fmt.Errorf("listen on %s: vsock is not supported: give HOST:PORT, or let systemd open the socket", address)
	}
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	return nil, fmt.Errorf("listen on %s: %w%s", address, cause(err), remedy(err))
}

// cause takes the words away that repeat what was attempted.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// remedy says what to do about a socket that could not be opened.
func remedy(err error) string {
	var form *net.AddrError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return ": another program has this port, perhaps another monitor: stop it, or give another port with --web.listen-address"
	case errors.Is(err, syscall.EACCES):
		return ": ports below 1024 need CAP_NET_BIND_SERVICE: give a higher one with --web.listen-address, or let systemd open the socket"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return ": this machine does not have this address (yet): give one that `ip address` shows"
	case errors.As(err, &form):
		return ": write HOST:PORT, as in " + DefaultAddress + ", or :PORT for all addresses of this machine"
	}
	return ""
}

// inherited returns the sockets that systemd opened for this process.
func inherited() ([]net.Listener, error) {
	handed, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("take the sockets that systemd opened: %w", err)
	}
	if len(handed) == 0 {
		return nil, errors.New("systemd handed no socket over: start the .socket unit instead of the service, or leave --web.systemd-socket out")
	}
	for i, l := range handed {
		if l == nil {
			closeAll(handed)
			return nil, fmt.Errorf("socket %d of %d that systemd handed over takes no connections: it must be a ListenStream= of the .socket unit", i+1, len(handed))
		}
	}
	return handed, nil
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		if l != nil {
			_ = l.Close() // the error that is returned matters more
		}
	}
}
