package image

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/cswatch/cswatch/internal/unpack"
)

// maxZstdWindow is what "zstd -22 --ultra", by which kernels are packed, may ask for.
const maxZstdWindow = 128 << 20

// Extract decompresses the vmlinux in a bzImage of the given size and writes it
// to w. It returns what the image says of itself; whether the vmlinux has a PVH
// entry point is for [Inspect] of the result to say. What has been written when
// an error comes is to be thrown away.
func Extract(w io.Writer, r io.ReaderAt, size int64) (Info, error) {
	info, p, err := inspect(r, size)
	if err != nil {
		return Info{}, err
	}
	if info.Format != BzImage {
		return info, fmt.Errorf("extract the kernel: the image is a %s already", info.Format)
	}
	// The build appends the unpacked size, except for gzip, which ends with it anyway.
	var tail [4]byte
	if _, err := r.ReadAt(tail[:], p.offset+p.length-4); err != nil {
		return info, fmt.Errorf("read the image: %w", err)
	}
	want := int64(binary.LittleEndian.Uint32(tail[:]))
	if want < elfHeader || want > MaxVmlinux {
		return info, fmt.Errorf("%w: it is said to unpack to %d bytes", ErrDamaged, want)
	}
	if info.Packing != "gzip" {
		p.length -= 4
	}
	packed := io.NewSectionReader(r, p.offset, p.length)
	in, err := unpacker(info.Packing, packed)
	if err != nil {
		return info, err
	}
	if c, ok := in.(io.Closer); ok {
		defer c.Close()
	}
	out := bufio.NewReaderSize(io.LimitReader(in, want+1), 64<<10)
	head, err := out.Peek(4)
	if err == nil && !bytes.Equal(head, []byte("\x7fELF")) {
		return info, fmt.Errorf("%w: what is packed in it begins with %q, not with an ELF header", ErrDamaged, head)
	}
	// To the end: only there the packings compare their sums.
	n, err := io.Copy(w, out)
	if err == nil && n != want {
		err = fmt.Errorf("it unpacks to %d bytes or more, and is said to unpack to %d", n, want)
	}
	if err != nil {
		for _, limit := range []error{unpack.ErrWindow, unpack.ErrUnsupported, zstd.ErrWindowSizeExceeded, ErrPacking} {
			if errors.Is(err, limit) {
				return info, fmt.Errorf("%w: unpack the kernel (%s): %w", ErrPacking, info.Packing, err)
			}
		}
		return info, fmt.Errorf("%w: unpack the kernel (%s): %w", ErrDamaged, info.Packing, err)
	}
	return info, nil
}

// unpacker returns a reader of what is packed.
func unpacker(packing string, packed *io.SectionReader) (io.Reader, error) {
	in := bufio.NewReaderSize(packed, 64<<10)
	switch packing {
	case "gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		z.Multistream(false)
		return z, nil
	case "xz":
		return newXZ(packed)
	case "zstd":
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return z.IOReadCloser(), nil
	case "bzip2":
		return bzip2.NewReader(in), nil
	case "lz4":
		return newLZ4(in), nil
	}
	return nil, fmt.Errorf("%w: %s", ErrPacking, packing)
}
