package host

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/machine"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fixture is one machine of testdata/machines: a txtar whose comment says what it is.
type fixture struct {
	name  string
	files []txtar.File
	links map[string]string
	deny  []string
	opt   Options
}

func loadFixture(t testing.TB, file string) fixture {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{
		name: strings.TrimSuffix(filepath.Base(file), ".txtar"), files: a.Files, links: make(map[string]string),
		opt: Options{Root: "/root-of-the-fixture"},
	}
	for line := range strings.SplitSeq(string(a.Comment), "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "kind":
			f.opt.Kind = value
		case "arch":
			f.opt.Arch = value
		case "deny":
			f.deny = append(f.deny, value)
		case "link":
			name, target, _ := strings.Cut(value, " -> ")
			f.links[name] = target
		case "adjtimex":
			var st ClockState
			if err := json.Unmarshal([]byte(value), &st); err != nil {
				t.Fatalf("%s: adjtimex: %v", file, err)
			}
			f.opt.Adjtimex = func() (ClockState, error) { return st, nil }
		}
	}
	return f
}

// fs returns the fixture as a file system that refuses what the fixture denies.
func (f fixture) fs(t testing.TB) fs.FS {
	t.Helper()
	m := newMemFS()
	for _, file := range f.files {
		if !m.put(file.Name, &memNode{mode: 0o644, data: file.Data}) {
			t.Fatalf("%s: %s is in the way", f.name, file.Name)
		}
	}
	for name, target := range f.links {
		m.put(name, &memNode{mode: fs.ModeSymlink | 0o777, link: target})
	}
	top := ""
	if f.opt.Kind == machine.KindSOS {
		top, _, _ = strings.Cut(f.files[0].Name, "/")
	}
	return denyFS{m.sub(top), f.deny}
}

// denyFS refuses to open some names ("." is all) for lack of permission.
type denyFS struct {
	*memFS
	names []string
}

func (d denyFS) Open(name string) (fs.File, error) {
	if slices.Contains(d.names, ".") || slices.Contains(d.names, name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.memFS.Open(name)
}

func (d denyFS) Stat(name string) (fs.FileInfo, error) {
	if slices.Contains(d.names, ".") {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrPermission}
	}
	return d.memFS.Stat(name)
}

// folder unpacks the fixture into a temporary folder.
func (f fixture) folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range f.files {
		p := filepath.Join(dir, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range f.links {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, p); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tarball packs the fixture.
func (f fixture) tarball(t testing.TB) []byte {
	t.Helper()
	var entries []*tar.Header
	data := make(map[string][]byte)
	for _, file := range f.files {
		entries = append(entries, &tar.Header{Name: file.Name, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(file.Data))})
		data[file.Name] = file.Data
	}
	for name, target := range f.links {
		entries = append(entries, &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target})
	}
	return pack(t, data, entries...)
}

// pack writes a tarball of entries; data is looked up by name.
func pack(t testing.TB, data map[string][]byte, entries ...*tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, h := range entries {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(data[h.Name]))
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := tw.Write(data[h.Name]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func fixtureFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/machines/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	return files
}

// checkGolden compares a document with a file, or writes it.
func checkGolden(t *testing.T, file string, v any) {
	t.Helper()
	got, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s, -want +got:\n%s", file, diff)
	}
}
