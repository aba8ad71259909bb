package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadsInTurnShowAClockThatGoesBackwards(t *testing.T) {
	for _, tt := range []struct {
		name            string
		first, second   []uint64
		turns, backward int
		farthest        uint64
	}{
		{"no reads", nil, nil, 0, 0, 0},
		{"one side alone", []uint64{5}, nil, 1, 0, 0},
		{"always forward", []uint64{1, 3, 5}, []uint64{2, 4, 6}, 6, 0, 0},
		{"the same value twice is not backwards", []uint64{1, 1}, []uint64{1, 1}, 4, 0, 0},
		{"the second CPU is behind by 10: each of its reads shows it", []uint64{100, 104, 108}, []uint64{92, 96, 100}, 6, 3, 8},
		{"the first CPU is behind", []uint64{100, 95}, []uint64{101, 110}, 4, 1, 6},
		{"a side that has not come back has one read less", []uint64{1, 3}, []uint64{2}, 3, 0, 0},
		{"a counter that wraps goes forward", []uint64{^uint64(0)}, []uint64{4}, 2, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Crossing
			c.count(tt.first, tt.second)
			if c.Turns != tt.turns || c.Backward != tt.backward || c.Farthest != tt.farthest {
				t.Errorf("%d turns, %d backwards by at most %d; want %d, %d, %d", c.Turns, c.Backward, c.Farthest, tt.turns, tt.backward, tt.farthest)
			}
		})
	}
}

func TestCPUsAreComparedWithTheirNeighbourAndWithTheFirst(t *testing.T) {
	for n, want := range map[int][][2]int{
		1: nil, 2: {{0, 1}}, 3: {{0, 1}, {1, 2}, {0, 2}}, 4: {{0, 1}, {1, 2}, {2, 3}, {0, 2}, {0, 3}},
	} {
		if diff := cmp.Diff(want, pairs(n)); diff != "" {
			t.Errorf("%d CPUs: %s", n, diff)
		}
	}
}

func TestCrowdsDoubleUntilAllCPUsRead(t *testing.T) {
	for n, want := range map[int][]int{0: nil, 1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 8: {1, 2, 4, 8}, 12: {1, 2, 4, 8, 12}} {
		if diff := cmp.Diff(want, crowd(n)); diff != "" {
			t.Errorf("%d CPUs: %s", n, diff)
		}
	}
}
