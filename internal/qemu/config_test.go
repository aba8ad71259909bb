package qemu

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/qemu/image"
)

// imageOf makes a bzImage with a kernel packed by gzip.
func imageOf(t *testing.T, kernel []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(kernel); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1024)
	b[0x1f1] = 1
	copy(b[0x202:], "HdrS\x0f\x02")
	binary.LittleEndian.PutUint32(b[0x24c:], uint32(packed.Len()))
	return append(b, packed.Bytes()...)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAKernelIsUnpackedOnceIntoTheCache(t *testing.T) {
	kernel := readFile(t, kernelFile(t, true))
	packed := imageOf(t, kernel)
	deb := []byte("!<arch>\n")
	var files bytes.Buffer
	fmt.Fprintf(&files, "%-100s%07o\x00%07o\x00%07o\x00%011o\x00%011o\x00", "./boot/vmlinuz-5.10", 0o644, 0, 0, len(packed), 0)
	header := append(files.Bytes(), make([]byte, 512-files.Len())...)
	copy(header[148:], "        0")
	sum := 0
	for _, c := range header {
		sum += int(c)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	data := append(header, packed...)
	data = append(data, make([]byte, -len(packed)&511+1024)...)
	deb = fmt.Appendf(deb, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", "data.tar", 0, 0, 0, 0o100644, len(data))
	deb = append(deb, data...)

	c := Config{Cache: t.TempDir()}
	var path string
	for _, source := range []string{write(t, "vmlinuz", packed), write(t, "linux.deb", deb)} {
		k, err := c.Prepare(source)
		if err != nil {
			t.Fatal(err)
		}
		if k.Format != image.Vmlinux || k.Why != "" || k.Source != source || !bytes.Equal(readFile(t, k.Path), kernel) {
			t.Errorf("from %s: %+v", source, k)
		}
		if path == "" {
			path = k.Path
		}
		if k.Path != path {
			t.Errorf("the same image was unpacked to %s and to %s", path, k.Path)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the cache holds %v, error %v", entries, err)
	}
}

func TestAKernelThatQEMUCannotStartUnpackedIsBootedPacked(t *testing.T) {
	c := Config{Cache: t.TempDir()}
	noPVH := write(t, "vmlinuz", imageOf(t, readFile(t, kernelFile(t, false))))
	lzma := imageOf(t, readFile(t, kernelFile(t, true)))
	copy(lzma[1024:], "\x5d\x00\x00\x80")
	for _, x := range []struct{ path, why string }{
		{noPVH, "no PVH entry point"},
		{write(t, "vmlinuz", lzma), "lzma"},
	} {
		k, err := c.Prepare(x.path)
		if err != nil || k.Path != x.path || k.Format != image.BzImage || !strings.Contains(k.Why, x.why) {
			t.Errorf("%+v, error %v", k, err)
		}
	}
}

func TestADamagedKernelLeavesNothingInTheCache(t *testing.T) {
	c := Config{Cache: t.TempDir()}
	b := imageOf(t, readFile(t, kernelFile(t, true)))
	copy(b[1024+40:], "damage")
	if k, err := c.Prepare(write(t, "vmlinuz", b)); !errors.Is(err, image.ErrDamaged) || k != (Kernel{}) {
		t.Errorf("%+v, error %v", k, err)
	}
	if left, err := os.ReadDir(filepath.Join(c.Cache, "unpacked")); err != nil || len(left) > 0 {
		t.Errorf("the cache holds %v, error %v", left, err)
	}
}

func TestAKernelOfASeriesIsFoundInTheCache(t *testing.T) {
	c := Config{Cache: t.TempDir()}
	_, err := c.CachedKernel("5.10")
	var unavailable *UnavailableError
	if !errors.As(err, &unavailable) || err.Error() != "no kernel of series 5.10 in the cache: run scripts/fetch-kernels 5.10" {
		t.Errorf("error %v", err)
	}
	want := filepath.Join(c.Cache, "kernels", "7.3", "vmlinuz")
	if err := os.MkdirAll(filepath.Dir(want), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("7.3", filepath.Join(c.Cache, "kernels", "7")); err != nil {
		t.Fatal(err)
	}
	for _, series := range []string{"7.3", "7"} {
		got, err := c.CachedKernel(series)
		if err != nil {
			t.Fatal(err)
		}
		if real, err := filepath.EvalSymlinks(got); err != nil || !strings.HasSuffix(real, "/kernels/7.3/vmlinuz") {
			t.Errorf("series %s is at %s, error %v", series, real, err)
		}
	}
	if path, err := c.CachedKernel("../kernels/7.3"); err == nil {
		t.Errorf("a path that leads out of the cache gave %s", path)
	}
	t.Setenv("CSWATCH_CACHE", c.Cache)
	if got, err := (Config{}).CachedKernel("7.3"); err != nil || got != want {
		t.Errorf("with CSWATCH_CACHE: %s, error %v", got, err)
	}
}

func TestProbeBelievesOnlyABoot(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("KVM for x86-64 guests needs Linux on x86-64")
	}
	config := fakeConfig(t)
	device := write(t, "kvm", nil)
	cases := []struct{ name, device, steps, accelerator, why string }{
		{"a boot that comes through", device, "hello;end", KVM, "a kernel booted with KVM in 0."},
		{"no device", device + "-none", "hello;end", TCG, "KVM cannot be used: open " + device + "-none"},
		{"QEMU refuses", device, "stderr failed to initialize kvm;exit 1", TCG, "(exit code 1): failed to initialize kvm"},
		{"a kernel that dies", device, "console early;exit 0", TCG, "did not come through: the machine ended"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(fakeVariable, c.steps)
			config.kvm = c.device
			accelerator, why, err := config.Probe(limited(t), Spec{Kernel: kernelFile(t, true)})
			if accelerator != c.accelerator || !strings.Contains(why, c.why) || err != nil {
				t.Errorf("%s: %s, error %v; want %s: %s", accelerator, why, err, c.accelerator, c.why)
			}
		})
	}
	config.kvm = device
	if accelerator, _, err := config.Probe(limited(t), Spec{Kernel: "/no/such/kernel"}); err == nil || accelerator != "" {
		t.Errorf("without a kernel: %q, error %v", accelerator, err)
	}
}
