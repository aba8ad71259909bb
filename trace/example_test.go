package trace_test

import (
	"bytes"
	"fmt"
	"io"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// A recording of three ticks: at the third, reading the HPET takes 60 us, three
// times in a row. Linux 5.15 needs a fourth attempt to decide, 6.1 does not mind.
func Example() {
	header := trace.Header{
		Source: trace.Live, Recorder: "example",
		Reference: trace.Clock{Name: "hpet", Mask: clocksource.Mask32, Frequency: 25_000_000, Scale: clocksource.ScaleHz, Continuous: true},
		Watched:   []trace.Clock{{Name: "tsc", Mask: clocksource.Mask64, Frequency: 2_500_000, Scale: clocksource.ScaleKHz, Continuous: true}},
		ReadBacks: 3, Online: trace.FirstCPUs(1),
	}
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.Binary, header)
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range uint64(3) {
		at := clocksource.Nanos(n) * watchdog.CheckInterval
		delay := clocksource.Nanos(2_000)
		if n == 2 {
			delay = 60_000
		}
		var series []trace.ReadBack
		for range 3 {
			series = append(series, trace.ReadBack{ReadBack: watchdog.ReadBack{
				Before: clocksource.Hz(25_000_000).CyclesIn(at),
				Clock:  clocksource.Hz(2_500_000_000).CyclesIn(at + delay/2),
				After:  clocksource.Hz(25_000_000).CyclesIn(at + delay),
				Again:  clocksource.Hz(25_000_000).CyclesIn(at + delay + 1_000),
			}})
			at += delay + 2_000
		}
		tick := trace.Tick{Seq: n + 1, Scheduled: clocksource.Nanos(n) * watchdog.CheckInterval, Reads: [][]trace.ReadBack{series}}
		tick.At = tick.Scheduled
		if err := w.Write(&tick); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}

	for _, era := range []watchdog.Era{watchdog.E5, watchdog.E6} {
		profile, _ := watchdog.ProfileOf(era)
		setup, err := header.Setup(profile, -1)
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := trace.NewReader(bytes.NewReader(file.Bytes()))
		if err != nil {
			fmt.Println(err)
			return
		}
		replay, err := trace.NewReplay(r.Header(), setup)
		if err != nil {
			fmt.Println(err)
			return
		}
		var tick trace.Tick
		for err = r.Read(&tick); err == nil; err = r.Read(&tick) {
			results, err := replay.Step(&tick)
			if err != nil {
				fmt.Println(err)
				return
			}
			for _, v := range results {
				sure := "exact"
				if !v.Exact {
					sure = "approximate: " + v.Why
				}
				fmt.Printf("%s tick %d: %s in %d of %d attempts, %s\n", v.Era, v.Seq, v.Kind, v.Attempts, v.Allowed, sure)
			}
		}
		if err != io.EOF {
			fmt.Println(err)
		}
	}
	// Output:
	// E5 tick 1: initialised in 1 of 4 attempts, exact
	// E5 tick 2: agreed in 1 of 4 attempts, exact
	// E5 tick 3: condemned-delay in 4 of 4 attempts, approximate: only 3 attempts were recorded
	// E6 tick 1: initialised in 1 of 3 attempts, exact
	// E6 tick 2: agreed in 1 of 3 attempts, exact
	// E6 tick 3: agreed in 1 of 3 attempts, exact
}
