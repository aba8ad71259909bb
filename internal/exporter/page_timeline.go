package exporter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/page"
	"github.com/cswatch/cswatch/internal/tally"
)

// Bounds of the timeline. What is worth telling is kept before the rest; all of it is in the document.
const (
	mostTelling = 48
	mostEntries = 80
	mostInRow   = 3  // of the rest, before they are put into one line that opens
	mostOpen    = 10 // of what is worth telling, before it is, too
)

// shownTimeline is the timeline, the newest first.
type shownTimeline struct {
	Groups []shownGroup
	Left   int // entries that are not shown
}

// shownGroup is entries in a row.
type shownGroup struct {
	Summary string // of those that a reader opens, "" for those that are shown
	Entries []shownEntry
}

// shownEntry is one line of the timeline.
type shownEntry struct {
	At       moment
	Doubt    string
	Lookback bool
	Status   page.Status
	Word     string // the kind, for people
	Summary  string
	Line     string // of the kernel
}

// timeline orders what happened.
func timeline(v tally.View, c calendar) shownTimeline {
	entries := slices.Clone(v.Timeline)
	slices.SortStableFunc(entries, func(a, b tally.Entry) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Number, a.Number)) })
	telling, rest := 0, 0
	for i := range entries {
		if entries[i].Kind.Telling() {
			telling++
		}
	}
	room := mostEntries - min(telling, mostTelling)
	telling = 0
	kept := slices.DeleteFunc(slices.Clone(entries), func(e tally.Entry) bool {
		if e.Kind.Telling() {
			telling++
			return telling > mostTelling
		}
		rest++
		return rest > room
	})
	t := shownTimeline{Left: len(entries) - len(kept)}
	open := mostOpen
	for len(kept) > 0 {
		telling := kept[0].Kind.Telling()
		n := slices.IndexFunc(kept, func(e tally.Entry) bool { return e.Kind.Telling() != telling })
		if n < 0 {
			n = len(kept)
		}
		row := kept[:n]
		kept = kept[n:]
		shown := len(row)
		switch {
		case !telling && len(row) > mostInRow:
			shown = 0
		case telling && len(row) > open+mostInRow:
			shown = max(open, 0)
		}
		if telling {
			open -= shown
		}
		if shown > 0 {
			t.Groups = append(t.Groups, shownGroup{Entries: entriesOf(row[:shown], c)})
		}
		if rest := row[shown:]; len(rest) > 0 {
			t.Groups = append(t.Groups, shownGroup{Summary: summaryOf(rest, c), Entries: entriesOf(rest, c)})
		}
	}
	return t
}

func entriesOf(entries []tally.Entry, c calendar) (shown []shownEntry) {
	for i := range entries {
		shown = append(shown, entryOf(&entries[i], c))
	}
	return shown
}

// summaryOf says in a line what there is to open.
func summaryOf(entries []tally.Entry, c calendar) string {
	n := map[tally.EntryKind]int{}
	for i := range entries {
		n[entries[i].Kind]++
	}
	var parts []string
	for _, k := range tally.EntryKinds() {
		if n[k] > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", kindOfEntry(k).word, times(n[k])))
		}
	}
	first, last := c.moment(entries[len(entries)-1].At), c.moment(entries[0].At)
	return strings.Join(parts, ", ") + ": " + first.Text + " to " + last.Text
}

// times says how often.
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

func entryOf(e *tally.Entry, c calendar) shownEntry {
	k := kindOfEntry(e.Kind)
	s := shownEntry{At: c.moment(e.At), Doubt: text(e.Doubt), Lookback: e.Lookback, Status: k.status, Word: k.word, Summary: text(e.Summary)}
	if e.Kind == tally.StatusChanged {
		s.Status = statusOfDoctor(doctor.Status(e.After))
		s.Word = s.Status.Word()
		if e.Before != "" {
			s.Summary = "the verdict was " + statusOfDoctor(doctor.Status(e.Before)).Word() + ", and is " + s.Word + ": " + s.Summary
		} else {
			s.Summary = "the first verdict: " + s.Summary
		}
	}
	if e.Line != "" {
		s.Line = page.Shown(e.Line, longLine)
		if ns, ok := e.PrintkNS.Get(); ok {
			s.Line = fmt.Sprintf("[%12.6f] %s", float64(ns)/1e9, s.Line)
		}
	}
	return s
}

// entryWords is a kind for people.
type entryWords struct {
	word   string
	status page.Status
}

func kindOfEntry(k tally.EntryKind) entryWords {
	switch k {
	case tally.Switched:
		return entryWords{"switched", page.Info}
	case tally.Condemned:
		return entryWords{"given up", page.Warning}
	case tally.Backwards:
		return entryWords{"backwards", page.Critical}
	case tally.LiveCondemned:
		return entryWords{"skew seen", page.Warning}
	case tally.StatusChanged:
		return entryWords{"verdict", page.Info}
	case tally.Retried:
		return entryWords{"retried", page.Info}
	case tally.Skipped:
		return entryWords{"skipped", page.Info}
	case tally.TimedOut:
		return entryWords{"timed out", page.Info}
	case tally.Refused:
		return entryWords{"refused", page.Info}
	case tally.Suspended:
		return entryWords{"slept", page.Info}
	case tally.RecordsLost:
		return entryWords{"lines lost", page.Unknown}
	}
	return entryWords{"event", page.Info}
}
