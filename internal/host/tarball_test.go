package host

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/machine"
)

func TestHostileNamesAreCountedAndNotKept(t *testing.T) {
	data := map[string][]byte{
		"proc/version": []byte("Linux version 6.1.0\n"), "../../etc/os-release": []byte("ID=evil\n"),
		"/proc/cmdline": []byte("evil"), "proc/../../proc/cpuinfo": []byte("evil"),
	}
	raw := pack(t, data,
		&tar.Header{Name: "proc/version", Typeflag: tar.TypeReg},
		&tar.Header{Name: "../../etc/os-release", Typeflag: tar.TypeReg},
		&tar.Header{Name: "/proc/cmdline", Typeflag: tar.TypeReg},
		&tar.Header{Name: "proc/../../proc/cpuinfo", Typeflag: tar.TypeReg},
		&tar.Header{Name: "proc/uptime", Typeflag: tar.TypeSymlink, Linkname: "../../../etc/shadow"},
		&tar.Header{Name: "proc/sysinfo", Typeflag: tar.TypeLink, Linkname: "../etc/shadow"},
		&tar.Header{Name: "proc/version_signature", Typeflag: tar.TypeSymlink, Linkname: "/etc/shadow"}, // within, and not there
		&tar.Header{Name: "proc/sys/kernel/version", Typeflag: tar.TypeLink, Linkname: "proc/version"},
		&tar.Header{Name: "dev/hpet", Typeflag: tar.TypeChar},
	)
	b, err := readTarball(sourceOf(t, raw))
	if err != nil {
		t.Fatal(err)
	}
	if b.refused.count != 4 || b.refused.first != `"../../etc/os-release"` {
		t.Errorf("refused %+v, want 4, the first ../../etc/os-release", b.refused)
	}
	if _, err := fs.ReadFile(b.facts, "proc/uptime"); !errors.Is(err, errEscape) {
		t.Errorf("a link that leads out: error %v", err)
	}
	for _, name := range []string{"etc/os-release", "proc/cmdline", "proc/cpuinfo", "proc/sysinfo", "proc/version_signature"} {
		if _, err := fs.ReadFile(b.facts, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v, want that it does not exist", name, err)
		}
	}
	if text, err := fs.ReadFile(b.facts, "proc/sys/kernel/version"); err != nil || string(text) != "Linux version 6.1.0\n" {
		t.Errorf("hard link: %q, error %v", text, err)
	}
	if _, err := fs.Stat(b.facts, "dev/hpet"); err != nil {
		t.Errorf("a device's presence is a fact: %v", err)
	}
}

// sourceOf makes a source of a tarball in memory.
func sourceOf(t testing.TB, raw []byte) tarSource {
	t.Helper()
	src, err := newTarSource(bytes.NewReader(raw), int64(len(raw)), "x.tar")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestATarballIsBounded(t *testing.T) {
	t.Run("in entries", func(t *testing.T) {
		_, err := scanTarball(endless(t, func(n int) *tar.Header {
			return &tar.Header{Name: fmt.Sprintf("tmp/%d", n), Typeflag: tar.TypeReg}
		}, nil), nil)
		if err == nil || !strings.Contains(err.Error(), "more than 200000 entries") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("in bytes of facts", func(t *testing.T) {
		data := make(map[string][]byte)
		var entries []*tar.Header
		for n := range maxFacts/maxSysFact + 1 {
			name := fmt.Sprintf("%s/cpu%d/topology/physical_package_id", cpuDir, n)
			data[name] = make([]byte, maxSysFact)
			entries = append(entries, &tar.Header{Name: name, Typeflag: tar.TypeReg})
		}
		_, err := scanTarball(bytes.NewReader(pack(t, data, entries...)), nil)
		if err == nil || !strings.Contains(err.Error(), "MiB of facts") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("in folders that could be the root", func(t *testing.T) {
		entries := []*tar.Header{{Name: "proc/version", Typeflag: tar.TypeReg}}
		for n := range 10 * maxTops {
			entries = append(entries, &tar.Header{Name: fmt.Sprintf("top%d/dev/x", n), Typeflag: tar.TypeReg})
		}
		b, err := scanTarball(bytes.NewReader(pack(t, nil, entries...)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(b.facts.nodes); n > 3*maxTops {
			t.Errorf("%d names are kept", n)
		}
	})
	t.Run("in bytes of names", func(t *testing.T) {
		long := strings.Repeat("x", 200)
		_, err := scanTarball(endless(t, func(n int) *tar.Header {
			return &tar.Header{Name: fmt.Sprintf("%s/sys/module/clocksource/parameters/p%d", long, n), Typeflag: tar.TypeReg}
		}, nil), nil)
		if err == nil || !strings.Contains(err.Error(), "MiB of facts") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("in bytes of one file", func(t *testing.T) {
		data := map[string][]byte{"proc/cpuinfo": make([]byte, 3*maxFact)}
		b, err := readTarball(sourceOf(t, pack(t, data, &tar.Header{Name: "proc/cpuinfo", Typeflag: tar.TypeReg})))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(b.facts.nodes["proc/cpuinfo"].data); got != maxFact+1 {
			t.Errorf("kept %d bytes, want %d: the limit and one that says there is more", got, maxFact+1)
		}
	})
}

// endless writes entries until the reader goes away.
func endless(t *testing.T, entry func(n int) *tar.Header, data []byte) io.Reader {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		tw := tar.NewWriter(w)
		for n := range maxEntries + 10 {
			if tw.WriteHeader(entry(n)) != nil {
				return
			}
			if _, err := tw.Write(data); err != nil {
				return
			}
		}
		w.CloseWithError(tw.Close())
	}()
	t.Cleanup(func() {
		r.Close()
		<-done
	})
	return r
}

func TestFactsBeforeACutAreKept(t *testing.T) {
	data := map[string][]byte{"proc/version": []byte("Linux version 6.1.0\n"), "proc/cmdline": []byte("quiet\n")}
	whole := pack(t, data, &tar.Header{Name: "proc/version", Typeflag: tar.TypeReg}, &tar.Header{Name: "proc/cmdline", Typeflag: tar.TypeReg})
	r, err := OpenRoot(writeFile(t, "cut.tar", whole[:1024+300])) // within the second header
	if err != nil {
		t.Fatal(err)
	}
	snap, err := r.Collect()
	if err != nil {
		t.Fatal(err)
	}
	if snap.Kernel.Release != "6.1.0" || !errors.Is(r.Incomplete(), io.ErrUnexpectedEOF) {
		t.Errorf("release %q, incomplete: %v", snap.Kernel.Release, r.Incomplete())
	}
	last := snap.Unreadable[len(snap.Unreadable)-1]
	if last.What != r.Path() || !strings.Contains(last.HowTo, "again") {
		t.Errorf("the damage is not listed: %+v", last)
	}
	if _, err := OpenRoot(writeFile(t, "cut.tar", whole[:300])); err == nil {
		t.Error("a tarball without a single fact before the cut: no error")
	}
}

func TestTheRootOfATarballIsFound(t *testing.T) {
	entry := func(names ...string) []byte {
		data := make(map[string][]byte)
		var headers []*tar.Header
		for _, n := range names {
			data[n] = []byte("x\n")
			headers = append(headers, &tar.Header{Name: n, Typeflag: tar.TypeReg})
		}
		return pack(t, data, headers...)
	}
	for _, tt := range []struct {
		name  string
		names []string
		top   string
		err   string
	}{
		{"the tarball itself", []string{"proc/version", "backup/proc/version"}, "", ""},
		{"one folder in it", []string{"./host-a/proc/version", "host-a/README"}, "host-a", ""},
		{"a folder that has only a log", []string{"host-a/var/log/messages"}, "host-a", ""},
		{"two machines cannot be told apart", []string{"a/proc/version", "b/proc/version"}, "", "several machines"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := readTarball(sourceOf(t, entry(tt.names...)))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if b.top != tt.top {
				t.Errorf("root %q, want %q", b.top, tt.top)
			}
		})
	}
}

func TestModulesWithoutParametersAreAFactInATarball(t *testing.T) {
	data := map[string][]byte{"sys/module/kvm/parameters/nx": []byte("Y\n"), "proc/version": []byte("Linux version 5.4.0\n")}
	b, err := readTarball(sourceOf(t, pack(t, data,
		&tar.Header{Name: "sys/module/kvm/parameters/nx", Typeflag: tar.TypeReg}, &tar.Header{Name: "proc/version", Typeflag: tar.TypeReg})))
	if err != nil {
		t.Fatal(err)
	}
	snap, err := Collect(b.facts, Options{Kind: machine.KindArchive})
	if err != nil {
		t.Fatal(err)
	}
	if p := snap.Clocksource.Parameters; p == nil || len(p) != 0 {
		t.Errorf("parameters %#v, want an empty map", p)
	}
	if _, err := fs.Stat(b.facts, "sys/module/kvm"); err == nil {
		t.Error("a name that is not on the list was kept")
	}
}

func FuzzTarball(f *testing.F) {
	f.Add(loadFixture(f, "testdata/machines/sosreport-rhel8.txtar").tarball(f))
	f.Add(pack(f, map[string][]byte{"a/proc/version": []byte("x")},
		&tar.Header{Name: "a/proc/version", Typeflag: tar.TypeReg},
		&tar.Header{Name: "a/proc/cmdline", Typeflag: tar.TypeSymlink, Linkname: "../proc/version"},
		&tar.Header{Name: "a/proc", Typeflag: tar.TypeSymlink, Linkname: "/proc/version"}))
	f.Add(pack(f, map[string][]byte{"proc/version": []byte("x"), "data/log/messages": []byte("line\n"), "deep/er/file": []byte("y")},
		&tar.Header{Name: "var/log", Typeflag: tar.TypeSymlink, Linkname: "/data/log"},
		&tar.Header{Name: "data/log/messages", Typeflag: tar.TypeReg},
		&tar.Header{Name: "proc/cmdline", Typeflag: tar.TypeSymlink, Linkname: "/short/file"},
		&tar.Header{Name: "short", Typeflag: tar.TypeSymlink, Linkname: "deep/er"},
		&tar.Header{Name: "deep/er/file", Typeflag: tar.TypeReg},
		&tar.Header{Name: "proc/version", Typeflag: tar.TypeReg}))
	f.Fuzz(func(t *testing.T, data []byte) {
		src, err := newTarSource(bytes.NewReader(data), int64(len(data)), "x.tar")
		if err != nil {
			return
		}
		b, err := readTarball(src)
		if err != nil {
			return
		}
		if b.bytes > maxFacts {
			t.Errorf("%d bytes kept", b.bytes)
		}
		snap, err := Collect(b.facts, Options{Kind: kindOf(b.facts, machine.KindArchive)})
		if (snap == nil) == (err == nil) {
			t.Errorf("snapshot %v and error %v", snap, err)
		}
		// Both ways to read the logs give the same.
		logs, _ := listLogs(b.facts)
		limits := logLimits{head: 1 << 16, tail: 1 << 10, stream: 1 << 10}
		var together []string
		problems := b.readLogs(src, logs, limits, func(name string, text io.Reader) error {
			data, err := io.ReadAll(text)
			together = append(together, name+": "+string(data))
			return err
		})
		var single []string
		failed := 0
		for _, name := range logs {
			text, err := b.openLog(src, name, limits)
			if err != nil {
				failed++
				continue
			}
			data, err := io.ReadAll(text)
			if err != nil {
				failed++
			}
			single = append(single, name+": "+string(data))
		}
		if !slices.Equal(together, single) || len(problems) != failed {
			t.Errorf("together %q with %v, one by one %q with %d problems", together, problems, single, failed)
		}
	})
}
