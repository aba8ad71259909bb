package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// filesIn lists a folder: name, and text or kind.
func filesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		what := e.Type().String()[:1]
		if e.Type().IsRegular() {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			what = string(data)
		}
		out = append(out, e.Name()+"="+what)
	}
	return strings.Join(out, " ")
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestOutputReplacesFilesAndKeepsLinks(t *testing.T) {
	failed := errors.New("no more")
	for _, c := range []struct {
		name  string
		setUp func(dir string) error
		to    string
		write func(io.Writer) error
		want  string // of the folder
		err   string
	}{
		{"a new file", nil, "a", text("new"), "a=new", ""},
		{"an old file", func(d string) error { return os.WriteFile(d+"/a", []byte("old"), 0o644) }, "a", text("new"), "a=new", ""},
		{"an old file and a failure", func(d string) error { return os.WriteFile(d+"/a", []byte("old"), 0o644) }, "a",
			func(w io.Writer) error { return errors.Join(text("half")(w), failed) }, "a=old", "no more"},
		{"a link", func(d string) error {
			return errors.Join(os.WriteFile(d+"/a", []byte("old"), 0o644), os.Symlink("a", d+"/b"), os.Symlink(d+"/b", d+"/c"))
		}, "c", text("new"), "a=new b=L c=L", ""},
		{"a link to nothing yet", func(d string) error { return os.Symlink("a", d+"/b") }, "b", text("new"), "a=new b=L", ""},
		{"a link to itself", func(d string) error { return os.Symlink("b", d+"/b") }, "b", text("new"), "b=L", "too many levels"},
		{"a folder", func(d string) error { return os.Mkdir(d+"/a", 0o755) }, "a", text("new"), "a=d", "it is a folder; name a file in it"},
		{"no such folder", nil, "no/a", text("new"), "", "no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.setUp != nil {
				if err := c.setUp(dir); err != nil {
					t.Fatal(err)
				}
			}
			err := writeOutput(t.Context(), nil, "archive ", filepath.Join(dir, c.to), c.write)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if got := filesIn(t, dir); got != c.want {
				t.Errorf("the folder holds %q, want %q", got, c.want)
			}
		})
	}
}

func TestOutputGoesIntoDevicesAndPipes(t *testing.T) {
	t.Run("a device", func(t *testing.T) {
		if err := writeOutput(t.Context(), nil, "archive ", "/dev/null", text("x")); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat("/dev/null"); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
			t.Fatalf("/dev/null is %v, error %v", info.Mode(), err)
		}
	})
	t.Run("a full device", func(t *testing.T) {
		if err := writeOutput(t.Context(), nil, "archive ", "/dev/full", text("x")); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("error %v, want that there is no room", err)
		}
	})
	t.Run("a named pipe, by way of a link", func(t *testing.T) {
		dir := t.TempDir()
		if err := errors.Join(syscall.Mkfifo(dir+"/p", 0o600), os.Symlink("p", dir+"/l")); err != nil {
			t.Skip(err)
		}
		got := make(chan string)
		go func() {
			time.Sleep(50 * time.Millisecond)
			data, err := os.ReadFile(dir + "/p")
			if err != nil {
				t.Error(err)
			}
			got <- string(data)
		}()
		long := strings.Repeat("a line\n", 50000) // more than a pipe holds
		if err := writeOutput(t.Context(), nil, "archive ", dir+"/l", text(long)); err != nil {
			t.Fatal(err)
		}
		if data := <-got; data != long {
			t.Errorf("%d bytes came through, want %d", len(data), len(long))
		}
		if got := filesIn(t, dir); got != "l=L p=p" {
			t.Errorf("the folder holds %q", got)
		}
	})
	t.Run("an open file", func(t *testing.T) {
		f, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("before "); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), "stdout")
		if err := os.Symlink("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), link); err != nil {
			t.Fatal(err)
		}
		if err := writeOutput(t.Context(), nil, "archive ", link, text("archive")); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(f.Name()); err != nil || string(data) != "before archive" {
			t.Errorf("the file holds %q, error %v", data, err)
		}
	})
}

func TestASignalLeavesNothingBehind(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		ctx, stop := untilSignal(t.Context(), syscall.SIGHUP)
		dir := t.TempDir()
		name := filepath.Join(dir, "a")
		if err := os.WriteFile(name, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		err := writeOutput(ctx, nil, "archive ", name, func(w io.Writer) error {
			if err := text("half")(w); err != nil {
				return err
			}
			if got := filesIn(t, dir); !strings.Contains(got, ".cswatch-") {
				t.Errorf("the archive is not made beside its name: %q", got)
			}
			if err := syscall.Kill(os.Getpid(), sig); err != nil {
				t.Fatal(err)
			}
			<-ctx.Done()
			return text("more")(w)
		})
		stop()
		if err == nil || !strings.Contains(err.Error(), "signal") {
			t.Errorf("%v: error %v, want one that names the signal", sig, err)
		}
		if got := filesIn(t, dir); got != "a=old" {
			t.Errorf("%v: the folder holds %q", sig, got)
		}
	}
}

func TestASignalAfterTheLastByteStillLeavesTheOldFile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	err := writeOutput(ctx, nil, "archive ", filepath.Join(dir, "a"), func(w io.Writer) error {
		defer cancel()
		return text("all")(w)
	})
	if !errors.Is(err, context.Canceled) || filesIn(t, dir) != "" {
		t.Errorf("error %v, the folder holds %q", err, filesIn(t, dir))
	}
}

func TestAPipeThatNobodyReadsCanBeInterrupted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "p")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := writeOutput(ctx, nil, "archive ", pipe, text("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody opens it: error %v", err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := writeOutput(ctx, nil, "archive ", pipe, text(strings.Repeat("x", 1<<20))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody reads it: error %v", err)
	}
}

// brokenFile is a file on a disk that fails at the end.
type brokenFile struct {
	*os.File
	sync, close error
}

func (b brokenFile) Sync() error  { return errors.Join(b.sync, b.File.Sync()) }
func (b brokenFile) Close() error { return errors.Join(b.close, b.File.Close()) }

func TestAFileCountsOnlyOnceItIsOnTheDisk(t *testing.T) {
	lost := errors.New("the disk is gone")
	for name, broken := range map[string]brokenFile{"sync": {sync: lost}, "close": {close: lost}} {
		dir := t.TempDir()
		target := filepath.Join(dir, "a")
		if err := os.WriteFile(target, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := os.CreateTemp(dir, ".cswatch-*")
		if err != nil {
			t.Fatal(err)
		}
		broken.File = f
		if err := writeWhole(t.Context(), broken, target, text("new")); !errors.Is(err, lost) {
			t.Errorf("%s: error %v, want %v", name, err, lost)
		}
		if got := filesIn(t, dir); got != "a=old" {
			t.Errorf("%s: the folder holds %q", name, got)
		}
	}
}

func TestOutputErrorsShowNamesHarmlessly(t *testing.T) {
	for _, name := range []string{"no\x1b[31m/a", "no\n/b"} {
		err := writeOutput(t.Context(), nil, "archive ", filepath.Join(t.TempDir(), name), text("x"))
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("error %q", err)
		}
	}
}

func TestCollectOfAnInterruptedUserWritesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	env := newEnv(nil, &stdout, &stderr)
	if err := runCollect(ctx, env, filepath.Join(dir, "a.tar.gz"), false); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if filesIn(t, dir) != "" || stdout.Len() > 0 {
		t.Errorf("the folder holds %q, standard output %q", filesIn(t, dir), stdout.String())
	}
}
