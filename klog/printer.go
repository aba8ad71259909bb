package klog

import (
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/watchdog"
)

// noCurrentClock is the detail of an event that says that no clock is in use.
const noCurrentClock = "no current clocksource"

// Line is a line as a kernel prints it, behind its time stamp.
type Line struct {
	Level int    `json:"level"` // printk level
	Text  string `json:"text"`
}

// Printer writes the lines of an era. It remembers what a kernel remembers:
// messages that are printed once, of limited rate, or only when larger than before.
type Printer struct {
	setup   watchdog.Setup
	largest clocksource.Nanos // of the long intervals reported so far
	remote  bool              // a remote time-out was reported
	limiter limiter
}

// NewPrinter returns a printer for the era of a setup.
func NewPrinter(s watchdog.Setup) *Printer { return &Printer{setup: s} }

// Verdict returns the lines that a kernel prints for a verdict; most verdicts have none.
func (p *Printer) Verdict(v *watchdog.Verdict) []Line {
	var lines []Line
	for _, e := range Visible(v, &p.setup) {
		if !p.prints(&e, v) {
			continue
		}
		if l, ok := p.Event(&e); ok {
			lines = append(lines, l)
		}
	}
	return lines
}

// prints decides whether this occurrence of a message is printed.
func (p *Printer) prints(e *event.Event, v *watchdog.Verdict) bool {
	switch e.Kind {
	case event.LongInterval:
		if v.Time < p.setup.EarlyBoot {
			return false // and the largest so far stays
		}
		longer := max(v.Watched.NS, v.Reference.NS)
		if longer <= 2*p.largest {
			return false
		}
		p.largest = longer
	case event.RemoteTimedOut:
		first := !p.remote
		p.remote = true
		return first
	case event.ReadTimedOut:
		return p.limiter.allow(v.Time)
	}
	return true
}

// limiter lets two messages pass in five seconds, as E12 does for reads that timed out.
type limiter struct {
	begin clocksource.Nanos
	count int
	open  bool
}

func (l *limiter) allow(now clocksource.Nanos) bool {
	const burst, window = 2, 5 * clocksource.NanosPerSecond
	if !l.open || now-l.begin > window {
		l.open, l.begin, l.count = true, now, 0
	}
	l.count++
	return l.count <= burst
}

// Verification returns the lines of the check across CPUs.
func (p *Printer) Verification(v *watchdog.Verification) []Line {
	var lines []Line
	for _, e := range VisibleVerification(v, &p.setup) {
		if l, ok := p.Event(&e); ok {
			lines = append(lines, l)
		}
	}
	return lines
}

// Event writes one event as a line of the printer's era. It fails where no
// message of a kernel says this, or where a number that the text needs is unknown.
func (p *Printer) Event(e *event.Event) (Line, bool) {
	row, text, ok := print(e, "")
	if !ok {
		return Line{}, false
	}
	if skew := e.SkewNS.Value; e.Kind == event.SkewAmount && p.setup.Profile.Text.UnsignedMS && skew < 0 {
		// 6.3 to 6.7 divide the negative number without its sign.
		signed := strconv.FormatInt(skew/1_000_000, 10)
		unsigned := strconv.FormatUint(uint64(skew)/1_000_000, 10)
		text = strings.Replace(text, "("+signed+" ms) over", "("+unsigned+" ms) over", 1)
	}
	level := int(row.level)
	rule := p.setup.Profile.Verify
	switch {
	case e.Kind == event.VerifyStarted && !rule.Info, e.Kind == event.VerifyDurations && !rule.Durations:
		level = warn
	}
	prefix := row.prefix
	if !p.setup.Profile.Text.Prefix {
		prefix = strings.TrimPrefix(prefix, "clocksource: ")
	}
	return Line{Level: level, Text: prefix + text}, true
}

// print finds the row for an event and writes its text. A wording chooses among
// rows that have one, and none takes the first.
func print(e *event.Event, wording string) (*message, string, bool) {
	for i := range knownMessages.rows {
		m := &knownMessages.rows[i]
		if m.kind != e.Kind || m.reads != fromStart || !m.says(e) || wording != "" && m.wording != wording {
			continue
		}
		if text, ok := m.compiled.print(e); ok {
			return m, text, true
		}
	}
	return nil, "", false
}

// says reports that a row without a free part says what the event's detail says.
func (m *message) says(e *event.Event) bool {
	if e.Kind == event.CurrentClock {
		switch m.detail {
		case "same":
			return e.Current != "" && e.Current == e.Clocksource
		case "none":
			return e.Current == "" && e.Clocksource == ""
		}
		return e.Current != e.Clocksource
	}
	return m.detail == "" || m.detail == e.Detail
}

// cpuList writes CPU numbers as the kernel does: ascending, ranges with a dash.
func cpuList(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}
