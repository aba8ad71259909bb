package dispatch

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Whatever lies in the file: it is refused and stays as it is, or goes on and has
// afterwards what was appended.
func FuzzLedger(f *testing.F) {
	dir := f.TempDir()
	l, err := OpenLedger(filepath.Join(dir, "seed"), some)
	if err != nil {
		f.Fatal(err)
	}
	if err := l.Append("a", 1); err != nil {
		f.Fatal(err)
	}
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "seed"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add(whole[:20])
	f.Add([]byte("a log\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := OpenLedger(name, some)
		if err != nil {
			if l != nil {
				t.Error("an error and a ledger")
			}
			if now, _ := os.ReadFile(name); !bytes.Equal(now, text) {
				t.Error("a refused file was changed")
			}
			return
		}
		if err := l.Append("appended", 7); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := OpenLedger(name, some)
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		defer again.Close()
		got := 0
		if found, err := again.Find("appended", &got); !found || err != nil || got != 7 {
			t.Errorf("found %v, %v, %d", found, err, got)
		}
	})
}
