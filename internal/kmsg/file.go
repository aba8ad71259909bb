package kmsg

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cswatch/cswatch/internal/unpack"
)

// Sentinels for what OpenLog branches on; fs.ErrNotExist and fs.ErrPermission
// are wrapped as well.
var (
	// ErrDirectory: the name is a directory.
	ErrDirectory = errors.New("is a directory")
	// ErrJournalFile: the file is a journal in binary form.
	ErrJournalFile = errors.New("is a binary journal file")
)

// Log is an open log. Reading yields its text, decompressed.
type Log struct {
	io.Reader
	// Name is the file as it was named, "-" for standard input.
	Name string
	// Format says how the file was packed, "" if it was not.
	Format unpack.Format

	closer io.Closer
}

// Close closes the file. Standard input stays open.
func (l *Log) Close() error {
	if l.closer == nil {
		return nil
	}
	if err := l.closer.Close(); err != nil {
		return fmt.Errorf("close %s: %w", unpack.Shown(l.Name), bare(err))
	}
	return nil
}

// OpenLog opens the named log, "-" for standard input. Errors say what to do
// about them. A kernel log device is read to its present end.
func (c Config) OpenLog(name string) (*Log, error) {
	c = c.withDefaults()
	l := &Log{Name: name}
	if name == "-" {
		return l.unpack(c.Stdin)
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open log %s: there is no such file; check the path: %w", unpack.Shown(name), bare(err))
	case errors.Is(err, fs.ErrPermission):
		return nil, permission(name, err)
	case err != nil:
		return nil, fmt.Errorf("open log %s: %w", unpack.Shown(name), bare(err))
	case info.IsDir():
		return nil, fmt.Errorf("open log %s: %w; name a file in it, or for a journal run: journalctl -D %s -k -o json | cswatch ... -", unpack.Shown(name), ErrDirectory, unpack.Shown(name))
	}
	if info.Mode()&fs.ModeCharDevice != 0 && filepath.Base(name) == "kmsg" {
		d, err := openDevice(name, c.system)
		if err != nil {
			return nil, err
		}
		if err := d.prime(); err != nil {
			return nil, errors.Join(err, d.Close())
		}
		l.closer, l.Reader = d, d
		return l, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrPermission) {
		return nil, permission(name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open log %s: %w", unpack.Shown(name), bare(err))
	}
	l.closer = f
	opened, err := l.unpack(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return opened, nil
}

func permission(name string, err error) error {
	return fmt.Errorf("open log %s: not allowed to read it; run as root, join the group that may (adm or systemd-journal), or run: sudo cat %s | cswatch ... -: %w", unpack.Shown(name), unpack.Shown(name), bare(err))
}

// bare takes the name out of an error of the system: it is said already, in a
// form that does nothing to a terminal.
func bare(err error) error {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Err
	}
	return err
}

// unpack looks at the first bytes of the log.
func (l *Log) unpack(r io.Reader) (*Log, error) {
	br := bufio.NewReaderSize(r, 4096)
	if head, _ := br.Peek(8); string(head) == "LPKSHHRH" {
		what := "--file " + unpack.Shown(l.Name)
		if l.Name == "-" {
			what = "--file FILE"
		}
		return nil, fmt.Errorf("open log %s: %w; run: journalctl %s -k -o json | cswatch ... -", unpack.Shown(l.Name), ErrJournalFile, what)
	}
	var err error
	l.Reader, l.Format, err = unpack.Reader(br, l.Name)
	if err != nil {
		var e *unpack.Error
		if errors.As(err, &e) {
			return nil, err
		}
		return nil, fmt.Errorf("read log %s: %w", unpack.Shown(l.Name), bare(err))
	}
	return l, nil
}
