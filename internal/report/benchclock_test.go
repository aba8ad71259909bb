package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/bench"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/machine"
	"github.com/rogpeppe/go-internal/txtar"
)

func cost(median float64) bench.Cost {
	return bench.Cost{Median: median, Low: median * 0.99, High: median * 1.02, P99: median * 1.5, Min: median * 0.98, Max: median * 2, Batches: 201, Reads: 201_000}
}

// fastClock is a made result of a machine with a TSC on four CPUs.
func fastClock() *ClockBench {
	vdso := bench.Way{Path: bench.PathVDSO, Clock: hw.Monotonic}
	call := bench.Way{Path: bench.PathSyscall, Clock: hw.Monotonic}
	tsc := bench.Way{Path: bench.PathInstruction, Instruction: "rdtsc"}
	none := new(bench.Counter)
	hpet := none.Steps(bench.CyclesUnit, 24e6)
	hpet.Smallest, hpet.Resolution = 33, 1375
	var crowds []bench.Crowd
	for _, cpus := range [][]int{{0}, {0, 1}, {0, 1, 2, 3}} {
		c := bench.Crowd{
			Way: vdso, CPUs: cpus, Rounds: 11, ReadsPerSecond: bench.EstimateOf([]float64{60e6 * float64(len(cpus))}), Fairness: bench.EstimateOf([]float64{0.98}),
		}
		for _, cpu := range cpus {
			c.PerCPU = append(c.PerCPU, bench.OnCPU{CPU: cpu, Cost: cost(16 + float64(3-cpu))})
		}
		crowds = append(crowds, c)
	}
	crowds = append(crowds, bench.Crowd{Way: call, CPUs: []int{0, 1}, PerCPU: []bench.OnCPU{}, Why: "on CPU 1: it went offline"})
	d := &ClockBench{
		CPUModel: "Made CPU", Kernel: "6.12.1", LatencyCanCondemn: machine.No, LatencyWhy: "the TSC is not watched: tsc=reliable", Ended: BenchDone,
		Inputs: ClockBenchInputs{Duration: 3},
	}
	d.Measured(&bench.Result{
		Plan:        bench.Plan{Parts: []bench.Part{bench.Costs}, CPUs: []int{0, 1, 2, 3}, Batches: 201, BatchTime: 200 * time.Microsecond, AcceptLosingTSC: true},
		Clocksource: "tsc", ClocksourceAfter: "tsc", CPU: 3, Timer: 20, Seconds: 3.1,
		Costs:  []bench.WayCost{{Way: vdso, BatchReads: 1000, Cost: cost(15)}, {Way: call, BatchReads: 100, Cost: cost(115)}, {Way: tsc, BatchReads: 2000, Cost: cost(7.25)}},
		Routes: []bench.Route{bench.RouteOf(hw.Monotonic, cost(15), cost(115), "", "tsc")},
		Steps: []bench.WaySteps{
			{Way: vdso, Steps: bench.Steps{Unit: bench.Nanoseconds, Count: 100_000, Smallest: 14, Resolution: 14, Exact: []bench.ExactStep{}, Buckets: []bench.Bucket{}}},
			{Way: tsc, Steps: bench.Steps{Unit: bench.CyclesUnit, Count: 99_997, Smallest: 16, Backward: 3, Farthest: 8, Exact: []bench.ExactStep{}, Buckets: []bench.Bucket{}}},
		},
		Across: []bench.Crossing{
			{Way: vdso, CPUs: [2]int{0, 1}, Unit: bench.Nanoseconds, Turns: 10_000, Complete: true},
			{Way: vdso, CPUs: [2]int{1, 2}, Unit: bench.Nanoseconds, Turns: 4_000, Backward: 2, Farthest: 70},
		},
		Contention: crowds,
		Counters: []bench.CounterResult{
			{Counter: hw.Counter{Name: hw.HPET, Hz: 24_000_000}, Pace: 0.001, Cost: cost(1410), Steps: hpet, Late: map[hw.Cause]int{}},
			{Counter: hw.Counter{Name: hw.ACPIPM}, Why: "acpi_pm cannot be used here: no port", Steps: none.Steps(bench.CyclesUnit, 0), Late: map[hw.Cause]int{}},
		},
		Skipped:  []bench.Skipped{{Way: bench.Way{Path: bench.PathSyscall, Clock: hw.TAI}, Why: "invalid argument"}},
		Warnings: []bench.Warning{{Code: bench.WarnBackwards, Text: "vdso monotonic went backwards between CPUs 1 and 2"}},
	})
	return d
}

// slowClock is a made result of a machine that runs on its HPET, which must not be loaded, and changed to another.
func slowClock() *ClockBench {
	d := &ClockBench{LatencyCanCondemn: machine.Yes, LatencyWhy: "5.15 gives up a TSC for late reads", Ended: BenchChanged}
	d.Measured(&bench.Result{
		Plan: bench.Plan{CPUs: []int{0}}, Clocksource: "hpet", ClocksourceAfter: "acpi_pm", Seconds: 9,
		Counters: []bench.CounterResult{{Counter: hw.Counter{Name: hw.MonotonicVDSO, Hz: 1_000_000_000}, Pace: 0.5, Cost: cost(1390), Steps: new(bench.Counter).Steps(bench.Nanoseconds, 0), Late: map[hw.Cause]int{}}},
	})
	return d
}

// switchedClock is a made result of a machine that was switched from its TSC to its HPET, and lost the TSC.
func switchedClock() *ClockBench {
	d := fastClock()
	d.Inputs.Switch, d.Ended = true, BenchCondemned
	call := bench.Way{Path: bench.PathSyscall, Clock: hw.Monotonic}
	vdso := bench.Way{Path: bench.PathVDSO, Clock: hw.Monotonic}
	none := new(bench.Counter)
	d.Measured(&bench.Result{
		Clocksource: "hpet", ClocksourceAfter: "hpet", Timer: 1400, Seconds: 2,
		Costs:  []bench.WayCost{{Way: vdso, BatchReads: 100, Cost: cost(1500)}, {Way: call, BatchReads: 100, Cost: cost(1490)}},
		Routes: []bench.Route{bench.RouteOf(hw.Monotonic, cost(1500), cost(1490), "", "hpet")},
		Steps:  []bench.WaySteps{{Way: vdso, Steps: none.Steps(bench.Nanoseconds, 0)}},
		Across: []bench.Crossing{{Way: vdso, CPUs: [2]int{0, 1}, Unit: bench.Nanoseconds, Turns: 10_000, Complete: true}},
		Contention: []bench.Crowd{{
			Way: vdso, CPUs: []int{0, 1}, Rounds: 11, ReadsPerSecond: bench.EstimateOf([]float64{0.7e6}), Fairness: bench.EstimateOf([]float64{0.7}),
			PerCPU: []bench.OnCPU{{CPU: 0, Cost: cost(2700)}, {CPU: 1, Cost: cost(2800)}},
		}},
		Skipped: []bench.Skipped{{Way: bench.Way{Path: bench.PathSyscall, Clock: hw.TAI}, Why: "invalid argument"}},
	})
	d.Switching = &Switching{
		From: "tsc", Sources: []string{"tsc", "hpet"}, Ignored: []IgnoredSource{{Clocksource: "acpi_pm", Instead: "hpet"}}, After: "hpet",
		Condemned: "tsc: Marking TSC unstable due to clocksource watchdog",
		Lines:     []string{"clocksource: Watchdog remote CPU 1 read timed out"},
	}
	return d
}

func TestEachFormOfAClockBenchmarkIsAsItWas(t *testing.T) {
	var files []txtar.File
	slow := slowClock()
	slow.Inputs.Profile = true
	slow.Runs[0].Profile = &ProfileBench{Inputs: ProfileInputs{Event: "auto", Frequency: 997, Top: 10}, Restrictions: hotProfile().Restrictions}
	slow.Runs[0].Profile.NotSampled("nothing could be sampled: cycles: it is not permitted")
	for _, c := range []struct {
		name string
		doc  *ClockBench
	}{{"fast", fastClock()}, {"slow", slow}, {"switched", switchedClock()}} {
		files = append(files,
			section(t, c.name+", text", func(w io.Writer) error { return ClockBenchText(w, c.doc, TextOptions{Width: 100}) }),
			section(t, c.name+", JSON", func(w io.Writer) error { return ClockBenchJSON(w, c.doc) }),
			section(t, c.name+", CSV", func(w io.Writer) error { return ClockBenchCSV(w, c.doc) }),
			section(t, c.name+", gobench", func(w io.Writer) error { return ClockBenchGo(w, c.doc) }))
	}
	golden(t, "benchclock", &txtar.Archive{Files: files})
}

func TestOfSeveralCPUsTheOneInTheMiddleCounts(t *testing.T) {
	for _, c := range []struct {
		medians []float64
		want    float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{5, 3}, 5}, {[]float64{9, 3, 5}, 5}, {[]float64{9, 1, 3, 5}, 5}} {
		var all []bench.OnCPU
		for i, m := range c.medians {
			all = append(all, bench.OnCPU{CPU: i, Cost: cost(m)})
		}
		if got := middle(all).Median; got != c.want {
			t.Errorf("of %v: %v, want %v", c.medians, got, c.want)
		}
	}
}

func TestNoListOfAClockBenchmarkIsNull(t *testing.T) {
	var out bytes.Buffer
	if err := ClockBenchJSON(&out, &ClockBench{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "null") || !json.Valid(out.Bytes()) {
		t.Errorf("the document of nothing:\n%s", out.String())
	}
}
