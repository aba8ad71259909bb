package kmsg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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
	return fmt.Sprintf("read kernel log %s: %v; run as root, give the program CAP_SYSLOG (setcap cap_syslog+ep), or allow everybody: sysctl kernel.dmesg_restrict=0", e.Device, e.Err)
}

// Unwrap returns the system's error.
func (e *PermissionError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, fs.ErrPermission) hold.
func (e *PermissionError) Is(target error) bool { return target == fs.ErrPermission }

// Buffer is the log of the running machine. Reading yields kmsg records or
// journal JSON. Complete, Note and Overruns are final once reading has ended.
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

// Overruns counts how often the kernel overwrote records before they were read.
func (b *Buffer) Overruns() int {
	if b.device == nil {
		return 0
	}
	return b.device.overruns
}

// Complete reports that the text reaches from the beginning of the boot to now.
func (b *Buffer) Complete() bool { return b.Note() == "" }

// Note says what is missing, in a sentence, "" if nothing is.
func (b *Buffer) Note() string {
	notes := b.notes
	if d := b.device; d != nil {
		if d.first > 0 {
			notes = append(notes, fmt.Sprintf("the ring buffer has lost the first %d records of this boot; journalctl -k -b may have them", d.first))
		}
		if d.overruns > 0 {
			notes = append(notes, fmt.Sprintf("records were overwritten %d times while the buffer was read", d.overruns))
		}
	}
	return strings.Join(notes, "; ")
}

// ReadBuffer reads the kernel's log of this boot: the ring buffer through the
// device, or the journal if the device is not there or not allowed. If neither
// can be had, the error wraps that of the device, a *PermissionError where it
// was refused, and that of the journal.
func (c Config) ReadBuffer(ctx context.Context) (*Buffer, error) {
	c = c.withDefaults()
	d, err := openDevice(c.Device)
	if err == nil {
		d.ctx = ctx
		if err = d.prime(); err == nil {
			return &Buffer{Source: c.Device, r: d, device: d}, nil
		}
		err = errors.Join(err, d.Close())
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("read kernel log %s: %w", c.Device, ctx.Err())
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
	fd       int
	ctx      context.Context // of ReadBuffer, nil for none
	buf      []byte
	rest     []byte // of buf, not delivered yet
	first    int64  // sequence number of the first record
	primed   bool
	overruns int
	err      error
}

func openDevice(name string) (*device, error) {
	for {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
			return &device{name: name, fd: fd}, nil
		case unix.EINTR:
		case unix.EPERM, unix.EACCES:
			return nil, &PermissionError{Device: name, Err: err}
		case unix.ENOENT, unix.ENXIO, unix.ENODEV:
			return nil, fmt.Errorf("read kernel log %s: there is no such device here (a container?); give the log with --log FILE: %w", name, err)
		default:
			return nil, fmt.Errorf("read kernel log %s: %w", name, err)
		}
	}
}

// prime reads the first record, which tells whether reading is allowed and
// whether the beginning of the boot is still there.
func (d *device) prime() error {
	d.fill()
	if d.err == io.EOF {
		return nil
	}
	return d.err
}

func (d *device) fill() {
	if d.buf == nil {
		d.buf = make([]byte, recordBytes)
	}
	for d.err == nil {
		if d.ctx != nil && d.ctx.Err() != nil {
			d.err = fmt.Errorf("read kernel log %s: %w", d.name, d.ctx.Err())
			return
		}
		n, err := unix.Read(d.fd, d.buf)
		switch {
		case err == unix.EINTR:
		case err == unix.EPIPE: // the next read goes on at the oldest record left
			d.overruns++
		case err == unix.EAGAIN:
			d.err = io.EOF
		case err == unix.EPERM || err == unix.EACCES:
			d.err = &PermissionError{Device: d.name, Err: err}
		case err != nil:
			d.err = fmt.Errorf("read kernel log %s: %w", d.name, err)
		case n == 0:
			d.err = io.EOF
		default:
			d.rest = d.buf[:n]
			if !d.primed {
				d.primed = true
				d.first = sequence(d.rest)
			}
			return
		}
	}
}

// sequence reads the second field of "4,1053,28763164,-;text"; 0 if there is none.
func sequence(record []byte) int64 {
	head, _, ok := bytes.Cut(record, []byte{';'})
	fields := bytes.Split(head, []byte{','})
	if !ok || len(fields) < 3 {
		return 0
	}
	n, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
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
		return fmt.Errorf("close %s: %w", d.name, err)
	}
	return nil
}

// readJournal runs the journal's command and keeps its output.
func (c Config) readJournal(ctx context.Context) (*Buffer, error) {
	limited, cancel := context.WithTimeout(ctx, c.JournalLimit)
	defer cancel()
	name := strings.Join(c.Journal, " ")
	var out, complaint limitedBuffer
	out.limit, complaint.limit = c.JournalBytes, 4<<10
	out.full = cancel // nothing after the limit is of use
	cmd := exec.CommandContext(limited, c.Journal[0], c.Journal[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.WaitDelay = c.JournalLimit / 4
	err := cmd.Run()
	b := &Buffer{Source: name, r: bytes.NewReader(out.b)}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("run %s: %w", name, ctx.Err())
	case len(out.b) == 0 && err != nil:
		if said := strings.TrimSpace(string(complaint.b)); said != "" {
			return nil, fmt.Errorf("run %s: %w: %s", name, err, said)
		}
		return nil, fmt.Errorf("run %s: %w; give the log with --log FILE", name, err)
	case len(out.b) == 0:
		return nil, fmt.Errorf("run %s: it printed nothing; give the log with --log FILE", name)
	case out.cut:
		b.notes = append(b.notes, fmt.Sprintf("the journal printed more than %d bytes; the rest was dropped", c.JournalBytes))
	case limited.Err() != nil:
		b.notes = append(b.notes, fmt.Sprintf("the journal did not finish within %v; the rest was dropped", c.JournalLimit))
	case err != nil:
		b.notes = append(b.notes, fmt.Sprintf("the journal ended with an error: %v", err))
	}
	return b, nil
}

// limitedBuffer keeps the first bytes that are written to it.
type limitedBuffer struct {
	b     []byte
	limit int64
	cut   bool
	full  func()
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	room := l.limit - int64(len(l.b))
	if int64(len(p)) > room {
		l.b = append(l.b, p[:max(room, 0)]...)
		if !l.cut && l.full != nil {
			l.full()
		}
		l.cut = true
		return len(p), nil
	}
	l.b = append(l.b, p...)
	return len(p), nil
}
