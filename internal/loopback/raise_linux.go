package loopback

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Raise sets the loopback interface up where it is down, as in a machine
// without an init system. The kernel gives it its address.
func Raise() (err error) {
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
