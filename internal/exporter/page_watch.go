package exporter

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/page"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// watchBlocks tell of the watchdog over the live counters.
func watchBlocks(v tally.View) []page.Block {
	w := &v.Watch
	if w.Era == "" {
		said := "It does not run yet."
		if h := v.Collectors[tally.Live]; h.Known && !h.OK {
			said = "It does not run: " + text(h.Error)
		}
		return []page.Block{{Text: []string{said}}}
	}
	facts := []page.Fact{
		{Name: "rules", Value: fmt.Sprintf("those of era %s, with %s", name(string(w.Era)), report.Plural(w.Retries, "retry", "retries"))},
		{Name: "compares", Value: compared(w)},
		{Name: "skew", Value: skewWords(w)},
		{Name: "read-backs", Value: delayWords(v)},
		{Name: "between CPUs", Value: exchangeWords(w)},
	}
	if w.Suspends > 0 {
		facts = append(facts, page.Fact{Name: "slept", Value: "the machine slept " + times(int(min(w.Suspends, math.MaxInt32)))})
	}
	return []page.Block{{Facts: facts}, {Table: decisions(w)}}
}

// compared says what is compared with what, and whether that can convict.
func compared(w *tally.Watch) string {
	if w.Reference == "" {
		return name(w.Clock) + ", between the CPUs alone"
	}
	said := name(w.Clock) + " with " + name(w.Reference)
	switch w.Independent {
	case machine.Yes:
		said += ", which is independent of it"
	case machine.No:
		said += ", which is not independent of it and convicts nobody"
	default:
		said += ", which may not be independent of it"
	}
	if w.Why != "" {
		said += ": " + text(w.Why)
	}
	return said
}

func skewWords(w *tally.Watch) string {
	if math.IsNaN(w.Skew) || math.IsInf(w.Skew, 0) {
		return "nothing was compared yet"
	}
	ppm := w.Skew * 1e6
	sign := "+"
	switch {
	case report.Digits(math.Abs(ppm)) == "0":
		sign = ""
	case ppm < 0:
		sign = "−"
	}
	return sign + report.Digits(math.Abs(ppm)) + " ppm in the last comparison"
}

// delayWords says how many read-backs were late, and why.
func delayWords(v tally.View) string {
	w := &v.Watch
	if w.Delays.Count == 0 {
		return "none yet"
	}
	said := page.Grouped(w.Delays.Count)
	if limit, ok := readLimit(v); ok {
		for edge, n := range w.Delays.Cumulative() {
			if math.Abs(edge*1e9-limit) < 1 && n <= w.Delays.Count {
				late := w.Delays.Count - n
				said += fmt.Sprintf(", %s of them above the limit of %s", none(late), report.Lasting(limit))
			}
		}
	}
	var parts []string
	for _, cause := range slices.Sorted(maps.Keys(w.Late)) {
		if n := w.Late[cause]; n > 0 {
			parts = append(parts, page.Grouped(n)+" "+causeWords(cause))
		}
	}
	if len(parts) > 0 {
		said += "; late: " + strings.Join(parts, ", ")
	}
	return said
}

func causeWords(c trace.Cause) string {
	b, err := c.MarshalText()
	if err != nil {
		return "for another reason"
	}
	return string(b)
}

// none is a number, in a word where it is 0.
func none(n uint64) string {
	if n == 0 {
		return "none"
	}
	return page.Grouped(n)
}

func exchangeWords(w *tally.Watch) string {
	var parts []string
	for _, o := range tally.Outcomes() {
		if n := w.Exchanges[o]; n > 0 {
			parts = append(parts, page.Grouped(n)+" "+strings.ReplaceAll(string(o), "-", " "))
		}
	}
	switch {
	case len(parts) == 0:
		return "not compared yet"
	case w.Backwards == 0:
		return strings.Join(parts, ", ") + "; time never ran backwards"
	}
	return fmt.Sprintf("%s; time ran backwards %s, by %s at least", strings.Join(parts, ", "), times(int(min(w.Backwards, math.MaxInt32))), report.Plural(int(min(w.Most, math.MaxInt32)), "cycle", "cycles"))
}

// decisions counts the verdicts of the era.
func decisions(w *tally.Watch) *page.Table {
	t := &page.Table{Caption: fmt.Sprintf("Decisions of era %s since the monitor was started, in %s", name(string(w.Era)), report.Plural(int(min(w.Ticks, math.MaxInt32)), "check", "checks")), Columns: []page.Column{{Name: "Decision"}, {Name: "Times", Number: true}, {Name: "Meaning"}}}
	kinds := slices.SortedFunc(maps.Keys(w.Verdicts), func(a, b watchdog.Kind) int { return cmp.Compare(a, b) })
	for _, k := range kinds {
		if w.Verdicts[k] > 0 {
			t.Rows = append(t.Rows, []page.Cell{{Text: report.KindWords(k)}, {Text: page.Grouped(w.Verdicts[k])}, {Text: decisionWords(k)}})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// decisionWords says what a decision means.
func decisionWords(k watchdog.Kind) string {
	switch k {
	case watchdog.Initialised:
		return "a first reading, with nothing to compare it to"
	case watchdog.Agreed:
		return "both clocks counted the same time"
	case watchdog.Skipped:
		return "the reference was read too slowly"
	case watchdog.TooLong:
		return "too much time had passed since the check before"
	case watchdog.TimedOut:
		return "no reading was fast enough; harmless"
	case watchdog.RemoteTimedOut:
		return "the other CPU did not answer in time; harmless"
	case watchdog.NoReference:
		return "only the CPUs were compared"
	case watchdog.CondemnedDelay:
		return "a kernel that reads as slowly would give the clock up"
	case watchdog.CondemnedSkew:
		return "a kernel would give the clock up"
	case watchdog.CondemnedCPUs:
		return "two CPUs read the clock in the wrong order: a kernel would give it up"
	}
	return ""
}
