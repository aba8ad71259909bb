package bench

import "math"

// Crossing is two CPUs' reads of one clock in turn. Each side reads after it has seen
// that the other has read, so that a value below the one before it shows that the clock
// went backwards between the CPUs.
type Crossing struct {
	Way
	CPUs  [2]int `json:"cpus"`
	Unit  string `json:"unit"`
	Turns int    `json:"turns"` // reads of both sides together
	// Backward counts reads that are smaller than the one before them, Farthest is by
	// how much at most.
	Backward int    `json:"backward"`
	Farthest uint64 `json:"farthest_backward"`
	// Complete: all turns were taken in the time allowed. A CPU that others use takes turns late or never.
	Complete bool   `json:"complete"`
	Why      string `json:"why,omitempty"` // there are no turns
}

// count counts what two sides read in turn, the first side's read first.
func (c *Crossing) count(first, second []uint64) {
	var last uint64
	see := func(v uint64) {
		if d := int64(v - last); c.Turns > 0 && d < 0 {
			c.Backward++
			c.Farthest = max(c.Farthest, last-v)
		}
		last = v
		c.Turns++
	}
	for i, v := range first {
		see(v)
		if i >= len(second) {
			break
		}
		see(second[i])
	}
}

// pairs returns which of n CPUs to compare, by index: each with its neighbour and
// each with the first, as kernels compare with the one that watches.
func pairs(n int) [][2]int {
	var out [][2]int
	for i := range n - 1 {
		out = append(out, [2]int{i, i + 1})
	}
	for i := 2; i < n; i++ {
		out = append(out, [2]int{0, i})
	}
	return out
}

// crowd returns how many CPUs read at once in turn: 1, 2, 4 ... and all n.
func crowd(n int) []int {
	var out []int
	for k := 1; k < n && k < math.MaxInt/2; k *= 2 {
		out = append(out, k)
	}
	if n > 0 {
		out = append(out, n)
	}
	return out
}
