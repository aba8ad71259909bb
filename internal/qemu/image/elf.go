package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ELF constants, from the format's specification.
const (
	elfHeader   = 64 // of a 64-bit file
	elfSegment  = 56 // a program header of a 64-bit file
	elfMachine  = 62 // x86-64
	elfLoad     = 1  // type of a segment that is loaded
	elfNote     = 4  // type of a segment of notes
	maxSegments = 64
	maxNotes    = 64 << 10
	// The note by which QEMU finds the PVH entry point, from Xen's public headers.
	noteOwner = "Xen\x00"
	notePVH   = 18
)

// inspectELF checks that an ELF file is a kernel that could be loaded, and
// reports whether it has a PVH entry point. It reads the program headers and the
// notes only.
func inspectELF(r io.ReaderAt, size int64) (pvh bool, err error) {
	var h [elfHeader]byte
	if _, err := r.ReadAt(h[:], 0); err != nil {
		return false, fmt.Errorf("%w: the ELF header ends early", ErrDamaged)
	}
	if h[4] != 2 || h[5] != 1 || binary.LittleEndian.Uint16(h[18:]) != elfMachine {
		return false, fmt.Errorf("%w: an ELF file, but not a 64-bit one for x86-64", ErrNoKernel)
	}
	table := binary.LittleEndian.Uint64(h[32:])
	each := int64(binary.LittleEndian.Uint16(h[54:]))
	n := int64(binary.LittleEndian.Uint16(h[56:]))
	if n == 0 || n > maxSegments || each != elfSegment || table > uint64(size) || int64(table)+n*each > size {
		return false, fmt.Errorf("%w: %d program headers of %d bytes at %d of %d bytes", ErrDamaged, n, each, table, size)
	}
	headers := make([]byte, n*each)
	if _, err := r.ReadAt(headers, int64(table)); err != nil {
		return false, fmt.Errorf("read the program headers: %w", err)
	}
	loads := 0
	for ; len(headers) > 0; headers = headers[elfSegment:] {
		offset, length := binary.LittleEndian.Uint64(headers[8:]), binary.LittleEndian.Uint64(headers[32:])
		if offset > uint64(size) || length > uint64(size)-offset {
			return false, fmt.Errorf("%w: a segment of %d bytes at %d of %d bytes; the file may have been cut", ErrDamaged, length, offset, size)
		}
		switch binary.LittleEndian.Uint32(headers) {
		case elfLoad:
			loads++
		case elfNote:
			notes := make([]byte, min(length, maxNotes))
			if _, err := r.ReadAt(notes, int64(offset)); err != nil && !errors.Is(err, io.EOF) {
				return false, fmt.Errorf("read the notes: %w", err)
			}
			pvh = pvh || hasPVH(notes)
		}
	}
	if loads == 0 {
		return false, fmt.Errorf("%w: an ELF file with nothing to load, such as a kernel's debug symbols alone", ErrNoKernel)
	}
	return pvh, nil
}

// hasPVH looks for the PVH entry point among ELF notes.
func hasPVH(notes []byte) bool {
	pad := func(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }
	for len(notes) >= 12 {
		name, desc := binary.LittleEndian.Uint32(notes), binary.LittleEndian.Uint32(notes[4:])
		kind := binary.LittleEndian.Uint32(notes[8:])
		notes = notes[12:]
		if pad(name)+pad(desc) > uint64(len(notes)) {
			return false
		}
		if kind == notePVH && bytes.Equal(notes[:name], []byte(noteOwner)) && desc >= 4 {
			return true
		}
		notes = notes[pad(name)+pad(desc):]
	}
	return false
}
