package perf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Layout is which fields the records have, as they were asked for when the event
// was opened: always the IP, the IDs, the time, the CPU and the period, in the kernel's order.
type Layout struct {
	Chains bool // and a call chain
}

// Numbers of the kernel's interface (include/uapi/linux/perf_event.h), stable since they exist.
const (
	recordMmap        = 1
	recordLost        = 2
	recordComm        = 3
	recordExit        = 4
	recordThrottle    = 5
	recordUnthrottle  = 6
	recordFork        = 7
	recordSample      = 9
	recordMmap2       = 10
	recordLostSamples = 13

	miscMode     = 0x7
	miscCommExec = 1 << 13
	miscBuildID  = 1 << 14 // of a MMAP2 record: a build ID stands where device and inode do

	headerSize  = 8
	trailerSize = 24 // pid, tid, time, cpu and its padding, behind all records but samples

	// MaxChain is the longest call chain that is believed. The kernel's own limit is
	// 127 addresses by default and never more than 640, and a few markers.
	MaxChain = 700
)

// ErrCut is the error of data that end within a record.
var ErrCut = errors.New("the data end within a record")

// ParseRecord reads the first record of data, which are bytes of a ring buffer in
// the machine's byte order, and returns how many of them it takes. An error comes
// with the size, too, where the header can be trusted, so that the rest can still be read; with 0
// nothing after it can. The record holds no reference to data.
func ParseRecord(data []byte, l Layout) (Record, int, error) {
	if len(data) < headerSize {
		return nil, 0, fmt.Errorf("read a perf record: %d bytes: %w", len(data), ErrCut)
	}
	kind := binary.NativeEndian.Uint32(data)
	misc := binary.NativeEndian.Uint16(data[4:])
	size := int(binary.NativeEndian.Uint16(data[6:]))
	switch {
	case size < headerSize || size%8 != 0:
		return nil, 0, fmt.Errorf("read a perf record of kind %d: a size of %d bytes: want a multiple of 8 from %d on", kind, size, headerSize)
	case size > len(data):
		return nil, 0, fmt.Errorf("read a perf record of kind %d: %d of its %d bytes: %w", kind, len(data), size, ErrCut)
	}
	r, err := parseBody(kind, misc, data[headerSize:size], l)
	if err != nil {
		return nil, size, fmt.Errorf("read a perf record of kind %d with %d bytes: %w", kind, size, err)
	}
	return r, size, nil
}

func parseBody(kind uint32, misc uint16, body []byte, l Layout) (Record, error) {
	if kind == recordSample {
		return parseSample(misc, body, l)
	}
	if len(body) < trailerSize {
		return nil, fmt.Errorf("%w: no room for who, when and where", ErrCut)
	}
	end := fields{rest: body[len(body)-trailerSize:]}
	stamp := Stamp{PID: int32(end.u32()), TID: int32(end.u32()), Time: end.u64(), CPU: end.u32()}
	f := fields{rest: body[:len(body)-trailerSize]}
	var r Record
	switch kind {
	case recordMmap, recordMmap2:
		m := Mapping{Stamp: stamp}
		m.PID, m.TID = int32(f.u32()), int32(f.u32())
		m.Start, m.Length, m.Offset = f.u64(), f.u64(), f.u64()
		if kind == recordMmap2 {
			m.Device = uint64(f.u32())<<32 | uint64(f.u32())
			m.Inode = f.u64()
			f.u64() // generation
			f.u64() // protection and flags
			if misc&miscBuildID != 0 {
				m.Device, m.Inode = 0, 0
			}
		}
		m.Name = f.text()
		r = m
	case recordComm:
		n := Naming{Stamp: stamp, Exec: misc&miscCommExec != 0}
		n.PID, n.TID = int32(f.u32()), int32(f.u32())
		n.Name = f.text()
		r = n
	case recordFork, recordExit:
		pid, parent := int32(f.u32()), int32(f.u32())
		tid, parentThread := int32(f.u32()), int32(f.u32())
		stamp.PID, stamp.TID, stamp.Time = pid, tid, f.u64()
		if kind == recordExit {
			r = Exit{stamp}
		} else {
			r = Birth{stamp, parent, parentThread}
		}
	case recordLost:
		f.u64() // the event's number
		r = Loss{Stamp: stamp, Lost: f.u64()}
	case recordLostSamples:
		r = Loss{Stamp: stamp, Lost: f.u64(), Samples: true}
	case recordThrottle, recordUnthrottle:
		stamp.Time = f.u64()
		r = Throttling{Stamp: stamp, On: kind == recordUnthrottle}
	default:
		return Other{stamp, kind}, nil
	}
	if f.short {
		return nil, ErrCut
	}
	return r, nil
}

func parseSample(misc uint16, body []byte, l Layout) (Record, error) {
	f := fields{rest: body}
	s := Sample{Mode: Mode(misc & miscMode), IP: f.u64()}
	s.PID, s.TID = int32(f.u32()), int32(f.u32())
	s.Time = f.u64()
	s.CPU = f.u32()
	f.u32() // reserved
	s.Period = f.u64()
	if l.Chains {
		n := f.u64()
		if n > MaxChain || n > uint64(len(f.rest)/8) {
			return nil, fmt.Errorf("a call chain of %d addresses in %d bytes: want at most %d, and as many as there is room for", n, len(f.rest), MaxChain)
		}
		s.Chain = make([]uint64, n)
		for i := range s.Chain {
			s.Chain[i] = f.u64()
		}
	}
	if f.short {
		return nil, ErrCut
	}
	return s, nil
}

// fields takes numbers off the front of a record's body, zeros once it is short.
type fields struct {
	rest  []byte
	short bool
}

func (f *fields) take(n int) []byte {
	if len(f.rest) < n {
		f.rest, f.short = nil, true
		return make([]byte, n)
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

func (f *fields) u32() uint32 { return binary.NativeEndian.Uint32(f.take(4)) }
func (f *fields) u64() uint64 { return binary.NativeEndian.Uint64(f.take(8)) }

// text takes the rest up to the first zero byte. A record is at most 64 KiB, and so is a text.
func (f *fields) text() string {
	text, _, _ := bytes.Cut(f.rest, []byte{0})
	f.rest = nil
	return string(text)
}
