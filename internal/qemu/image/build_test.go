package image

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// code is text like machine code: many calls and jumps, among them such that the
// x86 filter leaves alone. testdata holds what xz and lz4 made of its first 16 000 bytes.
func code() []byte {
	var out []byte
	state := uint32(1)
	next := func() uint32 {
		state = state*1664525 + 1013904223
		return state >> 24
	}
	for len(out) < 16000 {
		switch k := next(); {
		case k < 90:
			target := next() % 16 * 4096
			if next() < 128 {
				target += 0xffff0000
			}
			out = append(out, 0xe9-byte(k&1))
			out = binary.LittleEndian.AppendUint32(out, target-uint32(len(out))-4)
		case k < 120:
			out = append(out, []byte{0xe8, 0xe9, 0xe8}[:1+k%3]...)
		case k < 150:
			out = append(out, []byte{0xff, 0x00, 0xe8, 0x00, 0xff}[:1+k%5]...)
		default:
			out = append(out, byte(next()&0x1f))
		}
	}
	return out[:16000]
}

// elf makes a vmlinux of the code. Its segments are loaded code and notes.
func elf(pvh bool) []byte { return elfOf(code(), pvh) }

func elfOf(text []byte, pvh bool) []byte {
	note := []byte{}
	for _, n := range []struct {
		owner string
		kind  uint32
	}{{"GNU\x00", 3}, {"Xen\x00", notePVH}} {
		if n.kind == notePVH && !pvh {
			continue
		}
		note = binary.LittleEndian.AppendUint32(note, 4)
		note = binary.LittleEndian.AppendUint32(note, 8)
		note = binary.LittleEndian.AppendUint32(note, n.kind)
		note = append(note, n.owner...)
		note = append(note, make([]byte, 8)...)
	}
	b := make([]byte, elfHeader+2*elfSegment)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], 2)
	le.PutUint16(b[18:], elfMachine)
	le.PutUint64(b[32:], elfHeader)
	le.PutUint16(b[54:], elfSegment)
	le.PutUint16(b[56:], 2)
	for i, s := range []struct {
		kind uint32
		data []byte
	}{{elfLoad, text}, {elfNote, note}} {
		h := b[elfHeader+i*elfSegment:]
		le.PutUint32(h, s.kind)
		le.PutUint64(h[8:], uint64(len(b)))
		le.PutUint64(h[32:], uint64(len(s.data)))
		b = append(b, s.data...)
	}
	return b
}

// bzImage makes an image around a packed kernel, without the size after it.
func bzImage(packed []byte, unpacked int) []byte {
	const sects, offset = 2, 0x100
	b := make([]byte, (sects+1)*sector+offset)
	le := binary.LittleEndian
	b[offSetupSects] = sects
	copy(b[offMagic:], "HdrS")
	le.PutUint16(b[offProtocol:], 0x20f)
	le.PutUint16(b[offVersion:], 0x300-0x200)
	copy(b[0x300:], "5.10.0-32-amd64 (builder@host) #1 SMP\x00")
	le.PutUint32(b[offPayload:], offset)
	le.PutUint32(b[offPayloadLength:], uint32(len(packed)+4))
	b = append(b, packed...)
	b = le.AppendUint32(b, uint32(unpacked))
	return append(b, "what follows the kernel"...)
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// gzipped packs as the kernel's build does; its last four bytes are the size.
func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstandard(t testing.TB, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(b, nil)
}

// stored packs as LZ4 in the legacy frame, without compressing.
func stored(b []byte) []byte {
	block := []byte{0xf0}
	n := len(b) - 15
	for ; n >= 255; n -= 255 {
		block = append(block, 255)
	}
	block = append(append(block, byte(n)), b...)
	out := binary.LittleEndian.AppendUint32(nil, lz4Magic)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(block))), block...)
}
