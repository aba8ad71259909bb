package sim

import (
	"math"
	"testing"
)

func TestRandomNumbersAreUniform(t *testing.T) {
	const n, bins = 200_000, 64
	var counts [bins]float64
	s := newStream(1, 2, 3)
	sum := 0.0
	for i := range uint64(n) {
		u := s.unit(i)
		if u <= 0 || u >= 1 {
			t.Fatalf("%v", u)
		}
		counts[int(u*bins)]++
		sum += u
	}
	chi := 0.0
	for _, c := range counts {
		chi += (c - n/bins) * (c - n/bins) / (n / bins)
	}
	// 63 degrees of freedom: 63 +- 4 * 11.2.
	if chi < 18 || chi > 108 || math.Abs(sum/n-0.5) > 4*math.Sqrt(1.0/12/n) {
		t.Errorf("chi square %.1f, mean %.5f", chi, sum/n)
	}
}

func TestEachStreamHasItsOwnNumbers(t *testing.T) {
	seen := map[uint64][4]uint64{}
	for seed := range uint64(8) {
		for boot := range uint64(8) {
			for process := -2; process < 6; process++ {
				for index := range uint64(8) {
					v := newStream(seed, boot, process).at(index)
					key := [4]uint64{seed, boot, uint64(process), index}
					if other, twice := seen[v]; twice {
						t.Fatalf("%v and %v give the same", key, other)
					}
					seen[v] = key
				}
			}
		}
	}
}
