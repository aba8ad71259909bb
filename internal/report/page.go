package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// DefaultWidth is the width of text where no terminal tells its own.
const DefaultWidth = 100

// TextOptions says how text is to be shown. The zero value is plain UTF-8
// without line breaks, for a pipe.
type TextOptions struct {
	Color   bool // use the terminal's colours
	Width   int  // columns; 0 does not wrap. Commands and evidence are never wrapped
	Verbose bool // all evidence, and the arithmetic of every decision
	ASCII   bool // nothing but ASCII, for a C locale
}

// Bounds of what is shown of one text, in bytes. The longest that the parser
// and the examination deliver are shorter; the JSON form has everything.
const (
	maxName    = 120  // host names, clocks, releases
	maxSource  = 300  // file names
	maxProof   = 1024 // a line of evidence
	maxText    = 2000 // summaries and reasons
	maxCommand = 8192 // never cut in practice: our own texts
)

// leastText is the least width that text gets, however narrow the terminal.
const leastText = 24

// page gathers one report, so that it is written whole or not at all.
type page struct {
	b   bytes.Buffer
	opt TextOptions
}

// writeTo hands the page to w.
func (p *page) writeTo(w io.Writer, what string) error {
	if _, err := w.Write(p.b.Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// safe makes at most max bytes of untrusted text fit to print.
func (p *page) safe(s string, max int) string {
	head, left := cut(s, max)
	out := safe(head, p.opt.ASCII)
	if left > 0 {
		out += fmt.Sprintf("%s (%d more bytes)", p.ellipsis(), left)
	}
	return out
}

func (p *page) ellipsis() string {
	if p.opt.ASCII {
		return "..."
	}
	return "…"
}

// style is what colour adds to a text.
type style string

// The styles, as the parameters of the terminal's SGR sequence.
const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "1;31"
	green  style = "1;32"
	yellow style = "1;33"
	blue   style = "1;36"
)

// paint colours s if the reader wants colour.
func (p *page) paint(s string, st style) string {
	if !p.opt.Color || st == plain || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// line writes one line as it is.
func (p *page) line(s string) {
	p.b.WriteString(strings.TrimRight(s, " "))
	p.b.WriteByte('\n')
}

// heading begins a section.
func (p *page) heading(s string) {
	p.line("")
	p.line(p.paint(s, bold))
}

// para writes text that is wrapped with a hanging indent: first stands before
// the first line, and blanks of the same width before the others. Where the
// text begins with strong, that part is painted.
func (p *page) para(first, text, strong string, st style) {
	indent := columns(first)
	room := 0
	if p.opt.Width > 0 {
		room = max(p.opt.Width-indent, leastText)
	}
	for i, l := range wrap(text, room) {
		if i > 0 {
			p.line(strings.Repeat(" ", indent) + l)
			continue
		}
		if rest, ok := strings.CutPrefix(l, strong); ok && strong != "" {
			l = p.paint(strong, st) + rest
		}
		p.line(first + l)
	}
}

// quote writes a line that repeats somebody else's wording. It is not wrapped:
// the rest of a broken line would stand without the prefix.
func (p *page) quote(indent, source string, number int, text string) {
	p.line(indent + p.paint(p.tag(source, number), dim) + p.safe(text, maxProof))
}

// tag is the prefix by which a line is known as ours.
func (p *page) tag(source string, number int) string {
	if source == "" || source == "-" {
		source = "standard input"
	}
	source = p.safe(source, maxSource)
	if number > 0 {
		return fmt.Sprintf("cswatch(%s:%d): ", source, number)
	}
	return "cswatch(" + source + "): "
}

// command writes a command on a line of its own, never wrapped.
func (p *page) command(indent, s string) {
	p.line(indent + p.paint(p.safe(s, maxCommand), blue))
}
