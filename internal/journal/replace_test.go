package journal

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFileIsReplacedAsAWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state.json")
	for _, text := range []string{"a longer first text", "short"} {
		if err := Replace(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(name); err != nil || string(b) != text {
			t.Errorf("the file holds %q, error %v; want %q", b, err, text)
		}
	}
}

func TestAFileThatCannotBeReplacedStays(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "folder")
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(name, []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%d files are there, error %v, want the folder alone", len(left), err)
	}
	if err := Replace(filepath.Join(dir, "nowhere", "f"), nil, 0o600); err == nil {
		t.Error("a file was written into a folder that is not there")
	}
}
