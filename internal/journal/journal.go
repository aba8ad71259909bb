package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Limits of a journal, in bytes. What exceeds them is refused, and never cut off:
// it was not this package that wrote it.
const (
	MaxLine  = 1 << 20 // with its end
	MaxBytes = 1 << 30
)

// ErrBusy says that another process has the lock.
var ErrBusy = errors.New("another run is using it")

// Storage is what a journal lies in: an [os.File], or what a test puts in its place.
type Storage interface {
	io.Reader
	io.Writer
	io.Seeker
	Truncate(size int64) error
	Sync() error
	Close() error
	Name() string
}

// Lock has the file for this process alone until it is closed, also by the
// process's death. It does not wait: where another process has it, ErrBusy.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrBusy
	case err != nil:
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// Locked reports whether a process has the file by Lock. It asks by a lock of its
// own, which any number of askers may have: for that instant Lock is refused.
func Locked(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return true, nil
	case err == nil:
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	}
	if err != nil {
		return false, fmt.Errorf("ask for the lock of %s: %w", f.Name(), err)
	}
	return false, nil
}

// SyncFolder sees to it that what was made, renamed or removed in a folder stays
// so after a failure of the machine.
func SyncFolder(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("put a folder's names on the disk: %w", err)
	}
	defer dir.Close()
	// Some file systems cannot do that for a folder, and then need not.
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("put a folder's names on the disk: %w", err)
	}
	return nil
}

// Extent tells how far the whole lines of a journal go.
type Extent struct {
	Lines int    // that are whole
	Bytes int64  // that they take
	Rest  []byte // what follows them: a line that was not written whole
}

// Read calls take with the number, from 1, and the text of each whole line,
// without its end; the text is good until take returns. An error of take ends the
// reading and comes back with the line's number.
func Read(r io.Reader, take func(n int, text []byte) error) (Extent, error) {
	var e Extent
	// One byte more than may be, to tell a journal that is too large from one that fits.
	in := bufio.NewReaderSize(io.LimitReader(r, MaxBytes+1), MaxLine)
	for {
		line, err := in.ReadSlice('\n')
		if e.Bytes+int64(len(line)) > MaxBytes {
			return e, fmt.Errorf("it is larger than %d MiB, which none of ours is", MaxBytes>>20)
		}
		switch {
		case err == io.EOF:
			e.Rest = append([]byte(nil), line...)
			return e, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return e, fmt.Errorf("line %d: it is longer than %d MiB, which none of ours is", e.Lines+1, MaxLine>>20)
		case err != nil:
			return e, fmt.Errorf("line %d: %w", e.Lines+1, err)
		}
		if err := take(e.Lines+1, line[:len(line)-1]); err != nil {
			return e, fmt.Errorf("line %d: %w", e.Lines+1, err)
		}
		e.Lines++
		e.Bytes += int64(len(line))
	}
}

// Writer appends lines. It is for one goroutine at a time.
type Writer struct {
	f      Storage
	end    int64 // of the lines that are whole
	dirty  bool  // something may lie behind the end
	broken error
}

// Continue takes away what follows the whole lines, and appends from there. The
// caller has the lock, and had it when it read the extent.
func Continue(f Storage, e Extent) (*Writer, error) {
	w := &Writer{f: f, end: e.Bytes}
	if err := w.restore(); err != nil {
		return nil, fmt.Errorf("take away the line that is not whole: %w", err)
	}
	return w, nil
}

func (w *Writer) restore() error {
	if err := w.f.Truncate(w.end); err != nil {
		return err
	}
	_, err := w.f.Seek(w.end, io.SeekStart)
	w.dirty = err != nil
	return err
}

// Append writes a value as a line of JSON, and with sync puts all lines onto the
// disk. With an error nothing of the line stays. After a write that failed, on a
// full disk say, the next one may go well; after a sync that failed, none does.
func (w *Writer) Append(line any, sync bool) error {
	if w.broken != nil {
		return w.broken
	}
	b, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("encode a line of %s: %w", w.f.Name(), err)
	}
	if len(b) >= MaxLine {
		return fmt.Errorf("append to %s: the line is longer than %d MiB", w.f.Name(), MaxLine>>20)
	}
	if w.dirty {
		err = w.restore()
	}
	if err == nil {
		_, err = w.f.Write(append(b, '\n'))
	}
	if err == nil && sync {
		err = w.Sync()
	}
	if err != nil {
		w.dirty = true
		return errors.Join(err, w.restore())
	}
	w.end += int64(len(b)) + 1
	return nil
}

// Sync puts all lines onto the disk. Where that fails nobody knows which lines are
// there, and a second try would say that all is well: so nothing is appended any more.
func (w *Writer) Sync() error {
	if w.broken != nil {
		return w.broken
	}
	if err := w.f.Sync(); err != nil {
		w.broken = fmt.Errorf("%w (start anew to see what is on the disk)", err)
		return w.broken
	}
	return nil
}

// Close puts all lines onto the disk and gives up the file.
func (w *Writer) Close() error { return errors.Join(w.Sync(), w.f.Close()) }
