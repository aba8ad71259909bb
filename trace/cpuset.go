package trace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/watchdog"
)

// MaxCPU is the greatest CPU number that a recording can name.
const MaxCPU = 1<<16 - 1

// maxRanges bounds the ranges of a set, and with it the memory for one.
const maxRanges = 1024

// CPURange is the CPUs from First to Last, both included.
type CPURange struct{ First, Last int }

// CPUSet is a set of CPU numbers: ranges in ascending order with a gap between
// each two. Its text is the kernel's, "0-7,9". It tells a watchdog which CPUs are online.
type CPUSet []CPURange

var _ watchdog.CPUs = CPUSet(nil)

// CPUs returns the set of the given numbers, in any order. Numbers outside of 0 to MaxCPU are left out.
func CPUs(list ...int) CPUSet {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	var s CPUSet
	for _, c := range sorted {
		switch last := len(s) - 1; {
		case c < 0 || c > MaxCPU:
		case last >= 0 && c <= s[last].Last:
		case last >= 0 && c == s[last].Last+1:
			s[last].Last = c
		default:
			s = append(s, CPURange{c, c})
		}
	}
	return s
}

// FirstCPUs returns the CPUs 0 to n-1.
func FirstCPUs(n int) CPUSet {
	if n < 1 {
		return nil
	}
	return CPUSet{{0, min(n-1, MaxCPU)}}
}

// SetOf returns the CPUs that a watchdog's view of them holds.
func SetOf(c watchdog.CPUs) CPUSet {
	if s, ok := c.(CPUSet); ok {
		return slices.Clone(s)
	}
	var list []int
	cpu := c.First()
	for range min(c.Count(), MaxCPU+1) {
		list = append(list, cpu)
		cpu = c.Next(cpu)
	}
	return CPUs(list...)
}

// Count returns how many CPUs the set holds.
func (s CPUSet) Count() int {
	n := 0
	for _, r := range s {
		n += r.Last - r.First + 1
	}
	return n
}

// First returns the lowest CPU, and 0 of an empty set.
func (s CPUSet) First() int {
	if len(s) == 0 {
		return 0
	}
	return s[0].First
}

// Next returns the first CPU of the set behind cpu, the lowest one behind the last.
func (s CPUSet) Next(cpu int) int {
	for _, r := range s {
		if cpu < r.Last {
			return max(cpu+1, r.First)
		}
	}
	return s.First()
}

// Contains reports whether the set holds a CPU.
func (s CPUSet) Contains(cpu int) bool {
	for _, r := range s {
		if r.First <= cpu && cpu <= r.Last {
			return true
		}
	}
	return false
}

// previous returns the CPU whose successor is cpu.
func (s CPUSet) previous(cpu int) int {
	if len(s) == 0 {
		return 0
	}
	before := s[len(s)-1].Last
	for _, r := range s {
		if cpu > r.First {
			before = min(cpu-1, r.Last)
		}
	}
	return before
}

// validate reports whether the ranges are as the type says.
func (s CPUSet) validate() error {
	if len(s) > maxRanges {
		return fmt.Errorf("CPU set of %d ranges: at most %d are kept", len(s), maxRanges)
	}
	before := -2
	for _, r := range s {
		if r.First > r.Last || r.First <= before+1 || r.Last > MaxCPU {
			return fmt.Errorf("CPU set with range %d-%d behind %d: want ascending ranges with gaps between them, up to %d", r.First, r.Last, before, MaxCPU)
		}
		before = r.Last
	}
	return nil
}

// String returns the set as the kernel writes it, "0-7,9".
func (s CPUSet) String() string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(r.First))
		if r.Last > r.First {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(r.Last))
		}
	}
	return b.String()
}

// ParseCPUs reads what [CPUSet.String] writes.
func ParseCPUs(text string) (CPUSet, error) {
	if text == "" {
		return nil, nil
	}
	words := strings.SplitN(text, ",", maxRanges+1)
	s := make(CPUSet, 0, len(words))
	for _, word := range words {
		low, high, isRange := strings.Cut(word, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("CPU set: %q is no number up to %d and no range of two", clip(word), MaxCPU)
		}
		last, err := strconv.ParseUint(high, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("CPU set: %q is no number up to %d and no range of two", clip(word), MaxCPU)
		}
		s = append(s, CPURange{int(first), int(last)})
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	return s, nil
}

// MarshalText writes the text of the set.
func (s CPUSet) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the text of a set.
func (s *CPUSet) UnmarshalText(b []byte) error {
	parsed, err := ParseCPUs(string(b))
	if err == nil {
		*s = parsed
	}
	return err
}

// clip shortens a text of somebody else's for an error message.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
