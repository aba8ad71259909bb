package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/machine"
	"github.com/google/go-cmp/cmp"
)

func TestLogsAreReadFromTheOldestToTheNewest(t *testing.T) {
	for _, tt := range []struct {
		name string
		want []string // in order
	}{
		{"numbers", []string{"var/log/kern.log.10.gz", "var/log/kern.log.9.gz", "var/log/kern.log.2", "var/log/kern.log.1", "var/log/kern.log"}},
		{"dates", []string{"var/log/messages-20231231.xz", "var/log/messages-20240101", "var/log/messages-20240108", "var/log/messages"}},
		{"finer dates", []string{"var/log/syslog-2023.gz", "var/log/syslog-2024-01-01.gz", "var/log/syslog-20240101-0300", "var/log/syslog.2024-01-01T04:00", "var/log/syslog-20240102.2.gz", "var/log/syslog-20240102.1.gz", "var/log/syslog-1704200000", "var/log/syslog-20240103", "var/log/syslog"}},
		{"both", []string{"var/log/messages.bak", "var/log/messages.2.gz", "var/log/messages.1", "var/log/messages-20240101", "var/log/messages"}},
		{"boots", []string{"var/log/dmesg.4.gz", "var/log/dmesg.1.gz", "var/log/dmesg.0", "var/log/dmesg"}},
		{"the other way to keep a boot", []string{"var/log/dmesg.old", "var/log/dmesg"}},
		{"the journal", []string{"sos_commands/logs/journalctl_--no-pager", "sos_commands/logs/journalctl_--no-pager_--boot_-2", "sos_commands/logs/journalctl_--no-pager_--catalog_--boot_-1", "sos_commands/logs/journalctl_--no-pager_--boot"}},
		{"numbers that are no dates", []string{"var/log/messages-20241399", "var/log/messages-7"}},
		{"all kinds", []string{"sos_commands/kernel/dmesg_-T", "var/log/dmesg", "var/log/syslog.1", "var/log/syslog", "var/log/messages", "var/log/kern.log",
			"sos_commands/logs/journalctl_--no-pager_--boot", "sos_commands/kernel/dmesg", "cswatch/kmsg"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(5) {
				got := slices.Clone(tt.want)
				rng := rand.New(rand.NewPCG(seed, 2))
				rng.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
				sortLogs(got)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Fatalf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

// manyLogs is a tarball in which the newest log comes first.
func manyLogs(t *testing.T, n, size int) (raw []byte, names []string) {
	t.Helper()
	data := map[string][]byte{"proc/version": []byte("Linux version 6.1.0\n")}
	entries := []*tar.Header{{Name: "proc/version", Typeflag: tar.TypeReg}}
	noise := rand.NewChaCha8([32]byte{1})
	for i := range n {
		name := fmt.Sprintf("var/log/messages.%d", i+1)
		text := make([]byte, size)
		if _, err := noise.Read(text); err != nil { // does not shrink when it is held
			t.Fatal(err)
		}
		data[name] = text
		entries = append(entries, &tar.Header{Name: name, Typeflag: tar.TypeReg})
		names = append(names, name)
	}
	slices.Reverse(names)
	return pack(t, data, entries...), names
}

// countingSource counts how often a tarball is read from its beginning.
type countingSource struct {
	*bytes.Reader
	begun int
}

func (c *countingSource) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		c.begun++
	}
	return c.Reader.ReadAt(p, off)
}

// readPacked reads the facts of a tarball, compressed, and counts how often it is begun anew.
func readPacked(t *testing.T, raw []byte) (*tarball, tarSource, *countingSource) {
	t.Helper()
	packed := compressWith(t, raw, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, gzip.BestSpeed) })
	at := &countingSource{Reader: bytes.NewReader(packed)}
	src, err := newTarSource(at, int64(len(packed)), "x.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	tb, err := readTarball(src)
	if err != nil {
		t.Fatal(err)
	}
	return tb, src, at
}

func TestACompressedTarballIsReadOnceForAllItsLogs(t *testing.T) {
	for _, tt := range []struct {
		name    string
		n, size int
		passes  int
		left    int // logs that are not read
	}{
		{"as many as are read", maxLogs, 1000, 1, 0},
		{"what does not fit into memory", 4, 60_000, 3, 0},
		{"what would take too many passes", maxLogPasses + 3, 100_000, maxLogPasses, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, names := manyLogs(t, tt.n, tt.size)
			tb, src, at := readPacked(t, raw)
			logs, _ := listLogs(tb.facts)
			at.begun = 0
			var got []string
			problems := tb.readLogs(src, logs, logLimits{head: 1 << 30, held: 100_000}, func(name string, text io.Reader) error {
				n, err := io.Copy(io.Discard, text)
				if n != int64(tt.size) {
					t.Errorf("%s: %d bytes", name, n)
				}
				got = append(got, name)
				return err
			})
			if diff := cmp.Diff(names[:len(names)-tt.left], got); diff != "" {
				t.Errorf("logs, -want +got:\n%s", diff)
			}
			if at.begun != tt.passes || len(problems) != tt.left {
				t.Errorf("%d passes, problems %v; want %d passes and %d problems", at.begun, problems, tt.passes, tt.left)
			}
			for _, p := range problems {
				if !strings.Contains(p.Error(), "unpack it") {
					t.Errorf("%v does not say what to do", p)
				}
			}
		})
	}
}

// The memory of a log that was held is free for the next.
func TestLogsInALittleDisorderNeedOnePass(t *testing.T) {
	data := make(map[string][]byte)
	var entries []*tar.Header
	noise := rand.NewChaCha8([32]byte{2})
	for i := 10; i > 0; i -= 2 { // 9 before 10, 7 before 8, ...: only one is held at a time
		for _, n := range []int{i - 1, i} {
			name := fmt.Sprintf("var/log/messages.%d", n)
			data[name] = make([]byte, 25_000)
			if _, err := noise.Read(data[name]); err != nil {
				t.Fatal(err)
			}
			entries = append(entries, &tar.Header{Name: name, Typeflag: tar.TypeReg})
		}
	}
	raw := pack(t, data, append(entries, &tar.Header{Name: "proc/version", Typeflag: tar.TypeReg})...)
	tb, src, at := readPacked(t, raw)
	logs, _ := listLogs(tb.facts)
	at.begun = 0
	problems := tb.readLogs(src, logs, logLimits{head: 1 << 30, held: 100_000}, func(_ string, text io.Reader) error {
		_, err := io.Copy(io.Discard, text)
		return err
	})
	if len(problems) != 0 || at.begun != 1 {
		t.Errorf("%d passes, problems %v; want 1 and none", at.begun, problems)
	}
}

func TestOfTooManyLogsTheNewestAreRead(t *testing.T) {
	raw, names := manyLogs(t, 3000, 0)
	r, err := OpenRoot(writeFile(t, "x.tar", raw))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if diff := cmp.Diff(names[3000-maxLogs:], r.Logs()); diff != "" {
		t.Errorf("logs, -want +got:\n%s", diff)
	}
	snap, err := r.Collect()
	if err != nil {
		t.Fatal(err)
	}
	last := snap.Unreadable[len(snap.Unreadable)-1]
	if want := "not read, like the 2935 that follow it in age: of 3000 logs the newest 64 are read"; last.What != "/var/log/messages.3000" || last.Reason != want || r.Incomplete() == nil {
		t.Errorf("unreadable %+v, incomplete %v; want %q", last, r.Incomplete(), want)
	}
}

func TestWhatIsNoLogAlthoughItsNameSaysSoIsListed(t *testing.T) {
	tr := tree{files: map[string]string{"proc/version": "Linux version 6.1.0\n", "var/log/messages.d/x": "y"}, links: make(map[string]string)}
	for i := range 100 {
		tr.links[fmt.Sprintf("var/log/syslog.%d", i)] = "nowhere"
	}
	r, err := OpenRoot(tr.folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := len(r.problems); n != maxLogs+1 || !errors.Is(r.problems[0], errDangling) || !strings.Contains(r.problems[n-1].Error(), "and 35 more") {
		t.Errorf("%d problems, the last %v", n, r.problems[n-1])
	}
	if r.Incomplete() == nil || len(r.Logs()) != 0 {
		t.Errorf("incomplete %v, logs %v", r.Incomplete(), r.Logs())
	}
}

func TestACutTarballGivesWhatThereIsOfItsLogs(t *testing.T) {
	text := numbered(500)
	data := map[string][]byte{"proc/version": []byte("Linux version 6.1.0\n"), "var/log/messages": []byte(text), "var/log/syslog": []byte("whole\n")}
	raw := pack(t, data, &tar.Header{Name: "proc/version", Typeflag: tar.TypeReg}, &tar.Header{Name: "var/log/syslog", Typeflag: tar.TypeReg}, &tar.Header{Name: "var/log/messages", Typeflag: tar.TypeReg})
	raw = raw[:5*512+2000]
	packed := compressWith(t, raw, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	for name, data := range map[string][]byte{"x.tar": raw, "x.tar.gz": packed} {
		t.Run(name, func(t *testing.T) {
			r, err := OpenRoot(writeFile(t, name, data))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if !errors.Is(r.Incomplete(), io.ErrUnexpectedEOF) {
				t.Errorf("incomplete: %v", r.Incomplete())
			}
			var got []string
			problems := r.ReadLogs(func(name string, log io.Reader) error {
				data, err := io.ReadAll(log)
				got = append(got, string(data))
				return err
			})
			if len(got) != 2 || got[0] != "whole\n" || len(got[1]) < 1900 || !strings.HasPrefix(text, got[1]) {
				t.Errorf("read %q", got)
			}
			if len(problems) != 1 || problems[0].Name != "var/log/messages" || !errors.Is(problems[0], io.ErrUnexpectedEOF) {
				t.Errorf("problems %v", problems)
			}
		})
	}
}

func TestErrorsShowNamesHarmlessly(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "a\x1b[31mb\nc")
	if err := os.MkdirAll(bad, 0o755); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(bad, "x.tar.gz")
	if err := os.WriteFile(file, []byte("\x1f\x8b\x08\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(bad, "none"), file, filepath.Join(file, "below")} {
		_, err := OpenRoot(name)
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") || !strings.Contains(err.Error(), `\x1b[31mb\n`) {
			t.Errorf("error %v: want one that shows the name harmlessly", err)
		}
	}
	if p := (LogProblem{"var/log/messages\x1b", fs.ErrPermission}); strings.Contains(p.Error(), "\x1b") || !errors.Is(p, fs.ErrPermission) {
		t.Errorf("error %q", p)
	}
}

func TestRefusedEntriesAreListedAsUnreadable(t *testing.T) {
	data := map[string][]byte{"proc/version": []byte("Linux version 6.1.0\n"), "../proc/\x1bcmdline": []byte("x")}
	r, err := OpenRoot(writeFile(t, "x.tar", pack(t, data, &tar.Header{Name: "proc/version", Typeflag: tar.TypeReg}, &tar.Header{Name: "../proc/\x1bcmdline", Typeflag: tar.TypeReg})))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	snap, err := r.Collect()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(snap.Unreadable, func(u machine.Unreadable) bool {
		return u.What == r.Path() && strings.Contains(u.Reason, `"../proc/\x1bcmdline"`) && strings.HasPrefix(u.Reason, "names of 1 entries")
	}) {
		t.Errorf("unreadable %+v", snap.Unreadable)
	}
}
