package exporter

import (
	"fmt"
	"strings"
	"time"

	"github.com/cswatch/cswatch/internal/page"
	"github.com/cswatch/cswatch/internal/tally"
)

// Bounds of what is shown of one text, in bytes.
const (
	longName = 120
	longText = 1500
	longLine = 600 // more than a line of the kernel has
)

// shownPage is what the template shows.
type shownPage struct {
	Title, Host, What string
	Zone              string
	Made              moment
	Renew             int // seconds, 0: it does not
	Verdict           shownVerdict
	Tiles             []tile
	Clocks            string
	Timeline          shownTimeline
	Hours             []page.Block
	Watch             []page.Block
	Collectors        []page.Block
	Metrics           string // the path of the metrics, relative to the page
	Version           string
}

// show puts the page together.
func show(v tally.View, a About, now time.Time) (*shownPage, error) {
	c := calendar{now}
	s := &shownPage{
		Host: name(a.Host), Zone: c.zone(), Made: c.moment(now), Version: name(a.Version),
		Verdict: verdictOf(v, a, c), Tiles: tiles(v, c), Clocks: availableClocks(v), Timeline: timeline(v, c),
		Hours: hours(v, a, c), Watch: watchBlocks(v), Collectors: collectorBlocks(v, c),
		Metrics: strings.TrimLeft(a.Flags.TelemetryPath, "/"),
	}
	if s.Host == "" {
		s.Host = "this machine"
	}
	if s.Metrics == "" {
		s.Metrics = "metrics"
	}
	s.Title = s.Verdict.Status.Word() + ": " + s.Host + " – cswatch"
	var what []string
	if a.Kernel != "" {
		what = append(what, "Linux "+name(a.Kernel))
	}
	if !a.Booted.IsZero() {
		what = append(what, "booted "+c.moment(a.Booted).Ago)
	}
	if !a.Started.IsZero() {
		what = append(what, "watched since "+c.moment(a.Started).Text)
	}
	s.What = strings.Join(what, ", ")
	for _, part := range []struct {
		id     string
		blocks []page.Block
	}{{"findings", s.Verdict.Why}, {"hours", s.Hours}, {"watch", s.Watch}, {"collectors", s.Collectors}} {
		if err := page.Ready(part.id, part.blocks); err != nil {
			return nil, fmt.Errorf("make the status page: %w", err)
		}
	}
	return s, nil
}

// name and text make what others wrote fit to be shown.
func name(s string) string { return page.Shown(s, longName) }
func text(s string) string { return page.Shown(s, longText) }

// calendar tells times as a person who looks now reads them.
type calendar struct{ now time.Time }

// moment is a time for people and for programs.
type moment struct {
	ISO  string
	Text string // in the zone of the page
	Ago  string
}

func (c calendar) moment(t time.Time) moment {
	t = t.In(c.now.Location())
	form := "2 January 2006, 15:04:05"
	switch {
	case t.Year() == c.now.Year() && t.YearDay() == c.now.YearDay():
		form = "15:04:05"
	case t.Year() == c.now.Year():
		form = "2 January, 15:04:05"
	}
	return moment{t.Format(time.RFC3339), t.Format(form), c.ago(t)}
}

// ago says how long ago something was, in one unit.
func (c calendar) ago(t time.Time) string {
	d := c.now.Sub(t)
	switch {
	case d < -2*time.Second:
		return "in the future"
	case d < 2*time.Second:
		return "just now"
	}
	return span(d) + " ago"
}

// span is a time in the unit that suits it, rounded down.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d/day))
}

// zone names the zone of all times on the page.
func (c calendar) zone() string {
	if abbreviation, offset := c.now.Zone(); offset == 0 || abbreviation == "" || strings.ContainsAny(abbreviation, "+-") {
		return "UTC" + strings.TrimPrefix(c.now.Format("Z07:00"), "Z")
	}
	return c.now.Format("MST (UTC-07:00)")
}
