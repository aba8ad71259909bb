package newc

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Kind is the type of an entry.
type Kind uint32

// The types, with the bits by which Unix marks them in a mode.
const (
	File   Kind = 0o100000
	Folder Kind = 0o040000
	Link   Kind = 0o120000 // symbolic; its data are the target
	Char   Kind = 0o020000 // character device
)

// Entry is what an archive says of a file.
type Entry struct {
	Name         string // path from the root, with or without a slash before it
	Kind         Kind
	Perm         uint32 // permission bits; 0 means 0o755 for folders and 0o644 for the rest
	Major, Minor uint32 // of a device
	Size         int64  // of the data
}

// Limits of the form: sizes have 32 bits, and the kernel takes names below 4 KiB.
const (
	MaxName = 4095
	MaxSize = 1<<32 - 1
)

const trailer = "TRAILER!!!"

// Writer writes an archive.
type Writer struct {
	w       io.Writer
	inode   uint32
	written map[string]Kind
	err     error
}

// NewWriter returns a writer of an archive to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, written: map[string]Kind{}} }

// Add writes an entry and its data. Data must deliver exactly e.Size bytes; it
// may be nil where that is 0. An error ends the archive.
func (a *Writer) Add(e Entry, data io.Reader) error {
	if a.err == nil {
		a.err = a.add(e, data)
	}
	return a.err
}

// Close writes the end of the archive; the caller closes what lies below.
func (a *Writer) Close() error {
	if a.err != nil {
		return a.err
	}
	a.err = errors.New("write to a closed archive")
	return a.entry(Entry{Name: trailer}, nil)
}

func (a *Writer) add(e Entry, data io.Reader) error {
	name := strings.TrimPrefix(path.Clean("/"+e.Name), "/")
	switch {
	case name == "" || len(name) > MaxName || strings.Contains(name, "\x00") || name == trailer:
		return fmt.Errorf("add %q to the archive: no usable name", e.Name)
	case e.Size < 0 || e.Size > MaxSize:
		return fmt.Errorf("add %s to the archive: %d bytes, the form has room for %d", name, e.Size, int64(MaxSize))
	case e.Kind != File && e.Kind != Link && e.Size > 0:
		return fmt.Errorf("add %s to the archive: only files and links have data", name)
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		if err := a.folder(name[:i]); err != nil {
			return err
		}
	}
	if e.Kind == Folder && a.written[name] == Folder {
		return nil // added with an earlier entry
	}
	if _, twice := a.written[name]; twice {
		return fmt.Errorf("add %s to the archive: it is in it already", name)
	}
	if e.Perm == 0 {
		if e.Perm = 0o644; e.Kind == Folder {
			e.Perm = 0o755
		}
	}
	a.written[name] = e.Kind
	e.Name = name
	return a.entry(e, data)
}

// folder adds a folder unless it is there.
func (a *Writer) folder(name string) error {
	switch kind, there := a.written[name]; {
	case !there:
		a.written[name] = Folder
		return a.entry(Entry{Name: name, Kind: Folder, Perm: 0o755}, nil)
	case kind != Folder:
		return fmt.Errorf("%s is in the archive as something other than a folder", name)
	}
	return nil
}

func (a *Writer) entry(e Entry, data io.Reader) error {
	a.inode++
	mode, links := uint32(e.Kind)|e.Perm&0o7777, 1
	if e.Kind == Folder {
		links = 2
	}
	// magic, inode, mode, owner, group, links, time, size, device of the file
	// system (two), of the entry (two), size of the name with its zero, check.
	head := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.inode, mode, 0, 0, links, 0, uint32(e.Size), 0, 0, e.Major, e.Minor, len(e.Name)+1, 0, e.Name)
	if err := a.padded(head); err != nil {
		return fmt.Errorf("write %s to the archive: %w", e.Name, err)
	}
	if e.Size == 0 {
		return nil
	}
	n, err := io.Copy(a.w, io.LimitReader(data, e.Size))
	if err == nil && n < e.Size {
		err = fmt.Errorf("it has %d bytes instead of %d: %w", n, e.Size, io.ErrUnexpectedEOF)
	}
	if err == nil {
		err = a.pad(n)
	}
	if err != nil {
		return fmt.Errorf("write %s to the archive: %w", e.Name, err)
	}
	return nil
}

// padded writes a text and fills up to a multiple of four bytes.
func (a *Writer) padded(s string) error {
	if _, err := io.WriteString(a.w, s); err != nil {
		return err
	}
	return a.pad(int64(len(s)))
}

func (a *Writer) pad(n int64) error {
	_, err := io.WriteString(a.w, "\x00\x00\x00"[:-n&3])
	return err
}
