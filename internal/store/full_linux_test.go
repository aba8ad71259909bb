package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A real file system, of 64 KiB.
func TestASmallFileSystemThatGetsFullLosesNothing(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("this process may not mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	})
	s, err := Create(filepath.Join(mount, "campaign"), "plan.toml", []byte(plan))
	ok(t, err)
	kept, left := runUntilFull(t, s, 1000)
	if len(kept) == 0 || len(kept) == 1000 {
		t.Fatalf("%d trials fit", len(kept))
	}
	nothingHalf(t, s, kept)
	// One that cannot fit in any case, after a little room was made.
	ballast := filepath.Join(mount, "campaign", trialsName, "t0")
	saved := tree(t, ballast)
	ok(t, os.RemoveAll(ballast))
	id := left
	if id == "" {
		id = "big"
		ok(t, s.Begin(id))
	}
	err = s.End(id, []File{{"console.log", bytes.Repeat([]byte("x"), 64<<10)}}, 1, 1)
	var late *NotEntered
	if !errors.Is(err, syscall.ENOSPC) || errors.As(err, &late) {
		t.Errorf("error %v", err)
	}
	ok(t, os.Mkdir(ballast, 0o700))
	for name, text := range saved {
		if text != "folder" {
			ok(t, os.WriteFile(name, []byte(text), 0o600))
		}
	}
	kept[id] = Started
	nothingHalf(t, s, kept)
	ok(t, s.Close())
	s, err = Read(s.dir)
	ok(t, err)
	for id, e := range states(s) {
		if kept[id] == Ended && e == Started { // only its folder has its outcome
			kept[id] = Started
		}
	}
	if diff := cmp.Diff(kept, states(s)); diff != "" {
		t.Error(diff)
	}
}
