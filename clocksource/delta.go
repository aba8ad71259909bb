package clocksource

import "fmt"

// DeltaRule is how a kernel takes the difference of two counter values. All
// rules mask the difference; they differ in which differences they believe.
type DeltaRule uint8

const (
	// DeltaPlain believes every masked difference. Kernels up to 3.16 (from
	// memory), and up to 6.12.4 on other architectures than x86.
	DeltaPlain DeltaRule = iota
	// DeltaSigned reads the masked difference as a signed 64 bit number and
	// takes 0 where it is not positive. x86, from 3.17 (from memory) to about
	// 4.4. It never bites on a counter that is narrower than 64 bits.
	DeltaSigned
	// DeltaTopBit takes 0 where the top bit of the mask is set, that is for half
	// of the range. x86, from about 4.5 to 6.12.4.
	DeltaTopBit
	// DeltaMaxRaw takes 0 where the difference is greater than
	// [Mask.MaxRawDelta]. All architectures, from 6.13 and 6.12.5.
	DeltaMaxRaw
)

var deltaNames = [...]string{"plain", "signed", "top-bit", "max-raw"}

// String returns a short name: plain, signed, top-bit or max-raw.
func (r DeltaRule) String() string {
	if int(r) < len(deltaNames) {
		return deltaNames[r]
	}
	return fmt.Sprintf("DeltaRule(%d)", uint8(r))
}

// MarshalText writes the name of the rule.
func (r DeltaRule) MarshalText() ([]byte, error) {
	if int(r) >= len(deltaNames) {
		return nil, fmt.Errorf("delta rule %d: want 0 to %d", uint8(r), len(deltaNames)-1)
	}
	return []byte(deltaNames[r]), nil
}

// UnmarshalText reads the name of a rule.
func (r *DeltaRule) UnmarshalText(b []byte) error {
	for i, name := range deltaNames {
		if string(b) == name {
			*r = DeltaRule(i)
			return nil
		}
	}
	return fmt.Errorf("delta rule %q: want plain, signed, top-bit or max-raw", b)
}

// Delta returns the cycles from last to now, or 0 where the rule takes the
// counter to have gone backwards. Clamped tells the two zeros apart.
func (r DeltaRule) Delta(last, now Cycles, mask Mask) Cycles {
	d := (now - last) & Cycles(mask)
	if r.rejects(d, mask) {
		return 0
	}
	return d
}

// Clamped reports whether the rule turns a difference that is not 0 into 0.
func (r DeltaRule) Clamped(last, now Cycles, mask Mask) bool {
	d := (now - last) & Cycles(mask)
	return d != 0 && r.rejects(d, mask)
}

func (r DeltaRule) rejects(d Cycles, mask Mask) bool {
	switch r {
	case DeltaSigned:
		return int64(d) <= 0
	case DeltaTopBit:
		return d&mask.TopBit() != 0
	case DeltaMaxRaw:
		return d > mask.MaxRawDelta()
	}
	return false
}
