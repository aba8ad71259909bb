package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/bench"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/loopback"
	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/stats"
	"github.com/rogpeppe/go-internal/txtar"
)

// explained is a stream at 8 Gbit/s under the TSC (65.536 us for 64 KiB) and at so much under the HPET, with reads of 20 ns and 1020 ns.
func explained(slow float64, countersShare float64) *NetBench {
	use := func(cpu int) loopback.Use { return loopback.Use{CPU: cpu, Thread: 1, Busy: 1} }
	result := func(source string, value float64) loopback.Result {
		return loopback.Result{Clocksource: source, Test: loopback.Stream, Value: value, Low: value * 0.99, High: value * 1.01, Unit: "bit_per_second", Rounds: 8, Client: use(1), Server: use(0)}
	}
	d := &NetBench{Inputs: NetBenchInputs{Model: true, Profile: true}, Ended: BenchDone, Model: &NetModel{}}
	d.Outcome = loopback.Outcome{Clocksource: "tsc", ClocksourceAfter: "tsc", Results: []loopback.Result{result("tsc", 8e9), result("hpet", slow)}}
	clock := &ClockBench{}
	rdtsc, call := bench.Way{Path: bench.PathInstruction, Instruction: "lfence_rdtsc"}, bench.Way{Path: bench.PathSyscall, Clock: hw.Monotonic}
	for _, r := range []struct {
		source string
		call   float64
	}{{"tsc", 120}, {"hpet", 1120}} {
		both := func(w bench.Way, ns float64) bench.Crowd {
			return bench.Crowd{Way: w, CPUs: []int{0, 1}, Rounds: 7, PerCPU: []bench.OnCPU{{CPU: 0, Cost: cost(ns)}, {CPU: 1, Cost: cost(ns)}}}
		}
		clock.Measured(&bench.Result{Clocksource: r.source, ClocksourceAfter: r.source, Contention: []bench.Crowd{both(rdtsc, 20), both(call, r.call)}})
	}
	d.Model.Priced(clock, 2)
	share := func(ratio float64, samples int64) perf.Share {
		return perf.Share{Samples: samples, Ratio: ratio, Within: stats.Interval{Low: ratio * 0.9, High: ratio * 1.1}}
	}
	profile := &ProfileBench{Ended: BenchDone, Event: perf.CPUClock, Samples: 10_000, CPUs: 2, Seconds: 5}
	profile.Reading.OnCPUs = []perf.ClockOnCPU{
		{CPU: 0, Samples: 5000, Whole: share(countersShare, 3000), Counter: share(countersShare, 3000)},
		{CPU: 1, Samples: 5000, Whole: share(0.001, 5), Counter: share(0.001, 5)},
	}
	d.Profiles = []NetProfile{{Clocksource: "hpet", Test: loopback.Stream, Value: slow, Unit: "bit_per_second", Profile: profile}}
	return d
}

func TestAStreamIsPredictedFromPricesAndReads(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	// Half of the time under the HPET is in reads: 131.072 us x 0.5 / 1020 ns.
	d := explained(4e9, 0.5)
	d.Predict()
	m := d.Model
	if len(m.Prices) != 2 || m.Prices[0].Read == nil || m.Prices[1].Read == nil {
		t.Fatalf("prices %+v", m.Prices)
	}
	near("tsc", m.Prices[0].Read.Value, 20)
	near("hpet", m.Prices[1].Read.Value, 1020)
	if len(m.Reads) != 2 || m.Reads[0].Side != "client" || m.Reads[0].Reads != nil || !strings.Contains(m.Reads[0].Why, "fewer than 20 samples of CPU 1") {
		t.Errorf("the client: %+v", m.Reads)
	}
	k := 131072 * 0.5 / 1020
	near("reads of the server", m.Reads[1].Reads.Value, k)
	if len(m.Predictions) != 1 || m.Predictions[0].Clocksource != "hpet" || m.Predictions[0].Side != "server" || len(m.WhatIf) != 0 {
		t.Fatalf("predictions %+v", m.Predictions)
	}
	model := m.Predictions[0].Model
	near("throughput", model.Predicted.OtherThroughput.Value, 8*65536/(65536+k*1000)*1e9)
	if model.AsMeasured == nil || !*model.AsMeasured || model.Implied == nil || model.Implied.ByShare == nil {
		t.Errorf("%+v", model)
	}
	near("by the share", model.Implied.ByShare.Value, 65536)
}

func TestWhatIsCountedComesBeforeWhatAProfileTells(t *testing.T) {
	d := explained(4e9, 0.5)
	d.Model.Counted("tsc", "client", 1, 300, 65536*10, "ktime_get")
	d.Model.Counted("tsc", "server", 0, 100, 65536*10, "ktime_get")
	d.Predict()
	if q := d.Model.Predictions[0]; q.Side != "client" || q.Model.Inputs.Reads.Value != 30 {
		t.Errorf("%+v", q)
	}
}

func TestWithoutALossThereIsAPredictionAllTheSame(t *testing.T) {
	d := explained(8.1e9, 0.001)
	d.Predict()
	q := d.Model.Predictions[0]
	if q.Model == nil || q.Model.Implied != nil || q.Model.Predicted == nil || q.Model.Inputs.Slow == nil || q.Model.AsMeasured == nil {
		t.Errorf("%+v", q)
	}
}

func TestWhatIsNotKnownIsSaid(t *testing.T) {
	d := explained(4e9, 0.5)
	d.Profiles[0].Profile.Why = "not permitted"
	d.Model.Uncounted("tsc", errors.New("no probes"))
	d.Predict()
	if q := d.Model.Predictions[0]; q.Model != nil || !strings.Contains(q.Why, "how often the clock is read is not known") {
		t.Errorf("%+v", q)
	}
	d = explained(4e9, 0.5)
	d.Model.Prices = d.Model.Prices[:1]
	d.Results = d.Results[:1]
	d.Model.Counted("tsc", "client", 1, 300, 65536*10, "ktime_get")
	d.Predict()
	if w := d.Model.WhatIf; len(w) != 4 || w[0].Model == nil || w[3].Model.Predicted.Loss.Value <= w[0].Model.Predicted.Loss.Value {
		t.Errorf("what if: %+v", w)
	}
}

func TestEachFormOfAnExplainedStreamIsAsItWas(t *testing.T) {
	d := explained(4e9, 0.5)
	d.Model.Counted("tsc", "client", 1, 300, 65536*10, "ktime_get")
	d.Predict()
	files := []txtar.File{
		section(t, "text", func(w io.Writer) error { return NetBenchText(w, d, TextOptions{Width: 100}) }),
		section(t, "JSON", func(w io.Writer) error { return NetBenchJSON(w, d) }),
	}
	golden(t, "benchnetmodel", &txtar.Archive{Files: files})
	var out bytes.Buffer
	if err := NetBenchJSON(&out, d); err != nil || !json.Valid(out.Bytes()) {
		t.Error(err)
	}
}
