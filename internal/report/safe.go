package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe returns untrusted text as one line that does nothing to a terminal.
// Control characters and bytes that are no UTF-8 become \xNN; what is invisible
// or changes the direction of the text (such as U+202E) becomes \uNNNN. A
// backslash stays as it is, so the result is for reading, not for undoing.
func Safe(s string) string { return safe(s, false) }

// safe is Safe, and in ASCII mode spells out every other character too.
func safe(s string, ascii bool) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) || ascii && r >= utf8.RuneSelf {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r) && (r < utf8.RuneSelf || !ascii):
			b.WriteRune(r)
		case unicode.IsPrint(r) && spelling(r) != "":
			b.WriteString(spelling(r))
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// spelling is how ASCII writes the characters that our own texts use.
func spelling(r rune) string {
	switch r {
	case 'µ', 'μ':
		return "u"
	case '…':
		return "..."
	case '–', '—', '−':
		return "-"
	case '×':
		return "x"
	case '·':
		return "-"
	case '±':
		return "+-"
	case '≤':
		return "<="
	case '≥':
		return ">="
	case '‘', '’':
		return "'"
	case '“', '”':
		return `"`
	}
	return ""
}

// cut returns at most n bytes of s, never a part of a character, and how many
// bytes it left out.
func cut(s string, n int) (string, int) {
	if len(s) <= n {
		return s, 0
	}
	for back := 0; back < utf8.UTFMax && n > 0 && !utf8.RuneStart(s[n]); back++ {
		n--
	}
	return s[:n], len(s) - n
}

// columns is how many columns a terminal gives to s.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

// columnsOf is the width of one character: marks that stand on the character
// before them take no column, East Asian wide characters and emoji take two.
func columnsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r < 0x1100:
		return 1
	case r <= 0x115f, // Hangul initial consonants
		r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0xa4cf, // CJK and Yi
		r >= 0xa960 && r <= 0xa97c, r >= 0xac00 && r <= 0xd7a3, // Hangul
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f,
		r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, // full-width forms
		r >= 0x1f300 && r <= 0x1f64f, r >= 0x1f680 && r <= 0x1f6ff, r >= 0x1f900 && r <= 0x1faff,
		r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// shorten cuts s to a number of columns and puts mark where it cut.
func shorten(s string, width int, mark string) string {
	if columns(s) <= width {
		return s
	}
	room := width - columns(mark)
	if room < 0 {
		return ""
	}
	for i, r := range s {
		if room -= columnsOf(r); room < 0 {
			return strings.TrimRight(s[:i], " ") + mark
		}
	}
	return s
}

// wrap breaks s at blanks into lines of at most width columns; 0 and less do
// not break. A number stays with its unit, and a word that is longer than a line is split.
func wrap(s string, width int) []string {
	words := glue(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }))
	if width <= 0 || len(words) == 0 {
		return []string{strings.Join(words, " ")}
	}
	var lines []string
	line, used := "", 0
	flush := func() {
		if line != "" {
			lines, line, used = append(lines, line), "", 0
		}
	}
	for _, w := range words {
		n := columns(w)
		if used > 0 && used+1+n > width {
			flush()
		}
		for n > width {
			head := prefix(w, width)
			lines = append(lines, head)
			w = w[len(head):]
			n = columns(w)
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+w, used+n
	}
	flush()
	return lines
}

// prefix is as much of s as fits into width columns, at least one character.
func prefix(s string, width int) string {
	for i, r := range s {
		if width -= columnsOf(r); width < 0 && i > 0 {
			return s[:i]
		}
	}
	return s
}

// glue joins a number and the unit behind it to one word.
func glue(words []string) []string {
	out := words[:0:0]
	for _, w := range words {
		if n := len(out); n > 0 && isUnit(strings.TrimRight(w, ".,:;)")) && endsInDigit(out[n-1]) {
			out[n-1] += " " + w
			continue
		}
		out = append(out, w)
	}
	return out
}

func isUnit(w string) bool {
	switch w {
	case "ns", "µs", "us", "ms", "s", "min", "h", "ppm", "Hz", "kHz", "MHz", "GHz", "cycles":
		return true
	}
	return false
}

func endsInDigit(w string) bool {
	return w != "" && w[len(w)-1] >= '0' && w[len(w)-1] <= '9'
}
