package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/trace"
)

// VerificationText writes what a recording holds, what is wrong with it, and
// which eras it answers.
func VerificationText(w io.Writer, v *Verification, opt TextOptions) error {
	p := &page{opt: opt}
	r := &v.Recording
	verdict, st := "whole", green
	switch {
	case !v.Whole:
		verdict, st = "DAMAGED", red
	case !r.Ended:
		verdict, st = "whole as far as it goes, but not closed by its recorder", yellow
	}
	p.line(p.paint(p.recordingName(v.File), bold) + ": " + p.paint(verdict, st))
	p.recordingFacts(r)
	p.recordingParts(r)
	if r.Damage != "" {
		p.fact("damage", p.safe(r.Damage, maxText))
	}
	if r.Form == trace.JSONLines {
		p.fact("checksums", "none in this form: a changed digit goes unnoticed; the binary form has them")
	}
	for _, note := range r.Header.Notes {
		p.fact("note", p.safe(note, maxText))
	}
	p.answers(v)
	return p.ownTo(w, "trace", "the verification")
}

// recordingParts counts what a recording holds.
func (p *page) recordingParts(r *trace.Report) {
	h := &r.Header
	p.fact("form", fmt.Sprintf("%s, %s, %d usable bytes", r.Form, h.Schema, r.Bytes))
	ticks := fmt.Sprintf("%d, every %s", r.Ticks, exact(int64(h.Interval)))
	if r.Ticks > 1 {
		ticks += ", over " + seconds(r.Last-r.First)
	}
	if r.Gaps > 0 {
		ticks += "; some are missing in " + plural(int64(r.Gaps&(1<<63-1)), "place", "places")
	}
	p.fact("ticks", ticks)
	reads := fmt.Sprintf("%d, each %s; up to %d of a clock and CPU at a tick", r.ReadBacks, h.Pattern, h.ReadBacks)
	var late []string
	for _, c := range trace.Causes() {
		if int(c) < len(r.Late) && r.Late[c] > 0 {
			late = append(late, fmt.Sprintf("%d late: %s", r.Late[c], c))
		}
	}
	if len(late) > 0 {
		reads += "; " + strings.Join(late, ", ")
	}
	p.fact("read-backs", reads)
	exchanges := fmt.Sprint(r.Exchanges)
	if !h.Exchanges {
		exchanges += "; the recorder did not compare CPUs as 7.1 and later do"
	}
	p.fact("exchanges", exchanges)
}

// answers says which eras the recording answers, with neighbours of the same answer in one line.
func (p *page) answers(v *Verification) {
	if v.Recording.Ticks == 0 || len(v.Eras) == 0 {
		return
	}
	p.heading("Which eras it answers, each with its own retries")
	var names []string
	for _, c := range v.Eras {
		names = append(names, p.safe(string(c.Era), maxName))
	}
	for from := 0; from < len(names); {
		text := p.answerOf(v.Eras[from])
		at := []int{from}
		for from++; from < len(names) && p.answerOf(v.Eras[from]) == text; from++ {
			at = append(at, from)
		}
		whose := runs(names, at)
		p.para("  ", whose+": "+text, whose, bold)
	}
	p.line("")
	p.para("  ", fmt.Sprintf("Of eras with a parameter for them, up to %s can be asked for.",
		plural(v.Recording.Header.ReadBacks-1, "retry", "retries")), "", plain)
}

// answerOf says how much of what an era would have decided is known exactly.
func (p *page) answerOf(c *ReplayColumn) string {
	var answers, exact uint64
	var why []string
	for _, k := range c.Clocks {
		answers, exact = answers+k.Answers, exact+k.Exact
		for _, d := range k.Doubts {
			if !slices.Contains(why, d.Doubt) {
				why = append(why, d.Doubt)
			}
		}
	}
	switch {
	case answers == 0:
		return "no answers"
	case exact == answers:
		return fmt.Sprintf("all %d answers exact", answers)
	}
	return fmt.Sprintf("%d of %d answers exact, otherwise approximate (%s)", exact, answers, strings.Join(why, ", "))
}

// Converted is what to tell of a copy of a recording.
func Converted(r *trace.Report, form trace.Form) string {
	text := fmt.Sprintf("%s, %s to %s", plural(int64(r.Ticks&(1<<63-1)), "tick", "ticks"), r.Form, form)
	if !r.Ended {
		text += "; like the original it lacks the mark of a complete recording"
	}
	return text
}
