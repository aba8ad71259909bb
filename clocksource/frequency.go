package clocksource

import (
	"cmp"
	"fmt"
	"math/bits"
)

// FrequencySet is which frequencies explain printed numbers.
type FrequencySet struct {
	Lowest  Hz     `json:"lowest_hz"`
	Highest Hz     `json:"highest_hz"`
	Count   uint64 `json:"count"` // of whole kHz or whole Hz, after the scale of the clock
}

// Width returns the relative width of the set in parts per million.
func (s FrequencySet) Width() PPM {
	w, _ := Deviation(s.Highest, s.Lowest)
	return w
}

// Mid returns the middle of the set.
func (s FrequencySet) Mid() Hz { return s.Lowest + (s.Highest-s.Lowest)/2 }

// maxFrequency bounds the search: a faster counter than 1 THz does not exist,
// and its multiplier would be too coarse to be recognised.
const maxFrequency = 1_000_000_000_000

// Frequencies returns the frequencies freq*scale with which [Register] prints
// exactly these numbers. The set is empty, and the error nil, where none does:
// the clock brought its own mult (jiffies, tod), or the line was altered.
//
// Nothing is tried one by one. The two numbers give an estimate; around it,
// the range is halved until both ends of a piece compute in the same way, where
// the numbers are monotone in the frequency and the ends can be bisected.
func Frequencies(maxCycles Cycles, maxIdle Nanos, mask Mask, scale Scale) (FrequencySet, error) {
	if err := registrable(1, scale, mask); err != nil {
		return FrequencySet{}, err
	}
	if maxCycles == 0 || maxIdle <= 0 || maxCycles > Cycles(mask) {
		return FrequencySet{}, fmt.Errorf("registration line with max_cycles %#x, max_idle_ns %d and mask %s: want positive numbers and max_cycles within the mask", uint64(maxCycles), maxIdle, mask)
	}
	lo, hi, ok := window(maxCycles, maxIdle, scale)
	if !ok {
		return FrequencySet{}, nil
	}
	s := search{mask: mask, scale: scale, side: func(c Conversion) int {
		// Where mult falls with the frequency, max_cycles rises, and where that
		// is equal max_idle_ns falls.
		if c.MaxCycles != maxCycles {
			return cmp.Compare(c.MaxCycles, maxCycles)
		}
		return cmp.Compare(maxIdle, c.MaxIdle)
	}}
	s.piece(lo, hi)
	return s.whole(), nil
}

// window returns a generous range of frequencies, in units of scale, around
// the estimate cycles*0.89/(2*idle).
func window(cycles Cycles, idle Nanos, scale Scale) (lo, hi uint32, ok bool) {
	h, l := bits.Mul64(uint64(cycles), uint64(NanosPerSecond)/uint64(scale))
	if h >= uint64(idle) {
		return 0, 0, false
	}
	q, _ := bits.Div64(h, l, uint64(idle))
	est := q/200*89 + q%200*89/200
	if est > maxFrequency/uint64(scale) {
		return 0, 0, false
	}
	// 1/64 covers the rounding of a multiplier of 128 and more.
	slack := est/64 + 2
	low, high := uint64(1), est+slack
	if est > slack {
		low = est - slack
	}
	if low > 1<<32-1 {
		return 0, 0, false
	}
	return uint32(low), uint32(min(high, 1<<32-1)), true
}

// regime is how a frequency is converted. Each part is monotone in the
// frequency while the parts before it are constant, so that a piece whose two
// ends share a regime shares it throughout.
type regime struct {
	span, acc, shift uint32
}

func regimeOf(freq uint32, scale Scale, mask Mask) regime {
	sp := span(freq, scale, mask)
	_, shift := MultShift(freq, uint32(uint64(NanosPerSecond)/uint64(scale)), sp)
	return regime{sp, uint32(accuracy(freq, sp)), shift}
}

// search collects the frequencies whose conversion is the wanted one.
type search struct {
	mask  Mask
	scale Scale
	// side is negative for a conversion that the wanted one comes behind, at a
	// higher frequency, 0 for the wanted one and positive behind it.
	side   func(Conversion) int
	ranges []FrequencySet // ascending, none touches the next
}

func (s *search) at(freq uint32) Conversion {
	c, err := Register(freq, s.scale, s.mask)
	if err != nil { // freq, scale and mask were checked before the search
		return Conversion{}
	}
	return c
}

// whole returns one set that spans all ranges.
func (s *search) whole() FrequencySet {
	var set FrequencySet
	for i, r := range s.ranges {
		if i == 0 {
			set.Lowest = r.Lowest
		}
		set.Highest = r.Highest
		set.Count += r.Count
	}
	return set
}

// piece adds the matching frequencies of lo to hi, both included.
func (s *search) piece(lo, hi uint32) {
	s.uniform(lo, hi, s.bisect)
}

// uniform calls do for parts of lo to hi, in rising order, in each of which the
// multiplier only falls while the frequency rises and the shift stays the same.
func (s *search) uniform(lo, hi uint32, do func(lo, hi uint32)) {
	if lo > hi {
		return
	}
	first, last := regimeOf(lo, s.scale, s.mask), regimeOf(hi, s.scale, s.mask)
	if first != last {
		mid := lo + (hi-lo)/2
		s.uniform(lo, mid, do)
		s.uniform(mid+1, hi, do)
		return
	}
	// One more thing changes within a regime: a multiplier that overflows with
	// 11 % added is halved. It falls as the frequency rises, so the halved
	// part comes first and ends at one place.
	border := firstWhere(lo, hi, func(f uint32) bool { return s.at(f).Shift == first.shift })
	if border > uint64(lo) {
		do(lo, uint32(border-1))
	}
	if border <= uint64(hi) {
		do(uint32(border), hi)
	}
}

// bisect adds the matches of a uniform part.
func (s *search) bisect(lo, hi uint32) {
	reached := firstWhere(lo, hi, func(f uint32) bool { return s.side(s.at(f)) >= 0 })
	passed := firstWhere(lo, hi, func(f uint32) bool { return s.side(s.at(f)) > 0 })
	if reached >= passed {
		return
	}
	r := FrequencySet{Lowest: Hz(reached) * Hz(s.scale), Highest: Hz(passed-1) * Hz(s.scale), Count: passed - reached}
	if n := len(s.ranges); n > 0 && s.ranges[n-1].Highest+Hz(s.scale) == r.Lowest {
		s.ranges[n-1].Highest = r.Highest
		s.ranges[n-1].Count += r.Count
		return
	}
	s.ranges = append(s.ranges, r)
}

// firstWhere returns the first frequency of lo to hi for which a predicate
// that stays true once it is true holds, or hi+1.
func firstWhere(lo, hi uint32, holds func(uint32) bool) uint64 {
	a, b := uint64(lo), uint64(hi)+1
	for a < b {
		mid := a + (b-a)/2
		if holds(uint32(mid)) {
			b = mid
		} else {
			a = mid + 1
		}
	}
	return a
}
