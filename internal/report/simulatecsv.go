package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// SimulationCSV writes a line for each cell, or for each search where the smallest
// fault was looked for, with the names of the JSON document. What does not exist is empty.
func SimulationCSV(w io.Writer, s *Simulation) error {
	out := csv.NewWriter(w)
	design := []string{"machine", "era", "release", "retries", "retries_by", "cpus", "fault", "seed"}
	detection := []string{"detected", "eligible", "detected_rate", "detected_rate_low", "detected_rate_high", "detected_median_seconds", "detected_median_low_seconds",
		"detected_median_high_seconds", "detected_p95_seconds", "detected_p95_low_seconds", "detected_p95_high_seconds"}
	rows := [][]string{}
	if s.Inputs.Smallest != "" {
		rows = append(rows, joinRows(design, []string{"reached", "wanted_rate"}, detection, []string{"next_smaller", "next_smaller_rate"}))
		for i := range s.Smallest {
			f := &s.Smallest[i]
			smaller := []string{"", ""}
			if f.SmallerAt != nil {
				smaller = []string{f.Smaller, csvNumber(f.SmallerAt.Rate)}
			}
			rows = append(rows, joinRows(csvDesign(&f.SimulatedDesign, s.Inputs.Seed), []string{strconv.FormatBool(f.Reached), csvNumber(f.Wanted)}, csvDetection(&f.Detection), smaller))
		}
	} else {
		rows = append(rows, joinRows(design, []string{"boots", "unstable", "rate", "rate_low", "rate_high", "condemned_delay", "condemned_skew", "condemned_cpus", "blind", "first_boot", "first_seconds", "first_message",
			"condemned_p05_seconds", "condemned_median_seconds", "condemned_p95_seconds", "checks", "checks_retried", "checks_skipped", "checks_timed_out", "troubled"},
			detection, []string{"false_positives", "false_positives_boots", "false_positives_rate", "false_positives_rate_low", "false_positives_rate_high"}))
		for i := range s.Cells {
			rows = append(rows, csvCell(&s.Cells[i], s.Inputs.Seed))
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write the simulation as CSV: %w", err)
	}
	return nil
}

func csvDesign(d *SimulatedDesign, seed uint64) []string {
	return []string{d.Machine, string(d.Era), d.Release, strconv.Itoa(d.Retries), d.RetriesBy, strconv.Itoa(d.CPUs), d.Fault, strconv.FormatUint(seed, 10)}
}

func csvCell(c *SimulatedCell, seed uint64) []string {
	first, when := []string{"", "", ""}, []string{"", "", ""}
	if c.First != nil {
		first = []string{strconv.FormatUint(c.First.Boot, 10), csvNumber(c.First.Seconds), c.Message}
	}
	if c.When != nil {
		when = []string{csvNumber(c.When.P05), csvNumber(c.When.Median), csvNumber(c.When.P95)}
	}
	alarms := []string{"", "", "", "", ""}
	if c.Detection != nil && c.Detection.FalseAlarms != nil {
		f := c.Detection.FalseAlarms
		alarms = []string{strconv.FormatUint(f.Unstable, 10), strconv.FormatUint(f.Boots, 10), csvNumber(f.Rate), csvNumber(f.RateLow), csvNumber(f.RateHigh)}
	}
	counts := func(all ...uint64) (texts []string) {
		for _, n := range all {
			texts = append(texts, strconv.FormatUint(n, 10))
		}
		return texts
	}
	return joinRows(csvDesign(&c.SimulatedDesign, seed), counts(c.Boots, c.Unstable), []string{csvNumber(c.Rate), csvNumber(c.RateLow), csvNumber(c.RateHigh)},
		counts(c.Delay, c.Skew, c.Order, c.Blind), first, when, counts(c.Checks, c.Retried, c.Skipped, c.TimedOut, c.Troubled), csvDetection(c.Detection), alarms)
}

func csvDetection(d *SimulatedDetection) []string {
	if d == nil {
		return make([]string, 11)
	}
	row := []string{strconv.FormatUint(d.Detected, 10), strconv.FormatUint(d.Eligible, 10), csvNumber(d.Rate), csvNumber(d.RateLow), csvNumber(d.RateHigh)}
	if d.After == nil {
		return append(row, make([]string, 6)...)
	}
	a := d.After
	return append(row, csvNumber(a.Median), csvNumber(a.MedianLow), csvNumber(a.MedianHigh), csvNumber(a.P95), csvNumber(a.P95Low), csvNumber(a.P95High))
}

func csvNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func joinRows(parts ...[]string) (all []string) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
