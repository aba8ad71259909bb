//go:build linux && (amd64 || arm64)

package bench

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ownImage returns a copy of this process's vDSO.
func ownImage(t testing.TB) []byte {
	t.Helper()
	aux, err := unix.Auxv()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range aux {
		if entry[0] == auxSysinfoEHDR && entry[1] != 0 {
			first := vdsoImage{image: unsafe.Slice((*byte)(pointerTo(entry[1])), firstPage)}
			span, _, err := first.segments()
			if err != nil {
				t.Fatal(err)
			}
			return bytes.Clone(unsafe.Slice((*byte)(pointerTo(entry[1])), int(span)))
		}
	}
	t.Skip("the kernel has given this process no vDSO")
	return nil
}

func TestTheFunctionIsFoundInTheVDSO(t *testing.T) {
	image := ownImage(t)
	offset, err := vdsoFunction(image, vdsoSymbol)
	if err != nil {
		t.Fatal(err)
	}
	if offset == 0 || offset >= uint64(len(image)) {
		t.Errorf("it lies at %#x of %#x", offset, len(image))
	}
	if _, err := vdsoFunction(image, "__vdso_make_tea"); err == nil || !strings.Contains(err.Error(), "__vdso_make_tea") {
		t.Errorf("a function that no vDSO has: %v", err)
	}
}

func TestASpoiltImageIsAnError(t *testing.T) {
	image := ownImage(t)
	for n := 0; n < len(image); n += 1 + n/64 {
		offset, err := vdsoFunction(image[:n], vdsoSymbol)
		if err == nil && offset >= uint64(n) {
			t.Errorf("cut at %d it names offset %#x", n, offset)
		}
	}
	for at := range 64 + 56*4 { // the header and the first segments
		spoilt := bytes.Clone(image)
		spoilt[at] ^= 0xff
		_, _ = vdsoFunction(spoilt, vdsoSymbol) // must not panic or run for ever
	}
	for _, tt := range []struct {
		name  string
		spoil func(b []byte)
		want  string
	}{
		{"no ELF", func(b []byte) { b[0] = 'e' }, "not an ELF image"},
		{"of 32 bits", func(b []byte) { b[4] = 1 }, "not an ELF image"},
		{"no segments", func(b []byte) { binary.LittleEndian.PutUint16(b[56:], 0) }, "no segment"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spoilt := bytes.Clone(image)
			tt.spoil(spoilt)
			if _, err := vdsoFunction(spoilt, vdsoSymbol); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// FuzzVDSOFunction: any image gives an error, or a place within it.
func FuzzVDSOFunction(f *testing.F) {
	f.Add([]byte{}, vdsoSymbol)
	f.Add(ownImage(f), vdsoSymbol)
	f.Fuzz(func(t *testing.T, image []byte, name string) {
		offset, err := vdsoFunction(image, name)
		if (err == nil) != (offset != 0) || offset > 0 && offset >= uint64(len(image)) {
			t.Errorf("%q lies at %#x of %#x bytes, error %v", name, offset, len(image), err)
		}
	})
}
