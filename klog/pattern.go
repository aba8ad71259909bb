package klog

import (
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/event"
)

// A pattern is a message format as text: literal words and fields in braces.
// It is read both ways, to parse a line and to print one.
//
//	timekeeping watchdog on CPU{cpu}: {ref} read-back delay of |{delay}ns, attempt {attempt}, marking unstable
//
// A run of blanks in the pattern stands for itself when printing and for any
// run of blanks when reading, because terminals, mail and editors change them.
// The bar is the commit point: a line that was cut behind it is still taken for
// this message, with Cut set and without the number that broke off.
type pattern struct {
	tokens []token
	commit int // index of the first token behind the bar; len(tokens) without a bar
}

// token is a literal or a field.
type token struct {
	literal string
	field   *field
}

// field is a named place of a pattern.
type field struct {
	name  string
	class class
	set   func(*event.Event, string) bool
	get   func(*event.Event) (string, bool)
}

// class is what characters a field may hold.
type class uint8

const (
	classDecimal  class = iota // optional minus, digits
	classUnsigned              // digits
	classHex                   // optional 0x, hexadecimal digits
	classMHz                   // digits, point, digits
	className                  // a clocksource name: no blanks, no quotes
	classList                  // a CPU list: digits, commas, dashes
	classWord                  // anything but blanks
	classRest                  // anything up to the end of the line
)

// outcome of matching a text against a pattern.
type outcome uint8

const (
	mismatch outcome = iota
	ended            // the text ended inside the pattern, before its commit point
	cut              // the text ended or broke off behind the commit point
	full             // the whole pattern was found
)

// capture is a field's text within the line.
type capture struct {
	field      *field
	start, end int
}

// maxCaptures bounds the fields of one pattern; compile checks it.
const maxCaptures = 12

// match is the result of matching one text.
type match struct {
	outcome  outcome
	end      int // how far the text was matched
	captures [maxCaptures]capture
	count    int
}

// compile turns a pattern's text into tokens. A fault in the text is a
// programming error; the tests compile the whole table.
func compile(text string) (pattern, error) {
	var p pattern
	p.commit = -1
	fields := 0
	literal := func(s string) {
		if s != "" {
			p.tokens = append(p.tokens, token{literal: s})
		}
	}
	for text != "" {
		i := strings.IndexAny(text, "{|")
		if i < 0 {
			literal(text)
			break
		}
		literal(text[:i])
		if text[i] == '|' {
			if p.commit >= 0 {
				return p, errPattern("two commit points")
			}
			p.commit = len(p.tokens)
			text = text[i+1:]
			continue
		}
		name, rest, ok := strings.Cut(text[i+1:], "}")
		if !ok {
			return p, errPattern("a field without its closing brace")
		}
		f := fieldNamed(name)
		if f == nil {
			return p, errPattern("unknown field " + strconv.Quote(name))
		}
		if fields++; fields > maxCaptures {
			return p, errPattern("too many fields")
		}
		p.tokens = append(p.tokens, token{field: f})
		text = rest
	}
	if p.commit < 0 {
		p.commit = len(p.tokens)
	}
	return p, nil
}

type errPattern string

func (e errPattern) Error() string { return "message pattern: " + string(e) }

// match matches text from its beginning.
func (p *pattern) match(text string, m *match) {
	m.count, m.end = 0, 0
	pos := 0
	for i, t := range p.tokens {
		if t.field == nil {
			next, o := matchLiteral(text, pos, t.literal)
			m.end = max(m.end, next)
			if o != full {
				p.stop(i, o, m, text)
				return
			}
			pos = next
			continue
		}
		var following string
		if i+1 < len(p.tokens) {
			following = p.tokens[i+1].literal
		}
		end, o := matchField(text, pos, t.field.class, following)
		m.end = max(m.end, end)
		if o != full {
			p.stop(i, o, m, text)
			return
		}
		m.captures[m.count] = capture{t.field, pos, end}
		m.count++
		pos = end
	}
	m.end = pos
	m.outcome = full
}

// stop sets the outcome of a match that failed at token i. Behind the commit
// point the line counts as cut. A number directly before a mismatch broke off
// in the middle (a console that drops bytes prints "5252e") and is dropped; one
// at the end of the text is kept, because posters cut lines between words.
func (p *pattern) stop(i int, o outcome, m *match, text string) {
	switch {
	case i >= p.commit:
		m.outcome = cut
		if o == mismatch && m.count > 0 {
			last := m.captures[m.count-1]
			if last.end == m.end && last.end < len(text) && isWordByte(text[last.end]) {
				m.count--
			}
		}
	case o == ended:
		m.outcome = ended
	default:
		m.outcome = mismatch
	}
}

// apply stores the captured fields into the event. It reports whether every number fitted.
func (m *match) apply(text string, e *event.Event) bool {
	ok := true
	for _, c := range m.captures[:m.count] {
		if !c.field.set(e, text[c.start:c.end]) {
			ok = false
		}
	}
	return ok
}

// matchLiteral matches lit at pos, any run of blanks for any run of blanks.
func matchLiteral(text string, pos int, lit string) (int, outcome) {
	for i := 0; i < len(lit); {
		if isBlank(lit[i]) {
			for i < len(lit) && isBlank(lit[i]) {
				i++
			}
			if pos == 0 {
				continue // an indentation; the text comes without its leading blanks
			}
			if pos == len(text) {
				return pos, ended
			}
			if !isBlank(text[pos]) {
				return pos, mismatch
			}
			for pos < len(text) && isBlank(text[pos]) {
				pos++
			}
			continue
		}
		if pos == len(text) {
			return pos, ended
		}
		if text[pos] != lit[i] {
			return pos, mismatch
		}
		pos++
		i++
	}
	return pos, full
}

// matchField finds the end of a field at pos.
func matchField(text string, pos int, c class, following string) (int, outcome) {
	if c != classRest && pos == len(text) {
		return pos, ended
	}
	end := pos
	switch c {
	case classDecimal:
		if text[end] == '-' || text[end] == '+' {
			end++
		}
		end = span(text, end, isDigit)
		if end == pos || !isDigit(text[end-1]) {
			return end, mismatch
		}
	case classUnsigned:
		if end = span(text, end, isDigit); end == pos {
			return end, mismatch
		}
	case classHex:
		if strings.HasPrefix(text[end:], "0x") {
			end += 2
		}
		start := end
		end = span(text, end, isHexDigit)
		if end == start || following == "" && end < len(text) && isWordByte(text[end]) {
			return end, mismatch // "ftrace" is no number
		}
	case classMHz:
		end = span(text, end, func(b byte) bool { return isDigit(b) || b == '.' || b == '-' })
		if end == pos {
			return end, mismatch
		}
	case classList:
		end = span(text, end, func(b byte) bool { return isDigit(b) || b == ',' || b == '-' })
		if end == pos {
			return end, mismatch
		}
	case className, classWord:
		in := isNameByte
		if c == classWord {
			in = func(b byte) bool { return !isBlank(b) }
		}
		// The shortest text that what follows in the pattern fits: in
		// "wd-tsc-early-wd read-back" the name is "tsc-early".
		for end = pos; end < len(text) && in(text[end]); {
			end++
			if following == "" {
				continue
			}
			if next, o := matchLiteral(text, end, following); o == full || o == ended && next > end {
				return end, full
			}
		}
		if end == pos {
			return end, mismatch
		}
		if following != "" && end < len(text) {
			return end, mismatch
		}
	case classRest:
		end = len(strings.TrimRight(text, " \t"))
		if end < pos {
			end = pos
		}
	}
	return end, full
}

func span(text string, pos int, in func(byte) bool) int {
	for pos < len(text) && in(text[pos]) {
		pos++
	}
	return pos
}

func isBlank(b byte) bool    { return b == ' ' || b == '\t' }
func isDigit(b byte) bool    { return b >= '0' && b <= '9' }
func isHexDigit(b byte) bool { return isDigit(b) || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F' }
func isLetter(b byte) bool   { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }
func isWordByte(b byte) bool { return isDigit(b) || isLetter(b) || b == '_' }
func isNameByte(b byte) bool { return isWordByte(b) || b == '-' || b == '.' }

// print writes the pattern with the event's fields; ok is false if a field is unknown.
func (p *pattern) print(e *event.Event) (string, bool) {
	var b strings.Builder
	for _, t := range p.tokens {
		if t.field == nil {
			b.WriteString(t.literal)
			continue
		}
		s, ok := t.field.get(e)
		if !ok {
			return "", false
		}
		b.WriteString(s)
	}
	return b.String(), true
}
