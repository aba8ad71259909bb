package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// disk is a file on a disk with little room, which may fail to sync.
type disk struct {
	*os.File
	room   int
	unsafe error
}

func (d *disk) Write(b []byte) (int, error) {
	n, err := d.File.Write(b[:min(len(b), d.room)])
	d.room -= n
	if err == nil && n < len(b) {
		err = &os.PathError{Op: "write", Path: d.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}

func (d *disk) Sync() error { return d.unsafe }

func newDisk(t *testing.T) *disk {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "lines"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &disk{File: f}
}

func text(t *testing.T, d *disk) string {
	t.Helper()
	b, err := os.ReadFile(d.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestALineThatDoesNotFitLeavesNothing(t *testing.T) {
	const line = "\"0123456789\"\n"
	for room := range len(line) {
		d := newDisk(t)
		d.room = len(line) + room
		w, err := Continue(d, Extent{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append("0123456789", true); err != nil {
			t.Fatal(err)
		}
		if err := w.Append("0123456789", true); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), d.Name()) {
			t.Errorf("room for %d: error %v", room, err)
		}
		if got := text(t, d); got != line {
			t.Errorf("room for %d: the file is %q", room, got)
		}
		d.room = 100 // somebody has made room
		if err := w.Append(1, true); err != nil || text(t, d) != line+"1\n" {
			t.Errorf("room for %d: then %v, %q", room, err, text(t, d))
		}
	}
}

func TestAfterASyncThatFailedNothingIsAppended(t *testing.T) {
	d := newDisk(t)
	d.room = 100
	w, err := Continue(d, Extent{})
	if err != nil {
		t.Fatal(err)
	}
	d.unsafe = syscall.EIO
	for range 2 {
		if err := w.Append(1, true); !errors.Is(err, syscall.EIO) || text(t, d) != "" {
			t.Errorf("%v, %q", err, text(t, d))
		}
		d.unsafe = nil // a second sync would say that all is well
	}
}

func TestALineThatCouldNotBeReadIsNotWritten(t *testing.T) {
	d := newDisk(t)
	d.room = 4 * MaxLine
	w, err := Continue(d, Extent{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(strings.Repeat("x", MaxLine-3), false); err != nil {
		t.Error(err) // with its quotes and its end it just fits
	}
	if err := w.Append(strings.Repeat("x", MaxLine-2), false); err == nil || !strings.Contains(err.Error(), "longer than 1 MiB") {
		t.Errorf("error %v", err)
	}
	if e, err := Read(strings.NewReader(text(t, d)), func(int, []byte) error { return nil }); err != nil || e.Lines != 1 {
		t.Errorf("%v, %d lines", err, e.Lines)
	}
}

func TestReadingEndsAtTheLineThatIsRefused(t *testing.T) {
	e, err := Read(strings.NewReader("1\n2\n3\n"), func(n int, _ []byte) error {
		if n == 2 {
			return errors.New("not this one")
		}
		return nil
	})
	if err == nil || err.Error() != "line 2: not this one" || e.Lines != 1 || e.Bytes != 2 {
		t.Errorf("%v, %+v", err, e)
	}
}

type linesWithoutEnd struct{}

func (linesWithoutEnd) Read(b []byte) (int, error) {
	b = b[:min(len(b), 4096)]
	clear(b)
	b[len(b)-1] = '\n'
	return len(b), nil
}

func TestAJournalWithoutEndIsRefusedAndNotCut(t *testing.T) {
	e, err := Read(linesWithoutEnd{}, func(int, []byte) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "larger than 1024 MiB") {
		t.Errorf("%v after %d bytes", err, e.Bytes)
	}
}

func TestAFolderThatIsNotThereCannotBePutOnTheDisk(t *testing.T) {
	dir := t.TempDir()
	if err := SyncFolder(dir); err != nil {
		t.Error(err)
	}
	if err := SyncFolder(filepath.Join(dir, "no")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "on the disk") {
		t.Errorf("error %v", err)
	}
}

func TestOnlyOneHasTheLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	var open [2]*os.File
	for i := range open {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		open[i] = f
	}
	if err := Lock(open[0]); err != nil {
		t.Fatal(err)
	}
	if err := Lock(open[1]); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v", err)
	}
	if locked, err := Locked(open[1]); !locked || err != nil {
		t.Errorf("locked: %v, %v", locked, err)
	}
	open[0].Close()
	if locked, err := Locked(open[1]); locked || err != nil {
		t.Errorf("given up, and locked: %v, %v", locked, err)
	}
	if err := Lock(open[1]); err != nil {
		t.Errorf("after the first gave it up: %v", err)
	}
}

// Whatever lies in the file: lines and rest together are the file, to the byte.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{}\n{}\n{"))
	f.Add([]byte(""))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var again bytes.Buffer
		e, err := Read(bytes.NewReader(text), func(n int, line []byte) error {
			if bytes.ContainsRune(line, '\n') {
				t.Error("a line of two")
			}
			again.Write(line)
			again.WriteByte('\n')
			return nil
		})
		if again.Len() != int(e.Bytes) {
			t.Errorf("%d bytes, %d handed over", e.Bytes, again.Len())
		}
		if again.Write(e.Rest); err == nil && !bytes.Equal(again.Bytes(), text) {
			t.Errorf("%q became %q", text, again.Bytes())
		}
	})
}
