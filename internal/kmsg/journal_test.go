package kmsg

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
		{"a journal that does not end", `echo '{"MESSAGE":"x"}'; exec sleep 60`, Config{JournalLimit: 2 * time.Second}, "{\"MESSAGE\":\"x\"}\n", "its end is missing: the journal did not finish within"},
		{"a journal without end of output", `while echo 0123456789; do :; done`, Config{JournalBytes: 50, JournalLimit: 200 * time.Millisecond}, "0123456789\n0123456789\n0123456789\n0123456789\n", "missing: the journal printed more than 50 bytes; its end is missing"},
		{"a journal that is too long", `echo first; for i in 1 2 3 4 5 6 7 8 9; do echo 0123456789; done; echo last`, Config{JournalBytes: 34}, "first\n0123456789\n0123456789\nlast\n", "77 bytes between its beginning and its end are missing"},
		{"a journal with an error at the end", `echo x; exit 3`, Config{}, "x\n", "exit status 3"},
		{"a journal that leaves a child behind", `echo x; sleep 60 & exit 0`, Config{JournalLimit: 2 * time.Second}, "x\n", "its end may be missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Device, c.config.Journal = none, []string{"/bin/sh", "-c", c.script}
			start := time.Now()
			b, err := c.config.ReadBuffer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(b)
			if err != nil || string(got) != c.want || !noted(b, c.note) {
				t.Errorf("read %q, note %q, error %v", got, b.Note(), err)
			}
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestNothingThatTheJournalStartedIsLeft(t *testing.T) {
	for name, script := range map[string]string{
		"a journal that waits for its child": `sleep 61.%d & echo $! >%s; echo x; wait`,
		"a journal that leaves its child":    `sleep 61.%d & echo $! >%s; echo x`,
	} {
		t.Run(name, func(t *testing.T) {
			pidFile := filepath.Join(t.TempDir(), "pid")
			c := Config{
				Device: filepath.Join(t.TempDir(), "none"), JournalLimit: 2 * time.Second,
				Journal: []string{"/bin/sh", "-c", fmt.Sprintf(script, os.Getpid(), pidFile)},
			}
			if _, err := c.ReadBuffer(t.Context()); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(pidFile)
			if err != nil {
				t.Fatal(err)
			}
			var pid int
			if _, err := fmt.Sscan(string(text), &pid); err != nil {
				t.Fatal(err)
			}
			for range 100 {
				if !running(pid) {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			t.Errorf("the child %d is still there", pid)
		})
	}
}

// running says that a process is there and has not ended; one that has waits for
// somebody who takes note of it.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// An empty file mounted over the device, and a journal without kernel messages,
// must not pass for a log without complaints.
func TestASourceWithoutRecordsIsNoLog(t *testing.T) {
	empty := write(t, "kmsg", nil)
	zeros := write(t, "kmsg", make([]byte, 1<<20))
	none := []string{"/bin/sh", "-c", "echo '-- No entries --'"}
	for _, dev := range []string{empty, zeros, "/dev/null", "/dev/zero"} {
		if _, err := (Config{Device: dev, Journal: []string{}}).ReadBuffer(t.Context()); err == nil || errors.Is(err, ErrEmpty) != (dev == empty || dev == "/dev/null") {
			t.Errorf("%s, without a journal: error %v", dev, err)
		}
		b, err := Config{Device: dev, Journal: []string{"/bin/echo", "from the journal"}}.ReadBuffer(t.Context())
		if err != nil {
			t.Errorf("%s: %v", dev, err)
			continue
		}
		if got, err := io.ReadAll(b); err != nil || string(got) != "from the journal\n" {
			t.Errorf("%s: read %q, error %v; want the journal", dev, got, err)
		}
		if _, err := (Config{Device: dev, Journal: none}).ReadBuffer(t.Context()); !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "--log FILE") {
			t.Errorf("%s, and a journal without entries: error %v, want ErrEmpty", dev, err)
		}
	}
}
