package report

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/loopback"
	"github.com/cswatch/cswatch/machine"
	"github.com/rogpeppe/go-internal/txtar"
)

// madeNet makes rounds of the clocksources in mirrored blocks; values are in Gbit/s, by clocksource and turn, and for each of the blocks.
func madeNet(sources []string, tests []loopback.Test, values map[string][]float64, blocks int) *NetBench {
	pin := loopback.Placement{Client: 1, Server: 0}
	d := &NetBench{CPUModel: "Made CPU", Kernel: "6.12.1", LatencyCanCondemn: machine.No, LatencyWhy: "the TSC is not watched: tsc=reliable", Ended: BenchDone}
	d.Plan = loopback.Plan{
		Tests: tests, Sources: sources, Pin: &pin, Flows: 1, WarmUp: 200 * time.Millisecond, Round: time.Second, Most: 30 * time.Second, Width: 0.025,
		Select: func(context.Context, string) error { return nil },
	}
	d.Clocksource, d.ClocksourceAfter, d.Seconds = sources[0], sources[0], 29.5
	for _, test := range tests {
		for n := range blocks {
			for i := range 2 * len(sources) {
				source := sources[min(i, 2*len(sources)-1-i)]
				of := values[source]
				x := of[(2*n+i/len(sources))%len(of)]
				r := loopback.Round{Clocksource: source, Test: test, Block: n, Start: float64(len(d.Rounds)), Seconds: 1, Value: x * 1e9,
					SentBytes: uint64(x * 1e9 / 8), ReceivedBytes: uint64(x * 1e9 / 8), Retransmits: 20,
					Client: loopback.Use{CPU: 1, Thread: 0.98, Busy: 0.99, SegmentsPerSecond: 30_000, DataSegmentsPerSecond: 30_000},
					Server: loopback.Use{CPU: 0, Thread: 0.7, Busy: 0.72, SegmentsPerSecond: 9_000}}
				if test != loopback.Stream {
					r.Value, r.SentBytes, r.ReceivedBytes, r.Retransmits = x*1000, 0, 0, 0
					r.Transactions, r.Served = uint64(r.Value), uint64(r.Value)
					r.Client.SegmentsPerSecond, r.Client.DataSegmentsPerSecond = r.Value, r.Value
					r.Server.SegmentsPerSecond, r.Server.DataSegmentsPerSecond = r.Value, r.Value
				}
				d.Rounds = append(d.Rounds, r)
			}
		}
		results, verdicts := loopback.Summarise(d.Plan, test, d.Rounds)
		d.Results, d.Verdicts = append(d.Results, results...), append(d.Verdicts, verdicts...)
	}
	return d
}

// clocks is a made result of three clocksources, of which one is much slower and one is not found to be.
func clocks() *NetBench {
	d := madeNet([]string{"tsc", "hpet", "acpi_pm"}, []loopback.Test{loopback.Stream, loopback.RR}, map[string][]float64{
		"tsc": {13, 13.2, 13.1}, "hpet": {1.6, 1.59, 1.62}, "acpi_pm": {13, 13.2, 13.1, 12.9},
	}, 3)
	d.Inputs = NetBenchInputs{Switch: true, Flows: 1, Round: 1, Width: 0.025, Duration: 30}
	d.Switching = &Switching{From: "tsc", After: "tsc", GivenBack: true, Sources: d.Plan.Sources, Lines: []string{"clocksource: timekeeping watchdog on CPU1: hpet retried 2 times before success"}}
	return d
}

// alone is a made result of one clocksource.
func alone() *NetBench {
	d := madeNet([]string{"tsc"}, loopback.Tests(), map[string][]float64{"tsc": {23, 24.5, 23.3, 23.6, 24, 22}}, 3)
	d.Inputs = NetBenchInputs{Tests: []string{"stream"}, Pin: []int{1, 0}, Round: 1, Width: 0.025, Duration: 30}
	return d
}

// broken is a made result of a run under which the clocksource changed.
func broken() *NetBench {
	d := madeNet([]string{"tsc", "hpet"}, []loopback.Test{loopback.Stream}, map[string][]float64{"tsc": {13}, "hpet": {1.6}}, 1)
	d.Ended, d.ClocksourceAfter, d.LatencyCanCondemn, d.LatencyWhy = BenchChanged, "acpi_pm", machine.Yes, "5.15 gives up a TSC for late reads"
	d.Inputs = NetBenchInputs{Tests: []string{"stream"}, Pin: []int{1, 0}, Switch: true, Sources: []string{"tsc", "hpet"}, Flows: 1, Round: 1, Width: 0.025, Duration: 30, AcceptLosingTSC: true}
	d.Switching = &Switching{From: "tsc", After: "acpi_pm", Sources: d.Plan.Sources}
	d.Warnings = []loopback.Warning{{Code: loopback.WarnPartial, Text: "the run ended before everything was measured: the clocksource changed under the run: it should be tsc and is acpi_pm"}}
	return d
}

func TestEachFormOfALoopbackBenchmarkIsAsItWas(t *testing.T) {
	var files []txtar.File
	for _, c := range []struct {
		name string
		doc  *NetBench
	}{{"clocks", clocks()}, {"alone", alone()}, {"broken", broken()}} {
		files = append(files,
			section(t, c.name+", text", func(w io.Writer) error { return NetBenchText(w, c.doc, TextOptions{Width: 100}) }),
			section(t, c.name+", CSV", func(w io.Writer) error { return NetBenchCSV(w, c.doc) }),
			section(t, c.name+", gobench", func(w io.Writer) error { return NetBenchGo(w, c.doc) }))
	}
	files = append(files, section(t, "broken, JSON", func(w io.Writer) error { return NetBenchJSON(w, broken()) }))
	golden(t, "benchnet", &txtar.Archive{Files: files})
}

func TestAVerdictSaysWhatWasFoundWithItsInterval(t *testing.T) {
	for _, c := range []struct {
		v    loopback.Verdict
		want string
	}{
		{loopback.Verdict{Verdict: loopback.Slower, Ratio: 0.123, Low: 0.12, High: 0.126, RepeatRatio: 1.01}, "stream: hpet comes to 0.123 (0.120 to 0.126) of tsc: it is slower"},
		{loopback.Verdict{Verdict: loopback.NoDifference, Ratio: 0.99, Low: 0.97, High: 1.01, RepeatRatio: 1.05}, "stream: no difference found between hpet and tsc: the ratio is 0.990 (0.970 to 1.010)"},
		{loopback.Verdict{Verdict: loopback.NoDifference, Ratio: 0.96, Low: 0.94, High: 0.98, RepeatRatio: 1.05}, "stream: no difference found between hpet and tsc: the ratio is 0.960 (0.940 to 0.980), but two rounds of one clocksource differ as much: 1.050"},
		{loopback.Verdict{Verdict: loopback.TooFewBlocks, Ratio: 0.05}, "stream: hpet comes to 0.05 of tsc in the one block that was complete: it takes two for an interval"},
		{loopback.Verdict{Verdict: loopback.TooFewBlocks}, "stream: hpet cannot be compared with tsc: no block of rounds was complete"},
	} {
		c.v.Test, c.v.Clocksource, c.v.Best = loopback.Stream, "hpet", "tsc"
		if got := difference(&c.v); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestARateIsWrittenWithThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{123.4e9: "123", 13.04e9: "13.0", 1.6e9: "1.60", 0.1234e9: "0.123", 0.0123e9: "0.0123", 1e6: "0.0010", 0: "0"} {
		if got := netValue(loopback.Stream, v); got != want {
			t.Errorf("%v bit/s: %s, want %s", v, got, want)
		}
	}
}

func TestNoListOfALoopbackBenchmarkIsNull(t *testing.T) {
	var out bytes.Buffer
	if err := NetBenchJSON(&out, &NetBench{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "null") || !json.Valid(out.Bytes()) {
		t.Errorf("the document of nothing:\n%s", out.String())
	}
}
