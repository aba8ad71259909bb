package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/internal/campaign"
)

// TrialCSV writes a line for each cell with a decided trial. What is not known is
// empty. The columns retries, boots, unstable and cpus are those of cswatch fit, so
// boots are the decided ones; trials are all. Fit adds up what has the same number
// of retries: give it the cells of one series, not those of a campaign that varies
// delays or kernels too; see TrialSeriesCSV.
func TrialCSV(w io.Writer, c *Campaign) error {
	return trialCSV(w, c, func(*TrialCell) bool { return true })
}

// TrialSeriesCSV writes the cells of one series, by its place among c.Series.
func TrialSeriesCSV(w io.Writer, c *Campaign, series int) error {
	if series < 0 || series >= len(c.Series) {
		return fmt.Errorf("write series %d of the campaign as CSV: it has %d", series, len(c.Series))
	}
	cells := c.Series[series].Cells
	return trialCSV(w, c, func(cell *TrialCell) bool {
		return slices.ContainsFunc(cells, func(s TrialSide) bool { return s.CellID == cell.CellID })
	})
}

func trialCSV(w io.Writer, c *Campaign, keep func(*TrialCell) bool) error {
	head := []string{"retries", "boots", "unstable", "cpus", "cell", "kernel", "release", "era", "parameters", "retries_by", "load", "delay", "fault", "search", "trials", "stable",
		"rate", "rate_low", "rate_high", "exact_low", "exact_high"}
	for _, cause := range campaign.Causes() {
		head = append(head, "cause_"+strings.ReplaceAll(string(cause), "-", "_"))
	}
	head = append(head, "blind", "no_verdict", "panicked", "hung", "never_booted", "lost", "timed_out", "noticed", "noticed_of", "noticed_rate", "noticed_low", "noticed_high",
		"noticed_median_ns", "median_wall_seconds")
	rows := [][]string{head}
	for i := range c.Cells {
		if cell := &c.Cells[i]; cell.Rate != nil && keep(cell) {
			rows = append(rows, csvTrialCell(cell))
		}
	}
	out := csv.NewWriter(w)
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write the campaign as CSV: %w", err)
	}
	return nil
}

func csvTrialCell(c *TrialCell) []string {
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return csvNumber(*v)
	}
	retries := ""
	if c.Retries != nil {
		retries = strconv.Itoa(*c.Retries)
	}
	// A parameter has no blank in it, and a comma would end the column for simple readers.
	row := []string{retries, strconv.Itoa(c.Stable + c.Unstable), strconv.Itoa(c.Unstable), strconv.Itoa(c.CPUs), c.CellID, c.Kernel, c.Release, c.Era, strings.Join(c.Set, " "), c.RetriesBy,
		c.Load, c.Delay.String(), c.Fault.String(), strconv.FormatBool(c.Search), strconv.Itoa(c.Boots), strconv.Itoa(c.Stable),
		number(c.Rate), number(c.RateLow), number(c.RateHigh), number(c.ExactLow), number(c.ExactHigh)}
	for _, cause := range campaign.Causes() {
		row = append(row, strconv.Itoa(c.Causes[cause]))
	}
	for _, n := range []int{c.Blind, c.NoVerdict, c.Panicked, c.Hung, c.NeverBooted, c.Lost, c.TimedOut} {
		row = append(row, strconv.Itoa(n))
	}
	noticed := make([]string, 6)
	if n := c.Noticed; n != nil {
		noticed = []string{strconv.Itoa(n.Noticed), strconv.Itoa(n.Told), number(n.Rate), number(n.Low), number(n.High), ""}
		if n.Times != nil {
			noticed[5] = strconv.FormatInt(n.Times.Median, 10)
		}
	}
	return append(append(row, noticed...), number(c.MedianWallSeconds))
}
