package bench

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStepsOfAClockAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []uint64
		unit   string
		hz     float64
		want   Steps
	}{
		{"one value has no step", []uint64{7}, Nanoseconds, 0, Steps{Unit: "ns"}},
		{
			"small steps are counted one by one", []uint64{0, 20, 40, 41}, Nanoseconds, 0,
			Steps{Unit: "ns", Count: 3, Smallest: 1, Resolution: 1, Divisor: 1, Median: 20, P99: 20, Max: 20, Exact: []ExactStep{{1, 1}, {20, 2}}},
		},
		{
			"a clock that stands still for a while has steps of 0", []uint64{0, 0, 0, 70, 70, 140}, Nanoseconds, 0,
			Steps{Unit: "ns", Count: 5, Zero: 3, Smallest: 70, Resolution: 70, Divisor: 70, Median: 0, P99: 70, Max: 70, Exact: []ExactStep{{0, 3}, {70, 2}}},
		},
		{
			"a counter that advances by 2 shows it however long a read takes", []uint64{0, 26, 56, 84}, CyclesUnit, 2e9,
			Steps{Unit: "cycles", Count: 3, Smallest: 26, Resolution: 13, Divisor: 2, Median: 28, P99: 30, Max: 30, Exact: []ExactStep{{26, 1}, {28, 1}, {30, 1}}},
		},
		{
			"cycles of an unknown rate have no resolution in ns", []uint64{0, 26}, CyclesUnit, 0,
			Steps{Unit: "cycles", Count: 1, Smallest: 26, Divisor: 26, Median: 26, P99: 26, Max: 26, Exact: []ExactStep{{26, 1}}},
		},
		{
			"large steps have buckets of an eighth of an octave", []uint64{0, 256, 256 + 287, 256 + 287 + 288}, Nanoseconds, 0,
			Steps{Unit: "ns", Count: 3, Smallest: 256, Resolution: 256, Divisor: 1, Median: 287, P99: 288, Max: 288, Buckets: []Bucket{{256, 288, 2}, {288, 320, 1}}},
		},
		{
			"a step back is not one forward", []uint64{100, 90, 95, 80}, Nanoseconds, 0,
			Steps{Unit: "ns", Count: 1, Smallest: 5, Resolution: 5, Divisor: 5, Median: 5, P99: 5, Max: 5, Backward: 2, Farthest: 15, Exact: []ExactStep{{5, 1}}},
		},
		{
			"a counter of 64 bits may wrap", []uint64{math.MaxUint64 - 1, 3}, CyclesUnit, 0,
			Steps{Unit: "cycles", Count: 1, Smallest: 5, Divisor: 5, Median: 5, P99: 5, Max: 5, Exact: []ExactStep{{5, 1}}},
		},
		{
			"the greatest step there is", []uint64{0, math.MaxInt64}, Nanoseconds, 0,
			Steps{
				Unit: "ns", Count: 1, Smallest: math.MaxInt64, Resolution: math.MaxInt64, Divisor: math.MaxInt64, Median: math.MaxInt64, P99: math.MaxInt64, Max: math.MaxInt64,
				Buckets: []Bucket{{15 << 59, 1 << 63, 1}},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Counter
			c.AddAll(tt.values)
			if tt.want.Exact == nil {
				tt.want.Exact = []ExactStep{}
			}
			if tt.want.Buckets == nil {
				tt.want.Buckets = []Bucket{}
			}
			if diff := cmp.Diff(tt.want, c.Steps(tt.unit, tt.hz)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryStepLiesWithinItsBucket(t *testing.T) {
	last := -1
	for d := uint64(exactSteps); d < math.MaxInt64/2; d += max(1, d/64) {
		i := bucketOf(d)
		from, below := bounds(i)
		if d < from || d >= below {
			t.Fatalf("%d is in the bucket from %d to below %d", d, from, below)
		}
		if width := below - from; width*octaveParts > from {
			t.Fatalf("the bucket of %d is %d wide", d, width)
		}
		if i < last {
			t.Fatalf("%d is in bucket %d, a smaller one in %d", d, i, last)
		}
		last = i
	}
}

func TestAQuantileOfStepsIsAtMostAnEighthTooGreat(t *testing.T) {
	var c Counter
	for i := uint64(1); i <= 1000; i++ {
		c.Add(0, i*i)
	}
	s := c.Steps(Nanoseconds, 0)
	for _, q := range []struct {
		what       string
		got, exact uint64
	}{{"median", s.Median, 500 * 500}, {"99th percentile", s.P99, 990 * 990}} {
		if q.got < q.exact || float64(q.got) > 1.125*float64(q.exact) {
			t.Errorf("%s %d, want %d to an eighth more", q.what, q.got, q.exact)
		}
	}
}
