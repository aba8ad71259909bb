package guest

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// openFetched opens a file to hand it over. A file that has no end, or whose
// reader waits for somebody, would keep the guest from its own end: what is no
// regular file is refused, and of the kernel's, which call themselves regular,
// none is waited for.
func openFetched(path string) (io.ReadCloser, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.New("it is no regular file")
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return rawFile(fd), nil
}

// rawFile is read by the system call: an *os.File would wait where the call does not.
type rawFile int

func (f rawFile) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(f), b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (f rawFile) Close() error {
	return os.NewSyscallError("close", unix.Close(int(f)))
}
