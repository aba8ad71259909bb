package guest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOnlyRegularFilesAreOpenedToHandThemOver(t *testing.T) {
	folder := t.TempDir()
	regular, pipe, absent := filepath.Join(folder, "regular"), filepath.Join(folder, "pipe"), filepath.Join(folder, "absent")
	want := bytes.Repeat([]byte("x"), 100_000)
	if err := os.WriteFile(regular, want, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openFetched(regular)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, error %v", len(got), err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{folder, pipe, "/dev/zero", absent} {
		if f, err := openFetched(path); f != nil || err == nil {
			t.Errorf("%s: %v, error %v", path, f, err)
		}
	}
}
