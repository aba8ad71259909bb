package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/internal/bench"
)

// ClockBenchCSV writes a line for each of the results, with the names of the JSON document, and one
// for each counter that was read at a watchdog's pace, whose part is "counters". What does not exist is empty.
func ClockBenchCSV(w io.Writer, d *ClockBench) error {
	rows := [][]string{{"clocksource", "part", "path", "clock", "instruction", "cpus", "ns_per_read_median", "low", "high", "ns_per_read_p99",
		"ns_per_read_min", "ns_per_read_max", "batches", "reads", "resolution_ns", "reads_per_second", "fairness_ratio", "why"}}
	for i := range d.Results {
		r := &d.Results[i]
		row := joinRows([]string{r.Clocksource, string(r.Part), r.Path, r.Clock, r.Instruction, strconv.Itoa(r.CPUs)}, csvCost(r.Cost))
		fine := ""
		if s := d.stepsOf(r); s != nil && s.Resolution > 0 {
			fine = csvNumber(s.Resolution)
		}
		crowd := []string{"", ""}
		if r.Crowd != nil && r.Crowd.Rounds > 0 {
			crowd = []string{csvNumber(r.Crowd.ReadsPerSecond.Median), csvNumber(r.Crowd.Fairness.Median)}
		}
		rows = append(rows, joinRows(row, []string{fine}, crowd, []string{r.Why}))
	}
	for i := range d.Counters {
		c := &d.Counters[i]
		fine := ""
		if c.Steps.Resolution > 0 {
			fine = csvNumber(c.Steps.Resolution)
		}
		rows = append(rows, joinRows([]string{d.Clocksource, string(bench.Counters), "", c.Name, "", "1"}, csvCost(c.Cost), []string{fine, "", "", c.Why}))
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("write the clock benchmark as CSV: %w", err)
	}
	return nil
}

func csvCost(c bench.Cost) []string {
	if c.Batches == 0 {
		return make([]string, 8)
	}
	return []string{csvNumber(c.Median), csvNumber(c.Low), csvNumber(c.High), csvNumber(c.P99), csvNumber(c.Min), csvNumber(c.Max),
		strconv.Itoa(c.Batches), strconv.Itoa(c.Reads)}
}

// ClockBenchGo writes lines as Go's benchmarks do, which benchstat reads: the median as ns/op. A
// run gives one line for each result: benchstat makes intervals of several runs.
func ClockBenchGo(w io.Writer, d *ClockBench) error {
	var b strings.Builder
	key := func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, cmp.Or(safe(value, false), "unknown")) }
	key("clocksource", d.Clocksource)
	key("cpu", d.CPUModel)
	key("kernel", d.Kernel)
	under := d.Clocksource
	for i := range d.Results {
		r := &d.Results[i]
		if r.Batches == 0 {
			continue
		}
		if r.Clocksource != under { // a key holds for the lines below it
			under = r.Clocksource
			key("clocksource", under)
		}
		kind := "Clock"
		if r.Part == bench.Contention {
			kind = "ClockContention"
		}
		fmt.Fprintf(&b, "Benchmark%s/path=%s", kind, r.Path)
		if r.Clock != "" {
			fmt.Fprintf(&b, "/clock=%s", r.Clock)
		}
		if r.Instruction != "" {
			fmt.Fprintf(&b, "/instruction=%s", r.Instruction)
		}
		fmt.Fprintf(&b, "/cpus=%d", r.CPUs)
		goFigures(&b, r.Cost)
		if r.Crowd != nil {
			fmt.Fprintf(&b, " %.0f reads/s", r.Crowd.ReadsPerSecond.Median)
		}
		b.WriteByte('\n')
	}
	for i := range d.Counters {
		if c := &d.Counters[i]; c.Batches > 0 {
			fmt.Fprintf(&b, "BenchmarkClockCounter/counter=%s", safe(c.Name, true))
			goFigures(&b, c.Cost)
			b.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the clock benchmark as lines of Go's benchmarks: %w", err)
	}
	return nil
}

func goFigures(b *strings.Builder, c bench.Cost) {
	fmt.Fprintf(b, " %d %.2f ns/op %.2f p99-ns/op", c.Reads, c.Median, c.P99)
}
