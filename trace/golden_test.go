package trace

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

var update = flag.Bool("update", false, "write the golden files anew")

// example is a recording that uses every part of the format.
func example() (Header, []*Tick) {
	h := Header{
		Source: Live, Recorder: "cswatch 1.0", Machine: "lab-7", Kernel: "6.1.0-57-amd64, 6.1.192", TimeLine: "CLOCK_MONOTONIC_RAW",
		Reference: Clock{Name: "hpet", Mask: clocksource.Mask32, Frequency: 23_999_999, Scale: clocksource.ScaleHz, Continuous: true, HRES: true, Calibrated: true},
		Watched: []Clock{
			{Name: "tsc", Mask: clocksource.Mask64, Frequency: 2_400_000, Scale: clocksource.ScaleKHz, Continuous: true, VerifyPerCPU: true},
			{Name: "jiffies", Mask: clocksource.Mask32, Conversion: clocksource.Given(1_024_000_000, 8, clocksource.Mask32), Margin: clocksource.DriverMargin},
		},
		ReadBacks: 3, Online: CPUs(0, 1, 2, 3, 6), Exchanges: true, Current: "tsc", Notes: []string{"interrupts were on"},
	}
	rb := func(before, clock, after, again uint64, late Cause) ReadBack {
		return ReadBack{watchdog.ReadBack{Before: clocksource.Cycles(before), Clock: clocksource.Cycles(clock), After: clocksource.Cycles(after), Again: clocksource.Cycles(again)}, late}
	}
	exchange := Exchange{Exchange: watchdog.Exchange{Stamps: [10]clocksource.Cycles{7_000_001_000, 7_000_001_400, 7_000_001_900}, Count: 3, TimedOut: true}, CPU: 0, Peer: 6, Waited: 51_000, Limit: 50_000}
	return h, []*Tick{
		{Seq: 1, Scheduled: 500_000_000, At: 500_012_345, CPU: 0, Reads: [][]ReadBack{{rb(4_294_967_000, 7_000_000_000, 4_294_967_050, 4_294_967_080, NotLate)}, {}}},
		{Seq: 2, Scheduled: 1_000_000_000, At: 1_000_013_000, CPU: 1, Resets: 1, Online: CPUs(0, 1, 2),
			Reads:     [][]ReadBack{{rb(11_999_704, 8_200_000_000, 12_002_000, 12_002_030, Preempted), rb(12_002_100, 8_200_240_000, 12_002_150, 12_002_180, NotLate)}, {rb(12_002_200, 1250, 12_002_250, 12_002_280, NotLate)}},
			Boot:      [][]ReadBack{{rb(12_003_000, 8_200_300_000, 12_003_040, 12_003_070, NotLate)}, {}},
			Exchanges: []Exchange{exchange}},
		{Seq: 4, Scheduled: 2_000_000_000, At: 2_700_000_000, CPU: 2, Online: CPUs(0, 1, 2), Reads: [][]ReadBack{{}, {}}},
		{Seq: 5, Scheduled: 2_500_000_000, At: 2_700_100_000, CPU: 6, Reads: [][]ReadBack{{rb(52_800_000, 12_280_000_000, 52_800_050, 52_800_080, Interrupted)}, {}}},
	}
}

// TestGoldenRecordings holds both forms still: a file that was written once must
// be readable for good. The binary one is kept as a hexadecimal dump.
func TestGoldenRecordings(t *testing.T) {
	h, ticks := example()
	binary := write(t, Binary, h, ticks, true)
	for name, got := range map[string][]byte{
		"example.trace.hex":   []byte(hex.Dump(binary)),
		"example.trace.jsonl": write(t, JSONLines, h, ticks, true),
	} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v; make the golden files with: go test ./trace -update", err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	lines, err := os.ReadFile(filepath.Join("testdata", "example.trace.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := Convert(&out, Binary, bytes.NewReader(lines)); err != nil || !bytes.Equal(out.Bytes(), binary) {
		t.Errorf("the JSON Lines do not convert to the binary form: %v", err)
	}
}
