package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cswatch/cswatch/machine"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

func compressWith(t *testing.T, data []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := open(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func writeFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestASOSReportReadsTheSameHoweverItIsPacked(t *testing.T) {
	f := loadFixture(t, "testdata/machines/sosreport-rhel8.txtar")
	want, err := Collect(f.fs(t), f.opt)
	if err != nil {
		t.Fatal(err)
	}
	plain := f.tarball(t)
	top := f.folder(t)
	paths := map[string]string{
		"a folder":                     filepath.Join(top, strings.SplitN(f.files[0].Name, "/", 2)[0]),
		"the folder above":             top,
		"a tarball":                    writeFile(t, "sos.tar", plain),
		"a tarball compressed by gzip": writeFile(t, "sos.tar.gz", compressWith(t, plain, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })),
		"a tarball compressed by xz":   writeFile(t, "sos.tar.xz", compressWith(t, plain, func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) })),
		"a tarball compressed by zstd": writeFile(t, "sos.tar.zst", compressWith(t, plain, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })),
	}
	wantLogs := []string{
		"sos_commands/kernel/dmesg_-T", "var/log/messages", "sos_commands/logs/journalctl_--no-pager_--boot", "sos_commands/kernel/dmesg",
	}
	for name, p := range paths {
		t.Run(name, func(t *testing.T) {
			r, err := OpenRoot(p)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if r.Kind() != machine.KindSOS || r.Path() != p || r.Incomplete() != nil {
				t.Errorf("kind %q, path %q, incomplete: %v", r.Kind(), r.Path(), r.Incomplete())
			}
			got, err := r.Collect()
			if err != nil {
				t.Fatal(err)
			}
			got.Root = want.Root
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("snapshot, -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(wantLogs, r.Logs()); diff != "" {
				t.Errorf("logs, -want +got:\n%s", diff)
			}
			for range 2 { // a log can be read again
				log, err := r.OpenLog("sos_commands/kernel/dmesg")
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(log)
				if err != nil || !strings.Contains(string(text), "Marking clocksource 'tsc' as unstable") {
					t.Errorf("log: error %v, text %q", err, text)
				}
				if err := log.Close(); err != nil {
					t.Error(err)
				}
			}
			for _, no := range []string{"var/log/secure", "../etc/passwd", "etc/os-release"} {
				if _, err := r.OpenLog(no); err == nil {
					t.Errorf("OpenLog(%q) did not fail", no)
				}
			}
		})
	}
}

func TestRotatedLogsAreDecompressed(t *testing.T) {
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	fmt.Fprintln(zw, "Mar  5 08:00:02 h kernel: clocksource: Switched to clocksource tsc")
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{ // by the name in the tarball
		"./var/log/kern.log.2.gz": packed.Bytes(), "proc/version": []byte("Linux version 6.1.0\n"), "var/log/kern.log": []byte("new\n"),
	}
	tarball := writeFile(t, "root.tar", pack(t, data,
		&tar.Header{Name: "./var/log/kern.log.2.gz", Typeflag: tar.TypeReg}, &tar.Header{Name: "proc/version", Typeflag: tar.TypeReg},
		&tar.Header{Name: "var/log/kern.log", Typeflag: tar.TypeReg}))
	r, err := OpenRoot(tarball)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if diff := cmp.Diff([]string{"var/log/kern.log.2.gz", "var/log/kern.log"}, r.Logs()); diff != "" {
		t.Fatalf("logs, -want +got:\n%s", diff)
	}
	log, err := r.OpenLog("var/log/kern.log.2.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text, err := io.ReadAll(log)
	if err != nil || !strings.Contains(string(text), "Switched to clocksource tsc") {
		t.Errorf("error %v, text %q", err, text)
	}
}

func TestATarballCompressedByBzip2IsRead(t *testing.T) {
	r, err := OpenRoot("testdata/minimal.tar.bz2")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	snap, err := r.Collect()
	if err != nil {
		t.Fatal(err)
	}
	if snap.Kernel.Release != "6.1.0" || snap.Kind != machine.KindArchive {
		t.Errorf("release %q, kind %q; want 6.1.0 and archive", snap.Kernel.Release, snap.Kind)
	}
}

func TestAFolderIsNotLeftThroughLinks(t *testing.T) {
	outside := writeFile(t, "secret", []byte("Linux version 9.9.9-outside\n"))
	dir := t.TempDir()
	for _, d := range []string{"proc/sys/kernel", "sys/firmware/devicetree/base", "var/log"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(outside, "proc/version")
	link("../../../../../../../../../../"+outside, "proc/sys/kernel/osrelease")
	link("loop", "proc/loop")
	link("loop", "proc/cmdline")
	link("/sys/firmware/devicetree/base", "proc/device-tree") // absolute and within
	if err := os.WriteFile(filepath.Join(dir, "sys/firmware/devicetree/base/model"), []byte("Board 1\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "proc/cpuinfo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "var/log/messages"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done := make(chan *machine.Snapshot, 1)
	go func() {
		snap, err := r.Collect()
		if err != nil {
			t.Error(err)
		}
		done <- snap
	}()
	var snap *machine.Snapshot
	select {
	case snap = <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("Collect hangs on a named pipe")
	}
	if snap.Kernel.Release != "" || snap.Kernel.Banner != "" || snap.CommandLine != "" {
		t.Errorf("read through a link out of the root: %+v, %q", snap.Kernel, snap.CommandLine)
	}
	if snap.CPU.Model != "Board 1" {
		t.Errorf("model %q, want the one behind the absolute link within the root", snap.CPU.Model)
	}
	if len(r.Logs()) != 0 {
		t.Errorf("a named pipe is listed as a log: %v", r.Logs())
	}
	reasons := make(map[string]string)
	for _, u := range snap.Unreadable {
		reasons[u.What] = u.Reason
	}
	// An absolute link is looked up within the root, where its target does not exist.
	for what, want := range map[string]string{"/proc/version": machine.ReasonNotThere, "/proc/cpuinfo": errSpecial.Error(), "/proc/cmdline": errLoop.Error()} {
		if reasons[what] != want {
			t.Errorf("%s: reason %q, want %q", what, reasons[what], want)
		}
	}
}

func TestWhatIsNoRootIsRefused(t *testing.T) {
	for name, p := range map[string]string{
		"a path that does not exist": filepath.Join(t.TempDir(), "nothing"),
		"a device":                   "/dev/null",
		"a file that is no tarball":  writeFile(t, "x.tar", bytes.Repeat([]byte("no tarball "), 200)),
	} {
		if _, err := OpenRoot(p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTheRunningMachineIsCollectedQuickly(t *testing.T) {
	r, err := OpenRoot("/")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Kind() != machine.KindLive {
		t.Fatalf("kind %q of /, want live", r.Kind())
	}
	best := time.Hour
	for range 5 { // others use this machine, too
		start := time.Now()
		snap, err := r.Collect()
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(start))
		if !snap.Live || snap.Kernel.Release == "" || snap.Arch == "" || snap.CPU.Online == 0 {
			t.Fatalf("snapshot of this machine lacks the plainest facts: %+v", snap)
		}
	}
	if best > 50*time.Millisecond {
		t.Errorf("the fastest of five took %v, want less than 50 ms", best)
	}
}
