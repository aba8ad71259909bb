package image

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// extract extracts the kernel of an image in memory.
func extract(b []byte) ([]byte, Info, error) {
	var out bytes.Buffer
	info, err := Extract(&out, bytes.NewReader(b), int64(len(b)))
	return out.Bytes(), info, err
}

const version = "5.10.0-32-amd64 (builder@host) #1 SMP"

func TestAKernelComesOutOfAnImageAsItWasPacked(t *testing.T) {
	kernel := elf(true)
	cases := []struct {
		packing string
		packed  []byte
	}{
		{"gzip", gzipped(t, kernel)},
		{"zstd", zstandard(t, kernel)},
		{"lz4", stored(kernel)},
	}
	for _, c := range cases {
		t.Run(c.packing, func(t *testing.T) {
			got, info, err := extract(bzImage(c.packed, len(kernel)))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, kernel) {
				t.Errorf("%d bytes came out, other than the %d that went in", len(got), len(kernel))
			}
			if diff := cmp.Diff(Info{Format: BzImage, Version: version, Packing: c.packing}, info); diff != "" {
				t.Errorf("what the image says (-want +got):\n%s", diff)
			}
		})
	}
}

// The programs that the kernel's build calls, where they are installed.
func TestAKernelComesOutAsThePackersOfTheBuildPackIt(t *testing.T) {
	kernel := elf(true)
	cases := [][]string{
		{"gzip", "-9n"}, {"bzip2", "-9"}, {"lz4", "-l", "-9", "-q"}, {"zstd", "-22", "--ultra", "-q"},
		{"xz", "--check=crc32", "--x86", "--lzma2=dict=32MiB"}, {"xz", "--check=none"}, {"xz", "--check=sha256", "--x86", "--lzma2=preset=1"},
	}
	for _, c := range cases {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			if _, err := exec.LookPath(c[0]); err != nil {
				t.Skipf("%s is not installed", c[0])
			}
			cmd := exec.Command(c[0], append(c[1:], "-c")...)
			cmd.Stdin = bytes.NewReader(kernel)
			packed, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			got, info, err := extract(bzImage(packed, len(kernel)))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, kernel) || info.Packing != c[0] {
				t.Errorf("%s: %d bytes came out, other than the %d that went in", info.Packing, len(got), len(kernel))
			}
		})
	}
}

func TestCodeComesOutOfXZWithTheX86Filter(t *testing.T) {
	for _, name := range []string{"one-block.xz", "three-blocks.xz"} {
		b := testdata(t, name)
		r, err := newXZ(io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b))))
		if err != nil {
			t.Fatal(err)
		}
		// One byte at a time, so that no target is whole when it comes.
		got, err := io.ReadAll(iotest.OneByteReader(r))
		if err != nil || !bytes.Equal(got, code()) {
			t.Errorf("%s: %d bytes, other than the code that was packed; error %v", name, len(got), err)
		}
	}
}

func TestTheX86FilterDoesNotDependOnHowItsSourceDelivers(t *testing.T) {
	want, err := io.ReadAll(newX86Filter(bytes.NewReader(code()), 77))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(want, code()) {
		t.Fatal("the filter changed nothing")
	}
	got, err := io.ReadAll(newX86Filter(iotest.OneByteReader(bytes.NewReader(code())), 77))
	if err != nil || !bytes.Equal(want, got) {
		t.Errorf("one byte at a time gives something else, error %v", err)
	}
	for n := range 12 {
		if got, err := io.ReadAll(newX86Filter(bytes.NewReader(want[:n]), 0)); err != nil || len(got) != n {
			t.Errorf("%d bytes became %d, error %v", n, len(got), err)
		}
	}
}

func TestCodeComesOutOfLZ4(t *testing.T) {
	got, err := io.ReadAll(newLZ4(bufio.NewReader(bytes.NewReader(testdata(t, "legacy.lz4")))))
	if err != nil || !bytes.Equal(got, code()) {
		t.Errorf("%d bytes, other than the code that was packed; error %v", len(got), err)
	}
}

func TestAVmlinuxSaysWhetherQEMUCanStartIt(t *testing.T) {
	for _, pvh := range []bool{true, false} {
		b := elf(pvh)
		info, err := Inspect(bytes.NewReader(b), int64(len(b)))
		if diff := cmp.Diff(Info{Format: Vmlinux, PVH: pvh}, info); diff != "" || err != nil {
			t.Errorf("error %v, what the image says (-want +got):\n%s", err, diff)
		}
	}
}

// change returns a copy of b with bytes at an offset replaced.
func change(b []byte, at int, with ...byte) []byte {
	b = bytes.Clone(b)
	copy(b[at:], with)
	return b
}

func TestWhatIsNoKernelIsRefused(t *testing.T) {
	kernel := elf(true)
	good := bzImage(gzipped(t, kernel), len(kernel))
	xz := bzImage(testdata(t, "one-block.xz"), 16000)
	huge := binary.LittleEndian.AppendUint32(nil, 0xfffffff0)
	cases := []struct {
		name string
		in   []byte
		is   error
		want string
	}{
		{"nothing", nil, ErrNoKernel, "neither"},
		{"a text", []byte(strings.Repeat("not a kernel\n", 1000)), ErrNoKernel, "neither"},
		{"a boot protocol of before 2008", change(good, offProtocol, 7, 2), ErrNoKernel, "boot protocol 0x0207"},
		{"an image that was cut", good[:len(good)/2], ErrDamaged, "may have been cut"},
		{"a payload beyond the file", change(good, offPayloadLength, huge...), ErrDamaged, "may have been cut"},
		{"a payload offset beyond the file", change(good, offPayload, huge...), ErrDamaged, "may have been cut"},
		{"an empty payload", change(good, offPayloadLength, 0, 0, 0, 0), ErrDamaged, "is said to lie at"},
		{"a packing that is not undone", bzImage([]byte("\x5d\x00\x00\x80lzma, by its magic number"), 1000), ErrPacking, "lzma"},
		{"a packing that does not exist", bzImage([]byte("?????????????????????"), 1000), ErrPacking, "unknown"},
		{"a size of gigabytes", bzImage(zstandard(t, kernel), 1<<31-1), ErrDamaged, "said to unpack to 2147483647 bytes"},
		{"a size that is too large", bzImage(zstandard(t, kernel), len(kernel)+1), ErrDamaged, "is said to unpack to"},
		{"a size that is too small", bzImage(zstandard(t, kernel), len(kernel)-1), ErrDamaged, "is said to unpack to"},
		{"damage within", change(good, len(good)/2, 1, 2, 3, 4, 5, 6), ErrDamaged, "unpack the kernel (gzip)"},
		{"damage within xz", change(xz, len(xz)/2, 1, 2, 3, 4, 5, 6), ErrDamaged, "not with an ELF header"},
		{"something else packed", bzImage(zstandard(t, code()), 16000), ErrDamaged, "not with an ELF header"},
		{"a vmlinux", kernel, nil, "is a vmlinux already"},
		{"an ELF file for another machine", change(kernel, 18, 183), ErrNoKernel, "not a 64-bit one for x86-64"},
		{"an ELF file of 32 bits", change(kernel, 4, 1), ErrNoKernel, "not a 64-bit one for x86-64"},
		{"an ELF header that is cut", kernel[:40], ErrDamaged, "ends early"},
		{"program headers beyond the file", change(kernel, 32, huge...), ErrDamaged, "program headers"},
		{"too many program headers", change(kernel, 56, 255, 255), ErrDamaged, "program headers"},
		{"a segment beyond the file", kernel[:len(kernel)-1], ErrDamaged, "may have been cut"},
		{"nothing to load", change(kernel, elfHeader, 0), ErrNoKernel, "nothing to load"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := extract(c.in)
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %v and %q", err, c.is, c.want)
			}
		})
	}
}

// The last bytes of packed data may mean nothing: then the right code comes out.
func TestDamagedXZNeverGivesOtherCode(t *testing.T) {
	good := testdata(t, "three-blocks.xz")
	// Up to the index, which is not read.
	end := bytes.LastIndex(good, []byte{0, 3})
	for i := 0; i < end; i += 17 {
		r, err := newXZ(io.NewSectionReader(bytes.NewReader(change(good, i, good[i]^0x40)), 0, int64(len(good))))
		if err != nil {
			continue
		}
		if got, err := io.ReadAll(r); err == nil && !bytes.Equal(got, code()) {
			t.Fatalf("byte %d of %d is damaged, and %d other bytes came out without an error", i, end, len(got))
		}
	}
}

func TestDamagedLZ4IsAnErrorAndStaysBounded(t *testing.T) {
	good := testdata(t, "legacy.lz4")
	read := func(b []byte) (int64, error) {
		return io.Copy(io.Discard, newLZ4(bufio.NewReader(bytes.NewReader(b))))
	}
	for _, c := range []struct {
		name string
		in   []byte
	}{
		{"a block of gigabytes", change(good, 4, 0xff, 0xff, 0xff, 0x7f)},
		{"an empty block", change(good, 4, 0, 0, 0, 0)},
		{"a block that is cut", good[:len(good)-1]},
		{"an offset before the beginning", []byte("\x02\x21\x4c\x18\x04\x00\x00\x00\x10a\x09\x00")},
		{"an offset of zero", []byte("\x02\x21\x4c\x18\x04\x00\x00\x00\x10a\x00\x00")},
		{"a length without end", append([]byte("\x02\x21\x4c\x18\x05\x00\x00\x00\xf0"), 255, 255, 255, 255)},
	} {
		if n, err := read(c.in); !errors.Is(err, errLZ4) {
			t.Errorf("%s: %d bytes, error %v", c.name, n, err)
		}
	}
	for i := 0; i < len(good); i += 13 {
		if n, _ := read(change(good, i, good[i]^0x55)); n > lz4Block {
			t.Errorf("with byte %d damaged, %d bytes come out", i, n)
		}
	}
}
