package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/machine"
)

// Text writes a diagnosis for a person: the verdict first, then the facts, what
// was found with the lines that prove it, what to do, and what would decide.
func Text(w io.Writer, d *doctor.Diagnosis, opt TextOptions) error {
	p := &page{opt: opt}
	word, st := statusWord(d.Status)
	p.para("", word+": "+p.safe(d.Summary, maxText), word, st)
	p.facts(d)
	p.findings(d)
	p.advice(d)
	p.missing(d)
	if opt.Verbose {
		p.decisions(d)
	}
	p.notes(d)
	return p.ownTo(w, "doctor", "the diagnosis")
}

// mark is the severity of a finding as one character.
func (p *page) mark(s doctor.Severity) (string, style) {
	marks := [...]string{"✗", "!", "·"}
	if p.opt.ASCII {
		marks = [...]string{"X", "!", "-"}
	}
	switch s {
	case doctor.Critical:
		return marks[0], red
	case doctor.Warning:
		return marks[1], yellow
	}
	return marks[2], bold
}

// findings writes what was found, each with its evidence. Findings that say
// the same of the same lines stand together: they are candidates for one cause.
func (p *page) findings(d *doctor.Diagnosis) {
	var shown []*doctor.Finding
	for i := range d.Findings {
		if f := &d.Findings[i]; !f.Suppressed {
			shown = append(shown, f)
		}
	}
	if len(shown) > 0 {
		p.heading("Findings")
	}
	done := map[*doctor.Finding]bool{}
	for i, f := range shown {
		if done[f] {
			continue
		}
		ids := p.safe(f.ID, maxName)
		for _, g := range shown[i+1:] {
			if g.Severity == f.Severity && g.Summary == f.Summary && slices.Equal(g.Evidence, f.Evidence) {
				ids += ", " + p.safe(g.ID, maxName)
				done[g] = true
			}
		}
		mark, st := p.mark(f.Severity)
		p.para("  "+mark+" ", ids+": "+p.safe(f.Summary, maxText), ids, st)
		if other := sameEvidence(shown[:i], f); other != nil {
			p.line(p.paint("      (the same lines as for "+p.safe(other.ID, maxName)+")", dim))
			continue
		}
		p.evidence(f.Evidence, d)
	}
}

// sameEvidence is an earlier finding that rests on the very same lines, if
// there are enough of them to be worth not repeating.
func sameEvidence(earlier []*doctor.Finding, f *doctor.Finding) *doctor.Finding {
	for _, e := range earlier {
		if len(f.Evidence) > 1 && slices.Equal(e.Evidence, f.Evidence) {
			return e
		}
	}
	return nil
}

// evidence writes the lines that a finding rests on. What the facts or the notes
// tell anyway is not repeated.
func (p *page) evidence(proofs []doctor.Proof, d *doctor.Diagnosis) {
	const most = 4
	shown, left := 0, 0
	for _, proof := range proofs {
		switch {
		case proof.Line == 0 && (proof.Text == d.Kernel.Why || p.noted(d, proof)):
		case shown == most && !p.opt.Verbose:
			left++
		default:
			p.quote("      ", proof.Source, proof.Line, proof.Text)
			shown++
		}
	}
	if left > 0 {
		p.line(p.paint("      ("+plural(left, "more line", "more lines")+": --verbose)", dim))
	}
}

// advice writes what to do, in the order given: the least risky first.
func (p *page) advice(d *doctor.Diagnosis) {
	idle := len(d.Advice) == 0 || len(d.Advice) == 1 && d.Advice[0].ID == "nothing"
	switch {
	case idle && d.Status != doctor.StatusOK:
		return // nothing is known that would help, which is not the same as nothing to do
	case idle:
		p.line("")
		p.line(p.paint("What to do:", bold) + " nothing")
		return
	}
	p.heading("What to do")
	for i := range d.Advice {
		a := &d.Advice[i]
		number := fmt.Sprintf("%3d. ", i+1)
		indent := strings.Repeat(" ", len(number))
		id := p.safe(a.ID, maxName)
		title, detail := titleOf(a.Summary)
		if title == "" {
			p.para(number, id+" ("+riskWords(a.Risk)+")", id, bold)
		} else {
			title = p.safe(title, maxText)
			p.para(number, title+" ("+id+", "+riskWords(a.Risk)+")", title, bold)
		}
		if detail != "" {
			p.para(indent, p.safe(detail, maxText), "", plain)
		}
		if a.Command != "" {
			p.command(indent+"    ", a.Command)
		}
	}
}

// titleOf splits an advice "Do this: it is done so." The title is empty where
// the text has none that is short enough to stand alone.
func titleOf(summary string) (title, detail string) {
	const longest = 80
	title, detail, _ = strings.Cut(summary, ": ")
	if len(title) > longest {
		return "", summary
	}
	return title, detail
}

// missing writes what would decide; things that one command gets stand together.
func (p *page) missing(d *doctor.Diagnosis) {
	if len(d.Missing) == 0 {
		return
	}
	p.heading("To decide, get")
	var order []string
	ids := map[string][]string{}
	for _, m := range d.Missing {
		if ids[m.HowToGet] == nil {
			order = append(order, m.HowToGet)
		}
		ids[m.HowToGet] = append(ids[m.HowToGet], p.safe(m.ID, maxName))
	}
	for _, how := range order {
		names := strings.Join(ids[how], ", ")
		p.para("  ", names, names, bold)
		if how != "" {
			p.command("      ", how)
		}
	}
}

// decisions writes the arithmetic of every accusation.
func (p *page) decisions(d *doctor.Diagnosis) {
	if len(d.Decisions) == 0 {
		return
	}
	p.heading("How each accusation was judged")
	for i := range d.Decisions {
		e := &d.Decisions[i]
		text := fmt.Sprintf("%s, boot %d", p.safe(string(e.Kind), maxName), e.Boot)
		if ns, ok := e.Time.PrintkNS.Get(); ok {
			text += ", " + stamp(ns)
		} else if e.Time.Wall != "" {
			text += ", " + p.safe(e.Time.Wall, maxName)
		}
		if e.Time.Doubt != "" {
			text += "?"
		}
		if e.Line > 0 {
			text += fmt.Sprintf(", %s line %d", p.safe(e.Source, maxSource), e.Line)
		}
		switch {
		case e.Clock != "" && e.Reference != "":
			text += ", " + p.safe(e.Clock, maxName) + " by " + p.safe(e.Reference, maxName)
		case e.Clock+e.Reference != "":
			text += ", " + p.safe(e.Clock+e.Reference, maxName)
		}
		p.para("  ", text+": "+verdictWord(e.Verdict), "", plain)
		if e.Why != "" {
			p.para("      ", p.safe(e.Why, maxText), "", plain)
		}
	}
}

// notes writes what the reader should know about the answer itself.
func (p *page) notes(d *doctor.Diagnosis) {
	first := true
	note := func(text string) {
		if first {
			p.heading("Notes")
			first = false
		}
		p.para("  ", text, "", plain)
	}
	var hidden []string
	for _, f := range d.Findings {
		if f.Suppressed {
			hidden = append(hidden, p.safe(f.ID, maxName))
		}
	}
	if n := len(hidden); n > 0 {
		note(plural(n, "finding is", "findings are") + " not shown and not counted, as asked: " + strings.Join(hidden, ", "))
	}
	if n := d.ForeignLines; n == 1 {
		note("1 line looks like the kernel's but is not: no evidence")
	} else if n > 1 {
		note(fmt.Sprintf("%d lines look like the kernel's but are not: no evidence", n))
	}
	if n := d.DecisionsLeftOut; n > 0 {
		note("the log repeats itself: " + plural(n, "more line or accusation is", "more lines or accusations are") + " not listed one by one")
	}
	p.unreadable(d, note)
}

// matters reports whether a thing that could not be read is worth the reader's
// time: where nothing is decided, or where it exists and was refused.
func (p *page) matters(d *doctor.Diagnosis, u machine.Unreadable) bool {
	return p.opt.Verbose || d.Status == doctor.StatusUnknown || d.TSCVerdict == doctor.Undecided ||
		strings.HasPrefix(u.Reason, machine.ReasonPermission)
}

// noted reports that the notes tell of a thing that could not be read.
func (p *page) noted(d *doctor.Diagnosis, proof doctor.Proof) bool {
	for i, u := range d.Unreadable {
		if i < maxUnreadable && u.What == proof.Source && u.Reason == proof.Text {
			return p.matters(d, u)
		}
	}
	return false
}

// maxUnreadable is how many unreadable things the notes tell of one by one.
const maxUnreadable = 6

// unreadable writes what could not be read and matters, with the remedy.
func (p *page) unreadable(d *doctor.Diagnosis, note func(string)) {
	left := 0
	for i, u := range d.Unreadable {
		switch {
		case !p.matters(d, u):
			continue
		case i >= maxUnreadable && !p.opt.Verbose:
			left++
			continue
		}
		text := "could not read " + p.safe(u.What, maxSource) + ": " + p.safe(u.Reason, maxText)
		if u.HowTo == "" {
			note(text)
			continue
		}
		note(text + "; to get it:")
		p.command("      ", u.HowTo)
	}
	if left > 0 {
		note("could not read " + plural(left, "more thing", "more things") + ": --verbose")
	}
}
