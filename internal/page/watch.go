package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// watchVerdict is what a watch comes to.
func (r *run) watchVerdict() (Status, string) {
	w := r.watch
	words := map[report.WatchAnswer]string{
		report.AnswerOK: "the clock held", report.AnswerUndecided: "undecided", report.AnswerNoVerdict: "no verdict",
		report.AnswerNothing: "nothing was checked", report.AnswerCondemned: "the clock was given up", report.AnswerBad: "the CPUs disagree about the time",
	}
	word, known := words[w.Answer]
	status := Unknown
	switch {
	case !known:
		word = "an answer that this program does not know, " + name(string(w.Answer))
	case w.Answer == report.AnswerOK:
		status = OK
	case w.Answer == report.AnswerBad:
		status = Critical
	case w.Answer == report.AnswerCondemned:
		status = Warning
	}
	return status, joined(": ", word, text(w.Why))
}

// watchBlocks show a watch.
func (r *run) watchBlocks() []Block {
	w := r.watch
	status, sentence := r.watchVerdict()
	blocks := []Block{{List: []Item{{Status: status, Text: sentence}}}, {Facts: r.watchFacts()}}
	if c := r.longest(); c != nil {
		for _, f := range [...]*Figure{r.delayFigure(c), r.skewFigure(c)} {
			if f != nil {
				blocks = append(blocks, Block{Figure: f})
			}
		}
	}
	var bins []bin
	for _, b := range w.Delays.Buckets {
		bins = append(bins, bin{float64(b.From), 2 * max(float64(b.From), 0.5), float64(b.Count)})
	}
	slices.SortStableFunc(bins, func(a, b bin) int { return int(min(max(a.from-b.from, -1), 1)) })
	var marks []plot.Mark
	if limit := float64(w.Delays.Limit); limit > 0 {
		marks = append(marks, plot.Mark{At: limit / 1e3, Vertical: true, Text: "limit " + took(limit)})
	}
	if f := histogram("How long reading took", fmt.Sprintf("all read-backs but the preempted, %s; median %s, 99 %% within %s, longest %s",
		grouped(fmt.Sprint(w.Delays.Count)), took(float64(w.Delays.Median)), took(float64(w.Delays.P99)), took(float64(w.Delays.Max))), bins, marks...); f != nil {
		blocks = append(blocks, Block{Figure: f})
	}
	if t := r.happenings(); t != nil {
		blocks = append(blocks, Block{Table: t})
	}
	if len(w.Lines) > 0 {
		b := Block{Text: []string{"What a kernel of the era would have logged:"}}
		lines, left := bounded(w.Lines, mostItems)
		for _, l := range lines {
			b.Lines = append(b.Lines, "cswatch(live): "+text(l))
		}
		if left += w.Dropped; left > 0 {
			b.Lines = append(b.Lines, fmt.Sprintf("… and %d more", left))
		}
		blocks = append(blocks, b)
	}
	return blocks
}

func (r *run) watchFacts() []Fact {
	w := r.watch
	facts := []Fact{
		{"rules", text(joined(": ", watchdogName(string(w.Era), w.Release, w.Retries), w.EraWhy))},
		{"clock", text(fmt.Sprintf("%s, %.3f MHz (%s)", w.Reference.Counter, float64(w.Reference.CounterHz)/1e6, w.Reference.CounterFrom))},
		{"reference", text(joined(": ", w.Reference.Name+", "+independence(w.Reference.Independent), w.Reference.Reason))},
		{"watched", text(answered(w.TSCWatched, "a kernel of this era watches the TSC here", "a kernel of this era does not watch the TSC here", "whether a kernel of this era watches the TSC here cannot be told", w.TSCWatchedWhy))},
		{"ticks", text(fmt.Sprintf("%d in %s: %s", w.Ticks, report.Lasting(float64(w.Elapsed)), kindCounts(w)))},
		{"late reads", text(fmt.Sprintf("%d of %d: %d preempted, %d interrupted, %d unexplained", w.LateReads.Total(), w.ReadBacks, w.LateReads.Preempted, w.LateReads.Interrupted, w.LateReads.Unexplained))},
	}
	if w.Skew.Compared > 0 {
		facts = append(facts, Fact{"skew", fmt.Sprintf("mean %s ppm, from %s to %s; at most %s of the limit", signed(float64(w.Skew.Mean)), signed(float64(w.Skew.Least)), signed(float64(w.Skew.Greatest)), report.Percent(w.Skew.Nearest))})
	}
	if w.Exchanges.Made > 0 {
		facts = append(facts, Fact{"between CPUs", fmt.Sprintf("%d comparisons, %d completed, %d backwards", w.Exchanges.Made, w.Exchanges.Completed, w.Exchanges.Backwards)})
	}
	return append(facts, Fact{"ended", name(or(w.Ended, "not known"))})
}

func independence(a machine.Answer) string {
	switch a {
	case machine.Yes:
		return "independent"
	case machine.No:
		return "not independent"
	}
	return "perhaps not independent"
}

// kindCounts tells how many verdicts of each kind there were.
func kindCounts(w *report.LiveWatch) string {
	var parts []string
	for kind, n := range w.Verdicts {
		parts = append(parts, fmt.Sprintf("%s %d", report.KindWords(kind), n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// happenings lists the ticks that were out of the ordinary.
func (r *run) happenings() *Table {
	t := &Table{Caption: "Ticks out of the ordinary", Columns: []Column{
		{Name: "Time, s", Number: true}, {Name: "Watchdog"}, {Name: "Tick", Number: true}, {Name: "CPU", Number: true}, {Name: "Decision"}, {Name: "Delay", Number: true}, {Name: "Skew, ppm", Number: true}, {Name: "Exact"},
	}}
	left := 0
	for _, c := range r.columns {
		left += c.eventsLeft
		for _, h := range c.events {
			delay, skew, exact := Cell{}, Cell{}, "no"
			if h.delay != nil {
				delay = lasting(*h.delay)
			}
			if h.skew != nil {
				skew = Cell{Text: signed(*h.skew), Value: value(*h.skew)}
			}
			if h.exact {
				exact = "yes"
			}
			t.Rows = append(t.Rows, []Cell{{Text: fmt.Sprintf("%.3f", h.seconds), Value: value(h.seconds)}, plain(c.name()), count(h.tick), count(h.cpu), plain(kindName(h.kind)), delay, skew, plain(exact)})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	if left > 0 {
		t.Note = fmt.Sprintf("%d later ones of a watchdog with more than %d are left out", left, mostEvents)
	}
	return t.compact().trim(2 * mostItems)
}
