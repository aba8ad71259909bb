package image

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"
)

// An image is refused, or what comes out of it has the promised size and begins like a kernel.
func FuzzExtract(f *testing.F) {
	// Small, or the fuzzer spends its time on making inputs smaller.
	kernel := elfOf(code()[:60], true)
	var x bytes.Buffer
	w, err := xz.NewWriter(&x)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := w.Write(kernel); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	for _, packed := range [][]byte{gzipped(f, kernel), zstandard(f, kernel), stored(kernel), x.Bytes()} {
		f.Add(bzImage(packed, len(kernel)))
		if _, _, err := extract(bzImage(packed, len(kernel))); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		inspected, inspectErr := Inspect(bytes.NewReader(b), int64(len(b)))
		if inspectErr != nil && inspected != (Info{}) {
			t.Errorf("an error came with %+v", inspected)
		}
		var out bytes.Buffer
		info, err := Extract(&out, bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		if inspectErr != nil || inspected != info {
			t.Errorf("extracted from %+v, and Inspect says %+v, %v", info, inspected, inspectErr)
		}
		if out.Len() > MaxVmlinux || !bytes.HasPrefix(out.Bytes(), []byte("\x7fELF")) {
			t.Errorf("%d bytes came out", out.Len())
		}
	})
}

// The headers of an ELF file are read without panic, and never with both an error and a value.
func FuzzInspect(f *testing.F) {
	f.Add(elfOf(code()[:10], true))
	f.Add(elfOf(nil, false))
	f.Add(bzImage([]byte("\x1f\x8b\x08xxxxxxxxxxxxxxxx"), 1000))
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := Inspect(bytes.NewReader(b), int64(len(b)))
		if err != nil && info != (Info{}) || err == nil && info.Format != BzImage && info.Format != Vmlinux {
			t.Errorf("%+v, error %v", info, err)
		}
		again, _ := Inspect(bytes.NewReader(b), int64(len(b)))
		if again != info {
			t.Errorf("the second look says %+v, the first said %+v", again, info)
		}
	})
}

// A package gives a kernel with its release, or an error and nothing.
func FuzzFromPackage(f *testing.F) {
	files := tarArchive(f, "./boot/vmlinuz-5.10", "KERNEL")
	f.Add(arArchive(member{"debian-binary", []byte("2.0\n")}, member{"data.tar", files}))
	f.Add(arArchive(member{"data.tar.gz", gzipped(f, files)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		kernel, release, err := FromPackage(bytes.NewReader(b))
		if (err == nil) != (release != "") || err != nil && kernel != nil {
			t.Errorf("a kernel of %d bytes, release %q, error %v", len(kernel), release, err)
		}
	})
}

// Whatever the data, a block of LZ4 unpacks to no more than a block.
func FuzzLZ4Block(f *testing.F) {
	f.Add(testdata(f, "legacy.lz4")[8:])
	f.Add([]byte("\x10a\x01\x00\x50bcdef"))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := lz4Decode(nil, b)
		if err != nil && out != nil || len(out) > lz4Block {
			t.Errorf("%d bytes, error %v", len(out), err)
		}
	})
}

// The filter delivers as many bytes as it gets, whatever they are, in whatever pieces.
func FuzzX86Filter(f *testing.F) {
	f.Add(code()[:200], uint32(0), 7)
	f.Add([]byte("\xe8\xe8\xe8\xe8\xe8\x00\xff\xff\xff\xe9\xff\x00\x00\x00"), uint32(1<<31), 1)
	f.Fuzz(func(t *testing.T, b []byte, start uint32, piece int) {
		whole, err := io.ReadAll(newX86Filter(bytes.NewReader(b), start))
		if err != nil || len(whole) != len(b) {
			t.Fatalf("%d bytes became %d, error %v", len(b), len(whole), err)
		}
		pieces, err := io.ReadAll(newX86Filter(&inPieces{b, max(1, piece%100)}, start))
		if diff := cmp.Diff(whole, pieces); diff != "" || err != nil {
			t.Errorf("in pieces of %d, error %v, it gives something else:\n%s", piece, err, diff)
		}
	})
}

type inPieces struct {
	rest []byte
	size int
}

func (p *inPieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}
