package klog

import (
	"strings"
	"unicode/utf8"
)

// cleanText removes what terminals and editors put between the characters:
// colour sequences, control characters, marks without width. Blanks and quotes
// of word processors become plain ones. Bytes that are no UTF-8 become U+FFFD.
func cleanText(s string) string {
	dirty := false
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' && c != '\n' && c != 0x1e || c >= 0x7f {
			dirty = true
			break
		}
	}
	if !dirty {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == 0x1b:
			i += escapeSequence(s[i:min(len(s), i+maxSequence)])
		case c < ' ' && c != '\t' && c != '\n' && c != 0x1e, c == 0x7f:
			i++
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			v, n := utf8.DecodeRuneInString(s[i:])
			i += n
			switch v {
			case 0xa0, 0x2007, 0x202f, 0x2028, 0x2029:
				out = append(out, ' ')
			case 0x2018, 0x2019, 0x2bc:
				out = append(out, '\'')
			case 0x201c, 0x201d:
				out = append(out, '"')
			case 0xfeff, 0x200b, 0x200c, 0x200d, 0xad:
			default:
				out = utf8.AppendRune(out, v)
			}
		}
	}
	return string(out)
}

// maxSequence bounds a terminal sequence. A longer one has lost its end.
const maxSequence = 128

// escapeSequence returns the length of the terminal sequence at the beginning of s.
func escapeSequence(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[': // ends with a letter
		for i := 2; i < len(s); i++ {
			if c := s[i]; c >= '@' && c <= '~' {
				return i + 1
			}
			if s[i] < ' ' || s[i] > '~' {
				return i
			}
		}
		return 2
	case ']': // ends with BEL or ESC backslash
		for i := 2; i < len(s); i++ {
			switch s[i] {
			case 7:
				return i + 1
			case 0x1b:
				if i+1 < len(s) && s[i+1] == '\\' {
					return i + 2
				}
				return 2 // another begins: this one has no end
			}
		}
		return 2
	case '(', ')':
		return min(3, len(s))
	}
	return 2
}

// stripQuotes removes mail quoting, "> > ".
func stripQuotes(s string) (string, bool) {
	found := false
	for {
		t := s
		for i := 0; i < 4 && strings.HasPrefix(t, " "); i++ {
			t = t[1:]
		}
		if !strings.HasPrefix(t, ">") || strings.HasPrefix(t, ">=") {
			return s, found
		}
		found = true
		s = strings.TrimPrefix(t[1:], " ")
	}
}

// unwrapProse removes what prose and programs put around a line of a log:
// quoting, list marks, back ticks, string literals. A literal may hold several lines.
func unwrapProse(s string) ([]string, bool) {
	changed := false
	for range maxLayers {
		t, ok := stripQuotes(s)
		if ok {
			s, changed = t, true
			continue
		}
		if t, ok := listItem(s); ok {
			s, changed = t, true
			continue
		}
		if t, ok := backTicks(s); ok {
			s, changed = t, true
			continue
		}
		if t, ok := literalText(s); ok {
			return strings.Split(t, "\n"), true
		}
		break
	}
	return []string{s}, changed
}

// listItem removes a list mark. A "- " stays where it could be the rest of a
// wrapped message ("... - cannot switch while in HRT/NOHZ mode").
func listItem(s string) (string, bool) {
	t := trimBlanks(s)
	rest := ""
	switch {
	case strings.HasPrefix(t, "* "), strings.HasPrefix(t, "+ "):
		rest = t[2:]
		if t[0] == '+' && !textStart(rest) {
			return s, false
		}
	case strings.HasPrefix(t, "• "):
		rest = t[len("• "):]
	case strings.HasPrefix(t, "- "), strings.HasPrefix(t, "+["), strings.HasPrefix(t, "-["), strings.HasPrefix(t, "+<"):
		rest = strings.TrimLeft(t[1:], " ")
		if !textStart(rest) {
			return s, false
		}
	default:
		n := digits(t, 1, 4)
		if n == 0 || n+1 >= len(t) || t[n] != '.' && t[n] != ')' && t[n] != ':' || t[n+1] != ' ' {
			return s, false
		}
		rest = strings.TrimLeft(t[n+2:], " ")
		if t[n] == ':' && !stamped(rest) || !textStart(rest) {
			return s, false
		}
	}
	for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
		rest = strings.TrimPrefix(rest, box)
	}
	return rest, true
}

// textStart reports that s looks like the beginning of a log line. A capital
// letter is none: the rest of a wrapped message may stand behind "4770. ".
func textStart(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "[ ] "), "[x] "), "[X] ")
	if s == "" {
		return false
	}
	if looksFresh(s) || s[0] == '`' || s[0] == '"' || s[0] == '{' || strings.HasPrefix(s, "[Firmware Bug]") {
		return true
	}
	return s[0] == '\'' && len(s) > 1 && s[1] == '['
}

// backTicks removes the marks of inline code.
func backTicks(s string) (string, bool) {
	t := strings.TrimSpace(s)
	if !strings.HasPrefix(t, "`") {
		if strings.HasSuffix(t, "```") && len(t) > 3 {
			return strings.TrimSuffix(strings.TrimRight(s, " \t"), "```"), true
		}
		return s, false
	}
	in := strings.TrimLeft(t, "`")
	end := strings.LastIndexByte(in, '`')
	if end < 0 {
		return s, false
	}
	if tail := strings.Trim(in[end:], "` .,;"); tail != "" {
		return s, false
	}
	return strings.TrimRight(in[:end], "`"), true
}

// isFence recognises "```" with an optional language.
func isFence(t string) bool {
	rest, ok := strings.CutPrefix(t, "```")
	if !ok {
		rest, ok = strings.CutPrefix(t, "~~~")
	}
	rest = strings.TrimLeft(rest, "`~")
	return ok && len(rest) <= 20 && !strings.ContainsAny(rest, " :[")
}

// literalText removes the quotes of a string of a program and decodes its escapes.
func literalText(s string) (string, bool) {
	t := strings.TrimSpace(s)
	if len(t) > 2 && (t[1] == '"' || t[1] == '\'') && strings.IndexByte("bruBRUf", t[0]) >= 0 {
		t = t[1:]
	}
	if len(t) < 3 || t[0] != '"' && t[0] != '\'' {
		return s, false
	}
	q := t[0]
	body := t[1:]
	end := strings.LastIndexByte(body, q)
	stamped := looksFresh(body)
	if end < 0 || end == 0 || strings.Trim(body[end+1:], " ,;)+]}\\") != "" {
		return s, false
	}
	in := body[:end]
	if !stamped {
		// Message texts quote names: 'tsc' is current; 'kvm-clock' (not 'tsc').
		for i := range len(in) {
			if in[i] == q && (i == 0 || in[i-1] != '\\') {
				return s, false
			}
		}
		if body[end+1:] == "" && !strings.ContainsAny(in, " ") {
			return s, false
		}
	}
	return unescapeLiteral(in), true
}

func unescapeLiteral(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
		case '"', '\'', '\\', '/':
			out = append(out, s[i])
		case 'u':
			if v, ok := hex4(s[i+1:]); ok {
				out = utf8.AppendRune(out, v)
				i += 4
			}
		case 'x':
			if v, ok := literalByte(s[i+1:]); ok {
				out = append(out, v)
				i += 2
			}
		default:
			out = append(out, '\\', s[i])
		}
	}
	return strings.TrimRight(string(out), "\n")
}

func literalByte(s string) (byte, bool) {
	if len(s) < 2 {
		return 0, false
	}
	return hexByte(s[0], s[1])
}

// trimLiteralEnd removes the end of a string that was opened just before a stamp
// in the middle of a line: echo "[   12.345678] text",
func trimLiteralEnd(before, after string) string {
	b := strings.TrimRight(before, " ")
	if b == "" {
		return after
	}
	q := b[len(b)-1]
	if q != '"' && q != '\'' && q != '`' {
		return after
	}
	end := strings.LastIndexByte(after, q)
	if end < 0 || strings.Trim(after[end+1:], " ,;)+]}.\\\"'") != "" {
		return after
	}
	return strings.TrimSuffix(strings.TrimSuffix(after[:end], `\n`), `\r`)
}

// maxCells is more than a table that holds a log has in a row.
const maxCells = 64

// tableCells splits a row of a Markdown table; it returns nil for other lines.
func tableCells(s string) []string {
	t := strings.TrimSpace(s)
	if len(t) < 3 || t[0] != '|' {
		return nil
	}
	if t[len(t)-1] != '|' {
		// Some tools quote with a bar.
		return []string{strings.TrimPrefix(t[1:], " ")}
	}
	if strings.Count(t, "|") > maxCells {
		return nil
	}
	cells := []string{}
	for c := range strings.SplitSeq(strings.ReplaceAll(t[1:len(t)-1], `\|`, "\x1f"), "|") {
		c = strings.TrimSpace(strings.ReplaceAll(c, "\x1f", "|"))
		if c != "" && strings.Trim(c, "-: ") != "" {
			cells = append(cells, c)
		}
	}
	return cells
}
