package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/cswatch/cswatch/internal/perf"
)

// ProfileBenchCSV writes a line for each row of the table, whose part is "row"; for each process that
// reads clocks, "process", after one for all with the process ID -1; and for each function that reads
// them, "function". The names are those of the JSON document. What does not exist is empty.
func ProfileBenchCSV(w io.Writer, d *ProfileBench) error {
	rows := [][]string{{"part", "pid", "command", "object", "symbol", "cpu", "samples", "share_ratio", "low", "high", "own_share_ratio", "own_low", "own_high", "clock_part", "why"}}
	for i := range d.Rows {
		r := &d.Rows[i]
		cpu := ""
		if r.CPU >= 0 {
			cpu = strconv.Itoa(r.CPU)
		}
		rows = append(rows, joinRows([]string{"row", "", r.Command, r.Object, r.Symbol, cpu}, csvShare(r.Share), make([]string, 4), []string{r.Why}))
	}
	if d.Why == "" {
		for _, c := range append([]perf.ClockReading{d.Reading.All}, d.Reading.Processes...) {
			rows = append(rows, joinRows([]string{"process", strconv.Itoa(int(c.PID)), c.Command, "", "", ""}, csvShare(c.OfAll), csvShare(c.Whole)[1:], make([]string, 2)))
		}
	}
	for i := range d.Reading.Functions {
		r := &d.Reading.Functions[i]
		rows = append(rows, joinRows([]string{"function", "", "", r.Object, r.Symbol, ""}, csvShare(r.Share), make([]string, 3), []string{string(r.Part), r.Why}))
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("write the profile as CSV: %w", err)
	}
	return nil
}

func csvShare(s perf.Share) []string {
	return []string{strconv.FormatInt(s.Samples, 10), csvNumber(s.Ratio), csvNumber(s.Within.Low), csvNumber(s.Within.High)}
}
