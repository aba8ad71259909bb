package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/cswatch/cswatch/internal/unpack"
)

// Kernels are packed with "xz --x86 --lzma2=...": LZMA2 after the x86 filter,
// which internal/unpack, made for logs, does not have. So the container is read
// here: each block's LZMA2 data, which lie in the file as they are, go to
// internal/unpack in a container of their own without filter and check, what
// comes back goes through the filter, and the block's check is made on that.

// errXZ marks data that are no valid xz.
var errXZ = errors.New("not valid xz")

// Filters of the xz format.
const (
	filterX86   = 0x04
	filterLZMA2 = 0x21
)

// xzBlock is a block of an xz stream.
type xzBlock struct {
	start    uint32 // of the x86 filter
	filtered bool
	dict     byte   // coded size of the dictionary
	lzma2    []byte // packed data
	size     uint64 // unpacked
	check    []byte
}

// xzReader delivers the blocks of one stream.
type xzReader struct {
	rest  []byte // of the stream, after the blocks begun so far
	kind  byte   // of the check
	cur   io.Reader
	sum   hash.Hash
	block xzBlock
}

// newXZ reads the stream in packed, which must fit into memory: kernels are
// below 20 MiB, and the boot protocol's fields limit the size.
func newXZ(packed *io.SectionReader) (*xzReader, error) {
	if packed.Size() > maxPacked {
		return nil, fmt.Errorf("%w: %d bytes are packed by xz, the limit is %d", ErrPacking, packed.Size(), maxPacked)
	}
	b := make([]byte, packed.Size())
	if _, err := io.ReadFull(packed, b); err != nil {
		return nil, fmt.Errorf("read the image: %w", err)
	}
	if len(b) < 12 || string(b[:6]) != "\xfd7zXZ\x00" || b[6] != 0 || b[7] > 15 ||
		crc32.ChecksumIEEE(b[6:8]) != binary.LittleEndian.Uint32(b[8:]) {
		return nil, fmt.Errorf("%w: %w: stream header", ErrDamaged, errXZ)
	}
	return &xzReader{rest: b[12:], kind: b[7]}, nil
}

// maxPacked bounds a packed kernel, in bytes.
const maxPacked = 256 << 20

func (x *xzReader) Read(p []byte) (int, error) {
	for {
		if x.cur == nil {
			if err := x.next(); err != nil {
				return 0, err
			}
		}
		n, err := x.cur.Read(p)
		if x.sum != nil {
			x.sum.Write(p[:n])
		}
		if err == io.EOF {
			x.cur = nil
			if x.sum != nil && !bytes.Equal(littleEndian(x.sum.Sum(nil)), x.block.check) {
				return n, fmt.Errorf("%w: check of a block", errXZ)
			}
			err = nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// littleEndian turns the sum of a CRC, high byte first, into the stored form.
func littleEndian(sum []byte) []byte {
	out := make([]byte, len(sum))
	for i, b := range sum {
		out[len(sum)-1-i] = b
	}
	return out
}

// next begins the next block. It returns io.EOF before the index.
func (x *xzReader) next() error {
	if len(x.rest) > 0 && x.rest[0] == 0 {
		return io.EOF
	}
	b, rest, err := readBlock(x.rest, x.kind)
	if err != nil {
		return err
	}
	x.block, x.rest = b, rest
	r, _, err := unpack.Reader(bytes.NewReader(b.bare()), "the kernel")
	if err != nil {
		return err
	}
	if x.cur = r; b.filtered {
		x.cur = newX86Filter(r, b.start)
	}
	switch x.kind {
	case 1:
		x.sum = crc32.NewIEEE()
	case 4:
		x.sum = crc64.New(crc64.MakeTable(crc64.ECMA))
	default:
		x.sum = nil // none, or one that kernels do not use
	}
	return nil
}

// readBlock splits a block off b.
func readBlock(b []byte, kind byte) (xzBlock, []byte, error) {
	bad := func(what string) (xzBlock, []byte, error) {
		return xzBlock{}, nil, fmt.Errorf("%w: %s", errXZ, what)
	}
	if len(b) == 0 || len(b) < (int(b[0])+1)*4 {
		return bad("the data end before a block")
	}
	header := b[:(int(b[0])+1)*4]
	fields := header[1 : len(header)-4]
	if crc32.ChecksumIEEE(header[:len(header)-4]) != binary.LittleEndian.Uint32(header[len(header)-4:]) {
		return bad("block header")
	}
	blk, err := readFilters(fields)
	if err != nil {
		return xzBlock{}, nil, err
	}
	n, size, ok := lzma2Length(b[len(header):])
	if !ok {
		return bad("the data end within a block")
	}
	blk.lzma2, blk.size = b[len(header):len(header)+n], size
	sizes := [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}
	end := (len(header) + n + 3) &^ 3
	if end+sizes[kind] > len(b) {
		return bad("the data end before the check of a block")
	}
	for _, c := range b[len(header)+n : end] {
		if c != 0 {
			return bad("padding of a block")
		}
	}
	blk.check = b[end : end+sizes[kind]]
	return blk, b[end+sizes[kind]:], nil
}

// readFilters reads the fields of a block header after its size.
func readFilters(b []byte) (xzBlock, error) {
	var blk xzBlock
	bad := func(what string) (xzBlock, error) { return xzBlock{}, fmt.Errorf("%w: %s", errXZ, what) }
	if len(b) == 0 || b[0]&0x3c != 0 {
		return bad("block header")
	}
	flags := b[0]
	b = b[1:]
	number := func() (uint64, bool) {
		v, n := binary.Uvarint(b)
		b = b[max(n, 0):]
		return v, n > 0
	}
	for _, bit := range []byte{0x40, 0x80} { // packed and unpacked size
		if flags&bit != 0 {
			if _, ok := number(); !ok {
				return bad("block header")
			}
		}
	}
	for i := flags & 3; ; i-- {
		id, ok1 := number()
		n, ok2 := number()
		if !ok1 || !ok2 || n > uint64(len(b)) {
			return bad("block header")
		}
		properties := b[:n]
		b = b[n:]
		last := i == 0
		switch {
		case id == filterX86 && !last && !blk.filtered && n == 0:
			blk.filtered = true
		case id == filterX86 && !last && !blk.filtered && n == 4:
			blk.filtered, blk.start = true, binary.LittleEndian.Uint32(properties)
		case id == filterLZMA2 && last && n == 1:
			blk.dict = properties[0]
			return blk, nil
		default:
			return xzBlock{}, fmt.Errorf("%w: xz with filter %#x; only LZMA2 alone or after the x86 filter is undone", ErrPacking, id)
		}
		if last {
			return bad("block header")
		}
	}
}

// lzma2Length walks over the chunks of LZMA2 data and returns their length, with
// the end mark, and what they unpack to.
func lzma2Length(b []byte) (n int, size uint64, ok bool) {
	for n < len(b) {
		c := b[n]
		head, packed, unpacked := 1, 0, 0
		switch {
		case c == 0:
			return n + 1, size, true
		case c >= 0x80 && n+6 <= len(b):
			head = 5
			if c >= 0xc0 {
				head = 6
			}
			unpacked = int(c&0x1f)<<16 + int(binary.BigEndian.Uint16(b[n+1:])) + 1
			packed = int(binary.BigEndian.Uint16(b[n+3:])) + 1
		case c <= 2 && n+3 <= len(b):
			head = 3
			packed = int(binary.BigEndian.Uint16(b[n+1:])) + 1
			unpacked = packed
		default:
			return 0, 0, false
		}
		n += head + packed
		size += uint64(unpacked)
	}
	return 0, 0, false
}

// dictionary returns the coded size of the dictionary that the block needs: its
// own, unless that is larger than all that it unpacks to.
func (b xzBlock) dictionary() byte {
	for code := range b.dict {
		if uint64(2|code&1)<<(code/2+11) >= b.size {
			return code
		}
	}
	return b.dict
}

// bare wraps the block's LZMA2 data into an xz stream without filter and check.
func (b xzBlock) bare() []byte {
	flags := []byte{0, 0}
	withSum := func(out, part []byte) []byte {
		return binary.LittleEndian.AppendUint32(append(out, part...), crc32.ChecksumIEEE(part))
	}
	out := withSum([]byte("\xfd7zXZ\x00"), flags)
	out = withSum(out, []byte{2, 0, filterLZMA2, 1, b.dictionary(), 0, 0, 0})
	blockSize := 12 + len(b.lzma2)
	out = append(out, b.lzma2...)
	out = append(out, make([]byte, -len(b.lzma2)&3)...)
	index := binary.AppendUvarint([]byte{0, 1}, uint64(blockSize))
	index = binary.AppendUvarint(index, b.size)
	index = append(index, make([]byte, -len(index)&3)...)
	out = withSum(out, index)
	footer := binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4)) // of index and sum, less one
	footer = append(footer, flags...)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(footer))
	out = append(out, footer...)
	return append(out, "YZ"...)
}
