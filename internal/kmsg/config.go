package kmsg

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Config says where logs come from. The zero value is the running machine.
type Config struct {
	// Device is the kernel's log device; "" is /dev/kmsg.
	Device string
	// Journal is the command that prints the kernel records of this boot as
	// JSON; nil is journalctl -k -b -o json --no-pager. An empty, non-nil slice
	// means that there is no journal to fall back to.
	Journal []string
	// JournalLimit is the time that the command may take; 0 is 2 s.
	JournalLimit time.Duration
	// JournalBytes is how much of its output is kept, half from its beginning and
	// half from its end; 0 is 16 MiB.
	JournalBytes int64
	// Stdin is what the name "-" opens; nil is standard input.
	Stdin io.Reader

	system system // how the device is reached; nil functions are the system's own
}

// system is what a device needs of the system.
type system struct {
	open func(name string) (fd int, err error)
	read func(fd int, p []byte) (int, error)
}

func (c Config) withDefaults() Config {
	if c.Device == "" {
		c.Device = "/dev/kmsg"
	}
	if c.Journal == nil {
		c.Journal = []string{"journalctl", "-k", "-b", "-o", "json", "--no-pager"}
	}
	if c.JournalLimit == 0 {
		c.JournalLimit = 2 * time.Second
	}
	if c.JournalBytes == 0 {
		c.JournalBytes = 16 << 20
	}
	if c.Stdin == nil {
		c.Stdin = os.Stdin
	}
	if c.system.open == nil {
		c.system.open = func(name string) (int, error) {
			return unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		}
	}
	if c.system.read == nil {
		c.system.read = unix.Read
	}
	return c
}

// ReadBuffer reads the log of the running machine; see [Config.ReadBuffer].
func ReadBuffer(ctx context.Context) (*Buffer, error) { return Config{}.ReadBuffer(ctx) }
