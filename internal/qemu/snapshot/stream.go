package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Marks of the stream, which have stayed the same since QEMU 2.4.
const (
	magic       = "QEVM"
	version     = 3
	markEOF     = 0x00
	markFull    = 0x04 // a section with the whole state of a device
	markPart    = 0x05 // a subsection within one
	markDesc    = 0x06 // the description
	markFooter  = 0x7e
	footerBytes = 1 + 4 // mark, number of the section
	descHead    = 1 + 4 // mark, length
)

// Bounds of the description. That of two CPUs has 0.1 MB, and each further CPU
// adds 8 kB and 500 values.
const (
	maxDescription = 8 << 20
	maxValues      = 1 << 20
)

// Snapshot is a saved state, with the places of its sections.
type Snapshot struct {
	r        io.ReaderAt
	size     int64
	sections []section
}

// section is the state of one device.
type section struct {
	device
	offset int64 // of its first field
}

// device is what the description says of a section.
type device struct {
	Name     string `json:"name"`
	Instance uint32 `json:"instance_id"`
	Version  uint32 `json:"version"`
	state
}

// state are fields one behind the other, and then subsections.
type state struct {
	Fields      []field `json:"fields"`
	Subsections []struct {
		Name string `json:"vmsd_name"`
		state
	} `json:"subsections"`
}

// field is a value, or an array of equal ones.
type field struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Size  int64  `json:"size"`      // bytes of one element
	Count *int64 `json:"array_len"` // nil for 1
}

// Read reads the description at the end of a stream of so many bytes, and checks
// that each section is where the description puts it. r is kept for later reads.
func Read(r io.ReaderAt, size int64) (*Snapshot, error) {
	s := &Snapshot{r: r, size: size}
	if err := s.read(); err != nil {
		return nil, fmt.Errorf("read the saved state of a machine: %w", err)
	}
	return s, nil
}

// Size is the length of the stream in bytes.
func (s *Snapshot) Size() int64 { return s.size }

func (s *Snapshot) read() error {
	head, err := s.at(0, len(magic)+4)
	if err != nil {
		return err
	}
	if string(head[:len(magic)]) != magic || binary.BigEndian.Uint32(head[len(magic):]) != version {
		return fmt.Errorf("it begins with %q, want %q and the version %d", head, magic, version)
	}
	text, begin, err := s.description()
	if err != nil {
		return err
	}
	var d struct {
		Devices []device `json:"devices"`
	}
	if n := bytes.Count(text, []byte(",")); n > maxValues {
		return fmt.Errorf("its description has %d values, want %d at most", n, maxValues)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("its description of %d bytes at %#x: %w", len(text), begin+descHead, err)
	}
	return s.locate(d.Devices, begin)
}

// description returns the text at the end, and where its section begins.
func (s *Snapshot) description() (text []byte, begin int64, err error) {
	// The text is read in growing pieces, since only its beginning tells its length.
	for n := int64(256 << 10); ; n *= 4 {
		n = min(n, s.size, descHead+maxDescription)
		tail, err := s.at(s.size-n, int(n))
		if err != nil {
			return nil, 0, err
		}
		// JSON holds no such byte, so that nothing within the text can be taken for its head.
		for i := bytes.LastIndexByte(tail, markDesc); i >= 0; i = bytes.LastIndexByte(tail[:i], markDesc) {
			rest := tail[i+1:]
			if len(rest) > 4 && int64(binary.BigEndian.Uint32(rest)) == int64(len(rest))-4 && rest[4] == '{' {
				return rest[4:], s.size - int64(len(rest)) - 1, nil
			}
		}
		if n == s.size || n == descHead+maxDescription {
			return nil, 0, fmt.Errorf("no description of the devices ends it: want a byte %#x, a length and JSON of at most %d bytes at the end; it may be cut, or saved by another version of QEMU", markDesc, maxDescription)
		}
	}
}

// locate finds the sections: they stand one behind the other, as the description
// has them, up to a mark before the description itself.
func (s *Snapshot) locate(devices []device, end int64) error {
	mark, err := s.at(end-1, 1)
	if err != nil {
		return err
	}
	if mark[0] != markEOF {
		return fmt.Errorf("before the description at %#x stands the byte %#x, want the end mark %#x", end, mark[0], markEOF)
	}
	var total int64
	lengths := make([]int64, len(devices))
	for i := range devices {
		d := &devices[i]
		length, err := d.length(s.size)
		if err != nil {
			return fmt.Errorf("its description of %s: %w", d, err)
		}
		lengths[i] = length
		if total += int64(len(d.head())) + length + footerBytes; total >= end {
			return fmt.Errorf("its description has sections of %d bytes and more, but before it stand only %d", total, end)
		}
	}
	at := end - 1 - total
	for i, d := range devices {
		head := d.head()
		got, err := s.at(at, len(head))
		if err != nil {
			return err
		}
		number := got[1:5] // not told by the description
		copy(head[1:5], number)
		if !bytes.Equal(got, head) {
			return fmt.Errorf("at %#x stands %q, want the head %q of %s, the section %d of %d: this version of QEMU describes its sections otherwise",
				at, got, head, &d, i+1, len(devices))
		}
		offset := at + int64(len(head))
		foot, err := s.at(offset+lengths[i], footerBytes)
		if err != nil {
			return err
		}
		if foot[0] != markFooter || !bytes.Equal(foot[1:], number) {
			return fmt.Errorf("at %#x stands %q, want the foot %q of %s: the section does not have the %d bytes of its description",
				offset+lengths[i], foot, append([]byte{markFooter}, number...), &d, lengths[i])
		}
		s.sections = append(s.sections, section{d, offset})
		at = offset + lengths[i] + footerBytes
	}
	return nil
}

// String names the section for messages.
func (d *device) String() string { return fmt.Sprintf("%s %d", d.Name, d.Instance) }

// head is what stands before the first field. The number of the section is left 0.
func (d *device) head() []byte {
	b := []byte{markFull, 0, 0, 0, 0, byte(len(d.Name))}
	b = append(b, d.Name...)
	b = binary.BigEndian.AppendUint32(b, d.Instance)
	return binary.BigEndian.AppendUint32(b, d.Version)
}

// length is the number of bytes, at most limit.
func (t *state) length(limit int64) (int64, error) {
	var total int64
	for i := range t.Fields {
		n, err := t.Fields[i].length(limit)
		if err != nil {
			return 0, err
		}
		if total += n; total > limit {
			return 0, errTooLong
		}
	}
	for i := range t.Subsections {
		sub := &t.Subsections[i]
		n, err := sub.length(limit)
		if err != nil {
			return 0, err
		}
		// mark, length of the name, name, version
		if total += 1 + 1 + int64(len(sub.Name)) + 4 + n; total > limit {
			return 0, errTooLong
		}
	}
	return total, nil
}

var errTooLong = errors.New("it is longer than the whole stream")

func (f *field) length(limit int64) (int64, error) {
	count := int64(1)
	if f.Count != nil {
		count = *f.Count
	}
	switch {
	case f.Size < 0 || count < 0:
		return 0, fmt.Errorf("the field %s has %d elements of %d bytes", f.Name, count, f.Size)
	case count > 0 && f.Size > limit/count:
		return 0, errTooLong
	}
	return f.Size * count, nil
}

// at reads n bytes at an offset.
func (s *Snapshot) at(offset int64, n int) ([]byte, error) {
	if offset < 0 || int64(n) > s.size-offset {
		return nil, fmt.Errorf("it has %d bytes, want %d at %#x", s.size, n, offset)
	}
	b := make([]byte, n)
	if got, err := s.r.ReadAt(b, offset); got < n {
		return nil, fmt.Errorf("%d bytes at %#x: %w", n, offset, err)
	}
	return b, nil
}
