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
	"time"

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
			_, err := OpenLog(c.log)
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.log) {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
		})
	}
	if err := permission("/var/log/kern.log", fs.ErrPermission); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "sudo cat /var/log/kern.log") {
		t.Errorf("error %v", err)
	}
}

func record(seq int, text string) string { return fmt.Sprintf("6,%d,%d,-;%s\n", seq, seq*10, text) }

func TestReadBufferReadsTheDeviceToItsEnd(t *testing.T) {
	whole := record(0, "Linux version 6.1.0") + record(1, "clocksource: Switched to clocksource tsc")
	late := record(812, "clocksource: Switched to clocksource hpet")
	for _, c := range []struct {
		name     string
		content  string
		complete bool
		note     string
	}{
		{"whole buffer", whole, true, ""},
		{"buffer that has lost the boot", late, false, "lost the first 812 records"},
		{"empty buffer", "", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dev := write(t, "kmsg", []byte(c.content))
			b, err := Config{Device: dev, Journal: []string{}}.ReadBuffer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(b)
			if err != nil || string(got) != c.content || b.Source != dev || b.Complete() != c.complete || !strings.Contains(b.Note(), c.note) {
				t.Errorf("read %q from %s, complete %v, note %q, error %v", got, b.Source, b.Complete(), b.Note(), err)
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

func TestReadBufferFallsBackToTheJournal(t *testing.T) {
	none := filepath.Join(t.TempDir(), "kmsg")
	for _, c := range []struct {
		name   string
		script string
		config Config
		want   string
		note   string
	}{
		{"a journal", `echo '{"MESSAGE":"x"}'`, Config{}, "{\"MESSAGE\":\"x\"}\n", ""},
		{"a journal that does not end", `echo '{"MESSAGE":"x"}'; exec sleep 60`, Config{JournalLimit: 400 * time.Millisecond}, "{\"MESSAGE\":\"x\"}\n", "did not finish within"},
		{"a journal without end of output", `while echo 0123456789; do :; done`, Config{JournalBytes: 25}, "0123456789\n0123456789\n012", "more than 25 bytes"},
		{"a journal with an error at the end", `echo x; exit 3`, Config{}, "x\n", "exit status 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Device, c.config.Journal = none, []string{"/bin/sh", "-c", c.script}
			start := time.Now()
			b, err := c.config.ReadBuffer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(b)
			if err != nil || string(got) != c.want || !strings.Contains(b.Note(), c.note) || b.Complete() != (c.note == "") {
				t.Errorf("read %q, note %q, error %v", got, b.Note(), err)
			}
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestReadBufferWithoutAnySourceNamesBothReasons(t *testing.T) {
	none := filepath.Join(t.TempDir(), "kmsg")
	_, err := Config{Device: none, Journal: []string{"/bin/sh", "-c", "echo no journal files were opened >&2; exit 1"}}.ReadBuffer(t.Context())
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no journal files") || !strings.Contains(err.Error(), "--log FILE") {
		t.Errorf("error %v", err)
	}
	_, err = Config{Device: none, Journal: []string{"/bin/true"}}.ReadBuffer(t.Context())
	if err == nil || !strings.Contains(err.Error(), "printed nothing") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = (Config{Device: none}).ReadBuffer(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
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

func TestSequenceOfARecord(t *testing.T) {
	for in, want := range map[string]int64{
		"6,812,10,-;x": 812, "6,0,10,-;x": 0, "": 0, "text; with, commas": 0, "6,x,1,-;y": 0, "6,-4,1,-;y": 0, "6,7": 0,
	} {
		if got := sequence([]byte(in)); got != want {
			t.Errorf("sequence(%q) = %d, want %d", in, got, want)
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
