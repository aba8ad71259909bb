package image

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of LZ4's legacy frame, in which kernels are packed ("lz4 -l").
const (
	lz4Magic = 0x184c2102
	lz4Block = 8 << 20 // unpacked, of all blocks but the last
)

// errLZ4 marks data that are no valid LZ4.
var errLZ4 = errors.New("not valid lz4")

// lz4Reader reads a legacy frame: a magic number, then blocks with their packed
// size before them. It has no end mark: the kernel's build puts the unpacked
// size after it, and the caller stops there.
type lz4Reader struct {
	in     *bufio.Reader
	packed []byte
	block  []byte
	rest   []byte // of block, not delivered yet
}

func newLZ4(in *bufio.Reader) *lz4Reader { return &lz4Reader{in: in} }

func (z *lz4Reader) Read(p []byte) (int, error) {
	for len(z.rest) == 0 {
		if err := z.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, z.rest)
	z.rest = z.rest[n:]
	return n, nil
}

func (z *lz4Reader) next() error {
	var head [4]byte
	size := uint32(lz4Magic)
	for size == lz4Magic { // at the beginning, and between frames
		if _, err := io.ReadFull(z.in, head[:]); err != nil {
			return err
		}
		size = binary.LittleEndian.Uint32(head[:])
	}
	// Incompressible data grow by one byte in 255.
	if size == 0 || size > lz4Block+lz4Block/255+16 {
		return fmt.Errorf("%w: a block of %d bytes", errLZ4, size)
	}
	if uint32(cap(z.packed)) < size {
		z.packed = make([]byte, size)
	}
	z.packed = z.packed[:size]
	if _, err := io.ReadFull(z.in, z.packed); err != nil {
		return fmt.Errorf("%w: the data end within a block", errLZ4)
	}
	var err error
	z.block, err = lz4Decode(z.block[:0], z.packed)
	z.rest = z.block
	return err
}

// lz4Decode appends what a block unpacks to, at most lz4Block bytes, to out,
// which must be empty.
func lz4Decode(out, in []byte) ([]byte, error) {
	bad := func(what string) ([]byte, error) { return nil, fmt.Errorf("%w: %s", errLZ4, what) }
	// A length that begins with its nibble full goes on in bytes of 255 each.
	length := func(nibble byte) (int, bool) {
		n := int(nibble)
		if n < 15 {
			return n, true
		}
		for len(in) > 0 && n <= lz4Block {
			c := in[0]
			in = in[1:]
			if n += int(c); c < 255 {
				return n, true
			}
		}
		return 0, false
	}
	for len(in) > 0 {
		token := in[0]
		in = in[1:]
		literals, ok := length(token >> 4)
		if !ok || literals > len(in) || len(out)+literals > lz4Block {
			return bad("literals beyond the block")
		}
		out = append(out, in[:literals]...)
		if in = in[literals:]; len(in) == 0 {
			return out, nil // the last sequence has no match
		}
		if len(in) < 2 {
			return bad("the block ends within an offset")
		}
		back := int(binary.LittleEndian.Uint16(in))
		in = in[2:]
		match, ok := length(token & 15)
		match += 4
		if !ok || back == 0 || back > len(out) || len(out)+match > lz4Block {
			return bad("a match beyond the block")
		}
		for from := len(out) - back; match > 0; match-- { // it may overlap itself
			out = append(out, out[from])
			from++
		}
	}
	return bad("an empty block, or one without its last sequence")
}
