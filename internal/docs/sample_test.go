package docs

import (
	"bytes"
	"os"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// sampleName is the recording that the pages show. Its form is text, so that a
// change can be read.
const sampleName = "testdata/fall.jsonl"

// sample records a machine of four CPUs whose TSC is good at first: at tick 6
// the first read of the HPET is slow, at tick 9 the first four of them, at tick 12 all
// five. At tick 15 the TSC is 400 us ahead.
func sample(t *testing.T) []byte {
	t.Helper()
	const hpetHz, tscHz = 25_000_000, 2_500_000_000
	header := trace.Header{
		Source: trace.Simulated, Simulation: &trace.Simulation{Model: "documentation", Seed: 1}, Recorder: "cswatch", Machine: "db01",
		TimeLine:  "seconds of the model",
		Reference: trace.Clock{Name: "hpet", Mask: clocksource.Mask32, Frequency: hpetHz, Scale: clocksource.ScaleHz, Continuous: true, HRES: true, Calibrated: true},
		Watched: []trace.Clock{{Name: "tsc", Mask: clocksource.Mask64, Frequency: tscHz / 1000, Scale: clocksource.ScaleKHz, Continuous: true,
			Calibrated: true, VerifyPerCPU: true}},
		ReadBacks: 5, Online: trace.FirstCPUs(4), Exchanges: true, Current: "tsc",
	}
	var ahead clocksource.Nanos
	series := func(at clocksource.Nanos, n, slow int) []trace.ReadBack {
		var list []trace.ReadBack
		for i := range n {
			delay, late := clocksource.Nanos(2_400), trace.NotLate
			if i < slow {
				delay, late = 160_666, trace.Unexplained
			}
			list = append(list, trace.ReadBack{Late: late, ReadBack: watchdog.ReadBack{
				Before: clocksource.Hz(hpetHz).CyclesIn(at),
				Clock:  clocksource.Hz(tscHz).CyclesIn(at + delay/2 + ahead),
				After:  clocksource.Hz(hpetHz).CyclesIn(at + delay),
				Again:  clocksource.Hz(hpetHz).CyclesIn(at + delay + 1_200),
			}})
			at += delay + 2_400
		}
		return list
	}
	profile, _ := watchdog.ProfileOf(watchdog.E12)
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.JSONLines, header)
	if err != nil {
		t.Fatal(err)
	}
	slow := map[int]int{6: 1, 9: 4, 12: 5}
	for n := 1; n <= 18; n++ {
		if n >= 15 {
			ahead = 400_000
		}
		due := clocksource.Nanos(n) * watchdog.CheckInterval
		tick := trace.Tick{Seq: uint64(n), Scheduled: due, At: due + 12_000, CPU: (n - 1) % 4}
		tick.Reads = [][]trace.ReadBack{series(tick.At, 5, slow[n])}
		if tick.CPU != 0 {
			tick.Boot = [][]trace.ReadBack{series(tick.At+2_000_000, 3, slow[n])}
		}
		if peer := n % 4; peer != 0 {
			x := trace.Exchange{Peer: peer, Waited: 1_500}
			for x.Count = range 2 * profile.Remote.Reads {
				x.Stamps[x.Count] = clocksource.Hz(tscHz).CyclesIn(tick.At + 4_000_000 + clocksource.Nanos(x.Count)*200)
			}
			x.Count = 2 * profile.Remote.Reads
			tick.Exchanges = []trace.Exchange{x}
		}
		if err := w.Write(&tick); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestTheRecordingThatThePagesShowIsTheOneDescribedHere(t *testing.T) {
	got := sample(t)
	if *update {
		if err := os.WriteFile(sampleName, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := []byte(read(t, sampleName)); !bytes.Equal(got, want) {
		t.Errorf("%s is not the recording of this test: run go test ./internal/docs -update", sampleName)
	}
}
