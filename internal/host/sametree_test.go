package host

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/machine"
	"github.com/google/go-cmp/cmp"
)

// tree is a root: names and contents, names and the targets of links.
type tree struct {
	files map[string]string
	links map[string]string // symbolic
	hard  map[string]string // to a file
}

// folder writes the tree to a temporary folder.
func (tr tree) folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	make := func(name string, do func(path string) error) {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := do(p); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range tr.files {
		make(name, func(p string) error { return os.WriteFile(p, []byte(text), 0o644) })
	}
	for name, target := range tr.hard {
		make(name, func(p string) error { return os.Link(filepath.Join(dir, filepath.FromSlash(target)), p) })
	}
	for name, target := range tr.links {
		make(name, func(p string) error { return os.Symlink(target, p) })
	}
	return dir
}

// tarball packs the tree below a folder in the given order of names; hard links come last.
func (tr tree) tarball(t testing.TB, top string, shuffle *rand.Rand) []byte {
	t.Helper()
	var entries, last []*tar.Header
	data := make(map[string][]byte)
	for name, text := range tr.files {
		full := top + name
		data[full] = []byte(text)
		entries = append(entries, &tar.Header{Name: full, Typeflag: tar.TypeReg, Mode: 0o644})
	}
	for name, target := range tr.links {
		entries = append(entries, &tar.Header{Name: top + name, Typeflag: tar.TypeSymlink, Linkname: target})
	}
	for name, target := range tr.hard {
		last = append(last, &tar.Header{Name: top + name, Typeflag: tar.TypeLink, Linkname: top + target})
	}
	slices.SortFunc(entries, func(a, b *tar.Header) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(last, func(a, b *tar.Header) int { return strings.Compare(a.Name, b.Name) })
	shuffle.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	return pack(t, data, append(entries, last...)...)
}

// whole is all that a root gives.
type whole struct {
	Snapshot *machine.Snapshot
	Logs     []string
	Texts    []string // name, text and error of each
	Problems []string
}

// everything reads a root. The kind is set, for a tarball is not told to be whole.
func everything(t *testing.T, path, kind string) whole {
	t.Helper()
	r, err := OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	snap, err := Collect(r.FS(), Options{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	w := whole{Snapshot: snap, Logs: r.Logs()}
	for _, p := range r.problems {
		w.Problems = append(w.Problems, p.Error())
	}
	var texts []string
	for _, p := range r.ReadLogs(func(name string, text io.Reader) error {
		data, err := io.ReadAll(text)
		texts = append(texts, fmt.Sprintf("%s: %s", name, data))
		return err
	}) {
		w.Problems = append(w.Problems, p.Error())
	}
	w.Texts = texts
	for i, name := range w.Logs {
		log, err := r.OpenLog(name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(log)
		if single := fmt.Sprintf("%s: %s", name, data); err != nil || i >= len(texts) || single != texts[i] {
			t.Errorf("%s: read alone it is %q, error %v", name, data, err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	return w
}

// checkSame compares a tree as a folder with tarballs of it.
func checkSame(t *testing.T, tr tree, kind string) {
	t.Helper()
	want := everything(t, tr.folder(t), kind)
	for seed := range uint64(3) {
		for _, top := range []string{"", "host-1/"} {
			raw := tr.tarball(t, top, rand.New(rand.NewPCG(seed, 1)))
			packed := compressWith(t, raw, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
			for name, data := range map[string][]byte{"x.tar": raw, "x.tar.gz": packed} {
				got := everything(t, writeFile(t, name, data), kind)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("seed %d, top %q, %s: -folder +tarball:\n%s", seed, top, name, diff)
				}
			}
		}
	}
}

func TestAFolderAndItsTarballReadTheSame(t *testing.T) {
	for _, file := range fixtureFiles(t) {
		f := loadFixture(t, file)
		if len(f.deny) > 0 {
			continue // a tarball cannot hold what nobody may read
		}
		kind := f.opt.Kind
		if kind == machine.KindLive || kind == "" {
			kind = machine.KindFolder
		}
		t.Run(f.name, func(t *testing.T) {
			tr := tree{files: make(map[string]string), links: make(map[string]string)}
			below := ""
			if kind == machine.KindSOS {
				below, _, _ = strings.Cut(f.files[0].Name, "/")
				below += "/"
			}
			for _, file := range f.files {
				tr.files[strings.TrimPrefix(file.Name, below)] = string(file.Data)
			}
			for name, target := range f.links {
				tr.links[strings.TrimPrefix(name, below)] = target
			}
			checkSame(t, tr, kind)
		})
	}
}

func TestLinksInATarballLeadWhereTheyLeadInAFolder(t *testing.T) {
	const version = "Linux version 5.14.0-362.el9.x86_64 (mockbuild@x) (gcc) #1 SMP\n"
	const current = clocksourceDir + "/current_clocksource"
	long := strings.Repeat("Mar  5 08:00:02 h kernel: a line among many\n", 50000)
	for _, tt := range []struct {
		name string
		tree tree
		logs []string
	}{
		{"a log that a sosreport has cut", tree{
			files: map[string]string{"proc/version": version, "sos_commands/kernel/uname_-a": "Linux h 5\n", "sos_strings/logs/var.log.messages.tailed": "tailed\n"},
			links: map[string]string{"var/log/messages": "../../sos_strings/logs/var.log.messages.tailed"}},
			[]string{"var/log/messages"}},
		{"a folder of logs elsewhere", tree{
			files: map[string]string{"proc/version": version, "data/log/kern.log": "now\n", "data/log/kern.log.1": "before\n"},
			links: map[string]string{"var/log": "/data/log"}},
			[]string{"var/log/kern.log.1", "var/log/kern.log"}},
		{"links by way of links", tree{
			files: map[string]string{"proc/version": version, "srv/a/b/log.txt": "text\n", "srv/dist/release": "ID=fedora\nVERSION_ID=40\n"},
			links: map[string]string{"var/log/messages": "../../one/log", "one": "/two", "two": "srv/three", "srv/three": "a/b", "srv/a/b/log": "log.txt",
				"etc/os-release": "../usr/lib/os-release", "usr/lib/os-release": "/srv/dist/release"}},
			[]string{"var/log/messages"}},
		{"a whole /sys elsewhere", tree{
			files: map[string]string{"proc/version": version, "copy/sys/" + strings.TrimPrefix(current, "sys/"): "tsc\n", "copy/sys/module/clocksource/parameters/verify_n_cpus": "8\n"},
			links: map[string]string{"sys": "copy/sys"}},
			nil},
		{"hard links to logs and facts", tree{
			files: map[string]string{"proc/version": version, "backup/m": "hard\n", "backup/c": "quiet tsc=reliable\n"},
			hard:  map[string]string{"var/log/messages": "backup/m", "proc/cmdline": "backup/c", "var/log/syslog": "backup/m"}},
			[]string{"var/log/syslog", "var/log/messages"}},
		{"two names of one log", tree{
			files: map[string]string{"proc/version": version, "var/log/kern.log": long},
			links: map[string]string{"var/log/messages": "kern.log", "var/log/syslog": "/var/log/kern.log"}},
			[]string{"var/log/syslog", "var/log/messages", "var/log/kern.log"}},
		{"links that lead nowhere, out, or in a circle", tree{
			files: map[string]string{"proc/version": version, "var/log/syslog": "x\n"},
			links: map[string]string{"var/log/messages": "../../nowhere", "var/log/kern.log": "../../../etc/passwd", "var/log/dmesg": "dmesg",
				"proc/cmdline": "../../../../etc/passwd", "proc/uptime": "/gone", "sys/module": "module"}},
			[]string{"var/log/syslog"}},
		{"a fact that is a log, and a log that is a fact", tree{
			files: map[string]string{"proc/version": version, "var/log/syslog": "quiet\n"},
			links: map[string]string{"proc/cmdline": "../var/log/syslog", "var/log/messages": "../../proc/version"}},
			[]string{"var/log/syslog", "var/log/messages"}},
		{"the root itself", tree{
			files: map[string]string{"proc/version": version, "log/messages": "x\n"},
			links: map[string]string{"var": "."}},
			[]string{"var/log/messages"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kind := machine.KindFolder
			if _, sos := tt.tree.files["sos_commands/kernel/uname_-a"]; sos {
				kind = machine.KindSOS
			}
			checkSame(t, tt.tree, kind)
			r, err := OpenRoot(writeFile(t, "x.tar", tt.tree.tarball(t, "", rand.New(rand.NewPCG(9, 9)))))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if diff := cmp.Diff(tt.logs, r.Logs()); diff != "" {
				t.Errorf("logs, -want +got:\n%s", diff)
			}
		})
	}
}

// Names are drawn from few parts, so that links meet folders, facts and logs.
func FuzzAFolderAndItsTarballReadTheSame(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 7))
		tops := []string{"proc", "var", "sys", "a", "b", "etc", "usr"}
		leaves := []string{"proc/cmdline", "proc/uptime", "etc/os-release", "usr/lib/os-release", "var/log/messages", "var/log/kern.log", "a/x", "b/y", "a/log/messages",
			"b/log/kern.log.1", "a/cmdline", "b/module/z", "sys/module/m/parameters/p", "a/b/messages", clocksourceDir + "/current_clocksource"}
		tr := tree{files: map[string]string{"proc/version": "Linux version 6.1.0 (a@b) #1 SMP\n"}, links: make(map[string]string)}
		taken := func(name string) bool { // in the way of name, or behind it
			for _, m := range []map[string]string{tr.files, tr.links} {
				for other := range m {
					if other == name || strings.HasPrefix(name, other+"/") || strings.HasPrefix(other, name+"/") {
						return true
					}
				}
			}
			return false
		}
		for range 3 + rng.IntN(8) {
			if name := leaves[rng.IntN(len(leaves))]; !taken(name) {
				tr.files[name] = fmt.Sprintf("%s %d\n", name, rng.IntN(100))
			}
		}
		for range rng.IntN(6) {
			name := []string{leaves[rng.IntN(len(leaves))], tops[rng.IntN(len(tops))], tops[rng.IntN(len(tops))] + "/log", "a/b"}[rng.IntN(4)]
			target := []string{leaves[rng.IntN(len(leaves))], tops[rng.IntN(len(tops))], "a/log", "a/b", "."}[rng.IntN(5)]
			if rng.IntN(2) == 0 {
				target = "/" + target
			} else if n := strings.Count(name, "/"); n > 0 {
				target = strings.Repeat("../", n) + target
			}
			if !taken(name) {
				tr.links[name] = target
			}
		}
		checkSame(t, tr, machine.KindFolder)
	})
}
