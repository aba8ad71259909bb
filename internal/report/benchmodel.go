package report

import (
	"io"

	clockcost "github.com/cswatch/cswatch/internal/cost"
)

// ModelBenchSchema is the schema id of the document about what a clocksource costs a transfer, by arithmetic.
const ModelBenchSchema = "cswatch.bench-model/v1"

// ModelBench is what the throughput model says. Nothing in it is measured.
type ModelBench struct {
	Schema    string                 `json:"schema"`
	Inputs    ModelInputs            `json:"inputs"`
	Implied   *clockcost.Implication `json:"implied"`   // nil without the throughput under the slow clocksource
	Predicted *clockcost.Prediction  `json:"predicted"` // nil without the reads and both prices
	// AsMeasured reports whether the throughput under the slow clocksource and its prediction
	// can be the same number, nil where one of them is not there.
	AsMeasured *bool `json:"as_measured"`
}

// ModelInputs is what was given. What is nil was not.
type ModelInputs struct {
	Fast         clockcost.Value  `json:"fast_bits_per_second"`
	Slow         *clockcost.Value `json:"slow_bits_per_second"`
	SegmentBytes float64          `json:"segment_bytes"`
	Share        *clockcost.Value `json:"share_ratio"`
	Reads        *clockcost.Value `json:"reads_per_segment"`
	Read         *clockcost.Value `json:"read_ns"`
	SlowRead     *clockcost.Value `json:"slow_read_ns"`
	// How the prices were come by, "" where they are not known or were given.
	ReadFrom        string   `json:"read_from"`
	SlowReadFrom    string   `json:"slow_read_from"`
	ClockFiles      []string `json:"clock_files"`      // documents that the prices were taken from
	SlowClocksource string   `json:"slow_clocksource"` // that was asked for, "" for that of the second document
	ClockCPUs       int      `json:"clock_cpus"`       // that read at once when the prices were measured; 0 without a document
}

// NewModelBench computes what the inputs allow. The error says which input cannot be.
func NewModelBench(in ModelInputs) (*ModelBench, error) {
	d := &ModelBench{Inputs: in}
	if in.Slow != nil {
		implied, err := clockcost.Implied(clockcost.Comparison{
			Fast: in.Fast, Slow: *in.Slow, SegmentBytes: in.SegmentBytes,
			Share: in.Share, Reads: in.Reads, FastRead: in.Read, SlowRead: in.SlowRead,
		})
		if err != nil {
			return nil, err
		}
		d.Implied = &implied
	}
	if in.Reads != nil && in.Read != nil && in.SlowRead != nil {
		predicted, err := clockcost.Predict(clockcost.Transfer{
			Throughput: in.Fast, SegmentBytes: in.SegmentBytes, Reads: *in.Reads, Read: *in.Read, OtherRead: *in.SlowRead,
		})
		if err != nil {
			return nil, err
		}
		d.Predicted = &predicted
	}
	d.compare()
	return d, nil
}

// compare holds the prediction against what was measured.
func (d *ModelBench) compare() {
	if slow := d.Inputs.Slow; d.Predicted != nil && slow != nil {
		p := d.Predicted.OtherThroughput
		same := p.Low <= slow.High && slow.Low <= p.High
		d.AsMeasured = &same
	}
}

// ModelBenchJSON writes the document.
func ModelBenchJSON(w io.Writer, d *ModelBench) error {
	c := *d
	c.Schema = ModelBenchSchema
	c.Inputs.ClockFiles = list(c.Inputs.ClockFiles)
	if c.Implied != nil {
		i := *c.Implied
		i.Rows = list(i.Rows)
		c.Implied = &i
	}
	return writeJSON(w, &c, "the throughput model")
}
