package kmsg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cswatch/cswatch/internal/unpack"
)

// recordBytes is more than the kernel ever returns for one record (8 KiB); a
// smaller buffer would make the read fail with EINVAL.
const recordBytes = 16 << 10

// PermissionError says that the kernel's log may not be read, and what to do.
type PermissionError struct {
	Device string
	Err    error
}

func (e *PermissionError) Error() string {
	return fmt.Sprintf("read kernel log %s: %v; run as root, give the program CAP_SYSLOG (setcap cap_syslog+ep), or allow everybody: sysctl kernel.dmesg_restrict=0", unpack.Shown(e.Device), e.Err)
}

// Unwrap returns the system's error.
func (e *PermissionError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, fs.ErrPermission) hold.
func (e *PermissionError) Is(target error) bool { return target == fs.ErrPermission }

// ErrEmpty says that a source of the kernel's log holds no record, which no log
// of a running machine does: an empty file is mounted over the device, or the
// journal keeps no kernel messages.
var ErrEmpty = errors.New("it holds no record")

// Buffer is the log of the running machine. Reading yields kmsg records or
// journal JSON. Note is final once reading has ended.
type Buffer struct {
	// Source names where the text comes from: the device, or the command.
	Source string

	r      io.Reader
	device *device
	notes  []string
}

func (b *Buffer) Read(p []byte) (int, error) { return b.r.Read(p) }

// Close releases the device.
func (b *Buffer) Close() error {
	if b.device == nil {
		return nil
	}
	return b.device.Close()
}

// Note says in a sentence which part of the log is missing (its beginning, its
// end, or something between) and why; "" if it reaches from the beginning of
// the boot to now.
func (b *Buffer) Note() string {
	notes := b.notes
	if d := b.device; d != nil {
		if d.first > 0 {
			notes = append(notes, fmt.Sprintf("its beginning is missing: the ring buffer has lost the first %d records of this boot; journalctl -k -b may have them", d.first))
		}
		if d.overruns > 0 {
			notes = append(notes, fmt.Sprintf("records are missing: the kernel overwrote some %d times before they were read", d.overruns))
		}
	}
	return strings.Join(notes, "; ")
}

// ReadBuffer reads the kernel's log of this boot: the ring buffer through the
// device, or the journal if the device is not there, not allowed or empty. If
// neither can be had, the error wraps that of the device, a *PermissionError
// where it was refused, and that of the journal; ErrEmpty is either's that holds
// no record.
func (c Config) ReadBuffer(ctx context.Context) (*Buffer, error) {
	c = c.withDefaults()
	d, err := openDevice(c.Device, c.system)
	if err == nil {
		d.ctx = ctx
		if err = d.prime(); err == nil {
			return &Buffer{Source: c.Device, r: d, device: d}, nil
		}
		err = errors.Join(err, d.Close())
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("read kernel log %s: %w", unpack.Shown(c.Device), ctx.Err())
	}
	if len(c.Journal) == 0 {
		return nil, err
	}
	b, journalErr := c.readJournal(ctx)
	if journalErr != nil {
		return nil, errors.Join(err, journalErr)
	}
	return b, nil
}

// device reads a kernel log device without waiting: its end is where a read
// would block. It is not an os.File, whose reads wait in the runtime.
type device struct {
	name     string
	system   system
	fd       int
	ctx      context.Context // of ReadBuffer, nil for none
	buf      []byte
	rest     []byte // of buf, not delivered yet
	first    uint64 // the kernel's number of the first record
	primed   bool
	overruns int
	ended    bool // a read gave nothing, which a log device never does
	err      error
}

func openDevice(name string, sys system) (*device, error) {
	for {
		fd, err := sys.open(name)
		switch err {
		case nil:
			return &device{name: name, system: sys, fd: fd}, nil
		case unix.EINTR:
		case unix.EPERM, unix.EACCES:
			return nil, &PermissionError{Device: name, Err: err}
		case unix.ENOENT, unix.ENXIO, unix.ENODEV:
			return nil, fmt.Errorf("read kernel log %s: there is no such device here (a container?); give the log with --log FILE: %w", unpack.Shown(name), err)
		default:
			return nil, fmt.Errorf("read kernel log %s: %w", unpack.Shown(name), err)
		}
	}
}

// prime reads the first record, which tells whether reading is allowed, whether
// there is anything to read, and whether the beginning of the boot is still there.
func (d *device) prime() error {
	d.fill()
	switch {
	case d.err == io.EOF:
		return fmt.Errorf("read kernel log %s: %w; give the log with --log FILE", unpack.Shown(d.name), ErrEmpty)
	case d.err != nil:
		return d.err
	case !recordHead.Match(d.rest):
		// Such as /dev/zero, which would never end.
		return fmt.Errorf("read kernel log %s: it does not deliver the kernel's records; give the log with --log FILE", unpack.Shown(d.name))
	}
	return nil
}

// recordHead is the beginning of a record: level and facility, sequence, time, flags.
var recordHead = regexp.MustCompile(`^[0-9]{1,6},[0-9]{1,20},[0-9]{1,20},[^;\n]*;`)

func (d *device) fill() {
	if d.buf == nil {
		d.buf = make([]byte, recordBytes)
	}
	for d.err == nil {
		if d.ctx != nil && d.ctx.Err() != nil {
			d.err = fmt.Errorf("read kernel log %s: %w", unpack.Shown(d.name), d.ctx.Err())
			return
		}
		n, err := d.system.read(d.fd, d.buf)
		switch {
		case err == unix.EINTR:
		case err == unix.EPIPE: // the next read goes on at the oldest record left
			d.overruns++
		case err == unix.EAGAIN:
			d.err = io.EOF
		case err == unix.EPERM || err == unix.EACCES:
			d.err = &PermissionError{Device: d.name, Err: err}
		case err != nil:
			d.err = fmt.Errorf("read kernel log %s: %w", unpack.Shown(d.name), err)
		case n == 0:
			d.err, d.ended = io.EOF, true
		default:
			d.rest = d.buf[:n]
			if !d.primed {
				d.primed = true
				d.first, _ = recordNumber(d.rest)
			}
			return
		}
	}
}

// recordNumber reads the second field of "4,1053,28763164,-;text", which the kernel counts from 0 at boot.
func recordNumber(line []byte) (uint64, bool) {
	if !recordHead.Match(line) {
		return 0, false
	}
	_, rest, _ := bytes.Cut(line, []byte{','})
	digits, _, _ := bytes.Cut(rest, []byte{','})
	n, err := strconv.ParseUint(string(digits), 10, 64)
	return n, err == nil
}

func (d *device) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		d.fill()
		if len(d.rest) == 0 {
			return 0, d.err
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func (d *device) Close() error {
	if d.fd < 0 {
		return nil
	}
	fd := d.fd
	d.fd = -1
	if err := unix.Close(fd); err != nil {
		return fmt.Errorf("close %s: %w", unpack.Shown(d.name), err)
	}
	return nil
}
