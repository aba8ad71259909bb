package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/internal/loopback"
)

// NetBenchCSV writes a line for each of the results, with the names of the JSON document. What does not exist is empty.
func NetBenchCSV(w io.Writer, d *NetBench) error {
	rows := [][]string{{"clocksource", "test", "size_bytes", "flows", "value", "unit", "low", "high", "ratio_to_best", "ratio_low", "ratio_high", "repeat_ratio", "rounds", "stalled_rounds", "reached_width",
		"client_cpu", "client_thread_ratio", "client_busy_ratio", "client_steal_ratio", "server_cpu", "server_thread_ratio", "server_busy_ratio", "server_steal_ratio",
		"segments_per_second", "data_segments_per_second", "bytes_per_segment", "retransmits_per_second"}}
	known := func(x float64) string {
		if x == 0 {
			return ""
		}
		return csvNumber(x)
	}
	for i := range d.Results {
		r := &d.Results[i]
		row := []string{r.Clocksource, string(r.Test), strconv.Itoa(r.Size), strconv.Itoa(r.Flows), csvNumber(r.Value), r.Unit, csvNumber(r.Low), csvNumber(r.High),
			known(r.RatioToBest), known(r.RatioLow), known(r.RatioHigh), known(r.RepeatRatio), strconv.Itoa(r.Rounds), strconv.Itoa(r.Stalled), strconv.FormatBool(r.ReachedWidth)}
		for _, u := range []*loopback.Use{&r.Client, &r.Server} {
			row = append(row, strconv.Itoa(u.CPU), csvNumber(u.Thread), csvNumber(u.Busy), csvNumber(u.Stolen))
		}
		rows = append(rows, append(row, known(r.SegmentsPerSecond), known(r.DataSegmentsPerSecond), known(r.BytesPerSegment), csvNumber(r.RetransmitsPerSecond)))
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("write the loopback benchmark as CSV: %w", err)
	}
	return nil
}

// NetBenchGo writes lines as Go's benchmarks do, which benchstat reads: one for each round, so that one run is
// enough for its intervals. The clocksource is a key of the file, by which benchstat -col clocksource compares.
func NetBenchGo(w io.Writer, d *NetBench) error {
	var b strings.Builder
	fmt.Fprintf(&b, "cpu: %s\nkernel: %s\nUnit bit/s better=higher\nUnit transactions/s better=higher\n",
		cmp.Or(safe(d.CPUModel, false), "unknown"), cmp.Or(safe(d.Kernel, false), "unknown"))
	for i := range d.Results {
		r := &d.Results[i]
		fmt.Fprintf(&b, "clocksource: %s\n", cmp.Or(safe(r.Clocksource, false), "unknown"))
		unit := "transactions/s"
		if r.Test == loopback.Stream {
			unit = "bit/s"
		}
		for j := range d.Rounds {
			if round := &d.Rounds[j]; round.Test == r.Test && round.Clocksource == r.Clocksource {
				fmt.Fprintf(&b, "BenchmarkNet/test=%s/size=%d/flows=%d 1 %.0f %s\n", r.Test, r.Size, r.Flows, round.Value, unit)
			}
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the loopback benchmark as lines of Go's benchmarks: %w", err)
	}
	return nil
}
