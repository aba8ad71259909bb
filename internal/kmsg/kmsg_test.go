package kmsg

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const lines = "[    0.000000] Linux version 6.1.0\n[    0.087803] clocksource: Switched to clocksource tsc\n"

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, lines); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOpenLogReadsFilesAndStandardInput(t *testing.T) {
	for _, c := range []struct {
		name  string
		log   string
		stdin string
	}{
		{"plain file", write(t, "dmesg", []byte(lines)), ""},
		{"compressed file", write(t, "dmesg.gz", packed(t)), ""},
		{"standard input", "-", lines},
		{"compressed standard input", "-", string(packed(t))},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Config{Stdin: strings.NewReader(c.stdin)}.OpenLog(c.log)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(l)
			if err != nil || string(got) != lines || l.Name != c.log {
				t.Errorf("read %q from %s, error %v", got, l.Name, err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOpenLogErrorsSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		log  string
		is   error
		says string
	}{
		{"no such file", filepath.Join(dir, "none"), fs.ErrNotExist, "check the path"},
		{"a directory", dir, ErrDirectory, "journalctl -D " + dir},
		{"a binary journal", write(t, "system.journal", []byte("LPKSHHRH\x00\x00\x00\x00")), ErrJournalFile, "journalctl --file "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Config{}.OpenLog(c.log)
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.log) {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
		})
	}
	if err := permission("/var/log/kern.log", fs.ErrPermission); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "sudo cat /var/log/kern.log") {
		t.Errorf("error %v", err)
	}
}

// noted says that a buffer's note holds a text, or that it has none if the text is empty.
func noted(b *Buffer, text string) bool {
	if text == "" {
		return b.Note() == ""
	}
	return strings.Contains(b.Note(), text)
}

func record(seq int, text string) string { return fmt.Sprintf("6,%d,%d,-;%s\n", seq, seq*10, text) }

func TestReadBufferReadsTheDeviceToItsEnd(t *testing.T) {
	whole := record(0, "Linux version 6.1.0") + record(1, "clocksource: Switched to clocksource tsc")
	late := record(812, "clocksource: Switched to clocksource hpet")
	for _, c := range []struct {
		name    string
		content string
		note    string
	}{
		{"whole buffer", whole, ""},
		{"buffer that has lost the boot", late, "its beginning is missing: the ring buffer has lost the first 812 records"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dev := write(t, "kmsg", []byte(c.content))
			b, err := Config{Device: dev, Journal: []string{}}.ReadBuffer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(b)
			if err != nil || string(got) != c.content || b.Source != dev || !noted(b, c.note) {
				t.Errorf("read %q from %s, note %q, error %v", got, b.Source, b.Note(), err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if err := b.Close(); err != nil {
				t.Errorf("second close: %v", err)
			}
		})
	}
}

// A FIFO with a writer that keeps it open behaves like the device: a read at
// the end would block.
func TestReadBufferDoesNotWaitForMore(t *testing.T) {
	dev := filepath.Join(t.TempDir(), "kmsg")
	if err := unix.Mkfifo(dev, 0o600); err != nil {
		t.Skipf("no FIFO here: %v", err)
	}
	w, err := os.OpenFile(dev, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := io.WriteString(w, record(0, "x")); err != nil {
		t.Fatal(err)
	}
	b, err := Config{Device: dev, Journal: []string{}}.ReadBuffer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got, err := io.ReadAll(b); err != nil || string(got) != record(0, "x") {
		t.Errorf("read %q, error %v", got, err)
	}
}

func TestReadBufferWithoutAnySourceNamesBothReasons(t *testing.T) {
	none := filepath.Join(t.TempDir(), "kmsg")
	_, err := Config{Device: none, Journal: []string{"/bin/sh", "-c", "echo no journal files were opened >&2; exit 1"}}.ReadBuffer(t.Context())
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no journal files") || !strings.Contains(err.Error(), "--log FILE") {
		t.Errorf("error %v", err)
	}
	_, err = Config{Device: none, Journal: []string{"/bin/true"}}.ReadBuffer(t.Context())
	if !errors.Is(err, ErrEmpty) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = (Config{Device: none}).ReadBuffer(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// script is a device that answers as it is told.
type script struct {
	open  []error
	reads []any // string or error
}

func (s *script) system() system {
	return system{
		open: func(string) (int, error) {
			err := s.open[0]
			s.open = s.open[1:]
			return -1, err
		},
		read: func(_ int, p []byte) (int, error) {
			if len(s.reads) == 0 {
				return -1, unix.EAGAIN
			}
			next := s.reads[0]
			s.reads = s.reads[1:]
			if err, ok := next.(error); ok {
				return -1, err
			}
			return copy(p, next.(string)), nil
		},
	}
}

func TestTheDeviceAnswersInEveryWay(t *testing.T) {
	ok := []error{nil}
	for _, c := range []struct {
		name   string
		script script
		want   string
		note   string
		is     error // of opening or reading
	}{
		{"records that were overwritten", script{ok, []any{record(0, "a"), unix.EPIPE, record(7, "b"), unix.EPIPE, record(9, "c")}}, record(0, "a") + record(7, "b") + record(9, "c"), "the kernel overwrote some 2 times", nil},
		{"overwritten before the first was read", script{ok, []any{unix.EPIPE, record(4, "a")}}, record(4, "a"), "has lost the first 4 records of this boot; journalctl -k -b may have them; records are missing", nil},
		{"a signal in between", script{[]error{unix.EINTR, nil}, []any{unix.EINTR, record(0, "a"), unix.EINTR}}, record(0, "a"), "", nil},
		{"not allowed to open by the mode of the file", script{[]error{unix.EACCES}, nil}, "", "", fs.ErrPermission},
		{"not allowed to open by the kernel", script{[]error{unix.EPERM}, nil}, "", "", fs.ErrPermission},
		{"not allowed to read", script{ok, []any{unix.EPERM}}, "", "", fs.ErrPermission},
		{"not allowed to read by the mode", script{ok, []any{unix.EACCES}}, "", "", fs.ErrPermission},
		{"no such device", script{[]error{unix.ENXIO}, nil}, "", "", unix.ENXIO},
		{"a device that fails", script{ok, []any{record(0, "a"), unix.EIO}}, record(0, "a"), "", unix.EIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := Config{Device: "/dev/kmsg", Journal: []string{}, system: c.script.system()}.ReadBuffer(t.Context())
			var got []byte
			if err == nil {
				got, err = io.ReadAll(b)
			}
			if !errors.Is(err, c.is) || (err == nil) != (c.is == nil) {
				t.Fatalf("error %v, want %v", err, c.is)
			}
			var denied *PermissionError
			if c.is == fs.ErrPermission && (!errors.As(err, &denied) || !strings.Contains(err.Error(), "CAP_SYSLOG")) {
				t.Errorf("error %v, want a PermissionError with its remedies", err)
			}
			if string(got) != c.want || b != nil && !noted(b, c.note) {
				t.Errorf("read %q, want %q and note %q", got, c.want, c.note)
			}
		})
	}
}

func TestNamesOfFilesReachNoTerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\x1b[31mb\nc")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Skip(err)
	}
	journal := filepath.Join(dir, "j")
	cut := filepath.Join(dir, "cut.gz")
	for name, text := range map[string][]byte{journal: []byte("LPKSHHRH\x00\x00"), cut: packed(t)[:20]} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{dir, filepath.Join(dir, "none"), journal, cut, filepath.Join(journal, "below")} {
		l, err := Config{}.OpenLog(name)
		if err == nil {
			_, err = io.ReadAll(l)
		}
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") || !strings.Contains(err.Error(), `\x1b[31mb\n`) {
			t.Errorf("error %v: want one that shows the name harmlessly", err)
		}
	}
	if err := permission("a\x1bb", fs.ErrPermission); strings.Contains(err.Error(), "\x1b") {
		t.Errorf("error %v", err)
	}
}

func TestPermissionErrorNamesTheRemedies(t *testing.T) {
	var err error = &PermissionError{Device: "/dev/kmsg", Err: unix.EPERM}
	for _, want := range []string{"root", "CAP_SYSLOG", "sysctl kernel.dmesg_restrict=0", "/dev/kmsg"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if !errors.Is(err, fs.ErrPermission) || !errors.Is(err, unix.EPERM) {
		t.Error("neither fs.ErrPermission nor EPERM can be found in it")
	}
}

func TestTheNumberOfARecord(t *testing.T) {
	for in, want := range map[string]string{
		"6,812,10,-;x": "812 true", "6,0,10,-;x": "0 true", "6,9,10,c,caller=T1;x\n SUBSYSTEM=acpi": "9 true",
		"": "0 false", "text; with, commas": "0 false", "6,x,1,-;y": "0 false", "6,-4,1,-;y": "0 false", "6,7": "0 false",
	} {
		n, ok := recordNumber([]byte(in))
		if got := fmt.Sprint(n, ok); got != want {
			t.Errorf("the number of %q is %s, want %s", in, got, want)
		}
	}
}

func ExampleConfig_OpenLog() {
	in := strings.NewReader("[    0.087803] clocksource: Switched to clocksource tsc\n")
	l, err := Config{Stdin: in}.OpenLog("-")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := io.ReadAll(l)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// [    0.087803] clocksource: Switched to clocksource tsc
	// <nil>
}
