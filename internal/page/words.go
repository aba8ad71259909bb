package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/internal/report"
)

// Bounds of what is shown of one text, in bytes.
const (
	maxName = 120
	maxText = 1500
)

// Bounds of what is shown of lists. What is left out is counted where it would stand.
const (
	mostRows   = 1000 // of a table
	mostCurve  = 240  // of the numbers of a curve
	mostProofs = 8    // of a finding
	mostItems  = 60   // of a list
)

// name is a short text of a document, on one line.
func name(s string) string { return shown(s, maxName) }

// text is a sentence of a document.
func text(s string) string { return shown(s, maxText) }

func shown(s string, most int) string {
	head, left := report.Cut(s, most)
	head = report.Safe(head)
	if left > 0 {
		head += fmt.Sprintf("… (%d more bytes)", left)
	}
	return head
}

// or is the first of two texts that is not empty.
func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// joined joins what is not empty.
func joined(sep string, parts ...string) string {
	var some []string
	for _, p := range parts {
		if p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, sep)
}

// value writes a number for CSV: whole ones with all digits, others with seven, which is
// more than anything here is measured to and half as long.
func value(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 7, 64)
}

// plain is a cell of text.
func plain(s string) Cell { return Cell{Text: text(s)} }

// number is a cell with a number as a person reads it.
func number(v float64) Cell { return Cell{Text: report.Digits(v), Value: value(v)} }

// count is a cell with a whole number.
func count[N int | int64 | uint64](n N) Cell {
	return Cell{Text: grouped(fmt.Sprint(n)), Value: fmt.Sprint(n)}
}

// grouped puts a space between groups of three digits.
func grouped(digits string) string {
	if len(digits) < 5 || strings.HasPrefix(digits, "-") {
		return digits
	}
	var b strings.Builder
	for i, r := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// lasting is a cell with a time in ns.
func lasting(ns float64) Cell { return Cell{Text: took(ns), Value: value(ns)} }

// took shows a time in ns, with its sign.
func took(ns float64) string {
	if ns < 0 {
		return "−" + report.Lasting(-ns)
	}
	return report.Lasting(ns)
}

// share is a cell with a rate as per cent.
func share(rate float64) Cell { return Cell{Text: report.Percent(rate), Value: value(rate)} }

// priced shows what a read takes, with its interval.
func priced(median, low, high float64) string {
	return fmt.Sprintf("%s ns (%s to %s)", report.Digits(median), report.Digits(low), report.Digits(high))
}

// signed shows ppm with a sign.
func signed(v float64) string {
	s := report.Digits(math.Abs(v))
	switch {
	case s == "0":
		return "0"
	case v < 0:
		return "−" + s
	}
	return "+" + s
}

// several counts a noun.
func several(n int, one, many string) string { return report.Plural(n, one, many) }

// bounded returns at most so many of a list, and how many are left out.
func bounded[T any](list []T, most int) ([]T, int) {
	if len(list) <= most {
		return list, 0
	}
	return list[:most], len(list) - most
}

// compact leaves columns out that say nothing of any row.
func (t *Table) compact() *Table {
	for column := len(t.Columns) - 1; column > 0; column-- {
		says := slices.ContainsFunc(t.Rows, func(row []Cell) bool {
			c := row[column]
			return c.Status != "" || c.Text != "" && c.Text != "none"
		})
		if says || len(t.Rows) == 0 {
			continue
		}
		t.Columns = slices.Delete(t.Columns, column, column+1)
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], column, column+1)
		}
	}
	return t
}

// trim cuts the rows of a table, and says so below it.
func (t *Table) trim(most int) *Table {
	rows, left := bounded(t.Rows, most)
	if left > 0 {
		t.Rows = rows
		t.Note = joined("; ", t.Note, fmt.Sprintf("the first %d rows of %d", most, most+left))
	}
	return t
}
