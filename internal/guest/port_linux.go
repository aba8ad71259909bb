package guest

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// recordPort is the serial line for records.
type recordPort struct {
	mu   sync.Mutex
	f    *os.File
	line []byte
}

// openRecordPort opens the serial port and takes the terminal out of it: no
// echo, no translation of newlines, no signals.
func openRecordPort() (*recordPort, error) {
	fd, err := unix.Open(RecordPort, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s for the records: %w", RecordPort, err)
	}
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err == nil {
		t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
		t.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B115200
		err = unix.IoctlSetTermios(fd, unix.TCSETS, t)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up %s: %w", RecordPort, err), unix.Close(fd))
	}
	return &recordPort{f: os.NewFile(uintptr(fd), RecordPort)}, nil
}

// emit writes a record. A port that cannot be written leaves nobody to tell.
func (p *recordPort) emit(r Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line, err := AppendRecord(p.line[:0], r)
	if err != nil {
		line, _ = AppendRecord(p.line[:0], Record{Type: TypeTrouble, UptimeNS: r.UptimeNS, Trouble: err.Error()})
	}
	p.line = line
	_, _ = p.f.Write(line)
}

// drain waits until both serial ports have sent everything. Without it the last
// line is lost when the machine stops.
func (p *recordPort) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = unix.IoctlSetInt(int(p.f.Fd()), unix.TCSBRK, 1)
	if console, err := os.OpenFile("/dev/ttyS0", os.O_WRONLY|unix.O_NOCTTY, 0); err == nil {
		_ = unix.IoctlSetInt(int(console.Fd()), unix.TCSBRK, 1)
		_ = console.Close()
	}
}
