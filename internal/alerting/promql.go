package alerting

import (
	"fmt"
	"slices"
	"strings"
)

// Query is what a PromQL expression names.
type Query struct {
	Selectors []Selector
	// Grouping are the labels behind by, without, on, ignoring, group_left and group_right.
	Grouping []string
	// Made are the labels that label_replace and label_join make.
	Made []string
}

// Selector is a metric with the matchers of its braces.
type Selector struct {
	Metric   string // "" where only a matcher of __name__ names it
	Matchers []Matcher
}

// Matcher is one condition on a label.
type Matcher struct {
	Label string
	Op    string // = != =~ !~
	Value string
}

// ParseQuery finds the names in an expression. It knows how PromQL is spelt, not
// what it means: promtool tells whether an expression is one.
func ParseQuery(expr string) (Query, error) {
	tokens, err := scan(expr)
	if err != nil {
		return Query{}, fmt.Errorf("query %q: %w", expr, err)
	}
	p := parser{tokens: tokens}
	if err := p.run(); err != nil {
		return Query{}, fmt.Errorf("query %q: %w", expr, err)
	}
	return p.query, nil
}

// token is a name, a string, a number or a mark.
type token struct {
	kind byte // 'n' name, 's' string, '0' number or duration, else the mark itself
	text string
}

// scan splits an expression. Ranges in brackets are left out: they name nothing.
func scan(s string) ([]token, error) {
	var tokens []token
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '#':
			n := strings.IndexByte(s[i:], '\n')
			if n < 0 {
				return tokens, nil
			}
			i += n
		case c == '"' || c == '\'' || c == '`':
			text, n, err := quoted(s[i:])
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, token{'s', text})
			i += n
		case c == '[':
			n := strings.IndexByte(s[i:], ']')
			if n < 0 {
				return nil, fmt.Errorf("a range without its closing bracket")
			}
			i += n + 1
		case nameStart(c):
			n := i + 1
			for n < len(s) && (nameStart(s[n]) || digit(s[n])) {
				n++
			}
			tokens = append(tokens, token{'n', s[i:n]})
			i = n
		case digit(c) || c == '.':
			n := i + 1
			for n < len(s) && (digit(s[n]) || s[n] == '.' || nameStart(s[n]) || (s[n] == '-' || s[n] == '+') && (s[n-1] == 'e' || s[n-1] == 'E')) {
				n++
			}
			tokens = append(tokens, token{'0', s[i:n]})
			i = n
		default:
			tokens = append(tokens, token{c, s[i : i+1]})
			i++
		}
	}
	return tokens, nil
}

func nameStart(c byte) bool {
	return c == '_' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// quoted reads a string at the beginning of s, and how long it is with its quotes.
func quoted(s string) (text string, n int, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return b.String(), i + 1, nil
		case s[i] == '\\' && s[0] != '`' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return "", 0, fmt.Errorf("a string without its closing quote")
}

type parser struct {
	tokens []token
	at     int
	query  Query
}

// peek returns a mark ahead, 0 at the end.
func (p *parser) peek(n int) byte {
	if p.at+n < len(p.tokens) {
		return p.tokens[p.at+n].kind
	}
	return 0
}

// operators are the names that stand between or behind expressions.
func operator(name string) bool {
	switch strings.ToLower(name) {
	case "and", "or", "unless", "atan2", "bool", "offset", "inf", "nan":
		return true
	}
	return false
}

// grouping are the names that a list of labels may follow.
func grouping(name string) bool {
	switch strings.ToLower(name) {
	case "by", "without", "on", "ignoring", "group_left", "group_right":
		return true
	}
	return false
}

func (p *parser) run() error {
	for p.at < len(p.tokens) {
		t := p.tokens[p.at]
		p.at++
		switch {
		case t.kind == '{':
			if err := p.selector(""); err != nil {
				return err
			}
		case t.kind == '@':
			p.at++ // a time, or start or end of the query
		case t.kind != 'n' || operator(t.text):
		case grouping(t.text):
			if p.peek(0) == '(' {
				p.at++
				if err := p.labels(); err != nil {
					return err
				}
			}
		case p.peek(0) == '(':
			if t.text == "label_replace" || t.text == "label_join" {
				p.makes()
			}
		case p.peek(0) == 'n' && grouping(p.tokens[p.at].text) && p.peek(1) == '(' && aggregates(t.text): // sum by (...) (...)
		case p.peek(0) == '{':
			p.at++
			if err := p.selector(t.text); err != nil {
				return err
			}
		default:
			p.query.Selectors = append(p.query.Selectors, Selector{Metric: t.text})
		}
	}
	return nil
}

// aggregates reports the operators whose grouping may stand before what they aggregate.
func aggregates(name string) bool {
	return slices.Contains([]string{"sum", "min", "max", "avg", "group", "stddev", "stdvar", "count", "count_values", "bottomk", "topk", "quantile"}, name)
}

// labels reads a list of labels behind its opening bracket.
func (p *parser) labels() error {
	for ; p.at < len(p.tokens); p.at++ {
		switch t := p.tokens[p.at]; t.kind {
		case ')':
			p.at++
			return nil
		case ',':
		case 'n':
			p.query.Grouping = append(p.query.Grouping, t.text)
		default:
			return fmt.Errorf("%q in a list of labels", t.text)
		}
	}
	return fmt.Errorf("a list of labels without its closing bracket")
}

// makes notes the label that a call makes: its first string.
func (p *parser) makes() {
	depth := 0
	for _, t := range p.tokens[p.at:] {
		switch t.kind {
		case '(', '{':
			depth++
		case ')', '}':
			if depth--; depth == 0 {
				return
			}
		case 's':
			if depth == 1 {
				p.query.Made = append(p.query.Made, t.text)
				return
			}
		}
	}
}

// selector reads matchers behind their opening brace.
func (p *parser) selector(metric string) error {
	s := Selector{Metric: metric}
	for p.at < len(p.tokens) {
		switch p.peek(0) {
		case '}':
			p.at++
			p.query.Selectors = append(p.query.Selectors, s)
			return nil
		case ',':
			p.at++
			continue
		}
		if p.peek(0) != 'n' {
			return fmt.Errorf("%q where a label is expected", p.tokens[p.at].text)
		}
		m := Matcher{Label: p.tokens[p.at].text}
		p.at++
		for p.peek(0) == '=' || p.peek(0) == '!' || p.peek(0) == '~' {
			m.Op += p.tokens[p.at].text
			p.at++
		}
		if !slices.Contains([]string{"=", "!=", "=~", "!~"}, m.Op) || p.peek(0) != 's' {
			return fmt.Errorf("label %s: want an operator and a string behind it", m.Label)
		}
		m.Value = p.tokens[p.at].text
		p.at++
		s.Matchers = append(s.Matchers, m)
	}
	return fmt.Errorf("matchers without their closing brace")
}
