package exporter

import (
	"fmt"
	"strings"
	"time"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/page"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/tally"
)

// shownVerdict is the head of the page: is there a problem, and what to do.
type shownVerdict struct {
	Status   page.Status
	Headline string
	About    string       // when, and what of it may be out of date
	News     []shownEntry // what happened since
	Calm     string       // instead of things to do
	Do, More []shownAdvice
	Missing  []page.Item
	Blind    []page.Item  // what cannot be seen
	Why      []page.Block // the findings
}

// After is the number of the first advice that is not shown at once.
func (s shownVerdict) After() int { return len(s.Do) + 1 }

// shownAdvice is something to do.
type shownAdvice struct {
	ID, Title, Detail, Risk string
	Command                 []string
}

// Bounds of what is shown at once.
const (
	mostAdvice  = 3
	allAdvice   = 15 // with those that a reader opens
	allFindings = 20
	mostMissing = 6
	mostNews    = 4
	mostLines   = 12 // of a command
)

// verdictOf is the doctor's verdict, or what happened since if that is worse.
func verdictOf(v tally.View, a About, c calendar) shownVerdict {
	d := diagnosisOf(v, a)
	s := shownVerdict{Status: statusOfDoctor(d.Status), Headline: text(d.Summary), Blind: blind(v)}
	health := v.Collectors[tally.Doctor]
	if v.Diagnosis == nil {
		if !a.Started.IsZero() {
			s.About = "The monitor was started " + c.moment(a.Started).Ago + "."
		}
		if v.Status != "" {
			s.About += fmt.Sprintf(" The verdict before: %s.", statusOfDoctor(doctor.Status(v.Status)).Word())
		}
		return s
	}
	at := c.moment(health.LastSuccess)
	s.About = fmt.Sprintf("The doctor's verdict of %s, %s.", at.Text, at.Ago)
	if health.LastSuccess.IsZero() {
		s.About = "The doctor's verdict."
	}
	if !health.OK && health.Known {
		s.About += " It may be out of date: the doctor could not examine this machine again."
	}
	s.News = newsSince(v, health.LastSuccess, c)
	if len(s.News) > 0 { // what the doctor advised is not about that
		s.About = fmt.Sprintf("The doctor has not judged this yet; what to do is shown then. The verdict before: %s, %s.", s.Status.Word(), text(d.Summary))
		s.Headline = s.News[0].Summary
		if s.Status == page.OK || s.Status == page.Unknown {
			s.Status = page.Warning
		}
		return s
	}
	for _, item := range d.Advice[:min(len(d.Advice), allAdvice)] {
		if item.ID == "nothing" {
			s.Calm = text(item.Summary) + "."
			continue
		}
		if shown := adviceOf(item); len(s.Do) < mostAdvice {
			s.Do = append(s.Do, shown)
		} else {
			s.More = append(s.More, shown)
		}
	}
	s.Missing = page.Missing(d.Missing[:min(len(d.Missing), mostMissing)])
	if list := page.Findings(d.Findings[:min(len(d.Findings), allFindings)]); len(list) > 0 {
		s.Why = []page.Block{{Details: &page.Details{Summary: "Why: " + report.Plural(len(d.Findings), "finding", "findings"), Blocks: []page.Block{{List: list}}}}}
	}
	return s
}

func adviceOf(a doctor.Advice) shownAdvice {
	title, detail := report.TitleOf(a.Summary)
	if title == "" {
		title, detail = a.ID, a.Summary
	}
	s := shownAdvice{ID: name(a.ID), Title: name(title), Detail: text(detail), Risk: report.RiskWords(a.Risk)}
	if a.Command != "" {
		for line := range strings.SplitSeq(a.Command, "\n") {
			if s.Command = append(s.Command, text(line)); len(s.Command) == mostLines {
				break
			}
		}
	}
	return s
}

// statusOfDoctor is the status of the doctor as pages show it.
func statusOfDoctor(s doctor.Status) page.Status {
	switch s {
	case doctor.StatusOK:
		return page.OK
	case doctor.StatusWarning:
		return page.Warning
	case doctor.StatusCritical:
		return page.Critical
	}
	return page.Unknown
}

// newsSince are the verdicts of the timeline that came after the doctor has looked, the newest first.
func newsSince(v tally.View, examined time.Time, c calendar) []shownEntry {
	var news []shownEntry
	for i := len(v.Timeline) - 1; i >= 0 && len(news) < mostNews; i-- {
		e := &v.Timeline[i]
		switch e.Kind {
		case tally.Condemned, tally.Backwards, tally.LiveCondemned:
			if e.At.After(examined) && !e.At.After(c.now) && !e.Lookback { // later than now is what was before the clock was set back
				news = append(news, entryOf(e, c))
			}
		}
	}
	return news
}

// blind is what the monitor cannot see, and where that is told.
func blind(v tally.View) []page.Item {
	var items []page.Item
	for _, name := range tally.CollectorNames() {
		if h := v.Collectors[name]; h.Known && !h.OK {
			items = append(items, page.Item{Lead: collectorWords(name).name, Text: collectorWords(name).without})
		}
	}
	return items
}
