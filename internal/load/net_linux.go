package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// streamBuffer is the size of a write and of a read.
const streamBuffer = 64 << 10

// stream starts a TCP stream over loopback that ends with ctx.
func stream(ctx context.Context, r *Running) error {
	if err := raiseLoopback(); err != nil {
		return err
	}
	in, out, err := connect(ctx)
	if err != nil {
		return err
	}
	// Both ends wait in the kernel, and closing is what wakes them.
	context.AfterFunc(ctx, func() {
		_ = out.Close()
		_ = in.Close()
	})
	pump(ctx, r, in, out)
	return nil
}

// pump starts the workers that write to one end and read from the other.
func pump(ctx context.Context, r *Running, in io.Reader, out io.Writer) {
	work := func(transfer func([]byte) (int, error), arrived bool) func() {
		return func() {
			buffer := make([]byte, streamBuffer)
			var w Work
			for {
				n, err := transfer(buffer)
				if arrived {
					w.Bytes += uint64(n)
				}
				if err != nil {
					if ctx.Err() != nil {
						err = nil // we closed the ends ourselves
					}
					r.add(w, err)
					return
				}
			}
		}
	}
	r.workers.Go(work(in.Read, true))
	r.workers.Go(work(out.Write, false))
}

// connect returns the two ends of a new connection.
func connect(ctx context.Context) (in, out net.Conn, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	if out, err = (&net.Dialer{}).DialContext(ctx, "tcp4", listener.Addr().String()); err != nil {
		return nil, nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	for {
		if in, err = listener.Accept(); err != nil {
			return nil, nil, errors.Join(err, out.Close())
		}
		// Others of this machine may knock, too.
		if in.RemoteAddr().String() == out.LocalAddr().String() {
			return in, out, nil
		}
		_ = in.Close()
	}
}

// raiseLoopback sets the loopback interface up where it is down, as in a machine
// without an init system. The kernel gives it its address.
func raiseLoopback() (err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w: the kernel needs CONFIG_INET", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request); err != nil {
		return fmt.Errorf("read the flags of the interface lo: %w", err)
	}
	flags := request.Uint16()
	if flags&unix.IFF_UP != 0 {
		return nil
	}
	request.SetUint16(flags | unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("set the interface lo up: %w: as root, ip link set lo up", err)
	}
	return nil
}
