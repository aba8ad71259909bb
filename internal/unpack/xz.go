package unpack

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
)

// errXZ marks data that are no valid xz.
var errXZ = errors.New("xz format")

func badXZ(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errXZ, fmt.Sprintf(format, args...))
}

// xzReader reads the xz container format, version 1.1.0, with the filter LZMA2.
// One window serves all blocks, or a file of many blocks would leave as many
// windows to the garbage collector.
type xzReader struct {
	src    *bufio.Reader
	window int
	begun  bool // a stream has been read
	check  byte // kind of the check of this stream
	blocks uint64

	inBlock bool
	first   bool // the next chunk is the first of its block
	taken   int64
	sum     hash.Hash // of the block, nil if there is no check that is known

	lz      lzma2
	stored  bool   // the chunk is not compressed
	room    []byte // for a chunk: 64 KiB
	payload []byte // of the chunk
	left    int    // bytes of the chunk that have not been delivered
	eof     bool   // the source ended where more was needed
	failed  error
}

func (x *xzReader) Read(p []byte) (int, error) {
	for x.left == 0 {
		if err := x.next(); err != nil {
			return 0, x.ended(err)
		}
	}
	if len(p) == 0 {
		return 0, nil
	}
	p = p[:min(len(p), x.left)]
	n, ok := 0, true
	if x.stored {
		n = copy(p, x.payload)
		x.payload = x.payload[n:]
		for _, b := range p[:n] {
			x.lz.win.put(b)
		}
	} else {
		n, ok = x.lz.decode(p)
	}
	x.left -= n
	if x.sum != nil {
		x.sum.Write(p[:n])
	}
	if n > 0 {
		return n, nil
	}
	if !ok {
		return 0, x.ended(badXZ("a match reaches back before the beginning"))
	}
	return 0, x.ended(badXZ("a chunk is shorter than it says"))
}

// ended tells a cut from damage: whatever the decoder makes of it, an error
// after the source has ended is a cut.
func (x *xzReader) ended(err error) error {
	switch {
	case err == io.EOF && !x.eof:
		return io.EOF
	case x.failed != nil:
		return x.failed
	case x.eof:
		return io.ErrUnexpectedEOF
	case errors.Is(err, errXZ):
		return err
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return err
	}
	return badXZ("%v", err)
}

// next goes on to the next chunk, over the ends of blocks and streams.
func (x *xzReader) next() error {
	if x.eof || x.failed != nil {
		return io.ErrUnexpectedEOF
	}
	if !x.inBlock {
		if !x.begun {
			if err := x.streamHeader(); err != nil {
				return err
			}
		}
		return x.blockHeader()
	}
	var h [6]byte
	if err := x.fill(h[:1]); err != nil {
		return err
	}
	c := h[0]
	n := 3
	switch {
	case c == 0:
		x.inBlock = false
		return x.blockEnd()
	case c >= 0xc0:
		n = 6
	case c >= 0x80:
		n = 5
	case c > 2:
		return badXZ("control byte %#x", c)
	}
	if x.first {
		if c != 1 && c < 0xe0 {
			return badXZ("a block does not begin with a new dictionary")
		}
		x.first, x.lz.known = false, false
	}
	if err := x.fill(h[1:n]); err != nil {
		return err
	}
	if c == 1 || c >= 0xe0 {
		x.lz.win.begin(x.lz.win.size)
	}
	size := int(binary.BigEndian.Uint16(h[1:])) + 1
	if x.stored = c < 0x80; x.stored {
		x.left = size
		return x.load(size)
	}
	if c >= 0xc0 && !x.lz.setProperties(h[5]) || !x.lz.known {
		return badXZ("properties of a chunk")
	}
	if c >= 0xa0 {
		x.lz.resetState()
	}
	if err := x.load(int(binary.BigEndian.Uint16(h[3:])) + 1); err != nil {
		return err
	}
	if !x.lz.start(x.payload) {
		return badXZ("beginning of a chunk")
	}
	x.left = size + int(c&0x1f)<<16
	return nil
}

// load reads the compressed bytes of a chunk. If the source ends within them,
// what there is can still be decoded.
func (x *xzReader) load(n int) error {
	if x.room == nil {
		x.room = make([]byte, 64<<10)
	}
	x.payload = x.room[:n]
	k, err := io.ReadFull(x.src, x.payload)
	x.taken += int64(k)
	x.payload = x.payload[:k]
	if err != nil {
		x.note(err)
		if k == 0 {
			return io.ErrUnexpectedEOF
		}
	}
	return nil
}

func (x *xzReader) note(err error) {
	if err == io.EOF || err == io.ErrUnexpectedEOF { // as io.ReadFull says it
		x.eof = true
		return
	}
	x.failed = err
}

// fill reads exactly len(p) bytes of the container.
func (x *xzReader) fill(p []byte) error {
	n, err := io.ReadFull(x.src, p)
	x.taken += int64(n)
	if err != nil {
		x.note(err)
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (x *xzReader) streamHeader() error {
	var h [12]byte
	if err := x.fill(h[:]); err != nil {
		return err
	}
	if string(h[:6]) != "\xfd7zXZ\x00" || crc32.ChecksumIEEE(h[6:8]) != binary.LittleEndian.Uint32(h[8:]) || h[6] != 0 || h[7] > 15 {
		return badXZ("stream header")
	}
	x.check, x.blocks, x.begun = h[7], 0, true
	return nil
}

// blockHeader reads the header of a block, or the index that ends the stream.
func (x *xzReader) blockHeader() error {
	x.taken = 0
	var h [1024]byte
	if err := x.fill(h[:1]); err != nil {
		return err
	}
	if h[0] == 0 {
		return x.index()
	}
	n := (int(h[0]) + 1) * 4
	if err := x.fill(h[1:n]); err != nil {
		return err
	}
	if crc32.ChecksumIEEE(h[:n-4]) != binary.LittleEndian.Uint32(h[n-4:]) {
		return badXZ("block header")
	}
	b := h[1 : n-4]
	flags := b[0]
	b = b[1:]
	size := uint64(1 << 63)
	for _, bit := range []byte{0x40, 0x80} {
		if flags&bit != 0 {
			v, k := binary.Uvarint(b)
			if k <= 0 {
				return badXZ("block header")
			}
			if b = b[k:]; bit == 0x80 {
				size = v
			}
		}
	}
	if flags&0x3f != 0 || len(b) < 3 || b[0] != 0x21 || b[1] != 1 {
		return &Error{Kind: ErrUnsupported, Detail: "a filter other than LZMA2"}
	}
	if b[2] > 40 {
		return badXZ("dictionary size")
	}
	need := (2 | uint64(b[2]&1)) << (b[2]/2 + 11)
	if b[2] == 40 {
		need = 1<<32 - 1
	}
	dict := need
	need = min(need, max(size, 1<<12)) // a dictionary larger than the block serves nothing
	if need > uint64(x.window) {
		return &Error{Kind: ErrWindow,
			Detail: fmt.Sprintf("a dictionary of %d MiB, the limit is %d MiB", dict>>20, x.window>>20)}
	}
	x.lz.win.begin(uint32(need))
	switch x.check {
	case 1:
		x.sum = crc32.NewIEEE()
	case 4:
		x.sum = crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		x.sum = sha256.New()
	default:
		x.sum = nil
	}
	x.inBlock, x.first, x.taken = true, true, 0
	x.blocks++
	return nil
}

// blockEnd reads the padding and the check of a block.
func (x *xzReader) blockEnd() error {
	var pad [4]byte
	if err := x.fill(pad[:(4-x.taken%4)%4]); err != nil {
		return err
	}
	if pad != [4]byte{} {
		return badXZ("padding of a block")
	}
	sizes := [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}
	var want [64]byte
	w := want[:sizes[x.check]]
	if err := x.fill(w); err != nil {
		return err
	}
	if x.sum == nil {
		return nil
	}
	got := x.sum.Sum(nil)
	for i := range got {
		j := i
		if x.check != 10 { // the CRCs are stored with the low byte first
			j = len(got) - 1 - i
		}
		if got[j] != w[i] {
			return badXZ("check of a block")
		}
	}
	return nil
}

// index reads the index and the footer, and what may follow a stream.
func (x *xzReader) index() error {
	crc := crc32.NewIEEE()
	crc.Write([]byte{0})
	number := func() (uint64, error) {
		var v uint64
		for shift := uint(0); shift < 63; shift += 7 {
			var b [1]byte
			if err := x.fill(b[:]); err != nil {
				return 0, err
			}
			crc.Write(b[:])
			v |= uint64(b[0]&0x7f) << shift
			if b[0] < 0x80 {
				return v, nil
			}
		}
		return 0, badXZ("index")
	}
	records, err := number()
	if err != nil {
		return err
	}
	if records != x.blocks {
		return badXZ("index of %d blocks for %d", records, x.blocks)
	}
	for range 2 * records {
		if _, err := number(); err != nil {
			return err
		}
	}
	var pad [4]byte
	p := pad[:(4-x.taken%4)%4]
	if err := x.fill(p); err != nil {
		return err
	}
	crc.Write(p)
	var f [16]byte // check of the index, footer
	if err := x.fill(f[:]); err != nil {
		return err
	}
	if crc.Sum32() != binary.LittleEndian.Uint32(f[:]) || string(f[14:]) != "YZ" ||
		crc32.ChecksumIEEE(f[8:14]) != binary.LittleEndian.Uint32(f[4:]) || f[13] != x.check {
		return badXZ("end of a stream")
	}
	x.begun = false
	for { // padding between streams
		head, err := x.src.Peek(4)
		switch {
		case len(head) == 0 && err == io.EOF:
			return io.EOF
		case len(head) == 4 && head[0] == 0xfd:
			return nil
		case len(head) == 4 && string(head) == "\x00\x00\x00\x00":
			if _, err := x.src.Discard(4); err != nil {
				return err
			}
		case err != nil && err != io.EOF:
			x.failed = err
			return err
		default:
			return badXZ("other data after the end")
		}
	}
}
