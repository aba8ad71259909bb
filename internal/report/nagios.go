package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
)

// slowReadUS is the price of a read, in µs, from which a diagnosis warns.
const slowReadUS = 0.25

// Bounds of a plugin's output, in bytes: Nagios reads 4096 in all, and the first
// line ends up in mails and text messages.
const (
	maxFirst = 300
	maxLong  = 300
	maxLines = 8
)

// Nagios writes a diagnosis as the output of a Nagios plugin: a line with the
// state, a sentence and, behind the only "|", performance data; then lines with
// the findings and the first advice. The output is ASCII. Times are in µs,
// because the conventions know no ns; a count that is not known is U. The state
// follows d.Inputs.FailOn, as [ExitCode] does, so that word and code agree.
func Nagios(w io.Writer, d *doctor.Diagnosis) error {
	p := &page{opt: TextOptions{ASCII: true}}
	states := [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}
	code := ExitCode(d, d.Inputs.FailOn)
	text := p.sentence(d.Summary, maxFirst)
	if code == 0 && d.Status == doctor.StatusWarning {
		text += " (a warning, and only what is critical counts)"
	}
	p.line("CSWATCH " + states[code] + " - " + text + " | " + perfdata(d))
	lines := 0
	for _, f := range d.Findings {
		if f.Suppressed || lines == maxLines {
			continue
		}
		lines++
		p.line(p.sentence(string(f.Severity)+" "+f.ID+": "+f.Summary, maxLong))
	}
	if a := firstAdvice(d); a != nil {
		text := "advice " + a.ID + " (" + riskWords(a.Risk) + "): " + a.Summary
		// A command with a pipe in it would begin performance data.
		if a.Command != "" && !strings.Contains(a.Command, "|") {
			text = strings.TrimRight(text, ".") + "; command: " + a.Command
		}
		p.line(p.sentence(text, maxLong))
	}
	return p.writeTo(w, "the plugin output")
}

// sentence is text for a plugin: one line without "|".
func (p *page) sentence(s string, max int) string {
	s = strings.ReplaceAll(p.safe(s, maxText), "|", "/")
	if strings.TrimSpace(s) == "" {
		return "no summary"
	}
	return shorten(s, max, "...")
}

// perfdata is the performance data: what a read of the clock costs, and how
// many checks the kernel skipped and how often it condemned a clock.
func perfdata(d *doctor.Diagnosis) string {
	var fields []string
	if c := d.Cost; c != nil {
		fields = append(fields, fmt.Sprintf("read=%s;%g;;0", micros(c.ReadNS), slowReadUS))
		if c.SyscallNS > 0 {
			fields = append(fields, fmt.Sprintf("syscall=%s;;;0", micros(c.SyscallNS)))
		}
	}
	skips, condemned := "U", "U"
	if d.DecisionsLeftOut == 0 && (d.LogLines > 0 || len(d.Decisions) > 0) {
		var s, c int
		for _, e := range d.Decisions {
			switch {
			case e.Kind.Condemns():
				c++
			case e.Kind != event.IncidentRetry:
				s++
			}
		}
		skips, condemned = strconv.Itoa(s), strconv.Itoa(c)
	}
	return strings.Join(append(fields, "skips="+skips+";;;0", "condemned="+condemned+";;;0"), " ")
}

// micros writes nanoseconds as µs with the unit, or U where there is no number.
func micros(ns float64) string {
	if math.IsNaN(ns) || ns < 0 || ns > tooLong {
		return "U"
	}
	return strconv.FormatFloat(math.Round(ns*10)/1e4, 'f', -1, 64) + "us"
}

// firstAdvice is the first thing to do, nil if there is nothing.
func firstAdvice(d *doctor.Diagnosis) *doctor.Advice {
	for i := range d.Advice {
		if d.Advice[i].ID != "nothing" {
			return &d.Advice[i]
		}
	}
	return nil
}

// maxNPD is what node-problem-detector keeps of a plugin's output, in bytes,
// by its default. The end of the line counts.
const maxNPD = 80

// NPD writes a diagnosis as the output of a node-problem-detector plugin: one
// ASCII line of at most 80 bytes with its end. A summary that is too long
// gives way to a shorter one made of the facts.
func NPD(w io.Writer, d *doctor.Diagnosis) error {
	p := &page{opt: TextOptions{ASCII: true}}
	text := p.safe(d.Summary, maxText)
	if text == "" || len(text) >= maxNPD {
		if short := p.safe(terse(d), maxText); short != "" && (text == "" || len(short) < maxNPD) {
			text = short
		}
	}
	if strings.TrimSpace(text) == "" {
		text = "no summary"
	}
	p.line(shorten(text, maxNPD-1, "..."))
	return p.writeTo(w, "the plugin output")
}

// terse says the same as most summaries in fewer words; "" where it cannot.
func terse(d *doctor.Diagnosis) string {
	var words []string
	if clock := inUse(d); clock != "" {
		words = append(words, clock+" in use")
	}
	verdict := ""
	switch d.TSCVerdict {
	case doctor.Good, doctor.Bad, doctor.Undecided:
		verdict = verdictWord(d.TSCVerdict)
	}
	switch gone := d.KernelTrustsTSC == doctor.TrustNo; {
	case gone && verdict != "":
		words = append(words, "TSC given up (evidence: "+verdict+")")
	case gone:
		words = append(words, "TSC given up")
	case verdict != "":
		words = append(words, "TSC "+verdict)
	}
	text := strings.Join(words, "; ")
	if id := mainFinding(d); id != "" && text != "" {
		text += ": " + id
	}
	return text
}

// inUse is the clock in use as far as known.
func inUse(d *doctor.Diagnosis) string {
	if d.CurrentClock != "" {
		return d.CurrentClock
	}
	return d.FinalClock
}

// mainFinding is the id of the weightiest finding, "" if all is well.
func mainFinding(d *doctor.Diagnosis) string {
	for _, f := range d.Findings {
		if !f.Suppressed && f.Severity != doctor.Info {
			return f.ID
		}
	}
	return ""
}
