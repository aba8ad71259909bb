package trace

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// The binary form: the magic, then frames. A frame is the length of its body as
// a varint, the body, and the CRC32C of both in four bytes, little endian. The
// first byte of a body is its kind. The first frame holds the header as JSON,
// the last one of a complete recording the number of ticks.
//
// The body of a tick holds varints (signed ones zigzag), each the difference to
// what is expected of the values before it:
//
//	flags, [seq], scheduled, at, cpu, [resets], [online],
//	for each clock, and again for each clock of the boot CPU:
//	    count, its read-backs, [causes]
//	[exchanges]
//
// All differences are taken modulo 2^64, so that any value survives.
const magic = "\x89cswt1\r\n"

// The kinds of frames.
const (
	frameHeader byte = 1
	frameTick   byte = 2
	frameEnd    byte = 3
)

// maxBody bounds a frame, and so what a reader keeps in memory. The greatest
// tick is 4 clocks with 2 series of 16 read-backs of 4 values and a cause, 4
// exchanges and 1024 ranges of CPUs: below 12 kB.
const maxBody = 64 << 10

const crcSize = 4

// castagnoli is never written to.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame wraps what follows the first `room` bytes of b, which are free for its
// length, and returns where the frame begins in b.
func frame(b []byte, room int) ([]byte, int) {
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(b)-room))
	start := room - n
	copy(b[start:], length[:n])
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli)), start
}

// cursor takes values from a body. After the first fault it gives zeros.
type cursor struct {
	rest []byte
	err  error
}

var (
	errShort = errors.New("its body ends too early")
	errValue = errors.New("a value in its body is out of range")
	errRest  = errors.New("bytes follow the end of its body")
)

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.rest = nil
}

func (c *cursor) byte() byte {
	if len(c.rest) == 0 {
		c.fail(errShort)
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.fail(errShort)
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 {
		c.fail(errShort)
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

// upTo takes a number that is most or less.
func (c *cursor) upTo(most uint64) int {
	v := c.uvarint()
	if v > most {
		c.fail(errValue)
		return 0
	}
	return int(v)
}

func (c *cursor) set() CPUSet {
	n := c.upTo(maxRanges)
	if n == 0 {
		c.fail(errValue)
	}
	var s CPUSet
	at := 0
	for range n {
		first := at + c.upTo(MaxCPU)
		at = first + c.upTo(MaxCPU)
		if c.err != nil {
			return nil
		}
		s = append(s, CPURange{first, at})
	}
	return s
}
