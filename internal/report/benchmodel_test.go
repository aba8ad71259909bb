package report

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/bench"
	clockcost "github.com/cswatch/cswatch/internal/cost"
	"github.com/cswatch/cswatch/internal/hw"
)

// modelText computes and writes, without line breaks.
func modelText(t *testing.T, in ModelInputs) string {
	t.Helper()
	d, err := NewModelBench(in)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := ModelBenchText(&b, d, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func given(x float64) *clockcost.Value { v := clockcost.Exact(x); return &v }

func TestTheTextOfTheModelShowsEachStepOfTheArithmetic(t *testing.T) {
	// 1 Gbit/s of 1000 B is 8 µs and half of it 16 µs; 4 reads of 50 ns and of 2050 ns explain just that.
	all := ModelInputs{
		Fast: clockcost.Exact(1e9), Slow: given(0.5e9), SegmentBytes: 1000,
		Share: given(0.5125), Reads: given(4), Read: given(50), SlowRead: given(2050),
	}
	text := modelText(t, all)
	for _, want := range []string{
		"T, fast   8 x 1000 / 1 Gbit/s   = 8 µs\n",
		"T', slow  8 x 1000 / 500 Mbit/s = 16 µs\n",
		"by the times  T' - T = 16 µs - 8 µs       = 8 µs, which is k (c' - c)\n",
		"by the share  share x T' = 51.2 % x 16 µs = 8.2 µs, which is k c'\n",
		"difference    8.2 µs - 8 µs               = 200 ns, which is k c\n",
		"Per byte 8 ns are lost",
		"The two ways agree",
		"      4             250       2.05 µs       2.05 µs\n",
		"k      8 µs / (2.05 µs - 50 ns) = 4, per segment\n",
		"T'          T + k (c' - c) = 8 µs + 4 x (2.05 µs - 50 ns) = 16 µs\n",
		"= 500 Mbit/s\n",
		"Measured were 500 Mbit/s, as predicted.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the text:\n%s", want, text)
		}
	}

	cases := []struct {
		name   string
		change func(*ModelInputs)
		want   string
	}{
		{"a share that is too small for the loss", func(in *ModelInputs) { in.Share = given(0.45) }, "explains the loss but for 10 % of it. As exact numbers"},
		{"a share that is too great for it", func(in *ModelInputs) { in.Share = given(0.9) }, "The two ways contradict each other: the share is more than the loss"},
		{"a transfer that is slower than predicted", func(in *ModelInputs) { in.SlowRead = given(1000) }, "less than predicted"},
		{"one that is faster", func(in *ModelInputs) { in.SlowRead = given(4000) }, "more than predicted"},
		{"reads that are not known", func(in *ModelInputs) { in.Reads = nil }, "goes by BYTES PER READ"},
		{"an interval, with its unit once", func(in *ModelInputs) { in.Fast = clockcost.Within(0.9e9, 1.1e9) }, "= 8 µs (7.2727 to 8.8889)"},
		{"an interval over two units", func(in *ModelInputs) { in.Slow = &clockcost.Value{Value: 0.5e9, Low: 0.5e9, High: 0.88e9} }, "= 8 µs (1.0909 to 8), which"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := all
			c.change(&in)
			if text := modelText(t, in); !strings.Contains(text, c.want) {
				t.Errorf("%q is not in the text:\n%s", c.want, text)
			}
		})
	}
}

func TestTheDocumentOfTheModelHasItsSchemaAndInputs(t *testing.T) {
	d, err := NewModelBench(ModelInputs{Fast: clockcost.Exact(1e9), Slow: given(0.5e9), SegmentBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := ModelBenchJSON(&b, d); err != nil {
		t.Fatal(err)
	}
	var back ModelBench
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Schema != ModelBenchSchema || back.Inputs.SegmentBytes != 1000 || back.Implied == nil || len(back.Implied.Rows) < 5 || back.Predicted != nil {
		t.Errorf("the document is %s", b.String())
	}
	if strings.Contains(b.String(), `"clock_files": null`) {
		t.Error("an empty list is null")
	}
	if _, err := NewModelBench(ModelInputs{Fast: clockcost.Exact(1), Slow: given(2), SegmentBytes: 1}); err == nil {
		t.Error("a slow clock that is faster has no error")
	}
}

func TestPricesOfReadsComeFromDocuments(t *testing.T) {
	crowd := func(source string, way bench.Way, median float64) ClockRead {
		return ClockRead{Clocksource: source, Part: bench.Contention, Way: way, CPUs: 2, Cost: cost(median)}
	}
	call := bench.Way{Path: bench.PathSyscall, Clock: hw.Monotonic}
	vdso := bench.Way{Path: bench.PathVDSO, Clock: hw.Monotonic}
	fence := bench.Way{Path: bench.PathInstruction, Instruction: "lfence_rdtsc"}
	fast := fastClock()
	fast.Results = append(fast.Results, ClockRead{Clocksource: "tsc", Part: bench.Costs, Way: fence, CPUs: 1, Cost: cost(12)}, crowd("tsc", fence, 13), crowd("tsc", call, 120))
	slow := &ClockBench{Clocksource: "hpet", Results: []ClockRead{{Clocksource: "hpet", Part: bench.Costs, Way: call, CPUs: 1, Cost: cost(1515)}, crowd("hpet", call, 2920)}}

	read, err := FastPrice(fast, 1)
	if err != nil || read.NS.Value != 12 || !strings.Contains(read.From, "lfence_rdtsc") {
		t.Errorf("the fast price is %+v, error %v", read, err)
	}
	price, err := SlowPrice(slow, "hpet", fast, read, 1)
	if err != nil || math.Abs(price.NS.Value-(1515-115+12)) > 1e-9 || !strings.Contains(price.From, "system call under hpet") {
		t.Errorf("the slow price is %+v, error %v", price, err)
	}
	two, err := FastPrice(fast, 2)
	if err != nil {
		t.Fatal(err)
	}
	price, err = SlowPrice(slow, "hpet", fast, two, 2)
	if err != nil || math.Abs(price.NS.Value-(2920-120+13)) > 1e-9 || !strings.Contains(price.From, "2 CPUs at once") {
		t.Errorf("of two CPUs the slow price is %+v, error %v", price, err)
	}
	both := *fast
	both.Results = append(slices.Clone(fast.Results), slow.Results...)
	if one, err := SlowPrice(&both, "hpet", &both, read, 1); err != nil || math.Abs(one.NS.Value-(1515-115+12)) > 1e-9 {
		t.Errorf("of one document of both clocksources the slow price is %+v, error %v", one, err)
	}
	if !both.MeasuredUnder("hpet") || fast.MeasuredUnder("hpet") {
		t.Error("what was measured under the HPET is not told from what was not")
	}
	if price, err = CounterPrice(fast, hw.HPET); err != nil || price.NS.Value != 1410 {
		t.Errorf("the counter's price is %+v, error %v", price, err)
	}

	kvm := &ClockBench{
		Clocksource: "kvm-clock", Routes: []ClockRoute{{Clocksource: "kvm-clock", Route: bench.Route{Clock: hw.Monotonic, Path: bench.ByVDSO}}},
		Results: []ClockRead{{Clocksource: "kvm-clock", Part: bench.Costs, Way: vdso, CPUs: 1, Cost: cost(30)}, {Clocksource: "kvm-clock", Part: bench.Costs, Way: fence, CPUs: 1, Cost: cost(12)}},
	}
	if read, err = FastPrice(kvm, 1); err != nil || read.NS.Value != 30 {
		t.Errorf("under kvm-clock the fast price is %+v, error %v", read, err)
	}
	for name, run := range map[string]func() error{
		"no price by instruction":                                  func() error { _, err := FastPrice(slow, 1); return err },
		`no price of the system call under "hpet", 7 CPUs at once`: func() error { _, err := SlowPrice(slow, "hpet", fast, two, 7); return err },
		"want the slow one to be dearer":                           func() error { _, err := SlowPrice(fast, "tsc", slow, two, 1); return err },
		"and of the counters hpet":                                 func() error { _, err := CounterPrice(fast, hw.ACPIPM); return err },
		"no counter that was read":                                 func() error { _, err := CounterPrice(slow, hw.HPET); return err },
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error is %v, want %q in it", err, name)
		}
	}
}
