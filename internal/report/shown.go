package report

import (
	"io"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/watchdog"
)

// The words below are those of the texts of this package, for other forms of the
// same documents: one thing has one name wherever it is shown.

// Lasting shows a time in ns as a person says it.
func Lasting(ns float64) string { return lasting(ns) }

// Digits shows a number with one decimal from 1 on and two significant digits below.
func Digits(x float64) string { return digits(x) }

// Percent shows a share as per cent.
func Percent(x float64) string { return percent(x) }

// Rated shows a share with its interval: 10.5 % (7.9 to 13.9).
func Rated(x, low, high float64) string { return rated(x, low, high) }

// Counted shows a number of retries with bounds, the upper of which may be open.
func Counted(x, low, high *int) string { return counted(x, low, high) }

// Wanted shows a share as it was asked for.
func Wanted(x float64) string { return wanted(x) }

// Chance shows a p value.
func Chance(p float64) string { return chance(p) }

// Equals shows a p value behind its name: = 0.02, or < 0.001.
func Equals(p float64) string { return equals(p) }

// Sidestep moves points aside where an earlier series has one at the same value of a
// logarithmic axis of value + plus, and reports whether there were any.
func Sidestep(series []plot.Series, plus float64) bool { return sidestep(series, plus) }

// Exact shows a number of ns in the unit that suits it, with every digit.
func Exact(ns int64) string { return exact(ns) }

// Plural shows a count with its noun.
func Plural(n int, one, many string) string { return plural(n, one, many) }

// Cut cuts a text after so many bytes at most, not within a character, and says how many are left.
func Cut(s string, n int) (string, int) { return cut(s, n) }

// VerdictWord says in a word what the evidence says of an accused clock.
func VerdictWord(v doctor.Verdict) string { return verdictWord(v) }

// TitleOf splits an advice "Do this: it is done so." The title is empty where the text has none that can stand alone.
func TitleOf(summary string) (title, detail string) { return titleOf(summary) }

// RiskWords says what following an advice may cost.
func RiskWords(r doctor.Risk) string { return riskWords(r) }

// KindWords is what a watchdog decided, as the label of a row.
func KindWords(k watchdog.Kind) string { return kindWords(k) }

// Condemnation says for what a clock was condemned, with which number and above which limit.
func Condemnation(t *Tick) (reason, measured, limit string) {
	return condemnedFor(t), condemnedWith(t), condemnedAbove(t)
}

// CellName names a cell of a campaign in a sentence, without what is not there.
func CellName(c *campaign.Cell) string { return cellName(c) }

// SearchEdge is what a search of a campaign found so far.
func SearchEdge(s *TrialSearch) string { return s.edge() }

// Complete returns a copy of a diagnosis in which no list of its document is null.
func Complete(d *doctor.Diagnosis) doctor.Diagnosis { return complete(d) }

// DocumentJSON writes a document of another package as those of this one are written: indented, with
// what is invisible spelled out. what names it in an error.
func DocumentJSON(w io.Writer, document any, what string) error {
	return writeJSON(w, document, what)
}
