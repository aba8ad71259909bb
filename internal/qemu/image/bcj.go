package image

import (
	"encoding/binary"
	"io"
	"math/bits"
)

// x86Filter undoes the x86 filter of the xz format. The filter has replaced the
// relative targets of calls and jumps (opcodes E8 and E9) by absolute ones, which
// repeat and so pack better. It reads its source ahead by up to four bytes, which
// is how far a target reaches.
type x86Filter struct {
	src  io.Reader
	pos  uint32 // place, in the unfiltered output, of buf[0]
	buf  []byte // bytes read
	done int    // bytes of buf that are final
	// history has a bit for each of the last three bytes, the nearest lowest: it
	// was an opcode whose target was left alone.
	history uint8
	err     error
}

func newX86Filter(src io.Reader, start uint32) *x86Filter {
	return &x86Filter{src: src, pos: start, buf: make([]byte, 0, 64<<10)}
}

func (f *x86Filter) Read(p []byte) (int, error) {
	for f.done == 0 {
		if f.err != nil {
			return 0, f.err
		}
		n, err := io.ReadAtLeast(f.src, f.buf[len(f.buf):cap(f.buf)], 1)
		f.buf = f.buf[:len(f.buf)+n]
		f.convert()
		if err != nil {
			f.err = err
			f.done = len(f.buf) // the last four bytes hold no whole target
		}
	}
	n := copy(p, f.buf[:f.done])
	f.done -= n
	f.pos += uint32(n)
	f.buf = f.buf[:copy(f.buf, f.buf[n:])]
	return n, nil
}

// signByte reports whether a byte can be the highest of a target: within 16 MiB
// it is the extension of the sign.
func signByte(b byte) bool { return b == 0 || b == 0xff }

// convert undoes the filter in buf from done on, as far as whole targets reach.
func (f *x86Filter) convert() {
	i := f.done
	for ; i+5 <= len(f.buf); i++ {
		if f.buf[i]&0xfe != 0xe8 {
			f.history = f.history << 1 & 7
			continue
		}
		if !f.isTarget(i) {
			f.history = (f.history<<1 | 1) & 7
			continue
		}
		f.relative(i)
		f.history = 0
		i += 4
	}
	f.done = min(i, len(f.buf))
}

// isTarget reports whether the filter has converted the bytes after the opcode at i.
func (f *x86Filter) isTarget(i int) bool {
	if !signByte(f.buf[i+4]) {
		return false
	}
	if f.history == 0 {
		return true
	}
	// An opcode left alone a few bytes before may have this one within its
	// target. With more than one of them, or if that target ends like one, the
	// filter did not dare.
	return bits.OnesCount8(f.history) == 1 && !signByte(f.buf[i+4-bits.Len8(f.history)])
}

// relative makes the target at i+1 relative again.
func (f *x86Filter) relative(i int) {
	next := f.pos + uint32(i) + 5
	target := binary.LittleEndian.Uint32(f.buf[i+1:])
	v := target - next
	if n := bits.Len8(f.history); n > 0 {
		// The filter went on until the byte that the earlier opcode takes for
		// its highest was no sign byte, so that the way back is clear.
		for signByte(byte(v >> (24 - 8*n))) {
			v ^= 1<<(32-8*n) - 1
			v -= next
		}
	}
	// Bit 24 is the sign.
	v &= 1<<25 - 1
	if v&(1<<24) != 0 {
		v |= 0xfe000000
	}
	binary.LittleEndian.PutUint32(f.buf[i+1:], v)
}
