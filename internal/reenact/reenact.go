package reenact

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/watchdog"
)

// Strand names who prints a line. Within a strand the order of lines is the
// kernel's own; between two it is a matter of scheduling.
type Strand string

// The strands.
const (
	Registration Strand = "registration" // whoever registers a clock
	Decision     Strand = "decision"     // the watchdog's tick, and the driver that it tells
	SchedClock   Strand = "sched_clock"  // the boot, then the work item
	Selection    Strand = "selection"    // whoever selects a clock, and the check across CPUs before it
)

// Strands returns all of them.
func Strands() []Strand { return []Strand{Registration, Decision, SchedClock, Selection} }

// Lines are the lines of one strand, without their stamps.
type Lines struct {
	Kernel []klog.Line `json:"kernel"` // Level is -1 where the log does not tell it
	Ours   []klog.Line `json:"ours"`
}

// Result is how a reenactment went.
type Result struct {
	Release watchdog.Release `json:"release"`
	Setup   watchdog.Setup   `json:"setup"`
	Verdict watchdog.Verdict `json:"verdict"`
	Strands map[Strand]Lines `json:"strands"`
	// Incident counts the kernel's lines from the verdict on, registrations left out.
	Incident int `json:"incident_lines"`
}

// Compared returns how many lines the kernel printed.
func (r *Result) Compared() int {
	n := 0
	for _, l := range r.Strands {
		n += len(l.Kernel)
	}
	return n
}

// Differences returns what differs, a sentence each; nil if every line is the same.
func (r *Result) Differences() []string {
	var found []string
	for _, name := range Strands() {
		l := r.Strands[name]
		for i := range max(len(l.Kernel), len(l.Ours)) {
			switch {
			case i >= len(l.Kernel):
				found = append(found, fmt.Sprintf("%s: only we print %q", name, l.Ours[i].Text))
			case i >= len(l.Ours):
				found = append(found, fmt.Sprintf("%s: only the kernel prints %q", name, l.Kernel[i].Text))
			case l.Kernel[i].Text != l.Ours[i].Text:
				found = append(found, fmt.Sprintf("%s: the kernel prints %q and we %q", name, l.Kernel[i].Text, l.Ours[i].Text))
			case l.Kernel[i].Level >= 0 && l.Kernel[i].Level != l.Ours[i].Level:
				found = append(found, fmt.Sprintf("%s: the kernel prints %q with level %d and we with %d", name, l.Kernel[i].Text, l.Kernel[i].Level, l.Ours[i].Level))
			}
		}
	}
	return found
}

// ErrNoVerdict says that a log has no verdict that can be reenacted.
var ErrNoVerdict = errors.New("no verdict for skew with all of its lines")

// Log reenacts the first verdict for skew of a kernel log of any container that
// holds one boot from its beginning. It fails with [ErrNoVerdict], and where the
// log does not tell the kernel's release or the frequency of a clock.
func Log(text string) (Result, error) {
	events, lines, err := read(text)
	if err != nil {
		return Result{}, err
	}
	incident, err := verdictOf(events)
	if err != nil {
		return Result{}, err
	}
	release, profile, err := kernelOf(events)
	if err != nil {
		return Result{}, err
	}
	p := newPlay(release, profile, events, incident)
	began := false
	for _, l := range lines {
		strand, ok := strandOf(l.Text)
		began = began || l.Line >= incident.Events[0].Source.Line
		if !ok || !began && strand == Decision {
			continue // an earlier tick's
		}
		if err := p.next(l.Line); err != nil {
			return Result{}, err
		}
		s := p.result.Strands[strand]
		s.Kernel = append(s.Kernel, klog.Line{Level: levelOf(l), Text: l.Text})
		p.result.Strands[strand] = s
		if began && strand != Registration {
			p.result.Incident++
		}
	}
	p.rest()
	return p.result, nil
}

func levelOf(r klog.Record) int {
	if l, ok := r.Level.Get(); ok {
		return int(l)
	}
	return -1
}

// read returns the events and the records of a log.
func read(text string) ([]event.Event, []klog.Record, error) {
	var events []event.Event
	r := klog.NewReader(strings.NewReader(text), "log")
	for r.Next() {
		events = append(events, r.Event())
	}
	if err := r.Err(); err != nil {
		return nil, nil, fmt.Errorf("reenact a kernel log: %w", err)
	}
	var lines []klog.Record
	all := klog.NewRecordReader(strings.NewReader(text))
	for all.Next() {
		lines = append(lines, *all.Record())
	}
	if err := all.Err(); err != nil {
		return nil, nil, fmt.Errorf("reenact a kernel log: %w", err)
	}
	return events, lines, nil
}

// verdictOf returns the first verdict for skew.
func verdictOf(events []event.Event) (*event.Incident, error) {
	incidents := event.Collect(events)
	for i := range incidents {
		in := &incidents[i]
		if in.Kind != event.IncidentSkew && in.Kind != event.IncidentFrequency {
			continue
		}
		numbers := func(i event.Interval) bool {
			return i.Now.Known && i.Last.Known || in.Kind == event.IncidentFrequency && i.NS.Known
		}
		if in.Header && numbers(in.WatchedInterval) && numbers(in.ReferenceInterval) {
			return in, nil
		}
	}
	return nil, fmt.Errorf("reenact a kernel log: %w", ErrNoVerdict)
}

// kernelOf returns the release that the log names and its era's profile.
func kernelOf(events []event.Event) (watchdog.Release, watchdog.Profile, error) {
	i := slices.IndexFunc(events, func(e event.Event) bool { return e.Kind == event.Version })
	if i < 0 {
		return watchdog.Release{}, watchdog.Profile{}, errors.New("reenact a kernel log: it has no line \"Linux version ...\": give the log from the beginning of its boot")
	}
	found := watchdog.Detect(watchdog.Identity{Version: events[i].Text})
	for _, c := range found.Candidates {
		release, err := watchdog.ParseRelease(c.Release)
		if p, ok := c.Profile(); ok && err == nil {
			return release, p, nil
		}
	}
	return watchdog.Release{}, watchdog.Profile{}, fmt.Errorf("reenact a kernel log: which upstream release it is of is not known: %s", found.Why)
}

// strandOf tells who prints a line; false for a line that is not about clocksources.
func strandOf(text string) (Strand, bool) {
	rest, core := strings.CutPrefix(text, "clocksource: ")
	switch {
	case core && strings.Contains(rest, ": mask: 0x"):
		return Registration, true
	case core && (strings.HasPrefix(rest, "Switched to") || strings.HasPrefix(rest, "Checking clocksource") ||
		strings.HasPrefix(rest, "Not enough CPUs") || strings.HasPrefix(rest, "        CPU")):
		return Selection, true
	case core, strings.HasPrefix(text, "tsc: Marking TSC"):
		return Decision, true
	case strings.HasPrefix(text, "sched_clock: "), strings.HasPrefix(text, "TSC found unstable"):
		return SchedClock, true
	}
	return "", false
}
