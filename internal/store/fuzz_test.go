package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever follows the good lines of an index: they say what they said, in both
// ways of reading, and what was read prints and reads back the same.
func FuzzIndex(f *testing.F) {
	dir := campaign(f)
	good, err := os.ReadFile(filepath.Join(dir, indexName))
	ok(f, err)
	good = good[:bytes.Index(good, []byte(`{"trial":"f"`))]
	was, err := readIndex(bytes.NewReader(good), false)
	ok(f, err)
	f.Add([]byte(""))
	f.Add([]byte(`{"trial":"g","state":"started","at":"2026-01-01T00:00:00.5Z"}` + "\n"))
	f.Add([]byte(`{"trial":"b","state":"lost","why":"x","sha256":"` + sum(nil) + `","summary":[1]}` + "\n{"))
	f.Add([]byte("\x00\x00\n\n{}\n"))
	f.Add(good)
	f.Fuzz(func(t *testing.T, more []byte) {
		for _, tolerant := range []bool{false, true} {
			_, _ = readIndex(bytes.NewReader(more), tolerant) // as a whole index
			x, err := readIndex(bytes.NewReader(append(bytes.Clone(good), more...)), tolerant)
			if tolerant && len(more) < 1<<16 && err != nil {
				t.Fatal(err)
			}
			if len(x.entries) < len(was.entries) || x.plan != was.plan {
				t.Fatalf("%d entries of %d", len(x.entries), len(was.entries))
			}
			for i, e := range was.entries {
				if diff := cmp.Diff(e, x.entries[i]); diff != "" {
					t.Fatalf("an earlier line changed:\n%s", diff)
				}
			}
			for _, e := range x.entries {
				if CheckID(e.Trial) != nil || x.by[e.Trial] != e {
					t.Fatalf("%+v", e)
				}
			}
			text, err := x.text(x.plan)
			if err != nil {
				continue // a time that has no text, say
			}
			again, err := readIndex(bytes.NewReader(text), false)
			if err != nil || len(again.entries) != len(x.entries) || len(again.twice) > 0 {
				t.Fatalf("%v, read back:\n%s", err, text)
			}
		}
	})
}
