package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"time"
)

// AllCPUs is the CPU of a step that all make together.
const AllCPUs = -1

// Step sets the TSC forward, or back where Cycles is negative, in the moment in
// which the state was saved.
type Step struct {
	CPU    int   `json:"cpu"` // by QEMU's number, or AllCPUs
	Cycles int64 `json:"cycles"`
}

// String writes the step for reports.
func (s Step) String() string {
	if s.CPU == AllCPUs {
		return fmt.Sprintf("all CPUs %+d cycles", s.Cycles)
	}
	return fmt.Sprintf("CPU %d %+d cycles", s.CPU, s.Cycles)
}

// Cycles returns how many cycles a TSC of hz makes in a time, rounded to the nearest.
func Cycles(by time.Duration, hz int64) int64 {
	// In 128 bits: an hour has more cycles times nanoseconds than 64 bits hold.
	n := new(big.Int).Mul(big.NewInt(int64(by)), big.NewInt(2*hz))
	n.Add(n, big.NewInt(int64(time.Second)))
	return n.Div(n, big.NewInt(2*int64(time.Second))).Int64()
}

// Place is where a field of 64 bits stands in the stream, highest byte first.
type Place struct {
	Offset int64
	Value  uint64
}

const placeBytes = 8

// Names of the two fields, by QEMU's description of them.
const (
	timerSection, timerField = "timer", "cpu_ticks_offset" // of all CPUs
	cpuSection, cpuField     = "cpu", "env.tsc_offset"     // of one: what it adds to the other
)

// Place returns where a field of 64 bits stands, such as "env.tsc_offset" of the
// section "cpu" of CPU 1.
func (s *Snapshot) Place(name string, instance int, wanted string) (Place, error) {
	fail := func(format string, args ...any) (Place, error) {
		what := fmt.Sprintf("find the field %s of the section %s %d in the saved state: ", wanted, name, instance)
		return Place{}, fmt.Errorf(what+format, args...)
	}
	var instances []uint32
	for i := range s.sections {
		c := &s.sections[i]
		if c.Name != name {
			continue
		}
		if instances = append(instances, c.Instance); int64(c.Instance) != int64(instance) {
			continue
		}
		at := c.offset
		for j := range c.Fields {
			f := &c.Fields[j]
			n, err := f.length(s.size)
			switch {
			case err != nil:
				return fail("%w", err)
			case f.Name != wanted:
				at += n
				continue
			case n != placeBytes || f.Count != nil || f.Type != "int64" && f.Type != "uint64":
				return fail("it is of the type %q with %d bytes, want int64 or uint64 with %d", f.Type, n, placeBytes)
			}
			b, err := s.at(at, placeBytes)
			if err != nil {
				return fail("%w", err)
			}
			return Place{at, binary.BigEndian.Uint64(b)}, nil
		}
		return fail("its version %d of the section has %d other fields: another version of QEMU may have another name for it", c.Version, len(c.Fields))
	}
	if len(instances) == 0 {
		return fail("there is no such section among %d: another version of QEMU may have another name for it", len(s.sections))
	}
	return fail("there are only sections of this name for %v", instances)
}

// Check reports the first of the steps that cannot be made.
func (s *Snapshot) Check(steps ...Step) error {
	_, err := s.changes(steps)
	return err
}

// changes returns the new values of fields by their offsets.
func (s *Snapshot) changes(steps []Step) (map[int64]uint64, error) {
	changed := map[int64]uint64{}
	for _, step := range steps {
		p, err := s.place(step)
		if err != nil {
			return nil, fmt.Errorf("make the step %s: %w", step, err)
		}
		if _, again := changed[p.Offset]; !again {
			changed[p.Offset] = p.Value
		}
		changed[p.Offset] += uint64(step.Cycles)
	}
	return changed, nil
}

// Write writes the stream with the steps made. Steps of the same CPU add up.
func (s *Snapshot) Write(w io.Writer, steps ...Step) error {
	changed, err := s.changes(steps)
	if err != nil {
		return err
	}
	at := int64(0)
	copyTo := func(end int64) error {
		n, err := io.Copy(w, io.NewSectionReader(s.r, at, end-at))
		if err == nil && n < end-at {
			err = io.ErrUnexpectedEOF
		}
		at = end
		return err
	}
	for _, o := range slices.Sorted(maps.Keys(changed)) {
		if err := copyTo(o); err != nil {
			return fmt.Errorf("copy the saved state: %w", err)
		}
		b := binary.BigEndian.AppendUint64(nil, changed[o])
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("write the TSC of the saved state: %w", err)
		}
		at += placeBytes
	}
	if err := copyTo(s.size); err != nil {
		return fmt.Errorf("copy the saved state: %w", err)
	}
	return nil
}

// place is what a step changes.
func (s *Snapshot) place(step Step) (Place, error) {
	switch {
	case step.CPU == AllCPUs:
		return s.Place(timerSection, 0, timerField)
	case step.CPU < 0:
		return Place{}, errors.New("the CPU has no number: want one from 0, or -1 for all")
	}
	return s.Place(cpuSection, step.CPU, cpuField)
}
