package newc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read reads an archive with nothing but what the form's description says.
func read(b []byte) (entries []Entry, data []string, err error) {
	for {
		if len(b) < 110 || string(b[:6]) != "070701" {
			return nil, nil, fmt.Errorf("no header in %d bytes", len(b))
		}
		field := func(i int) uint32 {
			v, e := strconv.ParseUint(string(b[6+8*i:14+8*i]), 16, 32)
			if e != nil {
				err = e
			}
			return uint32(v)
		}
		mode, size, nameSize := field(1), int(field(6)), int(field(11))
		major, minor := field(9), field(10)
		if err != nil {
			return nil, nil, err
		}
		up := func(n int) int { return (n + 3) &^ 3 }
		start := up(110 + nameSize)
		if nameSize < 2 || start+up(size) > len(b) {
			return nil, nil, errors.New("an entry is cut")
		}
		name := string(b[110 : 110+nameSize-1])
		content := string(b[start : start+size])
		b = b[start+up(size):]
		if name == trailer {
			if len(b) > 0 {
				return nil, nil, fmt.Errorf("%d bytes after the end", len(b))
			}
			return entries, data, nil
		}
		entries = append(entries, Entry{Name: name, Kind: Kind(mode &^ 0o7777), Perm: mode & 0o7777, Major: major, Minor: minor, Size: int64(size)})
		data = append(data, content)
	}
}

func archive(t testing.TB, add func(a *Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	a := NewWriter(&b)
	if err := errors.Join(add(a), a.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func small(a *Writer) error {
	return errors.Join(
		a.Add(Entry{Name: "/init", Kind: File, Perm: 0o755, Size: 5}, strings.NewReader("hello")),
		a.Add(Entry{Name: "dev/console", Kind: Char, Perm: 0o600, Major: 5, Minor: 1}, nil),
		a.Add(Entry{Name: "dev/null", Kind: Char, Perm: 0o666, Major: 1, Minor: 3}, nil),
		a.Add(Entry{Name: "a/b/../c/link", Kind: Link, Perm: 0o777, Size: 5}, strings.NewReader("/init")),
		a.Add(Entry{Name: "dev", Kind: Folder}, nil),
	)
}

func TestAnArchiveHoldsItsEntriesAndTheFoldersAboveThem(t *testing.T) {
	entries, data, err := read(archive(t, small))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{Name: "init", Kind: File, Perm: 0o755, Size: 5},
		{Name: "dev", Kind: Folder, Perm: 0o755},
		{Name: "dev/console", Kind: Char, Perm: 0o600, Major: 5, Minor: 1},
		{Name: "dev/null", Kind: Char, Perm: 0o666, Major: 1, Minor: 3},
		{Name: "a", Kind: Folder, Perm: 0o755},
		{Name: "a/c", Kind: Folder, Perm: 0o755},
		{Name: "a/c/link", Kind: Link, Perm: 0o777, Size: 5},
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"hello", "", "", "", "", "", "/init"}, data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

func TestTheSameEntriesGiveTheSameBytes(t *testing.T) {
	if !bytes.Equal(archive(t, small), archive(t, small)) {
		t.Error("two archives of the same entries differ")
	}
}

// An independent reader agrees.
func TestCpioReadsTheArchive(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("cpio is not installed")
	}
	cmd := exec.Command("cpio", "--quiet", "-it")
	cmd.Stdin = bytes.NewReader(archive(t, small))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "init\ndev\ndev/console\ndev/null\na\na/c\na/c/link\n"; string(out) != want {
		t.Errorf("cpio lists %q, want %q", out, want)
	}
}

func TestEntriesThatCannotBeAreRefused(t *testing.T) {
	cases := []struct {
		name string
		e    Entry
		data string
		want string
	}{
		{"no name", Entry{Name: "/", Kind: File}, "", "no usable name"},
		{"the end mark", Entry{Name: trailer, Kind: File}, "", "no usable name"},
		{"a name with a zero byte", Entry{Name: "a\x00b", Kind: File}, "", "no usable name"},
		{"a name that is too long", Entry{Name: strings.Repeat("x", MaxName+1), Kind: File}, "", "no usable name"},
		{"a file that is too large", Entry{Name: "x", Kind: File, Size: MaxSize + 1}, "", "the form has room for 4294967295"},
		{"a device with data", Entry{Name: "x", Kind: Char, Size: 1}, "y", "only files and links have data"},
		{"a file that is shorter than it says", Entry{Name: "x", Kind: File, Size: 3}, "y", "1 bytes instead of 3"},
		{"a second file of the same name", Entry{Name: "init", Kind: File}, "", "in it already"},
		{"a file below a file", Entry{Name: "init/x", Kind: File}, "", "other than a folder"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := NewWriter(io.Discard)
			if err := a.Add(Entry{Name: "init", Kind: File}, nil); err != nil {
				t.Fatal(err)
			}
			err := a.Add(c.e, strings.NewReader(c.data))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
			if closeErr := a.Close(); closeErr == nil {
				t.Error("the archive could be closed as if nothing had happened")
			}
		})
	}
}

func TestAFullDiskIsReported(t *testing.T) {
	full := errors.New("no space left")
	for limit := range len(archive(t, small)) - 1 {
		a := NewWriter(&limited{left: limit, err: full})
		if err := errors.Join(small(a), a.Close()); !errors.Is(err, full) {
			t.Fatalf("with room for %d bytes: error %v", limit, err)
		}
	}
}

type limited struct {
	left int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return l.left, l.err
	}
	l.left -= len(p)
	return len(p), nil
}

// Whatever is accepted reads back as what it was.
func FuzzWriterRoundTrip(f *testing.F) {
	f.Add("init", "hello", uint32(0o755), "dev/console", uint32(5), uint32(1))
	f.Add("a/b/c", "", uint32(0), "a/b", uint32(0), uint32(0))
	f.Add("/../x/./y//", "123", uint32(0o7777), "x", uint32(1<<31), uint32(7))
	f.Fuzz(func(t *testing.T, name, content string, perm uint32, device string, major, minor uint32) {
		var b bytes.Buffer
		a := NewWriter(&b)
		errFile := a.Add(Entry{Name: name, Kind: File, Perm: perm & 0o7777, Size: int64(len(content))}, strings.NewReader(content))
		errDevice := a.Add(Entry{Name: device, Kind: Char, Perm: 0o600, Major: major, Minor: minor}, nil)
		if err := a.Close(); err != nil {
			if errFile == nil && errDevice == nil {
				t.Fatalf("closing: %v", err)
			}
			return
		}
		entries, data, err := read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		files, devices := 0, 0
		for i, e := range entries {
			switch e.Kind {
			case File:
				files++
				if data[i] != content || perm&0o7777 != 0 && e.Perm != perm&0o7777 {
					t.Errorf("file %q: %o %q", e.Name, e.Perm, data[i])
				}
			case Char:
				devices++
				if e.Major != major || e.Minor != minor {
					t.Errorf("device %q: %d, %d", e.Name, e.Major, e.Minor)
				}
			}
		}
		if files != 1 || devices != 1 {
			t.Errorf("%d files and %d devices came back", files, devices)
		}
	})
}
