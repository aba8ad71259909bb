package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/cswatch/cswatch/internal/explain"
)

// Explain writes what is known of an id, a parameter or a kernel line.
func Explain(w io.Writer, entries []explain.Entry, opt TextOptions) error {
	p := &page{opt: opt}
	for i, e := range entries {
		if i > 0 {
			p.line("")
		}
		p.para("", e.ID+" ("+string(e.Class)+"): "+e.Title, e.ID, bold)
		p.section("", e.What)
		p.section(evidenceTitle(e.Class), e.Evidence)
		p.section("What to do: ", e.Action)
		if e.Command != "" {
			p.line("")
			p.command("    ", e.Command)
		}
		if e.Risk != "" {
			p.section("Risk: ", string(e.Risk))
		}
		if e.Harm != "" {
			p.section("Reason to act: ", harmWords(e.Harm))
		}
		if e.Releases != "" {
			p.section("Printed by: ", e.Releases)
		}
		p.spans(e.Spans)
	}
	return p.writeTo(w, "the explanation")
}

// section writes a paragraph after a blank line; nothing for an empty text.
func (p *page) section(title, text string) {
	if text == "" {
		return
	}
	p.line("")
	p.para("  ", title+text, title, bold)
}

func evidenceTitle(c explain.Class) string {
	if c == explain.Advice {
		return "When: "
	}
	return "How it is recognised: "
}

func harmWords(h explain.Harm) string {
	switch h {
	case explain.Harmless:
		return "no, the line is harmless"
	case explain.Serious:
		return "yes"
	}
	return "that depends on its numbers and on the lines around it"
}

// spans writes the life of a parameter.
func (p *page) spans(spans []explain.Span) {
	if len(spans) == 0 {
		return
	}
	p.line("")
	p.line("  " + p.paint("Releases:", bold))
	for _, s := range spans {
		text := lifetime(s)
		if s.Doubt {
			text += " (not certain)"
		}
		if s.Default != "" {
			text += ", default " + s.Default
		}
		if s.Note != "" {
			text += ": " + s.Note
		}
		p.para("    ", text, "", plain)
	}
}

func lifetime(s explain.Span) string {
	switch {
	case s.From == "" && s.To == "":
		return "all"
	case s.From == "":
		return "up to " + s.To
	case s.To == "":
		return s.From + " and later"
	case s.From == s.To:
		return s.From
	}
	return s.From + " to " + s.To
}

// ExplainList writes one line an entry, by class.
func ExplainList(w io.Writer, entries []explain.Entry, opt TextOptions) error {
	p := &page{opt: opt}
	longest := 0
	for _, e := range entries {
		longest = max(longest, columns(e.ID))
	}
	longest = min(longest, 36)
	var class explain.Class
	for _, e := range entries {
		if e.Class != class {
			if class != "" {
				p.line("")
			}
			class = e.Class
			p.line(p.paint(classTitle(class), bold))
		}
		id := e.ID + strings.Repeat(" ", max(0, longest-columns(e.ID)))
		p.para("  "+id+"  ", e.Title, "", plain)
	}
	p.line("")
	p.line(fmt.Sprintf("%d entries; cswatch explain ID tells more, and so does a line of the kernel as the argument", len(entries)))
	return p.writeTo(w, "the list of entries")
}

func classTitle(c explain.Class) string {
	switch c {
	case explain.Finding:
		return "Findings of doctor"
	case explain.Advice:
		return "Advice of doctor"
	case explain.Missing:
		return "What may be missing to decide"
	case explain.Parameter:
		return "Kernel parameters"
	}
	return "Lines of the kernel, by the kind of event that cswatch log shows"
}
