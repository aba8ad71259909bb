package bench

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// row returns batches of ten reads that took 10, 20, 30 ... ns, so that their prices are 1, 2, 3 ...
func row(n int) []Batch {
	var out []Batch
	for i := n; i > 0; i-- { // not in their order
		out = append(out, Batch{Reads: 10, Took: time.Duration(10 * i)})
	}
	return out
}

func TestTheCostIsThatOfTheMiddleBatch(t *testing.T) {
	for _, tt := range []struct {
		name    string
		batches []Batch
		want    Cost
	}{
		{"no batch costs nothing", nil, Cost{}},
		{"a batch without reads does not count", []Batch{{Reads: 0, Took: 5}}, Cost{}},
		{"one batch is its own interval", row(1), Cost{Median: 1, Low: 1, High: 1, P99: 1, Min: 1, Max: 1, Batches: 1, Reads: 10}},
		{"of two the middle lies between", row(2), Cost{Median: 1.5, Low: 1, High: 2, P99: 2, Min: 1, Max: 2, Batches: 2, Reads: 20}},
		{"21 batches have the 6th and the 16th around their median", row(21), Cost{Median: 11, Low: 6, High: 16, P99: 21, Min: 1, Max: 21, Batches: 21, Reads: 210}},
		{"the 99th percentile of 200 batches is the 198th", row(200), Cost{Median: 100.5, Low: 86, High: 115, P99: 198, Min: 1, Max: 200, Batches: 200, Reads: 2000}},
		{
			"a batch that was interrupted moves only the greatest",
			append(row(5), Batch{Reads: 10, Took: time.Second}),
			Cost{Median: 3.5, Low: 1, High: 1e8, P99: 1e8, Min: 1, Max: 1e8, Batches: 6, Reads: 60},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, CostOf(tt.batches)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnEstimateLeavesItsValuesInTheirOrder(t *testing.T) {
	values := []float64{3, 1, 2}
	if e := EstimateOf(values); e != (Estimate{Median: 2, Low: 1, High: 3}) {
		t.Errorf("estimate %+v", e)
	}
	if values[0] != 3 {
		t.Error("the values were sorted under their owner")
	}
	if e := EstimateOf(nil); e != (Estimate{}) || math.IsNaN(e.Median) {
		t.Errorf("an estimate of nothing: %+v", e)
	}
}
